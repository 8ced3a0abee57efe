"""Epsilon-greedy: the best arm by the context, and sometimes an arm at random."""

from suffice.lab.rivals.base import COMMON, CONTEXT, Rival, Target, own_rng
from suffice.lab.rivals.expected_losses import ExpectedLosses
from suffice.menu.menu import Menu
from suffice.numbers import rate


class EpsilonGreedy(Rival):
    """The arm with the least expected loss, cost − price·success; in a share of all steps one that is drawn from all.

    In the manner of Langford & Zhang 2007, without their epochs: the share stays constant.

    Args:
        menu: any menu.
        target: the success rate that the price chases.
        horizon: how many steps there will be.
        share: of steps in which the arm is drawn, ε.
        seed: of the method's own randomness.

    >>> rival = EpsilonGreedy(Menu({"small": 0.1}, safe="all", skip="none"), 0.9, horizon=1000)
    >>> [rival.ask(context={"confidence": 0.7}).option for _ in range(3)]  # the price of a success is 0 at first
    ['none', 'none', 'none']
    """

    name = "epsilon-greedy"
    source = "in the manner of Langford & Zhang 2007"
    read = COMMON
    feedback = CONTEXT
    guarantee = "stochastic, at a given price; none on the rate, nor on a path"
    contextual = True

    def __init__(self, menu: Menu, target: Target, horizon: int, *, share: float = 0.05, seed: int = 0) -> None:
        super().__init__(menu, target)
        self._losses = ExpectedLosses(menu, self._promise, horizon)
        self._share = float(rate("share", share))
        self._rng = own_rng(seed)

    @property
    def price(self) -> float:
        return self._losses.price

    def _choose(self) -> int:
        vector = self._losses.vector(self._context)
        if self._rng.random() < self._share:
            return int(self._rng.integers(self.menu.n_arms))
        return int(self._losses.at(vector).argmin())

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        self._losses.learn(arm, self._context, success, cost)
