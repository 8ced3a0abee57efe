"""The page in a real browser: what it says when something is wrong, and what to do."""

import json
from collections.abc import Callable

from playwright.sync_api import expect

from suffice.service.http.decision_ids import to_number
from tests.support.sites import ROUTER, Site, fail_until, failing, lose_all
from tests.support.visiting import Visitor

Visit = Callable[..., Visitor]


def test_a_broken_promise_turns_the_status(visit: Visit, site: Site) -> None:
    name = site.make("turning", max_debt=0)
    site.flow(name, 60, at_once=1)
    visitor = visit(site)
    page = visitor.selector(name)
    visitor.expect_status("kept", "Kept")
    expect(visitor.test("certificate")).to_contain_text("Kept")
    page.evaluate("window.loadedOnce = true")
    fail_until(site, name, "broken")
    visitor.expect_status("broken", "Broken")
    expect(visitor.test("certificate")).to_contain_text("BROKEN")
    expect(page.locator("[data-test=advice][data-case=safe-failed]")).to_contain_text("a person")
    owed = f"{site.known(name)['debt']:.4g} successes are owed, where the limit is 0"
    expect(page.locator("[data-test=advice][data-case=debt]")).to_contain_text(owed)
    expect(visitor.test("tile-debt")).to_have_attribute("data-wrong", "")
    fail_until(site, name, "infeasible")
    visitor.expect_status("infeasible", "Cannot be met")
    expect(page.locator("[data-test=advice][data-case=infeasible]")).to_contain_text("promise less")
    assert page.evaluate("window.loadedOnce") is True


def test_a_group_that_is_behind_is_named(visit: Visit, site: Site) -> None:
    name = site.make("one-behind", max_debt=0, in_flight=0)
    site.flow(name, 300, group="steady")
    site.flow(name, 12, failing, at_once=12, group="unlucky")
    site.flow(name, 40, group="other")
    known = site.known(name)
    assert not known["holds"]
    assert known["debt"] < known["debt_at_most"]  # all together are not behind
    visitor = visit(site)
    page = visitor.selector(name)
    for case in ("infeasible", "debt"):
        advice = page.locator(f"[data-test=advice][data-case={case}]")
        expect(advice).to_contain_text("1 of 3 groups")
        expect(advice).to_contain_text("In group unlucky, ")
    expect(page.locator("[data-case=infeasible]")).to_contain_text("12 of 12 plays")
    expect(page.locator("[data-case=debt]")).to_contain_text("10.8 successes are owed, where the limit is 0")
    expect(visitor.test("tile-debt")).to_contain_text("was above its limit")
    expect(visitor.test("tile-debt")).not_to_have_attribute("data-wrong", "")


def test_failures_of_the_safe_option_can_be_declared(visit: Visit, site: Site) -> None:
    name = site.make("rare", menu={**ROUTER["menu"], "skip": None})
    every_40th = lambda one: float(to_number(one["decision"]) % 40 != 0)  # noqa: E731
    site.flow(name, 600, every_40th, at_once=100, available=["a person"])
    assert site.known(name)["assumption_violated"]
    visitor = visit(site)
    page = visitor.selector(name)
    visitor.expect_status("kept", "Kept")  # 45 ahead all the same
    advice = page.locator("[data-test=advice][data-case=safe-failed]")
    expect(advice).to_contain_text("fell short in 15 of 600 plays")
    expect(advice).to_contain_text("safe_success")
    advice.locator("summary").click()
    line = advice.locator("pre").inner_text()
    body = json.loads(line[line.index("-d '") + 4 : line.rindex("'")])
    assert site.make("rare-2", body) == "rare-2"  # what it proposes is what the server takes
    assert 0.9 < site.known("rare-2")["plan"]["menu"]["safe_success"] == body["menu"]["safe_success"] < 1


def test_missing_feedback_is_said(visit: Visit, site: Site) -> None:
    lost = lose_all(site, "lost")
    visitor = visit(site)
    page = visitor.selector(lost)
    visitor.expect_status("unproven", "Unproven")
    advice = page.locator("[data-test=advice][data-case=feedback]")
    expect(advice).to_contain_text("tell")
    expect(advice).to_contain_text("19 plays of the safe option expired")
    expect(advice).to_contain_text("18 would be owed, where the limit is 1.")
    untold = site.make("untold", in_flight=20, menu={**ROUTER["menu"], "skip": None})
    site.ask(untold, 200)
    visitor.selector(untold)
    visitor.expect_status("unproven", "Unproven")
    expect(advice).to_contain_text("200 decisions are outstanding, and beyond in_flight the safe option is issued")
    expect(advice).to_contain_text("in_flight is 20")
    expect(visitor.test("tile-debt")).to_contain_text("perhaps 180 behind; limit 23")


def test_a_limit_that_forces_the_safe_option_is_explained(visit: Visit, site: Site) -> None:
    name = site.make("strict", max_debt=0, menu={**ROUTER["menu"], "skip": None})
    visitor = visit(site)
    page = visitor.selector(name)
    site.flow(name, 3, at_once=1)
    advice = page.locator("[data-test=advice][data-case=limit]")
    expect(advice).to_contain_text("Nothing is owed, and one failure more would exceed max_debt, 0")
    expect(advice).to_contain_text("it costs 1, and a decision so far 1")
    visitor.expect_status("kept", "Kept")
    site.flow(name, 8, lambda one: 1.0, at_once=1)  # then 1.1 ahead
    expect(advice).to_have_count(0)


def test_a_skip_is_settled_when_it_is_asked(visit: Visit, site: Site) -> None:
    name = site.make("skipping", max_surplus=1, target=0.5)
    visitor = visit(site)
    page = visitor.selector(name)
    for _ in range(40):
        if site.known(name)["price"] == 0:
            break
        site.flow(name, 1, lambda one: 1.0)
    visitor.test("ask").click()
    row = visitor.test("asked")
    expect(row).to_contain_text("skip this one")
    expect(row).to_contain_text("Counted as a failure already.")
    expect(row.locator("[data-test=worked]")).to_have_count(0)
    expect(visitor.test("decision-row").first).to_contain_text("skipped")
    visitor.expect_tile("pending", "0")
    row.get_by_role("button", name="Take away").click()
    expect(row).to_have_count(0)
    decision = site.call("GET", f"/{name}/decisions?limit=1")["decisions"][0]["decision"]
    site.call("POST", f"/{name}/tell", {"decision": decision, "success": True})
    expect(page.locator("[data-test=advice][data-case=skip]")).to_contain_text("The skip option succeeded")
    visitor.expect_status("kept", "Kept")
