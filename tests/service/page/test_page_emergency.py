"""The page in a real browser: events, playing safe in an emergency, cancelling, and insisting on an option."""

import re
from collections.abc import Callable

from playwright.sync_api import expect

from tests.support.sites import HOSTILE, ROUTER, Site
from tests.support.visiting import Visitor
from tests.support.watching import NARROW, cut_off, inaccessible, sticking_out

Visit = Callable[..., Visitor]
WITHOUT_SKIP = {**ROUTER["menu"], "skip": None}
NEEDED = "The safe option is needed now, and it is not available: list it in available, or set insist"


# --- events


def test_events_are_listed_the_newest_first(visit: Visit, site: Site) -> None:
    name = site.make("eventful", menu=WITHOUT_SKIP)
    site.flow(name, 40)
    visitor = visit(site)
    page = visitor.selector(name)
    expect(visitor.test("decision-row")).to_have_count(10)
    expect(visitor.test("events")).to_be_hidden()  # there are none
    site.ask(name, 300)
    shown = visitor.test("event")
    expect(visitor.test("events")).to_be_visible()
    expect(shown.first.locator("time")).to_have_text(re.compile("^(now|[0-9]+ s ago)$"))
    site.ask(name, 200, group=HOSTILE)
    expect(shown.first).to_contain_text(f"group {HOSTILE}")
    expect(page.locator("[data-test=event] img")).to_have_count(0)
    events = site.known(name)["events"]
    assert len(events) >= 3
    assert {event["group"] for event in events} == {None, HOSTILE}
    latest = events[::-1][:5]
    said = [event["text"] + (f"group {HOSTILE}" if event["group"] else "") for event in latest]
    assert shown.locator("p").all_inner_texts() == said
    assert [row.get_attribute("data-kind") for row in shown.all()] == [event["kind"] for event in latest]


def test_older_events_are_shown_on_demand(visit: Visit, site: Site) -> None:
    name = site.make("long-eventful", max_debt=0, in_flight=0, menu=WITHOUT_SKIP)
    for number in range(7):
        site.ask(name, 60, group=f"group-{number}")
    assert len(site.known(name)["events"]) == 7
    visitor = visit(site)
    page = visitor.selector(name)
    expect(visitor.test("event")).to_have_count(5)
    expect(visitor.test("event").first).to_contain_text("group-6")
    page.get_by_role("button", name="Show all 7").click()
    expect(visitor.test("event")).to_have_count(7)
    expect(visitor.test("event").last).to_contain_text("group-0")
    expect(page.get_by_role("button", name="Show all 7")).to_be_hidden()
    assert page.evaluate("document.activeElement !== document.body")


# --- playing safe


def test_playing_safe_is_switched_on_and_off(visit: Visit, site: Site) -> None:
    name = site.make("emergency", menu=WITHOUT_SKIP)
    site.flow(name, 10, lambda one: 1.0)
    visitor = visit(site)
    page = visitor.selector(name)
    paid = site.known(name)["mean_cost"]
    expect(visitor.test("safe-banner")).to_be_hidden()
    visitor.test("play-safe").click()
    question = visitor.test("confirm-dialog")
    expect(question).to_contain_text("every decision is the safe option (a person), at 1 each")
    expect(question).to_contain_text(f"where a decision so far cost {paid:.3g}")
    visitor.test("cancel").click()
    assert not site.known(name)["playing_safe"]
    visitor.test("play-safe").click()
    visitor.test("confirm").click()
    banner = visitor.test("safe-banner")
    expect(banner).to_contain_text("Playing safe: every decision is the safe option (a person), at 1 each")
    expect(visitor.test("play-safe")).to_be_hidden()
    expect(visitor.test("stop-safe")).to_be_focused()
    assert site.known(name)["playing_safe"]
    visitor.test("ask").click()
    expect(visitor.test("asked")).to_contain_text("a person")
    page.reload()
    expect(banner).to_be_visible()
    visitor.test("stop-safe").click()
    expect(question).to_contain_text("Other options are issued again")
    visitor.test("confirm").click()
    expect(banner).to_be_hidden()
    expect(visitor.test("play-safe")).to_be_focused()
    assert not site.known(name)["playing_safe"]


def test_playing_safe_is_seen_wherever_it_was_switched_on(visit: Visit, site: Site) -> None:
    name = site.make("elsewhere")
    visitor = visit(site)
    visitor.selector(name)
    banner = visitor.test("safe-banner")
    site.call("POST", f"/{name}/play-safe", {"on": True})
    expect(banner).to_be_visible()
    site.call("DELETE", f"/{name}")
    visitor.expect_status("archived", "Archived")
    expect(banner).to_be_hidden()  # nothing is issued
    expect(visitor.test("play-safe")).to_be_hidden()
    site.call("PUT", f"/{name}", ROUTER)
    expect(banner).to_be_visible()
    site.call("POST", f"/{name}/play-safe", {"on": False})
    expect(banner).to_be_hidden()
    expect(visitor.test("play-safe")).to_be_visible()


# --- cancelling


def test_a_decision_is_cancelled_in_the_table(visit: Visit, site: Site) -> None:
    name = site.make("cancelling", menu=WITHOUT_SKIP)
    site.tell(name, site.ask(name))
    visitor = visit(site)
    visitor.selector(name)
    visitor.test("ask").click()
    expect(visitor.test("asked")).to_have_count(1)
    rows = visitor.test("decision-row")
    expect(rows).to_have_count(2)
    pending = rows.first
    expect(rows.last.locator("[data-test=cancel-decision]")).to_be_hidden()  # it was told
    pending.locator("[data-test=cancel-decision]").click()
    expect(visitor.test("confirm-dialog")).to_contain_text("Never cancel a decision because it failed")
    visitor.test("cancel").click()
    assert site.known(name)["pending"] == 1
    pending.locator("[data-test=cancel-decision]").click()
    visitor.test("confirm").click()
    expect(pending.locator(".state")).to_have_text("cancelled")
    expect(pending.locator("[data-test=cancel-decision]")).to_be_hidden()
    expect(visitor.test("asked")).to_have_count(0)  # nor can it be told by hand
    assert [cell.inner_text() for cell in pending.locator("td.num").all()] == ["–", "–"]
    visitor.expect_tile("pending", "0")
    visitor.expect_tile("outcomes", "1")
    assert site.call("GET", f"/{name}/certificate")["cancelled"] == 1
    expect(visitor.test("certificate")).to_contain_text("1 decision cancelled")
    assert visitor.page.evaluate("document.activeElement !== document.body")


def test_a_decision_is_cancelled_where_it_was_asked(visit: Visit, site: Site) -> None:
    name = site.make("cancelling-asked", menu=WITHOUT_SKIP)
    visitor = visit(site)
    visitor.selector(name)
    visitor.test("ask").click()
    visitor.test("cancel-asked").click()
    visitor.test("cancel").click()
    expect(visitor.test("asked")).to_have_count(1)
    visitor.test("cancel-asked").click()
    visitor.test("confirm").click()
    expect(visitor.test("asked")).to_have_count(0)
    expect(visitor.test("decision-row").locator(".state")).to_have_text("cancelled")
    assert site.call("GET", f"/{name}/certificate")["cancelled"] == 1


def test_a_decision_that_was_told_meanwhile_is_not_cancelled(visit: Visit, site: Site) -> None:
    name = site.make("cancelling-late", menu=WITHOUT_SKIP)
    visitor = visit(site)
    visitor.watch.expect("status of 409")
    visitor.selector(name)
    visitor.test("ask").click()
    expect(visitor.test("decision-row")).to_have_count(1)
    decision = visitor.test("asked").get_attribute("data-decision")
    visitor.test("cancel-decision").click()
    site.call("POST", f"/{name}/tell", {"decision": decision, "success": 1})
    visitor.test("confirm").click()
    refused = f"Decision {decision}: the decision is told already, so it cannot be cancelled; nothing was changed."
    expect(visitor.test("decisions-error")).to_have_text(refused)
    visitor.test("cancel-asked").click()
    visitor.test("confirm").click()
    expect(visitor.test("asked").get_by_role("alert")).to_contain_text("The decision is told already")
    expect(visitor.test("asked").get_by_role("button", name="Take away")).to_be_visible()


# --- insisting


def test_insisting_is_offered_where_the_safe_option_is_needed(visit: Visit, site: Site) -> None:
    name = site.make("insistent", max_debt=0)
    visitor = visit(site)
    visitor.watch.expect("status of 424")
    page = visitor.selector(name)
    page.get_by_text("With a group").click()
    page.locator("[name=available]").fill('["small"]')
    expect(visitor.test("insist")).to_be_hidden()
    visitor.test("ask").click()
    expect(visitor.test("hand-error")).to_contain_text(NEEDED)
    expect(visitor.test("asked")).to_have_count(0)
    visitor.test("insist").click()
    expect(visitor.test("asked")).to_contain_text("small")
    expect(visitor.test("hand-error")).to_be_hidden()
    expect(visitor.test("insist")).to_be_hidden()
    certificate = site.call("GET", f"/{name}/certificate")
    assert (certificate["insisted"], certificate["uncovered"], certificate["asked"]) == (1, 0.9, 1)
    page.locator("[name=available]").fill("[]")
    visitor.test("ask").click()
    expect(visitor.test("hand-error")).to_contain_text("nothing is available; no decision was made")
    expect(visitor.test("insist")).to_be_hidden()  # insisting would not help


# --- layout


def test_an_emergency_fits_on_a_phone_and_is_accessible(visit: Visit, site: Site) -> None:
    name = site.make("emergency-on-a-phone", max_debt=0, in_flight=0, menu=WITHOUT_SKIP)
    site.flow(name, 20, at_once=1)
    site.ask(name, 120, group="a-group-with-a-name-that-is-rather-long-and-has-no-spaces-in-it")
    site.call("POST", f"/{name}/cancel", {"decision": site.ask(name)[0]["decision"]})
    site.call("POST", f"/{name}/play-safe", {"on": True})
    visitor = visit(site, viewport=NARROW, has_touch=True, reduced_motion="reduce")
    visitor.watch.expect("status of 424")
    page = visitor.selector(name)
    visitor.test("decision-row").first.wait_for()
    page.get_by_text("With a group").click()
    page.locator("[name=available]").fill('["small"]')
    visitor.test("ask").click()
    row = visitor.test("decision-row").nth(1)  # the first one was cancelled
    for part in (
        visitor.test("event").first,
        visitor.test("safe-banner"),
        visitor.test("insist"),
        row.locator("button"),
    ):
        expect(part).to_be_visible()
    visitor.expect_charted("chart-rate", 20)
    assert sticking_out(page) == []
    assert cut_off(page) == []
    assert inaccessible(page) == []
    visitor.test("stop-safe").click()
    assert sticking_out(page) == []
    visitor.test("cancel").click()
    assert not overlap(row.locator("button").bounding_box(), row.locator("td.num").first.bounding_box())


def overlap(one: object, other: object) -> bool:
    """Whether two boxes share a part of the screen."""
    assert isinstance(one, dict)
    assert isinstance(other, dict)
    return all(
        one[at] < other[at] + other[size] and other[at] < one[at] + one[size]
        for at, size in (("x", "width"), ("y", "height"))
    )
