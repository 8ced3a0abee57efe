"""The page /docs in a real browser: it shows every route, sends a request, and asks no other host."""

from collections.abc import Callable

from playwright.sync_api import expect

from tests.support.sites import Site
from tests.support.visiting import Visitor


def test_a_route_can_be_tried_out(visit: Callable[..., Visitor], site: Site) -> None:
    site.make("tried")
    page = visit(site).page
    page.goto(f"{site.origin}/docs")
    expect(page.locator(".opblock")).to_have_count(18)
    route = page.locator(".opblock", has_text="Show a selector")
    route.locator(".opblock-summary").click()
    route.get_by_role("button", name="Try it out").click()
    route.locator("input").first.fill("tried")
    route.get_by_role("button", name="Execute").click()
    expect(route.locator(".live-responses-table")).to_contain_text('"name": "tried"')
