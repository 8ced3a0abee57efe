"""Adaptive conformal inference: a quantile of the past scores, at a level that is moved by the outcomes."""

from suffice.errors import InvalidArgument, quoted
from suffice.lab.rivals.base import PRIMARY, Target, above_zero
from suffice.lab.rivals.scores import Scored
from suffice.menu.menu import Menu
from suffice.numbers import as_fraction


class QuantileACI(Scored):
    """level ← level + step·((1 − target) − failure); the threshold is the (1 − level)-quantile of all past scores.

    Gibbs & Candès 2021. At level <= 0 it is the safe option, at level >= 1 the lowest option, and the safe option as long
    as there are no scores. The score of a step is the least option that covers its label. The level is a function of the
    counts, (1 − target) − step·debt, so the identity behind its guarantee holds exactly.

    With `momentum`, as in their experiments, the failure is replaced by a mean of all failures so far in which one that
    is k steps old weighs momentum^k. The level is smoother, and the identity is gone.

    Args:
        menu: a chain whose options are growing numbers.
        target: the success rate to hold.
        step: how far one outcome moves the level.
        momentum: what a failure's weight is multiplied by in every step; theirs is 0.95, and 0 has no memory.

    >>> rival = QuantileACI(Menu.top_k([1, 5], classes=10), 0.75, step=0.2)
    >>> for rank in (1, 4, 1):
    ...     decision = rival.ask()
    ...     rival.hear(rank)
    ...     rival.tell(decision, success=rank <= decision.option)
    >>> round(rival.level, 3), rival.ask().option
    (0.2, 5)
    """

    name = "quantile ACI"
    source = "Gibbs & Candès 2021"
    read = PRIMARY
    guarantee = "|debt| at most (1 + step)/step on every path, where low fails and high succeeds; none with momentum"

    def __init__(self, menu: Menu, target: Target, *, step: float = 0.005, momentum: float = 0.0) -> None:
        super().__init__(menu, target)
        self._step = above_zero("step", step)
        self._momentum = float(as_fraction("momentum", momentum))
        if not 0.0 <= self._momentum < 1.0:
            raise InvalidArgument(f"momentum must be at least 0 and below 1, got {quoted(momentum)}")
        self._failures = self._weights = self._owed = 0.0

    @property
    def level(self) -> float:
        """The share of misses that is aimed at, which may lie beyond 0 and 1."""
        return self._failure_share - self._step * (self._owed if self._momentum else self.debt)

    def _choose(self) -> int:
        return self._arm_for(self.level)

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        self._failures = self._momentum * self._failures + 1.0 - success
        self._weights = self._momentum * self._weights + 1.0
        self._owed += self._failures / self._weights - (1.0 - self.target)
        self._scores.add(self._needed())
