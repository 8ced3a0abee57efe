"""Semi-bandit prediction sets: a threshold that only ever tightens, where all is known of what it would still cover."""

import bisect
import math

from suffice.lab.rivals.base import LABEL_WHEN_COVERED, SUMMARY, Target
from suffice.lab.rivals.threshold_rival import Chained
from suffice.menu.menu import Menu
from suffice.numbers import positive_int


class SPS(Chained):
    """threshold ← min(threshold, the least q that misses at most (1 − target) − width of the labels recorded).

    In the manner of Ge, Bastani & Bastani 2025, with the scale turned round: their scores fall where labels rise. The
    width is sqrt(ln(2·horizon²)/(2t)). A label is recorded as the least option that covers it. One that was not covered
    is recorded as the option played, which is all that is known of it and all that is needed: every later threshold is
    no higher and would have missed it too. It starts at the safe option.

    Args:
        menu: a chain whose options are growing numbers.
        target: the success rate to hold in every single step.
        horizon: how many steps there will be.

    >>> rival = SPS(Menu.top_k([1, 5], classes=10), 0.5, horizon=100)
    >>> for rank in [1, 4] * 40:
    ...     decision = rival.ask()
    ...     if rank <= decision.option:
    ...         rival.hear(rank)
    ...     rival.tell(decision, success=rank <= decision.option)
    >>> rival.threshold, rival.ask().option
    (5.0, 5)
    """

    name = "SPS"
    source = "in the manner of Ge, Bastani & Bastani 2025"
    read = SUMMARY
    feedback = LABEL_WHEN_COVERED
    guarantee = "succeeds with at least the target's probability in every step, w.h.p., if independent"

    def __init__(self, menu: Menu, target: Target, horizon: int) -> None:
        super().__init__(menu, target)
        self._need_numbers()
        self._log = math.log(2.0 * float(positive_int("horizon", horizon)) ** 2)
        self._recorded: list[float] = []
        self.threshold = self.high

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        bisect.insort(self._recorded, self.places[arm] if self._heard is None else self._needed())
        count = len(self._recorded)
        allowed = math.floor(count * (self._failure_share - math.sqrt(self._log / (2.0 * count))))
        if 0 <= allowed < count:  # so many of the recorded labels may lie above the threshold
            self.threshold = min(self.threshold, self._recorded[count - 1 - allowed])
