"""SquareCB: arms are drawn by the inverse of the gap between their expected losses and the least."""

import math

from suffice.kernels.rows import Floats
from suffice.lab.rivals.base import CONTEXT, Rival, Target, above_zero, draw_arm, own_rng
from suffice.lab.rivals.expected_losses import ExpectedLosses
from suffice.menu.menu import Menu


class SquareCB(Rival):
    """Every arm but the best has the probability 1/(K + scale·√t·gap), and the best has the rest.

    In the manner of Foster & Rakhlin 2020, with the tuning of Vowpal Wabbit: K arms, t outcomes so far, and gaps of the
    expected loss cost − price·success in units of its range, safe_cost + price. The source takes any online
    regression; ours is a ridge regression per arm, of success and of cost apart, so that the price may move.

    Args:
        menu: any menu.
        target: the success rate that the price chases.
        horizon: how many steps there will be.
        scale: how soon it settles on the best.
        seed: of the method's own randomness.

    >>> rival = SquareCB(Menu({"small": 0.1}, safe="all", skip="none"), 0.9, horizon=1000)
    >>> decision = rival.ask(context={"confidence": 0.7})
    >>> rival.tell(decision, success=decision.is_safe)
    >>> rival.pending, rival.outcomes
    (0, 1)
    """

    name = "SquareCB"
    source = "in the manner of Foster & Rakhlin 2020"
    read = "Vowpal Wabbit's code of the rule, not the source"
    feedback = CONTEXT
    guarantee = "regret at a given price, where the regression fits; none on the rate, nor on a path"
    contextual = True

    def __init__(self, menu: Menu, target: Target, horizon: int, *, scale: float = 10.0, seed: int = 0) -> None:
        super().__init__(menu, target)
        self._losses = ExpectedLosses(menu, self._promise, horizon)
        self._scale = above_zero("scale", scale)
        self._rng = own_rng(seed)

    @property
    def price(self) -> float:
        return self._losses.price

    def probabilities(self, vector: Floats) -> Floats:
        """The distribution of the arm for a context with these features."""
        losses = self._losses.at(vector) / (self.menu.safe_cost + self.price)
        best = int(losses.argmin())
        shares: Floats = 1.0 / (self.menu.n_arms + self._scale * math.sqrt(self.outcomes) * (losses - losses[best]))
        shares[best] = 0.0
        shares[best] = 1.0 - shares.sum()
        return shares

    def _choose(self) -> int:
        return draw_arm(self._rng, self.probabilities(self._losses.vector(self._context)))

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        self._losses.learn(arm, self._context, success, cost)
