"""What every kind of bounds offers: from a tally to an upper success and a lower cost per arm.

Bounds decide what the choice between the rails costs. They may be wrong, or lie: the promise does not use them.
"""

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from suffice.learning.bound_formulas import KL, PAPER, epoch_of, level_of, lower_of, upper_of
from suffice.menu import Menu

Floats = NDArray[np.float64]


class Tally:
    """Per arm: plays settled, the sum of successes, and of the costs that were told (clipped at max_cost).

    An expired decision is a play without success whose cost nobody told, so costs have a count of their own.
    """

    __slots__ = ("costs", "plays", "priced", "successes")

    def __init__(self, arms: int) -> None:
        self.plays = np.zeros(arms, dtype=np.int64)
        self.successes: Floats = np.zeros(arms)
        self.priced = np.zeros(arms, dtype=np.int64)
        self.costs: Floats = np.zeros(arms)

    def add(self, arm: int, success: float, cost: float | None, *, plays: int = 1) -> None:
        """Add an outcome; with plays=0, what came late for a play that was counted before."""
        self.plays[arm] += plays
        # No more successes than plays: an interrupt may have kept a play from being learned.
        self.successes[arm] = min(self.successes[arm] + success, float(self.plays[arm]))
        if cost is not None:
            self.priced[arm] += 1
            self.costs[arm] += cost


@runtime_checkable
class Bounds(Protocol):
    """The seam for bounds of one's own.

    `upper` and `lower` hold, per arm, a bound on its success from above and on its cost from below. `open` is called
    once, before any outcome; `update` after each outcome of `arm`; `refresh` when the whole tally has changed.
    """

    name: str
    upper: Floats
    lower: Floats

    def open(self, menu: Menu, horizon: int | None) -> None: ...

    def update(self, tally: Tally, arm: int, told: int) -> None: ...

    def refresh(self, tally: Tally, told: int) -> None: ...


class LineBounds:
    """Shared by the bounds in which each arm's line depends on its own tally and on the current epoch alone.

    A threshold that must hold for all times grows with time. It is kept constant within an epoch, so that one outcome
    changes one line, and all lines are recomputed when an epoch begins.
    """

    name = ""
    code = KL

    def open(self, menu: Menu, horizon: int | None) -> None:
        self.menu = menu
        self.horizon = horizon or 0
        self.upper: Floats = np.ones(menu.arms)
        self.lower: Floats = np.zeros(menu.arms)
        if menu.costs is not None:
            self.lower[menu.interior] = menu.costs
        if menu.has_nothing:
            self.upper[0] = 0.0
        self.upper[-1] = float(menu.everything_success)
        self.lower[-1] = menu.max_cost
        self._enter(1)

    def update(self, tally: Tally, arm: int, told: int) -> None:
        if told + 1 > self.last:
            self.refresh(tally, told)
        elif not self.menu.is_boundary(arm):
            self._line(tally, arm)

    def refresh(self, tally: Tally, told: int) -> None:
        self._enter(told + 1)
        for arm in np.flatnonzero(tally.plays).tolist():
            if not self.menu.is_boundary(arm):
                self._line(tally, arm)

    def _enter(self, step: int) -> None:
        self.last, end = epoch_of(step, self.horizon)
        self.level = level_of(self.code, self.menu.arms, end)

    def _line(self, tally: Tally, arm: int) -> None:
        self.upper[arm] = upper_of(self.code, float(tally.successes[arm]), int(tally.plays[arm]), self.level)
        if self.menu.costs is None or self.code == PAPER:
            told, count = float(tally.costs[arm]), int(tally.priced[arm])
            self.lower[arm] = lower_of(self.code, told, count, self.menu.max_cost, self.level)
