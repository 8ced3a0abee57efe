"""Bandit conformal prediction from one pull: is this label the true one?"""

from typing import Final

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.lab.rivals.base import LABEL, PRIMARY, Target, own_rng
from suffice.lab.rivals.threshold_rival import Chained
from suffice.lab.rivals.weights import draw, normal
from suffice.menu.menu import Menu

STEPS: Final = (0.01, 0.03, 0.1, 0.3)  # in widths of the range
RATE: Final = 10.0


class BCCP(Chained):
    """Pulls one label in every step, and learns a quantile of the true label's rank from the pulls that hit.

    In the manner of Wang & Qiao 2024. A pull A is drawn from fixed probabilities π; a hit counts d = 1/(labels·π(A)),
    which makes it stand for the misses too. On a hit an expert's threshold moves by step·d·(1{A > threshold} −
    (1 − target)), and its weight is multiplied by exp(−10·d·check loss); the threshold played is the mean by weights.

    Simplified: their thresholds are on a score, one per class, and π comes from the classifier. A stream of ranks shows
    neither classes nor scores, so one threshold on the rank serves all, and π is half uniform, half in proportion to
    1/rank: no pull is so rare that d exceeds 2. Of the label it uses only whether it is the one pulled. The rank is not
    rounded to the menu, so on a coarse one it succeeds too often.

    Args:
        menu: a top_k menu.
        target: the success rate to hold.
        seed: of the method's own randomness.

    >>> rival = BCCP(Menu.top_k([1, 5], classes=10), 0.75)
    >>> rival.ask().option, rival.pulls.round(3).tolist()
    (10, [0.221, 0.135, 0.107, 0.093, 0.084, 0.078, 0.074, 0.071, 0.069, 0.067])
    """

    name = "BCCP"
    source = "in the manner of Wang & Qiao 2024"
    read = PRIMARY
    feedback = LABEL
    guarantee = "stochastic; none on a path"

    def __init__(self, menu: Menu, target: Target, *, seed: int = 0) -> None:
        super().__init__(menu, target)
        if menu.kind != "top_k":
            raise InvalidArgument(f"menu must be a top_k menu, got {quoted(menu)}")
        labels = int(menu.safe)
        likely = 1.0 / np.arange(1, labels + 1)
        self.pulls = 0.5 / labels + 0.5 * likely / likely.sum()
        self._steps = np.array(STEPS) * self.width
        self._thresholds = np.full(self._steps.size, self.high)
        self._logs = np.zeros(self._steps.size)
        self._rng = own_rng(seed)

    @property
    def threshold(self) -> float:  # type: ignore[override]
        """The mean of the experts' thresholds, from which the option follows."""
        return float(normal(self._logs) @ self._thresholds)

    def _choose(self) -> int:
        self._note = 1 + draw(self._rng, self.pulls)
        return super()._choose()

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        pulled = self._note
        if self._heard != pulled:
            return
        counts = 1.0 / (self.pulls.size * float(self.pulls[pulled - 1]))
        slope = (pulled > self._thresholds) - self._failure_share
        self._logs -= RATE * counts * slope * (pulled - self._thresholds) / self.width  # the check loss
        self._logs -= self._logs.max()
        self._thresholds += self._steps * counts * slope
