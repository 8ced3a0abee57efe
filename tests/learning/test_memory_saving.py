"""Saved memories: a selector goes on where it was, and a past that is impossible is refused."""

import copy
import functools
import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from suffice import Learning, Menu, Selector, StateError
from tests.support.naive_memory import CHAIN, GRID, INTERVALS, MEMORIES, SUBSETS
from tests.support.tables import compiled_or_not, uncompiled


def played(selector: Selector, seed: int, count: int, cuts: tuple[int, ...] = ()) -> list[Any]:
    """What is chosen in a world that shifts; at each cut the selector is saved and loaded."""
    rng = np.random.default_rng(seed)
    menu = selector.menu
    truths = [np.sort(rng.random(menu.n_arms)) for _ in range(3)]
    found: list[Any] = []
    for step in range(count):
        if step in cuts:
            selector = Selector.from_state(json.loads(json.dumps(selector.state())))
        decision = selector.ask()
        chance = truths[step * 3 // count][decision.arm]
        success = decision.is_safe or (not decision.is_skip and bool(rng.random() < chance))
        cost = float(rng.choice([0.25, 0.5])) if menu.costs is None else None
        selector.tell(decision, success, cost)
        found.append((decision.arm, decision.price))
    state = selector.state()
    return [*found, {"learner": state["learner"], "hints": [one["hints"] for one in state["accounts"]]}]


@compiled_or_not
@pytest.mark.parametrize("chooser", ["thompson", "optimist"])
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("menu", [CHAIN, INTERVALS, SUBSETS, GRID], ids=["chain", "intervals", "subsets", "told costs"])
def test_saved_in_the_middle_goes_on_as_without(menu: Menu, memory: str, chooser: str, compiled: bool) -> None:
    count = 1500 if compiled else 700
    cuts = (count // 5, count // 2 + 3, count - 7)
    with uncompiled(not compiled):
        one, other = (Selector(menu, 0.8, learning=Learning(memory=memory, chooser=chooser), seed=1) for _ in range(2))
        assert played(one, 3, count) == played(other, 3, count, cuts)


@functools.cache
def _busy_state(memory: str) -> str:
    """The state of a selector that has something to remember."""
    selector = Selector(CHAIN, 0.8, learning=Learning(memory=memory))
    rng = np.random.default_rng(0)
    for _ in range(600):
        decision = selector.ask()
        selector.tell(decision, decision.is_safe or (not decision.is_skip and bool(rng.random() < 0.85)))
    return json.dumps(selector.state())


def busy_state(memory: str) -> dict[str, Any]:
    """A copy of that state, to change."""
    state: dict[str, Any] = json.loads(_busy_state(memory))
    return state


def first_row(past: dict[str, Any]) -> list[Any]:
    """The first row of the first moment in use, or of the window."""
    rows = next(rows for _, rows in past["moments"] if rows) if "moments" in past else past["ring"]
    row: list[Any] = rows[0]
    return row


def first_moment(past: dict[str, Any]) -> list[Any]:
    return next(moment for moment in past["moments"] if moment[1])


def rows_of(past: dict[str, Any]) -> str:
    return "moments" if "moments" in past else "ring"


Change = Callable[[dict[str, Any]], object]
BOTH: dict[str, Change] = {
    "a negative count": lambda past: past.update(count=-1),
    "half a count": lambda past: past.update(count=0.5),
    "a huge count": lambda past: past.update(count=10**17),
    "a count that leaves no room to go on": lambda past: past.update(count=10**15 - 100),
    "no count": lambda past: past.update(count=None),
    "no past": lambda past: past.clear(),
    "too few rows": lambda past: past[rows_of(past)].pop(),
    "no rows": lambda past: past.update({rows_of(past): None}),
    "too many rows": lambda past: past[rows_of(past)].extend(past[rows_of(past)]),
    "an arm out of range": lambda past: first_row(past).__setitem__(0, 99),
    "a negative arm": lambda past: first_row(past).__setitem__(0, -2),
    "NaN": lambda past: first_row(past).__setitem__(1, math.nan),
    "a word": lambda past: first_row(past).__setitem__(1, "many"),
    "more successes than plays": lambda past: first_row(past).__setitem__(slice(1, None), [3, 5]),
}
RESET: dict[str, Change] = {
    "a moment at NaN": lambda past: first_moment(past).__setitem__(0, math.nan),
    "a moment at infinity": lambda past: first_moment(past).__setitem__(0, math.inf),
    "more plays than now": lambda past: first_row(past).__setitem__(slice(1, None), [10**9, 0]),
}
WINDOW: dict[str, Change] = {
    "a boundary arm": lambda past: first_row(past).__setitem__(0, 5),
    "a cost out of range": lambda past: first_row(past).__setitem__(2, 1e300),
    "a negative cost": lambda past: first_row(past).__setitem__(2, -1.0),
    "an infinite cost": lambda past: first_row(past).__setitem__(2, math.inf),
}


@pytest.mark.parametrize(
    ("memory", "change"),
    [pytest.param("reset", change, id=f"reset: {name}") for name, change in {**BOTH, **RESET}.items()]
    + [pytest.param("window 50", change, id=f"window: {name}") for name, change in {**BOTH, **WINDOW}.items()],
)
def test_an_impossible_past_is_refused(memory: str, change: Change) -> None:
    state = busy_state(memory)
    assert Selector.from_state(copy.deepcopy(state)).state()["learner"] == state["learner"]
    change(state["learner"]["past"])
    with pytest.raises(StateError):
        Selector.from_state(state)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), memory=st.sampled_from(["reset", "window 20", "discount 20"]))
def test_whatever_is_read_is_refused_or_works(data: Any, memory: str) -> None:
    """Any one number of what was learned may be any other: StateError, or a selector that goes on and keeps its promise."""
    state = busy_state(memory)
    past = state["learner"][data.draw(st.sampled_from(["past", "past", "cells", "tally", "upper"]))]
    paths = list(leaves(past))
    path = data.draw(st.sampled_from(paths))
    value = data.draw(
        st.one_of(
            st.none(), st.integers(-3, 700), st.floats(), st.sampled_from([10**14, 10**400, 1e308, -0.0, True, "1", []])
        )
    )
    target = past
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    try:
        selector = Selector.from_state(state)
    except StateError:
        return
    for step in range(200):
        decision = selector.ask()
        selector.tell(decision, decision.is_safe or (not decision.is_skip and step % 3 > 0))
        assert selector.debt <= 5
    assert selector.failures.warning is None  # learning did not fall over
    Selector.from_state(json.loads(json.dumps(selector.state())))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all numbers in nested lists and dicts."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None:
        yield path
    else:
        for key, inner in items:
            yield from leaves(inner, (*path, key))
