"""The history of a selector in a bounded number of buckets: when there are too many, pairs are merged into wider ones.

It is a sum over settled decisions and does not depend on their order.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypedDict

from suffice.numbers import ONE_SUCCESS
from suffice.service.records import Bin

Bounds = Callable[[list[int]], list[tuple[float, float]]]

MOST_BUCKETS: Final = 1024
FINEST: Final = 0.25  # seconds: the initial width of a bucket
MOST_ARMS: Final = 64  # arms counted singly in a bucket; the rest are counted as OTHERS
OTHERS: Final = -1

BucketState = tuple[int, int, int, float, float | None, list[tuple[int, int]]]  # its place, and the fields of a bucket


class HistoryState(TypedDict):
    """A history as JSON."""

    width: float
    buckets: list[BucketState]


@dataclass(slots=True)
class Bucket:
    """Sums over a period, and the last price."""

    outcomes: int = 0
    units: int = 0
    cost: float = 0.0
    price: float | None = None
    arms: dict[int, int] = field(default_factory=dict)

    def play(self, arm: int, count: int = 1) -> None:
        """Count plays of an arm."""
        if arm not in self.arms and len(self.arms) >= MOST_ARMS:
            arm = OTHERS
        self.arms[arm] = self.arms.get(arm, 0) + count

    def merge(self, later: "Bucket") -> None:
        """Add a later bucket."""
        self.outcomes += later.outcomes
        self.units += later.units
        self.cost += later.cost
        self.price = self.price if later.price is None else later.price
        for arm, count in later.arms.items():
            self.play(arm, count)


class History:
    """Buckets by time; bucket n covers the seconds from n to n + 1 times the width."""

    def __init__(self) -> None:
        self.width = FINEST
        self.buckets: dict[int, Bucket] = {}

    def add(self, at: float, *, outcomes: int, units: int, cost: float, price: float, arm: int | None) -> None:
        """Add an outcome; one that amends an earlier one has `outcomes` 0 and `arm` None."""
        place = math.floor(at / self.width)
        bucket = self.buckets.get(place)
        if bucket is None:
            bucket = self.buckets[place] = Bucket()
            if len(self.buckets) > MOST_BUCKETS:
                self._widen()
                bucket = self.buckets[math.floor(at / self.width)]
        bucket.outcomes += outcomes
        bucket.units += units
        bucket.cost += cost
        if arm is not None:
            bucket.price = price
            bucket.play(arm)

    def _widen(self) -> None:
        while len(self.buckets) > MOST_BUCKETS // 2:
            self.width *= 2.0
            self.buckets = _merged(self.buckets, 2)

    def bins(
        self, most: int, bounds: Bounds, target: float, since: float = -math.inf, width: float | None = None
    ) -> list[Bin]:
        """At most `most` periods of equal length, without empty ones, and the position at the end of each.

        `since`: only periods after this time. `width`: the length of a period, the first of which begins at `since`, so that
        a caller with the earlier periods gets the rest. `bounds`: the proved limits after given numbers of outcomes.
        """
        places = sorted(self.buckets)
        begin = None if since == -math.inf else math.floor(since / self.width)
        shown = places if begin is None else [place for place in places if place >= begin]
        if not shown:
            return []
        if width is None:
            first = shown[0]
            every = -(-(shown[-1] - first + 1) // most)
        else:
            first = shown[0] if begin is None else begin
            every = max(1, round(width / self.width))
        merged = _merged({place: self.buckets[place] for place in shown}, every, first)
        before = [self.buckets[place] for place in places[: len(places) - len(shown)]]
        total = Bucket()
        for bucket in before:
            total.merge(bucket)
        counts = itertools.accumulate((bucket.outcomes for bucket in merged.values()), initial=total.outcomes)
        limits = bounds(list(counts)[1:])
        result = []
        for (place, bucket), (behind, ahead) in zip(merged.items(), limits, strict=True):
            total.merge(bucket)
            start = (first + place * every) * self.width
            result.append(
                Bin(
                    start=start, end=start + every * self.width, outcomes=bucket.outcomes,
                    successes=bucket.units / ONE_SUCCESS, cost=bucket.cost,
                    debt=target * total.outcomes - total.units / ONE_SUCCESS, price=bucket.price,
                    arms=dict(bucket.arms), total=total.outcomes, total_successes=total.units / ONE_SUCCESS,
                    total_cost=total.cost, debt_at_most=behind, ahead_at_most=ahead,
                )
            )  # fmt: skip
        return result

    # --- saving

    def state(self) -> HistoryState:
        """The history for JSON."""
        return {
            "width": self.width,
            "buckets": [
                (place, each.outcomes, each.units, each.cost, each.price, list(each.arms.items()))
                for place, each in self.buckets.items()
            ],
        }

    @staticmethod
    def from_state(state: HistoryState) -> "History":
        """The history of a saved state."""
        history = History()
        history.width = float(state["width"])
        for place, outcomes, units, cost, price, arms in state["buckets"]:
            counts = {int(arm): int(count) for arm, count in arms}
            history.buckets[int(place)] = Bucket(outcomes, units, cost, price, counts)
        return history


def _merged(buckets: dict[int, Bucket], every: int, first: int = 0) -> dict[int, Bucket]:
    merged: dict[int, Bucket] = {}
    for place in sorted(buckets):
        merged.setdefault((place - first) // every, Bucket()).merge(buckets[place])
    return merged
