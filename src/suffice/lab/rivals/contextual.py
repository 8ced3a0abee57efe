"""What those have in common that look at the context: a price of a success, and a regression per arm. No method of its own."""

from abc import abstractmethod
from typing import Any

from suffice.lab.rivals.base import CONTEXT, Rival, Target, own_rng, step_of
from suffice.lab.rivals.prices import Price, told
from suffice.lab.rivals.regression import Regression
from suffice.lab.rivals.weights import Floats
from suffice.menu.menu import Menu
from suffice.numbers import positive_int


class Contextual(Rival):
    """Subclasses choose by the expected loss of every arm, cost − price·success.

    None of them holds a rate by itself. With `price="tracked"` the price chases it, as the projected baseline's does; with a
    number it stays; with `"shadow"` the method is told the shadow price of the best mix that does not look at the context.
    """

    contextual = True
    feedback = CONTEXT

    def __init__(
        self, menu: Menu, target: Target, horizon: int, *, price: float | str, step: float | None, stream: Any,
        seed: int,
    ) -> None:  # fmt: skip
        super().__init__(menu, target)
        step = step_of(step, positive_int("horizon", horizon))
        self._price = Price(told(price, menu, self._promise, stream), self._promise, step=step)
        self._regression = Regression(menu)
        self._rng = own_rng(seed)

    @property
    def price(self) -> float:
        return self._price.value

    @abstractmethod
    def _pick(self, vector: Floats) -> int:
        """The arm to play, by the vector of the context."""

    def losses(self, vector: Floats) -> Floats:
        """What every arm is expected to lose."""
        success, cost = self._regression.means(vector)
        return cost - self.price * success

    def _choose(self) -> int:
        return self._pick(self._regression.look(self._context))

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        self._regression.add(arm, self._context, success, cost)
        self._price.move(success)
