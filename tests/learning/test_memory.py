"""Memory: what is forgotten, and when; and that the promise forgets nothing."""

import json
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from suffice import InvalidArgument, Learning, Menu, Selector, paper, simulate
from suffice.kernels.compiler import available
from suffice.kernels.compiler import compiled as twin_of
from suffice.lab.streams import LabelRanks, Phases, PredictionApis, UnitPoints
from suffice.lab.streams.shapes import Beta
from suffice.learning import forgetting
from suffice.learning.bounds import KL, HalfLog
from suffice.learning.choosers import Optimist
from suffice.learning.memory import LONGEST, Memory, resolve_memory
from suffice.learning.records import Lesson, Table
from suffice.learning.table_learner import TableLearner, check_tally
from suffice.learning.tables import as_arrays
from tests.support.book import promised
from tests.support.naive_memory import (
    CHAIN,
    INTERVALS,
    LOOSE,
    MEMORIES,
    MENUS,
    NAIVE,
    Floats,
    NaiveReset,
    NaiveWindow,
    Outcome,
    against,
    least,
)
from tests.support.tables import as_table, compiled_or_not, needs_compiler, put, uncompiled

pytestmark = pytest.mark.usefixtures("warm")  # small menus run compiled then, except where that is switched off
every_menu = pytest.mark.parametrize("menu", MENUS.values(), ids=MENUS.keys())


def selector_of(menu: Menu, target: float = 0.8, *, compiled: bool = True, **rules: Any) -> Selector:
    """A selector whose learner runs as wanted, now and later."""
    with uncompiled(not compiled):
        selector = Selector(menu, target, **rules)
    learner = selector.learner
    if isinstance(learner, TableLearner):
        assert (learner.compiled is not None) == (compiled and available())
    return selector


def learner_of(menu: Menu, memory: str, *, compiled: bool = True) -> TableLearner:
    learner = selector_of(menu, compiled=compiled, learning=Learning(memory=memory, bounds="half-log")).learner
    assert isinstance(learner, TableLearner)
    return learner


def teach(learner: TableLearner, arm: int, success: float, cost: float | None, *, late: bool = False) -> None:
    """Have an outcome learned at a price of 2.5."""
    spent = math.nan if cost is None else cost
    learner.follow(Lesson(arm, success, spent, 2.5, True, not late, True), 2.5)


def both_kinds(table: Table) -> list[tuple[Table, Callable[[Any], Any]]]:
    """A plain table, and a copy as arrays; each with what makes a function its kind."""
    return [(table, lambda function: function), (as_table(as_arrays(table), compiled=True), twin_of)]


# --- the sums of pools


@st.composite
def menus(draw: Any) -> Menu:
    skip = draw(st.booleans())
    kind = draw(st.sampled_from(["chain", "intervals", "subsets", "grid", "own", "loose"]))
    if kind == "chain":
        return Menu.top_k(draw(st.lists(st.integers(1, 98), min_size=1, max_size=12)), classes=99, skip=skip)
    if kind == "intervals":
        return Menu.intervals(step=Fraction(1, draw(st.integers(2, 9))), skip=skip)
    if kind == "subsets":
        items = dict.fromkeys("abcd"[: draw(st.integers(2, 4))], 0.1)
        return Menu.subsets(items, safe="all", safe_cost=1.0, skip=skip)
    if kind == "grid":
        axes: Any = {name: range(draw(st.integers(2, 4))) for name in "xyz"[: draw(st.integers(1, 3))]}
        return Menu.grid(skip=skip, **axes, safe_cost=1.0)
    count = draw(st.integers(1, 9))
    order: Any = (lambda outer, inner: outer % inner == 0) if kind == "own" else None
    ends: Any = {"skip": "none"} if skip else {}
    return Menu(range(1, count + 1), safe="all", costs=[0.5] * count, order=order, **ends, safe_cost=1.0)


def naive_sums(menu: Menu, before: Floats, now: Floats) -> Floats:
    """Per interior arm: of all inside it and of all around it, before and since, as `_pool` orders them."""
    inner = range(menu.n_arms)[menu.interior]
    since = now - before
    rows = []
    for arm in inner:
        inside = [other for other in inner if menu.nested(other, arm)]
        around = [other for other in inner if menu.nested(arm, other)]
        rows.append(np.concatenate([part[who].sum(axis=0) for part in (before, since) for who in (inside, around)]))
    return np.array(rows)


@settings(max_examples=60, deadline=None)
@given(menu=menus(), seed=st.integers(0, 10**6), whole=st.booleans())
def test_the_sums_are_those_of_the_order(menu: Menu, seed: int, whole: bool) -> None:
    rng = np.random.default_rng(seed)
    before = np.zeros((menu.n_arms, 2))
    before[:, 0] = rng.integers(0, 50, menu.n_arms) * (rng.random(menu.n_arms) < 0.7)
    before[:, 1] = before[:, 0] * rng.random(menu.n_arms)
    later = rng.integers(0, 50, menu.n_arms) * (rng.random(menu.n_arms) < 0.7)
    now = before + np.stack([later, later * rng.random(menu.n_arms)], axis=1)
    if whole:
        before, now = np.floor(before), np.floor(now)
    table = learner_of(menu, "reset", compiled=False).table.plain()
    moment = forgetting.moment_at(table, 0, 1)
    for arm in range(menu.n_arms):
        table.room[moment + 1 + arm], table.room[moment + 1 + menu.n_arms + arm] = before[arm].tolist()
        table.arms[arm].plays, table.arms[arm].successes = now[arm].tolist()
    room = forgetting.moment_at(table, table.head.memory_levels, 0)
    wanted = naive_sums(menu, before, now)
    found = []
    for kind, made in both_kinds(table):
        made(forgetting._pool)(kind, moment, room)
        rows = np.array(kind.room[room : room + 8 * menu.n_arms]).reshape(menu.n_arms, 8)[menu.interior]
        np.testing.assert_allclose(rows, wanted, atol=1e-9, rtol=0)
        assert not whole or np.array_equal(rows, wanted)
        assert np.array_equal(rows[:, ::2], np.rint(rows[:, ::2]))  # plays are counted exactly
        found.append(rows)
    assert np.array_equal(found[0], found[1])
    assert room + 8 * menu.n_arms <= len(table.room)


# --- whether two means are apart


COUNTS = st.one_of(st.integers(1, 200), st.integers(1, 10**7)).map(float)
SHARES = st.one_of(st.sampled_from([0.0, 1.0, 1e-9, 1.0 - 1e-9]), st.floats(0.0, 1.0))


@settings(max_examples=400, deadline=None)
@given(plays=COUNTS, others=COUNTS, first=SHARES, second=SHARES, level=st.floats(0.0, 60.0))
def test_apart_is_the_minimum_over_all_probabilities(
    plays: float, others: float, first: float, second: float, level: float
) -> None:
    successes, other_successes = plays * first, others * second
    found = forgetting.means_differ(plays, successes, others, other_successes, level)
    assert found == twin_of(forgetting.means_differ)(plays, successes, others, other_successes, level)
    if first <= second:
        assert not found
        return
    exact = least(plays, successes / plays, others, other_successes / others)
    grid = [against(plays, successes / plays, others, other_successes / others, p) for p in np.linspace(0.0, 1.0, 101)]
    assert exact <= min(grid) * (1.0 + 1e-9) + 1e-9
    needed = level + math.log((plays + 1.0) * (others + 1.0))
    margin = 1e-9 * (1.0 + exact)
    if exact > needed + margin:
        assert found
    if exact < needed - margin:
        assert not found
    # Just below what is needed, and just above.
    for function in (forgetting.means_differ, twin_of(forgetting.means_differ)) if exact > 1e-3 else ():
        assert function(plays, successes, others, other_successes, level + exact - needed - 2 * margin)
        assert not function(plays, successes, others, other_successes, level + exact - needed + 2 * margin)


def test_apart_is_not_put_off_by_late_successes_and_rounding() -> None:
    """More successes than plays, fewer than none, and a mean that rounds to 1: no error, and never a contradiction."""
    for function in (forgetting.means_differ, twin_of(forgetting.means_differ)):
        assert function(10.0, 110.0, 100.0, 0.0, 5.0)  # the ten since all succeeded, and none before
        assert not function(3.0, 5.0, 3.0, 4.0, 0.0)
        assert not function(3.0, 5.0, 3.0, 3.0, 0.0)
        assert not function(5.0, 0.0, 5.0, -1e-13, 0.0)
        assert not function(1e15, 1e15, 1.0, 1.0 - 1e-9, 0.0)
        assert not function(0.0, 0.0, 5.0, 1.0, 0.0)
        assert not function(5.0, 5.0, 0.0, 1.0, 0.0)


# Plays and successes before and since, of three options each inside the next. The first and the last keep the pools of the
# middle one from saying what its own outcomes say.
ONLY = {
    "its own outcomes, worse": ([(2000, 0), (200, 200), (0, 0)], [(0, 0), (100, 0), (2000, 2000)]),
    "its own outcomes, better": ([(0, 0), (100, 0), (2000, 2000)], [(2000, 0), (200, 200), (0, 0)]),
    "the pools, worse": ([(200, 200), (0, 0), (0, 0)], [(0, 0), (0, 0), (100, 0)]),
    "the pools, better": ([(0, 0), (0, 0), (100, 0)], [(200, 200), (0, 0), (0, 0)]),
    "none of them": ([(200, 20), (200, 100), (200, 180)], [(100, 15), (100, 50), (100, 85)]),
}


@pytest.mark.parametrize(("before", "since"), ONLY.values(), ids=ONLY.keys())
def test_each_of_the_four_tests_is_needed(before: Any, since: Any) -> None:
    menu = Menu.top_k([5, 10, 20], classes=100, skip=True)
    table = learner_of(menu, "reset", compiled=False).table.plain()
    moment = forgetting.moment_at(table, 0, 1)
    for arm in (1, 2, 3):
        (plays, successes), (later, later_successes) = before[arm - 1], since[arm - 1]
        table.room[moment + 1 + arm], table.room[moment + 1 + menu.n_arms + arm] = float(plays), float(successes)
        put(table, "plays", arm, float(plays + later))
        put(table, "successes", arm, float(successes + later_successes))
    contradiction = since is not ONLY["none of them"][1]
    for kind, made in both_kinds(table):
        assert made(forgetting.contradicted)(kind, moment) == contradiction


# --- what is forgotten, against a list of all outcomes


def outcomes_of(menu: Menu, seed: int, count: int) -> Iterator[Outcome]:
    """Any arm may be played next, more often the last one again; how they do changes now and then, and all at once."""
    rng = np.random.default_rng(seed)
    arm = 0
    for step in range(count):
        if step % 400 == 0:
            truth = rng.choice([0.02, 0.5, 0.98]) + rng.uniform(-0.02, 0.02, menu.n_arms)
        if rng.random() < 0.4:
            arm = int(rng.integers(menu.n_arms))
        cost = None if menu.costs is not None else float(rng.choice([menu.safe_cost, rng.random()]))
        yield Outcome(arm, float(rng.random() < truth[arm]), cost)


@compiled_or_not
@pytest.mark.parametrize("memory", MEMORIES)
@every_menu
def test_the_tally_is_that_of_a_list_of_outcomes(menu: Menu, memory: str, compiled: bool) -> None:
    learner, naive = learner_of(menu, memory, compiled=compiled), NAIVE[memory](menu)
    for step, outcome in enumerate(outcomes_of(menu, seed=7, count=1300), 1):
        naive.tell(outcome)
        teach(learner, outcome.arm, outcome.success, outcome.cost)
        if step % 16 == 0 or naive.count % 32 == 0:
            plays, successes, priced, costs, _, _ = learner.columns()
            inner, wanted = menu.interior, naive.columns()
            assert plays == pytest.approx(wanted[:, 0], abs=1e-9)
            assert successes[inner] == pytest.approx(wanted[inner, 1], abs=1e-9)
            assert (priced <= plays + 1e-9).all()
            assert (costs <= priced * menu.safe_cost * (1 + 1e-9)).all()
    check_tally(learner.columns(), learner.memory, menu.safe_cost)
    if isinstance(naive, NaiveReset):
        assert naive.resets >= 1


@compiled_or_not
def test_a_window_forgets_what_came_late_with_its_play(compiled: bool) -> None:
    """Every fifth play is given up and amended some plays later: its success must leave the window, too."""
    learner, naive = learner_of(LOOSE, "window 200", compiled=compiled), NaiveWindow(LOOSE)
    rng = np.random.default_rng(5)
    given_up: list[int] = []
    for step in range(1, 1500):
        arm, expired = int(rng.integers(1, 4)), step % 5 == 0
        success = 0.0 if expired else float(rng.random() < 0.4)
        naive.tell(Outcome(arm, success, None))
        teach(learner, arm, success, None)
        given_up += [arm] if expired else []
        if len(given_up) > 3:
            late = given_up.pop(0)
            naive.amend(late, 1.0)
            teach(learner, late, 1.0, None, late=True)
        if step % 10 == 0:
            assert learner.columns()[1].tolist() == naive.columns()[:, 1].tolist()
    means = naive.columns()[1:4, 1] / naive.columns()[1:4, 0]
    assert (means < 0.75).all()  # 0.2 + 0.8·0.4 = 0.52 of them succeed


@compiled_or_not
def test_what_comes_later_than_the_window_is_long_is_not_learned(compiled: bool) -> None:
    told = Menu(["a", "b"], safe="all", safe_cost=2.0, skip="none")
    learner = learner_of(told, "window 16", compiled=compiled)
    teach(learner, 1, 0.0, None)
    for _ in range(2, 40):
        teach(learner, 2, 1.0, 0.5)
    teach(learner, 1, 1.0, 1.5, late=True)
    assert [column[1] for column in learner.columns()[:4]] == [0.0, 0.0, 0.0, 0.0]
    teach(learner, 1, 0.0, None)
    teach(learner, 1, 0.5, 1.5, late=True)
    assert [column[1] for column in learner.columns()[:4]] == [1.0, 0.5, 1.0, 1.5]
    for _ in range(41, 80):
        teach(learner, 2, 1.0, 0.5)
    assert [column[1] for column in learner.columns()[:4]] == [0.0, 0.0, 0.0, 0.0]


def forgotten(trace: Any) -> int:
    """How many interior outcomes no longer count."""
    menu = trace.method.menu
    inner = menu.interior
    played = (trace.arms >= inner.start) & (trace.arms < inner.stop)
    return int(played.sum() - trace.method.learner.columns()[0][inner].sum())


@needs_compiler
@pytest.mark.parametrize("chooser", ["auto", "optimist"])
@pytest.mark.parametrize(
    ("stream", "target"),
    [
        (UnitPoints(), 0.8),
        (PredictionApis("IMDB"), 0.95),
        (LabelRanks.cifar100(), 0.9),
        (LabelRanks.cifar100(range(1, 20)), 0.8),
    ],
    ids=["points", "apis", "ranks", "many ranks"],
)
def test_selectors_do_not_reset_in_an_unchanging_world(stream: Any, target: float, chooser: str) -> None:
    """Whole runs: of forty streams none forgets anything, where 1/sqrt(E) of them may in each epoch."""
    for seed in range(10):
        trace = simulate(
            Selector(stream.menu, target, learning=Learning(chooser=chooser), seed=seed), stream, 4095, seed
        )
        assert trace.method.learning.memory == "reset"
        assert forgotten(trace) == 0


# --- detection


def outage(task: str, api: int) -> PredictionApis:
    """One API is always wrong: each pattern of right answers becomes the one without it."""
    stream = PredictionApis(task)
    moved = np.zeros_like(stream.frequency)
    for pattern, share in enumerate(stream.frequency):
        moved[pattern & ~(1 << api)] += share
    stream.frequency = moved
    return stream


CHANGES = {
    "points": (Phases((UnitPoints(), 6000), (UnitPoints(distribution=Beta(5, 2)), 6000)), 0.8, 6000, 1024),
    "easy to hard": (Phases.from_settings(easy=4000, hard=6000), 0.8, 4000, 96),
    "easy to hard, 0.9": (Phases.from_settings(easy=4000, hard=6000), 0.9, 4000, 96),
    "outage": (Phases((PredictionApis("SHOP"), 6000), (outage("SHOP", 1), 6000)), 0.9, 6000, 3072),
}


@needs_compiler
@pytest.mark.parametrize("chooser", ["auto", "optimist"])
@pytest.mark.parametrize(("stream", "target", "shift", "within"), CHANGES.values(), ids=CHANGES.keys())
def test_a_shift_is_noticed_and_learning_begins_anew(
    stream: Any, target: float, shift: int, within: int, chooser: str
) -> None:
    """Within so many interior outcomes after the shift, and not before it."""
    inner = stream.menu.interior
    for seed in range(5):
        fresh = Selector(stream.menu, target, learning=Learning(chooser=chooser), seed=seed)
        assert forgotten(simulate(fresh, stream, shift, seed)) == 0
        steps = simulate(fresh, stream, shift + 5000, seed).arms[shift:]
        interior = np.flatnonzero((steps >= inner.start) & (steps < inner.stop))
        last = shift + (int(interior[within - 1]) + 1 if len(interior) >= within else 5000)
        trace = simulate(fresh, stream, last, seed)
        assert forgotten(trace) > 0
        # What counts is the end of the history, to the last outcome.
        plays, successes = trace.method.learner.columns()[:2]
        kept = int(plays[inner].sum())
        played = np.flatnonzero((trace.arms >= inner.start) & (trace.arms < inner.stop))
        suffix = played[len(played) - kept :]
        assert np.array_equal(np.bincount(trace.arms[suffix], minlength=stream.menu.n_arms)[inner], plays[inner])
        worked = np.bincount(trace.arms[suffix], weights=trace.successes[suffix], minlength=stream.menu.n_arms)
        assert np.array_equal(worked[inner], successes[inner])
        assert trace.largest_debt <= 5


# --- the promise remembers everything


@settings(max_examples=80, deadline=None)
@given(
    menu=st.sampled_from([*MENUS.values(), Menu.top_k([3, 30], classes=100, skip=False)]),
    memory=st.sampled_from(["reset", "window 20", "discount 20", "full"]),
    chooser=st.sampled_from(["thompson", "optimist"]),
    target=st.sampled_from([0.5, 0.8, 0.9, Fraction(2, 3)]),
    plan=st.sampled_from(["shifts", "hover", "greedy", "fail", "late"]),
    compiled=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_no_memory_touches_the_promise(
    menu: Menu, memory: str, chooser: str, target: Any, plan: str, compiled: bool, seed: int
) -> None:
    """Shifts, attacks that see the price, outcomes that come late, reloading: an independent count at every outcome."""
    rng = np.random.default_rng(seed)
    goal = promised(target)
    with uncompiled(not compiled):
        selector = Selector(menu, target, learning=Learning(memory=memory, chooser=chooser), seed=seed)
        successes, late = Fraction(0), []
        for step in range(400):
            decision = selector.ask()
            kind = plan != "fail" and (decision.price >= 1.0) == (plan == "hover")
            if plan in ("shifts", "late"):
                kind = bool(rng.random() < (0.98, 0.02)[step // 130 % 2])
            success = decision.is_safe or (kind and not decision.is_skip)
            told = step + 1
            if plan == "late" and not decision.is_safe and rng.random() < 0.2:
                selector.expire(decision)
                late.append((decision, success))
            else:
                selector.tell(decision, success, 0.1 if menu.costs is None else None)
                successes += success
            while len(late) > 5:
                decision, success = late.pop(0)
                selector.tell(decision, success, 0.1 if menu.costs is None else None)
                successes += success
            assert goal * told - successes <= 5
            assert selector.outcomes == told
            assert selector.successes == successes
            if step == 250:
                selector = Selector.from_state(json.loads(json.dumps(selector.state())))
        certificate = selector.certificate()
    assert certificate.holds
    assert certificate.consistent


# --- arguments


def test_names_of_memories() -> None:
    assert str(Selector(CHAIN, 0.8).learner.memory) == "reset"
    assert paper(CHAIN, 0.8, 100).learning.memory == "full"
    for bounds, memory, used in (("auto", "auto", "reset"), ("kl", "auto", "full"), ("kl", "reset", "reset")):
        assert Selector(CHAIN, 0.8, learning=Learning(bounds=bounds, memory=memory)).learning.memory == used
    for name in ("full", "reset", f"window {LONGEST}", "discount 70"):
        assert str(resolve_memory(name)) == name
        selector = Selector(CHAIN, 0.8, learning=Learning(memory=name))
        assert Selector.from_state(selector.state()).learning.memory == name
    assert resolve_memory("window 12") == Memory("window", 12)


NOT_A_NAME = 'memory must be "auto", "full", "reset", '
WRONG: dict[str, list[Any]] = {
    NOT_A_NAME: ["", "windows", "window", "window 2.5", "window -2", "reset 5", 7, None, [], "window " + "9" * 5000],
    "window must be at least 1, got 0": ["window 0"],
    "memory must span at most 1,000,000 outcomes, got 'discount 1000001'": ["discount 1000001"],
}


@pytest.mark.parametrize(
    ("memory", "said"), [(memory, said) for said, memories in WRONG.items() for memory in memories]
)
def test_other_memories_are_refused(memory: Any, said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        Learning(memory=memory)


@pytest.mark.parametrize("memory", ["reset", "window 2000", "discount 2000"])
def test_memories_that_bounds_know_nothing_of_are_refused(memory: str) -> None:
    class Own(KL):
        """Bounds of one's own."""

    with pytest.raises(InvalidArgument, match=f"memory must be \"full\" with bounds of your own, got '{memory}'"):
        Selector(CHAIN, 0.8, learning=Learning(bounds=Own(), memory=memory))
    assert Selector(CHAIN, 0.8, learning=Learning(bounds=Own())).learning.memory == "full"
    with pytest.raises(InvalidArgument, match=f'memory must be "full" with the bounds "paper", got \'{memory}\''):
        Selector(CHAIN, 0.8, learning=Learning(bounds="paper", memory=memory))
    with pytest.raises(InvalidArgument, match='memory must be "full" with the bounds "paper"'):
        Selector(CHAIN, 0.8, learning=Learning(bounds="paper", memory=memory, chooser=Optimist()))
    assert Selector(CHAIN, 0.8, learning=Learning(bounds=HalfLog(), memory=memory)).learning.memory == memory


@compiled_or_not
@pytest.mark.parametrize("memory", ["window 1", "discount 1", "window 17", "discount 3"])
def test_the_shortest_spans_work(memory: str, compiled: bool) -> None:
    selector = selector_of(INTERVALS, compiled=compiled, learning=Learning(memory=memory))
    rng = np.random.default_rng(2)
    for _ in range(300):
        decision = selector.ask()
        selector.tell(decision, decision.is_safe or (not decision.is_skip and bool(rng.random() < 0.8)))
        plays = selector.learner.columns()[0][INTERVALS.interior]
        assert plays.sum() <= 1.5 * int(memory.split()[1]) + 2
    assert selector.certificate().holds
