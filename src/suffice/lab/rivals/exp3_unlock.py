"""EXP3 on a chain of thresholds that unlocks: one outcome shows the losses of many arms."""

import math

import numpy as np

from suffice.lab.rivals.base import LABEL_WHEN_COVERED, Target
from suffice.lab.rivals.exp3 import Exp3P, loss
from suffice.lab.rivals.threshold_rival import Chained
from suffice.lab.rivals.weights import Floats
from suffice.menu.menu import Menu


class Exp3Unlock(Exp3P, Chained):
    """Exponential weights in which a success shows the loss of every threshold, and a failure that of every lower one.

    In the manner of Yang, Kim & Park 2026 ("OCP-Unlock+"), with the loss of `Exp3P`. An arm that misses the label is
    seen where an arm at or above it was played; one that covers it where any that covers it was played. A loss that is
    seen is divided by the probability of seeing it. Rate sqrt(ln K/T) and mixing sqrt(ln K/T), there being about one
    observation per arm and step. Both are ours: the source has the tuning of `Exp3P`, and for what is not seen a
    pseudo-gain whose formula could not be read. Weights are kept as logarithms. It drifts to the safe option, for the reason
    that `Exp3P` gives, and sooner.

    Args:
        menu: a chain whose options are growing numbers.
        target: the success rate to hold.
        horizon: how many steps there will be.
        penalty: the loss of the largest size; 1/√horizon if left out.
        seed: of the method's own randomness.

    >>> rival = Exp3Unlock(Menu.top_k([1], classes=2), 0.9, horizon=1000)
    >>> rival.seen(np.array([0.2, 0.3, 0.5]), arm=1, label=None).tolist()  # missed: so would the skip have
    [1.0, 0.8, inf]
    >>> rival.seen(np.array([0.2, 0.3, 0.5]), arm=1, label=1.0).tolist()
    [1.0, 0.8, 0.8]
    """

    name = "EXP3 unlocking"
    feedback = LABEL_WHEN_COVERED
    guarantee = "fails at most 1 − target of the time in the long run, on average; drifts to the safe option"

    def __init__(
        self, menu: Menu, target: Target, horizon: int, *, penalty: float | None = None, seed: int = 0
    ) -> None:
        super().__init__(menu, target, horizon, penalty=penalty, seed=seed)
        self._need_numbers()

    def _tune(self, arms: int, horizon: int) -> None:
        self._rate = math.sqrt(math.log(arms) / horizon)
        self._mixing = min(1.0, self._rate)

    def seen(self, probabilities: Floats, arm: int, label: float | None) -> Floats:
        """With what probability the loss of each arm is seen in this step; infinite for those that are not."""
        above = np.minimum(np.cumsum(probabilities[::-1])[::-1], 1.0)  # of playing this arm or one above it
        if label is None:
            return np.where(np.arange(above.size) <= arm, above, np.inf)
        # The arm played covers the label, whatever its place says: an imperfect world does not break the weights.
        first = min(self._arm_at(label), arm)
        above[first:] = above[first]
        return above

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        covers = np.zeros(self.menu.n_arms)
        if self._heard is not None:
            covers[min(self._arm_at(self._heard), arm) :] = 1.0
        losses = loss(covers, 1.0 - self.target) + self._penalties
        self._logs -= self._rate * losses / self.seen(self._note, arm, self._heard)
        self._logs -= self._logs.max()
