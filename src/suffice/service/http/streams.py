"""Streams of events: where a selector stands, told as soon as it changes, to so many listeners at once."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from suffice.errors import SufficeError
from suffice.service.errors import Overloaded
from suffice.service.http.answers import listed, written
from suffice.service.records import Standing

Check = Callable[[], Awaitable[Any]]

CHECKED: Final = 2.0  # seconds between two looks whether who listens still may
REST: Final = 10.0  # times as long as a look took: who listens takes at most a tenth of a server, however many groups
BEAT: Final = 15.0  # seconds after which something is said in any case, so that nobody between takes the line for dead


class Streams:
    """All listeners of a server. However many listen to one selector, it is looked at once."""

    def __init__(self, look: Callable[[str], Awaitable[Standing]], most: int) -> None:
        self._look, self._most = look, most
        self.open = 0
        self.closing = asyncio.Event()  # the server ends
        self._looks: dict[str, tuple[float, asyncio.Future[Standing]]] = {}

    def begin(self) -> None:
        """Take one more listener in."""
        if self.open >= self._most:
            raise Overloaded(f"this server has at most {self._most:,} streams of events, and they are all in use")
        self.open += 1

    def end(self) -> None:
        """Let one go."""
        self.open -= 1
        if not self.open:
            self._looks.clear()

    async def standing(self, name: str, no_older: float) -> Standing:
        """Where a selector stands, or stood no longer ago than this."""
        now = time.monotonic()
        at, task = self._looks.get(name) or (0.0, None)
        if task is None or now - at > no_older:
            task = asyncio.ensure_future(self._look(name))
            if len(self._looks) > 2 * self._most:  # of those who looked and did not stay
                self._looks.clear()
            self._looks[name] = (now, task)
            task.add_done_callback(lambda done: self._seen(name, done))
        return await asyncio.shield(task)  # one who goes away does not stop the others

    def _seen(self, name: str, task: "asyncio.Future[Standing]") -> None:
        """A failure is raised to those who wait, and not kept: who looks for what is not there must not fill the memory."""
        failed = task.cancelled() or task.exception() is not None
        if failed and self._looks.get(name, (0.0, None))[1] is task:
            del self._looks[name]

    async def events(
        self, name: str, every: float, first: Standing, check: Check | None = None
    ) -> AsyncIterator[bytes]:
        """The standing at once, and again whenever it has changed, at most so often; `check` raises once it is to end."""
        said, took = b"", 0.0
        beat = time.monotonic()
        standing = first
        while True:
            text = written(listed(standing))
            if text != said:
                said, beat = text, time.monotonic()
                yield b"id: %d\nevent: standing\ndata: %b\n\n" % (standing.certificate.told, text)
            elif time.monotonic() - beat >= BEAT:
                beat = time.monotonic()
                yield b": still here\n\n"
            try:
                if await self._wait(max(every, REST * took), check):
                    return
                began = time.monotonic()
                standing = await self.standing(name, every / 2)
                took = time.monotonic() - began
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

    def __init__(self, streams: Streams, events: AsyncIterator[bytes], **more: Any) -> None:
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}  # nginx would keep events back
        super().__init__(events, media_type="text/event-stream", headers=headers, **more)
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._streams.begin()
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.end()
