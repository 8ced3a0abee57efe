"""The circuit breaker: after a call that failed, other calls fail at once for a while, and then one call tries. No I/O."""

import threading
from collections.abc import Callable
from typing import Final

Clock = Callable[[], float]

PAUSE: Final = 1.0  # seconds between a call that failed and the next that tries


class CircuitBreaker:
    """Decides how often a call may try. Safe to use from many threads.

    While it is closed, a call may use all of its retries. A call that fails opens it: other calls then fail without trying.
    After the pause one call tries once; the others still fail at once until its result is known.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._until: float | None = None  # when the next call may try; None: closed
        self._trying = False  # whether a call is trying while it is open
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
        """Close it, as a call succeeded. Returns whether it was open."""
        with self._lock:
            was_open, self._until, self._trying = self._until is not None, None, False
            return was_open

    def failed(self, why: str, pause: float = PAUSE) -> bool:
        """Open it, as a call failed in all of its tries. Returns whether it was closed."""
        with self._lock:
            first = self._until is None
            self._until, self._trying, self.why = self._clock() + max(PAUSE, pause), False, why
            return first

    def left(self) -> None:
        """End a call, whatever its result: the next may try."""
        with self._lock:
            self._trying = False
