"""Metrics for Prometheus: the state of each selector, and how long responses take."""

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Final, cast

from prometheus_client import CollectorRegistry, GCCollector, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from suffice.service.records import Overview
from suffice.service.selectors import SelectorService

MEDIA: Final = "text/plain; version=0.0.4; charset=utf-8"
PAGE: Final = 200
FRESH: Final = 1.0  # seconds for which the same text is returned
BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)

GAUGES: Final[tuple[tuple[str, str, Callable[[Overview], float | None]], ...]] = (
    ("suffice_target", "The success rate to hold.", lambda state: state.certificate.target),
    ("suffice_rate", "The share of outcomes that succeeded.", lambda state: state.certificate.rate),
    ("suffice_debt", "Successes owed; negative when ahead.", lambda state: state.certificate.debt),
    ("suffice_debt_bound", "The limit of the debt.", lambda state: state.certificate.debt_at_most),
    ("suffice_pending", "Decisions whose outcome has not been told.", lambda state: state.certificate.pending),
    ("suffice_price", "The price now paid for one success.", lambda state: state.price),
    ("suffice_cost", "The cost of all outcomes; a late outcome may lower it.", lambda state: state.cost),
    (
        "suffice_owed_at_most",
        "The debt if everything without an outcome failed.",
        lambda state: state.certificate.owed_at_most,
    ),
    (
        "suffice_in_flight",
        "So many decisions may be outstanding, beyond what the surplus covers.",
        lambda state: cast("float", state.plan["in_flight"]),
    ),
    (
        "suffice_promise_kept",
        "1 if the promise is shown to hold: its status is kept or within.",
        lambda state: float(state.certificate.holds),
    ),
    (
        "suffice_assumption_violated",
        "1 while the safe option fails more often than declared, or once the skip option succeeded.",
        lambda state: float(state.certificate.assumption_violated),
    ),
    (
        "suffice_feasible",
        "0 once the safe option is known to fail too often.",
        lambda state: float(state.certificate.feasible),
    ),
)
COUNTERS: Final[tuple[tuple[str, str, Callable[[Overview], float]], ...]] = (
    ("suffice_asks", "Decisions asked.", lambda state: state.asks),
    ("suffice_tells", "Outcomes told.", lambda state: state.tells),
    (
        "suffice_outcomes",
        "Outcomes counted: what was told, and the failures that expiries and skips count as.",
        lambda state: state.certificate.outcomes,
    ),
    (
        "suffice_expiries",
        "Decisions that expired because no outcome came, also if one came later.",
        lambda state: state.expiries,
    ),
    ("suffice_skips", "Decisions to do nothing, which count as failures.", lambda state: state.certificate.skipped),
    (
        "suffice_violations",
        "Outcomes after which the debt was above the limit.",
        lambda state: state.certificate.violations,
    ),
)


class SelectorCollector(Collector):
    """The metrics of selectors, from their states as they were read last."""

    def __init__(self) -> None:
        self.overviews: list[Overview] = []
        self.complete = True  # whether no selector was left out

    def describe(self) -> Iterable[Metric]:
        """Nothing: the registry need not collect to know the names."""
        return []

    def collect(self) -> Iterable[Metric]:
        """A family for each number."""
        left_out = GaugeMetricFamily("suffice_selectors_left_out", "1 if there are more selectors than are shown here.")
        left_out.add_metric([], float(not self.complete))
        yield left_out
        for name, about, value in GAUGES:
            gauge = GaugeMetricFamily(name, about, labels=["selector"])
            for state in self.overviews:
                number = value(state)
                if number is not None:
                    gauge.add_metric([state.name], number)
            yield gauge
        for name, about, count in COUNTERS:
            counter = CounterMetricFamily(name, about, labels=["selector"])
            for state in self.overviews:
                counter.add_metric([state.name], count(state))
            yield counter
        safe = GaugeMetricFamily(
            "suffice_playing_safe", "1 while every decision is the safe option.", labels=["selector"]
        )
        for state in self.overviews:
            safe.add_metric([state.name], float(state.playing_safe))
        yield safe
        events = CounterMetricFamily("suffice_events", "Events of this process.", labels=["selector", "kind"])
        for state in self.overviews:
            for kind, many in state.noticed.items():
                events.add_metric([state.name, kind], many)
        yield events


class Metrics:
    """The metrics of one app, in a registry of their own."""

    def __init__(self, service: SelectorService, most: int) -> None:
        self._service, self._most = service, most
        self.registry = CollectorRegistry()
        self._selectors = SelectorCollector()
        self.registry.register(self._selectors)
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self._seconds = Histogram(
            "suffice_request_seconds",
            "How long responses took.",
            ["method", "route", "status"],
            buckets=BUCKETS,
            registry=self.registry,
        )
        self._histograms: dict[tuple[str, str, int], Histogram] = {}
        self._lock = asyncio.Lock()
        self._text, self._until = b"", 0.0  # the latest text, and when it is too old

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a response."""
        histogram = self._histograms.get((method, route, status))
        if histogram is None:
            histogram = self._histograms[method, route, status] = self._seconds.labels(method, route, f"{status}xx")
        histogram.observe(seconds)

    async def text(self) -> bytes:
        """All metrics in the format of Prometheus, at most a second old."""
        async with self._lock:
            if time.monotonic() >= self._until:
                self._text = await self._collect()
                self._until = time.monotonic() + FRESH
            return self._text

    async def _collect(self) -> bytes:
        overviews: list[Overview] = []
        after: str | None = ""
        while after is not None and len(overviews) <= self._most:
            page, after = await self._service.list_selectors(after, PAGE)
            overviews += page
            await asyncio.sleep(0)  # so that asks need not wait for all pages
        self._selectors.overviews, self._selectors.complete = overviews[: self._most], len(overviews) <= self._most
        return await asyncio.to_thread(generate_latest, self.registry)


class Timed:
    """Middleware that measures how long responses take, streams of events excepted."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        finally:
            # Only known routes and methods become labels: a client that invents others must not fill the memory.
            route = scope.get("route")
            path: str = getattr(route, "path", "other")
            if not path.endswith("/events"):
                methods = cast(set[str] | None, getattr(route, "methods", None)) or ()
                method = scope["method"] if scope["method"] in methods else "other"
                self.metrics.observe(method, path, status // 100, time.perf_counter() - began)
