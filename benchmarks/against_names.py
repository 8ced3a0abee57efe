"""The names of the public API that differ between the versions compared, found by looking: the only place that knows them."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

import suffice

# The name that cases use, and those that stand for it in one version or another, the newest first.
ARGUMENTS: Final = {
    "safe": ("safe", "everything"), "skip": ("skip", "nothing"), "safe_cost": ("safe_cost", "max_cost"),
    "in_flight": ("in_flight", "max_pending"),
}  # fmt: skip
LEARNING: Final = frozenset({"bounds", "chooser", "guard", "memory", "prices"})
VALUES: Final = {"ordered": "contained", "interval-closure": "closed"}  # before `learning`, bounds had other names
FIELDS: Final = {"price": ("price", "dual"), "n_arms": ("n_arms", "arms"), "options": ("options", "arms")}


def called(function: Callable[..., Any], *values: Any, **named: Any) -> Any:
    """Call a function with its arguments by the names that it has in this version."""
    known = inspect.signature(function).parameters
    if "learning" in known and not LEARNING.isdisjoint(named):  # before, each was an argument of its own
        learning = {name: named.pop(name) for name in LEARNING & named.keys()}
        named["learning"] = suffice.Learning(**learning)
    elif "bounds" in named:
        named["bounds"] = VALUES.get(named["bounds"], named["bounds"])
    return function(*values, **{_first(name, ARGUMENTS, known): value for name, value in named.items()})


def streams() -> Any:
    """The module of the streams."""
    return suffice.lab.streams if hasattr(suffice, "lab") else suffice.streams  # type: ignore[attr-defined]


def field(name: str, kind: Any = suffice.Decision) -> str:
    """What a field of a decision is called in this version."""
    return _first(name, FIELDS, dir(kind))


def in_plan(name: str) -> str:
    """What a field of a service's plan is called: as the argument of the menu's constructor."""
    return _first(name, ARGUMENTS, inspect.signature(suffice.Menu).parameters)


def _first(name: str, table: Mapping[str, tuple[str, ...]], known: Any) -> str:
    return next((one for one in table.get(name, ()) if one in known), name)
