"""Options: what makes them different, their form in JSON, their orders of containment, and ranges cut into cells."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.numbers import positive, positive_int

MOST_OPTIONS: Final = 5_000_000


class PositionOrder:
    """Containment on a grid: at least as permissive on every axis, each listed from least to most permissive."""

    def __init__(self, axes: Mapping[str, Sequence[object]]) -> None:
        self.axes = {name: list(values) for name, values in axes.items()}
        self.places = {name: {key(value): place for place, value in enumerate(axis)} for name, axis in axes.items()}

    def __call__(self, a: Mapping[str, object], b: Mapping[str, object]) -> bool:
        return all(place[key(a[name])] >= place[key(b[name])] for name, place in self.places.items())


def covers(a: tuple[float, float], b: tuple[float, float]) -> bool:
    """Whether interval a contains interval b."""
    return a[0] <= b[0] and b[1] <= a[1]


def superset(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Whether subset a has all items of subset b."""
    return set(b) <= set(a)


NAMED_ORDERS: Final = {"subsets": superset, "intervals": covers}


def write_order(order: object) -> object:
    """A containment order in JSON's terms."""
    if order is None or order == "chain":
        return order
    if isinstance(order, PositionOrder):
        return {name: [to_json(value) for value in axis] for name, axis in order.axes.items()}
    for name, function in NAMED_ORDERS.items():
        if order is function:
            return name
    raise InvalidArgument("order must be None or 'chain' to be written down; a function cannot")


def read_order(written: Any) -> Any:
    """The containment order that `write_order` wrote down."""
    if isinstance(written, dict):
        return PositionOrder({name: [from_json(value) for value in axis] for name, axis in written.items()})
    return NAMED_ORDERS.get(written, written)


def check_number(options: int) -> None:
    """Refuse a menu that would not fit into memory before it is built."""
    if options > MOST_OPTIONS:
        raise InvalidArgument(
            f"a menu must have at most {MOST_OPTIONS:,} options, got {options:,}: take a coarser grid"
        )


def count_cells(span: Fraction, step: object, horizon: object, *, root: int, even: bool) -> int:
    """Into how many cells a step or a horizon T cuts a range; for T the least whole number >= T^(1/root)."""
    if (step is None) == (horizon is None):
        raise InvalidArgument("give step or horizon, one of them")
    if horizon is not None:
        steps = positive_int("horizon", horizon)
        cells: int = max(1, round(float(steps) ** (1.0 / root)) - 1)
        while cells**root < steps:
            cells += 1
        return cells
    width = positive("step", step)
    if width > span:
        raise InvalidArgument(f"step must be at most the range {float(span):g}, got {quoted(step)}")
    cells = round(span / width)
    # A step such as 1/3 is a float, which divides 1 evenly only up to rounding.
    if abs(cells * width - span) <= span / 10**9:
        return cells
    if even:
        raise InvalidArgument(f"step must divide the range {float(span):g} evenly, got {quoted(step)}")
    return math.ceil(span / width)


def key(option: object, name: str = "options") -> Hashable:
    """A hashable stand-in for an option: equal for equal options; True differs from 1. `name` is for errors."""
    if isinstance(option, dict):
        return ("dict", frozenset((key(field, name), key(value, name)) for field, value in option.items()))
    if isinstance(option, list):
        return ("list", tuple(key(item, name) for item in option))
    try:
        hash(option)
    except TypeError:
        raise InvalidArgument(f"{name} must be hashable, or dicts or lists of such, got {quoted(option)}") from None
    return (isinstance(option, bool), option)


def to_json(value: object) -> Any:
    """An option or a context in JSON's terms. Values that JSON has no form for are marked, so that they read back equal."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, tuple):
        return {"tuple": [to_json(part) for part in value]}
    if isinstance(value, list):
        return [to_json(part) for part in value]
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {"dict": {name: to_json(part) for name, part in value.items()}}
    if isinstance(value, dict):
        return {"mapping": [[to_json(name), to_json(part)] for name, part in value.items()]}
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return {"array": [value.dtype.str, list(value.shape), to_json(value.ravel().tolist())]}
    raise InvalidArgument(f"options must be numbers, strings, tuples, lists or dicts to be saved, got {quoted(value)}")


def from_json(written: Any) -> Any:
    """The value that `to_json` wrote down."""
    if isinstance(written, list):
        return [from_json(part) for part in written]
    if not isinstance(written, dict):
        return written
    ((mark, parts),) = written.items()
    if mark == "array":
        dtype, shape, values = parts
        return np.array(from_json(values), dtype=np.dtype(dtype)).reshape(shape)
    return MARKED[mark](parts)


MARKED: Final[dict[str, Callable[[Any], object]]] = {
    "float": float,
    "tuple": lambda parts: tuple(map(from_json, parts)),
    "dict": lambda parts: {name: from_json(part) for name, part in parts.items()},
    "mapping": lambda parts: {from_json(name): from_json(part) for name, part in parts},
}
