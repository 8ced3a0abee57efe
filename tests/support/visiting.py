"""A browser window on one site: navigation, expectations, and a record of what goes wrong."""

from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect

from tests.support.sites import Site
from tests.support.watching import WIDE, Watch

PATIENCE = 20_000.0  # milliseconds; a machine may be slow

expect.set_options(timeout=PATIENCE)


class Visitor:
    """A window of a browser, with its own storage."""

    def __init__(self, browser: Browser, site: Site, *, url: str | None = None, **how: Any) -> None:
        self.site, self.url = site, url or site.url
        origin = "/".join(self.url.split("/")[:3])
        self.context = browser.new_context(**{"viewport": WIDE, **how})
        self.context.set_default_timeout(PATIENCE)
        self.watch = Watch(self.context, origin)
        self.page: Page = self.context.new_page()

    def at_route(self, route: str) -> str:
        """The address of a route."""
        return f"{self.url}#/{route}"

    def go(self, route: str = "") -> Page:
        """Go to a route of the page, and wait until it has loaded."""
        self.page.goto(self.at_route(route))
        self.page.wait_for_selector('body[data-ready="true"]')
        return self.page

    def test(self, name: str) -> Locator:
        """The element with this name."""
        return self.page.locator(f"[data-test={name}]")

    def selector(self, name: str) -> Page:
        """Go to a selector, and wait until it has loaded."""
        self.go(f"selectors/{name}")
        expect(self.page.locator("h1")).to_contain_text(name)
        self.test("tile-outcomes").wait_for()
        return self.page

    def listed(self, name: str) -> Locator:
        """A selector in the list."""
        return self.page.locator(f'[data-test=selector][data-name="{name}"]')

    def expect_status(self, status: str, text: str, within: Locator | None = None) -> None:
        """Wait until a badge shows this status and text."""
        badge = (within or self.page.locator("main")).locator("[data-test=status]").first
        expect(badge).to_have_attribute("data-status", status)
        expect(badge).to_contain_text(text)

    def expect_tile(self, name: str, value: str) -> None:
        """Wait until a tile shows this."""
        expect(self.test(f"tile-{name}").locator(".tile-value")).to_have_text(value)

    def charted(self, chart: str) -> int:
        """How many outcomes a chart covers."""
        return int(self.test(chart).get_attribute("data-told") or 0)

    def expect_charted(self, chart: str, told: int) -> None:
        """Wait until a chart covers as many outcomes."""
        expect(self.test(chart)).to_have_attribute("data-told", str(told))

    def close(self) -> list[str]:
        """Close the window; what went wrong in it."""
        wrong = self.watch.verdict()
        self.context.close()
        return wrong
