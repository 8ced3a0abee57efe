"""Past scores in order, and what rivals that are shown them have in common. No method of its own."""

import bisect
import math
from typing import Any

from suffice.lab.rivals.base import LABEL
from suffice.lab.rivals.threshold_rival import Chained
from suffice.menu.menu import Menu


class Scores:
    """What was needed in every step so far.

    >>> scores = Scores()
    >>> for score in (5.0, 1.0, 3.0, 3.0):
    ...     scores.add(score)
    >>> scores.quantile(0.5), scores.quantile(0.51), scores.rank(3.0)
    (3.0, 3.0, 0.75)
    """

    def __init__(self) -> None:
        self.ordered: list[float] = []

    def __len__(self) -> int:
        return len(self.ordered)

    def add(self, score: float) -> None:
        """One more."""
        bisect.insort(self.ordered, score)

    def quantile(self, share: float) -> float:
        """The least score that at least this share of all do not exceed; infinite beyond all, or where there is none."""
        place = math.ceil(share * len(self.ordered) - 1e-9)  # 0.8 of 35 is 28, though not in doubles
        if place > len(self.ordered) or not self.ordered:
            return math.inf
        return self.ordered[place - 1] if place > 0 else -math.inf

    def rank(self, score: float) -> float:
        """β: the share of scores that are at least this one. The quantile at 1 − α covers it iff α < β."""
        if not self.ordered:
            return 1.0
        return 1.0 - bisect.bisect_left(self.ordered, score) / len(self.ordered)


class Scored(Chained):
    """A rival that is shown the label of every step, and keeps the scores."""

    feedback = LABEL

    def __init__(self, menu: Menu, target: Any) -> None:
        super().__init__(menu, target)
        self._need_numbers()
        self._scores = Scores()

    def _arm_for(self, level: float) -> int:
        """The arm that is to miss this share of labels: by the scores' quantile; while there are none, the safe option."""
        if level <= 0.0 or not self._scores:
            return self.menu.n_arms - 1
        return 0 if level >= 1.0 else self._arm_at(self._scores.quantile(1.0 - level))
