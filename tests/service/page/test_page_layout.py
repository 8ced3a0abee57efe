"""The layout of the page in a real browser: narrow and wide, light and dark, with long names and large numbers."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.support.sites import HOSTILE, LONG, Site, failing, serving
from tests.support.visiting import Visitor
from tests.support.watching import NARROW, WIDE, cut_off, inaccessible, moving, sticking_out

Visit = Callable[..., Visitor]
ROUTES = ("", f"selectors/{LONG}", "selectors/broken", "new")
UNSEEN = "\u202egnp.exe"  # turns the direction of what follows
WORDY: dict[str, Any] = {
    "menu": {
        "kind": "options",
        "options": {
            HOSTILE: 12_345.6,
            "an option that has a whole sentence for a name, as some of them do": 0.000012,
            UNSEEN: 1e-90,
        },
        "safe": "a-person-who-is-asked-whenever-nobody-else-knows-what-to-do-and-has-a-name-without-spaces",
        "skip": "skip",
        "safe_cost": 123_456_789.0,
    },
    "target": 0.98765,
    "model": "auto",
}


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site with long names, large numbers and a broken promise."""
    with serving(tmp_path_factory.mktemp("crowded")) as site:
        site.make(LONG, WORDY)
        for number in range(4):
            group = f"{number}-{LONG}"
            site.flow(LONG, 60, group=group, at_once=20, contexts=[{HOSTILE: HOSTILE, "length": 123456789}] * 20)
        site.ask(LONG, 30, contexts=[{HOSTILE: HOSTILE}] * 30)
        site.make("broken", WORDY, model=None)
        site.flow("broken", 100, failing)
        site.make("fresh")
        yield site


def settle(visitor: Visitor, route: str) -> Page:
    """Open a route, and wait until it is complete."""
    page = visitor.go(route)
    if route.startswith("selectors/"):
        for chart in ("chart-rate", "chart-shares"):
            expect(visitor.test(chart)).to_have_attribute("data-told", "240" if LONG in route else "100")
        visitor.test("decision-row").first.wait_for()
        visitor.test("arm").first.wait_for()
        expect(visitor.test("certificate")).to_contain_text("succeeded")
        if LONG in route:
            expect(visitor.test("groups")).to_contain_text(LONG)
            expect(visitor.test("context-report")).to_be_visible()
        else:
            visitor.test("advice").first.wait_for()
    elif route == "":
        expect(visitor.test("selector")).to_have_count(3)
    else:
        visitor.test("make").wait_for()
    return page


BETWEEN = {"width": 768, "height": 1024}
ENLARGED = {"width": 320, "height": 256}  # a window of 1280 by 1024 at 400%


@pytest.mark.parametrize("window", [NARROW, WIDE, BETWEEN, ENLARGED], ids=["phone", "desktop", "between", "enlarged"])
def test_nothing_sticks_out(visit: Visit, crowded: Site, window: dict[str, int]) -> None:
    visitor = visit(crowded, viewport=window, has_touch=window is NARROW)
    for route in ROUTES:
        page = settle(visitor, route)
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        page.wait_for_timeout(100)
        assert sticking_out(page) == [], route
        assert cut_off(page) == [], route
    add(page, "div", width="2000px", height="9px")
    add(page, "p", width="40px", overflow="hidden", whiteSpace="nowrap")
    assert len(sticking_out(page)) >= 1 <= len(cut_off(page))  # the checks find what is wrong


def add(page: Page, kind: str, **style: str) -> None:
    """Add an element to the page."""
    page.evaluate(
        """([kind, style]) => {
          const one = document.createElement(kind);
          one.textContent = "12,345,678,901";
          Object.assign(one.style, style);
          document.querySelector("main").append(one);
        }""",
        [kind, style],
    )


@pytest.mark.parametrize(("window", "scheme"), [(NARROW, "light"), (WIDE, "dark")], ids=["phone-light", "desktop-dark"])
def test_it_is_accessible(visit: Visit, crowded: Site, window: Any, scheme: str) -> None:
    visitor = visit(crowded, viewport=window, color_scheme=scheme, reduced_motion="reduce")
    for route in ROUTES:
        page = settle(visitor, route)
        assert inaccessible(page) == [], route
        assert page.locator("h1").count() == 1
        assert page.locator("main").count() == 1
    add(page, "input")
    assert inaccessible(page) != []  # the check finds what is wrong


def test_targets_are_large_enough(visit: Visit, crowded: Site) -> None:
    visitor = visit(crowded, viewport=NARROW, has_touch=True)
    for route in ROUTES:
        page = settle(visitor, route)
        small = page.evaluate(
            """() => [...document.querySelectorAll("button, select, summary, input:not([type=radio]):not([type=checkbox])")]
              .filter((one) => one.checkVisibility({visibilityProperty: true}))
              .map((one) => [one.getBoundingClientRect(), one.outerHTML.slice(0, 80)])
              .filter(([box]) => box.width < 24 || box.height < 24).map(([, said]) => said)"""
        )
        assert small == [], route


def test_hostile_texts_stay_text(visit: Visit, crowded: Site) -> None:
    visitor = visit(crowded)
    page = settle(visitor, f"selectors/{LONG}")
    expect(visitor.test("options")).to_contain_text(HOSTILE)
    expect(visitor.test("decisions")).to_contain_text(HOSTILE)
    expect(visitor.test("options")).to_contain_text(r"\u202egnp.exe")
    assert UNSEEN[0] not in page.locator("main").inner_text()
    assert page.locator("img").count() == 0
    page.goto(f"{visitor.url}#/selectors/{HOSTILE}")
    visitor.watch.expect("status of (404|422)")
    expect(page.locator("main")).not_to_contain_text("Loading")
    page.wait_for_timeout(300)
    assert page.locator("img").count() == 0


def test_reduced_motion_is_kept(visit: Visit, crowded: Site) -> None:
    visitor = visit(crowded, reduced_motion="reduce")
    for route in ROUTES:
        page = settle(visitor, route)
        assert moving(page) == [], route


def test_charts_have_names_and_tables(visit: Visit, crowded: Site) -> None:
    visitor = visit(crowded)
    page = settle(visitor, f"selectors/{LONG}")
    for chart in ("chart-rate", "chart-debt", "chart-cost", "chart-price", "chart-shares"):
        box = visitor.test(chart)
        name = box.evaluate(
            """(box) => [box, ...box.querySelectorAll("*")].map((one) => one.getAttribute("aria-label")
              || (document.getElementById(one.getAttribute("aria-labelledby")) || {}).textContent || "").find(Boolean)"""
        )
        assert name, f"{chart} has no name"
        box.locator("details summary").click()
        expect(box.locator("details table tbody tr").first).to_be_visible()
        expect(box.locator("details table tbody tr td").first).to_contain_text(re.compile(r"\d"))
    assert page.locator("[aria-live]").count() >= 1


def test_it_can_be_printed(visit: Visit, crowded: Site) -> None:
    visitor = visit(crowded, viewport={"width": 794, "height": 1123})
    page = settle(visitor, f"selectors/{LONG}")
    page.emulate_media(media="print")
    assert sticking_out(page) == []
    expect(page.locator("h1")).to_be_visible()
