"""What is sent: plans, wishes and outcomes as plain JSON, checked here as far as the library checks them. No I/O."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypedDict, TypeVar

import numpy as np

from suffice.client.outbox import CHUNK, Outcome
from suffice.context.encode import CATEGORY
from suffice.context.schema import kind_of, number_of, opened
from suffice.errors import ForeignDecision, InvalidArgument, UnknownDecision, quoted
from suffice.learning.memory import Memory, written
from suffice.menu.menu import Menu
from suffice.numbers import as_fraction, cost_told, flag, success_units
from suffice.selector.records import UNAUDITED, Decision

FALLBACK_ID: Final = -2  # the id of a decision that was made without the service
LARGEST: Final = 1 << 53  # no id is larger
ROOM: Final = 500_000  # bytes of contexts in one request

T = TypeVar("T")


class Settings(TypedDict, total=False):
    """The keyword arguments of `Selector` that JSON can carry; what is left out has the service's default."""

    max_surplus: float | None
    step: float | None
    cap: float | None
    start: str | float
    bounds: str
    chooser: str
    guard: float | None
    model: str | None
    seed: int
    prices: str
    memory: str | Memory
    max_pending: int | None
    expire_after: float | None


NAMES: Final = frozenset(Settings.__annotations__)
WORDS: Final = ("bounds", "chooser", "model", "prices")  # where the library also takes objects of one's own


def encode(body: Any) -> bytes:
    """JSON, as it is sent."""
    return json.dumps(body, separators=(",", ":"), allow_nan=False).encode()


def plan(menu: Menu, target: Any, horizon: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The body that makes a selector."""
    for name in settings:
        if name not in NAMES:
            raise TypeError(f"selector() got an unexpected keyword argument {name!r}")
    said: dict[str, Any] = {"menu": {"kind": "recipe", "recipe": menu.recipe()}, "target": number("target", target)}
    if horizon is not None:
        said["horizon"] = number("horizon", horizon)
    for name, value in settings.items():
        if name == "memory" and isinstance(value, Memory):
            said[name] = written(value)
        elif name in WORDS and not (value is None or isinstance(value, str)):
            raise InvalidArgument(f"{name} must be a name where a service keeps the selector, got {quoted(value)}")
        else:
            said[name] = value if value is None or isinstance(value, str) else number(name, value)
    return said


def number(name: str, value: Any) -> int | float:
    """A number as JSON has it."""
    found = as_fraction(name, value)
    return int(found) if found.denominator == 1 else float(found)


# --- ask


def ask_request(menu: Menu | None, available: Any, audit: Any, group: Any) -> dict[str, Any]:
    """What all decisions of one ask have in common."""
    said: dict[str, Any] = {}
    if available is not None:
        if isinstance(available, str | bytes) or not isinstance(available, Iterable):
            raise InvalidArgument(f"available must list options of the menu, got {quoted(available)}")
        options = list(available)
        if menu is not None:
            options = [menu.option(menu.arm(option)) for option in options]
        said["available"] = [as_json(option) for option in options]
    if not flag("audit", audit):
        said["audit"] = False
    if group is not None:
        if not isinstance(group, str) or not group:
            raise InvalidArgument(f"group must be a name, got {quoted(group)}")
        said["group"] = group
    return said


def as_json(option: Any) -> Any:
    """An option in JSON's terms: tuples become lists."""
    if isinstance(option, np.generic):
        return option.item()
    if isinstance(option, tuple | list):
        return [as_json(item) for item in option]
    if isinstance(option, Mapping):
        return {str(name): as_json(item) for name, item in option.items()}
    if option is None or isinstance(option, str | bool | int | float):
        return option
    raise InvalidArgument(f"options must be numbers, strings, tuples, lists or dicts to be sent, got {quoted(option)}")


def context(given: Any) -> dict[str, Any] | None:
    """A context as an object of plain values: what is missing or not finite is null, a row without names is numbered."""
    if given is None:
        return None
    found = opened(given)
    named = found if isinstance(found, dict) else {str(place): value for place, value in enumerate(found)}
    return {name: _value(name, value) for name, value in named.items()}


def _value(name: str, value: Any) -> Any:
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if kind_of(name, value) == CATEGORY:
        return value
    found = number_of(name, value)
    return None if found != found else found


def pieces(contexts: Sequence[T]) -> Iterator[Sequence[T]]:
    """Contexts in as many requests as it takes."""
    start, size = 0, 0
    for place, one in enumerate(contexts):
        length = len(encode(one))
        if place > start and (place - start == CHUNK or size + length > ROOM):
            yield contexts[start:place]
            start, size = place, 0
        size += length
    yield contexts[start:]


# --- tell


def outcome(key: str, menu: Menu | None, decision: Any, success: Any, cost: Any = None) -> Outcome | None:
    """An outcome as it is sent; None for a decision that was made unasked, which nobody counts."""
    units, spent = success_units(success), None if cost is None else cost_told(cost)
    identity = _id(key, decision)
    if identity == FALLBACK_ID:
        return None
    if isinstance(decision, Decision) and spent is None and menu is not None and menu.known_cost(decision.arm) is None:
        raise InvalidArgument(f"cost must be told for option {decision.option!r}: the menu does not know what it costs")
    return Outcome(identity, units, spent)


def _id(key: str, decision: Any) -> int:
    given = decision.id if isinstance(decision, Decision) else decision
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise InvalidArgument(f"decision must be a Decision or its id, got {quoted(decision)}")
    if isinstance(decision, Decision) and decision.selector != key:
        raise ForeignDecision(f"decision {decision.id} was asked of another selector")
    identity = int(given.__index__())
    if identity == UNAUDITED:
        raise InvalidArgument("decision was asked with audit=False, so its outcome is not counted")
    if identity != FALLBACK_ID and not 0 <= identity <= LARGEST:
        raise UnknownDecision(f"decision {quoted(identity)} was never asked of this selector")
    return identity


def listed(outcomes: Any) -> list[Sequence[Any]]:
    """Outcomes, each (decision, success) or (decision, success, cost)."""
    if not isinstance(outcomes, Iterable):
        raise InvalidArgument(f"outcomes must be a sequence of (decision, success), got {quoted(outcomes)}")
    found = list(outcomes)
    for item in found:
        if not isinstance(item, tuple | list) or len(item) not in (2, 3):
            raise InvalidArgument(
                f"outcomes must hold (decision, success) or (decision, success, cost), got {quoted(item)}"
            )
    return found
