"""What contextual rivals have in common: a price that chases the target, and a regression per arm."""

from suffice.kernels.rows import Floats
from suffice.lab.rivals.base import default_step
from suffice.lab.rivals.regression import Regression
from suffice.menu.menu import Menu
from suffice.promise.rules import Promise


class ExpectedLosses:
    """The expected loss of every arm in a context, cost − price·success.

    The price chases the target as the projected baseline's does: price ← clip(price + step·(target − success), 0, cap),
    with the step 1/√horizon. The cap is safe_cost/(1 − target): at that price the safe option costs least in every context.

    >>> losses = ExpectedLosses(Menu({"a": 0.1}, safe="all"), Promise.make(0.75), horizon=25)
    >>> for success in (0.0, 0.0, 1.0):
    ...     _ = losses.vector({"size": 0.5})
    ...     losses.learn(0, {"size": 0.5}, success, cost=0.1)
    >>> round(losses.price, 3)
    0.25
    """

    def __init__(self, menu: Menu, promise: Promise, horizon: int) -> None:
        self.price = 0.0
        self.regression = Regression(menu)
        self._promise, self._step = promise, default_step(horizon)

    def vector(self, context: object) -> Floats:
        """The features of the context of a decision; to be called once per decision, since features learn from it."""
        return self.regression.vector(context)

    def at(self, vector: Floats) -> Floats:
        """The expected loss of every arm."""
        success, cost = self.regression.means(vector)
        return cost - self.price * success

    def learn(self, arm: int, context: object, success: float, cost: float) -> None:
        """Learn from an outcome, and move the price."""
        self.regression.add(arm, context, success, cost)
        price = self.price + self._step * (self._promise.rate - success)
        self.price = min(max(price, 0.0), self._promise.cap)
