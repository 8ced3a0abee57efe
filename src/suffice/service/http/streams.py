"""Streams of events: where a selector stands, told as soon as it changes, to so many listeners at once."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from suffice.errors import SufficeError
from suffice.service.errors import Overloaded
from suffice.service.http.answers import listed, written
from suffice.service.records import Standing

Check = Callable[[], Awaitable[Any]]

CHECKED: Final = 2.0  # seconds between two looks whether who listens still may
REST: Final = (
    10.0  # times as long as looks take: those who listen take at most a tenth of a server, however many they are
)
BEAT: Final = 15.0  # seconds after which something is said in any case, so that nobody between takes the line for dead


class Seen(NamedTuple):
    """Where a selector stood, as it is sent."""

    told: int
    text: bytes


@dataclass(slots=True)
class Look:
    """A look at a selector: when it began, what is seen, and how long it took, or the one before until it is done."""

    began: float
    task: "asyncio.Future[Seen]"
    took: float


class Streams:
    """All listeners of a server. However many listen to one selector, it is looked at and written down once."""

    def __init__(self, look: Callable[[str], Awaitable[Standing]], most: int) -> None:
        self._look, self._most = look, most
        self.closing = asyncio.Event()  # the server ends
        self._listeners: Counter[str] = Counter()  # by the selector that they listen to
        self._looks: dict[str, Look] = {}

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
            self._looks.pop(name, None)

    async def seen(self, name: str, no_older: float = 0.0) -> Seen:
        """Where a selector stands now; or stood no longer ago than this, or than it takes to rest after all looks."""
        now = time.monotonic()
        look = self._looks.get(name)
        if look is None or not no_older or (look.task.done() and now - look.began > max(no_older, self._rest())):
            if len(self._looks) > 2 * self._most:  # of those who looked and did not stay
                self._looks.clear()
            before = 0.0 if look is None else look.took
            look = self._looks[name] = Look(now, asyncio.ensure_future(self._see(name)), before)
            look.task.add_done_callback(partial(self._done, name, look))
        return await asyncio.shield(look.task)  # one who goes away does not stop the others

    def _rest(self) -> float:
        """Seconds between two looks at the same selector, so that looks at all of them leave the server free."""
        return REST * sum(look.took for name, look in self._looks.items() if name in self._listeners)

    async def _see(self, name: str) -> Seen:
        standing = await self._look(name)
        return Seen(standing.certificate.told, written(listed(standing)))

    def _done(self, name: str, look: Look, _: object) -> None:
        """A failure is raised to those who wait, and not kept: who looks for what is not there must not fill the memory."""
        look.took = time.monotonic() - look.began
        failed = look.task.cancelled() or look.task.exception() is not None
        if failed and self._looks.get(name) is look:
            del self._looks[name]

    async def events(self, name: str, every: float, first: Seen, check: Check | None = None) -> AsyncIterator[bytes]:
        """The standing at once, and again whenever it has changed, at most so often; `check` raises once it is to end."""
        said, beat = b"", time.monotonic()
        seen = first
        while True:
            if seen.text != said:
                said, beat = seen.text, time.monotonic()
                yield b"id: %d\nevent: standing\ndata: %b\n\n" % seen
            elif time.monotonic() - beat >= BEAT:
                beat = time.monotonic()
                yield b": still here\n\n"
            try:
                if await self._wait(every, check):
                    return
                seen = await self.seen(name, every / 2)
            except SufficeError:
                return  # the listener comes back, and is told what is wrong

    async def _wait(self, seconds: float, check: Check | None) -> bool:
        """Wait, and check now and then; True if the server ends."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0.0:
            try:
                await asyncio.wait_for(self.closing.wait(), left if check is None else min(left, CHECKED))
            except TimeoutError:
                if check is not None:
                    await check()
                continue
            return True
        return False


class EventStream(StreamingResponse):
    """An answer that goes on, and lets its place go whatever happens to it."""

    def __init__(self, streams: Streams, name: str, events: AsyncIterator[bytes], **more: Any) -> None:
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}  # nginx would keep events back
        super().__init__(events, media_type="text/event-stream", headers=headers, **more)
        self._streams, self._name = streams, name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._streams.begin(self._name)
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.end(self._name)
