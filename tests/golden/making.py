"""What goes into the package: menus, selectors and streams from plain data."""

import dataclasses
import json
from collections.abc import Callable
from typing import Any, Final

import suffice
from suffice.lab import streams
from tests.support.attack import Attack

from .own import Cautious, Greedy, Sighted, Turns, guess, has_letters_of
from .records import Spec

LEARNING: Final = ("bounds", "chooser", "guard", "memory", "prices")
OWN: Final[dict[str, Callable[[], Any]]] = {
    "own: turns": Turns,
    "own: greedy": Greedy,
    "own: sighted": Sighted,
    "own: cautious": Cautious,
    "own: guess": lambda: guess,
}
BOUNDS: Final = {
    "contained": "ordered",
    "closed": "interval-closure",
}  # as configurations name them, as the package does


def arguments(settings: Spec) -> dict[str, Any]:
    """The package's arguments for settings; new objects for parts of one's own. A rule is a mapping of its quantities."""
    values: dict[str, Any] = {name: argument(value) for name, value in settings.items()}
    if "rule" in values:
        values["rule"] = suffice.Rule(**values["rule"])
    learning = {name: values.pop(name) for name in LEARNING if name in values}
    return {**values, "learning": suffice.Learning(**learning)} if learning else values


def argument(value: Any) -> Any:
    """A value of a setting, as the package takes it."""
    if not isinstance(value, str):
        return value
    return OWN[value]() if value in OWN else BOUNDS.get(value, value)


# --- menus


def menu(spec: Spec) -> suffice.Menu:
    """The menu of a configuration."""
    spec = dict(spec)
    kind = spec.pop("kind")
    if kind != "options":
        made: suffice.Menu = getattr(suffice.Menu, kind)(**spec)
        return made
    if spec.get("order") == "own: letters":
        spec["order"] = has_letters_of
    options = spec.pop("options")
    return suffice.Menu(options, **spec)


class View:
    """What a world needs to know of a menu."""

    def __init__(self, spec: Spec) -> None:
        if spec["kind"] == "range":  # a threshold between two ends: one below all, one above all, and all between
            self.n_arms, self.options, self.first = 3, [spec["low"], None, spec["high"]], 1
            self.costs: list[float | None] = [0.0, None, 1.0]
            self.top = 1.0
            return
        made = menu(spec)
        self.n_arms = made.n_arms
        self.options = [made.option(arm) for arm in range(made.n_arms)]
        self.first = int(made.has_skip)  # of the interior options
        self.costs = [made.known_cost(arm) for arm in range(made.n_arms)]
        self.top = made.safe_cost


# --- selectors


def selector(kind: str, spec: Spec, target: float, settings: Spec, clock: Callable[[], float]) -> Any:
    """A selector, a threshold or the paper's algorithm."""
    given = arguments(settings)
    if kind == "paper":
        return suffice.paper(menu(spec), target, **given)
    if kind == "threshold":
        return suffice.ThresholdSelector(spec["low"], spec["high"], target, clock=clock, **given)
    return suffice.Selector(menu(spec), target, clock=clock, **given)


def again(kind: str, one: Any, spec: Spec, settings: Spec, clock: Callable[[], float]) -> Any:
    """The same selector, written as JSON and read again."""
    state = json.loads(json.dumps(one.state()))
    if kind == "threshold":
        return suffice.ThresholdSelector.from_state(state, clock=clock)
    given = arguments({name: value for name, value in settings.items() if str(value) in OWN})
    if spec.get("order") == "own: letters":
        given["menu"] = menu(spec)
    return suffice.Selector.from_state(state, clock=clock, **given)


# --- fleets, streams, plans


STREAMS: Final[dict[str, Callable[..., Any]]] = {
    "ranks": streams.LabelRanks.cifar100,
    "needs": streams.RequiredThreshold,
    "flat": streams.RequiredThreshold.flat,
    "points": streams.UnitPoints,
    "tilted": streams.SyntheticContext,
    "rides": streams.Rides,
    "apis": streams.PredictionApis,
    "confident": streams.ConfidentApis,
    "trap": streams.Trap,
}


def stream(spec: Spec) -> Any:
    """The stream of a configuration; `then`, `mixed with`, `attacked` and `told` make one of others."""
    spec = dict(spec)
    kind = spec.pop("kind")
    if kind == "phases":
        return streams.Phases(*((stream(part), length) for part, length in spec["parts"]))
    if kind == "attack":
        return Attack(stream(spec["of"]), plan=spec["plan"])
    if kind == "told":
        return streams.HiddenCosts(stream(spec["of"]), spread=spec["spread"])
    if "menu" in spec:
        spec["menu"] = menu(spec["menu"])
    if "shape" in spec:
        spec["distribution"] = streams.Beta(*spec.pop("shape"))
    return STREAMS[kind](**spec)


def on_stream(kind: str, world: Any, spec: Spec, target: float, settings: Spec) -> Any:
    """A selector for a stream."""
    given = arguments(settings)
    if kind == "paper":
        return suffice.paper(world.menu, target, **given)
    if kind == "threshold":
        return suffice.ThresholdSelector(world.low, world.high, target, **given)
    return suffice.Selector(world.menu, target, **given)


def plan(spec: Spec, target: float, settings: Spec) -> dict[str, Any]:
    """The body that makes a selector of the service."""
    given = arguments(settings)
    if "learning" in given:
        given["learning"] = dataclasses.asdict(given["learning"])
    form = dict(spec)
    if isinstance(form.get("options"), list):
        form["options"] = [{"option": option} for option in form["options"]]
    return {"menu": form, "target": target, **given}
