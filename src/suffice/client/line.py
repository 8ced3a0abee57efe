"""The line to the service: tries, retries, and what it knows of whether the service can be reached. No I/O."""

import logging
import math
import random
import threading
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any, Final

from suffice.checks import whole
from suffice.client.breaker import Breaker
from suffice.client.outbox import Outbox
from suffice.client.problems import detail_of, read
from suffice.client.steps import Answer, Lost, Request, Steps, Wait
from suffice.errors import InvalidArgument, Unreachable, shown

AGAIN: Final = frozenset((502, 503, 504))  # what a proxy, or a service that is busy or starting, answers
FIRST: Final = 0.2  # seconds before the first retry, at most; twice as long before each further one
LONGEST: Final = 2.0
# A Retry-After beyond this is not waited for; nor one beyond LONGEST where there is a fallback.
PATIENCE: Final = 30.0

log = logging.getLogger("suffice.client")


class Line:
    """What all selectors of a client share."""

    def __init__(
        self, address: str, *, fallback: str | None, retries: int, keep: int, clock: Callable[[], float]
    ) -> None:
        if fallback not in (None, "everything"):
            raise InvalidArgument(f'fallback must be "everything" or None, got {shown(fallback)}')
        self.address = address
        self.fallback = fallback is not None
        self._retries = whole("retries", retries, 0)
        self._keep = whole("keep", keep, 0)
        self._breaker = Breaker(clock)
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

    def call(self, request: Request, *, force: bool = False) -> Steps[Any]:
        """The JSON that the service answers. Raises Unreachable once it has been tried often enough."""
        tries = self._breaker.tries(self._retries + 1, force)
        if not tries:
            raise Unreachable(
                f"the service at {self.address} could not be reached a moment ago, so it was not tried: {self._breaker.why}"
            )
        try:
            answer, tried, pause = yield from self._try(request, tries)
            if isinstance(answer, Answer) and is_final(answer):
                if self._breaker.passed():
                    log.info("the service at %s is reached again", self.address)
                return read(answer)
            raise self._failed(answer, tried, pause)
        finally:
            self._breaker.left()

    def _try(self, request: Request, tries: int) -> Steps[tuple[Answer | Lost, int, float]]:
        """The first answer that is one, or the last that is not; after how many tries; and when to come again, in seconds."""
        patience = LONGEST if self.fallback else PATIENCE
        tried = 0
        while True:
            answer: Answer | Lost = yield request
            tried += 1
            pause = retry_after(answer)
            final = isinstance(answer, Answer) and is_final(answer)
            # Once another thread has found out that the service is down, this one need not.
            if final or tried >= tries or pause > patience or self._breaker.open:
                return answer, tried, pause
            yield Wait(max(pause, backoff(tried)))

    def _failed(self, answer: Answer | Lost, tried: int, pause: float) -> Unreachable:
        status, why = None, ""
        if isinstance(answer, Answer):
            status, why = answer.status, detail_of(answer)[0]
            why = why if str(status) in why else f"{status}, {why}"
        else:
            why = answer.why
        times = "1 try" if tried == 1 else f"{tried} tries"
        problem = Unreachable(
            f"the service at {self.address} could not be reached in {times}: {why}", status=status, detail=why
        )
        if self.fallback and self._breaker.failed(why, min(pause, PATIENCE)):
            log.warning("%s; until it can be, everything is played and outcomes are kept", problem)
        return problem


def is_final(answer: Answer) -> bool:
    """Whether asking again would get the same answer. 429 is a limit that is there to stay, unless it says when to come."""
    return answer.status not in AGAIN and not (answer.status == 429 and answer.retry_after is not None)


def backoff(tried: int) -> float:
    """How long to wait before the next try: twice as long each time, less up to a half by chance."""
    return min(LONGEST, FIRST * 2.0 ** (tried - 1)) * random.uniform(0.5, 1.0)


def retry_after(answer: Answer | Lost) -> float:
    """What the service says to wait, in seconds; 0 where it says nothing that can be read."""
    said = answer.retry_after if isinstance(answer, Answer) else None
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
