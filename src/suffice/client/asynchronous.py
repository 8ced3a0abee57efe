"""The client that awaits: it does the steps of `remote` with httpx.AsyncClient and holds no logic of its own."""

import asyncio
import time
import warnings
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import closing
from fractions import Fraction
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, Unpack

import httpx

from suffice.client import wire
from suffice.client.bodies import Settings
from suffice.client.delivery import flush, leaving
from suffice.client.line import Line
from suffice.client.remote import Remote, planned, standings
from suffice.client.replies import RemoteCertificate, Standing
from suffice.client.steps import Answer, Lost, Request, Steps, Wait
from suffice.context.learner import Insight
from suffice.errors import ServiceProblem, SufficeWarning
from suffice.menu import Menu
from suffice.records import Arm, Decision

T = TypeVar("T")


class AsyncClient:
    """As `Client`, to be awaited; the arguments are the same.

    ::

        async with suffice.AsyncClient("http://127.0.0.1:8470", key) as client:
            selector = await client.selector("routing", menu, target=0.9)
            decision = await selector.ask()
            await selector.tell(decision, success=True)

    Outside asyncio, say how to wait: `sleep=trio.sleep`.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        fallback: Literal["everything"] | None = None,
        retries: int = 3,
        timeout: float | httpx.Timeout = wire.TIMEOUT,
        keep: int = 100_000,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        address = wire.address_of(url)
        self._line = Line(address, fallback=fallback, retries=retries, keep=keep, clock=clock)
        self._sleep = sleep
        self._http = httpx.AsyncClient(**wire.options(address, key, timeout), transport=transport)

    async def selector(
        self,
        name: str,
        menu: Menu | None = None,
        target: float | Fraction | None = None,
        horizon: int | None = None,
        **settings: Unpack[Settings],
    ) -> "AsyncRemoteSelector":
        """The selector of this name, made or confirmed; as `Client.selector`."""
        selector = AsyncRemoteSelector(self, *planned(self._line, name, menu, target, horizon, settings))
        await self._do(selector._open())
        return selector

    async def standings(self, archived: bool = False, contains: str = "") -> list[Standing]:
        """All selectors of the service; as `Client.standings`."""
        return await self._do(standings(self._line, archived, contains))

    async def flush(self) -> None:
        """Send the outcomes that are kept; as `Client.flush`."""
        await self._do(flush(self._line))

    async def close(self) -> None:
        """Send the outcomes that are kept, and close all connections; as `Client.close`."""
        try:
            await self.flush()
        except ServiceProblem as problem:
            warnings.warn(leaving(self._line, problem), SufficeWarning, stacklevel=2)
        finally:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._line.address}>"

    async def _do(self, steps: Steps[T]) -> T:
        with closing(steps):
            came: Answer | Lost | None = None
            while True:
                try:
                    step = steps.send(came)
                except StopIteration as done:
                    result: T = done.value
                    return result
                came = await self._step(step)

    async def _step(self, step: Request | Wait) -> Answer | Lost | None:
        if isinstance(step, Wait):
            await self._sleep(step.seconds)
            return None
        try:
            return wire.answer(
                await self._http.request(step.method, step.path, content=step.content, headers=dict(step.headers))
            )
        except httpx.RequestError as error:
            return wire.lost(error)


class AsyncRemoteSelector(Remote):
    """A selector that a service keeps, to be awaited; each method as in `RemoteSelector`. Made by `AsyncClient.selector`."""

    def __init__(
        self, client: AsyncClient, line: Line, name: str, menu: Menu | None, plan: dict[str, Any] | None
    ) -> None:
        super().__init__(line, name, menu, plan)
        self._do = client._do

    async def ask(
        self,
        *,
        available: Iterable[Any] | None = None,
        audit: bool = True,
        context: Any = None,
        group: str | None = None,
    ) -> Decision:
        """What to do now."""
        return await self._do(self._ask(available, audit, context, group))

    async def ask_many(
        self,
        count: int,
        *,
        available: Iterable[Any] | None = None,
        audit: bool = True,
        contexts: Iterable[Any] | None = None,
        group: str | None = None,
    ) -> list[Decision]:
        """So many decisions at once, a thousand per request."""
        return await self._do(self._ask_many(count, available, audit, contexts, group))

    async def tell(self, decision: Decision | int, success: float, cost: float | None = None) -> None:
        """How a decision went."""
        await self._do(self._tell(decision, success, cost))

    async def tell_many(self, outcomes: Iterable[Sequence[Any]]) -> None:
        """Tell many outcomes, each (decision, success) or (decision, success, cost), a thousand per request."""
        await self._do(self._tell_many(outcomes))

    async def certificate(self, group: str | None = None) -> RemoteCertificate:
        """What is promised, whether it is so, and if not, why and what to do: of one group, or of all there is."""
        return await self._do(self._certificate(group))

    async def arms(self, most: int | None = None) -> list[Arm]:
        """A row per arm: how often it was played, how it did, and what is certain of it.

        `most`: only so many, those played most often first.
        """
        return await self._do(self._arms(most))

    async def insight(self) -> Insight:
        """What is made of contexts: whether the model is followed, how it did, what was missing."""
        return await self._do(self._insight())

    async def standing(self) -> Standing:
        """Where it stands: told, rate, debt, pending, cost and the rest, all of one moment."""
        return await self._do(self._standing())

    async def archive(self) -> Standing:
        """Archive it: it can no longer be asked, and still be told."""
        return await self._do(self._archive())

    async def flush(self) -> None:
        """Send the outcomes that are kept."""
        await self._do(flush(self._line, self._name))
