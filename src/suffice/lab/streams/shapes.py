"""Shapes: distributions on [0, 1] that points and required thresholds are drawn from, with exact probabilities."""

import math
from fractions import Fraction
from typing import Final, Protocol

import numpy as np

from suffice.errors import InvalidArgument
from suffice.kernels.rows import Floats
from suffice.numbers import as_fraction, positive, rate

MOST_TERMS: Final = 1000  # beyond it the binomial coefficients of the closed form leave the range of doubles


class Shape(Protocol):
    """A distribution on [0, 1] in which no point has a mass of its own."""

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """So many independent draws."""
        ...

    def at_most(self, ends: Floats) -> Floats:
        """P(Y <= end) for each end."""
        ...


class Beta:
    """Beta(a, b). For whole a and b probabilities are a finite sum; for others, and for a + b > 1001, they need SciPy.

    >>> Beta(2, 5).at_most(np.array([0.1, 0.5])).round(6).tolist()
    [0.114265, 0.890625]
    """

    def __init__(self, a: float = 2, b: float = 5) -> None:
        self.a, self.b = (float(positive(name, value)) for name, value in (("a", a), ("b", b)))
        terms = self.a + self.b - 1
        self.whole = self.a.is_integer() and self.b.is_integer() and terms <= MOST_TERMS

    def __repr__(self) -> str:
        return f"Beta({self.a:g}, {self.b:g})"

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        return rng.beta(self.a, self.b, count)

    def at_most(self, ends: Floats) -> Floats:
        x = np.clip(ends, 0.0, 1.0)
        if self.whole:
            # Y <= x where at least a of a + b - 1 uniform points lie below x.
            a, points = int(self.a), int(self.a + self.b - 1)
            terms = (math.comb(points, j) * x**j * (1.0 - x) ** (points - j) for j in range(a, points + 1))
            return np.minimum(sum(terms, np.zeros_like(x)), 1.0)
        try:
            from scipy.special import betainc
        except ImportError:
            raise InvalidArgument(
                f"a and b must be whole numbers with a sum of at most {MOST_TERMS + 1} where SciPy is not installed, "
                f"got {self.a:g} and {self.b:g}"
            ) from None
        return np.asarray(betainc(self.a, self.b, x), dtype=np.float64)


class Gap:
    """A share of the mass evenly on (0, bottom], the rest evenly on (top, 1], and none between.

    >>> Gap(0.8, 0.4, 0.7).at_most(np.array([0.2, 0.4, 0.7, 1.0])).tolist()
    [0.4, 0.8, 0.8, 1.0]
    """

    def __init__(self, share: float | Fraction, bottom: float, top: float) -> None:
        self.share = float(rate("share", share))
        self.bottom, self.top = float(as_fraction("bottom", bottom)), float(as_fraction("top", top))
        if not 0.0 < self.bottom < self.top < 1.0:
            raise InvalidArgument(f"bottom and top must be increasing inside the range, got {bottom!r} and {top!r}")

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        lower, place = rng.random(count) < self.share, 1.0 - rng.random(count)
        return np.where(lower, self.bottom * place, self.top + (1.0 - self.top) * place)

    def at_most(self, ends: Floats) -> Floats:
        return np.interp(ends, [0.0, self.bottom, self.top, 1.0], [0.0, self.share, self.share, 1.0])
