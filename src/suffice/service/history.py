"""What happened over time, in at most so many buckets: when they are too many, each two become one, twice as wide.

A fold of settled decisions that adds up in any order. However long the history, it stays as small and as quick to read.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from suffice.numbers import ONE_SUCCESS
from suffice.service.records import Bin

Bounds = Callable[[list[int]], list[tuple[float, float]]]

MOST: Final = 1024  # buckets
FINEST: Final = 0.25  # seconds
MOST_ARMS: Final = 64  # of a bucket; the rest is counted as OTHERS
OTHERS: Final = -1  # in the place of an arm: those that are too many to list


@dataclass(slots=True)
class Bucket:
    """Sums over a stretch of time, and the last price."""

    outcomes: int = 0
    units: int = 0
    cost: float = 0.0
    price: float | None = None
    arms: dict[int, int] = field(default_factory=dict)
    lost: int = 0  # plays of the safe option that expired, less those told late

    def play(self, arm: int, count: int = 1) -> None:
        """Count plays of an arm."""
        if arm not in self.arms and len(self.arms) >= MOST_ARMS:
            arm = OTHERS
        self.arms[arm] = self.arms.get(arm, 0) + count

    def take(self, later: "Bucket") -> None:
        """Add one that comes later."""
        self.outcomes += later.outcomes
        self.units += later.units
        self.cost += later.cost
        self.lost += later.lost
        self.price = self.price if later.price is None else later.price
        for arm, count in later.arms.items():
            self.play(arm, count)


class History:
    """Buckets by time."""

    def __init__(self) -> None:
        self.width = FINEST
        self.buckets: dict[int, Bucket] = {}

    def add(
        self, at: float, *, outcomes: int, units: int, cost: float, price: float, arm: int | None, lost: int = 0
    ) -> None:
        """Take in an outcome; `outcomes` is 0 and `arm` None for one that amends an earlier one."""
        place = math.floor(at / self.width)
        bucket = self.buckets.get(place)
        if bucket is None:
            bucket = self.buckets[place] = Bucket()
            if len(self.buckets) > MOST:
                self._widen()
                bucket = self.buckets[math.floor(at / self.width)]
        bucket.outcomes += outcomes
        bucket.units += units
        bucket.cost += cost
        bucket.lost += lost
        if arm is not None:
            bucket.price = price
            bucket.play(arm)

    def _widen(self) -> None:
        while len(self.buckets) > MOST // 2:
            self.width *= 2.0
            self.buckets = _merged(self.buckets, 2)

    def bins(
        self, most: int, bounds: Bounds, target: float, since: float = -math.inf, width: float | None = None
    ) -> list[Bin]:
        """At most so many stretches of equal length, the empty ones left out, and how things stood at the end of each.

        `since`: only what is after this time. `width`: stretches so long, the first of which begins at `since`, so that who
        has the earlier ones may ask for the rest. `bounds`: what was promised after so many outcomes.
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
        told, units, cost = (sum(getattr(one, name) for one in before) for name in ("outcomes", "units", "cost"))
        promised = bounds(list(itertools.accumulate((one.outcomes for one in merged.values()), initial=told))[1:])
        # What was lost then was not known to have succeeded: `bounds` counts only what is lost now (theory 4: X).
        lost = sum(one.lost for one in before) - sum(one.lost for one in self.buckets.values())
        result = []
        for (place, bucket), (behind, ahead) in zip(merged.items(), promised, strict=True):
            told, units, cost = told + bucket.outcomes, units + bucket.units, cost + bucket.cost
            lost += bucket.lost
            start = (first + place * every) * self.width
            result.append(
                Bin(
                    start=start, end=start + every * self.width, outcomes=bucket.outcomes,
                    successes=bucket.units / ONE_SUCCESS, cost=bucket.cost, debt=target * told - units / ONE_SUCCESS,
                    price=bucket.price, arms=dict(bucket.arms), total=told, total_successes=units / ONE_SUCCESS,
                    total_cost=cost, debt_at_most=behind + lost, ahead_at_most=ahead,
                )
            )  # fmt: skip
        return result

    # --- saving

    def state(self) -> dict[str, Any]:
        """The chart in JSON's terms."""
        return {
            "width": self.width,
            "buckets": [
                [place, one.outcomes, one.units, one.cost, one.price, list(one.arms.items()), one.lost]
                for place, one in self.buckets.items()
            ],
        }

    @staticmethod
    def from_state(state: dict[str, Any]) -> "History":
        """The chart that `state` wrote down."""
        chart = History()
        chart.width = float(state["width"])
        for place, told, units, cost, price, arms, lost in state["buckets"]:
            chart.buckets[int(place)] = Bucket(told, units, cost, price, {int(arm): int(n) for arm, n in arms}, lost)
        return chart


def _merged(buckets: dict[int, Bucket], every: int, first: int = 0) -> dict[int, Bucket]:
    merged: dict[int, Bucket] = {}
    for place in sorted(buckets):
        merged.setdefault((place - first) // every, Bucket()).take(buckets[place])
    return merged
