"""From a row of numbers to the few features that are not 0: hat functions between knots, categories and flags.

Feature 0 is the intercept. Then each field has one feature per knot (a number) or per category, and after them one flag for
a value that is missing or of a category without a feature. A hat function is 1 at its knot, 0 at the neighbouring knots and
linear in between; beyond the outermost knots the last one stays 1. So a weighted sum of hats interpolates the weights.

A layout has an entry per field: its kind, the index of its first feature, its number of knots or categories, and where its
knots start in the flat sequence of all knots. Plain code passes lists, which it reads faster; compiled code passes arrays.
"""

from collections.abc import Sequence

from suffice.kernels.rows import Floats, Ints

NUMBER, CATEGORY, UNDECIDED = range(3)  # undecided: every value so far was missing


def hat_basis(knots: Sequence[float] | Floats, start: int, count: int, value: float) -> tuple[int, float]:
    """The knot at or left of a value, numbered from `start` on, and the weight of the next knot's hat.

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


def activate(
    row: Sequence[float] | Floats, kinds: Sequence[int] | Ints, first: Sequence[int] | Ints,
    counts: Sequence[int] | Ints, starts: Sequence[int] | Ints, knots: Sequence[float] | Floats, indices: Ints,
    values: Floats,
) -> int:  # fmt: skip
    """Write the indices and values of the features that are not 0; return how many: at most 1 + 2 per field."""
    indices[0], values[0] = 0, 1.0
    used = 1
    for field in range(len(kinds)):
        value, begin, count = row[field], first[field], counts[field]
        if kinds[field] == CATEGORY:
            # A comparison with NaN is false, so a missing value goes to the flag.
            indices[used] = begin + int(value) - 1 if 1.0 <= value <= count else begin + count
            values[used] = 1.0
            used += 1
        elif value != value:
            indices[used], values[used] = begin + count, 1.0
            used += 1
        elif count > 0:
            place, share = hat_basis(knots, starts[field], count, value)
            indices[used], values[used] = begin + place, 1.0 - share
            used += 1
            if share > 0.0:
                indices[used], values[used] = begin + place + 1, share
                used += 1
    return used
