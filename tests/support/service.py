"""A `SelectorService` without HTTP for tests: on each store, with a clock that tests set."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from suffice.service.plans import Plan
from suffice.service.records import AskRequest, IssuedDecision, Limits, Outcome
from suffice.service.selectors import SelectorService
from suffice.service.stores import open_store

Got = TypeVar("Got")
TOP_K = {"kind": "top_k", "ks": [5, 10, 20, 50], "classes": 100, "skip": True}
NO_SKIP = {**TOP_K, "skip": False}
TOLD_COSTS = {"kind": "options", "options": {"small": None, "large": None, "a person": 1.0}, "safe": "a person"}


class Clock:
    """A clock that stands still until a test sets it."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


Check = Callable[[SelectorService, Clock], Coroutine[Any, Any, Got]]


def plan(menu: dict[str, Any] = TOP_K, target: float = 0.9, **more: Any) -> Plan:
    return Plan.parse(json.dumps({"menu": menu, "target": target, **more}))


def run(url: str, check: Check[Got], clock: Clock | None = None, **limits: int) -> Got:
    """Start a service on a store, do something with it and stop it."""
    clock = clock or Clock()

    async def whole() -> Got:
        service = SelectorService(open_store(url), Limits(**limits), clock)
        await service.start()
        try:
            return await check(service, clock)
        finally:
            await service.stop()

    return asyncio.run(whole())


def with_store(url: str, do: Callable[[Any], Coroutine[Any, Any, Got]]) -> Got:
    """Open a store, do something with it and close it."""

    async def whole() -> Got:
        store = open_store(url)
        await store.open()
        try:
            return await do(store)
        finally:
            await store.close()

    return asyncio.run(whole())


def open_and_close(url: str) -> None:
    with_store(url, lambda store: store.ping())


def every_store(check: Check[None]) -> Callable[[str], None]:
    """A test that runs on a new store of each kind."""

    def test(store_url: str) -> None:
        run(store_url, check)

    test.__name__, test.__doc__ = check.__name__, check.__doc__
    return test


def in_memory(check: Check[None]) -> Callable[[], None]:
    """A test of what does not depend on the kind of store."""

    def test() -> None:
        run("memory:", check)

    test.__name__, test.__doc__ = check.__name__, check.__doc__
    return test


async def ask(service: SelectorService, name: str = "a", **wanted: Any) -> IssuedDecision:
    """One decision."""
    (issued,) = await service.ask(name, AskRequest(**wanted))
    return issued


async def tell(
    service: SelectorService, decision: int | None, success: float, cost: float | None = None
) -> tuple[int, str | None]:
    """Tell one outcome; returns the status and the result."""
    assert decision is not None
    (told,) = await service.tell("a", [Outcome(decision, success, cost)])
    return told.status, told.result
