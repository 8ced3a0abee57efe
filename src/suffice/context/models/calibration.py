"""Calibration: making a classifier's probabilities honest, from what came of those that it gave before."""

import math
from typing import Final

FURTHEST: Final = 12.0  # log odds beyond it are those of a classifier that counts itself certain, and no use
PRIOR: Final = 4.0  # how much evidence stands for taking the probabilities as they are
KEEP: Final = 1.0 - 1.0 / 1000.0  # the classifier learns, too, so what it was like long ago is forgotten
STEEPEST: Final = 16.0


class Calibration:
    """Two numbers, by Newton's step after each outcome: log odds = slope * (the log odds given) + shift.

    The slope is below 1 for a classifier that is too sure of itself, and 0 for one whose probabilities say nothing.

    >>> calibration = Calibration()
    >>> for turn in range(200):
    ...     calibration.update(0.99, turn % 4 != 0)
    >>> round(calibration.apply(0.99), 2)
    0.75
    """

    __slots__ = ("_cross", "_slopes", "_weights", "shift", "slope")

    def __init__(self) -> None:
        self.slope, self.shift = 1.0, 0.0
        self._slopes = self._cross = self._weights = 0.0  # the curvature of the log loss

    def apply(self, probability: float) -> float:
        """The probability to go by."""
        return logistic(self.slope * log_odds(probability) + self.shift)

    def update(self, probability: float, success: float) -> None:
        """Learn from an outcome, and the probability that was given before it was known."""
        given = log_odds(probability)
        expected = logistic(self.slope * given + self.shift)
        weight, miss = expected * (1.0 - expected), success - expected
        self._slopes = KEEP * self._slopes + weight * given * given
        self._cross = KEEP * self._cross + weight * given
        self._weights = KEEP * self._weights + weight
        slopes, weights = PRIOR + self._slopes, PRIOR + self._weights
        size = slopes * weights - self._cross * self._cross  # at least PRIOR², by Cauchy and Schwarz
        step = miss * (weights * given - self._cross) / size
        slope = min(max(self.slope + step, 0.0), STEEPEST)  # a higher probability never becomes a lower one
        # The best shift for this slope, which at either end of the range is not the one of the whole step.
        shift = self.shift + (miss - self._cross * (slope - self.slope)) / weights
        self.slope, self.shift = slope, min(max(shift, -FURTHEST), FURTHEST)


def log_odds(probability: float) -> float:
    """ln(p / (1 − p)), cut where it would be no use.

    >>> log_odds(0.5), log_odds(1.0)
    (0.0, 12.0)
    """
    if not 0.0 < probability < 1.0:
        return FURTHEST if probability >= 1.0 else -FURTHEST
    return min(max(math.log(probability) - math.log1p(-probability), -FURTHEST), FURTHEST)


def logistic(odds: float) -> float:
    """The probability with these log odds."""
    small = math.exp(-abs(odds))
    return (1.0 if odds >= 0.0 else small) / (1.0 + small)
