"""Recipes of menus that come from outside: nothing in them is taken on trust."""

from collections.abc import Hashable
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from suffice.errors import quoted
from suffice.menu.options import key
from suffice.service.plans.fields import (
    DEEPEST,
    MOST_LISTED,
    Body,
    Cost,
    Counting,
    Listed,
    Positive,
    Share,
    check_scalar,
    is_number,
)


class Cut(Body):
    """Intervals, by how many cells of a grid they are made of."""

    kind: Literal["intervals"]
    skip: bool
    safe_success: Share
    cells: Counting


class Written(Body):
    """Options that are written out: the skip option, if there is one, those between, and the safe option."""

    kind: Literal["options", "top_k", "thresholds", "grid", "subsets"]
    skip: bool
    safe_success: Share
    options: Annotated[Listed[Any], Field(min_length=1)]
    costs: Listed[Cost] | None
    safe_cost: Positive
    order: Any

    @model_validator(mode="after")
    def _readable(self) -> "Written":
        for option in self.options:
            check_plain(option)
        _check_order(self.order, self.options[int(self.skip) : -1])
        return self


MenuRecipe = Annotated[Cut | Written, Field(discriminator="kind")]


def check_plain(option: Any, depth: int = DEEPEST) -> None:
    """Refuse what `suffice.menu.options.plain` never writes."""
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


def _check_order(order: Any, inner: list[Any]) -> None:
    """The order must be one that speaks of these options."""
    if order is None or order == "chain":
        return
    if order == "subsets":
        fits = all(_is_names(option) for option in inner)
    elif order == "intervals":
        fits = all(_is_span(option) for option in inner)
    elif isinstance(order, dict) and order and all(isinstance(axis, list) for axis in order.values()):
        axes = _read_axes(order)
        fits = all(_is_point(option, axes) for option in inner)
    else:
        raise ValueError('must have null, "chain", "subsets", "intervals" or an object of axes as order')
    if not fits:
        raise ValueError(f"must have options that order speaks of, got {quoted(order)} and others")


def _read_axes(order: dict[str, list[Any]]) -> dict[str, set[Hashable]]:
    """The values of each axis, made once: there may be as many options as values."""
    if sum(map(len, order.values())) > MOST_LISTED:
        raise ValueError(f"must have at most {MOST_LISTED:,} values of axes")
    axes = {}
    for name, axis in order.items():
        for value in axis:
            check_plain(value)
        axes[name] = set(map(key, axis))
        if len(axes[name]) != len(axis):
            raise ValueError(f"must list no value of the axis {quoted(name)} twice")
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
