"""The shortest interval that held enough of the past points, for those who are shown every point."""

import math

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.lab.rivals.base import LABEL, Rival, Target
from suffice.menu.menu import Menu
from suffice.numbers import positive_int


class ShortestInterval(Rival):
    """The shortest interval of the menu that held at least target + sqrt(ln T/t) of the t points so far.

    In the manner of Srinivas 2025, whose algorithm was not read. The whole range as long as no interval does.

    Args:
        menu: a menu of intervals.
        target: the success rate to hold.
        horizon: how many steps there will be, T.

    >>> rival = ShortestInterval(Menu.intervals(step=0.25), 0.5, horizon=100)
    >>> for _ in range(20):
    ...     decision = rival.ask()
    ...     rival.hear(0.6)
    ...     rival.tell(decision, success=decision.option[0] <= 0.6 <= decision.option[1])
    >>> rival.ask().option
    (0.5, 0.75)
    """

    name = "shortest interval"
    source = "in the manner of Srinivas 2025"
    read = "a description of the aim; the algorithm was not read"
    feedback = LABEL
    guarantee = "stochastic, for exchangeable points; none on a path"

    def __init__(self, menu: Menu, target: Target, horizon: int) -> None:
        super().__init__(menu, target)
        if menu.kind != "intervals":
            raise InvalidArgument(f"menu must be a menu of intervals, got {quoted(menu)}")
        self._log = math.log(positive_int("horizon", horizon))
        ends = np.array([*menu.options, menu.safe], dtype=np.float64)
        self._low, self._high = ends[:, 0], ends[:, 1]
        self._held = np.zeros(len(ends), dtype=np.int64)
        # By length and then by place, so that the first that holds enough is the shortest.
        self._order = np.lexsort((self._low, np.round(self._high - self._low, 12)))

    def _choose(self) -> int:
        if self.outcomes == 0:
            return self.menu.n_arms - 1
        enough = self.target * self.outcomes + math.sqrt(self._log * self.outcomes)
        places = np.flatnonzero(self._held[self._order] >= enough)
        place = int(self._order[places[0]]) if places.size else len(self._held) - 1
        return place + int(self.menu.has_skip)

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        self._held += (self._low <= self._heard) & (self._heard <= self._high)
