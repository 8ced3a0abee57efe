"""SquareCB: arms are drawn by the inverse of the gap between their expected losses and the least."""

import math
from typing import Any

from suffice.lab.rivals.base import Target, above_zero
from suffice.lab.rivals.contextual import Contextual
from suffice.lab.rivals.weights import Floats, draw
from suffice.menu.menu import Menu


class SquareCB(Contextual):
    """Every arm but the best has the probability 1/(K + scale·√t·gap), and the best has the rest.

    In the manner of Foster & Rakhlin 2020, with the tuning of Vowpal Wabbit: K arms, t outcomes so far, and gaps of the
    expected loss cost − price·success in units of what it can span, safe_cost + price. The source takes any online
    regression; ours is a ridge regression per arm, of success and of cost apart, so that the price may move.

    Args:
        menu: any menu.
        target: the success rate that the price chases.
        horizon: how many steps there will be.
        price: of a success: "tracked" chases the rate, a number stays, "shadow" is told by the stream.
        step: how far one outcome moves the price; 1/√horizon if left out.
        scale: how soon it settles on the best.
        stream: one with `truth()`, for the shadow price.
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
    guarantee = "regret at a given price, where the regression fits; none on the rate, nor on a path"

    def __init__(
        self, menu: Menu, target: Target, horizon: int, *, price: float | str = "tracked", step: float | None = None,
        scale: float = 10.0, stream: Any = None, seed: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(menu, target, horizon, price=price, step=step, stream=stream, seed=seed)
        self._scale = above_zero("scale", scale)

    def probabilities(self, vector: Floats) -> Floats:
        """What the arm is drawn from."""
        losses = self.losses(vector) / (self.menu.safe_cost + self.price)
        best = int(losses.argmin())
        shares: Floats = 1.0 / (self.menu.n_arms + self._scale * math.sqrt(self.outcomes) * (losses - losses[best]))
        shares[best] = 0.0
        shares[best] = 1.0 - shares.sum()
        return shares

    def _pick(self, vector: Floats) -> int:
        return draw(self._rng, self.probabilities(vector))
