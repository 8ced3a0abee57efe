"""Calibration: correcting a classifier's probabilities from the outcomes of earlier ones."""

import math
from typing import Final

FURTHEST: Final = 12.0  # log-odds are cut here; some classifiers report certainty
PRIOR: Final = 4.0  # the weight of the prior: probabilities as they are
KEEP: Final = 1.0 - 1.0 / 1000.0  # old outcomes are forgotten, because the classifier changes as it learns
STEEPEST: Final = 16.0


class Calibration:
    """Platt scaling, one Newton step per outcome: log-odds = slope * (the classifier's log-odds) + shift.

    The slope is below 1 for an overconfident classifier, and 0 for one whose probabilities carry no information.

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
        """The corrected probability."""
        return logistic(self.slope * log_odds(probability) + self.shift)

    def update(self, probability: float, success: float) -> None:
        """Learn from an outcome and the probability that the classifier gave before."""
        given = log_odds(probability)
        expected = logistic(self.slope * given + self.shift)
        weight, miss = expected * (1.0 - expected), success - expected
        self._slopes = KEEP * self._slopes + weight * given * given
        self._cross = KEEP * self._cross + weight * given
        self._weights = KEEP * self._weights + weight
        slopes, weights = PRIOR + self._slopes, PRIOR + self._weights
        size = slopes * weights - self._cross * self._cross  # at least PRIOR², by Cauchy and Schwarz
        step = miss * (weights * given - self._cross) / size
        slope = min(
            max(self.slope + step, 0.0), STEEPEST
        )  # the correction never reverses the order of two probabilities
        # The best shift for this slope: where the slope was cut, it differs from that of the full step.
        shift = self.shift + (miss - self._cross * (slope - self.slope)) / weights
        self.slope, self.shift = slope, min(max(shift, -FURTHEST), FURTHEST)


def log_odds(probability: float) -> float:
    """ln(p / (1 − p)), cut at ±FURTHEST.

    >>> log_odds(0.5), log_odds(1.0)
    (0.0, 12.0)
    """
    if not 0.0 < probability < 1.0:
        return FURTHEST if probability >= 1.0 else -FURTHEST
    return min(max(math.log(probability) - math.log1p(-probability), -FURTHEST), FURTHEST)


def logistic(odds: float) -> float:
    """The probability with these log-odds."""
    small = math.exp(-abs(odds))
    return (1.0 if odds >= 0.0 else small) / (1.0 + small)
