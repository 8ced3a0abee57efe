"""LinUCB: a linear model per arm, and the arm that could be best."""

import numpy as np

from suffice.kernels.rows import Floats
from suffice.lab.rivals.base import CONTEXT, Rival, Target, above_zero, default_step
from suffice.lab.rivals.regression import Regression
from suffice.menu.menu import Menu


class LinUCB(Rival):
    """argmin of cost − price·(expected success + width·deviation), where the optimistic success is at most 1.

    In the manner of Li, Chu, Langford & Schapire 2010, with disjoint models, on the success; theirs is a payoff of one
    number, and so has neither costs nor a price. The deviation is √(xᵀA⁻¹x), where A is the identity and the sum of xxᵀ
    over the arm's plays. Costs that the menu does not know are optimistic, too: lower by so many deviations.

    The price chases the target as the projected baseline's does: price ← clip(price + step·(target − success), 0, cap),
    with the step 1/√horizon. The cap is safe_cost/(1 − target): at that price the safe option costs least in every context.

    Args:
        menu: any menu.
        target: the success rate that the price chases.
        horizon: how many steps there will be.
        width: how many deviations are added, α in the source.

    >>> rival = LinUCB(Menu({"small": 0.1, "all": 1.0}, safe="all"), 0.9, horizon=1000)
    >>> rival.ask(context={"confidence": 0.7}).option  # the price of a success is 0 at first
    'small'
    """

    name = "LinUCB"
    source = "in the manner of Li, Chu, Langford & Schapire 2010"
    read = "third-party code of the rule, not the source"
    feedback = CONTEXT
    guarantee = "none of its own; of a variant, regret at a given price; none on the rate, nor on a path"
    contextual = True

    def __init__(self, menu: Menu, target: Target, horizon: int, *, width: float = 1.0) -> None:
        super().__init__(menu, target)
        self._regression, self._step = Regression(menu), default_step(horizon)
        self._width = above_zero("width", width)
        self._price = 0.0

    @property
    def price(self) -> float:
        return self._price

    def optimistic_losses(self, vector: Floats) -> Floats:
        """The least that every arm could be expected to lose."""
        success, cost = self._regression.means(vector)
        wide = self._width * self._regression.deviations(vector)
        if self.menu.costs is None:
            cost = np.maximum(cost - self.menu.safe_cost * wide, 0.0)
        return cost - self.price * np.minimum(success + wide, 1.0)

    def _choose(self) -> int:
        return int(self.optimistic_losses(self._regression.vector(self._context)).argmin())

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        self._regression.add(arm, self._context, success, cost)
        price = self._price + self._step * (self._promise.rate - success)
        self._price = min(max(price, 0.0), self._promise.cap)
