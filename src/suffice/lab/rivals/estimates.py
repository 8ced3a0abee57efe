"""Bounds on both sides of every arm, for rivals that need more than our own optimist does. No method of its own.

All of them are the KL mixture (theory 7), so that what is compared is the rule and not the width of its intervals.
"""

import numpy as np

from suffice.lab.rivals.base import SUCCESS_AND_COST, Rival, Target
from suffice.lab.rivals.weights import Floats
from suffice.learning.bound_formulas import KL, level_of, lower_of, upper_of
from suffice.learning.bounds import Tally
from suffice.menu.menu import Menu
from suffice.numbers import positive_int


class Estimates:
    """Per arm: upper and lower success, and lower cost; what is known beforehand is taken as known.

    >>> estimates = Estimates(Menu({"a": 0.1}, safe="all", skip="none"), horizon=100)
    >>> estimates.add(1, success=1.0, cost=0.1)
    >>> estimates.upper.tolist(), estimates.lower.round(4).tolist(), estimates.cost.tolist()
    ([0.0, 1.0, 1.0], [0.0, 0.0008, 1.0], [0.0, 0.1, 1.0])
    """

    def __init__(self, menu: Menu, horizon: int) -> None:
        self.menu = menu
        self.tally = Tally(menu.n_arms)
        self.level = level_of(KL, menu.n_arms, horizon)
        self.upper: Floats = np.ones(menu.n_arms)
        self.lower: Floats = np.zeros(menu.n_arms)
        self.cost: Floats = np.array([menu.known_cost(arm) or 0.0 for arm in range(menu.n_arms)])
        if menu.has_skip:
            self.upper[0] = 0.0
        self.upper[-1] = self.lower[-1] = float(menu.safe_success)

    def add(self, arm: int, success: float, cost: float) -> None:
        """Take in an outcome: one arm's bounds change."""
        self.tally.add(arm, success, cost)
        if self.menu.is_boundary(arm):
            return
        plays, successes = float(self.tally.plays[arm]), float(self.tally.successes[arm])
        self.upper[arm] = upper_of(KL, successes, plays, self.level)
        self.lower[arm] = 1.0 - upper_of(KL, plays - successes, plays, self.level)
        if self.menu.costs is None:
            self.cost[arm] = lower_of(KL, float(self.tally.costs[arm]), plays, self.menu.safe_cost, self.level)


class Estimating(Rival):
    """A rival that chooses by these bounds, which are to hold for so many steps."""

    feedback = SUCCESS_AND_COST

    def __init__(self, menu: Menu, target: Target, horizon: int) -> None:
        super().__init__(menu, target)
        self._horizon = positive_int("horizon", horizon)
        self._estimates = Estimates(menu, self._horizon)

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        self._estimates.add(arm, success, cost)
