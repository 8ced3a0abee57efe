"""The breaker: after a call that failed, calls fail at once for a while, and then one by one try again. No I/O."""

import threading
from collections.abc import Callable
from typing import Final

Clock = Callable[[], float]

PAUSE: Final = 1.0  # seconds between a call that failed and the next that tries


class CircuitBreaker:
    """Says how often a call may try. Safe to use from many threads.

    Closed, a call may try as often as it likes. Once one has failed it is open: calls fail without trying. After the pause
    one call tries, once; the others still fail at once until it is known how that went.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._until: float | None = None  # when the next may try; None: closed
        self._trying = False  # whether somebody is finding out
        self.why = ""

    @property
    def open(self) -> bool:
        """Whether the last call failed."""
        return self._until is not None

    def tries(self, most: int, force: bool = False) -> int:
        """How often this call may try; with `force` at least once."""
        with self._lock:
            if self._until is None:
                return most
            if force:
                return 1
            if self._trying or self._clock() < self._until:
                return 0
            self._trying = True
            return 1

    def passed(self) -> bool:
        """A call got through. Whether the breaker was open before."""
        with self._lock:
            was, self._until, self._trying = self._until is not None, None, False
            return was

    def failed(self, why: str, pause: float = PAUSE) -> bool:
        """A call failed as often as it might try. Whether it is the first in a row."""
        with self._lock:
            first = self._until is None
            self._until, self._trying, self.why = self._clock() + max(PAUSE, pause), False, why
            return first

    def left(self) -> None:
        """A call ended without finding out."""
        with self._lock:
            self._trying = False
