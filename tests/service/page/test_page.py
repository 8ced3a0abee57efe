"""The page in a real browser: it comes up, it lists, and it moves."""

import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import expect

from tests.support.proxying import Proxy
from tests.support.sites import MANY, Site, fail_until, lose_all, serving
from tests.support.visiting import Visitor
from tests.support.watching import colours, drawn

Visit = Callable[..., Visitor]
# Letter by letter, faster than any machine is busy.
TYPE = """(box, text) => {
  for (let end = 1; end <= text.length; end += 1) {
    box.value = text.slice(0, end);
    box.dispatchEvent(new Event("input", { bubbles: true }));
  }
}"""
CHARTS = ("chart-rate", "chart-debt", "chart-cost", "chart-price", "chart-shares")
SAID = {
    "waiting": "Waiting",
    "kept": "Kept",
    "warned": "Warning",
    "breach": "Breach",
    "infeasible": "Cannot be met",
    "unknown": "Not known",
    "archived": "Archived",
}


# --- it comes up


def test_it_comes_up_empty_and_says_how_to_begin(visit: Visit, things: ExitStack, tmp_path: Path) -> None:
    site = things.enter_context(serving(tmp_path))
    visitor = visit(site)
    page = visitor.go()
    expect(visitor.test("empty")).to_be_visible()
    expect(visitor.test("empty")).to_contain_text("curl")
    expect(page).to_have_title("Selectors · suffice")
    assert visitor.test("selector").count() == 0
    site.make("first")
    expect(visitor.listed("first")).to_be_visible()  # by itself: nothing was loaded again
    expect(visitor.test("empty")).to_be_hidden()


def test_nothing_in_it_is_inline_and_all_of_it_is_ours(visit: Visit, site: Site) -> None:
    visitor = visit(site)
    answer = visitor.page.goto(site.url)
    assert answer is not None
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "style-src 'self'" in policy
    assert "unsafe" not in policy
    assert "style=" not in answer.text()
    assert "<script>" not in answer.text()
    visitor.page.wait_for_selector('body[data-ready="true"]')
    assert sum("/static/" in url for url in visitor.watch.asked) >= 2


def test_the_list_shows_how_each_one_stands(visit: Visit, things: ExitStack, tmp_path: Path) -> None:
    site = things.enter_context(serving(tmp_path))
    for status in ("waiting", "kept", "warned", "breach", "infeasible", "archived"):
        site.make(status)
    site.flow("kept", 60)
    for status in ("warned", "breach", "infeasible"):
        fail_until(site, status, status)
    lose_all(site, "unknown")
    site.call("DELETE", "/archived")
    visitor = visit(site)
    visitor.go()
    for status, text in SAID.items():
        if status == "archived":
            assert visitor.listed(status).count() == 0
        else:
            visitor.expect_status(status, text, visitor.listed(status))
    expect(visitor.test("summary")).to_contain_text("1 kept")
    expect(visitor.test("summary")).to_contain_text("1 breach")
    expect(visitor.listed("kept")).to_contain_text("90%")
    visitor.test("filter").fill("in")
    expect(visitor.test("selector")).to_have_count(2)  # waiting and infeasible
    visitor.test("filter").fill("")
    expect(visitor.test("selector")).to_have_count(6)
    visitor.page.get_by_label("Problems first").check()
    expect(visitor.test("selector").first).to_have_attribute("data-name", re.compile("breach|infeasible"))
    visitor.page.get_by_label("Archived too").check()
    visitor.expect_status("archived", "Archived", visitor.listed("archived"))


def test_a_long_list_comes_a_page_at_a_time(visit: Visit, things: ExitStack, tmp_path: Path) -> None:
    site = things.enter_context(serving(tmp_path))
    for number in range(130):
        site.make(f"one-{number:03}")
    visitor = visit(site)
    page = visitor.go()
    expect(visitor.test("selector")).to_have_count(100)
    expect(visitor.test("summary")).to_have_text("100 waiting · of the first 100")
    filter_a_part(visitor)
    page.get_by_role("button", name="Show more").click()
    expect(visitor.test("selector")).to_have_count(130)
    expect(page.get_by_role("button", name="Show more")).to_be_hidden()
    expect(visitor.test("summary")).to_have_text("130 waiting")
    asked = len(visitor.watch.asked)
    visitor.test("filter").fill("129")
    expect(visitor.test("summary")).to_have_text("1 waiting · with “129” in the name")
    page.wait_for_timeout(500)
    assert not any("contains=" in url for url in visitor.watch.asked[asked:])  # all of them are here


def filter_a_part(visitor: Visitor) -> None:
    """Where not all are here the server is asked: once for what is typed in one go; and answers that are late are dropped."""
    page, typed = visitor.page, visitor.test("filter")
    page.route("**/*contains=one-12", lambda route: None)  # a slow one: it is not answered
    with page.expect_request("**/*contains=one-12"):
        typed.evaluate(TYPE, "ONE-12")
    expect(visitor.test("selectors")).to_contain_text("Looking")
    with page.expect_event("requestfailed", lambda request: request.url.endswith("contains=one-12")):
        typed.fill("one-129")
    expect(visitor.test("selector")).to_have_count(1)
    expect(visitor.listed("one-129")).to_be_visible()
    typed.fill("nowhere")
    expect(visitor.test("selectors")).to_contain_text("No selector has “nowhere” in its name.")
    typed.fill("İ" * 64)  # which is longer in small letters, and in no name
    expect(visitor.test("selectors")).to_contain_text("No selector has “i̇i̇")
    with page.expect_response("**/v1/selectors?*"):  # the next look
        pass
    refuse_to_filter(visitor)
    typed.fill("")
    expect(visitor.test("selector")).to_have_count(100)
    sought = {url.split("contains=")[1] for url in visitor.watch.asked if "contains=" in url}
    assert sought == {"one-12", "one-129", "nowhere", "one-1", "one-09"}


def refuse_to_filter(visitor: Visitor) -> None:
    """Those that are here stay where the server does not filter."""
    page, typed, refused = visitor.page, visitor.test("filter"), "**/*contains=*"
    visitor.watch.expect("status of 422")
    page.route(refused, lambda one: one.fulfill(status=422, json={"detail": "no such filter"}))
    typed.fill("one-1")
    said = "None of the first 100 has “one-1” in its name, and for the others the server could not be asked: no such filter."
    expect(visitor.test("selectors")).to_contain_text(said)
    typed.fill("one-09")
    for _ in range(2):  # when it was typed, and at the next look
        with page.expect_response(refused):
            pass
    expect(visitor.test("selector")).to_have_count(10)
    expect(visitor.test("summary")).to_have_text("10 waiting · with “one-09” in the name · of the first 100")
    page.unroute(refused)


def test_the_list_is_live(visit: Visit, site: Site) -> None:
    name = site.make("live-list")
    visitor = visit(site)
    visitor.go()
    visitor.expect_status("waiting", "Waiting", visitor.listed(name))
    site.flow(name, 40)
    visitor.expect_status("kept", "Kept", visitor.listed(name))
    fail_until(site, name, "breach")
    visitor.expect_status("breach", "Breach", visitor.listed(name))


# --- it moves


def test_charts_move_while_decisions_flow(visit: Visit, site: Site) -> None:
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
    expect(visitor.test("certificate")).to_contain_text("of 300 succeeded")
    expect(visitor.test("decision-row")).to_have_count(10)
    visitor.test("decisions").get_by_role("button", name="Show more").click()
    expect(visitor.test("decision-row")).to_have_count(50)
    known = site.known(name)
    visitor.expect_tile("rate", f"{100 * known['rate']:.1f}".removesuffix(".0") + "%")
    ahead = f"{abs(known['debt']):.4g} {'behind' if known['debt'] > 0 else 'ahead'}"
    visitor.expect_tile("debt", ahead if known["debt"] else "level")
    visitor.expect_tile("cost", f"{known['mean_cost']:.3g}")
    expect(visitor.test("arm")).to_have_count(4)
    expect(visitor.test("options")).to_contain_text("a person")
    page.reload()
    for chart in CHARTS:  # what came bit by bit is what comes at once
        visitor.expect_charted(chart, 300)
        expect(visitor.test(chart)).to_have_attribute("data-points", after[chart])


def test_what_is_pending_is_shown_at_once(visit: Visit, site: Site) -> None:
    name = site.make("pending")
    visitor = visit(site)
    visitor.selector(name)
    asked = site.ask(name, 7)
    visitor.expect_tile("pending", "7")
    site.tell(name, asked)
    visitor.expect_tile("outcomes", "7")
    visitor.expect_tile("pending", "0")


def test_what_is_not_audited_is_not_missed(visit: Visit, site: Site) -> None:
    name = site.make("unaudited")
    site.ask(name, 20, audit=False)
    visitor = visit(site)
    visitor.selector(name)
    expect(visitor.test("tile-outcomes")).to_contain_text("20 decisions asked")
    expect(visitor.test("decisions")).to_contain_text("None was asked to be audited yet")
    expect(visitor.test("certificate")).to_contain_text("Nothing told yet")
    expect(visitor.test("advice")).to_have_count(0)


def test_a_hidden_tab_asks_for_nothing(visit: Visit, site: Site) -> None:
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
    with page.expect_event("requestfailed", lambda request: "/events" in request.url):  # it stops listening, too
        page.evaluate(show, "hidden")
    page.wait_for_timeout(500)  # what was under way
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
    visitor.watch.expect("net::ERR_(CONNECTION|INCOMPLETE|EMPTY|SOCKET)")  # whatever a browser calls it
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


def test_twenty_thousand_arms_are_not_too_many(visit: Visit, site: Site) -> None:
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
    assert max(sizes) < 200_000  # one look does not carry them all


def test_it_works_below_a_path(visit: Visit, things: ExitStack, tmp_path: Path) -> None:
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
