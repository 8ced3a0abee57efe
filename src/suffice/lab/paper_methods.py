"""The methods that experiments compare, by name. The paper's step is scale/sqrt(horizon)."""

from collections.abc import Callable
from typing import Any

from suffice.lab.rivals import AlwaysSafe, Projected
from suffice.menu.menu import Menu
from suffice.selector.paper import paper
from suffice.selector.selector import Selector

Make = Callable[[Menu, float, int, float], Any]

METHODS: dict[str, Make] = {
    "paper": lambda menu, target, horizon, scale: paper(menu, target, horizon, step=scale / horizon**0.5),
    "projected": lambda menu, target, horizon, scale: Projected(menu, target, horizon, scale / horizon**0.5),
    "suffice": lambda menu, target, horizon, scale: Selector(menu, target),
    "always_safe": lambda menu, target, horizon, scale: AlwaysSafe(menu, target),
}
# What each is shown; where a name is not listed, it is a selector's.
FEEDBACK = dict.fromkeys(METHODS, "success + cost") | {"always_safe": "none", "knows all": "truth"}


def make(name: str, menu: Menu, target: float, horizon: int, scale: float = 1.0) -> Any:
    """A fresh method."""
    return METHODS[name](menu, target, horizon, scale)
