"""Streams of events: the state of a selector, sent whenever it has changed, to a limited number of listeners."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, NamedTuple

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from suffice.errors import SufficeError
from suffice.service.errors import Overloaded
from suffice.service.http.serializers import json_bytes, listed
from suffice.service.records import Overview

Check = Callable[[], Awaitable[None]]

CHECKED: Final = 2.0  # seconds between two checks of a listener's key
REST: Final = 10.0  # polls of all selectors together take at most one part in so many of the time
BEAT: Final = 15.0  # seconds after which a comment is sent in any case, so that no proxy closes the connection


class Snapshot(NamedTuple):
    """The state of a selector as it is sent."""

    outcomes: int
    text: bytes


@dataclass(slots=True, eq=False)
class Poll:
    """A poll of a selector, which all of its listeners share."""

    task: asyncio.Task[Snapshot]
    began: float
    ended: float | None = None

    def end(self, task: asyncio.Task[Snapshot]) -> None:
        """Note the time; and retrieve a failure, which asyncio would report if no listener waits for it any more."""
        self.ended = time.monotonic()
        if not task.cancelled():
            task.exception()

    def usable(self, age: float, selectors: int) -> bool:
        """Whether listeners wait for it, or take its result: if that is no older than `age`, or than the rest that is due."""
        if self.ended is None:
            return True
        if self.task.cancelled() or self.task.exception():
            return False
        rest = min(BEAT, REST * selectors * (self.ended - self.began))
        return time.monotonic() - self.ended <= max(age, rest)


class Streams:
    """All listeners of a server. Those of one selector share its polls.

    A poll that took long is followed by a rest: ten times as long for each selector that has listeners, up to 15 seconds.
    So a few selectors with thousands of groups do not keep the server busy.
    """

    def __init__(self, overview: Callable[[str], Awaitable[Overview]], most: int) -> None:
        self.overview = overview
        self.closing = asyncio.Event()  # set when the server stops
        self._most = most
        self._listeners: Counter[str] = Counter()  # by selector
        self._polls: dict[str, Poll] = {}  # the last one of each selector that has listeners

    @property
    def open(self) -> int:
        """How many listeners there are."""
        return self._listeners.total()

    def begin(self, name: str) -> None:
        """Add a listener."""
        if self.open >= self._most:
            raise Overloaded(f"this server has at most {self._most:,} streams of events, and they are all in use")
        self._listeners[name] += 1

    def end(self, name: str) -> None:
        """Remove a listener."""
        self._listeners[name] -= 1
        if not self._listeners[name]:
            del self._listeners[name]
            self._polls.pop(name, None)

    async def snapshot(self, name: str) -> Snapshot:
        """The state of a selector now."""
        overview = await self.overview(name)
        return Snapshot(overview.certificate.outcomes, json_bytes(listed(overview)))

    async def recent(self, name: str, age: float) -> Snapshot:
        """The state of a selector no longer ago than `age` seconds, or than the rest that its polls need."""
        poll = self._polls.get(name)
        if poll is None or not poll.usable(age, len(self._listeners)):
            poll = Poll(asyncio.create_task(self.snapshot(name)), time.monotonic())
            poll.task.add_done_callback(poll.end)
            self._polls[name] = poll
        return await asyncio.shield(poll.task)  # one listener that leaves does not cancel it for the others

    async def _next(self, name: str, every: float) -> Snapshot:
        await asyncio.sleep(every)
        return await self.recent(name, every / 2)

    async def events(
        self, name: str, every: float, first: Snapshot, check: Check | None = None
    ) -> AsyncGenerator[bytes, None]:
        """The state at once, and again whenever it has changed, at most once in `every` seconds. `check` raises to end it."""
        sent, beat = b"", time.monotonic()
        latest = first
        closing = asyncio.ensure_future(self.closing.wait())
        polling = asyncio.ensure_future(self._next(name, every))
        try:
            while True:
                if latest.text != sent:
                    sent, beat = latest.text, time.monotonic()
                    yield b"id: %d\nevent: selector\ndata: %b\n\n" % latest
                elif time.monotonic() - beat >= BEAT:
                    beat = time.monotonic()
                    yield b": no change\n\n"
                await asyncio.wait((closing, polling), timeout=CHECKED, return_when=asyncio.FIRST_COMPLETED)
                if closing.done():
                    return
                if check is not None:
                    await check()
                if polling.done():
                    latest = polling.result()
                    polling = asyncio.ensure_future(self._next(name, every))
        except SufficeError:
            return  # the listener connects again, and is told what is wrong
        finally:
            closing.cancel()
            polling.cancel()


class EventStream(StreamingResponse):
    """A response that goes on until the listener leaves or the stream ends, and then frees its place."""

    def __init__(self, streams: Streams, name: str, events: AsyncGenerator[bytes, None]) -> None:
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}  # else nginx would buffer the events
        super().__init__(events, media_type="text/event-stream", headers=headers)
        self._streams, self._name, self._events = streams, name, events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._streams.begin(self._name)
        try:
            async with aclosing(self._events):
                await super().__call__(scope, receive, send)
        finally:
            self._streams.end(self._name)
