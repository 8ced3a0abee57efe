"""From a row of numbers to the few features that are not 0: hats between knots, categories and flags.

The features are 1 (the intercept), and then per field its hats (of a number) or its categories, and after them a flag for a
value that is missing or of no category that has a feature. A hat is 1 at its knot, 0 at the knots beside it and straight
between; beyond the outermost knots the last hat stays 1. So a weighted sum of hats is the straight line through the weights.

Layout, an entry per field: its kind, the index of its first feature, the count of its hats or categories, and where its
knots start in the flat sequence of all knots.
"""

from typing import Any

NUMBER, CATEGORY, UNDECIDED = range(3)  # undecided: the value was missing so far


def hat_basis(knots: Any, start: int, count: int, value: float) -> tuple[int, float]:
    """The knot at or to the left of a value, by its place among the `count` from `start` on, and the next hat's share.

    >>> hat_basis([0.0, 10.0, 20.0], 0, 3, 12.5), hat_basis([0.0, 10.0, 20.0], 0, 3, 99.0)
    ((1, 0.25), (2, 0.0))
    """
    if value <= knots[start]:
        return 0, 0.0
    for place in range(count - 1):
        left, right = knots[start + place], knots[start + place + 1]
        if value < right:
            return place, (value - left) / (right - left)
    return count - 1, 0.0


def activate(row: Any, kinds: Any, first: Any, counts: Any, starts: Any, knots: Any, indices: Any, values: Any) -> int:
    """Write the indices of the features that are not 0, and their values; how many there are: at most 1 + 2 per field."""
    indices[0], values[0] = 0, 1.0
    used = 1
    for field in range(len(kinds)):
        value, begin, inside = row[field], first[field], counts[field]
        if kinds[field] == CATEGORY:
            # A comparison with NaN is false, so what is missing goes to the flag.
            indices[used] = begin + int(value) - 1 if 1.0 <= value <= inside else begin + inside
            values[used] = 1.0
            used += 1
        elif value != value:
            indices[used], values[used] = begin + inside, 1.0
            used += 1
        elif inside > 0:
            place, share = hat_basis(knots, starts[field], inside, value)
            indices[used], values[used] = begin + place, 1.0 - share
            used += 1
            if share > 0.0:
                indices[used], values[used] = begin + place + 1, share
                used += 1
    return used
