"""Needs: each request needs a threshold, and every threshold from there on succeeds (the paper's scalar setting)."""

from fractions import Fraction

import numpy as np

from suffice.lab.streams.base import ByWindows, Floats, Windows, clipped
from suffice.lab.streams.shapes import Beta, Gap, Shape
from suffice.menu.menu import Menu
from suffice.numbers import as_fraction


class RequiredThreshold(ByWindows):
    """Independent needs between `low`, which never suffices, and `high`, which always does; costs grow evenly to 1.

    Args:
        low, high: the ends of the range.
        step: the width of the menu's grid.
        distribution: of needs, a `Shape` on [0, 1] that is stretched over the range; Beta(2, 5) if left out.

    >>> stream = RequiredThreshold(low=0, high=20, step=1)
    >>> stream.threshold_outcome(latent=6.5, value=7.0)
    (1.0, 0.35)
    """

    name = "needs"
    description = "a threshold succeeds where it is at least what the request needs (the paper's)"
    linear = True  # costs are: a compiled run of `ThresholdSelector` asks for this

    def __init__(
        self, low: float = 0.0, high: float = 1.0, step: float = 0.05, *, distribution: Shape | None = None
    ) -> None:
        self.low, self.high = float(as_fraction("low", low)), float(as_fraction("high", high))
        self.shape: Shape = Beta() if distribution is None else distribution
        bare = Menu.thresholds(low, high, step=step, skip=True, safe_cost=1.0)  # its errors come first
        costs = np.array([self._cost(threshold) for threshold in (*bare.options, self.high)])
        self.menu = Menu.thresholds(low, high, step=step, costs=costs[:-1].tolist(), safe_cost=costs[-1], skip=True)
        # The low end fails even a request that needs nothing at all, and the high end fails none.
        tops = np.array([-np.inf, *self.menu.options, np.inf])
        bottoms = np.full(self.menu.n_arms, -np.inf)
        bottoms[0] = np.inf
        self._windows = Windows(bottoms, tops, np.append(0.0, costs))

    @classmethod
    def from_settings(cls, *, a: float = 2.0, b: float = 5.0, step: float = 0.05) -> "RequiredThreshold":
        """Beta(a, b) needs."""
        return cls(step=step, distribution=Beta(a, b))

    @classmethod
    def flat(
        cls, target: float | Fraction = 0.8, *, bottom: float = 0.4, top: float = 0.8, step: float = 0.05
    ) -> "RequiredThreshold":
        """The paper's counterexample to a controller without costs: no need lies between `bottom` and `top`.

        All thresholds there succeed exactly as often as `target` asks, so that outcomes do not push the threshold
        anywhere, while its cost keeps rising. The best is `bottom`; the controller drifts to `top`.

        >>> success, cost = RequiredThreshold.flat(0.8, bottom=0.4, top=0.8, step=0.2).truth()
        >>> success.round(6).tolist(), cost.round(6).tolist()
        ([0.0, 0.4, 0.8, 0.8, 0.8, 1.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
        """
        return cls(step=step, distribution=Gap(target, bottom, top))

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Floats:
        """One need per step."""
        return self.low + (self.high - self.low) * self.shape.draw(rng, count)

    def threshold_outcome(self, latent: float, value: float) -> tuple[float, float]:
        """The success and the cost of any threshold, on the grid or not: for a controller of one number."""
        if value <= self.low:
            return 0.0, 0.0
        if value >= self.high:
            return 1.0, self.menu.safe_cost
        return float(value >= latent), self._cost(float(value))

    def truth(self) -> tuple[Floats, Floats]:
        """The exact success probability and cost of every arm."""
        places = (np.array(self.menu.options, dtype=np.float64) - self.low) / (self.high - self.low)
        return np.concatenate([[0.0], clipped(self.shape.at_most(places)), [1.0]]), self._windows.costs.copy()

    def _cost(self, threshold: float) -> float:
        return (threshold - self.low) / (self.high - self.low)
