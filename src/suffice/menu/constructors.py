"""The options of menus that constructors of `Menu` build, points of a grid and priced subsets; and known costs, checked."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.kernels.rows import Floats, float_array
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


def without_safe(
    options: list[Any], costs: Sequence[float] | Floats | None, safe: object, safe_cost: float | None
) -> tuple[list[Any], Sequence[float] | Floats | None, float]:
    """The options and the costs without the safe option, which may be among them, and what it costs."""
    own = key(safe, "safe")
    # Tuples, of which there may be many thousands, are compared as they are.
    places = [
        place for place, option in enumerate(options)
        if (option == safe if type(option) is type(safe) is tuple else key(option, "options") == own)
    ]  # fmt: skip
    if places:
        if len(places) > 1:
            raise InvalidArgument(f"options must differ, got {quoted(safe)} twice")
        if costs is not None and len(costs) == len(options):
            known = costs[places[0]]
            if safe_cost is not None and known != safe_cost:
                raise InvalidArgument(
                    f"safe_cost must be left out, or be what the options say, {quoted(known)}, got {quoted(safe_cost)}"
                )
            safe_cost = known
            costs = [cost for place, cost in enumerate(costs) if place != places[0]]
        options = [option for place, option in enumerate(options) if place != places[0]]
    if safe_cost is None:
        raise InvalidArgument(
            f"safe_cost must be given, what the safe option {quoted(safe)} costs: list it among the options with its cost, or "
            "pass safe_cost="
        )
    return options, costs, safe_cost


def known_costs(source: str, costs: object, options: Sequence[object], safe_cost: float) -> Floats:
    """The known costs of the options as numbers. `source` is the argument that holds them."""
    known = float_array(source, costs, "hold a number for the cost of each option")
    if known.shape != (len(options),):
        raise InvalidArgument(f"costs must hold one number per option, {len(options)}, got {known.shape}")
    wrong = np.flatnonzero(~((known >= 0.0) & (known <= safe_cost)))
    if wrong.size:
        cost, option = float(known[wrong[0]]), options[wrong[0]]
        hint = ": the safe option must be the dearest, or nothing would ever call for another" if cost >= 0.0 else ""
        raise InvalidArgument(
            f"{source} must {'lie' if source == 'costs' else 'cost'} between 0 and {safe_cost:g}, what the safe "
            f"option costs, got {quoted(cost)} for option {quoted(option)}{hint}"
        )
    known.flags.writeable = False
    return known
