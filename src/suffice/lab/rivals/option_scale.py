"""The options of a chain as places on a line, for rivals that move one threshold along it."""

import bisect
import itertools
from numbers import Real

from suffice.errors import InvalidArgument, quoted
from suffice.menu.menu import Menu


class OptionScale:
    """A menu of which each option succeeds whenever an earlier one does, and costs no less.

    Options that are growing numbers are their own places; others stand at 0, 1, 2, ...

    >>> scale = OptionScale(Menu.thresholds(0, 10, step=5, safe_cost=1, skip=True))
    >>> scale.arm_at(-3.0), scale.arm_at(5.0), scale.arm_at(5.1), scale.arm_at(99.0)
    (0, 1, 2, 2)
    """

    def __init__(self, menu: Menu) -> None:
        if menu.order != "chain" or menu.n_arms < 2:
            raise InvalidArgument(f"menu must be a chain of options, such as top_k or thresholds, got {quoted(menu)}")
        if menu.costs is not None and any(a > b for a, b in itertools.pairwise(menu.costs)):
            raise InvalidArgument(f"menu must be a chain whose costs do not fall, got {menu.costs.tolist()}")
        options = [menu.option(arm) for arm in range(menu.n_arms)]
        grows = all(isinstance(option, Real) and not isinstance(option, bool) for option in options) and all(
            a < b for a, b in itertools.pairwise(options)
        )
        self.places = [float(option) for option in options] if grows else [float(arm) for arm in range(menu.n_arms)]
        self.low, self.high = self.places[0], self.places[-1]
        self.width = self.high - self.low

    def arm_at(self, threshold: float) -> int:
        """The smallest option at or above a threshold; the safe option if there is none."""
        return min(bisect.bisect_left(self.places, threshold), len(self.places) - 1)
