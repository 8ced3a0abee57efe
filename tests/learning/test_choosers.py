"""Choosers in a selector: what "auto" becomes, seeds, guards, unavailable options, and saved samplers."""

import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import suffice
from suffice import Learning, Menu, Selector, StateError
from suffice.learning.containment import MOST_GRID


def own_chain() -> Menu:
    return Menu({"a": 0.1, "b": 0.4}, safe="all", skip="none", order="chain", safe_cost=1.0)


MENUS: dict[str, tuple[Menu, str, str]] = {
    "top_k": (Menu.top_k([5, 10, 20], classes=100, skip=True), "thompson", "ordered"),
    "thresholds": (Menu.thresholds(0, 1, step=0.1, skip=True, safe_cost=1.0), "thompson", "ordered"),
    "intervals": (Menu.intervals(step=0.25, skip=True), "thompson", "interval-closure"),
    "intervals, fails": (Menu.intervals(step=0.25, safe_success=0.95, skip=True), "thompson", "interval-closure"),
    "subsets": (Menu.subsets({"a": 1, "b": 2}, safe="person", safe_cost=9, skip=True), "thompson", "ordered"),
    "grid": (Menu.grid(distance=[1, 5], rating=[4, 0], skip=True, safe_cost=1.0), "optimist", "ordered"),
    "chain of one's own": (own_chain(), "thompson", "ordered"),
    "no order": (Menu({"a": 0.1, "b": 0.4}, safe="all", skip="none", safe_cost=1.0), "optimist", "half-log"),
    "one option": (Menu({"a": 0.1}, safe="all", skip="none", order="chain", safe_cost=1.0), "optimist", "half-log"),
    "too many cells": (Menu.intervals(step=1 / 200, skip=True), "optimist", "ordered"),
    "largest grid": (Menu.intervals(step=Fraction(1, MOST_GRID), skip=True), "thompson", "interval-closure"),
    "too large a grid": (Menu.intervals(step=Fraction(1, MOST_GRID + 1), skip=True), "thompson", "ordered"),
}


@pytest.mark.parametrize(("menu", "chooser", "bounds"), MENUS.values(), ids=MENUS.keys())
def test_what_auto_becomes(menu: Menu, chooser: str, bounds: str) -> None:
    selector = Selector(menu, 0.8)
    assert (selector.learning.chooser, selector.learning.bounds) == (chooser, bounds)
    named = Selector(menu, 0.8, learning=Learning(bounds="kl"))
    assert (named.learning.chooser, named.learning.bounds) == ("optimist", "kl")
    assert Selector(menu, 0.8, learning=Learning(chooser="thompson")).learning.chooser == "thompson"
    again = Selector.from_state(selector.state())
    assert (again.learning.chooser, again.learning.bounds) == (chooser, bounds)


def world_of(menu: Menu, seed: int) -> Callable[[Any], bool]:
    """The dearer, the likelier; the ends do what they say."""
    rng = np.random.default_rng(seed)

    def succeeds(decision: Any) -> bool:
        luck = rng.random()
        known = menu.known_cost(decision.arm)
        share = (decision.arm / (menu.n_arms - 1) if known is None else known / menu.safe_cost) ** 0.4
        return bool(decision.is_safe or (not decision.is_skip and luck < share))

    return succeeds


def arms_of(selector: Selector, steps: int, seed: int = 0) -> list[int]:
    succeeds = world_of(selector.menu, seed)
    played = []
    for _ in range(steps):
        decision = selector.ask()
        selector.tell(decision, succeeds(decision), 0.1)
        played.append(decision.arm)
    return played


@pytest.mark.parametrize("name", ["top_k", "intervals", "subsets", "no order"])
def test_the_seed_decides(name: str) -> None:
    menu = MENUS[name][0]
    one, same, other = (
        arms_of(Selector(menu, 0.8, learning=Learning(chooser="thompson"), seed=seed), 500) for seed in (1, 1, 2)
    )
    assert one == same
    assert one != other
    again = Selector(menu, 0.8, learning=Learning(chooser="thompson"), seed=7)
    again.reseed(1)
    assert arms_of(again, 500) == one


@pytest.mark.parametrize("seed", [-1, 1.5, "a", None, True])
def test_seeds_are_whole_numbers(seed: Any) -> None:
    with pytest.raises(suffice.InvalidArgument, match="seed must be"):
        Selector(MENUS["top_k"][0], 0.8, seed=seed)


@pytest.mark.parametrize("guard", [0, -1.0, math.nan, "much", False])
def test_a_guard_is_a_number_above_0(guard: Any) -> None:
    with pytest.raises(suffice.InvalidArgument, match="guard must be"):
        Selector(MENUS["top_k"][0], 0.8, learning=Learning(guard=guard))


def test_a_sampler_needs_bounds_of_ours() -> None:
    class Mine:
        name = "mine"
        upper = np.ones(5)
        lower = np.zeros(5)

        def start(self, menu: Any, horizon: Any) -> None: ...
        def update(self, tally: Any, arm: int, told: int) -> None: ...
        def refresh(self, tally: Any, told: int) -> None: ...

    with pytest.raises(suffice.InvalidArgument, match="bounds must be ours"):
        Selector(MENUS["top_k"][0], 0.8, learning=Learning(chooser="thompson", bounds=Mine()))


def test_the_paper_s_bounds_do_not_stop_the_sampler() -> None:
    """Their lines are infinite before an arm is played, and a gap of infinity could not be saved."""
    selector = Selector(MENUS["top_k"][0], 0.8, learning=Learning(bounds="paper", chooser="thompson"))
    arms_of(selector, 300)
    assert math.isfinite(selector.state()["learner"]["gap"])


# --- saving


def damaged(name: str, change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    selector = Selector(MENUS[name][0], 0.8, learning=Learning(chooser="thompson"))
    arms_of(selector, 120)
    state: dict[str, Any] = json.loads(json.dumps(selector.state()))
    change(state)
    return state


HARM: dict[str, Callable[[dict[str, Any]], Any]] = {
    "cells too short": lambda kept: kept["cells"]["numbers"].pop(),
    "cells too long": lambda kept: kept["cells"]["numbers"].append(0.0),
    "no cells": lambda kept: kept["cells"].update(numbers=[]),
    "no cells at all": lambda kept: kept.update(cells={}),
    "cells are missing": lambda kept: kept.pop("cells"),
    "cells of text": lambda kept: kept["cells"].update(numbers="many"),
    "cells in rows": lambda kept: kept["cells"].update(numbers=[kept["cells"]["numbers"]]),
    "no number": lambda kept: kept["cells"]["numbers"].__setitem__(-1, math.nan),
    "None": lambda kept: kept["cells"]["numbers"].__setitem__(-1, None),
    "infinity": lambda kept: kept["cells"]["numbers"].__setitem__(0, math.inf),
    "a fit at no time": lambda kept: kept["cells"].update(fit_at=math.nan),
    "a fit at the end of time": lambda kept: kept["cells"].update(fit_at=math.inf),
    "seen more than there can be": lambda kept: kept["cells"].update(seen=1e300),
    "seen is text": lambda kept: kept["cells"].update(seen="many"),
    "a word below 0": lambda kept: kept["cells"]["numbers"].__setitem__(0, -1.0),
    "a word of 33 bits": lambda kept: kept["cells"]["numbers"].__setitem__(5, 2.0**32),
    "half a word": lambda kept: kept["cells"]["numbers"].__setitem__(3, 0.5),
    "gap is no number": lambda kept: kept.update(gap=math.nan),
    "gap is infinite": lambda kept: kept.update(gap=-math.inf),
    "gap is text": lambda kept: kept.update(gap="wide"),
    "gap is a list": lambda kept: kept.update(gap=[1.0]),
}


@pytest.mark.parametrize("harm", HARM.values(), ids=HARM.keys())
@pytest.mark.parametrize("name", ["top_k", "intervals", "no order"])
def test_hostile_states_are_refused(harm: Callable[[dict[str, Any]], Any], name: str) -> None:
    with pytest.raises(StateError):
        Selector.from_state(damaged(name, lambda state: harm(state["learner"])))
