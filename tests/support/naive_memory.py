"""Memory transcribed from its definition: a list of all outcomes, from which every sum is computed.

Shares no code with suffice but menus and the numbers of levels, and is not meant to be fast.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice import Menu
from suffice.learning.memory import Memory, levels_of
from tests.support.naive_bounds import divergence

Floats = NDArray[np.float64]


def against(plays: float, first: float, others: float, second: float, p: float) -> float:
    """What speaks against p: a first mean above it, and a second one below it."""
    high = plays * divergence(first, p) if first > p else 0.0
    return high + (others * divergence(second, p) if second < p else 0.0)


def least(plays: float, first: float, others: float, second: float) -> float:
    """The least over all p, by golden section: it falls up to some p between the means, and rises from there on."""
    low, high, share = 0.0, 1.0, (math.sqrt(5.0) - 1.0) / 2.0
    left, right = high - share * (high - low), low + share * (high - low)
    at_left, at_right = (against(plays, first, others, second, p) for p in (left, right))
    for _ in range(90):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - share * (high - low)
            at_left = against(plays, first, others, second, left)
        else:
            low, left, at_left = left, right, at_right
            right = low + share * (high - low)
            at_right = against(plays, first, others, second, right)
    return min(at_left, at_right)


class Outcome(NamedTuple):
    arm: int
    success: float
    cost: float | None


class Naive:
    """All outcomes of interior arms that count, in order; tallies are worked out from the list whenever asked for."""

    def __init__(self, menu: Menu) -> None:
        self.menu = menu
        self.counted: list[Outcome] = []
        self.ends = np.zeros(menu.n_arms)  # plays of boundary arms, which are never forgotten
        self.count = 0
        self.nested = np.array([[menu.nested(a, b) for b in range(menu.n_arms)] for a in range(menu.n_arms)])

    def tally(self, outcomes: list[Outcome]) -> Floats:
        """Plays and successes per arm."""
        sums = np.zeros((self.menu.n_arms, 2))
        for outcome in outcomes:
            sums[outcome.arm] += 1.0, outcome.success
        return sums

    def columns(self) -> Floats:
        sums = self.tally(self.counted)
        sums[:, 0] += self.ends
        return sums

    def tell(self, outcome: Outcome) -> None:
        if self.menu.is_boundary(outcome.arm):
            self.ends[outcome.arm] += 1
            return
        self.counted.append(outcome)
        self.count += 1
        self.forget()

    def forget(self) -> None: ...


class NaiveReset(Naive):
    """Moments as places in the list; every pool by `Menu.nested`; the minimum over p by golden section."""

    def __init__(self, menu: Menu) -> None:
        super().__init__(menu)
        self.levels, self.nearest = levels_of(Memory("reset"), menu.n_arms)
        self.moments: list[list[int]] = [[] for _ in range(self.levels)]
        self.resets, self.outcomes = 0, 0

    def tell(self, outcome: Outcome) -> None:
        self.outcomes += 1
        super().tell(outcome)

    def forget(self) -> None:
        for level in range(self.levels):
            if self.count % (self.nearest * 2**level):
                return
            for moment in self.moments[level]:
                if self.contradicted(moment):
                    self.counted = []
                    self.count, self.resets = 0, self.resets + 1
                    self.moments = [[] for _ in range(self.levels)]
                    return
            self.moments[level] = [*self.moments[level][-1:], len(self.counted)]

    def contradicted(self, moment: int) -> bool:
        end = 2 ** math.floor(math.log2(self.outcomes) + 1)  # of the epoch that holds this outcome
        moments = 2 + 2 * end / self.nearest
        level = math.log(4 * self.menu.n_arms * moments * math.sqrt(end))
        before, since = self.tally(self.counted[:moment]), self.tally(self.counted[moment:])
        for arm in range(self.menu.n_arms)[self.menu.interior]:
            inside, around = self.nested[:, arm].copy(), self.nested[arm].copy()
            for who in (inside, around):
                who[: self.menu.interior.start] = who[-1] = False
            own = np.arange(self.menu.n_arms) == arm
            pairs = [
                (before[own], since[own]), (since[own], before[own]),
                (before[inside], since[around]), (since[inside], before[around]),
            ]  # fmt: skip
            for high, low in pairs:
                (plays, wins), (others, other_wins) = high.sum(axis=0), low.sum(axis=0)
                if plays and others and wins / plays > other_wins / others:
                    found = least(plays, wins / plays, others, other_wins / others)
                    if found > level + math.log((plays + 1) * (others + 1)):
                        return True
        return False


class NaiveWindow(Naive):
    span = 200

    def forget(self) -> None:
        part = max(1, self.span // 16)
        if self.count % part == 0 and self.count > self.span:
            self.counted = self.counted[-self.span :]

    def amend(self, arm: int, success: float) -> None:
        for place in range(len(self.counted) - 1, -1, -1):
            if self.counted[place].arm == arm and self.counted[place].success == 0.0:
                self.counted[place] = self.counted[place]._replace(success=success)
                return


class NaiveDiscount(Naive):
    span = 200

    def columns(self) -> Floats:
        part = self.span // 16
        sums = np.zeros((self.menu.n_arms, 2))
        for place, outcome in enumerate(self.counted, 1):
            fades = self.count // part - (place - 1) // part
            sums[outcome.arm] += np.array([1.0, outcome.success]) * 0.5 ** (fades * part / self.span)
        sums[:, 0] += self.ends
        return sums


NAIVE: dict[str, type[Naive]] = {
    "full": Naive,
    "reset": NaiveReset,
    "window 200": NaiveWindow,
    "discount 200": NaiveDiscount,
}

MEMORIES = list(NAIVE)
CHAIN = Menu.top_k([5, 10, 20, 50], classes=100, skip=True)
INTERVALS = Menu.intervals(step=0.25, skip=True)
SUBSETS = Menu.subsets({"a": 0.1, "b": 0.2, "c": 0.3}, safe="person", safe_cost=1.0, skip=True)
GRID = Menu.grid(distance=[1, 2, 5], rating=[4.5, 4.0, 0], skip=True, safe_cost=1.0)
LOOSE = Menu({"a": 0.1, "b": 0.4, "c": 0.2}, safe="all", skip="none", safe_cost=1.0)
MENUS = {"chain": CHAIN, "intervals": INTERVALS, "subsets": SUBSETS, "grid": GRID, "loose": LOOSE}
