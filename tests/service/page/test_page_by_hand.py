"""The page in a real browser, used by hand: make, ask, tell and archive; the keyboard; navigation."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.support.sites import Site
from tests.support.visiting import Visitor

Visit = Callable[..., Visitor]
KINDS = ("options", "top_k", "thresholds", "grid", "intervals", "subsets")


# --- made


def test_a_selector_is_made_asked_and_told(visit: Visit, site: Site) -> None:
    visitor = visit(site)
    page = visitor.go()
    visitor.test("new").first.click()
    expect(page).to_have_url(re.compile(r"#/new$"))
    form = visitor.test("make")
    form.locator("input[name=name]").fill("by-hand")
    form.locator("input[name=target]").fill("85")
    expect(visitor.test("preview")).to_contain_text("0.85")
    expect(visitor.test("preview").first).to_be_visible()
    visitor.test("submit").click()
    expect(page.locator("h1")).to_have_text("by-hand")
    expect(page).to_have_title("by-hand · suffice")
    expect(visitor.test("chart-rate")).to_be_hidden()  # there is nothing to draw yet
    assert site.known("by-hand")["target"] == 0.85
    visitor.expect_status("kept", "Kept")
    visitor.test("ask").click()
    expect(visitor.test("asked")).to_have_count(1)
    decision = visitor.test("asked").get_attribute("data-decision")
    assert [str(one["decision"]) for one in rows(site)] == [decision]
    visitor.test("worked").click()
    expect(visitor.test("asked")).to_have_count(0)
    visitor.expect_status("kept", "Kept")
    expect(visitor.test("chart-rate")).to_be_visible()
    visitor.test("ask").click()
    visitor.test("failed").click()
    visitor.expect_tile("outcomes", "2")
    expect(visitor.test("decision-row")).to_have_count(2)
    assert [one["success"] for one in rows(site)] == [0.0, 1.0]


def rows(site: Site) -> list[dict[str, object]]:
    found: list[dict[str, object]] = site.call("GET", "/by-hand/decisions")["decisions"]
    return found


def test_every_kind_of_menu_can_be_made_as_it_is_proposed(visit: Visit, site: Site) -> None:
    visitor = visit(site)
    for kind in KINDS:
        page = visitor.go("new")
        page.locator("[data-test=make] input[name=name]").fill(f"made-{kind}")
        page.locator(f"input[name=kind][value={kind}]").check(force=True)
        visitor.test("submit").click()
        expect(page.locator("h1")).to_have_text(f"made-{kind}")
        menu = site.known(f"made-{kind}")["plan"]["menu"]
        assert menu["kind"] == kind
        assert menu["skip"] is (None if kind == "options" else False)  # the skip option must be chosen


def test_every_preset_can_be_made(visit: Visit, site: Site) -> None:
    visitor = visit(site)
    page = visitor.go("new")
    count = visitor.test("preset").count()
    assert count >= 3
    for number in range(count):
        visitor.go("new")
        visitor.test("preset").nth(number).click()
        page.locator("[data-test=make] input[name=name]").fill(f"preset-{number}")
        visitor.test("submit").click()
        expect(page.locator("h1")).to_have_text(f"preset-{number}")
        assert not site.known(f"preset-{number}")["plan"]["menu"].get("skip")
        visitor.test("ask").click()
        expect(visitor.test("asked")).to_have_count(1)


def test_refusals_of_the_server_are_shown_in_the_form(visit: Visit, site: Site) -> None:
    site.make("taken")
    visitor = visit(site)
    visitor.watch.expect(r"status of 409")
    page = visitor.go("new")
    page.locator("[data-test=make] input[name=name]").fill("taken")
    page.locator("[data-test=make] input[name=target]").fill("77")
    visitor.test("submit").click()
    name = visitor.test("make").locator(".field").filter(has=page.locator("[name=name]"))
    expect(name.locator(".error")).to_contain_text("taken")
    expect(visitor.test("make-error")).to_be_hidden()  # not twice
    expect(page).to_have_url(re.compile(r"#/new$"))
    assert site.known("taken")["target"] == 0.9


def test_invalid_values_are_marked_at_their_field(visit: Visit, site: Site) -> None:
    before = {one["name"] for one in site.call("GET", "?limit=500")["selectors"]}
    visitor = visit(site)
    visitor.watch.allow("status of 422")  # where the server finds it
    for field, value in (("target", "100"), ("target", "120"), ("name", "two words")):
        page = visitor.go("new")
        for name, good in (("name", "wrong"), ("target", "90")):
            page.locator(f"[data-test=make] input[name={name}]").fill(value if name == field else good)
        visitor.test("submit").click()
        typed = page.locator(f"[data-test=make] input[name={field}]")
        expect(typed).to_have_attribute("aria-invalid", "true")
        expect(typed).to_be_focused()
        expect(visitor.test("make").locator(".error:visible")).to_have_count(1)  # not twice
        expect(page).to_have_url(re.compile(r"#/new$"))
        typed.fill("95")
        expect(visitor.test("make").locator(".error:visible")).to_have_count(0)
        expect(typed).not_to_have_attribute("aria-invalid", "true")
        page.reload()
    assert {one["name"] for one in site.call("GET", "?limit=500")["selectors"]} == before


def test_refused_asks_and_tells_are_explained(visit: Visit, site: Site) -> None:
    name = site.make("refusing")
    visitor = visit(site)
    visitor.watch.expect("status of 409", "status of 422")
    page = visitor.selector(name)
    visitor.test("ask").click()
    expect(visitor.test("asked")).to_have_count(1)
    decision = visitor.test("asked").get_attribute("data-decision")
    site.call("POST", f"/{name}/tell", {"decision": decision, "success": 0})  # told elsewhere meanwhile
    visitor.test("worked").click()
    expect(visitor.test("asked").get_by_role("alert")).to_contain_text("The decision already has the outcome success 0")
    expect(visitor.test("asked").get_by_role("button", name="Take away")).to_be_visible()
    page.get_by_text("With a group").click()
    page.locator("[name=available]").fill('["no such option"]')
    visitor.test("ask").click()
    expect(page.locator("[name=available]")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#main")).to_contain_text("no such option")
    page.locator("[name=available]").fill("not JSON")
    visitor.test("ask").click()
    expect(page.locator("#main")).to_contain_text("must be JSON")
    expect(visitor.test("asked")).to_have_count(1)
    assert site.known(name)["asks"] == 1


def test_unknown_costs_can_be_told(visit: Visit, site: Site) -> None:
    plan = {
        "menu": {"kind": "options", "options": {"small": None, "a person": 1}, "safe": "a person"},
        "target": 0.5,
    }
    name = site.make("dear", plan)
    visitor = visit(site)
    visitor.watch.expect("status of 422")
    page = visitor.selector(name)
    visitor.test("ask").click()
    row = visitor.test("asked")
    expect(row).to_contain_text("small")
    page.reload()  # the decision is still there
    visitor.test("worked").click()
    expect(row.get_by_role("alert")).to_contain_text("cost")
    row.locator("[name=cost]").fill("0.25")
    row.get_by_text("In between").click()
    row.locator("[name=success]").fill("0.75")
    visitor.test("tell").click()
    expect(row).to_have_count(0)
    told = site.call("GET", f"/{name}/decisions")["decisions"][0]
    assert (told["success"], told["cost"]) == (0.75, 0.25)
    visitor.expect_tile("rate", "75%")
    visitor.expect_tile("cost", "0.25")


def test_archived_and_brought_back(visit: Visit, site: Site) -> None:
    name = site.make("old", max_debt=0)
    site.flow(name, 20, at_once=1)
    visitor = visit(site)
    page = visitor.selector(name)
    visitor.test("archive").click()
    page.locator("[data-test=cancel]").click()
    assert site.known(name)["archived"] is None
    visitor.test("archive").click()
    page.locator("[data-test=confirm]").click()
    visitor.expect_status("archived", "Archived")
    assert site.known(name)["archived"] is not None
    expect(page.locator("[data-test=advice][data-case=archived]")).to_be_visible()
    visitor.test("archive").click()
    confirm = page.locator("[data-test=confirm]")
    confirm.or_(page.locator("main [data-status=kept]")).first.wait_for()
    if confirm.count():
        confirm.click()
    visitor.expect_status("kept", "Kept")
    assert site.known(name)["archived"] is None


# --- keyboard and navigation


def press_to(page: Page, selector: str, most: int = 80) -> None:
    """Press Tab until this element has a visible focus."""
    for _ in range(most):
        there = page.evaluate("(selector) => document.activeElement.matches(selector)", selector)
        if there:
            ring = page.evaluate(
                """() => {
                  const style = getComputedStyle(document.activeElement);
                  return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 || style.boxShadow !== "none";
                }"""
            )
            assert ring, f"the focus on {selector} is invisible"
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{most} tabs do not lead to {selector}")


def test_the_keyboard_is_enough(visit: Visit, site: Site) -> None:
    visitor = visit(site)
    page = visitor.go()
    press_to(page, "[data-test=new]")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_be_focused()
    press_to(page, "input[name=name]")
    page.keyboard.type("with-keys")
    page.keyboard.press("Enter")  # the other fields have defaults
    expect(page.locator("h1")).to_have_text("with-keys")
    expect(page.locator("h1")).to_be_focused()
    press_to(page, "[data-test=ask]")
    page.keyboard.press("Enter")
    expect(visitor.test("asked")).to_have_count(1)
    press_to(page, "[data-test=worked]")
    page.keyboard.press("Space")
    expect(visitor.test("asked")).to_have_count(0)
    visitor.expect_tile("outcomes", "1")
    assert page.evaluate("document.activeElement !== document.body")  # the row is gone, and the focus has moved
    for chart in ("chart-rate", "chart-shares"):
        assert visitor.test(chart).locator("[tabindex='0'], summary, button").count() >= 1
