"""Points on [0, 1]: an interval succeeds where it holds the point, and costs its length (the paper's intervals)."""

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.lab.streams.base import ByWindows, Floats, Windows, clipped
from suffice.lab.streams.shapes import Beta, Shape
from suffice.menu.menu import Menu


class UnitPoints(ByWindows):
    """Independent points from one distribution. The only feedback on a point is whether the interval held it.

    Args:
        menu: a menu of intervals; the paper's grid of 0.05 if left out.
        distribution: of points, a `Shape` on [0, 1]; Beta(2, 5) if left out.

    >>> import suffice
    >>> stream = UnitPoints()
    >>> round(suffice.optimum(*stream.truth(), target=0.8).cost, 5)
    0.39738
    """

    name = "beta"
    description = "points from Beta(a, b); an interval succeeds where it holds the point (the paper's)"

    def __init__(self, menu: Menu | None = None, distribution: Shape | None = None) -> None:
        self.menu = Menu.intervals(step=0.05, skip=True) if menu is None else menu
        if not isinstance(self.menu, Menu) or self.menu.kind != "intervals" or self.menu.costs is None:
            raise InvalidArgument(f"menu must be a menu of intervals, got {quoted(menu)}")
        self.shape: Shape = Beta() if distribution is None else distribution
        ends = np.array([*self.menu.options, self.menu.safe], dtype=np.float64)
        low, high = ends[:, 0], ends[:, 1]
        costs = np.append(self.menu.costs, self.menu.safe_cost)
        if self.menu.has_skip:
            low, high, costs = np.append(2.0, low), np.append(-1.0, high), np.append(0.0, costs)  # holds no point
        self._windows = Windows(np.ascontiguousarray(low), np.ascontiguousarray(high), costs)

    @classmethod
    def from_settings(cls, *, a: float = 2.0, b: float = 5.0, step: float = 0.05) -> "UnitPoints":
        """Beta(a, b) points and intervals on a grid of this step."""
        return cls(Menu.intervals(step=step, skip=True), Beta(a, b))

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Floats:
        """One point per step."""
        return self.shape.draw(rng, count)

    def truth(self) -> tuple[Floats, Floats]:
        """The exact success probability and cost of every arm."""
        inner = self.menu.interior
        success = np.zeros(self.menu.n_arms)
        # Half a million intervals share a thousand ends: the probabilities are computed once per end.
        low, first = np.unique(self._windows.low[inner], return_inverse=True)
        high, last = np.unique(self._windows.high[inner], return_inverse=True)
        success[inner] = clipped(self.shape.at_most(high)[last] - self.shape.at_most(low)[first])
        success[-1] = 1.0
        return success, self._windows.costs.copy()
