"""The outbox: outcomes that could not be delivered, kept in order until they can be. No I/O."""

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from suffice.checks import as_number

PARCEL: Final = 1_000  # outcomes in one request


class Outcome(NamedTuple):
    """How a decision went, as it is sent."""

    decision: int
    units: int  # billionths of a success
    cost: float | None

    def body(self) -> dict[str, Any]:
        """The outcome in JSON's terms."""
        said: dict[str, Any] = {"decision": self.decision, "success": as_number(self.units)}
        return said if self.cost is None else said | {"cost": self.cost}


class Parcel:
    """Some outcomes on their way."""

    def __init__(self, outcomes: list[Outcome]) -> None:
        self.outcomes = outcomes
        self.arrived = False


class Outbox:
    """Keeps so many outcomes of one selector at most, the latest. Safe to use from many threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: deque[Outcome] = deque()
        self._away = 0  # in parcels
        self._dropped = 0

    def __len__(self) -> int:
        return len(self._kept) + self._away

    @property
    def dropped(self) -> int:
        """How many were let go for want of room."""
        return self._dropped

    def add(self, outcomes: Iterable[Outcome]) -> bool:
        """Keep them. Whether it is now, for the first time, that older ones had to be dropped."""
        with self._lock:
            before = self._dropped
            self._kept.extend(outcomes)
            self._drop()
            return bool(self._dropped) and not before

    @contextmanager
    def parcel(self) -> Iterator[Parcel]:
        """The oldest outcomes, to be sent; they come back to the front unless they are marked as arrived."""
        with self._lock:
            parcel = Parcel([self._kept.popleft() for _ in range(min(PARCEL, len(self._kept)))])
            self._away += len(parcel.outcomes)
        try:
            yield parcel
        finally:
            with self._lock:
                self._away -= len(parcel.outcomes)
                if not parcel.arrived:
                    self._kept.extendleft(reversed(parcel.outcomes))
                    self._drop()

    def _drop(self) -> None:
        while len(self._kept) > self._most:
            self._kept.popleft()
            self._dropped += 1
