"""Looks: certificate, arms, context_report, history, decisions, CSV, events; metrics; and the page of the documentation."""

import asyncio
import csv
import io
import json
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import aclosing
from datetime import datetime
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import BaseModel

from suffice.promise.certificate import Certificate
from suffice.service import overview
from suffice.service.errors import StoreDown
from suffice.service.http import event_streams, export, keys, metrics, schemas_read, schemas_write, serializers
from suffice.service.http.app import make_app
from suffice.service.http.docs_page import STYLE
from suffice.service.http.gateway import CSP
from suffice.service.http.openapi import BODIES, REPLIES, schemas
from suffice.service.http.settings import Settings
from suffice.service.overview import GroupCertificates, certified
from suffice.service.plans import menus
from suffice.service.records import Bin
from suffice.service.selectors import SelectorService
from suffice.service.stores import open_store
from tests.support.calling import PLAN, Api, serve
from tests.support.command import say_in_process


@pytest.fixture(params=["memory:", "sqlite:///"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/suffice.db" if request.param != "memory:" else "memory:"


async def play(api: Api, count: int, name: str = "router", **wanted: Any) -> None:
    """Ask and tell; every tenth fails unless it is safe."""
    for step in range(count):
        asked = await api.ask(name, wanted)
        success = asked["safe"] or (not asked["skip"] and step % 10 > 0)
        await api.tell({"decision": asked["decision"], "success": success}, name)


# --- one selector


def test_the_certificate(store: str) -> None:
    async def do(api: Api) -> None:
        await api.put()
        found = await api.get("/certificate")
        written = {name for name in Certificate.__dataclass_fields__ if name not in ("promise", "account")}
        assert set(found) == written | {"missing", "text", "status"}
        assert found["text"] == "Nothing told yet (target 90%).\n" + found["text"].partition("\n")[2]
        await play(api, 3)
        await play(api, 2, group="Oslo")
        found = await api.get("/certificate")
        assert set(found["groups"]) == {"", "Oslo"}
        assert found["outcomes"] == 5
        assert found["groups"]["Oslo"]["outcomes"] == 2
        alone = await api.get("/certificate?group=Oslo")
        assert alone == found["groups"]["Oslo"]
        assert found["missing"] == alone["missing"] == 0
        await api.ask(body={"count": 4, "group": "Oslo"})
        found = await api.get("/certificate")
        missing = {name: part["missing"] for name, part in found["groups"].items()}
        most = (await api.service.certificate("router", "Oslo")).account.most_outstanding
        assert missing == {"": 0, "Oslo": most - 1}
        assert found["missing"] == most - 1 > 0
        await api.get("/certificate?group=Bergen", status=422)
        await api.get("/certificate?group=", status=422)
        await api.get("/certificate?group=%00", status=422)

    serve(do, store)


async def many_groups(api: Api, count: int = 60) -> None:
    """The safe option succeeds, but in two groups: of 3 outcomes each, one more in the last."""
    await api.put()
    for number in range(count):
        asked = (await api.ask(body={"count": 3, "group": f"g{number:02d}"}))["decisions"]
        await api.tell([{"decision": one["decision"], "success": number not in (7, 9)} for one in asked])
    await play(api, 4, group=f"g{count - 1}")
    await api.ask(body={"group": "new"})


def test_a_certificate_of_many_groups_says_all_and_shows_the_worst(store: str) -> None:
    async def do(api: Api) -> None:
        await many_groups(api)
        whole = await api.get("/certificate")
        assert whole["status"] == whole["groups"]["g07"]["status"] == "infeasible"
        assert whole["group_statuses"] == {"infeasible": 2, "kept": 58, "waiting": 1}
        assert list(whole["group_statuses"]) == ["infeasible", "kept", "waiting"]
        names = list(whole["groups"])
        assert len(names) == 61
        assert (names[:5], names[-1]) == (["g07", "g09", "g59", "g00", "g01"], "new")
        for shown in (0, 1, 3, 61, 1000):
            assert await api.get(f"/certificate?groups={shown}") == {
                **whole, "groups": {name: whole["groups"][name] for name in names[:shown]}
            }  # fmt: skip
        assert "groups" not in await api.get("/certificate?group=g07&groups=3")
        for wrong in ("-1", "x", "1.5", ""):
            await api.get(f"/certificate?groups={wrong}", status=422)

    serve(do, store)


def test_a_look_at_many_groups_takes_time_for_those_that_moved(monkeypatch: pytest.MonkeyPatch, store: str) -> None:
    made: list[int] = []
    make = Certificate.make

    def counted(promise: Any, account: Any, pending: int) -> Certificate:
        made.append(pending)
        return make(promise, account, pending)

    async def do(api: Api) -> None:
        await many_groups(api)
        before = await api.get()
        monkeypatch.setattr(Certificate, "make", staticmethod(counted))
        assert await api.get() == before
        await api.get("/certificate")
        await api.get("/history")
        assert len(made) == 3  # that of the selector itself
        await play(api, 1, group="g00")
        await play(api, 1, group="another")
        made.clear()
        after = await api.get()
        assert len(made) == 3
        assert (after["outcomes"], after["pending"]) == (before["outcomes"] + 2, before["pending"])
        monkeypatch.setattr(overview, "GROUPS", 10)  # more than are remembered
        assert await api.get() == after
        again = GroupCertificates()
        shards = await api.service.store.shards([1])
        promise = (await api.service.certificate("router")).promise
        assert await api.service.certificate("router") == certified(promise, 1, shards, again)
        assert len(again._known) <= 10

    serve(do, store)


def test_arms_and_context_report(store: str) -> None:
    async def do(api: Api) -> None:
        await api.put()
        await play(api, 5)
        arms = (await api.get("/options"))["options"]
        assert [arm["option"] for arm in arms] == ["skip", "small", "large", "a person"]
        assert sum(arm["plays"] for arm in arms) == 5
        few = await api.get("/options?order=plays&limit=2")
        assert few["options"] == sorted(arms, key=lambda arm: -arm["plays"])[:2]
        assert few["total"] == 4
        assert (await api.get("/options?limit=1"))["options"] == arms[:1]
        for wrong in ("limit=0", "order=best"):
            await api.get(f"/options?{wrong}", status=422)
        assert "model" in (await api.get("/context-report", status=422))["detail"]
        await api.put("looking", {**PLAN, "model": "auto"})
        await play(api, 5, "looking", context={"length": 3})
        found = await api.get("/context-report", "looking")
        assert found["trusted"] is False
        assert found["text"].startswith("The model (")
        await api.put("pairs", {"menu": {"kind": "intervals", "step": 0.5}, "target": 0.5})
        arms = (await api.get("/options", "pairs"))["options"]
        assert [arm["option"] for arm in arms] == [None, [0.0, 0.5], [0.5, 1.0], [0.0, 1.0]]

    serve(do, store)


def test_the_history(store: str) -> None:
    async def do(api: Api) -> None:
        await api.put()
        assert await api.get("/history") == {"bins": [], "options": {}, "width": None, "finest": 0.25}
        await play(api, 20)
        bins = (await api.get("/history?bins=1"))["bins"]
        assert len(bins) == 1
        (one,) = bins
        found = await api.get()
        assert (one["outcomes"], one["successes"]) == (20, found["successes"])
        assert one["debt"] == pytest.approx(found["debt"])
        assert one["cost"] == pytest.approx(found["cost"])
        assert one["rate"] == pytest.approx(found["rate"])
        assert sum(one["arms"].values()) == 20
        assert sum(one["shares"].values()) == pytest.approx(1.0)
        assert (one["total"], one["total_rate"]) == (20, pytest.approx(found["rate"]))
        assert one["total_cost"] == pytest.approx(found["mean_cost"])
        assert (one["debt_at_most"], one["ahead_at_most"]) == (found["debt_at_most"], found["ahead_at_most"])
        assert (await api.get(f"/history?since={one['end']}"))["bins"] == []
        assert (await api.get(f"/history?bins=1&since={one['end'] - 1e-3}"))["bins"][-1]["total"] == 20
        for wrong in ("0", "-1", "1001", "x", "1.5"):
            await api.get(f"/history?bins={wrong}", status=422)

    serve(do, store)


@pytest.mark.parametrize(
    ("outcomes", "successes", "cost", "rate", "mean_cost"),
    [(4, 3.0, 2.0, 0.75, 0.5), (1, 6.0, -1.0, None, None), (0, 2.0, 1.0, None, None), (2, 2.0, 0.0, 1.0, 0.0)],
)
def test_late_outcomes_make_no_impossible_rates(
    outcomes: int, successes: float, cost: float, rate: float | None, mean_cost: float | None
) -> None:
    found = serializers.stretch(
        Bin(0.0, 1.0, outcomes, successes, cost, 0.0, None, {}, outcomes, successes, cost, 0.9, 1.0)
    )
    assert (found["rate"], found["mean_cost"]) == (rate, mean_cost)


def test_decisions_newest_first_and_in_order(store: str) -> None:
    async def do(api: Api) -> None:
        await api.put()
        await play(api, 4, group="Oslo")
        await api.ask()

        async def numbers(query: str) -> tuple[list[int], int | None]:
            page = await api.get(f"/decisions{query}")
            return [one["decision"] for one in page["decisions"]], page["next"]

        assert await numbers("") == ([4, 3, 2, 1, 0], None)
        assert await numbers("?limit=2") == ([4, 3], None)
        assert await numbers("?after=-1&limit=2") == ([0, 1], 1)
        assert await numbers("?after=1&limit=3") == ([2, 3, 4], None)
        assert await numbers("?after=4") == ([], None)
        newest, told = (await api.get("/decisions?limit=2"))["decisions"]
        assert (newest["state"], newest["success"], newest["told_at"], newest["group"]) == (
            "pending",
            None,
            None,
            None,
        )
        assert (told["state"], told["group"], told["late"], told["option"]) == ("told", "Oslo", False, told["option"])
        for wrong in ("limit=0", "limit=1001", "after=-2", "after=x"):
            await api.get(f"/decisions?{wrong}", status=422)

    serve(do, store)


# --- CSV


async def table(api: Api, query: str = "", name: str = "router") -> list[dict[str, str]]:
    answer = await api.http.get(f"/v1/selectors/{name}/decisions.csv{query}")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/csv")
    assert f'filename="{name}-decisions.csv"' in answer.headers["content-disposition"]
    return list(csv.DictReader(io.StringIO(answer.text)))


def test_the_export(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "PAGE", 7)
    now = [1_800_000_000.0]

    async def do(api: Api) -> None:
        await api.put(body={**PLAN, "expire_after": 60})
        assert await table(api) == []
        await play(api, 15)
        await api.ask(body={"count": 2, "group": "-Oslo"})
        now[0] += 61.0
        await api.service.sweep()
        await api.tell({"decision": 15, "success": 0.5})
        await api.ask(body={"group": '=cmd|" /C calc"!A0'})
        rows = await table(api)
        assert list(rows[0]) == list(export.COLUMNS)
        assert [int(row["decision"]) for row in rows] == list(range(18))
        assert [row["state"] for row in rows[14:]] == ["told", "amended", "expired", "pending"]
        assert [row["success"] for row in rows[15:]] == ["0.5", "", ""]
        assert [row["late"] for row in rows[14:]] == ["false", "true", "false", "false"]
        assert [row["group"] for row in rows[15:]] == ["'-Oslo", "'-Oslo", '\'=cmd|" /C calc"!A0']
        assert {row["option"]: float(row["cost"]) for row in rows}["a person"] == 1.0
        asked, told = (datetime.fromisoformat(rows[0][name]) for name in ("asked_at", "told_at"))
        assert asked <= told
        assert asked.utcoffset() is not None
        assert len(await table(api, "?state=told")) == 15
        assert [row["decision"] for row in await table(api, "?state=expired")] == ["16"]
        assert await table(api, "?state=pending") == rows[17:]
        await api.get("/decisions.csv?state=lost", status=422)
        await api.get("/decisions.csv", "nobody", status=404)

    serve(do, store, lambda: now[0])


def test_options_in_the_export() -> None:
    options = ["=1+1", "plain", "", " ", -5, 2.5, True, None, [1, "a"], {"k": 1}, "with, comma\nand line", "@x"]

    async def do(api: Api) -> None:
        await api.put(body={"menu": {"kind": "options", "options": options, "safe": "e"}, "target": 0.5})
        menu = (await api.service.plan("router")).menu()
        written = [export._option(menu.option(arm)) for arm in range(menu.n_arms)]
        assert written == [
            "'=1+1", "plain", '""', '" "', "-5", "2.5", "true", "null", '[1,"a"]', '{"k":1}', "with, comma\nand line", "'@x",
            "e",
        ]  # fmt: skip

    serve(do)


def test_the_export_can_be_replayed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "decisions.csv"

    async def do(api: Api) -> None:
        await api.put()
        await play(api, 60)
        await api.ask(body={"count": 3})
        log.write_bytes((await api.http.get("/v1/selectors/router/decisions.csv")).content)

    serve(do)
    code, said, _ = say_in_process(capsys, "replay", str(log), "--target", "0.9")
    assert code == 0
    assert "3 of 63 rows hold no outcome and are left out." in said


# --- events


async def listen(api: Api, query: str = "", name: str = "router") -> list[dict[str, Any]]:
    """What is heard until the server ends."""
    answer = await api.http.get(f"/v1/selectors/{name}/events{query}")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    events = []
    for text in filter(None, answer.text.split("\n\n")):
        fields = dict(line.split(": ", 1) for line in text.split("\n"))
        if "" not in fields:
            events.append({**fields, "data": json.loads(fields["data"])})
    return events


async def until(there: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(3000):
        if await there():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came")


def test_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_streams, "BEAT", 0.0)

    async def do(api: Api) -> None:
        await api.put()
        looks = 0
        look = api.app.state.streams._look

        async def counted(name: str) -> Any:
            nonlocal looks
            looks += 1
            return await look(name)

        api.app.state.streams._look = counted
        listeners = [asyncio.create_task(listen(api, "?every=0.2")) for _ in range(3)]

        async def open_ones() -> bool:
            return bool(api.app.state.streams.open == 3)

        await until(open_ones)
        await play(api, 2)
        enough = looks + 6  # two each, whether or not they share them

        async def looked() -> bool:
            return looks >= enough

        await until(looked)
        api.app.state.closing.set()
        for events in await asyncio.gather(*listeners):
            assert [event["event"] for event in events] == ["standing"] * len(events)
            assert events[0]["data"]["outcomes"] in (0, 1, 2)
            assert events[-1]["data"] == {**await api.get(), "plan": None}
            assert events[-1]["id"] == "2"
            texts = [json.dumps(event) for event in events]
            assert len(texts) == len(set(texts))  # only what has changed
        assert api.app.state.streams.open == 0

    serve(do)


def test_a_stream_says_that_the_selector_is_archived_and_brought_back() -> None:
    async def do(api: Api) -> None:
        await api.put()
        heard: list[str] = []
        some: event_streams.Streams = api.app.state.streams

        async def listen() -> None:
            first = await some.seen("router")
            async for event in some.events("router", 0.01, first):
                data = json.loads(event.split(b"data: ")[1])
                heard.append(data["status"])

        async def hears(status: str) -> None:
            async def there() -> bool:
                return heard[-1:] == [status]

            await until(there)

        listener = asyncio.create_task(listen())
        await hears("waiting")
        await api.call("DELETE", "/v1/selectors/router")
        await hears("archived")
        await api.put(status=200)
        await hears("waiting")
        some.closing.set()
        await listener
        assert heard == ["waiting", "archived", "waiting"]

    serve(do)


def test_many_who_look_look_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def do(api: Api) -> None:
        await api.put("a")
        await api.put("b")
        looks, written = [], []
        write = serializers.written

        async def look(name: str) -> Any:
            looks.append(name)
            await asyncio.sleep(0.01)
            return await api.service.overview(name)

        def count(body: Any) -> bytes:
            written.append(body["name"])
            return write(body)

        monkeypatch.setattr(event_streams, "written", count)
        some = event_streams.Streams(look, 3)
        seen = await asyncio.gather(*(some.seen_lately("a", 60.0) for _ in range(5)), some.seen_lately("b", 60.0))
        assert [json.loads(one.text)["name"] for one in seen] == [*"aaaaa", "b"]
        assert looks == written == ["a", "b"]
        assert await some.seen_lately("a", 60.0) == seen[0]
        slow = asyncio.create_task(some.seen_lately("a", 0.0))
        await asyncio.sleep(0)
        assert await some.seen_lately("a", 0.0) == await slow  # one that goes on is waited for, however long it takes
        assert looks == written == ["a", "b", "a"]

    serve(do)


class Clock(asyncio.SelectorEventLoop):
    """A loop that never waits: when nothing is left to do, it is later. Each step takes a microsecond."""

    now = 0.0

    def __init__(self) -> None:
        super().__init__()
        selector: Any = getattr(self, "_selector")  # noqa: B009 - it is private
        select = selector.select

        def later(timeout: float | None) -> Any:
            assert timeout is not None, "all wait, and nothing will ever happen"
            self.now += max(1e-6, timeout)
            return select(0.0)

        selector.select = later

    def time(self) -> float:
        return self.now


class Slow:
    """Selectors whose looks take so many seconds, each through the same store: one after the other, as they are asked for."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.now = seconds, asyncio.get_running_loop().time
        self.outcomes, self.spent, self.together, self.most = 0, 0.0, 0, 0
        self.looked: list[str] = []
        self._lock = asyncio.Lock()
        self.some = event_streams.Streams(self.look, 1000)

    async def look(self, name: str) -> Any:
        self.looked.append(name)
        self.together += 1
        self.most = max(self.most, self.together)
        try:
            async with self._lock:
                told, began = self.outcomes, self.now()
                await asyncio.sleep(self.seconds)
                self.spent += self.now() - began
                return SimpleNamespace(certificate=SimpleNamespace(outcomes=told))
        finally:
            self.together -= 1

    def listeners(self, number: int) -> "list[asyncio.Task[list[tuple[float, bytes]]]]":
        """One for each of so many selectors."""
        return [asyncio.create_task(self.listen(f"s{one}")) for one in range(number)]

    async def listen(self, name: str, every: float = 1.0, after: float = 0.0) -> list[tuple[float, bytes]]:
        """When something was heard, and what."""
        await asyncio.sleep(after)
        first = await self.some.seen(name)
        self.some.begin(name)
        try:
            async with aclosing(self.some.events(name, every, first)) as events:
                return [(self.now(), event) async for event in events]
        finally:
            self.some.end(name)


Simulate = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture
def simulate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Simulate]:
    """Play something that takes long, at once. What is seen changes all the time."""
    written = count()
    monkeypatch.setattr(event_streams, "listed", lambda standing: standing)
    monkeypatch.setattr(event_streams, "written", lambda _: b"%d" % next(written))
    with asyncio.Runner(loop_factory=Clock) as runner:
        monkeypatch.setattr(event_streams, "time", SimpleNamespace(monotonic=runner.get_loop().time))
        yield runner.run


def longest(heard: list[tuple[float, bytes]], end: float) -> float:
    """The longest time in which no standing was heard."""
    times = [at for at, event in heard if event.startswith(b"id")] + [end]
    return max(later - sooner for sooner, later in pairwise(times))


def test_looks_for_those_who_listen_take_turns_and_leave_the_server_free(simulate: Simulate) -> None:
    """Selectors of thousands of groups must not keep the server busy, however many listen, whenever they came."""

    async def do() -> None:
        slow = Slow(0.01)
        listeners = [asyncio.create_task(slow.listen(name, 0.2, 0.01 * turn)) for turn in range(5) for name in "abcd"]
        await asyncio.sleep(5.0)
        slow.most, before = 0, slow.spent
        await asyncio.sleep(100.0)
        slow.some.closing.set()
        await asyncio.gather(*listeners)
        assert slow.most == 1
        assert 0.02 < (slow.spent - before) / 100.0 < 0.1

    simulate(do())


def test_those_who_listen_to_many_selectors_do_not_wait_for_one_another_twice(simulate: Simulate) -> None:
    async def do() -> None:
        slow = Slow(0.001)
        listeners = slow.listeners(100)
        await asyncio.sleep(60.0)
        slow.some.closing.set()
        for heard in await asyncio.gather(*listeners):
            assert longest(heard, slow.now()) <= 3.0

    simulate(do())


@pytest.mark.parametrize("number", [1, 30])
def test_a_store_that_was_slow_once_is_forgiven(simulate: Simulate, number: int) -> None:
    async def do() -> None:
        slow = Slow(0.001)
        listeners = slow.listeners(number)
        await asyncio.sleep(5.0)
        slow.seconds = 5.0
        await asyncio.sleep(4.0)
        slow.seconds = 0.001
        await asyncio.sleep(200.0)
        slow.some.closing.set()
        for heard in await asyncio.gather(*listeners):
            assert 5.0 < longest(heard, slow.now()) <= 5.0 + event_streams.BEAT + 2.0

    simulate(do())


def test_who_waits_for_a_turn_is_not_forgotten(simulate: Simulate) -> None:
    async def do() -> None:
        slow = Slow(0.001)
        listeners = slow.listeners(3)
        await asyncio.sleep(5.0)
        slow.seconds = 1000.0
        await asyncio.sleep(100.0)
        slow.some.closing.set()
        for heard in await asyncio.gather(*listeners):
            comments = [at for at, event in heard if event.startswith(b":")]
            assert len(comments) >= 5
            assert (
                max(later - sooner for sooner, later in pairwise(comments))
                <= event_streams.BEAT + event_streams.CHECKED
            )
        assert slow.now() == pytest.approx(105.0, abs=0.1)  # they did not wait for their turns

    simulate(do())


def test_many_who_connect_share_looks_and_miss_nothing(simulate: Simulate) -> None:
    async def do() -> None:
        slow = Slow(0.05)
        missed: list[int] = []

        async def connect(after: float) -> None:
            await asyncio.sleep(after)
            slow.outcomes += 1
            told = slow.outcomes
            if (await slow.some.seen("a")).outcomes < told:
                missed.append(told)

        await asyncio.gather(*(connect(0.001 * number) for number in range(100)))
        assert missed == []
        assert len(slow.looked) <= 4
        assert slow.most == 1
        await asyncio.gather(*(connect(0.0) for _ in range(100)))
        assert len(slow.looked) <= 6
        assert slow.some._firsts == slow.some._looks == {}

    simulate(do())


def test_one_who_goes_away_does_not_stop_those_who_wait_for_the_same(simulate: Simulate) -> None:
    async def do() -> None:
        slow = Slow(0.05)
        for see in (slow.some.seen, partial(slow.some.seen_lately, no_older=1.0)):
            goes, stays = (asyncio.create_task(see("a")) for _ in range(2))
            await asyncio.sleep(0.01)
            goes.cancel()
            await stays
            assert goes.cancelled()
        assert slow.looked == ["a", "a"]

    simulate(do())


def test_those_who_come_and_go_leave_no_looks_behind(simulate: Simulate) -> None:
    async def do() -> None:
        slow = Slow(0.001)
        stays = asyncio.create_task(slow.listen("stays"))
        for turn in range(3):
            slow.seconds = 0.001
            gone = [asyncio.create_task(slow.listen(f"s{turn}-{one}", 0.2)) for one in range(50)]
            await asyncio.sleep(0.1)
            slow.seconds = 2.0
            await asyncio.sleep(1.0)  # now one looks, and the others wait for their turns
            for one in gone:
                one.cancel()
            await asyncio.gather(*gone, return_exceptions=True)
        assert set(slow.some._looks) == {"stays"}
        assert slow.some.open == 1
        slow.seconds = 0.001
        before = len(slow.looked)
        await asyncio.sleep(60.0)
        slow.some.closing.set()
        await stays
        assert set(slow.looked[before:]) == {"stays"}

    simulate(do())


def test_streams_are_limited() -> None:
    async def do(api: Api) -> None:
        await api.put()
        first = asyncio.create_task(listen(api))

        async def open_one() -> bool:
            return bool(api.app.state.streams.open == 1)

        await until(open_one)
        assert "at most 1" in (await api.get("/events", status=503))["detail"]
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        assert api.app.state.streams.open == 0
        await api.get("/events", "nobody", status=404)
        for wrong in ("0.1", "61", "x", "nan", "inf"):
            await api.get(f"/events?every={wrong}", status=422)

    serve(do, max_streams=1)


def test_looks_at_what_is_not_there_leave_nothing_behind() -> None:
    async def do(api: Api) -> None:
        for number in range(20):
            await api.get("/events", f"n{number}", status=404)
        assert api.app.state.streams._firsts == api.app.state.streams._looks == {}

    serve(do)


def test_a_stream_ends_with_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_streams, "CHECKED", 0.02)
    monkeypatch.setattr(keys, "FRESH", 0.01)
    checks = 0

    async def do(api: Api) -> None:
        key = keys.new_key("someone", ("read", "manage"), 0.0, None, ())
        await api.service.store.add_key(key.key)
        api.http.headers["authorization"] = f"Bearer {key.text}"
        await api.put()
        known = api.app.state.keyring.authorise

        async def counted(*given: Any) -> Any:
            nonlocal checks
            checks += 1
            return await known(*given)

        api.app.state.keyring.authorise = counted
        listener = asyncio.create_task(listen(api, "?every=60"))  # it is checked more often than it says something

        async def checked() -> bool:
            return checks > 3

        await until(checked)
        assert not listener.done()
        await api.service.store.revoke_key(key.key.id, 1.0)
        assert len(await listener) == 1

    serve(do, keys="required")


def test_a_stream_ends_with_the_store() -> None:
    async def do(api: Api) -> None:
        await api.put()
        listener = asyncio.create_task(listen(api, "?every=0.2"))

        async def open_one() -> bool:
            return bool(api.app.state.streams.open == 1)

        await until(open_one)

        async def fails(_: str) -> Any:
            raise StoreDown("the store cannot be reached")

        api.app.state.streams._look = fails
        assert len(await listener) == 1

    serve(do)


# --- metrics


def test_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "FRESH", 0.0)

    async def do(api: Api) -> None:
        await api.put()
        await api.put("second")
        await play(api, 10)
        await api.ask("second")
        answer = await api.http.get("/metrics")
        assert answer.headers["content-type"].startswith("text/plain")
        found = {family.name: family for family in text_string_to_metric_families(answer.text)}
        standing = await api.get()

        def of(name: str, selector: str = "router") -> float | None:
            return next((one.value for one in found[name].samples if one.labels.get("selector") == selector), None)

        assert of("suffice_rate") == standing["rate"]
        assert of("suffice_rate", "second") is None
        assert of("suffice_debt") == standing["debt"]
        assert of("suffice_debt_bound") == standing["debt_at_most"]
        assert of("suffice_pending", "second") == 1
        assert of("suffice_promise_kept") == 1
        for counter, value in (
            ("asks", 10),
            ("tells", 10),
            ("expiries", 0),
            ("breaches", 0),
        ):
            assert of(f"suffice_{counter}") == value
            assert f"suffice_{counter}_total{{" in answer.text
        assert of("suffice_cost") == standing["cost"]
        assert found["suffice_cost"].type == "gauge"  # a late outcome may lower it
        counts = {
            (one.labels["method"], one.labels["route"], one.labels["status"]): one.value
            for one in found["suffice_request_seconds"].samples
            if one.name.endswith("_count")
        }
        assert counts["POST", "/v1/selectors/{name}/ask", "2xx"] == 11
        assert counts["PUT", "/v1/selectors/{name}", "2xx"] == 2
        for path in ("/nope", "/v1/selectors/router/asks", "/x" * 50):
            await api.http.get(path)
        await api.http.request("BREW", "/healthz")
        await api.http.post("/v1/selectors/NO/ask")
        text = (await api.http.get("/metrics")).text
        assert 'suffice_request_seconds_count{method="other",route="other",status="4xx"} 3.0' in text
        assert "BREW" not in text
        assert 'route="/v1/selectors/{name}/ask",status="4xx"} 1.0' in text
        assert "suffice_selectors_left_out 0.0" in text

    serve(do)


def test_metrics_are_made_once_in_a_while_and_let_others_have_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "FRESH", 60.0)
    monkeypatch.setattr(metrics, "PAGE", 1)

    async def do(api: Api) -> None:
        names = ("a", "b", "c", "d", "e")
        for name in names:
            await api.put(name)
        every = (await api.service.list_selectors())[0]
        asked: list[int] = []
        turns = 0

        class Quick:
            """A keeper that has everything at hand, so that it never waits."""

            async def list_selectors(self, after: str, limit: int) -> tuple[list[Any], str | None]:
                asked.append(turns)
                page = [one for one in every if one.name > after][:limit]
                return page, page[-1].name if page[-1] is not every[-1] else None

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        made = metrics.Metrics(Quick(), 100)  # type: ignore[arg-type]
        task = asyncio.create_task(others())
        texts = await asyncio.gather(*(made.text() for _ in range(5)))
        texts.append(await made.text())
        task.cancel()
        assert len(set(texts)) == 1
        assert len(asked) == len(names)
        assert len(set(asked)) == len(asked)  # between any two pages somebody else had a turn
        made._until = 0.0
        await made.text()
        assert len(asked) == 2 * len(names)

    serve(do)


def test_metrics_that_fail_are_made_anew() -> None:
    async def do(api: Api) -> None:
        await api.put()
        list_selectors = api.service.list_selectors

        async def fails(*_: Any) -> Any:
            raise StoreDown("the store cannot be reached")

        api.service.list_selectors = fails  # type: ignore[method-assign,assignment]
        await api.call("GET", "/metrics", status=503)
        api.service.list_selectors = list_selectors  # type: ignore[method-assign]
        assert (await api.http.get("/metrics")).status_code == 200

    serve(do)


def test_metrics_are_limited_or_not_there() -> None:
    async def few(api: Api) -> None:
        for name in ("a", "b", "c"):
            await api.put(name)
        text = (await api.http.get("/metrics")).text
        assert 'suffice_debt{selector="b"}' in text
        assert 'suffice_debt{selector="c"}' not in text
        assert "suffice_selectors_left_out 1.0" in text

    async def none(api: Api) -> None:
        for path in ("/metrics", "/docs", "/openapi.json", "/"):
            await api.call("GET", path, status=404)

    serve(few, max_measured=2)
    serve(none, metrics=False, docs=False, page=False)


# --- the documentation


def test_the_page_stands_alone() -> None:
    async def do(api: Api) -> None:
        answer = await api.http.get("/docs")
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["content-security-policy"] == CSP
        page = answer.text
        assert not re.search(r"<script|<style|<iframe|<img|style=|javascript:|\bon\w+=", page)
        linked = re.findall(r'(?:href|src)="([^"]*)"', page)
        assert {one for one in linked if not one.startswith("#")} == {"docs/style.css", "openapi.json"}
        places = set(re.findall(r'id="([^"]+)"', page))
        assert {one[1:] for one in linked if one.startswith("#")} <= places
        assert len(re.findall(r'id="', page)) == len(places)
        assert "http://localhost/v1/selectors/router/ask" in page
        assert "\0" not in page
        for path, methods in (await api.call("GET", "/openapi.json"))["paths"].items():
            for route in methods.values():
                assert route["summary"] in page
                assert path.rpartition("/")[2].replace("{name}", "") in page
        style = await api.http.get("/docs/style.css")
        assert style.headers["content-type"] == "text/css; charset=utf-8"
        assert style.text == STYLE
        assert "prefers-color-scheme: dark" in STYLE
        assert "url(" not in STYLE
        assert "@import" not in STYLE
        evil = await api.http.get("/docs", headers={"host": 'localhost"><script>'})
        assert "<script" not in evil.text

    serve(do)


def test_the_page_under_another_path() -> None:
    async def do(api: Api) -> None:
        page = (await api.http.get("/suffice/docs")).text
        assert "http://localhost/suffice/v1/selectors/router/ask" in page
        found = await api.call("GET", "/suffice/openapi.json")
        assert found["servers"] == [{"url": "/suffice"}]
        assert (await api.http.put("/suffice/v1/selectors/router", json=PLAN)).status_code == 201

    serve(do, root_path="/suffice")


def description(**settings: Any) -> dict[str, Any]:
    return make_app(SelectorService(open_store("memory:")), Settings(**settings)).openapi()


def test_the_description_is_what_checks() -> None:
    """The routes that read their bodies themselves are described by the models that they read them with."""
    found = description()
    described = found["components"]["schemas"]
    for model in (*BODIES, *REPLIES):
        own = schemas()[model.__name__]
        assert described[model.__name__] == own
        assert own["examples"], model
    named = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(found)))
    assert named == set(described)
    paths = {path: found["paths"][f"/v1/selectors/{{name}}{path}"] for path in ("", "/ask", "/tell")}
    body = {path: one["put" if not path else "post"]["requestBody"] for path, one in paths.items()}
    assert body[""]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Plan"}
    assert body["/ask"]["required"] is False
    assert body["/ask"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/AskBody"}
    assert len(body["/tell"]["content"]["application/json"]["schema"]["anyOf"]) == 3


def test_every_route_says_what_can_go_wrong() -> None:
    found = description(keys="required")
    identities = []
    for path, methods in found["paths"].items():
        for route in methods.values():
            identities.append(route["operationId"])
            assert route["summary"]
            assert route["description"]
            for status, one in route["responses"].items():
                assert status != "default"
                kinds = set(one["content"])
                assert ("application/problem+json" in kinds) == (status >= "400"), (path, status)
            assert ("security" in route) == path.startswith(("/v1/", "/metrics"))
            if path.startswith("/v1/"):
                assert {"401", "403", "421", "422", "503"} <= set(route["responses"])
    assert len(identities) == len(set(identities)) == 16
    assert "securitySchemes" not in description()["components"]


def models() -> list[type[BaseModel]]:
    found: list[type[BaseModel]] = list(BODIES)
    for module in (menus, schemas_write, schemas_read):
        found += [one for one in vars(module).values() if isinstance(one, type) and issubclass(one, BaseModel)]
    return [one for one in dict.fromkeys(found) if one.model_config.get("json_schema_extra")]


@pytest.mark.parametrize("model", models(), ids=lambda model: model.__name__)
def test_examples_are_true(model: type[BaseModel]) -> None:
    extra: Any = model.model_config["json_schema_extra"]
    for example in extra["examples"]:
        model.model_validate_json(json.dumps(example))


def test_examples_of_plans_can_be_made() -> None:
    async def do(api: Api) -> None:
        found = schemas()
        forms = [example for name in found for example in found[name].get("examples", ()) if "kind" in example]
        assert {menu["kind"] for menu in forms} == {
            "options", "top_k", "thresholds", "grid", "intervals", "subsets", "recipe",
        }  # fmt: skip
        plans = [*found["Plan"]["examples"], *({"menu": menu, "target": 0.9} for menu in forms)]
        for number, plan in enumerate(plans):
            await api.put(f"example-{number}", plan)
            await api.ask(f"example-{number}")

    serve(do)


def test_the_calls_at_the_top_of_the_page_work() -> None:
    async def do(api: Api) -> None:
        page = (await api.http.get("/docs")).text
        first = page[page.index("<pre>") : page.index("</pre>")].replace("<pre><code>", "")
        bodies = re.findall(r"-d '(.*?)'", first, re.DOTALL)
        await api.put(body=json.loads(bodies[0]))
        await api.ask()
        await api.tell(json.loads(bodies[1]))

    serve(do)
