"""The line to the service: tries, retries, and what it knows of whether the service can be reached.

The I/O is the client's: it says how to send and how to wait. The one that blocks does both before it goes on.
"""

import logging
import math
import random
import threading
import time
from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime
from typing import Any, Final, TypeVar

import httpx

from suffice.client.circuit_breaker import CircuitBreaker, Clock
from suffice.client.httpx_adapter import Request
from suffice.client.outbox import Outbox
from suffice.client.problems import raise_problem
from suffice.errors import InvalidArgument, ServiceUnreachable, SufficeError, quoted
from suffice.numbers import positive_int

T = TypeVar("T")
Send = Callable[[Request], Awaitable[httpx.Response]]
Wait = Callable[[float], Awaitable[object]]

FIRST: Final = 0.2  # seconds before the first retry, at most; twice as long before each further one
LONGEST: Final = 2.0
# A Retry-After beyond this is not waited for; nor one beyond LONGEST where there is a fallback.
PATIENCE: Final = 30.0

log = logging.getLogger("suffice.client")


class Transport:
    """What all selectors of a client share."""

    def __init__(
        self, address: str, send: Send, wait: Wait, *, fallback: str | None, retries: int, keep: int, clock: Clock
    ) -> None:
        if fallback not in (None, "safe"):
            raise InvalidArgument(f'fallback must be "safe" or None, got {quoted(fallback)}')
        self.address = address
        self.fallback = fallback is not None
        self.clock = clock
        self._send, self._wait = send, wait
        self._retries = positive_int("retries", retries, 0)
        self._keep = positive_int("keep", keep, 0)
        self._breaker = CircuitBreaker(clock)
        self._lock = threading.Lock()
        self._outboxes: dict[str, Outbox] = {}

    def outbox(self, name: str) -> Outbox:
        """Where outcomes of the selector of this name are kept."""
        with self._lock:
            return self._outboxes.setdefault(name, Outbox(self._keep))

    def outboxes(self) -> list[tuple[str, Outbox]]:
        """All of them by name."""
        with self._lock:
            return list(self._outboxes.items())

    async def call(self, request: Request, read: Callable[[Any], T], *, force: bool = False) -> T:
        """What `read` makes of the service's answer. Raises Unreachable once it has been tried often enough."""
        tries = self._breaker.tries(self._retries + 1, force)
        if not tries:
            raise ServiceUnreachable(
                f"the service at {self.address} could not be reached a moment ago, so it was not tried: {self._breaker.why}"
            )
        try:
            said = await self._try(request, read, tries)
        except ServiceUnreachable:
            raise
        except SufficeError:  # a refusal is an answer, too
            self._passed()
            raise
        finally:
            self._breaker.left()
        self._passed()
        return said

    async def _try(self, request: Request, read: Callable[[Any], T], tries: int) -> T:
        """The first answer that is one."""
        patience = LONGEST if self.fallback else PATIENCE
        tried = 0
        while True:
            tried += 1
            pause = 0.0
            try:
                answer = await self._send(request)
                pause = retry_after(answer)
                return raise_problem(answer, read)
            except (ServiceUnreachable, httpx.RequestError) as problem:
                # Once another thread has found out that the service is down, this one need not.
                if tried >= tries or pause > patience or self._breaker.open:
                    raise self._failed(problem, tried, pause) from None
            await self._wait(max(pause, backoff(tried)))

    def _passed(self) -> None:
        if self._breaker.passed():
            log.info("the service at %s is reached again", self.address)

    def _failed(self, last: ServiceUnreachable | httpx.RequestError, tried: int, pause: float) -> ServiceUnreachable:
        if isinstance(last, httpx.RequestError):
            last = ServiceUnreachable(f"{type(last).__name__}: {last}".rstrip(": "))
        why, times = last.detail, "1 try" if tried == 1 else f"{tried} tries"
        problem = ServiceUnreachable(
            f"the service at {self.address} could not be reached in {times}: {why}",
            status=last.status,
            detail=why,
            request_id=last.request_id,
        )
        if self.fallback and self._breaker.failed(why, min(pause, PATIENCE)):
            log.warning("%s; until it can be, the safe option is played and outcomes are kept", problem)
        return problem


def backoff(tried: int) -> float:
    """How long to wait before the next try: twice as long each time, less up to a half by chance."""
    return min(LONGEST, FIRST * 2.0 ** (tried - 1)) * random.uniform(0.5, 1.0)


def retry_after(answer: httpx.Response) -> float:
    """What the service says to wait, in seconds; 0 where it says nothing that can be read."""
    said = answer.headers.get("Retry-After")
    if said is None:
        return 0.0
    try:
        seconds = float(said)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(said).timestamp() - time.time()
        except (TypeError, ValueError, OverflowError):
            return 0.0
    return max(0.0, seconds) if not math.isnan(seconds) else 0.0
