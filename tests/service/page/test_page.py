"""The page in a real browser: it loads, lists selectors, and stays up to date."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import expect

from tests.support.proxying import Proxy
from tests.support.sites import MANY, Site, fail_until, lose_all, serving
from tests.support.visiting import Visitor
from tests.support.watching import colours, drawn

Visit = Callable[..., Visitor]
# Types letter by letter, without pauses.
TYPE = """(box, text) => {
  for (let end = 1; end <= text.length; end += 1) {
    box.value = text.slice(0, end);
    box.dispatchEvent(new Event("input", { bubbles: true }));
  }
}"""
CHARTS = ("chart-rate", "chart-debt", "chart-cost", "chart-price", "chart-shares")
SAID = {
    "kept": "Kept",
    "within": "Within the limit",
    "unproven": "Unproven",
    "broken": "Broken",
    "infeasible": "Cannot be met",
    "archived": "Archived",
}


# --- it loads


def test_without_selectors_it_explains_how_to_begin(visit: Visit, things: ExitStack, tmp_path: Path) -> None:
    site = things.enter_context(serving(tmp_path))
    visitor = visit(site)
    page = visitor.go()
    expect(visitor.test("empty")).to_be_visible()
    expect(visitor.test("empty")).to_contain_text("curl")
    expect(page).to_have_title("Selectors · suffice")
    assert visitor.test("selector").count() == 0
    site.make("first")
    expect(visitor.listed("first")).to_be_visible()  # without a reload
    expect(visitor.test("empty")).to_be_hidden()


def test_the_list_shows_each_status(visit: Visit, things: ExitStack, tmp_path: Path) -> None:
    site = things.enter_context(serving(tmp_path))
    site.make("kept", max_debt=0)
    for status in ("within", "broken", "infeasible", "archived"):
        site.make(status)
    site.flow("kept", 60, at_once=1)
    for status in ("within", "broken", "infeasible"):
        fail_until(site, status, status)
    lose_all(site, "unproven")
    site.call("DELETE", "/archived")
    visitor = visit(site)
    visitor.go()
    for status, text in SAID.items():
        if status == "archived":
            assert visitor.listed(status).count() == 0
        else:
            visitor.expect_status(status, text, visitor.listed(status))
    expect(visitor.test("summary")).to_contain_text("1 kept")
    expect(visitor.test("summary")).to_contain_text("1 broken")
    expect(visitor.listed("kept")).to_contain_text("90%")
    visitor.test("filter").fill("in")
    expect(visitor.test("selector")).to_have_count(2)  # within and infeasible
    visitor.test("filter").fill("")
    expect(visitor.test("selector")).to_have_count(5)
    visitor.page.get_by_label("Problems first").check()
    shown = visitor.test("selector").evaluate_all("(rows) => rows.map((row) => row.dataset.name)")
    assert shown == ["infeasible", "broken", "unproven", "within", "kept"]
    visitor.page.get_by_label("Archived too").check()
    visitor.expect_status("archived", "Archived", visitor.listed("archived"))


def test_a_long_list_is_loaded_page_by_page(visit: Visit, things: ExitStack, tmp_path: Path) -> None:
    site = things.enter_context(serving(tmp_path))
    for number in range(130):
        site.make(f"one-{number:03}")
    visitor = visit(site)
    page = visitor.go()
    expect(visitor.test("selector")).to_have_count(100)
    expect(visitor.test("summary")).to_have_text("100 kept · of the first 100")
    filter_a_part(visitor)
    page.get_by_role("button", name="Show more").click()
    expect(visitor.test("selector")).to_have_count(130)
    expect(page.get_by_role("button", name="Show more")).to_be_hidden()
    expect(visitor.test("summary")).to_have_text("130 kept")
    asked = len(visitor.watch.asked)
    visitor.test("filter").fill("129")
    expect(visitor.test("summary")).to_have_text("1 kept · with “129” in the name")
    page.wait_for_timeout(500)
    assert not any("contains=" in url for url in visitor.watch.asked[asked:])  # the page has all of them


def filter_a_part(visitor: Visitor) -> None:
    """While the list is incomplete the server filters: once per burst of typing, and late answers are dropped."""
    page, typed = visitor.page, visitor.test("filter")
    page.route("**/*contains=one-12", lambda route: None)  # no answer
    with page.expect_request("**/*contains=one-12"):
        typed.evaluate(TYPE, "ONE-12")
    expect(visitor.test("selectors")).to_contain_text("Looking")
    with page.expect_event("requestfailed", lambda request: request.url.endswith("contains=one-12")):
        typed.fill("one-129")
    expect(visitor.test("selector")).to_have_count(1)
    expect(visitor.listed("one-129")).to_be_visible()
    typed.fill("nowhere")
    expect(visitor.test("selectors")).to_contain_text("No selector has “nowhere” in its name.")
    typed.fill("İ" * 64)  # longer in lower case, and in no name
    expect(visitor.test("selectors")).to_contain_text("No selector has “i̇i̇")
    typed.fill("")
    expect(visitor.test("selector")).to_have_count(100)
    sought = {url.split("contains=")[1] for url in visitor.watch.asked if "contains=" in url}
    assert sought == {"one-12", "one-129", "nowhere"}


# --- it stays up to date


def test_charts_follow_decisions(visit: Visit, site: Site) -> None:
    name = site.make("flowing")
    site.flow(name, 100)
    visitor = visit(site)
    page = visitor.selector(name)
    for chart in CHARTS:
        visitor.expect_charted(chart, 100)
    expect(visitor.test("connection")).to_have_attribute("data-state", "live")
    before = {chart: drawn(page, chart) for chart in CHARTS}
    points = int(visitor.test("chart-rate").get_attribute("data-points") or 0)
    assert points >= 1
    for _ in range(4):
        site.flow(name, 50)
        page.wait_for_timeout(300)  # so that there are several stretches of time
    for chart in CHARTS:
        visitor.expect_charted(chart, 300)
        assert colours(page, chart) > 3, chart
        assert drawn(page, chart) != before[chart], chart
    after = {chart: visitor.test(chart).get_attribute("data-points") or "0" for chart in CHARTS}
    assert int(after["chart-rate"]) > points
    visitor.expect_tile("outcomes", "300")
    expect(visitor.test("certificate")).to_contain_text("of 300 outcomes succeeded")
    expect(visitor.test("decision-row")).to_have_count(10)
    visitor.test("decisions").get_by_role("button", name="Show more").click()
    expect(visitor.test("decision-row")).to_have_count(50)
    known = site.known(name)
    visitor.expect_tile("rate", f"{100 * known['rate']:.1f}".removesuffix(".0") + "%")
    ahead = f"{abs(known['debt']):.4g} {'behind' if known['debt'] > 0 else 'ahead'}"
    visitor.expect_tile("debt", ahead if known["debt"] else "level")
    visitor.expect_tile("cost", f"{known['mean_cost']:.3g}")
    site.ask(name, 7)
    visitor.expect_tile("pending", "7")
    expect(visitor.test("arm")).to_have_count(4)
    expect(visitor.test("options")).to_contain_text("a person")
    page.reload()
    for chart in CHARTS:  # the same as without a reload
        visitor.expect_charted(chart, 300)
        expect(visitor.test(chart)).to_have_attribute("data-points", after[chart])


def test_a_hidden_tab_sends_no_requests(visit: Visit, site: Site) -> None:
    name = site.make("hidden")
    site.flow(name, 30)
    visitor = visit(site)
    page = visitor.selector(name)
    visitor.expect_charted("chart-rate", 30)
    show = """(state) => {
      Object.defineProperty(document, "visibilityState", {value: state, configurable: true});
      Object.defineProperty(document, "hidden", {value: state === "hidden", configurable: true});
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    with page.expect_event("requestfailed", lambda request: "/events" in request.url):  # the stream ends too
        page.evaluate(show, "hidden")
    page.wait_for_timeout(500)  # requests that were running
    asked = len(visitor.watch.asked)
    site.flow(name, 30)
    page.wait_for_timeout(2500)
    assert visitor.watch.asked[asked:] == []
    assert visitor.charted("chart-rate") == 30
    page.evaluate(show, "visible")
    visitor.expect_charted("chart-rate", 60)


def test_a_restart_is_survived(visit: Visit, things: ExitStack, tmp_path: Path) -> None:
    site = things.enter_context(serving(tmp_path, f"sqlite:///{tmp_path / 'suffice.db'}"))
    name = site.make("lasting")
    site.flow(name, 40)
    visitor = visit(site)
    visitor.watch.expect("net::ERR_(CONNECTION|INCOMPLETE|EMPTY|SOCKET)")  # browsers differ
    visitor.watch.allow("status of 503")  # while it starts
    visitor.selector(name)
    visitor.expect_charted("chart-rate", 40)
    connection = visitor.test("connection")
    expect(connection).to_have_attribute("data-state", "live")
    site.kill()
    expect(connection).to_have_attribute("data-state", "lost")
    site.up()
    expect(connection).to_have_attribute("data-state", "live")
    site.flow(name, 20)
    visitor.expect_charted("chart-rate", 60)
    visitor.expect_tile("outcomes", "60")


def test_twenty_thousand_options(visit: Visit, site: Site) -> None:
    name = site.make("many", MANY)
    site.flow(name, 30)
    visitor = visit(site)
    page = visitor.selector(name)
    visitor.expect_charted("chart-shares", 30)
    expect(visitor.test("options")).to_contain_text("20,000")
    assert 1 <= visitor.test("arm").count() <= 100
    sizes: list[int] = []
    page.on("response", lambda answer: sizes.append(int(answer.headers.get("content-length", 0))))
    site.flow(name, 30)
    visitor.expect_charted("chart-shares", 60)
    assert sizes
    assert max(sizes) < 200_000  # no response holds them all


def test_it_works_under_a_root_path(visit: Visit, things: ExitStack, tmp_path: Path) -> None:
    site = things.enter_context(serving(tmp_path, root_path="/tools/suffice"))
    name = site.make("below")
    site.flow(name, 20)
    for told, cut in ((20, True), (21, False)):
        proxy = things.enter_context(Proxy(site.port, "/tools/suffice", cut=cut))
        visitor = visit(site, url=proxy.url)
        page = visitor.go()
        visitor.listed(name).get_by_role("link").first.click()
        expect(page.locator("h1")).to_contain_text(name)
        visitor.expect_charted("chart-rate", told)
        visitor.test("ask").click()
        visitor.test("worked").first.click()
        visitor.expect_charted("chart-rate", told + 1)
        assert proxy.astray == []
