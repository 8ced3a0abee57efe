"""The transport: tries, retries, and whether the service can be reached.

The clients do the I/O: they pass functions that send and that wait. Those of the blocking client return only when it is done.
"""

import logging
import math
import random
import threading
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import httpx

from suffice.client.circuit_breaker import CircuitBreaker, Clock
from suffice.client.httpx_adapter import Request
from suffice.client.outbox import Outbox
from suffice.client.problems import read_response
from suffice.errors import InvalidArgument, ServiceUnreachable, SufficeError, quoted
from suffice.numbers import positive_int

Reply = TypeVar("Reply")
T = TypeVar("T")
Send = Callable[[Request], Awaitable[httpx.Response]]
Wait = Callable[[float], Awaitable[object]]

FIRST: Final = 0.2  # seconds before the first retry, at most; twice as long before each further one
LONGEST: Final = 2.0
# A longer Retry-After than this is not waited for; with a fallback, one longer than LONGEST.
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
        """The outbox of the selector with this name."""
        with self._lock:
            return self._outboxes.setdefault(name, Outbox(self._keep))

    def outboxes(self) -> list[tuple[str, Outbox]]:
        """All outboxes by name."""
        with self._lock:
            return list(self._outboxes.items())

    async def call(self, request: Request, read: Callable[[Reply], T], *, force: bool = False) -> T:
        """What `read` makes of the reply. Raises ServiceUnreachable after the last try."""
        tries = self._breaker.tries(self._retries + 1, force)
        if not tries:
            raise ServiceUnreachable(
                f"the service at {self.address} could not be reached a moment ago, so it was not tried: {self._breaker.why}"
            )
        try:
            result = await self._try(request, read, tries)
        except ServiceUnreachable:
            raise
        except SufficeError:  # the service can be reached, as it has refused the request
            self._passed()
            raise
        finally:
            self._breaker.left()
        self._passed()
        return result

    async def _try(self, request: Request, read: Callable[[Reply], T], tries: int) -> T:
        patience = LONGEST if self.fallback else PATIENCE
        tried = 0
        while True:
            tried += 1
            pause = 0.0
            try:
                response = await self._send(request)
                pause = retry_after(response)
                return read_response(response, read)
            except (ServiceUnreachable, httpx.RequestError) as problem:
                # Once another thread has opened the breaker, further tries would only repeat its result.
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
    """Seconds before the next try: twice as many each time, reduced at random by up to a half."""
    return min(LONGEST, FIRST * 2.0 ** (tried - 1)) * random.uniform(0.5, 1.0)


def retry_after(response: httpx.Response) -> float:
    """The seconds in the header Retry-After; 0 without one."""
    try:
        seconds = float(response.headers.get("Retry-After", "0"))
    except ValueError:
        return 0.0
    return max(0.0, seconds) if not math.isnan(seconds) else 0.0
