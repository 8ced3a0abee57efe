"""Dynamically tuned adaptive conformal inference: experts with different steps, weighted by how well they fare."""

from typing import Final

import numpy as np

from suffice.lab.rivals.base import PRIMARY, Target
from suffice.lab.rivals.scores import Scored
from suffice.lab.rivals.weights import Floats, normal
from suffice.menu.menu import Menu

STEPS: Final = tuple(0.001 * 2.0**k for k in range(8))
SHARE: Final = 0.001  # of the weights, spread evenly in every step
RATE: Final = 2.72


class DtACI(Scored):
    """Each expert is a quantile ACI with a step of its own; the level is their mean by weights.

    Gibbs & Candès 2022. The score of a step is the least option that covers its label. With β the share of past scores
    that are at least this one, an expert's loss is the pinball ρ(β − level), ρ(u) = (1 − target)·u − min(u, 0): its
    argument is β and not the score. Weights are multiplied by exp(−2.72·loss), normalised, and a thousandth of them is
    spread evenly. The mean, not a draw: the method has no randomness. Steps are 0.001·2^k, k = 0, ..., 7.

    Args:
        menu: a chain whose options are growing numbers.
        target: the success rate to hold.

    >>> rival = DtACI(Menu.top_k([1, 5], classes=10), 0.75)
    >>> for rank in (1, 4, 1):
    ...     decision = rival.ask()
    ...     rival.hear(rank)
    ...     rival.tell(decision, success=rank <= decision.option)
    >>> round(rival.level, 3)
    0.242
    """

    name = "DtACI"
    source = "Gibbs & Candès 2022"
    read = PRIMARY
    guarantee = "regret of the pinball loss on every stretch of time; none on the debt of a path"

    def __init__(self, menu: Menu, target: Target) -> None:
        super().__init__(menu, target)
        self._steps = np.array(STEPS)
        self._levels = np.full(self._steps.size, self._failure_share)
        self._logs = np.zeros(self._steps.size)

    @property
    def weights(self) -> Floats:
        """Of the experts."""
        return normal(self._logs)

    @property
    def level(self) -> float:
        """The share of misses that is aimed at, which may lie beyond 0 and 1."""
        return float(self.weights @ self._levels)

    def _choose(self) -> int:
        return self._arm_for(self.level)

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        needed = self._needed()
        beta = self._scores.rank(needed)
        gap = beta - self._levels
        self._logs -= RATE * (self._failure_share * gap - np.minimum(gap, 0.0))
        self._logs = np.log((1.0 - SHARE) * self.weights + SHARE / self._steps.size)
        missed = (self._levels >= beta) & (self._levels > 0.0)  # at a level of 0 an expert plays the safe option
        self._levels += self._steps * (self._failure_share - missed)
        self._scores.add(needed)
