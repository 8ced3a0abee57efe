"""Knots: where the hat functions of a number peak, and how learned weights are converted when the knots move."""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from suffice.context.encode import CATEGORY, hat_basis
from suffice.kernels.rows import Floats, Ints

ENDS: Final = 0.02  # the rank of the outermost knots: outliers must not stretch the last hat over all other values
MOST_KNOTS: Final = (12, 9, 5, 5, 3)  # per number, with one, two, ... numbers in a context
FEW_KNOTS: Final = 5
FURTHEST: Final = 1e100  # differences between knots beyond this could overflow


class Layout(NamedTuple):
    """Where the features of each field lie, as the arrays that `context.encode.activate` takes."""

    kinds: Ints
    first: Ints
    counts: Ints
    starts: Ints
    knots: Floats

    @property
    def width(self) -> int:
        """The number of features: the intercept, and per field its knots or categories and its flag."""
        return 1 + len(self.kinds) + int(self.counts.sum())


@dataclass(frozen=True, slots=True, eq=False)
class WeightMap:
    """How weights for the old features become weights for the new ones.

    `matrix` (new width x old width) keeps the function that the weights stand for: a new knot gets the value that the old
    hats had there. `fresh` is the share of the prior variance that each new weight lacks: 1 for a new feature, 0 for an
    unchanged one, in between for a mean of old weights.
    """

    matrix: Floats
    fresh: Floats


def knots_for(numbers: int, observed: int) -> int:
    """How many knots each of so many numbers has after so many contexts.

    More numbers get fewer knots each, and each doubling of the contexts adds a knot: a curve is learned coarsely first.
    """
    most = MOST_KNOTS[min(numbers, len(MOST_KNOTS)) - 1] if numbers else 0
    return min(most, FEW_KNOTS + max(0, observed.bit_length() - 7))


def quantiles(values: Floats, count: int) -> list[float]:
    """So many knots, equally spaced in rank among the values that are not NaN; fewer if there are fewer distinct values.

    A value so common that several knots would fall on it gets one; the other knots are spread over the other values.

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
        if len(distinct) <= left:
            return sorted({*knots, *distinct.tolist()})
        common = distinct[often * left > rest.size]
        if common.size == 0:
            spread = np.quantile(rest, np.linspace(ENDS, 1.0 - ENDS, left) if left > 1 else [0.5])
            return sorted({*knots, *spread.tolist()})
        knots += common.tolist()
        rest = rest[~np.isin(rest, common)]


def build_layout(kinds: tuple[int, ...], n_categories: list[int], knots: list[list[float]]) -> Layout:
    """The layout for fields of these kinds, with so many categories that have a feature, and these knots."""
    lengths = np.array([len(places) for places in knots], dtype=np.int64)
    counts = lengths + np.array(n_categories, dtype=np.int64)
    return Layout(
        np.array(kinds, dtype=np.int64),
        np.cumsum(counts + 1) - counts,  # a field ends with its flag; the intercept is feature 0
        counts,
        np.cumsum(lengths) - lengths,
        np.array([knot for places in knots for knot in places], dtype=np.float64),
    )


def weight_map(before: Layout, after: Layout) -> WeightMap:
    """How weights for one layout become weights for another with the same fields."""
    matrix = np.zeros((after.width, before.width))
    matrix[0, 0] = 1.0
    for field, kind in enumerate(after.kinds):
        old, new = int(before.first[field]), int(after.first[field])
        old_count, new_count = int(before.counts[field]), int(after.counts[field])
        matrix[new + new_count, old + old_count] = 1.0  # the flag
        if kind == CATEGORY:
            matrix[range(new, new + old_count), range(old, old + old_count)] = 1.0
        elif old_count:
            for place in range(new_count):
                knot = float(after.knots[after.starts[field] + place])
                left, share = hat_basis(before.knots, int(before.starts[field]), old_count, knot)
                matrix[new + place, old + left] = 1.0 - share
                if share > 0.0:
                    matrix[new + place, old + left + 1] = share
    return WeightMap(matrix, np.maximum(1.0 - (matrix * matrix).sum(axis=1), 0.0))
