"""The client that awaits: httpx.AsyncClient does the I/O, and `remote_selector` holds the logic."""

import asyncio
import time
import warnings
from collections.abc import Awaitable, Callable
from fractions import Fraction
from functools import partial
from typing import Literal, Self, Unpack

import httpx

from suffice.client import httpx_adapter
from suffice.client.delivery import flush, undelivered_warning
from suffice.client.remote_selector import AsyncRemoteSelector, list_selectors, open_selector
from suffice.client.requests import Settings
from suffice.client.responses import Overview
from suffice.client.transport import Transport
from suffice.errors import ServiceProblem, SufficeWarning
from suffice.menu.menu import Menu


class AsyncClient:
    """Like `Client`, but its methods are awaited; the arguments are the same.

    ::

        async with suffice.AsyncClient("http://127.0.0.1:8470", key) as client:
            selector = await client.selector("routing", menu, target=0.9)
            decision = await selector.ask()
            await selector.tell(decision, success=True)

    Outside asyncio, pass a function that waits: `sleep=trio.sleep`.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        fallback: Literal["safe"] | None = None,
        retries: int = 3,
        timeout: float | httpx.Timeout = httpx_adapter.TIMEOUT,
        keep: int = 100_000,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        address = httpx_adapter.address_of(url)
        self._http = httpx.AsyncClient(**httpx_adapter.options(address, key, timeout), transport=transport)
        # Without a reference to this client: one that is dropped without being closed frees its connections at once.
        send = partial(_send, self._http)
        self._transport = Transport(address, send, sleep, fallback=fallback, retries=retries, keep=keep, clock=clock)

    async def selector(
        self,
        name: str,
        menu: Menu | None = None,
        target: float | Fraction | None = None,
        **settings: Unpack[Settings],
    ) -> AsyncRemoteSelector:
        """The selector with this name, made or confirmed; as `Client.selector`."""
        return await open_selector(self._transport, name, menu, target, dict(settings))

    async def list_selectors(self, archived: bool = False, contains: str = "") -> list[Overview]:
        """All selectors of the service; as `Client.list_selectors`."""
        return await list_selectors(self._transport, archived, contains)

    async def flush(self) -> None:
        """Send the outcomes that wait; as `Client.flush`."""
        await flush(self._transport)

    async def close(self) -> None:
        """Send the outcomes that wait, and close all connections; as `Client.close`."""
        try:
            await self.flush()
        except ServiceProblem as problem:
            warnings.warn(undelivered_warning(self._transport, problem), SufficeWarning, stacklevel=2)
        finally:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._transport.address}>"


async def _send(http: httpx.AsyncClient, request: httpx_adapter.Request) -> httpx.Response:
    return await http.request(request.method, request.path, content=request.content, headers=request.headers)
