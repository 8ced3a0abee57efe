"""Conservative exploration by what was achieved, not by what was certain: never behind on any path."""

from fractions import Fraction

import numpy as np

from suffice.kernels.rows import Floats
from suffice.lab.rivals.base import PRIMARY, SUCCESS_AND_COST, Rival, Target
from suffice.learning.bound_formulas import KL, level_of, lower_of, upper_of
from suffice.learning.bounds import Tally
from suffice.menu.menu import Menu
from suffice.numbers import ONE_SUCCESS, positive_int


class ConservativePath(Rival):
    """Plays the optimistic arm if past successes >= target·step, else the safe option.

    Even if the arm fails, nothing is owed then: where the safe option succeeds, the debt is never above 0. Decisions that
    are pending count as failed. Wu, Shariff, Lattimore & Szepesvári 2016, with the safe option as the baseline arm, compare
    lower bounds on the successes instead. Their optimistic arm has the greatest reward; here it is the one whose mix with
    the safe option, just enough of it to reach the target, could be the cheapest. Our KL bounds.

    Args:
        menu: any menu.
        target: the success rate to hold.
        horizon: how many steps the bounds are to hold for.

    >>> rival = ConservativePath(Menu({"small": 0.1, "all": 1.0}, safe="all", skip="none"), 0.5, horizon=100)
    >>> debts = []
    >>> for _ in range(4):
    ...     decision = rival.ask()
    ...     rival.tell(decision, success=decision.is_safe)
    ...     debts.append(rival.debt)
    >>> debts
    [-0.5, 0.0, -0.5, 0.0]
    """

    name = "conservative UCB on the path"
    source = "sample-path variant of Wu, Shariff, Lattimore & Szepesvári 2016"
    read = PRIMARY
    feedback = SUCCESS_AND_COST
    guarantee = "debt at most 0 on every path where the safe option succeeds"

    def __init__(self, menu: Menu, target: Target, horizon: int) -> None:
        super().__init__(menu, target)
        self._level = level_of(KL, menu.n_arms, positive_int("horizon", horizon))
        self._tally = Tally(menu.n_arms)
        self.upper_success: Floats = np.ones(menu.n_arms)
        self.lower_cost: Floats = np.array([menu.known_cost(arm) or 0.0 for arm in range(menu.n_arms)])
        if menu.has_skip:
            self.upper_success[0] = 0.0
        self.upper_success[-1] = float(menu.safe_success)

    def optimistic_arm(self) -> int:
        """The arm that could be the cheapest when mixed with the safe option."""
        failure_share = 1.0 - self.target
        share = failure_share / np.maximum(1.0 - self.upper_success, failure_share)  # of the steps; the rest are safe
        return int((share * (self.menu.safe_cost - self.lower_cost)).argmax())

    def _choose(self) -> int:
        target = Fraction(self._promise.target, ONE_SUCCESS)
        affordable = Fraction(self._units, ONE_SUCCESS) >= target * (self.outcomes + self.pending + 1)
        return self.optimistic_arm() if affordable else self.menu.n_arms - 1

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        self._tally.add(arm, success, cost)
        if self.menu.is_boundary(arm):
            return
        plays, successes = float(self._tally.plays[arm]), float(self._tally.successes[arm])
        self.upper_success[arm] = upper_of(KL, successes, plays, self._level)
        if self.menu.costs is None:
            costs = float(self._tally.costs[arm])
            self.lower_cost[arm] = lower_of(KL, costs, plays, self.menu.safe_cost, self._level)
