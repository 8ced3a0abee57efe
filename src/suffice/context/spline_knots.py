"""Knots: where the hats of a number stand, and what becomes of learned weights when they move."""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from suffice.context.encode import CATEGORY, hat_basis
from suffice.kernels.rows import Floats, Ints

ENDS: Final = 0.02  # the rank of the outermost knots: a stray value must not stretch the last hat over all others
MOST_KNOTS: Final = (12, 9, 5, 5, 3)  # of each of one, two, ... numbers
FEW_KNOTS: Final = 5
FURTHEST: Final = 1e100  # the width of a hat between knots further out might be no double


class Layout(NamedTuple):
    """Where the features of each field lie, in the arrays that `context.encode.activate` takes."""

    kinds: Ints
    first: Ints
    counts: Ints
    starts: Ints
    knots: Floats

    @property
    def width(self) -> int:
        """How many features there are: the intercept, and per field its hats or categories and its flag."""
        return 1 + len(self.kinds) + int(self.counts.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """The vector has a new meaning.

    `matrix` (new width x old width) takes old weights to new ones that stand for the same function: at each new knot the
    value that the old hats had there. `fresh` is the share of its prior variance that each new weight lacks: 1 where it is
    wholly new, 0 where it is an old one, and between where it is a mean of old ones.
    """

    matrix: Floats
    fresh: Floats


def knots_for(numbers: int, noted: int) -> int:
    """How many knots each of so many numbers has after so many contexts: all their hats together should stay few.

    A curve is learned coarsely first; with every doubling of what is known it gets a knot more.
    """
    most = MOST_KNOTS[min(numbers, len(MOST_KNOTS)) - 1] if numbers else 0
    return min(most, FEW_KNOTS + max(0, noted.bit_length() - 7))


def quantiles(values: Floats, count: int) -> list[float]:
    """So many knots, equally spaced in rank among the values that are not NaN; fewer where fewer values differ.

    A value that is so common that several knots would fall on it has one, and the others are spread over the rest.

    >>> quantiles(np.array([1.0, 1.0, 1.0, 2.0, np.nan]), 3), quantiles(np.arange(101.0), 3)
    ([1.0, 2.0], [2.0, 50.0, 98.0])
    >>> [round(knot, 3) for knot in quantiles(np.array([0.9] * 50 + [0.1, 0.2, 0.3, 0.4, 0.5]), 4)]
    [0.108, 0.3, 0.492, 0.9]
    """
    rest = np.clip(values[~np.isnan(values)], -FURTHEST, FURTHEST)
    knots: list[float] = []
    while True:
        left = count - len(knots)
        distinct, often = np.unique(rest, return_counts=True)
        if len(distinct) <= left:  # each has a hat of its own
            return sorted({*knots, *distinct.tolist()})
        common = distinct[often * left > rest.size]
        if common.size == 0:
            spread = np.quantile(rest, np.linspace(ENDS, 1.0 - ENDS, left) if left > 1 else [0.5])
            return sorted({*knots, *spread.tolist()})
        knots += common.tolist()
        rest = rest[~np.isin(rest, common)]


def laid_out(kinds: tuple[int, ...], opened: list[int], knots: list[list[float]]) -> Layout:
    """The layout for fields of these kinds, with so many categories that have a feature, and these knots."""
    lengths = np.array([len(places) for places in knots], dtype=np.int64)
    counts = lengths + np.array(opened, dtype=np.int64)
    return Layout(
        np.array(kinds, dtype=np.int64),
        np.cumsum(counts + 1) - counts,  # each field ends with its flag, and the intercept comes before all
        counts,
        np.cumsum(lengths) - lengths,
        np.array([knot for places in knots for knot in places], dtype=np.float64),
    )


def change(before: Layout, after: Layout) -> Change:
    """How weights for one layout become weights for the next, which has the same fields."""
    matrix = np.zeros((after.width, before.width))
    matrix[0, 0] = 1.0
    for field, kind in enumerate(after.kinds):
        old, new = int(before.first[field]), int(after.first[field])
        had, has = int(before.counts[field]), int(after.counts[field])
        matrix[new + has, old + had] = 1.0  # the flag
        if kind == CATEGORY:
            matrix[range(new, new + had), range(old, old + had)] = 1.0
        elif had:
            for place in range(has):
                knot = float(after.knots[after.starts[field] + place])
                left, share = hat_basis(before.knots, int(before.starts[field]), had, knot)
                matrix[new + place, old + left] = 1.0 - share
                if share > 0.0:
                    matrix[new + place, old + left + 1] = share
    return Change(matrix, np.maximum(1.0 - (matrix * matrix).sum(axis=1), 0.0))
