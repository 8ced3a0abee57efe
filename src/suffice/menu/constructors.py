"""The options of menus that constructors of `Menu` build: points of a grid, priced subsets."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from suffice.errors import InvalidArgument, quoted
from suffice.menu.options import check_number, key
from suffice.numbers import as_fraction, positive, positive_int

MOST_SUBSETS: Final = 1 << 16

Subset = tuple[str, ...]


def grid_points(axes: dict[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """All points of a grid, the least permissive first. Lists the values of each axis once, in place."""
    if not axes:
        raise InvalidArgument("grid must be given at least one axis, such as distance=[1, 5, 50]")
    for name, values in axes.items():
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise InvalidArgument(f"{name} must list its values from least to most permissive, got {quoted(values)}")
        axes[name] = listed = list(values)
        if not listed or len({key(value, name) for value in listed}) != len(listed):
            raise InvalidArgument(f"{name} must list at least one value and none twice, got {quoted(listed)}")
    check_number(math.prod(len(values) for values in axes.values()))
    return [dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values())]


def priced_subsets(
    prices: Mapping[str, float | Fraction], safe: object, safe_cost: float | None, at_most: int | None
) -> tuple[object, float, dict[Subset, float]]:
    """The safe option, its cost, and the cost of each subset that costs no more. Sums are exact until they are rounded."""
    exact = _exact(prices)
    if (safe is None) != (safe_cost is None):
        raise InvalidArgument("safe and safe_cost must be given together, or both left out")
    names = tuple(exact)
    most = len(names) if at_most is None else min(positive_int("at_most", at_most), len(names))
    if sum(math.comb(len(names), size) for size in range(1, most + 1)) > MOST_SUBSETS:
        raise InvalidArgument(
            f"prices must make at most {MOST_SUBSETS:,} subsets, got {len(names)} items: set at_most, "
            "or list the subsets that matter with Menu({subset: cost, ...}, safe=...)"
        )
    subsets = [subset for size in range(1, most + 1) for subset in itertools.combinations(names, size)]
    costs = {subset: sum((exact[name] for name in subset), Fraction(0)) for subset in subsets}
    if safe is None:
        safe, top = names, sum(exact.values(), Fraction(0))
        if not top:
            raise InvalidArgument(f"prices must not all be 0, got {quoted(prices)}")
        costs.pop(names, None)
    else:
        top = positive("safe_cost", safe_cost)
    return safe, float(top), {subset: float(cost) for subset, cost in costs.items() if cost <= top}


def _exact(prices: object) -> dict[str, Fraction]:
    if not isinstance(prices, Mapping) or not prices:
        raise InvalidArgument(f"prices must map at least one name to its price, got {quoted(prices)}")
    exact = {name: as_fraction(f"prices[{name!r}]", price) for name, price in prices.items()}
    for name, price in exact.items():
        if price < 0:
            raise InvalidArgument(f"prices[{name!r}] must be at least 0, got {quoted(prices[name])}")
    return exact
