"""Recipes of menus that come from outside: nothing in them is taken on trust."""

import re
from collections.abc import Hashable
from typing import Any, Final

from suffice.errors import shown
from suffice.options import key
from suffice.service.plans.values import DEEPEST, MOST_LISTED, MOST_WHOLE, check_scalar, is_number

KINDS: Final = ("options", "top_k", "thresholds", "grid", "intervals", "subsets")
COMMON: Final = frozenset(("kind", "nothing", "everything_success"))
LISTED: Final = COMMON | {"options", "costs", "max_cost", "contains"}
SPANS: Final = COMMON | {"cells"}

# Not whatever Fraction reads: of 1e999999999 it would make a number of a billion digits.
SHARE: Final = re.compile(r"[0-9]{1,50}(/[0-9]{1,50})?")


def check_recipe(recipe: dict[str, Any]) -> None:
    """Refuse, with a ValueError, what `Menu.from_recipe` could not read or what would not stay within its bounds."""
    kind = recipe.get("kind")
    if kind not in KINDS:
        raise ValueError(f"must have as kind one of {', '.join(KINDS)}, got {shown(kind)}")
    expected = SPANS if kind == "intervals" else LISTED
    if set(recipe) != expected:
        raise ValueError(f"must have the fields {', '.join(sorted(expected))}, got {_names(recipe)}")
    if not isinstance(recipe["nothing"], bool):
        raise ValueError(f"must have true or false as nothing, got {shown(recipe['nothing'])}")
    best = recipe["everything_success"]
    if not isinstance(best, str) or not SHARE.fullmatch(best) or not int(best.partition("/")[2] or 1):
        raise ValueError(f'must have a text such as "1" or "19/20" as everything_success, got {shown(best)}')
    if kind == "intervals":
        cells = recipe["cells"]
        if type(cells) is not int or not 1 <= cells <= MOST_WHOLE:
            raise ValueError(f"must have a whole number of at least 1 as cells, got {shown(cells)}")
        return
    _check_listed(recipe)


def _check_listed(recipe: dict[str, Any]) -> None:
    options, costs, most = recipe["options"], recipe["costs"], recipe["max_cost"]
    if not isinstance(options, list) or len(options) < 1 + recipe["nothing"]:
        raise ValueError("must have as options a list of nothing, if there is one, the options between, and everything")
    _check_length("options", len(options))
    _check_length("costs", len(costs) if isinstance(costs, list) else 0)
    for option in options:
        check_plain(option)
    if not _is_cost(most):
        raise ValueError(f"must have a number above 0 as max_cost, got {shown(most)}")
    if costs is not None and not (isinstance(costs, list) and all(map(_is_cost, costs))):
        raise ValueError("must have null or a list of numbers of at least 0 as costs")
    _check_order(recipe["contains"], options[int(recipe["nothing"]) : -1])


def _check_length(what: str, length: int) -> None:
    if length > MOST_LISTED:
        raise ValueError(f"must have at most {MOST_LISTED:,} {what}, got {length:,}")


def check_plain(option: Any, depth: int = DEEPEST) -> None:
    """Refuse what `suffice.options.plain` never writes."""
    if depth == 0:
        raise ValueError(f"must have options of at most {DEEPEST} lists and objects in each other")
    if isinstance(option, dict):
        tag, inside = next(iter(option.items()), ("", None))
        if len(option) == 1 and tag == "tuple" and isinstance(inside, list):
            option = inside
        elif len(option) == 1 and tag == "dict" and isinstance(inside, dict):
            for name in inside:
                check_scalar(name)
            option = list(inside.values())
        else:
            raise ValueError('must have objects among its options as {"tuple": [...]} or {"dict": {...}}')
    if not isinstance(option, list):
        check_scalar(option)
        return
    for item in option:
        check_plain(item, depth - 1)


def _check_order(contains: Any, inner: list[Any]) -> None:
    """The order must be one that speaks of these options."""
    if contains is None or contains == "chain":
        return
    if contains == "subsets":
        fits = all(_is_names(option) for option in inner)
    elif contains == "intervals":
        fits = all(_is_span(option) for option in inner)
    elif isinstance(contains, dict) and contains and all(isinstance(axis, list) for axis in contains.values()):
        axes = _read_axes(contains)
        fits = all(_is_point(option, axes) for option in inner)
    else:
        raise ValueError('must have null, "chain", "subsets", "intervals" or an object of axes as contains')
    if not fits:
        raise ValueError(f"must have options that contains speaks of, got {shown(contains)} and others")


def _read_axes(contains: dict[str, list[Any]]) -> dict[str, set[Hashable]]:
    """The values of each axis, made once: there may be as many options as values."""
    _check_length("values of axes", sum(map(len, contains.values())))
    axes = {}
    for name, axis in contains.items():
        for value in axis:
            check_plain(value)
        axes[name] = set(map(key, axis))
        if len(axes[name]) != len(axis):
            raise ValueError(f"must list no value of the axis {shown(name)} twice")
    return axes


def _is_names(option: Any) -> bool:
    items = option.get("tuple") if isinstance(option, dict) else None
    return isinstance(items, list) and all(isinstance(item, str) for item in items) and len(set(items)) == len(items)


def _is_span(option: Any) -> bool:
    ends = option.get("tuple") if isinstance(option, dict) else None
    return isinstance(ends, list) and len(ends) == 2 and all(map(_is_cost, ends)) and 0 <= ends[0] < ends[1] <= 1


def _is_point(option: Any, axes: dict[str, set[Hashable]]) -> bool:
    point = option.get("dict") if isinstance(option, dict) else None
    if not isinstance(point, dict) or point.keys() != axes.keys():
        return False
    return all(key(point[name]) in values for name, values in axes.items())


def _is_cost(value: Any) -> bool:
    return is_number(value) and value >= 0


def _names(recipe: dict[str, Any]) -> str:
    return shown(sorted(recipe)) if len(recipe) < 50 else f"{len(recipe)} fields"
