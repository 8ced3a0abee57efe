"""Requests as plain JSON: plans, asks and outcomes, checked as the library checks them. No I/O."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from typing import Final, Self, TypedDict, TypeVar

import numpy as np

from suffice.client.outbox import CHUNK, Outcome
from suffice.context.encode import CATEGORY
from suffice.context.schema import as_fields, kind_of, number_of
from suffice.errors import ForeignDecision, InvalidArgument, quoted
from suffice.learning.settings import DEFAULT, Learning, as_learning
from suffice.menu.menu import Menu
from suffice.numbers import as_fraction, cost_told, flag, success_units
from suffice.selector.records import Decision

FALLBACK_ID: Final = "fallback"  # the id of a decision that was made without the service
UNAUDITED_ID: Final = "unaudited"  # the id of a decision that was asked with audit=False
MOST_BYTES: Final = 500_000  # of contexts in one request

T = TypeVar("T")
JsonObject = dict[str, object]


class RemoteDecision(Decision):
    """A decision of a service: like `Decision`, but its id is text."""

    __slots__ = ()
    id: str  # type: ignore[assignment]

    @classmethod
    def make(cls, identity: str, arm: int, option: object, role: int, price: float, selector: str) -> Self:
        """A decision with an id of text."""
        return tuple.__new__(cls, (identity, arm, option, role, price, selector))


class Settings(TypedDict, total=False):
    """The keyword arguments of `Selector` that JSON can carry; the service has a default for each."""

    max_debt: float | Fraction
    in_flight: int
    max_surplus: float | None
    expire_after: float | None
    model: str | None
    learning: Learning
    seed: int


NAMES: Final = frozenset(Settings.__annotations__)
NAMED: Final = ("bounds", "chooser", "model")  # the library also takes objects of the user's own here


def encode(body: object) -> bytes:
    """JSON, as it is sent."""
    return json.dumps(body, separators=(",", ":"), allow_nan=False).encode()


def plan(menu: Menu, target: object, settings: Mapping[str, object]) -> JsonObject:
    """The body that makes a selector."""
    for name in settings:
        if name not in NAMES:
            raise TypeError(f"selector() got an unexpected keyword argument {name!r}")
    said: JsonObject = {"menu": {"kind": "recipe", "recipe": menu.recipe()}, "target": number("target", target)}
    for name, value in settings.items():
        said[name] = _learning(as_learning(value)) if name == "learning" else _setting(name, value)
    return said


def _learning(learning: Learning) -> dict[str, object]:
    """The settings that are not the defaults."""
    values = {field.name: getattr(learning, field.name) for field in fields(learning)}
    return {name: _setting(name, value) for name, value in values.items() if value != getattr(DEFAULT, name)}


def _setting(name: str, value: object) -> object:
    if value is None or isinstance(value, str):
        return value
    if name in NAMED:
        raise InvalidArgument(f"{name} must be a name where a service keeps the selector, got {quoted(value)}")
    return number(name, value)


def number(name: str, value: object) -> int | float:
    """A number in JSON's terms."""
    found = as_fraction(name, value)
    return int(found) if found.denominator == 1 else float(found)


# --- ask


def ask_request(menu: Menu | None, available: object, audit: object, group: object, insist: object) -> JsonObject:
    """The part of the body that all decisions of one ask share."""
    body: JsonObject = {}
    if available is not None:
        if isinstance(available, str | bytes) or not isinstance(available, Iterable):
            raise InvalidArgument(f"available must list options of the menu, got {quoted(available)}")
        options = list(available)
        if menu is not None:
            options = [menu.option(menu.arm(option)) for option in options]
        body["available"] = [as_json(option) for option in options]
    if not flag("audit", audit):
        body["audit"] = False
    if flag("insist", insist):
        body["insist"] = True
    if group is not None:
        if not isinstance(group, str) or not group:
            raise InvalidArgument(f"group must be a name, got {quoted(group)}")
        body["group"] = group
    return body


def as_json(option: object) -> object:
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


def context(given: object) -> JsonObject | None:
    """A context as an object of plain values: missing and infinite numbers are null, the fields of a row are numbered."""
    if given is None:
        return None
    row = as_fields(given)
    named = row if isinstance(row, dict) else {str(place): value for place, value in enumerate(row)}
    return {name: _value(name, value) for name, value in named.items()}


def _value(name: str, value: object) -> object:
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if kind_of(name, value) == CATEGORY:
        return value
    number = number_of(name, value)
    return None if math.isnan(number) else number


def pieces(contexts: Sequence[T]) -> Iterator[Sequence[T]]:
    """Contexts in as many requests as they need."""
    start, size = 0, 0
    for place, one in enumerate(contexts):
        length = len(encode(one))
        if place > start and (place - start == CHUNK or size + length > MOST_BYTES):
            yield contexts[start:place]
            start, size = place, 0
        size += length
    yield contexts[start:]


# --- tell


def outcome(key: str, menu: Menu | None, decision: object, success: object, cost: object = None) -> Outcome | None:
    """An outcome as it is sent; None for a fallback decision, which the service does not count."""
    units, spent = success_units(success), None if cost is None else cost_told(cost)
    identity = identity_of(key, decision)
    if identity == FALLBACK_ID:
        return None
    if isinstance(decision, Decision) and spent is None and menu is not None and menu.known_cost(decision.arm) is None:
        raise InvalidArgument(f"cost must be told for option {decision.option!r}: the menu does not know what it costs")
    return Outcome(identity, units, spent)


def identity_of(key: str, decision: object) -> str:
    """The id of a decision of this selector."""
    if isinstance(decision, Decision):
        if decision.selector != key:
            raise ForeignDecision(f"decision {decision.id} was asked of another selector")
        decision = str(decision.id)
    if decision == UNAUDITED_ID:
        raise InvalidArgument("decision was asked with audit=False, so its outcome is not counted")
    if not isinstance(decision, str):
        raise InvalidArgument(f"decision must be a Decision or its id, got {quoted(decision)}")
    return decision


def listed(outcomes: object) -> list[Sequence[object]]:
    """Outcomes, each (decision, success) or (decision, success, cost)."""
    if not isinstance(outcomes, Iterable):
        raise InvalidArgument(f"outcomes must be a sequence of (decision, success), got {quoted(outcomes)}")
    rows = list(outcomes)
    for row in rows:
        if not isinstance(row, tuple | list) or len(row) not in (2, 3):
            raise InvalidArgument(
                f"outcomes must hold (decision, success) or (decision, success, cost), got {quoted(row)}"
            )
    return rows
