"""Streams of events: where a selector stands, told as soon as it changes, to so many listeners at once."""

import asyncio
import math
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from suffice.errors import SufficeError
from suffice.service.errors import Overloaded
from suffice.service.http.serializers import listed, written
from suffice.service.records import Overview

Check = Callable[[], Awaitable[Any]]

CHECKED: Final = 2.0  # seconds between two looks whether who listens still may
REST: Final = 10.0  # times as long as a look took: so looks in turn take less than a tenth of the time
BEAT: Final = 15.0  # seconds after which something is said in any case, so that nobody between takes the line for dead


class Snapshot(NamedTuple):
    """Where a selector stood, as it is sent."""

    outcomes: int
    text: bytes


@dataclass(slots=True, eq=False)
class Poll:
    """A look at a selector, for all who wait for it: one who goes away does not stop it."""

    began: float = math.inf  # until it begins
    task: "asyncio.Future[Snapshot]" = field(init=False)

    def start(self, see: Coroutine[Any, Any, Snapshot]) -> None:
        """Begin, or wait to. A failure is taken note of, for nobody may be left to hear of it."""
        self.task = asyncio.ensure_future(see)
        self.task.add_done_callback(lambda task: task.cancelled() or task.exception())

    def good(self, seconds: float) -> bool:
        """Whether it is still to be waited for, or went well and began no longer ago than this."""
        if not self.task.done():
            return True
        return not self.task.cancelled() and not self.task.exception() and time.monotonic() - self.began <= seconds


class Streams:
    """All listeners of a server. However many listen to one selector, they share what is seen and written down.

    Who connects is told where the selector stands now. Beyond that, looks take turns, one at a time, with a rest after each:
    ten times as long as it took, but together no longer than 15 seconds until each selector had its turn.
    """

    def __init__(self, look: Callable[[str], Awaitable[Overview]], most: int) -> None:
        self._look, self._most = look, most
        self.closing = asyncio.Event()  # the server ends
        self._listeners: Counter[str] = Counter()  # by the selector that they listen to
        self._firsts: dict[str, Poll] = {}  # for those who connect, until they are done
        self._looks: dict[str, Poll] = {}  # for those who listen, the last of each selector
        self._turn, self._rested = asyncio.Lock(), 0.0  # when the next may begin

    @property
    def open(self) -> int:
        """How many listen."""
        return self._listeners.total()

    def begin(self, name: str) -> None:
        """Take one more listener in."""
        if self.open >= self._most:
            raise Overloaded(f"this server has at most {self._most:,} streams of events, and they are all in use")
        self._listeners[name] += 1

    def end(self, name: str) -> None:
        """Let one go."""
        self._listeners[name] -= 1
        if not self._listeners[name]:
            del self._listeners[name]
            look = self._looks.pop(name, None)
            if look is not None and look.began == math.inf:
                look.task.cancel()  # else those who come and go would fill the queue

    async def seen(self, name: str) -> Snapshot:
        """Where a selector stands now. Those who come while it is looked at share the next look, which begins after it."""
        look = self._firsts.get(name)
        if look is None or look.began < math.inf:  # one that began before may have missed what was told since
            before, look = look, Poll()
            self._firsts[name] = look
            look.start(self._first(name, look, before))
        return await asyncio.shield(look.task)

    async def _first(self, name: str, look: Poll, before: Poll | None) -> Snapshot:
        try:
            if before is not None:
                await asyncio.wait([before.task])
            return await self._see(name, look)
        finally:
            if self._firsts.get(name) is look:
                del self._firsts[name]

    async def seen_lately(self, name: str, no_older: float) -> Snapshot:
        """Where a selector stood no longer ago than this, or stands when its turn comes."""
        look = self._looks.get(name)
        if look is None or not look.good(no_older):
            look = self._looks[name] = Poll()
            look.start(self._in_turn(name, look))
        return await asyncio.shield(look.task)

    async def _in_turn(self, name: str, look: Poll) -> Snapshot:
        async with self._turn:
            await asyncio.sleep(self._rested - time.monotonic())
            try:
                return await self._see(name, look)
            finally:
                now = time.monotonic()
                self._rested = now + min(REST * (now - look.began), BEAT / max(1, len(self._listeners)))

    async def _see(self, name: str, look: Poll) -> Snapshot:
        look.began = time.monotonic()
        standing = await self._look(name)
        return Snapshot(standing.certificate.outcomes, written(listed(standing)))

    async def _next(self, name: str, every: float) -> Snapshot:
        await asyncio.sleep(every)
        return await self.seen_lately(name, every / 2)

    async def events(
        self, name: str, every: float, first: Snapshot, check: Check | None = None
    ) -> AsyncGenerator[bytes, None]:
        """The standing at once, and again whenever it has changed, at most so often; `check` raises once it is to end."""
        said, beat = b"", time.monotonic()
        seen = first
        closing = asyncio.ensure_future(self.closing.wait())
        coming = asyncio.ensure_future(self._next(name, every))
        try:
            while True:
                if seen.text != said:
                    said, beat = seen.text, time.monotonic()
                    yield b"id: %d\nevent: standing\ndata: %b\n\n" % seen
                elif time.monotonic() - beat >= BEAT:
                    beat = time.monotonic()
                    yield b": still here\n\n"
                await asyncio.wait((closing, coming), timeout=CHECKED, return_when=asyncio.FIRST_COMPLETED)
                if closing.done():
                    return
                if check is not None:
                    await check()
                if coming.done():
                    seen = coming.result()
                    coming = asyncio.ensure_future(self._next(name, every))
        except SufficeError:
            return  # the listener comes back, and is told what is wrong
        finally:
            closing.cancel()
            coming.cancel()


class EventStream(StreamingResponse):
    """An answer that goes on, and lets its place go whatever happens to it."""

    def __init__(self, streams: Streams, name: str, events: AsyncGenerator[bytes, None], **more: Any) -> None:
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}  # nginx would keep events back
        super().__init__(events, media_type="text/event-stream", headers=headers, **more)
        self._streams, self._name, self._events = streams, name, events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._streams.begin(self._name)
        try:
            async with aclosing(self._events):
                await super().__call__(scope, receive, send)
        finally:
            self._streams.end(self._name)
