"""Fleets, without contexts."""

from typing import Any, Final

from . import menus
from .of_selectors import COINS, EASY, POINTS, SHIFTING_COINS
from .records import Fleeting, Spec, World


def _case(
    name: str, menu: Spec, target: float, size: int, steps: int, bounds: str, world: World, **more: Any
) -> Fleeting:
    own = {key: more.pop(key) for key in list(more) if key in Fleeting.__dataclass_fields__}
    return Fleeting(f"fleet: {name}", menu, target, size, steps, {"bounds": bounds, **more}, world, **own)


FLEETS: Final = [
    _case("two", menus.TWO, 0.9, 12, 250, "half-log", COINS),
    _case("two, kl", menus.TWO, 0.8, 8, 250, "kl", COINS),
    _case("two, hoeffding", menus.TWO, 0.85, 8, 250, "hoeffding", SHIFTING_COINS),
    _case("two bare", menus.TWO_BARE, 0.9, 8, 250, "half-log", COINS),
    _case("told", menus.TOLD, 0.8, 10, 250, "half-log", COINS),
    _case("told, kl, given up", menus.TOLD, 0.85, 8, 250, "kl", COINS, given_up=0.05),
    _case("top, given up", menus.TOP, 0.9, 10, 250, "half-log", EASY, given_up=0.02),
    _case("top long", menus.TOP_LONG, 0.9, 4, 250, "half-log", EASY),
    _case("spans long", menus.SPANS_LONG, 0.8, 3, 250, "half-log", POINTS),
    _case("imperfect", menus.GOOD, 0.9, 8, 250, "half-log", World("coins", (4.0,), best=0.96)),
    _case("fractions", menus.TWO, 0.5, 8, 250, "half-log", World("coins", (4.0,), fractions=True)),
    _case("saved", menus.FIVE, 0.9, 8, 250, "half-log", COINS, saved=True),
    _case("saved, told, long", menus.LOOSE_TOLD, 0.85, 4, 250, "half-log", COINS, saved=True),
    _case("horizon, slack", menus.TWO, 0.95, 8, 250, "half-log", COINS, rule={"horizon": 250, "max_surplus": 9}),
    _case("step, cheap", menus.FIVE, 0.8, 8, 250, "hoeffding", COINS, rule={"step": 0.3, "start": "cheap"}),
    _case("never behind", menus.TWO, 0.9, 8, 250, "half-log", COINS, max_debt=0),
    _case("all of them", menus.TOP_BARE, 0.99, 20, 250, "half-log", EASY, asked=1.1, told=1.1),
]
