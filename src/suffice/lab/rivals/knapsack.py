"""Bandits with knapsacks: failures are a resource; when it is spent the safe option is played to the end."""

import math
from fractions import Fraction

import numpy as np

from suffice.lab.rivals.base import Target
from suffice.lab.rivals.estimates import Estimating
from suffice.lab.rivals.weights import Floats
from suffice.menu.menu import Menu
from suffice.numbers import ONE_SUCCESS


class Knapsack(Estimating):
    """The most saving per resource: argmax of upper saving / (price of failures · lower failure + price of time · use).

    The reduction: a failure uses one of (1 − target)·horizon failures, a step uses its share of the time, the reward is
    safe_cost − cost, and the safe option is the arm that uses and saves nothing. The rule is the primal-dual one of
    Badanidiyuru, Kleinberg & Slivkins 2013, in the manner of third-party code: each price grows by (1 + ε)^use, with
    ε = sqrt(ln 2/budget); our KL bounds. Prices are kept as logarithms, since they grow like exp(sqrt(budget)).

    The stop is hard, and counts what is still pending as failed: at the horizon at least target·horizon steps have
    succeeded, on every path, if the safe option does. Before the horizon nothing is promised, and after it the safe
    option is played.

    Args:
        menu: any menu.
        target: the success rate to hold at the horizon.
        horizon: how many steps there will be.

    >>> rival = Knapsack(Menu({"small": 0.1}, safe="all", skip="none"), 0.5, horizon=4)
    >>> options = []
    >>> for _ in range(4):
    ...     decision = rival.ask()
    ...     options.append(decision.option)
    ...     rival.tell(decision, success=decision.is_safe)
    >>> options, rival.debt
    (['small', 'small', 'all', 'all'], 0.0)
    """

    name = "knapsack"
    source = "in the manner of Badanidiyuru, Kleinberg & Slivkins 2013, reduced"
    read = "third-party code of the rule, not the source"
    guarantee = "target·horizon successes at the horizon on every path, none before it"

    def __init__(self, menu: Menu, target: Target, horizon: int) -> None:
        super().__init__(menu, target, horizon)
        self._budget: Fraction = (1 - self._owed_share) * self._horizon
        self._pace = float(self._budget) / self._horizon  # what a step uses of the time, on the scale of the failures
        self._growth = math.log1p(math.sqrt(math.log(2.0) / max(float(self._budget), 1.0)))
        self._log_failures = self._log_time = 0.0

    @property
    def left(self) -> Fraction:
        """Failures that may still happen, those that are pending not counted."""
        return self._budget - self.outcomes + Fraction(self._units, ONE_SUCCESS)

    def ratios(self) -> Floats:
        """The saving per resource of every arm, up to a common factor."""
        top = max(self._log_failures, self._log_time)
        failures, time = math.exp(self._log_failures - top), math.exp(self._log_time - top)
        saving = self.menu.safe_cost - self._estimates.cost
        # Both prices may have vanished beside the other where the use is 0; the least double keeps the order.
        return saving / np.maximum(failures * (1.0 - self._estimates.upper) + time * self._pace, 1e-300)

    def _choose(self) -> int:
        over = self.outcomes + self.pending >= self._horizon
        if over or self.left - self.pending < 1:
            return self.menu.n_arms - 1
        return int(self.ratios().argmax())

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        # The use by the bounds that the arm was chosen by.
        self._log_failures += self._growth * (1.0 - float(self._estimates.upper[arm]))
        self._log_time += self._growth * self._pace
        super()._learn(arm, success, cost, counted=counted)
