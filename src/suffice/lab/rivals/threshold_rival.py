"""Rivals that move one number along a chain of options. What they have in common; no method of its own.

The state is a real number on the scale of the options, never clipped. The arm is the smallest option at or above it: at or
below the lowest option that one, which is the skip if there is one; beyond the last but one the safe option.
"""

import bisect
import itertools
from numbers import Real
from typing import Any

from suffice.errors import InvalidArgument, quoted
from suffice.lab.rivals.base import Rival
from suffice.menu.menu import Menu
from suffice.numbers import between


class Chained(Rival):
    """A rival on a menu of which each option succeeds whenever an earlier one does, and costs no less.

    Options that are growing numbers are their own scale; others stand at 0, 1, 2, ...
    """

    threshold: float  # the state, of those that play the option at it; kept, or computed from what is

    def __init__(self, menu: Menu, target: Any) -> None:
        super().__init__(menu, target)
        if menu.order != "chain" or menu.n_arms < 2:
            raise InvalidArgument(f"menu must be a chain of options, such as top_k or thresholds, got {quoted(menu)}")
        if menu.costs is not None and any(a > b for a, b in itertools.pairwise(menu.costs)):
            raise InvalidArgument(f"menu must be a chain whose costs do not fall, got {menu.costs.tolist()}")
        options = [menu.option(arm) for arm in range(menu.n_arms)]
        self._numbers = all(isinstance(option, Real) and not isinstance(option, bool) for option in options) and all(
            a < b for a, b in itertools.pairwise(options)
        )
        self.places: list[float] = [float(option) for option in options] if self._numbers else list(range(menu.n_arms))
        self.low, self.high = float(self.places[0]), float(self.places[-1])
        self.width = self.high - self.low

    def _choose(self) -> int:
        return self._arm_at(self.threshold)

    def _arm_at(self, value: float) -> int:
        """The smallest option at or above a value."""
        return min(bisect.bisect_left(self.places, value), self.menu.n_arms - 1)

    def _needed(self) -> float:
        """The least option that covers the label heard: the score of the step, on the menu's own grid."""
        return float(self.places[self._arm_at(self._heard)])

    def _inside(self, value: float) -> float:
        """What is handed out for a state."""
        return min(max(value, self.low), self.high)

    def _start(self, start: Any) -> float:
        """Where the state starts: as given, or at the highest option, which owes nothing."""
        return self.high if start is None else between("start", start, self.low, self.high)

    def _need_numbers(self) -> None:
        """Refuse a menu on which a label has no place."""
        if not self._numbers:
            raise InvalidArgument(
                f"menu must have growing numbers for options, as labels have, got {quoted(self.menu)}"
            )
