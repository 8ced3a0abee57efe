"""The page in a real browser when something goes wrong: proxies that answer for the server, connections that die, servers that
restart, clocks that differ."""

import json
import re
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Error, Route, expect

from tests.support.sites import Site, serving
from tests.support.visiting import Visitor

Visit = Callable[..., Visitor]
API = "**/v1/**"
EVENTS = "**/events?*"
WRONG: dict[str, dict[str, Any]] = {
    "a login page": {"status": 200, "content_type": "text/html", "body": "<form>Who are you?</form>"},
    "a way to a login page": {"status": 302, "headers": {"location": "http://elsewhere.example/login"}},
    "half an answer": {"status": 200, "content_type": "application/json", "body": '{"selectors": [{"na'},
    "an error": {"status": 500, "content_type": "text/html", "body": "<h1>Oh</h1>"},
    "an error without words": {"status": 500, "content_type": "application/json", "body": "null"},
}
BROKEN = {
    "cut": ('data: {"name', "text/event-stream"),
    "a login page": ("<form>\n\nWho are you?</form>", "text/html"),
}


def state(visitor: Visitor, wanted: str) -> None:
    """Wait until the page shows this state of its connection."""
    expect(visitor.test("connection")).to_have_attribute("data-state", wanted)


# --- answers of other servers


@pytest.mark.parametrize("route", ["", "selectors/answered"], ids=["list", "selector"])
@pytest.mark.parametrize("wrong", WRONG)
def test_the_page_recovers_from_answers_of_other_servers(visit: Visit, site: Site, wrong: str, route: str) -> None:
    site.flow(site.make("answered", max_debt=0), 20, at_once=1)
    visitor = visit(site)
    visitor.watch.allow("status of 500")
    visitor.page.route(API, lambda one: one.fulfill(**WRONG[wrong]))
    visitor.page.goto(visitor.at_route(route))
    state(visitor, "lost")
    expect(visitor.test("banner")).to_be_visible()
    expect(visitor.page.get_by_role("button", name="Try now")).to_be_visible()
    visitor.page.unroute(API)
    visitor.page.locator("#banner-retry").dispatch_event("click")  # the page may have tried by itself, and hidden it
    state(visitor, "live")
    expect(visitor.test("banner")).to_be_hidden()
    visitor.expect_status("kept", "Kept", visitor.listed("answered") if route == "" else None)


@pytest.mark.parametrize("broken", BROKEN)
def test_the_page_recovers_from_broken_events(visit: Visit, site: Site, broken: str) -> None:
    site.flow(site.make("broken-line"), 20)
    visitor = visit(site)
    body, media = BROKEN[broken]
    asked: list[str] = []

    def answer(one: Route) -> None:
        asked.append(one.request.url)
        one.fulfill(status=200, content_type=media, body=body)

    visitor.page.route(EVENTS, answer)
    visitor.selector("broken-line")
    state(visitor, "lost")
    visitor.page.wait_for_timeout(1_500)
    assert len(asked) <= 4  # it retries, with pauses
    visitor.page.unroute(EVENTS)
    state(visitor, "live")


def test_retry_after_is_kept(visit: Visit, site: Site) -> None:
    visitor = visit(site)
    visitor.watch.expect("status of 429")
    asked: list[str] = []

    def refuse(one: Route) -> None:
        asked.append(one.request.url)
        one.fulfill(status=429, headers={"retry-after": "30"}, body="slowly")

    visitor.page.route(API, refuse)
    visitor.page.goto(visitor.url)
    state(visitor, "lost")
    visitor.page.wait_for_timeout(2_500)  # in which it would try three times by itself
    assert len(asked) == 1


def test_a_404_of_a_proxy_is_no_missing_selector(visit: Visit, site: Site) -> None:
    visitor = visit(site)
    visitor.watch.expect("status of 404")
    visitor.page.route(API, lambda one: one.fulfill(status=404, content_type="text/html", body="nginx"))
    page = visitor.go()
    expect(page.locator("h1")).to_have_text("That did not work")
    page.unroute(API)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("h1")).to_have_text("Selectors")


def test_outdated_parts_are_named(visit: Visit, site: Site) -> None:
    name = site.make("half-dead")
    visitor = visit(site)
    visitor.watch.expect("status of 500")
    page = visitor.selector(name)
    page.route("**/history?*", lambda one: one.fulfill(status=500, body=""))
    site.flow(name, 20)
    note = page.get_by_text("Not up to date: history")
    expect(note).to_be_visible()
    visitor.expect_tile("outcomes", "20")
    page.unroute("**/history?*")
    visitor.expect_charted("chart-rate", 20)  # though nothing more has happened
    expect(note).to_be_hidden()


# --- connections and servers that die


def test_a_silent_connection_is_noticed(visit: Visit, site: Site) -> None:
    name = site.make("silent")
    visitor = visit(site)
    visitor.page.clock.install()
    held: list[Route] = []
    visitor.page.route(EVENTS, lambda one: held.append(one))  # taken, and never answered
    page = visitor.selector(name)
    page.wait_for_timeout(500)
    page.clock.fast_forward(20_000)
    assert visitor.test("connection").get_attribute("data-state") != "lost"  # there may be no event to send
    page.clock.fast_forward(30_000)
    state(visitor, "lost")
    page.unroute(EVENTS)
    page.clock.fast_forward(10_000)
    state(visitor, "live")
    for one in held:
        with suppress(Error):  # the page has cancelled them
            one.abort("aborted")


def test_a_selector_that_is_gone_after_a_restart_is_reported(visit: Visit, things: ExitStack, tmp_path: Path) -> None:
    site = things.enter_context(serving(tmp_path))  # with a store in memory
    name = site.make("fleeting")
    visitor = visit(site)
    visitor.watch.expect("status of 404")
    visitor.watch.allow("net::ERR_", "status of 503")
    visitor.selector(name)
    state(visitor, "live")
    site.kill()
    state(visitor, "lost")
    site.up()
    expect(visitor.test("missing")).to_contain_text(name)


# --- time


@pytest.mark.parametrize("hours", [-5, 0, 5])
def test_ages_are_right_with_another_clock(visit: Visit, site: Site, hours: int) -> None:
    name = site.make(f"late-{hours + 5}")
    site.flow(name, 20)
    visitor = visit(site)
    page = visitor.page
    page.clock.install(time=site.known(name)["created"] + 3600 * hours)
    visitor.selector(name)
    when = visitor.test("decision-row").first.locator(".c-when")
    expect(when).to_have_text(re.compile("^(now|[0-9]+ s ago)$"))
    page.locator("input[value=quarter]").check()
    visitor.expect_charted("chart-rate", 20)
    visitor.watch.allow("net::ERR_")
    page.context.set_offline(True)  # an answer would tell the page that the server's clock did not go on
    page.clock.fast_forward(180_000)
    expect(when).to_have_text(re.compile("^[34] min ago$"))


# --- navigation


def test_views_are_released(visit: Visit, site: Site) -> None:
    names = [site.make(f"pile-{number}") for number in range(2)]
    for name in names:
        site.flow(name, 20)
    visitor = visit(site)
    page = visitor.selector(names[0])
    session = visitor.context.new_cdp_session(page)
    events: set[Any] = set()
    page.on("request", lambda one: events.add(one) if "/events" in one.url else None)
    for ended in ("requestfailed", "requestfinished"):
        visitor.context.on(ended, lambda one: events.discard(one))

    def go_round(times: int) -> dict[str, int]:
        for turn in range(times):
            for route in ("", f"selectors/{names[turn % 2]}", "new", f"selectors/{names[1 - turn % 2]}"):
                page.evaluate("(route) => { location.hash = `#/${route}`; }", route)
                page.wait_for_timeout(40)
        page.evaluate("() => { location.hash = '#/'; }")
        expect(visitor.listed(names[0])).to_be_visible()
        page.wait_for_timeout(500)
        session.send("HeapProfiler.collectGarbage")
        counted: dict[str, int] = session.send("Memory.getDOMCounters")
        return counted

    first = go_round(3)
    last = go_round(15)
    assert not events  # views that are left close their streams
    # A view has about 60 listeners and 1,000 nodes: the last one may still be there, thirty must not.
    assert last["jsEventListeners"] < first["jsEventListeners"] + 300
    assert last["nodes"] < first["nodes"] + 5_000


def test_the_focus_is_not_lost(visit: Visit, site: Site) -> None:
    name = site.make("focused")
    visitor = visit(site)
    visitor.watch.expect("status of 422")
    page = visitor.selector(name)
    page.get_by_text("With a group").click()
    page.route(
        "**/ask",
        lambda one: one.fulfill(status=422, content_type="application/problem+json", body=json.dumps({"detail": "no"})),
    )
    visitor.test("ask").focus()
    page.keyboard.press("Enter")
    expect(visitor.test("hand-error")).to_have_text("No.")
    expect(visitor.test("ask")).to_be_focused()
    visitor.test("archive").focus()
    page.keyboard.press("Enter")
    page.locator("[data-test=confirm]").press("Enter")
    visitor.expect_status("archived", "Archived")
    expect(visitor.test("archive")).to_be_focused()
