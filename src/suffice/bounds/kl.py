"""Kullback–Leibler bounds with the mixture threshold, which hold for all numbers of plays at once.

With n arms and an epoch that ends at E, the failure probability per arm and side is δ = 1/(2nE) (theory 7).
"""

import math

from suffice.bounds.base import LineBounds, Tally
from suffice.kl import kl_lower, kl_upper


class KL(LineBounds):
    """Success from above and, where costs are told, cost from below; known costs are used as they are."""

    name = "kl"

    def _threshold(self, arms: int, end: int) -> None:
        self.log = math.log(2.0 * arms * end)

    def _line(self, tally: Tally, arm: int) -> None:
        plays = int(tally.plays[arm])
        self.upper[arm] = kl_upper(float(tally.successes[arm]) / plays, self._level(plays))
        priced = int(tally.priced[arm])
        if self.menu.costs is None and priced:
            share = float(tally.costs[arm]) / priced / self.menu.max_cost
            self.lower[arm] = self.menu.max_cost * kl_lower(share, self._level(priced))

    def _level(self, count: int) -> float:
        return (self.log + math.log(count + 1.0)) / count
