"""Metrics for Prometheus: where each selector stands, and how long answers take."""

import asyncio
import time
from collections.abc import Iterable
from typing import Any, Final

from prometheus_client import CollectorRegistry, GCCollector, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from suffice.service.records import Overview
from suffice.service.selectors import SelectorService

MEDIA: Final = "text/plain; version=0.0.4; charset=utf-8"
PAGE: Final = 200
FRESH: Final = 1.0  # seconds for which the same text is handed out
BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Standings(Collector):
    """Where selectors stand, as they were looked up just before."""

    def __init__(self) -> None:
        self.found: list[Overview] = []
        self.all = True  # whether none was left out

    def describe(self) -> Iterable[Metric]:
        """Nothing is known before somebody asks."""
        return []

    def collect(self) -> Iterable[Metric]:
        """A family for each number."""
        left = GaugeMetricFamily("suffice_selectors_left_out", "1 if there are more selectors than are shown here.")
        left.add_metric([], float(not self.all))
        yield left
        for name, said, value in GAUGES:
            gauge = GaugeMetricFamily(name, said, labels=["selector"])
            for one in self.found:
                number = value(one)
                if number is not None:
                    gauge.add_metric([one.name], number)
            yield gauge
        for name, said, value in COUNTERS:
            counter = CounterMetricFamily(name, said, labels=["selector"])
            for one in self.found:
                counter.add_metric([one.name], value(one))
            yield counter


GAUGES: Final[tuple[tuple[str, str, Any], ...]] = (
    ("suffice_target", "The success rate to hold.", lambda one: one.certificate.target),
    ("suffice_rate", "The share of outcomes that succeeded.", lambda one: one.certificate.rate),
    ("suffice_debt", "Successes owed; negative when ahead.", lambda one: one.certificate.debt),
    ("suffice_debt_bound", "What was promised of the debt.", lambda one: one.certificate.debt_at_most),
    ("suffice_pending", "Decisions whose outcome has not been told.", lambda one: one.certificate.pending),
    ("suffice_price", "The price now paid for one success.", lambda one: one.price),
    ("suffice_cost", "What was spent; less once a late outcome says that it was.", lambda one: one.cost),
    ("suffice_max_pending", "At so many, the safe option is handed out.", lambda one: one.plan["max_pending"]),
    ("suffice_promise_kept", "1 if the promise holds.", lambda one: float(one.certificate.holds)),
    (
        "suffice_breach",
        "1 if the safe option was seen to fail, or the skip option to succeed, against what the menu says.",
        lambda one: float(one.certificate.breach),
    ),
    (
        "suffice_feasible",
        "0 once the safe option is known to fail too often.",
        lambda one: float(one.certificate.feasible),
    ),
)
COUNTERS: Final[tuple[tuple[str, str, Any], ...]] = (
    ("suffice_asks", "Decisions asked.", lambda one: one.asks),
    ("suffice_tells", "Outcomes told.", lambda one: one.tells),
    (
        "suffice_expiries",
        "Decisions that counted as failures because no outcome came.",
        lambda one: one.certificate.expired,
    ),
    ("suffice_breaches", "Outcomes after which the debt was above its bound.", lambda one: one.certificate.breaches),
)


class Metrics:
    """The metrics of one app, in a registry of their own."""

    def __init__(self, service: SelectorService, most: int) -> None:
        self._keeper, self._most = service, most
        self.registry = CollectorRegistry()
        self._standings = Standings()
        self.registry.register(self._standings)
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self._seconds = Histogram(
            "suffice_request_seconds",
            "How long answers took.",
            ["method", "route", "status"],
            buckets=BUCKETS,
            registry=self.registry,
        )
        self._of: dict[tuple[str, str, int], Any] = {}
        self._making: asyncio.Future[bytes] | None = None
        self._until = 0.0  # when what was made is too old

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        one = self._of.get((method, route, status))
        if one is None:
            one = self._of[method, route, status] = self._seconds.labels(method, route, f"{status}xx")
        one.observe(seconds)

    async def text(self) -> bytes:
        """All of it, as Prometheus reads it; all who ask within a second get the same."""
        if self._making is None or (self._making.done() and time.monotonic() >= self._until):
            self._making = asyncio.ensure_future(self._made())
            self._making.add_done_callback(_seen)
        return await asyncio.shield(self._making)  # one who goes away does not stop the others

    async def _made(self) -> bytes:
        found: list[Overview] = []
        after: str | None = ""
        while after is not None and len(found) <= self._most:
            page, after = await self._keeper.list_selectors(after, PAGE)
            found += page
            await asyncio.sleep(0)  # so that asks need not wait for all pages
        self._standings.found, self._standings.all = found[: self._most], len(found) <= self._most
        text = await asyncio.to_thread(generate_latest, self.registry)
        self._until = time.monotonic() + FRESH
        return text


def _seen(task: "asyncio.Future[bytes]") -> None:
    """A failure is raised to those who wait; where nobody does any more, the next one makes it anew."""
    if not task.cancelled():
        task.exception()


class Timed:
    """Measures how long answers take. Streams of events are not answers in this sense."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, note)
        finally:
            # Only routes that there are and methods that they have: whoever tries others must not fill the memory.
            route = scope.get("route")
            path: str = getattr(route, "path", "other")
            if not path.endswith("/events"):
                method = scope["method"] if scope["method"] in (getattr(route, "methods", None) or ()) else "other"
                self.metrics.observe(method, path, status // 100, time.perf_counter() - began)
