"""Aggregated adaptive conformal inference: experts with different steps, combined by Bernstein online aggregation."""

import math

import numpy as np

from suffice.lab.rivals.base import PRIMARY, Target
from suffice.lab.rivals.dt_aci import STEPS
from suffice.lab.rivals.scores import Scored
from suffice.lab.rivals.weights import Floats, normal
from suffice.menu.menu import Menu


class AgACI(Scored):
    """Each expert is a quantile ACI with a step of its own; the threshold is their mean by weights.

    In the manner of Zaffran, Féron, Goude, Josse & Dieuleveut 2022, on one threshold where they have two ends. The
    score of a step is the least option that covers its label. What is aggregated is the thresholds, and the pinball's
    argument is the score: with g its slope at the mean, an expert's relative loss is r = g·(threshold − mean), in widths
    of the range; its logarithmic weight is ln η − η·Σ r(1 + ηr), with η = min(½, sqrt(ln K/Σ r²)) of its own. Infinite
    thresholds stand at the ends of the range. The aggregation is from common knowledge, not checked against its text
    (Wintenberger 2017). A mean that lies between two options is rounded up: on a coarse menu it succeeds too often.

    Args:
        menu: a chain whose options are growing numbers.
        target: the success rate to hold.

    >>> rival = AgACI(Menu.top_k([1, 5], classes=10), 0.75)
    >>> for rank in (1, 4, 1):
    ...     decision = rival.ask()
    ...     rival.hear(rank)
    ...     rival.tell(decision, success=rank <= decision.option)
    >>> round(rival.threshold, 3)
    5.0
    """

    name = "AgACI"
    source = "in the manner of Zaffran, Féron, Goude, Josse & Dieuleveut 2022"
    read = PRIMARY + "; its aggregation from common knowledge"
    guarantee = "regret of the pinball loss; none on the debt of a path"

    def __init__(self, menu: Menu, target: Target) -> None:
        super().__init__(menu, target)
        self._steps = np.array(STEPS)
        self._levels = np.full(self._steps.size, self._failure_share)
        self._exponents = np.zeros(self._steps.size)  # Σ r(1 + ηr), each with the η of its time
        self._squares = np.zeros(self._steps.size)

    @property
    def rates(self) -> Floats:
        """η of every expert."""
        with np.errstate(divide="ignore"):
            return np.minimum(0.5, np.sqrt(math.log(self._steps.size) / self._squares))

    @property
    def weights(self) -> Floats:
        """Of the experts."""
        rates = self.rates
        logs = np.log(rates) - rates * self._exponents
        return normal(logs)

    @property
    def threshold(self) -> float:  # type: ignore[override]
        """The mean of the experts' thresholds, from which the option follows."""
        return float(self.weights @ self._thresholds())

    def _thresholds(self) -> Floats:
        levels = self._levels.tolist()
        return np.array([self._inside(math.inf if a <= 0.0 else self._scores.quantile(1.0 - a)) for a in levels])

    def _choose(self) -> int:
        return self._arm_at(self.threshold - 1e-9 * self.width)  # a mean of equal numbers may be a bit above them

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        needed, thresholds = self._needed(), self._thresholds()
        mean = float(self.weights @ thresholds)
        slope = self._failure_share - float(needed > mean)
        relative = slope * (thresholds - mean) / self.width
        self._exponents += relative * (1.0 + self.rates * relative)
        self._squares += relative**2
        missed = thresholds < needed
        missed &= self._levels > 0.0  # at a level of 0 an expert plays the safe option
        self._levels += self._steps * (self._failure_share - missed)
        self._scores.add(needed)
