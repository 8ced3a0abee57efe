"""LinUCB: a linear model per arm, and the arm that could be best."""

from typing import Any

import numpy as np

from suffice.lab.rivals.base import Target, above_zero
from suffice.lab.rivals.contextual import Contextual
from suffice.lab.rivals.weights import Floats
from suffice.menu.menu import Menu


class LinUCB(Contextual):
    """argmin of cost − price·(expected success + width·deviation), the success that is hoped for being at most 1.

    In the manner of Li, Chu, Langford & Schapire 2010, with disjoint models, on the success; theirs is a payoff of one
    number, and so has neither costs nor a price. The deviation is √(xᵀA⁻¹x), where A is the identity and the sum of xxᵀ
    over the arm's plays. Costs that the menu does not know are hoped for alike: lower by so many deviations.

    Args:
        menu: any menu.
        target: the success rate that the price chases.
        horizon: how many steps there will be.
        price: of a success: "tracked" chases the rate, a number stays, "shadow" is told by the stream.
        step: how far one outcome moves the price; 1/√horizon if left out.
        width: how many deviations are hoped for, α in the source.
        stream: one with `truth()`, for the shadow price.

    >>> rival = LinUCB(Menu({"small": 0.1}, safe="all", skip="none"), 0.9, horizon=1000, price=2.0)
    >>> rival.ask(context={"confidence": 0.7}).option  # it could be as good as the safe option
    'small'
    """

    name = "LinUCB"
    source = "in the manner of Li, Chu, Langford & Schapire 2010"
    read = "third-party code of the rule, not the source"
    guarantee = "none of its own; of a variant, regret at a given price; none on the rate, nor on a path"

    def __init__(
        self, menu: Menu, target: Target, horizon: int, *, price: float | str = "tracked", step: float | None = None,
        width: float = 1.0, stream: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(menu, target, horizon, price=price, step=step, stream=stream, seed=0)
        self._width = above_zero("width", width)

    def _pick(self, vector: Floats) -> int:
        return int(self.hopes(vector).argmin())

    def hopes(self, vector: Floats) -> Floats:
        """The least that every arm could be expected to lose."""
        success, cost = self._regression.means(vector)
        wide = self._width * self._regression.deviations(vector)
        if self.menu.costs is None:
            cost = np.maximum(cost - self.menu.safe_cost * wide, 0.0)
        return cost - self.price * np.minimum(success + wide, 1.0)
