"""Bounds that look at other arms: pools and differences against a plain transcription, epochs, and the tree above them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from suffice import Menu
from suffice.learning import bound_formulas as formulas
from suffice.learning.arm_table import start_epoch
from suffice.learning.interval_closure import close
from suffice.learning.pooling import tighten
from suffice.learning.records import Table
from tests.support.naive_bounds import NaiveBounds
from tests.support.tables import column, compiled_or_not, fresh_table, head_of, put, put_head, tell, twin

QUICK = [Phase.explicit, Phase.reuse, Phase.generate]  # shrinking lists of tallies would take minutes
CLOSE = 1e-7  # `kl_upper` ends a little above the root
CODES = {"ordered": formulas.ORDERED, "interval-closure": formulas.INTERVAL_CLOSURE}


def multiple(a: int, b: int) -> bool:
    return a % b == 0


MENUS = {
    "chain": Menu.top_k([1, 2, 5, 9], classes=12, skip=True),
    "chain, no skip": Menu.thresholds(0, 1, step=0.125, skip=False, safe_cost=3.0),
    "grid": Menu.grid(near=[1, 2, 5], rated=[4.5, 4, 0], safe_cost=2.0, skip=True),
    "subsets": Menu.subsets({"a": 1, "b": 2, "c": 4}, skip=True),
    "own": Menu([12, 2, 3, 4, 6, 5], safe="all", skip="none", order=multiple, safe_cost=1.0),
    "no order": Menu({"a": 0.1, "b": 0.3}, safe="all", safe_cost=1.0),
    "intervals": Menu.intervals(step=0.25, skip=True),
    "intervals, no skip": Menu.intervals(step=1 / 3, skip=False),
    "intervals, imperfect": Menu.intervals(step=0.2, safe_success=Fraction(9, 10), skip=True),
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


@compiled_or_not
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


@compiled_or_not
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


@compiled_or_not
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
@compiled_or_not
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
