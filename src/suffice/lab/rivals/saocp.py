"""Strongly adaptive online conformal prediction: experts that live for a while, so that one of them is always young."""

import math

import numpy as np

from suffice.lab.rivals.base import LABEL, PRIMARY, Target
from suffice.lab.rivals.threshold_rival import Chained
from suffice.lab.rivals.weights import Floats
from suffice.menu.menu import Menu
from suffice.numbers import positive_int


class SAOCP(Chained):
    """In every step t an expert is born, which lives for lifetime·2^k steps, 2^k the largest power of two that divides t.

    Bhatnagar, Wang, Xiong & Bai 2023, by their code. The score of a step is the least option that covers its label. An
    expert is a `ScaleFreeOGD` on the scores, born where the threshold stands; the threshold is the mean of the living
    ones. Their weights are a coin bettor's (Jun, Orabona, Wright & Willett 2017): with r the expert's gain over the mean
    in pinball loss, in units of its largest slope and the range, cut to [−1, 1] and to [0, 1] where its bet is not above
    0, the bet is Σr/age·(1 + Σ r·bet), and its weight max(bet, 0)/(t²(1 + ⌊log₂ t⌋)), t the step of its birth.

    About four experts per doubling of time are alive. As in the other methods here the state of an expert is never
    clipped, which their code does at 0; and a score that the threshold just meets is covered. Their code lets an expert
    live for a step more. A mean that lies between two options is rounded up: on a coarse menu it succeeds too often.

    Args:
        menu: a chain whose options are growing numbers.
        target: the success rate to hold.
        lifetime: how many steps the shortest-lived experts live.

    >>> rival = SAOCP(Menu.top_k([1, 5], classes=10), 0.75)
    >>> for rank in (1, 4, 1):
    ...     decision = rival.ask()
    ...     rival.hear(rank)
    ...     rival.tell(decision, success=rank <= decision.option)
    >>> round(rival.threshold, 3), rival.born.tolist()
    (7.963, [1, 2, 3, 4])
    """

    name = "SAOCP"
    source = "Bhatnagar, Wang, Xiong & Bai 2023"
    read = PRIMARY
    feedback = LABEL
    guarantee = "regret of the pinball loss on every stretch of time; its bound on coverage was not read"

    def __init__(self, menu: Menu, target: Target, *, lifetime: int = 8) -> None:
        super().__init__(menu, target)
        self._need_numbers()
        self._lifetime = positive_int("lifetime", lifetime)
        self.born = np.zeros(0, dtype=np.int64)
        self.thresholds = np.zeros(0)
        self._squares = np.zeros(0)  # of each expert's slopes
        self._gains = np.zeros(0)  # Σ r
        self._winnings = np.zeros(0)  # Σ r·bet
        self._step = 1
        self._bear(self.high)

    @property
    def bets(self) -> Floats:
        """What each expert stakes on being better than the mean; a newborn nothing."""
        return self._gains / np.maximum(self._step - self.born, 1) * (1.0 + self._winnings)

    @property
    def weights(self) -> Floats:
        """Of the experts."""
        prior = 1.0 / (self.born.astype(np.float64) ** 2 * (1.0 + np.floor(np.log2(self.born))))
        weights = prior * np.maximum(self.bets, 0.0)
        total = float(weights.sum())
        return weights / total if total > 0.0 else prior / prior.sum()

    @property
    def threshold(self) -> float:  # type: ignore[override]
        """The mean of the experts' thresholds, from which the option follows."""
        return float(self.weights @ self.thresholds)

    def _bear(self, start: float) -> None:
        """The next step's expert is born, and those whose time is over are gone."""
        lifetimes = self._lifetime * (self.born & -self.born)
        living = self._step - self.born < lifetimes
        self.born = np.append(self.born[living], self._step)
        self.thresholds = np.append(self.thresholds[living], start)
        self._squares, self._gains, self._winnings = (
            np.append(part[living], 0.0) for part in (self._squares, self._gains, self._winnings)
        )

    def _choose(self) -> int:
        return self._arm_at(self.threshold - 1e-9 * self.width)  # a mean of equal numbers may be a bit above them

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        needed, bets = self._needed(), self.bets
        missed = needed > self.thresholds
        losses, mean = self._pinball(needed - self.thresholds), self._pinball(np.array(needed - self.threshold))
        gains = (mean - losses) / (self.width * max(self._failure_share, 1.0 - self._failure_share))
        gains[np.abs(gains) < 1e-12] = 0.0  # where nobody bets yet, the least rounding error would take all weight
        gains = np.clip(gains, np.where(bets > 0.0, -1.0, 0.0), 1.0)
        self._gains += gains
        self._winnings += gains * bets
        self._step += 1
        slopes = self._failure_share - missed
        self._squares += slopes**2
        self.thresholds -= self.width / math.sqrt(3.0) * slopes / np.sqrt(self._squares)
        self._bear(self.threshold)

    def _pinball(self, short: Floats) -> Floats:
        """The loss of a threshold that falls short of the score by so much."""
        loss: Floats = np.maximum((1.0 - self._failure_share) * short, -self._failure_share * short)
        return loss
