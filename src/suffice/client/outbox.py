"""The outbox: outcomes that could not be delivered, kept in order until they can be. No I/O."""

import math
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from suffice.numbers import as_number

CHUNK: Final = 1_000  # outcomes in one request


class Outcome(NamedTuple):
    """How a decision went, as it is sent."""

    decision: int
    units: int  # billionths of a success
    cost: float | None

    def body(self) -> dict[str, Any]:
        """The outcome in JSON's terms."""
        said: dict[str, Any] = {"decision": self.decision, "success": as_number(self.units)}
        return said if self.cost is None else said | {"cost": self.cost}


class Chunk:
    """Some outcomes on their way, and how many of them, from the first, the service has answered for."""

    def __init__(self, outcomes: list[Outcome]) -> None:
        self.outcomes = outcomes
        self.arrived = 0


class Outbox:
    """Keeps so many outcomes of one selector at most, the latest. Safe to use from many threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: deque[Outcome] = deque()
        self._away = 0  # in parcels
        self._dropped = 0
        self._said = False  # whether it was said that some were dropped
        self.size = CHUNK  # outcomes that the service takes in one request, as far as is known
        self.rest = -math.inf  # when to try again after what is kept was not taken

    def __len__(self) -> int:
        return len(self._kept) + self._away

    @property
    def dropped(self) -> int:
        """How many were let go for want of room."""
        return self._dropped

    def add(self, outcomes: Iterable[Outcome]) -> bool:
        """Keep them. Whether it has to be said, once, that older ones were dropped."""
        with self._lock:
            self._kept.extend(outcomes)
            self._drop()
            said, self._said = self._said, self._dropped > 0
            return self._said and not said

    @contextmanager
    def chunk(self) -> Iterator[Chunk]:
        """The oldest outcomes, to be sent; those that have not arrived come back to the front."""
        with self._lock:
            chunk = Chunk([self._kept.popleft() for _ in range(min(CHUNK, len(self._kept)))])
            self._away += len(chunk.outcomes)
        try:
            yield chunk
        finally:
            with self._lock:
                self._away -= len(chunk.outcomes)
                self._kept.extendleft(reversed(chunk.outcomes[chunk.arrived :]))
                self._drop()

    def refused(self, size: int) -> None:
        """So many at once are too many, or one among them spoils the rest: half as many are tried next."""
        self.size = size // 2

    def taken(self, size: int) -> None:
        """So many at once were taken: if that is all that was dared, twice as many are next."""
        if size == self.size:
            self.size = min(CHUNK, 2 * size)

    def _drop(self) -> None:
        while len(self._kept) > self._most:
            self._kept.popleft()
            self._dropped += 1
