"""What the page stands on, without a browser: its files, what it is told of a selector, and that it asks nobody else."""

import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice import Menu, Selector
from suffice.promise.certificate import STATUSES
from suffice.service import overview
from suffice.service.history import History
from suffice.service.http.gateway import CSP
from suffice.service.http.static_page import FOLDER, MEDIA, read
from tests.support.calling import PLAN, Api, serve

FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file())
OWN = [name for name in FILES if not name.startswith("vendor/")]


# --- its files


def test_all_files_are_served_and_only_they() -> None:
    async def do(api: Api) -> None:
        for name in FILES:
            answer = await api.http.get(f"/static/{name}")
            assert answer.status_code == 200, name
            assert answer.content == (FOLDER / name).read_bytes()
            assert answer.headers["content-type"] == MEDIA[Path(name).suffix]
            assert answer.headers["content-security-policy"] == CSP
            tag = answer.headers["etag"]
            for had in (tag, f"W/{tag}", f'"another", {tag}'):  # the second is what a proxy makes of it that compresses
                again = await api.http.get(f"/static/{name}", headers={"if-none-match": had})
                assert (again.status_code, again.content) == (304, b""), had
            again = await api.http.get(f"/static/{name}", headers={"if-none-match": '"another"'})
            assert (again.status_code, again.content) == (200, answer.content)
        page = await api.http.get("/")
        assert page.content == (FOLDER / "index.html").read_bytes()
        assert page.headers["cache-control"] == "no-cache"
        assert (await api.http.head("/")).status_code == 200
        for path in (
            "../http/page.py",
            "%2e%2e/http/page.py",
            "/etc/passwd",
            "",
            "vendor",
            "nothing.js",
            "..\\page.py",
        ):
            await api.call("GET", f"/static/{path}", status=404)

    serve(do)


def test_below_another_path() -> None:
    async def do(api: Api) -> None:
        page = await api.http.get("/suffice/")
        for link in re.findall(r'(?:href|src)="([^"#]+)"', page.text):
            assert not link.startswith(("/", "http")), link
            assert (await api.http.get(f"/suffice/{link}")).status_code == 200, link

    serve(do, root_path="/suffice")


def test_without_the_page() -> None:
    async def documented(api: Api) -> None:
        assert (await api.http.get("/")).headers["location"] == "/docs"
        await api.call("GET", "/static/index.html", status=404)

    async def below(api: Api) -> None:
        assert (await api.http.get("/suffice/")).headers["location"] == "/suffice/docs"

    serve(documented, page=False)
    serve(below, page=False, root_path="/suffice")


def test_the_files_are_those_of_the_start(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.js").write_text("1")
    (tmp_path / "secret.key").write_text("1")
    files = read(tmp_path)
    assert list(files) == ["deep/a.js"]
    (tmp_path / "deep" / "a.js").write_text("22")
    assert files["deep/a.js"].body == b"1"
    assert read(tmp_path)["deep/a.js"].tag != files["deep/a.js"].tag


@pytest.mark.parametrize("name", OWN)
def test_nothing_is_asked_of_anybody_else(name: str) -> None:
    """No address of another host, nothing inline that the policy would refuse, no way for a text to become markup."""
    if Path(name).suffix not in (".html", ".css", ".js"):
        return
    text = (FOLDER / name).read_text(encoding="utf-8")
    foreign = set(re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", text)) - {"http://www.w3.org"}
    assert not foreign
    if name.endswith(".html"):
        assert not re.search(r"<style|style=|javascript:|\bon[a-z]+=", text)
        assert all('src="' in tag for tag in re.findall(r"<script[^>]*>", text))
    if name.endswith(".js"):
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)


def test_what_is_not_ours_has_its_licence() -> None:
    for folder in (path for path in (FOLDER / "vendor").iterdir() if path.is_dir()):
        assert "Permission is hereby granted" in (folder / "LICENSE").read_text(), folder


# --- the status, in one word


def test_every_status_of_one_selector() -> None:
    seen = {}

    def look(selector: Selector) -> None:
        found = selector.certificate()
        seen[found.status] = found.verdict
        assert found.status in STATUSES
        assert str(found).startswith(found.verdict)

    selector = Selector(Menu({"a": 0.1}, safe="all", skip="none"), 0.9)
    look(selector)
    decision = selector.ask()
    selector.tell(decision, True)
    look(selector)
    while not (decision := selector.ask()).is_safe:
        selector.tell(decision, False)
    for _ in range(200):
        selector.tell(decision, False)
        look(selector)
        decision = selector.ask()
    lost = Selector(Menu({"a": 0.1}, safe="all", skip="none"), 0.9)
    for _ in range(3):
        lost.expire(lost.ask())
    look(lost)
    once = Selector(Menu({"a": 0.1}, safe="all", skip="none"), 0.9)
    once.tell(once.ask(), False)
    look(once)
    assert set(seen) == {"waiting", "kept", "breach", "infeasible", "unknown", "warned"}
    assert seen["kept"].startswith("Kept: ")
    assert seen["breach"].startswith("BROKEN: ")
    assert seen["infeasible"].startswith("TARGET OUT OF REACH: ")
    assert seen["unknown"].startswith("NOT KNOWN: ")
    assert seen["warned"].startswith("Kept: ")


def test_the_worst_group_speaks_for_all() -> None:
    selector = Selector(Menu({"a": 0.1}, safe="all", skip="none"), 0.9)
    for group in ("Oslo", "Bergen"):
        selector.tell(selector.ask(group=group), True)
    assert selector.certificate().status == "kept"
    for _ in range(30):
        decision = selector.ask(group="Oslo")
        selector.tell(decision, False)
    assert selector.certificate(group="Bergen").status == "kept"
    assert selector.certificate().status == selector.certificate(group="Oslo").status in ("breach", "infeasible")


def test_the_words_for_groups_are_those_of_their_status() -> None:
    """Also where one is out of reach, which is another thing than a promise that was broken."""
    selector = Selector(Menu({"a": 0.1}, safe="all", skip="none"), 0.9)
    selector.tell(selector.ask(group="Bergen"), True)
    seen = {}
    for _ in range(30):
        selector.tell(selector.ask(group="Oslo"), False)
        found = selector.certificate()
        seen[found.status] = str(found)
    assert list(seen) == ["warned", "breach", "infeasible"]
    assert seen["warned"].startswith("Kept: ")
    assert seen["breach"].startswith("BROKEN in 1 of 2 groups ('Oslo'): ")
    assert seen["infeasible"].startswith("TARGET OUT OF REACH in 1 of 2 groups ('Oslo'): ")
    assert "\nPromised: never behind" in seen["infeasible"]  # no "Never" where it was


def test_the_service_says_it_everywhere() -> None:
    async def do(api: Api) -> None:
        await api.put()
        assert (await api.get())["status"] == "waiting"
        for success, status in ((True, "kept"), (False, "breach"), (False, "breach")):
            asked = await api.ask()
            while not asked["safe"] and not success:
                await api.tell({"decision": asked["decision"], "success": False})
                asked = await api.ask()
            await api.tell({"decision": asked["decision"], "success": success})
            found = await api.get()
            assert found["verdict"] in (await api.get("/certificate"))["text"]
            (listed,) = (await api.call("GET", "/v1/selectors"))["selectors"]
            assert listed["status"] == found["status"] == (await api.get("/certificate"))["status"]
            assert found["status"] == status
        assert found["cap"] == pytest.approx(10.0)
        archived = await api.call("DELETE", "/v1/selectors/router")
        assert archived["status"] == "archived"

    serve(do)


def test_what_other_processes_taught_moves_the_price_of_a_list() -> None:
    """A list remembers where selectors stood; but the price moves with what was learned, too, and then no count does."""

    async def do(api: Api) -> None:
        await api.put(body={**PLAN, "max_surplus": 50})
        while not 0.0 < (price := (await api.get())["price"]) < 10.0:
            await api.tell({"decision": (await api.ask())["decision"], "success": True})
        (replica,) = api.service._replicas._replicas.values()
        replica.detached.pricing("").hint /= 2.0
        replica.seen[99] = 1  # an outcome of another process
        (listed,) = (await api.call("GET", "/v1/selectors"))["selectors"]
        assert listed["price"] < price

    serve(do)


def test_what_is_remembered_of_standings_is_little(monkeypatch: pytest.MonkeyPatch) -> None:
    async def do(api: Api) -> None:
        known = api.service._stood._known
        for name in "abc":
            await api.put(name)
        await api.call("GET", "/v1/selectors")
        assert 1 <= len(known) <= 2
        known.clear()
        monkeypatch.setattr(overview, "LONG", 10)  # characters of a plan
        assert len((await api.call("GET", "/v1/selectors"))["selectors"]) == 3
        assert not known

    monkeypatch.setattr(overview, "REMEMBERED", 2)
    serve(do)


# --- what charts show


def unbounded(tolds: list[int]) -> list[tuple[float, float]]:
    return [(math.inf, math.inf) for _ in tolds]


def chart(outcomes: list[tuple[float, bool]]) -> History:
    found = History()
    for at, success in outcomes:
        found.add(at, outcomes=1, units=int(success) * 10**9, cost=0.5, price=1.0, arm=1)
    return found


def test_a_part_of_the_history_knows_what_was_before() -> None:
    found = chart([(1000.0 + step, step % 4 > 0) for step in range(400)])
    whole = found.bins(400, unbounded, 0.7)
    part = found.bins(400, unbounded, 0.7, since=1300.0)
    assert [(one.start, one.total, one.debt) for one in part] == [
        (one.start, one.total, one.debt) for one in whole if one.end > 1300.0
    ]
    assert [one.total for one in part] == list(range(301, 401))
    assert part[-1].total_successes == 300.0
    assert part[-1].total_cost == pytest.approx(200.0)
    assert found.bins(10, unbounded, 0.7, since=1e9) == []
    assert len(found.bins(10, unbounded, 0.7, since=1300.0)) <= 10


@pytest.mark.parametrize("most", [7, 30, 240])
def test_what_is_new_continues_what_is_there(most: int) -> None:
    """Who has the stretches up to one of them, and asks for those since, has what all of them at once would be."""
    outcomes = [(1000.3 + 0.7 * step, step % 4 > 0) for step in range(400)]
    earlier, later = chart(outcomes[:300]), chart(outcomes)
    had = earlier.bins(most, unbounded, 0.7)
    width = had[0].end - had[0].start
    new = later.bins(most, unbounded, 0.7, had[-1].start + 1e-3, width)
    every = later.bins(most, unbounded, 0.7, -math.inf, width)
    assert [*had[:-1], *new] == every
    assert every[-1].total == 400
    assert later.bins(most, unbounded, 0.7, every[-1].end, width) == []


@pytest.mark.parametrize("since", [1090.0, 1133.3, 1200.6])
def test_what_is_new_continues_a_part_of_it(since: float) -> None:
    """Who looks at the last hour has stretches that begin there, not where all of the history does."""
    outcomes = [(1000.3 + 0.7 * step, step % 4 > 0) for step in range(400)]
    had = chart(outcomes[:350]).bins(20, unbounded, 0.7, since)
    width = had[0].end - had[0].start
    new = chart(outcomes).bins(20, unbounded, 0.7, had[-1].start + 1e-3, width)
    every = [*had[:-1], *new]
    assert every == chart(outcomes).bins(20, unbounded, 0.7, had[0].start, width)
    assert all(one.start == had[0].start + place * width for place, one in enumerate(every))
    assert sum(one.outcomes for one in every) == every[-1].total - every[0].total + every[0].outcomes


@given(
    st.lists(
        st.tuples(st.floats(0.0, 60.0), st.booleans(), st.integers(0, 4), st.integers(0, 3), st.booleans()), max_size=60
    ),
    st.integers(1, 30),
    st.none() | st.floats(-5.0, 70.0),
    st.none() | st.floats(1e-9, 100.0),
)
def test_bins_are_sums(
    outcomes: list[tuple[float, bool, int, int, bool]], most: int, since: float | None, width: float | None
) -> None:
    """In any order, with gaps, late outcomes and buckets that had to be widened: as if all were counted one by one."""
    found, began = History(), 1_700_000_000.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("suffice.service.history.MOST", 16)
        for at, success, cost, arm, late in outcomes:
            found.add(
                began + at, outcomes=int(not late), units=int(success) * 10**9, cost=cost / 4, price=at,
                arm=None if late else arm,
            )  # fmt: skip
    after = -math.inf if since is None else began + since
    bins = found.bins(most, lambda tolds: [(float(told), -1.0) for told in tolds], 0.5, after, width)
    places = [(math.floor((began + at) / found.width) * found.width, *rest) for at, *rest in outcomes]
    kept = [one for one in places if one[0] + found.width > after]
    assert sum(one.outcomes for one in bins) == sum(not late for *_, late in kept)
    assert width is not None or len(bins) <= most
    for one in bins:
        inside = [other for other in places if one.start <= other[0] < one.end]
        before = [other for other in places if other[0] < one.end]
        assert (one.outcomes, one.successes) == (
            sum(not late for *_, late in inside),
            sum(won for _, won, *_ in inside),
        )
        assert one.cost == sum(cost / 4 for _, _, cost, *_ in inside)
        assert one.arms == Counter(arm for *_, arm, late in inside if not late)
        assert one.total == one.debt_at_most == sum(not late for *_, late in before)
        assert one.debt == 0.5 * one.total - sum(won for _, won, *_ in before)
        assert inside
    assert len({(one.start - bins[0].start) % (one.end - one.start) for one in bins}) <= 1
    assert len({one.end - one.start for one in bins}) <= 1


@pytest.mark.parametrize("plan", [{}, {"max_surplus": 5}, {"start": "cheap"}])
def test_the_bounds_of_a_chart_are_those_of_the_promise(plan: dict[str, Any]) -> None:
    """At each time what the certificate would have said then, or looser; and no debt was ever above it."""
    selector = Selector(Menu({"a": 0.1, "b": 0.3}, safe="all", skip="none"), 0.8, **plan)
    said, debts = [], []
    for step in range(300):
        decision = selector.ask()
        selector.tell(decision, decision.is_safe or (not decision.is_skip and step % 3 > 0))
        found = selector.certificate()
        said.append((found.debt_at_most, found.ahead_at_most))
        debts.append(found.debt)
    after = selector.certificate().bounds_after(range(1, 301))
    assert np.array(after) == pytest.approx(np.array(said))
    assert all(-ahead <= debt <= behind for debt, (behind, ahead) in zip(debts, after, strict=True))


def test_groups_have_the_bounds_of_now() -> None:
    selector = Selector(Menu({"a": 0.1}, safe="all"), 0.8)
    for group in ("x", "y"):
        selector.tell(selector.ask(group=group), True)
    found = selector.certificate()
    assert found.bounds_after([1, 2]) == [(found.debt_at_most, found.ahead_at_most)] * 2


def test_the_arms_played_most() -> None:
    selector = Selector(Menu.top_k([1, 2, 5], classes=10), 0.9)
    for step in range(500):
        decision = selector.ask()
        selector.tell(decision, step % 7 < decision.option)
    every = selector.options()
    for most in (1, 3, 5, 100):
        assert selector.options(most) == sorted(every, key=lambda arm: -arm.plays)[:most]


def test_of_a_large_menu_only_so_many_are_shown() -> None:
    selector = Selector(Menu([*range(5000)], safe="all"), 0.9)
    assert len(selector.options(25)) == 25
    assert selector.options(1)[0].plays == 0
