"""The outbox: outcomes that could not be delivered, in order, until they can be. No I/O."""

import math
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from suffice.numbers import as_number

CHUNK: Final = 1_000  # outcomes in one request


class Outcome(NamedTuple):
    """The outcome of a decision, as it is sent."""

    decision: str
    units: int  # billionths of a success
    cost: float | None

    def body(self) -> dict[str, object]:
        """The outcome in JSON's terms."""
        body: dict[str, object] = {"decision": self.decision, "success": as_number(self.units)}
        return body if self.cost is None else body | {"cost": self.cost}


class Chunk:
    """Some outcomes that are being sent, and how many of them, from the first, the service has answered."""

    def __init__(self, outcomes: list[Outcome]) -> None:
        self.outcomes = outcomes
        self.answered = 0


class Outbox:
    """Keeps at most so many outcomes of one selector, the latest. Safe to use from many threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._waiting: deque[Outcome] = deque()
        self._being_sent = 0
        self._dropped = False  # whether some were dropped because there were too many
        self._warned = False  # whether `add` has reported that
        self.retry_at = -math.inf  # when to try again after the service has refused a request

    def __len__(self) -> int:
        return len(self._waiting) + self._being_sent

    def add(self, outcomes: Iterable[Outcome]) -> bool:
        """Keep them. Returns True the first time after older ones were dropped."""
        with self._lock:
            self._waiting.extend(outcomes)
            self._drop()
            warned, self._warned = self._warned, self._dropped
            return self._warned and not warned

    @contextmanager
    def chunk(self) -> Iterator[Chunk]:
        """The oldest outcomes, to be sent; those that were not answered come back to the front."""
        with self._lock:
            chunk = Chunk([self._waiting.popleft() for _ in range(min(CHUNK, len(self._waiting)))])
            self._being_sent += len(chunk.outcomes)
        try:
            yield chunk
        finally:
            with self._lock:
                self._being_sent -= len(chunk.outcomes)
                self._waiting.extendleft(reversed(chunk.outcomes[chunk.answered :]))
                self._drop()

    def _drop(self) -> None:
        while len(self._waiting) > self._most:
            self._waiting.popleft()
            self._dropped = True
