"""Epsilon-greedy: the best arm by the context, and now and then any."""

from typing import Any

from suffice.lab.rivals.base import COMMON, Target
from suffice.lab.rivals.contextual import Contextual
from suffice.lab.rivals.weights import Floats
from suffice.menu.menu import Menu
from suffice.numbers import rate


class EpsilonGreedy(Contextual):
    """The arm with the least expected loss, cost − price·success; in a share of all steps one that is drawn from all.

    In the manner of Langford & Zhang 2007, whose epochs are not here: the share stays the same for ever.

    Args:
        menu: any menu.
        target: the success rate that the price chases.
        horizon: how many steps there will be.
        price: of a success: "tracked" chases the rate, a number stays, "shadow" is told by the stream.
        step: how far one outcome moves the price; 1/√horizon if left out.
        share: of steps in which the arm is drawn, ε.
        stream: one with `truth()`, for the shadow price.
        seed: of the method's own randomness.

    >>> rival = EpsilonGreedy(Menu({"small": 0.1}, safe="all", skip="none"), 0.9, horizon=1000, price=2.0)
    >>> [rival.ask(context={"confidence": 0.7}).option for _ in range(3)]  # of what was never tried nothing is expected
    ['all', 'all', 'all']
    """

    name = "epsilon-greedy"
    source = "in the manner of Langford & Zhang 2007"
    read = COMMON
    guarantee = "stochastic, at a given price; none on the rate, nor on a path"

    def __init__(
        self, menu: Menu, target: Target, horizon: int, *, price: float | str = "tracked", step: float | None = None,
        share: float = 0.05, stream: Any = None, seed: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(menu, target, horizon, price=price, step=step, stream=stream, seed=seed)
        self._share = float(rate("share", share))

    def _pick(self, vector: Floats) -> int:
        if self._rng.random() < self._share:
            return int(self._rng.integers(self.menu.n_arms))
        return int(self.losses(vector).argmin())
