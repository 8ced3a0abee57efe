"""The envelope: the arms that a plain scan chooses, always; its invariants; and the sort of its leaves."""

import math
from typing import Any

import numpy as np
import pytest

from suffice import Menu
from suffice.kernels.compiler import available
from suffice.learning import bound_formulas as formulas
from suffice.learning import envelope
from suffice.learning.arm_table import cheapest, sort_by_slope
from suffice.learning.envelope import lowest, update
from suffice.learning.records import ArmRow, Table, TableHead
from tests.support.tables import (
    cells,
    check_tree,
    column,
    fresh_table,
    head_of,
    needs_compiler,
    play_both_ways,
    tell,
    twin,
)

CODES = {"ordered": formulas.ORDERED, "interval-closure": formulas.INTERVAL_CLOSURE}


def fresh(count: int, kind: int, known: bool, seed: int, *, compiled: bool, twins: bool = False) -> Table:
    """Arms of a random menu, with a tree; with twins, many arms share a cost."""
    rng = np.random.default_rng(seed)
    costs = np.sort(rng.random(count - 2))
    if twins:
        costs = np.round(costs, 1)
    menu = Menu(range(count - 2), safe="all", skip="none", costs=costs.tolist() if known else None, safe_cost=1.0)
    return fresh_table(menu, kind, compiled=compiled, tree=True)


SIZES = [2, 3, 5, 8, 65, 211, 1276, 5051, 20_000, 125_251]


def steps_for(count: int, budget: int) -> int:
    return min(60_000, max(500, budget // count))


def compare_random(count: int, kind: int, known: bool, twins: bool, step: float, budget: int) -> int:
    table = fresh(count, kind, known, seed=count, compiled=True, twins=twins)
    rng = np.random.default_rng(count + 1)
    truth = np.concatenate([[0.0], np.sort(rng.random(count - 2)), [1.0]])
    if twins:
        truth = np.round(truth, 1)
    draws = rng.random(steps_for(count, budget))
    assert twin(play_both_ways, True)(table, truth, draws, step, np.zeros(len(draws), dtype=np.int64)) == 0
    return len(draws)


@needs_compiler
@pytest.mark.parametrize("kind", [formulas.HALF_LOG, formulas.KL, formulas.HOEFFDING])
@pytest.mark.parametrize("known", [True, False])
def test_the_tree_chooses_what_a_scan_chooses(kind: int, known: bool) -> None:
    """Every size, duplicate arms and massive ties (where costs are told all lines are equal at first), two step sizes."""
    compared = sum(
        compare_random(count, kind, known, twins, step, budget=12_000_000)
        for count in SIZES
        for twins in (False, True)
        for step in (0.5, 0.003)
    )
    assert compared > 500_000


def test_nearly_equal_lines() -> None:
    """Slopes and costs that differ in their last bits, where certificates are most in danger of being too wide."""
    rng = np.random.default_rng(3)
    for trial in range(60):
        count, size = 32, 4
        tree = [0.0] * envelope.tree_size(size)
        costs = [0.5 + float(rng.integers(-4, 5)) * 2.0**-52 for _ in range(count)]
        slopes = [0.7 + float(rng.integers(-4, 5)) * 2.0 ** -int(rng.choice([20, 40, 52])) for _ in range(count)]
        order = sorted(range(count), key=lambda arm: slopes[arm])
        for place, arm in enumerate(order):
            envelope.set_line(tree, size, place, costs[arm], slopes[arm], arm)
        margin = 2.0**-48 * 6.0
        envelope.settle_all(tree, size, 1.0, margin)
        for _ in range(200):
            price = float(rng.uniform(0, 5)) if rng.random() < 0.5 else 1.0 + float(rng.integers(-9, 10)) * 2.0**-50
            scores = [(costs[arm] - price * slopes[arm], arm) for arm in range(count)]
            assert lowest(tree, size, price, margin) == min(scores)[1], trial
            arm = int(rng.integers(count))
            slopes[arm] += float(rng.integers(-2, 3)) * 2.0**-52
            update(tree, size, order.index(arm), costs[arm], slopes[arm], price, margin)


def test_sorting() -> None:
    rng = np.random.default_rng(0)
    for count in (1, 2, 3, 17, 100):
        keys = np.round(rng.random(count), 1).tolist()
        table = Table(TableHead(arms=count), [ArmRow(upper=key) for key in keys], [0.0] * (4 * count))
        sort_by_slope(table)
        assert [int(arm) for arm in table.room[:count]] == sorted(range(count), key=lambda k: keys[k])


def test_unplayed_lines_of_the_paper_are_infinite_and_scanned() -> None:
    table = fresh(100, formulas.PAPER, False, seed=0, compiled=False)
    assert cheapest(table, 1.0) == 1
    assert math.isinf(column(table, "upper")[1])


# --- with bounds that use the outcomes of other arms


def twos(a: int, b: int) -> bool:
    return (a & b) == b


SIZED = {
    "chain of 8": Menu.top_k(range(1, 7), classes=10, skip=True),
    "chain of 65": Menu.top_k(range(1, 64), classes=100, skip=True),
    "chain of 211, told": Menu(range(209), safe="all", skip="none", order="chain", safe_cost=1.0),
    "chain of 1276": Menu.top_k(range(1, 1275), classes=2000, skip=True),
    "own of 8": Menu([1, 2, 3, 4, 5, 6], safe="all", skip="none", order=twos, safe_cost=1.0),
    "subsets of 65": Menu.subsets({name: 1 + place for place, name in enumerate("abcdef")}, safe=0, safe_cost=99, skip=True),
    "grid of 211": Menu.grid(
        a=range(6), b=range(5), c=range(7), costs=lambda p: (p["a"] + p["b"] + p["c"]) / 16, skip=True, safe_cost=1.0
    ),
    "intervals of 7": Menu.intervals(step=1 / 3, skip=True),
    "intervals of 67": Menu.intervals(step=1 / 11, skip=True),
    "intervals of 211": Menu.intervals(step=0.05, skip=True),
    "intervals of 1276": Menu.intervals(step=0.02, skip=True),
}  # fmt: skip


def truth_of(menu: Menu, seed: int) -> Any:
    """Successes that respect the order: intervals hold points, all others succeed the more often the dearer they are."""
    rng = np.random.default_rng(seed)
    if menu.kind == "intervals":
        points = np.sort(np.concatenate([rng.beta(2, 5, 500), rng.integers(0, 21, 100) / 20]))
        ends = np.array([menu.option(arm) for arm in range(menu.n_arms)[menu.interior]])
        held = np.searchsorted(points, ends[:, 1], "right") - np.searchsorted(points, ends[:, 0], "left")
        inner = held / points.size
    else:
        inner = np.sort(rng.random(len(menu.options)))
        if menu.costs is not None:
            inner = inner[np.argsort(np.argsort(menu.costs, kind="stable"))]
    return np.concatenate([[0.0] * menu.has_skip, inner, [1.0]])


def compare_ordered(menu: Menu, code: int, step: float, steps: int, *, compiled: bool = True) -> tuple[Any, Any]:
    table = fresh_table(menu, code, compiled=compiled, tree=True)
    played = np.zeros(steps, dtype=np.int64)
    draws = np.random.default_rng(menu.n_arms).random(steps)
    truth = truth_of(menu, menu.n_arms)
    if not compiled:
        draws, truth = draws.tolist(), truth.tolist()
    assert twin(play_both_ways, compiled)(table, truth, draws, step, played) == 0
    return played, cells(table)


@needs_compiler
@pytest.mark.parametrize("kind", CODES)
@pytest.mark.parametrize("menu", SIZED.values(), ids=SIZED.keys())
def test_the_tree_chooses_what_a_scan_chooses_in_an_order(menu: Menu, kind: str) -> None:
    steps = 3_000 if menu.n_arms > 1000 else 15_000
    for step in (0.5, 0.003):
        played, _ = compare_ordered(menu, CODES[kind], step, steps)
        assert len(set(played.tolist())) > 4


@needs_compiler
@pytest.mark.parametrize("kind", CODES)
@pytest.mark.parametrize(
    "name", ["chain of 8", "chain of 65", "own of 8", "subsets of 65", "intervals of 7", "intervals of 67"]
)
def test_compiled_and_uncompiled_give_the_same_numbers(name: str, kind: str) -> None:
    """Arm by arm and, at the end, cell by cell."""
    menu = SIZED[name]
    steps = 150 if name == "intervals of 67" else 700
    mine, kept = compare_ordered(menu, CODES[kind], 0.1, steps)
    theirs, listed = compare_ordered(menu, CODES[kind], 0.1, steps, compiled=False)
    assert (mine == theirs).all()
    assert np.array_equal(kept, listed, equal_nan=True)


@pytest.mark.parametrize("kind", CODES)
@pytest.mark.parametrize("name", ["chain of 8", "subsets of 65", "intervals of 67"])
def test_the_invariants_hold_in_an_order(name: str, kind: str) -> None:
    """After refreshes, too, which change many lines at once."""
    menu = SIZED[name]
    table = fresh_table(menu, CODES[kind], compiled=available(), tree=True)
    rng = np.random.default_rng(2)
    truth, price = truth_of(menu, 1), 2.5
    for told in range(1, 500):
        arm = twin(cheapest, available())(table, price)
        success = float(rng.random() < truth[arm])
        price = min(max(price + 0.05 * (0.8 - success), 1e-3), 4.999)
        tell(table, arm, success, 0.2, price, compiled=available())
        if told % 50 == 0:
            prices = [price, *np.linspace(0, 5, 21), *rng.uniform(0, 5, 20)]
            check_tree(table.room, head_of(table).leaves, prices)
