"""The menus that configurations choose from, in the words of `making`."""

from typing import Final

from .records import Spec

TWO: Final[Spec] = {
    "kind": "options", "options": {"small": 0.1, "large": 0.4, "person": 1.0}, "safe": "person", "skip": "skip",
}  # fmt: skip
TWO_BARE: Final[Spec] = {"kind": "options", "options": {"small": 0.1, "large": 0.4}, "safe": "person", "safe_cost": 1.0}
TOLD_BARE: Final[Spec] = {"kind": "options", "options": ["a", "b", "c"], "safe": "person", "safe_cost": 1.0}
TOLD: Final[Spec] = {**TOLD_BARE, "skip": "skip"}
FIVE: Final[Spec] = {
    "kind": "options", "options": {"a": 1.5, "b": 0.5, "c": 4.0, "d": 2.5, "e": 6.0}, "safe": "all", "skip": "none",
    "safe_cost": 10.0,
}  # fmt: skip
CHAIN_TOLD: Final[Spec] = {
    "kind": "options", "options": ["s", "m", "l", "xl"], "safe": "all", "skip": "none", "order": "chain",
    "safe_cost": 1.0,
}  # fmt: skip
GOOD: Final[Spec] = {**TWO, "safe_success": 0.97}
GOOD_BARE: Final[Spec] = {**TWO_BARE, "safe_success": 0.95}
GOOD_TOLD: Final[Spec] = {**TOLD, "safe_success": 0.9}
ONE: Final[Spec] = {"kind": "options", "options": {"all": 1.0, "only": 0.3}, "safe": "all", "skip": "none"}
LETTERS: Final[Spec] = {
    "kind": "options", "options": {"a": 0.1, "b": 0.15, "ab": 0.3, "bc": 0.35, "abc": 0.6}, "safe": "all",
    "skip": "none", "order": "own: letters", "safe_cost": 1.0,
}  # fmt: skip
LISTS: Final[Spec] = {
    "kind": "options",
    "options": [["a"], ["a", "b"]],
    "safe": {"all": True},
    "costs": [0.2, 0.5],
    "safe_cost": 1.0,
}
LOOSE: Final[Spec] = {
    "kind": "options", "options": list(range(70)), "safe": "all", "skip": "none", "safe_cost": 1.0,
    "costs": [round(0.01 + 0.013 * place, 3) for place in range(70)],
}  # fmt: skip
LOOSE_TOLD: Final[Spec] = {"kind": "options", "options": list(range(80)), "safe": "all", "safe_cost": 1.0}
TOP: Final[Spec] = {"kind": "top_k", "ks": [5, 10, 20, 50], "classes": 100, "skip": True}
TOP_BARE: Final[Spec] = {"kind": "top_k", "ks": [1, 2, 5, 10, 20, 50], "classes": 100}
TOP_GOOD: Final[Spec] = {**TOP, "safe_success": 0.99}
TOP_LONG: Final[Spec] = {"kind": "top_k", "ks": list(range(1, 80)), "classes": 100, "skip": True}
THRESHOLDS: Final[Spec] = {"kind": "thresholds", "low": 0, "high": 1, "step": 0.1, "skip": True, "safe_cost": 1.0}
THRESHOLDS_KNOWN: Final[Spec] = {
    "kind": "thresholds", "low": 0, "high": 20, "step": 2.5, "costs": [0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8],
    "skip": True, "safe_cost": 1.0,
}  # fmt: skip
THRESHOLDS_BARE: Final[Spec] = {"kind": "thresholds", "low": 0, "high": 1, "horizon": 500, "safe_cost": 1.0}
SUBSETS: Final[Spec] = {
    "kind": "subsets", "prices": {"a": 1.0, "b": 2.0, "c": 4.0}, "safe": "person", "safe_cost": 15.0,
    "skip": True,
}  # fmt: skip
SUBSETS_ALL: Final[Spec] = {
    "kind": "subsets",
    "prices": {"a": 0.5, "b": 0.8, "c": 1.1, "d": 2.0},
    "at_most": 2,
    "skip": True,
}
SUBSETS_GOOD: Final[Spec] = {**SUBSETS, "safe_success": 0.98, "skip": False}
SPANS_SMALL: Final[Spec] = {"kind": "intervals", "step": 0.25, "skip": True}
SPANS: Final[Spec] = {"kind": "intervals", "step": 0.1, "skip": True}
SPANS_BARE: Final[Spec] = {"kind": "intervals", "step": 0.2}
SPANS_GOOD: Final[Spec] = {"kind": "intervals", "step": 0.2, "safe_success": 0.95, "skip": True}
SPANS_LONG: Final[Spec] = {"kind": "intervals", "step": 0.05, "skip": True}
GRID: Final[Spec] = {"kind": "grid", "distance": [1, 5, 50], "rating": [4.5, 3.0, 0], "skip": True, "safe_cost": 1.0}
GRID_KNOWN: Final[Spec] = {
    "kind": "grid", "distance": [1, 5, 50], "rating": [4.5, 0], "costs": [0.1, 0.2, 0.3, 0.5, 0.7], "safe_cost": 1.0,
}  # fmt: skip
RANGE: Final[Spec] = {"kind": "range", "low": 1, "high": 20}
RANGE_UNIT: Final[Spec] = {"kind": "range", "low": 0, "high": 1}
