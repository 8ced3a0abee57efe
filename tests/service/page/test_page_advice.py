"""The page in a real browser: what it says when something is wrong, and what to do."""

import json
from collections.abc import Callable

from playwright.sync_api import expect

from tests.support.sites import Site, fail_until, failing, honest, lose_all
from tests.support.visiting import Visitor

Visit = Callable[..., Visitor]


def test_a_breach_turns_the_status(visit: Visit, site: Site) -> None:
    name = site.make("turning")
    site.flow(name, 60)
    visitor = visit(site)
    page = visitor.selector(name)
    visitor.expect_status("kept", "Kept")
    expect(visitor.test("certificate")).to_contain_text("Kept")
    assert visitor.test("advice").count() == 0
    page.evaluate("window.loadedOnce = true")
    fail_until(site, name, "breach")
    visitor.expect_status("breach", "Breach")
    expect(visitor.test("certificate")).to_contain_text("BROKEN")
    expect(page.locator("[data-test=advice][data-case=safe-failed]")).to_contain_text("a person")
    owed = f"{site.known(name)['debt']:.4g} successes are owed"
    expect(page.locator("[data-test=advice][data-case=debt]")).to_contain_text(owed)
    fail_until(site, name, "infeasible")
    visitor.expect_status("infeasible", "Cannot be met")
    expect(page.locator("[data-test=advice][data-case=infeasible]")).to_contain_text("promise less")
    assert page.evaluate("window.loadedOnce") is True


def test_a_group_that_is_behind_is_named(visit: Visit, site: Site) -> None:
    name = site.make("one-behind")
    site.flow(name, 300, group="steady")
    site.flow(name, 4, failing, at_once=4, group="unlucky")
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
    expect(page.locator("[data-case=infeasible]")).to_contain_text("4 of 4 plays")
    expect(page.locator("[data-case=debt]")).to_contain_text("3.6 successes are owed")
    expect(visitor.test("tile-debt")).to_contain_text("a group is behind")
    expect(visitor.test("tile-debt")).not_to_have_attribute("data-wrong", "")


def test_a_rare_failure_of_the_safe_option_can_be_declared(visit: Visit, site: Site) -> None:
    name = site.make("rare")
    site.flow(name, 600)
    while site.known(name)["status"] == "kept":
        site.flow(name, 1, lambda one: 0.0 if one["safe"] else honest(one))
    visitor = visit(site)
    page = visitor.selector(name)
    visitor.expect_status("warned", "Warning")
    advice = page.locator("[data-test=advice][data-case=safe-failed]")
    expect(advice).to_contain_text("safe_success")
    advice.locator("summary").click()
    line = advice.locator("pre").inner_text()
    body = json.loads(line[line.index("-d '") + 4 : line.rindex("'")])
    assert site.make("rare-2", body) == "rare-2"  # what it proposes is what the server takes
    assert site.known("rare-2")["plan"]["menu"]["safe_success"] == body["menu"]["safe_success"] < 1


def test_missing_feedback_is_said(visit: Visit, site: Site) -> None:
    lost = lose_all(site, "lost")
    visitor = visit(site)
    page = visitor.selector(lost)
    visitor.expect_status("unknown", "Not known")
    advice = page.locator("[data-test=advice][data-case=feedback]")
    expect(advice).to_contain_text("tell")
    expect(advice).to_contain_text("20")
    waiting = site.make("untold", max_pending=50)
    site.ask(waiting, 200)
    visitor.selector(waiting)
    visitor.expect_status("waiting", "Waiting")
    expect(advice).to_contain_text("max_pending")


def test_a_skip_that_succeeds_is_said(visit: Visit, site: Site) -> None:
    name = site.make("lucky", start="cheap")
    for _ in range(100):
        asked = site.ask(name)
        site.tell(name, asked, lambda one: 1.0)
        if asked[0]["skip"]:
            break
    visitor = visit(site)
    page = visitor.selector(name)
    visitor.expect_status("warned", "Warning")
    expect(page.locator("[data-test=advice][data-case=skip]")).to_contain_text("The skip option succeeded")
