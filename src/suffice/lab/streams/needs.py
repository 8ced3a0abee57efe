"""Needs: each request needs a threshold, and one succeeds where it is at least that (the paper's scalar setting)."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.lab.streams.base import Floats, Windows
from suffice.lab.streams.compiled_forms import ByWindows, shares
from suffice.lab.streams.shapes import Beta, Gap, Shape, shape_of
from suffice.menu.menu import Menu
from suffice.numbers import as_fraction, flag


class RequiredThreshold(ByWindows):
    """Independent needs between `low`, which never suffices, and `high`, which always does.

    Args:
        low, high: the ends of the range.
        step: the width of the menu's grid.
        distribution: where needs come from, on [0, 1] and then stretched over the range: a `Shape` or a frozen
            distribution of scipy.stats; Beta(2, 5) if left out.
        cost: the cost of a threshold, which must not fall and must reach above 0 at `high`. Left out, it grows evenly
            from 0 to 1.

    >>> stream = RequiredThreshold(low=0, high=20, step=1)
    >>> stream.judge_value(latent=6.5, value=7.0)
    (1.0, 0.35)
    """

    name = "needs"
    about = "a threshold succeeds where it is at least what the request needs (the paper's)"

    def __init__(
        self,
        low: float = 0.0,
        high: float = 1.0,
        step: float = 0.05,
        *,
        distribution: Shape | Any = None,
        cost: Callable[[float], float] | None = None,
    ) -> None:
        self.low, self.high = float(as_fraction("low", low)), float(as_fraction("high", high))
        if cost is not None and not callable(cost):
            raise InvalidArgument(f"cost must be a function of the threshold, got {quoted(cost)}")
        self.cost = self._even if cost is None else cost
        self.linear = cost is None  # then a threshold's run on it is compiled
        self.shape = Beta() if distribution is None else shape_of(distribution)
        bare = Menu.thresholds(low, high, step=step)  # its errors come first
        costs = np.array([self._checked(threshold) for threshold in (*bare.options, self.high)])
        if (np.diff(costs) < 0).any():
            place = int(np.flatnonzero(np.diff(costs) < 0)[0]) + 1
            raise InvalidArgument(f"cost must not fall, got {costs[place]:g} after {costs[place - 1]:g}")
        self.menu = Menu.thresholds(low, high, step=step, costs=costs[:-1].tolist(), safe_cost=costs[-1])
        # The low end fails even a request that needs nothing at all, and the high end fails none.
        tops = np.array([-np.inf, *self.menu.options, np.inf])
        bottoms = np.full(self.menu.n_arms, -np.inf)
        bottoms[0] = np.inf
        self._windows = Windows(bottoms, tops, np.append(0.0, costs))

    @classmethod
    def named(
        cls,
        *,
        a: float = 2.0,
        b: float = 5.0,
        low: float = 0.0,
        high: float = 1.0,
        step: float = 0.05,
        flat: bool = False,
    ) -> "RequiredThreshold":
        """Beta(a, b) needs; or with `flat` the counterexample, which leaves a and b aside."""
        if flag("flat", flat):
            width = as_fraction("high", high) - as_fraction("low", low)
            bottom, top = (float(as_fraction("low", low) + width * Fraction(share, 10)) for share in (4, 8))
            return cls.flat(bottom=bottom, top=top, low=low, high=high, step=step)
        return cls(low, high, step, distribution=Beta(a, b))

    @classmethod
    def flat(
        cls,
        target: float | Fraction = 0.8,
        *,
        bottom: float = 0.4,
        top: float = 0.8,
        low: float = 0.0,
        high: float = 1.0,
        step: float = 0.05,
    ) -> "RequiredThreshold":
        """The paper's counterexample to a controller that sees no costs: no need lies between `bottom` and `top`.

        All thresholds there succeed exactly as often as `target` asks, so that outcomes do not push the threshold
        anywhere, while its cost keeps rising. The best is `bottom`; the controller drifts to `top`.

        >>> success, cost = RequiredThreshold.flat(0.8, bottom=0.4, top=0.8, step=0.2).truth()
        >>> success.round(6).tolist(), cost.round(6).tolist()
        ([0.0, 0.4, 0.8, 0.8, 0.8, 1.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
        """
        start, end = as_fraction("low", low), as_fraction("high", high)
        if start >= end:
            raise InvalidArgument(f"low must be below high, got {quoted(low)} and {quoted(high)}")
        inner = [
            float((as_fraction(name, value) - start) / (end - start))
            for name, value in (("bottom", bottom), ("top", top))
        ]
        return cls(low, high, step, distribution=Gap(target, *inner))

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Floats:
        """One need per step."""
        return self.low + (self.high - self.low) * self.shape.draw(rng, count)

    def judge_value(self, latent: float, value: float) -> tuple[float, float]:
        """The success and the cost of any threshold, on the grid or not: for a controller of one number."""
        if value <= self.low:
            return 0.0, 0.0
        if value >= self.high:
            return 1.0, self.menu.safe_cost
        return float(value >= latent), float(self.cost(float(value)))

    def truth(self) -> tuple[Floats, Floats]:
        """The exact success probability and cost of every arm."""
        places = (np.array(self.menu.options, dtype=np.float64) - self.low) / (self.high - self.low)
        return np.concatenate([[0.0], shares(self.shape.at_most(places)), [1.0]]), self._windows.costs.copy()

    def _even(self, threshold: float) -> float:
        return (threshold - self.low) / (self.high - self.low)

    def _checked(self, threshold: float) -> float:
        number = as_fraction("cost", self.cost(threshold))
        if number < 0:
            raise InvalidArgument(f"cost must be at least 0, got {float(number):g} at threshold {threshold:g}")
        return float(number)
