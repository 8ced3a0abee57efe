"""Hoeffding's bounds: the paper's width sqrt(2 ln(nT)/plays), clipped, or exactly as printed there."""

import math

from suffice.bounds.base import LineBounds, Tally
from suffice.menu import Menu


class Hoeffding(LineBounds):
    """The paper's width, clipped to what is possible; known costs are used as they are."""

    name = "hoeffding"

    def _threshold(self, arms: int, end: int) -> None:
        self.twice_log = 2.0 * math.log(arms * end)

    def _line(self, tally: Tally, arm: int) -> None:
        self.upper[arm] = min(1.0, self._upper(tally, arm))
        if self.menu.costs is None:
            self.lower[arm] = max(0.0, self._lower(tally, arm))

    def _upper(self, tally: Tally, arm: int) -> float:
        plays = int(tally.plays[arm])
        return float(tally.successes[arm]) / plays + math.sqrt(self.twice_log / plays)

    def _lower(self, tally: Tally, arm: int) -> float:
        priced = int(tally.priced[arm])
        if priced == 0:
            return -math.inf
        return float(tally.costs[arm]) / priced - self.menu.max_cost * math.sqrt(self.twice_log / priced)


class Paper(Hoeffding):
    """As printed: nothing is clipped, and costs are estimated even where they are known (theory 1)."""

    name = "paper"

    def open(self, menu: Menu, horizon: int | None) -> None:
        super().open(menu, horizon)
        # An arm that was never played could be anything. The first round plays each before its line is looked at.
        self.upper[menu.interior] = math.inf
        self.lower[menu.interior] = -math.inf

    def _line(self, tally: Tally, arm: int) -> None:
        self.upper[arm] = self._upper(tally, arm)
        self.lower[arm] = self._lower(tally, arm)
