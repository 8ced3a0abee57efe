"""What tests of the clients need: a service, a clock that moves when a client waits, and clients with either driver."""

import asyncio
import inspect
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import httpx

from suffice import AsyncClient, Client, Menu
from suffice.client import AsyncRemoteSelector
from suffice.service.http.decision_ids import to_id
from tests.support.local_service import LocalService, problem

MENU = Menu({"a": 0.1, "b": 0.4, "all": 1.0}, safe="all")
URL = "http://service.test"

# What a broken service, or another server in its place, answers.
BROKEN: dict[str, Callable[[], httpx.Response]] = {
    "500": lambda: problem(500, "the server failed to answer"),
    "302": lambda: httpx.Response(302, headers={"location": "/sorry"}),
    "page": lambda: httpx.Response(200, text="<html>Down for maintenance</html>"),
    "list": lambda: httpx.Response(200, json=[]),
    "empty": lambda: httpx.Response(204),
    "nested": lambda: httpx.Response(200, text="[" * 100_000),
}


def ids(numbers: Iterable[int]) -> list[str]:
    """The ids of decisions with these numbers."""
    return [to_id(number) for number in numbers]


def from_second(path: str, answer: Callable[[], httpx.Response]) -> Callable[[httpx.Request], httpx.Response | None]:
    """An override of the service that answers from the second request to a path on."""
    seen = 0

    def override(request: httpx.Request) -> httpx.Response | None:
        nonlocal seen
        seen += request.url.path.endswith(path)
        return answer() if request.url.path.endswith(path) and seen > 1 else None

    return override


class Blocking:
    """An asynchronous object as a blocking one, so that the same lines test both."""

    def __init__(self, thing: Any, runner: asyncio.Runner) -> None:
        self._thing, self._runner = thing, runner

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._thing, name)
        return self._blocking(attribute) if inspect.iscoroutinefunction(attribute) else attribute

    def _blocking(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            result = self._runner.run(function(*arguments, **named))
            return Blocking(result, self._runner) if isinstance(result, AsyncRemoteSelector) else result

        return call

    def __enter__(self) -> "Blocking":
        self._runner.run(self._thing.__aenter__())
        return self

    def __exit__(self, *error: Any) -> None:
        self._runner.run(self._thing.__aexit__(*error))

    def __repr__(self) -> str:
        return repr(self._thing)


class Harness:
    """A service and clients of it; with a runner, asynchronous clients."""

    def __init__(self, runner: asyncio.Runner | None) -> None:
        self.service = LocalService()
        self.now = 0.0
        self.waits: list[float] = []
        self._runner = runner

    def client(self, url: Any = URL, key: Any = None, **settings: Any) -> Any:
        common = {"transport": httpx.MockTransport(self.service), "clock": lambda: self.now, **settings}
        if self._runner is None:
            return Client(url, key, sleep=self._wait, **common)

        async def wait(seconds: float) -> None:
            self._wait(seconds)

        return Blocking(AsyncClient(url, key, sleep=wait, **common), self._runner)

    def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def selector(self, **settings: Any) -> Any:
        """The selector "routing" of a new client."""
        return self.client(**settings).selector("routing", MENU, target=0.9)

    @property
    def served(self) -> SimpleNamespace:
        """The overview of the selector "routing"."""
        return self.service.known("routing")

    @property
    def told(self) -> list[str]:
        """The decisions that were told, in order."""
        return self.service.told("routing")
