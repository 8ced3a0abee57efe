"""The kernels: the same arms as a plain scan, always; compiled, uncompiled and by objects; and the tree's invariants."""

import copy
import json
import math
import os
import pickle
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suffice import Menu, Selector, simulate, warmup
from suffice.kernels.compiler import available, compiled
from suffice.lab.streams import LabelRanks
from suffice.learning import bound_formulas as formulas
from suffice.learning import bounds, envelope
from suffice.learning.arm_table import catch_up, cheapest, learn_arm, scan, sort_by_slope
from suffice.learning.choosers import Optimist
from suffice.learning.custom_learner import CustomLearner
from suffice.learning.envelope import lowest, update
from suffice.learning.records import ArmRow, Lesson, Table, TableHead
from suffice.learning.table_learner import TableLearner
from suffice.selector.compiled import CompiledEngine
from suffice.selector.plain import PlainEngine
from tests.support.book import promised
from tests.support.tables import check_tree, column, fresh_table, head_of, tell

needs_compiler = pytest.mark.skipif(not available(), reason="the extra `fast` is not installed")


def fresh(count: int, kind: int, known: bool, seed: int, *, compiled: bool, twins: bool = False) -> Table:
    """Arms of a random menu, with a tree; with twins, many arms share a cost."""
    rng = np.random.default_rng(seed)
    costs = np.sort(rng.random(count - 2))
    if twins:
        costs = np.round(costs, 1)
    menu = Menu(range(count - 2), safe="all", skip="none", costs=costs.tolist() if known else None)
    return fresh_table(menu, kind, compiled=compiled, tree=True)


def contest(table: Table, truth: Any, draws: Any, step: float) -> int:
    """Play the lowest line at a wandering price, and compare the tree with a scan at every step."""
    price, differences = 2.5, 0
    for told in range(len(draws)):
        arm = cheapest(table, price)
        if arm != scan(table, price):
            differences += 1
        success = 1.0 if draws[told] < truth[arm] else 0.0
        price = min(max(price + step * (0.8 - success), 1e-3), 4.999)
        table.head.steps += 1
        lesson = Lesson(arm, success, draws[told] * truth[arm], 0.0, 0, True, True, True)
        due = learn_arm(table, lesson, price, price)
        if due > 0:
            catch_up(table, due, arm, price)
    return differences


SIZES = [2, 3, 5, 8, 65, 211, 1276, 5051, 20_000, 125_251]


def steps_for(count: int, budget: int) -> int:
    return min(60_000, max(500, budget // count))


def run_contest(count: int, kind: int, known: bool, twins: bool, step: float, budget: int) -> int:
    table = fresh(count, kind, known, seed=count, compiled=True, twins=twins)
    rng = np.random.default_rng(count + 1)
    truth = np.concatenate([[0.0], np.sort(rng.random(count - 2)), [1.0]])
    if twins:
        truth = np.round(truth, 1)
    draws = rng.random(steps_for(count, budget))
    differences = int(compiled(contest)(table, truth, draws, step))
    assert differences == 0
    return len(draws)


@needs_compiler
@pytest.mark.parametrize("kind", [formulas.HALF_LOG, formulas.KL, formulas.HOEFFDING])
@pytest.mark.parametrize("known", [True, False])
def test_the_tree_chooses_what_a_scan_chooses(kind: int, known: bool) -> None:
    """Every size, duplicate arms and massive ties (where costs are told all lines are equal at first), two step sizes."""
    compared = sum(
        run_contest(count, kind, known, twins, step, budget=12_000_000)
        for count in SIZES
        for twins in (False, True)
        for step in (0.5, 0.003)
    )
    assert compared > 500_000


@pytest.mark.long
@needs_compiler
def test_fifty_million_steps() -> None:
    compared = 0
    for round_ in range(40):
        for count in SIZES:
            for kind in (formulas.HALF_LOG, formulas.KL, formulas.HOEFFDING):
                for known in (True, False):
                    compared += run_contest(count, kind, known, round_ % 2 == 1, 0.5 / (1 + round_), 400_000_000)
    assert compared >= 50_000_000


@pytest.mark.parametrize("count", [5, 30, 211])
@pytest.mark.parametrize("known", [True, False])
def test_the_invariants_hold(count: int, known: bool) -> None:
    """After every hundredth outcome the tree is checked node by node, at its own price and at others."""
    table = fresh(count, formulas.KL, known, seed=1, compiled=False)
    rng = np.random.default_rng(2)
    truth = np.concatenate([[0.0], np.sort(rng.random(count - 2)), [1.0]])
    price = 2.5
    for told in range(1, 1201):
        arm = cheapest(table, price)
        assert arm == scan(table, price)
        success = float(rng.random() < truth[arm])
        price = min(max(price + 0.02 * (0.8 - success), 1e-3), 4.999)
        tell(table, arm, success, float(rng.random()), price)
        if told % 100 == 0:
            prices = [price, *np.linspace(0, 5, 41), *rng.uniform(0, 5, 40)]
            check_tree(table.room, head_of(table).leaves, prices)


def test_the_checker_notices_a_wrong_tree() -> None:
    tree = fresh(30, formulas.KL, True, seed=1, compiled=False).room
    check_tree(tree, 4, [2.5])
    tree[envelope.WIDTH * 5 + envelope.ARM] = 29.0
    with pytest.raises(AssertionError, match="node 5 is certain of the wrong arm"):
        check_tree(tree, 4, [2.5])
    tree = fresh(30, formulas.KL, True, seed=1, compiled=False).room
    tree[envelope.WIDTH * 3 + envelope.MOST] = 7.0
    with pytest.raises(AssertionError, match="extreme slopes of node 3"):
        check_tree(tree, 4, [2.5])
    tree = fresh(30, formulas.KL, True, seed=1, compiled=False).room
    tree[envelope.bucket_of(4, 5) + 2 * envelope.BUCKET] += 1.0
    with pytest.raises(AssertionError, match="one place"):
        check_tree(tree, 4, [2.5])


def test_nearly_equal_lines() -> None:
    """Slopes and costs that differ in their last bits, where certificates are most in danger of being too wide."""
    rng = np.random.default_rng(3)
    for trial in range(60):
        count, size = 32, 4
        tree = [0.0] * envelope.room(size)
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


class Kl(bounds.KL):
    """The same bounds as objects: a subclass is a user's own."""


class Hoeffding(bounds.Hoeffding):
    pass


class HalfLog(bounds.HalfLog):
    pass


class Paper(bounds.Paper):
    pass


MENUS = {
    "small, known": Menu({i: (i + 1) / 12 for i in range(10)}, safe="all", skip="none"),
    "small, told": Menu(range(10), safe="all", safe_cost=3.0),
    "large, known": Menu.intervals(step=0.05),
    "large, told": Menu(range(150), safe="all", skip="none"),
    "large, no skip": Menu.top_k(range(1, 120), classes=120, skip=False),
}


@pytest.mark.parametrize("menu", MENUS.values(), ids=MENUS.keys())
@pytest.mark.parametrize("kind", ["half-log", "kl", "hoeffding", "paper"])
@pytest.mark.parametrize("horizon", [None, 1500])
def test_compiled_uncompiled_and_objects_play_the_same_arms(menu: Menu, kind: str, horizon: int | None) -> None:
    """Also with outcomes that come late, expire and are amended, across several epochs and the end of the horizon."""
    own = {"half-log": HalfLog, "kl": Kl, "hoeffding": Hoeffding, "paper": Paper}[kind]()
    contestants = [
        Selector(menu, 0.8, horizon, bounds=kind),
        Selector(menu, 0.8, horizon, bounds=own, chooser=Optimist()),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SUFFICE_NO_COMPILE", "1")
        plain = Selector(menu, 0.8, horizon, bounds=kind)
    assert isinstance(plain.learner, TableLearner)
    assert plain.learner.compiled is None
    assert isinstance(plain._engine, PlainEngine)
    contestants.append(plain)
    assert isinstance(contestants[1].learner, CustomLearner)
    rng = np.random.default_rng(0)
    truth = np.concatenate([[0.0] * menu.has_skip, np.sort(rng.random(len(menu.options))), [1.0]])
    out: list[list[Any]] = []
    for step in range(1800):
        if step == 900:
            contestants = [copy.deepcopy(selector) for selector in contestants]
        decisions = [selector.ask() for selector in contestants]
        assert len({(decision.arm, decision.price) for decision in decisions}) == 1, f"step {step}"
        out.append(decisions)
        while len(out) > (0 if step % 300 < 200 else 4):
            late = out.pop(int(rng.integers(len(out))))
            success, cost = bool(rng.random() < truth[late[0].arm]), float(rng.random())
            known = menu.known_cost(late[0].arm)
            for selector, decision in zip(contestants, late, strict=True):
                if step % 97 == 0:
                    selector.expire(decision)
                selector.tell(decision, success, cost if known is None else None)
    assert len({selector.outcomes for selector in contestants}) == 1
    states = [selector.state() for selector in contestants]
    assert states[0]["accounts"] == states[1]["accounts"] == states[2]["accounts"]
    assert len({json.dumps(state["learner"]["tally"]) for state in states}) == 1


def test_without_the_compiler_the_same_arms() -> None:
    """A process in which compiling is switched off plays what this one plays."""
    code = (
        "import random, suffice; random.seed(3); s = suffice.Selector(suffice.Menu.intervals(step=0.1), 0.8)\n"
        "for _ in range(800):\n    d = s.ask(); s.tell(d, random.random() < 0.2 + 0.8 * s.menu.known_cost(d.arm)); "
        "print(d.arm, d.price)"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **switch}
        ).stdout
        for switch in ({}, {"SUFFICE_NO_COMPILE": "1"})
    ]
    assert runs[0] == runs[1]
    assert len(set(runs[0].split())) > 20


def test_small_menus_need_no_compiler(tmp_path: Path) -> None:
    """Unless machine code lies in the cache already."""
    empty = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    code = (
        "import sys, suffice; s = suffice.Selector(suffice.Menu.top_k([5, 10], classes=100), 0.9); "
        "s.tell(s.ask(), True); s.ask(); print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=empty)
    assert done.stdout == "False\n"


@needs_compiler
def test_small_menus_use_machine_code_that_is_at_hand() -> None:
    warmup()  # leaves it in the cache
    code = (
        "import sys, suffice; s = suffice.Selector(suffice.Menu.top_k([5, 10], classes=100), 0.9); "
        "s.tell(s.ask(), True); s.ask(); print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_unplayed_lines_of_the_paper_are_infinite_and_scanned() -> None:
    table = fresh(100, formulas.PAPER, False, seed=0, compiled=False)
    assert cheapest(table, 1.0) == 1
    assert math.isinf(column(table, "upper")[1])


@pytest.mark.parametrize(
    "target", [1 / 3, 0.123456789, Fraction(10**40 - 1, 3 * 10**40), 0.999999, Fraction(999_999, 10**6), 0.999999999]
)
@pytest.mark.parametrize("options", [3, 120])
def test_fine_targets_stay_in_whole_numbers(target: Any, options: int) -> None:
    """Compiled whole numbers have 64 bits: in billionths every target fits, also once all is warm."""
    if available():
        warmup()
    phi = promised(target)
    menu = Menu({i: (i + 1) / 200 for i in range(options)}, safe="all", skip="none")
    selector = Selector(menu, target)
    assert isinstance(selector._engine, CompiledEngine) == available()
    rng = np.random.default_rng(0)
    successes = 0
    for told in range(1, 1500):
        assert (selector.ask(audit=False).option == "all") >= (phi * (told - 1) >= successes)
        decision = selector.ask()
        graded = {"all": 1.0, "none": 0.0}.get(decision.option, float(rng.random() < 0.4))
        selector.tell(decision, graded)
        successes += int(graded)
        assert selector.debt == float(phi * told - successes)
        assert selector.debt <= phi
    certificate = selector.certificate()
    assert certificate.holds
    assert certificate.consistent
    assert not certificate.breach
    stream = LabelRanks.cifar100()
    trace = simulate(Selector(stream.menu, target), stream, 500)
    assert trace.largest_debt <= float(phi) + 1e-9


@needs_compiler
def test_a_compiled_selector_goes_on_where_there_is_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pickled on one machine, unpickled on another: the same arms, in plain code."""
    menu = Menu.intervals(step=0.1)
    selector = Selector(menu, 0.8)
    rng = np.random.default_rng(0)
    for _ in range(300):
        decision = selector.ask()
        selector.tell(decision, bool(rng.random() < 0.3 + 0.7 * (menu.known_cost(decision.arm) or 0)))
    packed = pickle.dumps(selector)
    monkeypatch.setenv("SUFFICE_NO_COMPILE", "1")
    plain = pickle.loads(packed)
    assert isinstance(plain._engine, PlainEngine)
    for _ in range(300):
        one, other = selector.ask(), plain.ask()
        assert (one.arm, one.price) == (other.arm, other.price)
        success = bool(rng.random() < 0.3 + 0.7 * (menu.known_cost(one.arm) or 0))
        selector.tell(one, success)
        plain.tell(other, success)
    assert plain.state()["accounts"] == selector.state()["accounts"]


@needs_compiler
@pytest.mark.parametrize("what", ["nobody's home", "nowhere to write"])
def test_where_nothing_can_be_kept_it_is_compiled_all_the_same(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """As for a user without a home, on a disk that only others may write to."""
    import numba

    def refused(*_: Any, **__: Any) -> Any:
        raise RuntimeError(what)

    if what == "nobody's home":
        for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr("pathlib.Path.home", refused)
    else:
        monkeypatch.setattr("numba.core.dispatcher.FunctionCache", refused)

    def double(number: float) -> float:
        return 2.0 * number

    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    assert compiled(double)(3.0) == 6.0
    assert before == numba.config.CACHE_DIR  # type: ignore[attr-defined]
