"""Bounds that look at other arms: pools and differences against a plain transcription, epochs, and the tree above them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from suffice import Fleet, InvalidArgument, Learning, Menu, Selector
from suffice.learning import bound_formulas as formulas
from suffice.learning.arm_table import refresh, start_epoch
from suffice.learning.bounds import NAMED
from suffice.learning.interval_closure import close
from suffice.learning.pooling import tighten
from suffice.learning.records import Table
from tests.support.naive_bounds import NaiveBounds
from tests.support.tables import cells, column, fresh_table, head_of, put, put_head, tell, twin

needs_compiler = pytest.mark.compiled
COMPILED = [False, pytest.param(True, marks=needs_compiler)]
QUICK = [Phase.explicit, Phase.reuse, Phase.generate]  # shrinking lists of tallies would take minutes
CLOSE = 1e-7  # `kl_upper` ends a little above the root
CODES = {"ordered": formulas.ORDERED, "interval-closure": formulas.INTERVAL_CLOSURE}


def multiple(a: int, b: int) -> bool:
    return a % b == 0


MENUS = {
    "chain": Menu.top_k([1, 2, 5, 9], classes=12),
    "chain, no skip": Menu.thresholds(0, 1, step=0.125, skip=False, safe_cost=3.0),
    "grid": Menu.grid(near=[1, 2, 5], rated=[4.5, 4, 0], safe_cost=2.0),
    "subsets": Menu.subsets({"a": 1, "b": 2, "c": 4}),
    "own": Menu([12, 2, 3, 4, 6, 5], safe="all", skip="none", order=multiple),
    "no order": Menu({"a": 0.1, "b": 0.3}, safe="all"),
    "intervals": Menu.intervals(step=0.25),
    "intervals, no skip": Menu.intervals(step=1 / 3, skip=False),
    "intervals, imperfect": Menu.intervals(step=0.2, safe_success=Fraction(9, 10)),
}
INTERVALS = {name: menu for name, menu in MENUS.items() if name.startswith("intervals")}


def inner(menu: Menu, table: Table, name: str) -> dict[int, float]:
    """One number per interior arm."""
    return dict(enumerate(column(table, name)[menu.interior].tolist(), int(menu.has_skip)))


def play(table: Table, naive: NaiveBounds, tallies: list[tuple[int, float]], told: int) -> None:
    """Put tallies in place as if they had been told, in both."""
    naive.outcomes = told
    naive.enter(told + 1)
    head = head_of(table)
    start_epoch(head, told + 1)
    for name in ("epoch_end", "refresh_after", "level", "margin"):
        put_head(table, name, getattr(head, name))
    for arm, (plays, share) in zip(naive.arms, tallies, strict=False):
        naive.plays[arm], naive.successes[arm] = plays, plays * share
        put(table, "plays", arm, plays)
        put(table, "successes", arm, plays * share)


TALLIES = st.lists(
    st.tuples(
        st.one_of(st.just(0), st.integers(1, 30), st.integers(1, 3000)),
        st.one_of(st.sampled_from([0.0, 1.0, 0.5]), st.floats(0, 1)),
    ),
    min_size=15,
    max_size=15,
)


@pytest.mark.parametrize("compiled", COMPILED)
@pytest.mark.parametrize("menu", MENUS.values(), ids=MENUS.keys())
@given(tallies=TALLIES, told=st.integers(1, 10**6))
@settings(max_examples=25, deadline=None, phases=QUICK)
def test_pools_are_sums_over_all_that_contain_an_arm(
    menu: Menu, compiled: bool, tallies: list[tuple[int, float]], told: int
) -> None:
    table, naive = fresh_table(menu, formulas.ORDERED, compiled=compiled), NaiveBounds(menu)
    play(table, naive, tallies, told)
    twin(tighten, compiled)(table)
    for arm in naive.arms:
        naive.pooled(arm)
    # Without an order there are no pools; a line of its own is no part of `tighten`.
    want = dict.fromkeys(naive.arms, 1.0) if menu.order is None else naive.upper
    assert inner(menu, table, "upper") == pytest.approx(want, abs=CLOSE)


@pytest.mark.parametrize("compiled", COMPILED)
@pytest.mark.parametrize("menu", INTERVALS.values(), ids=INTERVALS.keys())
@given(tallies=TALLIES, told=st.integers(1, 10**6))
@settings(max_examples=25, deadline=None, phases=QUICK)
def test_the_closure_is_a_shortest_path(
    menu: Menu, compiled: bool, tallies: list[tuple[int, float]], told: int
) -> None:
    """Any tallies, also such as contradict one another: then nothing is changed."""
    table, naive = fresh_table(menu, formulas.INTERVAL_CLOSURE, compiled=compiled), NaiveBounds(menu, closed=True)
    play(table, naive, tallies, told)
    assert twin(close, compiled)(table) == naive.close()
    assert inner(menu, table, "upper") == pytest.approx(naive.upper, abs=CLOSE)
    if naive.contradicted:
        assert set(naive.upper.values()) == {1.0}


@pytest.mark.parametrize("compiled", COMPILED)
@pytest.mark.parametrize("menu", INTERVALS.values(), ids=INTERVALS.keys())
@given(seed=st.integers(0, 10**6), plays=st.sampled_from([5, 50, 2000]), told=st.integers(1, 10**5))
@settings(max_examples=25, deadline=None, phases=QUICK)
def test_a_world_there_is_is_not_contradicted(menu: Menu, compiled: bool, seed: int, plays: int, told: int) -> None:
    """Tallies of a distribution with atoms on the grid and off it: the closure holds, and bounds what was never played."""
    rng = np.random.default_rng(seed)
    points = np.where(rng.random(40) < 0.5, rng.integers(0, 61, 40) / 60, rng.random(40))
    table, naive = fresh_table(menu, formulas.INTERVAL_CLOSURE, compiled=compiled), NaiveBounds(menu, closed=True)
    tallies, truth = [], {}
    for arm in naive.arms:
        low, high = menu.option(arm)
        truth[arm] = float(((points >= low - 1e-9) & (points <= high + 1e-9)).mean())
        tallies.append((plays if rng.random() < 0.4 else 0, truth[arm]))
    play(table, naive, tallies, told)
    assert twin(close, compiled)(table)
    assert naive.close()
    upper = inner(menu, table, "upper")
    assert upper == pytest.approx(naive.upper, abs=CLOSE)
    assert all(upper[arm] >= truth[arm] - 1e-9 for arm in naive.arms)


@pytest.mark.parametrize("horizon", [None, 90])
@pytest.mark.parametrize("compiled", COMPILED)
@pytest.mark.parametrize("kind", CODES)
@pytest.mark.parametrize("menu", MENUS.values(), ids=MENUS.keys())
def test_step_by_step_as_written_down(menu: Menu, kind: str, compiled: bool, horizon: int | None) -> None:
    """Every bound after every outcome: own lines, refreshes after 5%, minima within an epoch, and a new start in the next."""
    rng = np.random.default_rng(3)
    closed = kind == "interval-closure" and menu in INTERVALS.values()
    naive = NaiveBounds(menu, closed=closed, horizon=horizon)
    table = fresh_table(menu, CODES[kind], compiled=compiled, tree=True, horizon=horizon or 0)
    favourite = int(rng.integers(menu.n_arms))
    for told in range(1, 280):
        if told % 40 == 0:
            favourite = int(rng.integers(menu.n_arms))
        arm = favourite if rng.random() < 0.6 else int(rng.integers(menu.n_arms))
        success = {menu.n_arms - 1: 1.0}.get(arm, float(np.round(rng.random() ** 0.5, int(rng.integers(0, 3)))))
        cost = float(rng.random()) if menu.costs is None else None
        naive.tell(arm, success, cost)
        tell(table, arm, success, np.nan if cost is None else cost, float(rng.uniform(0, 5)), compiled=compiled)
        assert inner(menu, table, "upper") == pytest.approx(naive.upper, abs=CLOSE), told
        if menu.costs is None:
            assert inner(menu, table, "lower") == pytest.approx(naive.lower, abs=CLOSE), told
    assert min(naive.upper.values()) < 1.0


def test_bounds_fall_within_an_epoch_and_are_free_in_the_next() -> None:
    """A lucky start of failures is kept until the epoch is over, and not beyond."""
    menu = MENUS["chain"]
    table = fresh_table(menu, formulas.ORDERED, compiled=False)
    seen = [column(table, "upper")[1]]
    for told in range(1, 600):
        tell(table, 1, 0.0 if told < 140 else 1.0, np.nan, 1.0)
        seen.append(column(table, "upper")[1])
    for told in range(1, 600):
        begins = (told + 1) & told == 0  # an epoch begins at a power of two
        assert seen[told] <= seen[told - 1] or begins, told
        # What the tally alone allows now is more, or what is kept.
        alone = formulas.upper_of(
            formulas.HALF_LOG, float(max(0, told - 139)), float(told),
            formulas.level_of(formulas.HALF_LOG, 0, formulas.epoch_of(told + 1, 0)[1]),
        )  # fmt: skip
        assert seen[told] <= alone + 1e-12
        if begins:
            assert seen[told] == pytest.approx(alone)
    assert seen[254] < 0.1 < 0.5 < seen[255]


@pytest.mark.parametrize("compiled", COMPILED)
def test_a_contradiction_leaves_the_bounds_as_they_were(compiled: bool) -> None:
    """Two intervals that do not meet and both always succeed: no distribution does that."""
    menu = Menu.intervals(step=0.125)
    table = fresh_table(menu, formulas.INTERVAL_CLOSURE, compiled=compiled)
    one, other = menu.arm((0.0, 0.25)), menu.arm((0.5, 0.75))
    for told in range(1, 3000):
        tell(table, one if told % 2 else other, 1.0, np.nan, 2.0, compiled=compiled)
    before = inner(menu, table, "upper")
    assert not twin(close, compiled)(table)
    assert inner(menu, table, "upper") == before
    assert before[one] == before[other] == 1.0
    # A world that is possible: half of the points in either. Now they say something of all others.
    table = fresh_table(menu, formulas.INTERVAL_CLOSURE, compiled=compiled)
    for told in range(1, 3000):
        tell(table, one if told % 2 else other, float(told % 4 < 2), np.nan, 2.0, compiled=compiled)
    assert twin(close, compiled)(table)
    upper = inner(menu, table, "upper")
    assert upper[menu.arm((0.875, 1.0))] < 0.2  # never played, nor is any that contains it
    assert upper[menu.arm((0.75, 1.0))] > 0.5  # all of the other's points might lie at 0.75
    assert upper[one] > 0.5


@pytest.mark.parametrize("compiled", COMPILED)
@pytest.mark.parametrize("menu", MENUS.values(), ids=MENUS.keys())
def test_where_there_are_no_differences_closed_is_contained(menu: Menu, compiled: bool) -> None:
    """Nor does it write where there is no room for a matrix: what lies behind the pools stays as it is."""
    if menu in INTERVALS.values():
        return
    rng = np.random.default_rng(1)
    both = [fresh_table(menu, code, compiled=compiled) for code in CODES.values()]
    assert len(both[0].room) == len(both[1].room)
    for _ in range(1, 300):
        arm, success = int(rng.integers(menu.n_arms)), float(rng.random() < 0.5)
        for table in both:
            tell(table, arm, success, 0.3, 1.0, compiled=compiled)
    put_head(both[1], "kind", head_of(both[0]).kind)
    assert np.array_equal(cells(both[0]), cells(both[1]), equal_nan=True)


def test_a_fleet_refuses_what_it_has_no_room_for() -> None:
    for kind in CODES:
        with pytest.raises(InvalidArgument, match='bounds must be "auto", "half-log", "kl" or "hoeffding" for a fleet'):
            Fleet(MENUS["chain"], 0.8, 3, learning=Learning(bounds=kind))


def test_pools_bound_more_tightly_than_an_arms_own_plays() -> None:
    for name, menu in MENUS.items():
        uppers = []
        for kind in ("half-log", "ordered", "interval-closure"):
            table = fresh_table(menu, NAMED[kind].code, compiled=False)
            rng = np.random.default_rng(0)
            for _ in range(1, 512):
                arm = int(rng.integers(menu.n_arms))
                tell(table, arm, float(rng.random() < 0.4), 0.1, 1.0)
            refresh(table, 1.0, True)
            uppers.append(column(table, "upper")[menu.interior])
        assert (uppers[0] >= uppers[1]).all()
        assert (uppers[1] >= uppers[2]).all()
        if name != "no order":
            assert (uppers[0] > uppers[1]).any()


def test_a_selector_uses_them_by_name_and_by_itself() -> None:
    """The same arms from `auto` with an optimist and from the bounds that `auto` becomes."""
    for name in ("chain", "subsets", "intervals"):
        menu = MENUS[name]
        rng = np.random.default_rng(5)
        auto = Selector(menu, 0.8, learning=Learning(chooser="optimist", memory="full"))
        named = Selector(menu, 0.8, learning=Learning(bounds=auto.learning.bounds))
        assert auto.learning.bounds == ("interval-closure" if name == "intervals" else "ordered")
        for _ in range(400):
            one, other = auto.ask(), named.ask()
            assert one.arm == other.arm
            success = one.is_safe or (not one.is_skip and bool(rng.random() < 0.6))
            auto.tell(one, success)
            named.tell(other, success)
