"""Streams of events: what they send, what their polls cost, and when they end."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from itertools import count, pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from suffice.service.errors import StoreDown
from suffice.service.http import event_streams, keys
from suffice.service.http.event_streams import Streams
from tests.support.calling import Api, play, serve


async def listen(api: Api, query: str = "", name: str = "router") -> list[dict[str, Any]]:
    """The events of a stream, once it has ended."""
    answer = await api.http.get(f"/v1/selectors/{name}/events{query}")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    events = []
    for text in filter(None, answer.text.split("\n\n")):
        fields = dict(line.split(": ", 1) for line in text.split("\n"))
        if "" not in fields:  # no comment
            events.append({**fields, "data": json.loads(fields["data"])})
    return events


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(3000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the condition was never met")


def test_a_stream_sends_the_state_and_its_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_streams, "BEAT", 0.0)

    async def do(api: Api) -> None:
        await api.put()
        streams, polls = api.app.state.streams, 0
        overview = streams.overview

        async def counted(name: str) -> Any:
            nonlocal polls
            polls += 1
            return await overview(name)

        streams.overview = counted
        listeners = [asyncio.create_task(listen(api, "?every=0.2")) for _ in range(3)]
        await until(lambda: streams.open == 3)
        await play(api, 2)
        enough = polls + 6
        await until(lambda: polls >= enough)
        await api.call("DELETE", "/v1/selectors/router")
        enough = polls + 6
        await until(lambda: polls >= enough)
        streams.closing.set()
        for events in await asyncio.gather(*listeners):
            assert {event["event"] for event in events} == {"selector"}
            assert [event["data"]["status"] for event in events][-2:] == ["within", "archived"]
            assert events[-1]["data"] == {**await api.get(), "plan": None}
            assert events[-1]["id"] == "2"
            texts = [json.dumps(event) for event in events]
            assert len(texts) == len(set(texts))  # only changes
        assert streams.open == 0

    serve(do)


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop whose time jumps to the next timer when nothing is left to do."""

    now = 0.0

    def __init__(self) -> None:
        super().__init__()
        selector: Any = getattr(self, "_selector")  # noqa: B009 - asyncio has no public way
        select = selector.select

        def jump(timeout: float | None) -> Any:
            assert timeout is not None, "every task waits, and no timer is set"
            self.now += max(1e-6, timeout)
            return select(0.0)

        selector.select = jump

    def time(self) -> float:
        return self.now


class SlowSelectors:
    """Selectors whose polls take so many seconds, one after the other."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.busy = seconds, 0.0
        self.now = asyncio.get_running_loop().time
        self.polled: list[str] = []
        self.streams = Streams(self.overview, 1000)
        self._store = asyncio.Lock()

    async def overview(self, name: str) -> Any:
        self.polled.append(name)
        async with self._store:
            began = self.now()
            await asyncio.sleep(self.seconds)
            self.busy += self.now() - began
        return SimpleNamespace(certificate=SimpleNamespace(outcomes=0))

    async def listen(self, name: str, every: float = 1.0) -> list[tuple[float, bytes]]:
        """The events of a stream with the times at which they came."""
        first = await self.streams.snapshot(name)
        self.streams.begin(name)
        try:
            events: AsyncGenerator[bytes, None] = self.streams.events(name, every, first)
            async with aclosing(events):
                return [(self.now(), event) async for event in events]
        finally:
            self.streams.end(name)


@pytest.fixture
def simulate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Awaitable[None]], None]]:
    """Runs a coroutine in simulated time. Each poll gives another state."""
    states = count()
    monkeypatch.setattr(event_streams, "listed", lambda overview: overview)
    monkeypatch.setattr(event_streams, "json_bytes", lambda _: b"%d" % next(states))
    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        monkeypatch.setattr(event_streams, "time", SimpleNamespace(monotonic=runner.get_loop().time))
        yield runner.run  # type: ignore[misc]


def longest_silence(heard: list[tuple[float, bytes]], end: float) -> float:
    times = [at for at, event in heard if event.startswith(b"id")] + [end]
    return max(later - earlier for earlier, later in pairwise(times))


@pytest.mark.parametrize(("selectors", "seconds"), [(1, 0.01), (4, 0.05), (50, 0.005)])
def test_polls_are_shared_and_leave_the_server_free(simulate: Any, selectors: int, seconds: float) -> None:
    async def do() -> None:
        slow = SlowSelectors(seconds)
        listeners = [asyncio.create_task(slow.listen(f"s{one}", 0.2)) for one in range(selectors) for _ in range(5)]
        await asyncio.sleep(20.0)
        before = slow.busy
        await asyncio.sleep(100.0)
        assert 0.01 < (slow.busy - before) / 100.0 < 0.12
        slow.streams.closing.set()
        for heard in await asyncio.gather(*listeners):
            assert longest_silence(heard, slow.now()) <= event_streams.BEAT + 2.0

    simulate(do())


def test_listeners_of_a_slow_store_get_comments(simulate: Any) -> None:
    async def do() -> None:
        slow = SlowSelectors(0.001)
        listeners = [asyncio.create_task(slow.listen(f"s{one}")) for one in range(3)]
        await asyncio.sleep(5.0)
        slow.seconds = 1000.0
        await asyncio.sleep(100.0)
        slow.streams.closing.set()
        for heard in await asyncio.gather(*listeners):
            comments = [at for at, event in heard if event.startswith(b":")]
            assert len(comments) >= 5
            longest = max(later - earlier for earlier, later in pairwise(comments))
            assert longest <= event_streams.BEAT + event_streams.CHECKED
        assert slow.now() == pytest.approx(105.0, abs=0.1)  # they did not wait for their polls

    simulate(do())


def test_a_listener_that_leaves_does_not_cancel_a_shared_poll(simulate: Any) -> None:
    async def do() -> None:
        slow = SlowSelectors(0.05)
        leaves, stays = (asyncio.create_task(slow.streams.recent("a", 1.0)) for _ in range(2))
        await asyncio.sleep(0.01)
        leaves.cancel()
        await stays
        assert leaves.cancelled()
        assert slow.polled == ["a"]

    simulate(do())


def test_streams_are_limited() -> None:
    async def do(api: Api) -> None:
        await api.put()
        first = asyncio.create_task(listen(api))
        await until(lambda: api.app.state.streams.open == 1)
        assert "at most 1" in (await api.get("/events", status=503))["detail"]
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        assert api.app.state.streams.open == 0
        await api.get("/events", "nobody", status=404)
        for wrong in ("0.1", "61", "x", "nan", "inf"):
            await api.get(f"/events?every={wrong}", status=422)

    serve(do, max_streams=1)


def test_a_stream_ends_with_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_streams, "CHECKED", 0.02)
    monkeypatch.setattr(keys, "FRESH", 0.01)

    async def do(api: Api) -> None:
        key = keys.new_key("someone", ("read", "manage"), 0.0, None, ())
        await api.service.store.add_key(key.key)
        api.http.headers["authorization"] = f"Bearer {key.text}"
        await api.put()
        listener = asyncio.create_task(listen(api, "?every=60"))
        await until(lambda: api.app.state.streams.open == 1)
        assert not listener.done()
        await api.service.store.revoke_key(key.key.id, 1.0)
        assert len(await listener) == 1

    serve(do, keys="required")


def test_a_stream_ends_with_the_store() -> None:
    async def do(api: Api) -> None:
        await api.put()
        listener = asyncio.create_task(listen(api, "?every=0.2"))
        await until(lambda: api.app.state.streams.open == 1)

        async def fail(_: str) -> Any:
            raise StoreDown("the store cannot be reached")

        api.app.state.streams.overview = fail
        assert len(await listener) == 1

    serve(do)
