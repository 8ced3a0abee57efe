"""What a menu's order is worth: who contains whom, against `Menu.nested` pair by pair, and cells against brute force."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from suffice import Menu, Selector
from suffice.learning.containment import (
    MOST_ASKED,
    MOST_CELLS,
    MOST_COMPARED,
    Cells,
    PoolingOrder,
    cells_of,
    order_of,
)
from suffice.learning.records import CHAIN, INTERVALS, NO_SHAPE, PAIRS, SPANS
from suffice.menu.options import superset


def divides(a: int, b: int) -> bool:
    return b % a == 0


def never(a: int, b: int) -> bool:
    return False


PRICES = {"a": 1.0, "b": 2.0, "c": 3.5, "d": 1.5}
PERSON: dict[str, Any] = {"safe": "a person", "safe_cost": 20.0}


def menus(*, skip: bool = True, **end: Any) -> dict[str, Menu]:
    """A menu of every kind that has an order."""
    settings = {"skip": skip, **end}
    own = {"skip": "skip" if skip else None, "safe_cost": 1.0, **end}
    return {
        "top_k": Menu.top_k([1, 3, 4, 10], classes=12, **settings),
        "thresholds": Menu.thresholds(-1, 1, step=0.25, **settings, safe_cost=1.0),
        "chain": Menu(["s", "m", "l"], safe="all", order="chain", **own),
        "grid": Menu.grid(near=[1, 2, 5], rated=[4.5, 4, 0], open=["now", "soon"], **settings, safe_cost=1.0),
        "line": Menu.grid(near=[3, 1, 2, 5], **settings, safe_cost=1.0),
        "intervals": Menu.intervals(step=0.2, **settings),
        "halves": Menu.intervals(step=0.5, **settings),
        "third": Menu.intervals(step=1 / 3, **settings),
        "subsets": Menu.subsets(PRICES, **PERSON, **settings),
        "all items": Menu.subsets(PRICES, **settings),
        "at most two": Menu.subsets(PRICES, at_most=2, **PERSON, **settings),
        "cheap ones": Menu.subsets(PRICES, safe="a person", safe_cost=4.0, **settings),
        "own": Menu([12, 2, 3, 4, 6, 5], safe="all", order=divides, **own),
    }


ENDS: dict[str, dict[str, Any]] = {
    "two ends": {},
    "no skip": {"skip": False},
    "imperfect": {"safe_success": Fraction(97, 100)},
}
EVERY = {f"{kind}, {end}": menu for end, given in ENDS.items() for kind, menu in menus(**given).items()}
WITHOUT = {
    "no order": Menu({"a": 0.1, "b": 0.2}, safe="all", safe_cost=1.0),
    "one option": Menu.top_k([5], classes=10, skip=True),
    "one interval": Menu.intervals(step=1, skip=True),
    "nobody inside": Menu([2, 3, 5], safe="all", order=never, safe_cost=1.0),
}


def pairs_on_a_grid(grid: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(grid) for j in range(i + 1, grid + 1) if j - i < grid]


def around(menu: Menu, order: PoolingOrder) -> dict[int, list[int]]:
    """Per interior arm those that contain it, its own number included, as the kernels understand an order."""
    first, last = int(menu.has_skip), menu.n_arms - 1
    if order.shape == CHAIN:
        return {arm: list(range(arm, last)) for arm in range(first, last)}
    if order.shape == INTERVALS:
        ends = pairs_on_a_grid(order.grid)
        assert len(ends) == last - first
        return {
            first + place: [first + other for other, (a, b) in enumerate(ends) if a <= low and high <= b]
            for place, (low, high) in enumerate(ends)
        }
    assert order.shape == PAIRS
    assert order.starts is not None
    assert order.outer is not None
    assert order.starts.size == menu.n_arms + 1
    assert order.starts[-1] == order.outer.size == order.pairs
    return {arm: order.outer[order.starts[arm] : order.starts[arm + 1]].tolist() for arm in range(first, last)}


@pytest.mark.parametrize("menu", EVERY.values(), ids=EVERY.keys())
def test_the_order_is_that_of_the_menu(menu: Menu) -> None:
    order = order_of(menu)
    assert order is not None
    found = around(menu, order)
    inner = range(menu.n_arms)[menu.interior]
    assert set(found) == set(inner)
    for arm in inner:
        assert found[arm] == [other for other in inner if menu.nested(arm, other)]


def test_the_shape_is_the_quickest_that_fits() -> None:
    shapes = {kind: (order_of(menu) or PoolingOrder(NO_SHAPE)).shape for kind, menu in menus().items()}
    chains = {kind for kind, shape in shapes.items() if shape == CHAIN}
    assert chains == {"top_k", "thresholds", "chain"}
    assert {kind for kind, shape in shapes.items() if shape == INTERVALS} == {"intervals", "halves", "third"}


@pytest.mark.parametrize("menu", WITHOUT.values(), ids=WITHOUT.keys())
def test_no_order(menu: Menu) -> None:
    assert order_of(menu) is None
    assert cells_of(menu) is None
    assert Selector(menu, 0.8).learning.bounds == "half-log"


def test_orders_that_would_take_too_long() -> None:
    """Each limit at its edge: asked, compared, listed."""
    options = list(range(1, MOST_ASKED + 1))
    asked = order_of(Menu(options, safe="all", order=divides, safe_cost=1.0))
    assert asked is not None
    assert asked.pairs == sum(MOST_ASKED // a for a in options)
    assert order_of(Menu([*options, 1000], safe="all", order=divides, safe_cost=1.0)) is None
    assert order_of(Menu.grid(a=range(64), b=range(64), safe_cost=1.0)) is None  # 4,095 options, four million pairs
    few = order_of(Menu.subsets({str(i): 1 for i in range(90)}, at_most=2, **PERSON, skip=True))
    assert few is not None
    assert few.pairs == 90 + 3 * (90 * 89 // 2)
    many = Menu.subsets({str(i): 1 for i in range(91)}, at_most=2, **PERSON, skip=True)
    assert len(many.options) > MOST_COMPARED
    assert order_of(many) is None
    assert Selector(many, 0.8).learning.bounds == "half-log"


@pytest.mark.parametrize("items", [62, 63, 64, 65, 80])
def test_more_items_than_a_number_has_bits(items: int) -> None:
    menu = Menu.subsets({f"{i:02}": 1 for i in range(items)}, at_most=2, **PERSON, skip=True)
    order = order_of(menu)
    assert order is not None
    found = around(menu, order)
    for arm in (1, items // 2, items, items + 1, menu.n_arms - 2):
        assert found[arm] == [other for other in range(menu.n_arms)[menu.interior] if menu.nested(arm, other)]
    assert cells_of(menu) is None


@given(st.lists(st.sets(st.integers(0, 5), min_size=1), min_size=2, max_size=12, unique_by=frozenset))
@settings(max_examples=60, deadline=None)
def test_any_order_of_ones_own(sets: list[set[int]]) -> None:
    """Any family of sets, in any order of the options."""
    options = [tuple(sorted(one)) for one in sets]
    menu = Menu(options, safe="all", order=lambda a, b: set(a) >= set(b), safe_cost=1.0)
    order = order_of(menu)
    listed = {arm: [other for other in range(len(options)) if menu.nested(arm, other)] for arm in range(len(options))}
    if order is None:
        assert all(others == [arm] for arm, others in listed.items())
    else:
        assert around(menu, order) == listed


# --- cells


def implied(menu: Menu, cells: Cells, masses: NDArray[np.float64]) -> NDArray[np.float64]:
    """The success of each arm if its cells hold these masses."""
    assert cells.members is not None
    if cells.form == SPANS:
        spans = cells.members.reshape(menu.n_arms, 2).astype(int)
        return np.array([masses[low:high].sum() for low, high in spans])
    return np.asarray(cells.members.reshape(menu.n_arms, cells.count) @ masses)


def random_masses(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Some large, some small, some none at all."""
    masses = rng.gamma(0.3, size=count) * (rng.random(count) < 0.8) + 1e-9
    return np.asarray(masses / masses.sum())


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
@pytest.mark.parametrize("grid", [2, 3, 5, 20])
def test_the_cells_of_intervals(grid: int, end: dict[str, Any]) -> None:
    """Atoms on grid points and between them; an interval holds those that lie in it, its ends included."""
    rng = np.random.default_rng(grid)
    menu = Menu.intervals(step=Fraction(1, grid), **{"skip": True, **end})
    cells = cells_of(menu)
    assert cells is not None
    fails = int("safe_success" in end)
    assert cells.count == 2 * grid + 1 + fails
    for _ in range(5):
        masses = random_masses(rng, cells.count)
        # Cell 2i is the grid point i, cell 2i + 1 any place in the gap behind it.
        atoms = [k / 2 / grid if k % 2 == 0 else (k // 2 + rng.uniform(0.01, 0.99)) / grid for k in range(2 * grid + 1)]
        success = implied(menu, cells, masses)
        for arm in range(menu.n_arms)[menu.interior]:
            low, high = menu.option(arm)
            held = sum(mass for atom, mass in zip(atoms, masses, strict=False) if low <= atom <= high)
            assert success[arm] == pytest.approx(held, abs=1e-12)
        assert success[-1] == pytest.approx(1.0 - masses[-1] * fails)
        assert not menu.has_skip or success[0] == 0.0


@pytest.mark.parametrize("kind", ["subsets", "all items", "at most two", "cheap ones"])
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
def test_the_cells_of_subsets(kind: str, end: dict[str, Any]) -> None:
    """Every pattern of items that are right, each with its probability: a subset succeeds if one of its items is."""
    rng = np.random.default_rng(2)
    menu = menus(**end)[kind]
    cells = cells_of(menu)
    assert cells is not None
    names = sorted({name for option in menu.options for name in option})
    assert cells.count == 2 ** len(names)
    masses = random_masses(rng, cells.count)
    patterns = [
        {name for name, right in zip(names, reversed(bits), strict=True) if right}
        for bits in itertools.product([0, 1], repeat=len(names))
    ]
    success = implied(menu, cells, masses)
    for arm in range(menu.n_arms)[menu.interior]:
        right = sum(mass for pattern, mass in zip(patterns, masses, strict=True) if pattern & set(menu.option(arm)))
        assert success[arm] == pytest.approx(right)


@pytest.mark.parametrize("menu", EVERY.values(), ids=EVERY.keys())
def test_what_contains_more_holds_more_cells(menu: Menu) -> None:
    """Cells and order agree: if B contains A, all cells of A are B's."""
    cells = cells_of(menu)
    if cells is None:
        return
    units = np.array([implied(menu, cells, unit) for unit in np.eye(cells.count)]).T  # an arm per row
    assert set(units.ravel().tolist()) <= {0.0, 1.0}
    inner = range(menu.n_arms)[menu.interior]
    for a, b in itertools.product(inner, inner):
        assert menu.nested(a, b) == bool((units[a] <= units[b]).all())


def test_cells_that_would_be_too_many() -> None:
    assert cells_of(Menu.top_k(range(1, MOST_CELLS), classes=1000, skip=True)) is not None
    assert cells_of(Menu.top_k(range(1, MOST_CELLS + 1), classes=1000, skip=True)) is None
    assert cells_of(Menu.intervals(step=Fraction(1, 127), skip=True)) is not None
    assert cells_of(Menu.intervals(step=Fraction(1, 128), skip=True)) is None
    eight = dict.fromkeys("abcdefgh", 1)
    found = cells_of(Menu.subsets(eight, skip=True))
    assert found is not None
    assert found.count == 256
    assert cells_of(Menu.subsets({**eight, "i": 1}, skip=True)) is None


@pytest.mark.parametrize("kind", ["grid", "line", "own"])
def test_kinds_without_cells(kind: str) -> None:
    assert cells_of(menus()[kind]) is None


def test_listed_by_hand_a_menu_is_ordered_all_the_same() -> None:
    """An order that is known by name, on options that someone wrote down himself: some of the intervals, some subsets."""
    some = Menu({("a",): 1.0, ("a", "b"): 2.0, ("c", "b", "a"): 3.0}, safe="all", safe_cost=5, order=superset)
    order = order_of(some)
    assert order is not None
    assert around(some, order) == {0: [0, 1, 2], 1: [1, 2], 2: [2]}
