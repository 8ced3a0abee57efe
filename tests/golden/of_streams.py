"""Runs on streams of the package: by windows, by tables, and step by step."""

from typing import Any, Final

from . import menus
from .of_selectors import CLOSED, CONTAINED, OPTIMIST, THOMPSON
from .records import Simulating, Spec

RANKS: Final[Spec] = {"kind": "ranks"}
POINTS: Final[Spec] = {"kind": "points", "menu": menus.SPANS_BARE}
EASY_POINTS: Final[Spec] = {"kind": "points", "menu": menus.SPANS_SMALL, "shape": (2, 5)}
HARD_POINTS: Final[Spec] = {"kind": "points", "menu": menus.SPANS_SMALL, "shape": (1, 1)}
NEEDS: Final[Spec] = {"kind": "needs", "low": 0, "high": 20, "step": 1}


def _case(name: str, stream: Spec, target: float, steps: int, settings: Spec, **more: Any) -> Simulating:
    return Simulating(f"stream: {name}", stream, target, steps, settings, **more)


STREAMS: Final = [
    _case("ranks", RANKS, 0.9, 1_500, CONTAINED),
    _case("ranks, summarized", RANKS, 0.95, 3_000, CONTAINED, summarized=True, seed=3),
    _case("ranks, long menu", {"kind": "ranks", "ks": tuple(range(1, 80))}, 0.9, 800, {**OPTIMIST, "bounds": "contained"}),
    _case("ranks, paper", RANKS, 0.8, 800, {"horizon": 800}, kind="paper"),
    _case("ranks, own chooser", RANKS, 0.9, 500, {**OPTIMIST, "chooser": "own: turns"}, seed=2),
    _case("points", POINTS, 0.8, 1_000, {**CLOSED, "memory": "reset"}),
    _case("points, thompson", EASY_POINTS, 0.9, 800, {**CLOSED, "chooser": "thompson", "memory": "reset"}, seed=5),
    _case("points, long menu", {"kind": "points"}, 0.8, 800, {**OPTIMIST, "bounds": "contained"}),
    _case("points, kl, summarized", POINTS, 0.85, 1_500, {**OPTIMIST, "bounds": "kl"}, summarized=True),
    _case("needs", NEEDS, 0.9, 1_000, CONTAINED),
    _case("needs, discount", NEEDS, 0.85, 1_000, {**OPTIMIST, "bounds": "contained", "memory": "discount 200"}),
    _case("needs, threshold", NEEDS, 0.9, 2_000, {"max_surplus": 30}, kind="threshold"),
    _case("needs, threshold, summarized", NEEDS, 0.99, 3_000, {}, kind="threshold", summarized=True),
    _case("needs, flat", {"kind": "flat", "target": 0.8}, 0.8, 1_000, OPTIMIST),
    _case("rides", {"kind": "rides", "requests": 300}, 0.85, 800, CONTAINED),
    _case("apis", {"kind": "apis"}, 0.95, 1_200, CONTAINED),
    _case("apis, window", {"kind": "apis"}, 0.9, 1_200, {**THOMPSON, "memory": "window 200"}, seed=4),
    _case("apis with confidence", {"kind": "confident"}, 0.95, 600, {**OPTIMIST, "model": "auto"}),
    _case("tilted", {"kind": "tilted"}, 0.8, 600, {**OPTIMIST, "model": "auto"}),
    _case("tilted, without looking", {"kind": "tilted", "options": 5}, 0.8, 1_000, CONTAINED),
    _case("trap", {"kind": "trap"}, 0.8, 2_000, {**OPTIMIST, "memory": "reset"}),
    _case("attack", {"kind": "attack", "of": RANKS, "plan": "hover"}, 0.9, 800, CONTAINED),
    _case("phases", {"kind": "phases", "parts": [(EASY_POINTS, 500), (HARD_POINTS, 400), (EASY_POINTS, 600)]}, 0.9, 1_500,
          {**CLOSED, "memory": "reset"}),
    _case("costs told", {"kind": "told", "of": RANKS, "spread": 0.5}, 0.9, 800, {**OPTIMIST, "bounds": "contained"}),
    _case("costs told, summarized", {"kind": "told", "of": {"kind": "apis"}, "spread": 0.3}, 0.95, 1_500, THOMPSON,
          summarized=True),
]  # fmt: skip
