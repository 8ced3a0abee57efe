"""Thompson sampling over cell masses and the generator under it: against transcriptions that share no code, and saved."""

import copy
import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

import suffice
from suffice import Menu, Selector, StateError
from suffice.kernels.compiler import available, compiled
from suffice.learning import thompson
from suffice.learning.arm_blocks import MOST_COUNTED
from suffice.learning.arm_table import EVERY_ARM
from suffice.learning.bound_formulas import HALF_LOG
from suffice.learning.records import LISTS, OWN, SPANS, ArmRow, Table, TableHead
from suffice.learning.rng import WORDS, normals, seed_state, uniform
from suffice.learning.tables import as_arrays
from suffice.learning.thompson import fit, sample_own
from suffice.learning.thompson import thompson as sample_cells
from tests.support.tables import as_table, cells, column, put, put_head

Floats = NDArray[np.float64]
needs_compiler = pytest.mark.skipif(not available(), reason="the extra `fast` is not installed")


# --- the generator


class Marsaglia:
    """xorwow as its author wrote it down, on whole numbers of 32 bits."""

    def __init__(self, words: list[int]) -> None:
        self.x, self.y, self.z, self.w, self.v, self.d = words

    def next(self) -> int:
        t = self.x ^ (self.x >> 2)
        self.x, self.y, self.z, self.w = self.y, self.z, self.w, self.v
        self.v = ((self.v ^ (self.v << 4)) ^ (t ^ (t << 1))) % 2**32
        self.d = (self.d + 362437) % 2**32
        return (self.d + self.v) % 2**32


def sown(seed: int) -> list[float]:
    words = [0.0] * WORDS
    seed_state(words, 0, seed)
    return words


def uniforms(seed: int, count: int) -> Floats:
    words = np.array(sown(seed))
    number = compiled(uniform)
    return np.array([number(words, 0) for _ in range(count)])


def normal(seed: int, count: int) -> Floats:
    words = np.concatenate([sown(seed), np.zeros(count)])
    compiled(normals)(words, 0, WORDS, count)
    return words[WORDS:]


@given(seed=st.integers(0, 2**40))
@settings(max_examples=60, deadline=None)
def test_the_state_stays_whole_numbers_of_32_bits_and_is_the_author_s(seed: int) -> None:
    words = sown(seed)
    assert any(words[:5])  # all zero would stay so
    author = Marsaglia([int(word) for word in words])
    for _ in range(50):
        assert uniform(words, 0) == (author.next() + 0.5) / 2**32
        assert all(word == int(word) and 0 <= word < 2**32 for word in words)


@needs_compiler
@pytest.mark.parametrize("seed", [0, 1, 77, 2**32 - 1])
def test_plain_and_compiled_draw_the_same_numbers(seed: int) -> None:
    room = 301  # odd: the last pair is cut in half
    plain: Any = sown(seed) + [0.0] * room
    twin: Any = np.zeros(WORDS + room)
    compiled(seed_state)(twin, 0, seed)
    for _ in range(500):
        assert uniform(plain, 0) == compiled(uniform)(twin, 0)
    normals(plain, 0, WORDS, room)
    compiled(normals)(twin, 0, WORDS, room)
    assert plain == twin.tolist()


@pytest.mark.parametrize("seed", [0, 1, 12345])
def test_draws_are_uniform_and_independent(seed: int) -> None:
    numbers = uniforms(seed, 60_000)
    assert 0.0 < numbers.min() < numbers.max() < 1.0
    assert stats.kstest(numbers, "uniform").pvalue > 1e-3
    for lag in (1, 2, 5):
        assert abs(np.corrcoef(numbers[:-lag], numbers[lag:])[0, 1]) < 4 / math.sqrt(numbers.size)
    boxes = np.histogram2d(numbers[::2], numbers[1::2], bins=16)[0]
    assert stats.chisquare(boxes.ravel()).pvalue > 1e-3


@pytest.mark.parametrize("seed", [0, 1, 12345])
def test_normals_are_normal(seed: int) -> None:
    numbers = normal(seed, 60_001)
    assert stats.kstest(numbers, "norm").pvalue > 1e-3
    deviation = 1 / math.sqrt(numbers.size)
    assert abs(numbers.mean()) < 4 * deviation
    assert abs(numbers.var() - 1) < 4 * math.sqrt(2) * deviation
    assert abs((numbers**3).mean()) < 4 * math.sqrt(15) * deviation
    assert abs((numbers**4).mean() - 3) < 4 * math.sqrt(96) * deviation
    assert abs(np.corrcoef(numbers[:-1:2], numbers[1::2])[0, 1]) < 4 * math.sqrt(2) * deviation  # the two of a pair


def test_the_checks_of_chance_can_fail() -> None:
    """A generator that is off by one part in twenty does not pass."""
    assert stats.kstest(uniforms(0, 60_000) ** 1.05, "uniform").pvalue < 1e-3
    assert stats.kstest(normal(0, 60_000) * 1.05, "norm").pvalue < 1e-3


def test_seeds_are_strangers_to_one_another() -> None:
    assert len({tuple(sown(seed)) for seed in range(2000)}) == 2000
    rows = np.array([uniforms(seed, 2000) for seed in range(12)])
    worst = np.abs(np.corrcoef(rows) - np.eye(12)).max()
    assert worst < 4.5 / math.sqrt(2000)


def test_a_saved_state_goes_on_where_it_was() -> None:
    words = sown(5)
    for _ in range(17):
        uniform(words, 0)
    again = json.loads(json.dumps(words))
    assert [uniform(words, 0) for _ in range(20)] == [uniform(again, 0) for _ in range(20)]


# --- cells, laid out here from a table of who holds which cell


def made_of(
    held: Any,
    costs: list[float],
    *,
    form: int,
    plays: Any = (),
    successes: Any = (),
    seed: int = 0,
    skip: bool = True,
) -> Table:
    """Arms made of cells: `held` has a row per interior arm, of a 0 or 1 per cell; the safe option holds all."""
    held = np.asarray(held, dtype=np.float64)
    inner, count = held.shape
    total, first = inner + 1 + skip, int(skip)
    room = [0.0] * thompson.block_size(form, count, total)
    known = costs or [math.nan] * inner
    head = TableHead(
        arms=total, has_skip=first, costs_known=int(bool(costs)), safe_cost=1.0, ceiling=5.0, kind=HALF_LOG, unplayed=inner,
        form=form, cells=count, rng_at=0, cells_at=WORDS, kappa=math.inf,
    )  # fmt: skip
    arms = [ArmRow(upper=1.0, lower=cost if costs else 0.0, known_cost=cost) for cost in known]
    ends = [ArmRow(upper=0.0, lower=0.0, known_cost=0.0)] * first, [ArmRow(upper=1.0, lower=1.0, known_cost=1.0)]
    table = Table(head, [*ends[0], *arms, *ends[1]], room)
    rows = np.zeros((total, count if form == LISTS else 2))
    if form == LISTS:
        rows[first:-1], rows[-1] = held, 1.0
    elif form == SPANS:
        rows[first:-1, 0] = held.argmax(axis=1)
        rows[first:-1, 1] = rows[first:-1, 0] + held.sum(axis=1)
        rows[-1, 1] = count
    if form != OWN:
        room[len(room) - rows.size :] = rows.ravel().tolist()
    seed_state(room, 0, seed)
    thompson.begin(table)
    for place, (n, s) in enumerate(zip(plays, successes, strict=True)):
        put(table, "plays", first + place, float(n))
        put(table, "successes", first + place, float(s))
    return table


def fitted(table: Table) -> Floats:
    head = table.head
    return np.array(table.room[WORDS : WORDS + _cells(head)])


def drawn(table: Table) -> Floats:
    count = _cells(table.head)
    return np.array(table.room[WORDS + count : WORDS + 2 * count])


def factor(table: Table) -> Floats:
    count, at = table.head.cells, thompson.factor_at(table)
    return np.tril(np.array(table.room[at : at + count * count]).reshape(count, count))


def _cells(head: Any) -> int:
    return int(head.cells if isinstance(head, TableHead) else head["cells"])


def sampled(table: Table, price: float, allowed: Any = EVERY_ARM) -> int:
    """The arm that is cheapest in a sample, which is fitted first if a fit is due."""
    return propose_sampled(table, price, allowed)


def propose_sampled(table: Table, price: float, allowed: Any) -> int:
    """The same, for the compiler, too."""
    if table.head.form == OWN:
        return sample_own(table, price, allowed)
    if table.head.seen >= table.head.fit_at:
        fit(table)
    return sample_cells(table, price, allowed)


def naive_fit(held: Floats, plays: Floats, successes: Floats, rounds: int = thompson.ROUNDS) -> Floats:
    """Expectation maximisation for masses of cells, with one pseudo-count in each."""
    masses = np.full(held.shape[1], 1.0 / held.shape[1])
    for _ in range(rounds):
        expected = np.ones(held.shape[1])
        for row, n, s in zip(held, plays, successes, strict=True):
            if n > 0:
                mass = min(max(float(row @ masses), 1e-12), 1 - 1e-12)
                expected += s * row * masses / mass + (n - s) * (1 - row) * masses / (1 - mass)
        masses = expected / expected.sum()
    return masses


def naive_precision(held: Floats, plays: Floats, masses: Floats) -> Floats:
    matrix = np.diag(1.0 / masses**2)
    for row, n in zip(held, plays, strict=True):
        if n > 0:
            mass = (n * float(row @ masses) + 0.5) / (n + 1.0)
            matrix += n / (mass * (1 - mass)) * np.outer(row, row)
    return matrix


def chain(options: int) -> Floats:
    return np.tril(np.ones((options, options + 1)))


def intervals(grid: int) -> Floats:
    """Cells: point 0, the gap after it, point 1, and so on; an interval holds its end points."""
    pairs = [(i, j) for i in range(grid) for j in range(i + 1, grid + 1) if j - i < grid]
    return np.array([[2 * i <= cell <= 2 * j for cell in range(2 * grid + 1)] for i, j in pairs], dtype=np.float64)


def subsets(items: int) -> Floats:
    return np.array([[float(option & right != 0) for right in range(1 << items)] for option in range(1, 1 << items)])


SHAPES: dict[str, tuple[Floats, int]] = {
    "chain": (chain(6), SPANS),
    "chain, listed": (chain(6), LISTS),
    "intervals": (intervals(4), SPANS),
    "intervals, listed": (intervals(4), LISTS),
    "subsets": (subsets(3), LISTS),
}
shaped = pytest.mark.parametrize(("held", "form"), SHAPES.values(), ids=SHAPES.keys())


@st.composite
def tallies(draw_: Any, arms: int, most: float = 3000.0) -> tuple[Floats, Floats]:
    """Plays and successes, some arms never played, some successes in parts."""
    plays = [draw_(st.one_of(st.just(0.0), st.integers(1, int(most)).map(float))) for _ in range(arms)]
    shares = [draw_(st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0))) for _ in range(arms)]
    return np.array(plays), np.array(plays) * np.array(shares)


@shaped
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_the_fit_and_its_precision_are_what_numpy_finds(held: Floats, form: int, data: Any) -> None:
    plays, successes = data.draw(tallies(len(held)))
    table = made_of(held, [0.5] * len(held), form=form, plays=plays, successes=successes)
    fit(table)
    masses = naive_fit(held, plays, successes)
    np.testing.assert_allclose(fitted(table), masses, rtol=1e-9)
    lower = np.linalg.cholesky(naive_precision(held, plays, masses))
    np.testing.assert_allclose(factor(table), lower, rtol=1e-9, atol=1e-9 * np.abs(lower).max())


def test_a_fit_goes_on_from_the_last() -> None:
    held = intervals(4)
    plays, successes = np.full(len(held), 50.0), 50.0 * held @ np.linspace(0.0, 0.2, 9) / 0.9
    table = made_of(held, [0.5] * len(held), form=SPANS, plays=plays, successes=successes)
    fit(table)
    fit(table)
    np.testing.assert_allclose(fitted(table), naive_fit(held, plays, successes, 2 * thompson.ROUNDS), rtol=1e-9)


def test_a_sample_has_the_mean_and_the_spread_of_the_normal_approximation() -> None:
    """Every cell is an option of its own and played a million times: clipping at 0 would take sixty deviations."""
    truth = np.array([0.15, 0.2, 0.3, 0.25, 0.1])
    held, plays = np.eye(5), np.full(5, 1e6)
    plain = made_of(held, [0.5] * 5, form=LISTS, plays=plays, successes=plays * truth, seed=3)
    fit(plain)
    table = as_table(as_arrays(plain), compiled=available())
    masses = fitted(table)
    np.testing.assert_allclose(masses, truth, atol=1e-5)
    rows = np.empty((30_000, 5))
    for row in rows:
        compiled(thompson.sample)(table)
        row[:] = drawn(table)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    # That a sample is made to sum to 1 takes θ·(the sum of the noise) off each cell, to first order.
    share = np.eye(5) - np.outer(masses, np.ones(5))
    spread = thompson.OFTEN * thompson.WIDE**2 + (1 - thompson.OFTEN) * thompson.NARROW**2
    wanted = spread * share @ np.linalg.inv(naive_precision(held, plays, masses)) @ share.T
    deviations = np.sqrt(np.diag(wanted))
    assert np.abs((rows.mean(axis=0) - masses) / deviations).max() < 4 / math.sqrt(len(rows))
    found = np.cov(rows.T) / np.outer(deviations, deviations)
    assert np.abs(found - wanted / np.outer(deviations, deviations)).max() < 0.04
    # Neither of the two spreads alone: their mixture has heavier tails than a normal of the same variance.
    noise = (rows[:, 2] - masses[2]) / deviations[2]
    mixed = 3 * (thompson.OFTEN * thompson.WIDE**4 + (1 - thompson.OFTEN) * thompson.NARROW**4) / spread**2
    assert abs((noise**4).mean() - mixed) < 0.25
    assert mixed > 3.5


def naive_choice(table: Table, held: Floats, costs: Any, price: float, allowed: Any, skip: bool) -> int:
    """The cheapest in the sample that was drawn, ties to the lowest arm number."""
    masses = np.concatenate([[0.0] * skip, [math.fsum(masses) for masses in held * drawn(table)], [1.0]])
    scores = np.concatenate([[0.0] * skip, costs, [1.0]]) - price * masses
    if len(allowed):
        scores = np.where(allowed, scores, np.inf)
    return int(np.flatnonzero(scores <= scores.min() + 1e-13)[0])


@shaped
@pytest.mark.parametrize("skip", [True, False])
def test_the_arm_played_is_the_cheapest_in_the_sample(held: Floats, form: int, skip: bool) -> None:
    rng = np.random.default_rng(len(held) + form)
    costs = np.round(rng.random(len(held)), 2)
    plays = rng.integers(0, 40, len(held)).astype(float)
    table = made_of(
        held, costs.tolist(), form=form, plays=plays, successes=np.floor(plays * rng.random(len(held))), skip=skip
    )
    seen = set()
    for step in range(300):
        price = [0.0, 0.3, 1.0, 2.0, 5.0][step % 5]
        allowed: Any = rng.random(len(held) + 1 + skip) < 0.5 if step % 3 == 0 else EVERY_ARM
        if len(allowed):
            allowed[-1] = True
            allowed[0] |= skip
        arm = sampled(table, price, allowed)
        assert arm == naive_choice(table, held, costs, price, allowed, skip)
        seen.add(arm)
    assert len(seen) > 4


def test_ties_go_to_the_lowest_arm() -> None:
    held = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    twins = made_of(held, [0.25, 0.25, 1.0], form=LISTS, plays=[90, 90, 0], successes=[45, 45, 0])
    played = {sampled(twins, 2.0) for _ in range(50)}
    assert 1 in played
    assert 2 not in played
    assert 2 in {sampled(twins, 2.0, np.array([1, 0, 1, 1, 1], dtype=bool)) for _ in range(50)}
    # At a price of 0 options that cost nothing tie with the skip, and an option as dear as the safe one with that.
    free = made_of(held, [0.0, 0.0, 1.0], form=LISTS)
    assert sampled(free, 0.0) == 0
    assert sampled(made_of(held, [0.0, 0.0, 1.0], form=LISTS, skip=False), 0.0) == 0
    assert sampled(free, 5.0, np.array([1, 0, 0, 1, 1], dtype=bool)) == 3
    own = made_of(np.eye(2), [0.0, 0.0], form=OWN)
    assert sampled(own, 0.0) == 0


def test_only_the_ends_are_left_where_nothing_else_is_available() -> None:
    table = made_of(chain(3), [0.1, 0.2, 0.3], form=SPANS)
    ends = np.array([1, 0, 0, 0, 1], dtype=bool)
    assert {sampled(table, price, ends) for price in (0.5, 3.0)} == {0, 4}


def run(table: Table, truth: Floats, steps: int, *, twin: bool = False) -> list[int]:
    """Some steps at a wandering price; a play is tallied by hand."""
    rng = np.random.default_rng(9)
    choose = compiled(propose_sampled) if twin else propose_sampled
    plays, successes, priced, costs = (column(table, name) for name in ("plays", "successes", "priced", "costs"))
    played = []
    for step in range(steps):
        arm = int(choose(table, 0.5 + 2.0 * (step % 7) / 7, EVERY_ARM))
        played.append(arm)
        if 0 < arm < len(plays) - 1:
            plays[arm] += 1.0
            successes[arm] += float(rng.random() < truth[arm - 1])
            priced[arm] += 1.0
            costs[arm] += rng.random() * truth[arm - 1]
            for name, values in (("plays", plays), ("successes", successes), ("priced", priced), ("costs", costs)):
                put(table, name, arm, float(values[arm]))
        put_head(table, "seen", step + 1.0)
    return played


@pytest.mark.parametrize("held", [chain(7), intervals(3)], ids=["chain", "intervals"])
def test_a_chain_written_as_spans_and_as_lists_is_played_alike(held: Floats) -> None:
    costs = (0.8 * held.mean(axis=1)).tolist()
    truth = held @ np.random.default_rng(1).dirichlet(np.ones(held.shape[1]))
    both = [made_of(held, costs, form=form, seed=4) for form in (SPANS, LISTS)]
    played = [run(table, truth, 400) for table in both]
    assert played[0] == played[1]
    assert len(set(played[0])) > 3
    np.testing.assert_allclose(fitted(both[0]), fitted(both[1]), rtol=1e-9)


@needs_compiler
@pytest.mark.parametrize("told", [False, True], ids=["known costs", "told costs"])
@pytest.mark.parametrize("shape", [*SHAPES, "own"])
def test_plain_and_compiled_play_the_same_arms(shape: str, told: bool) -> None:
    held, form = SHAPES.get(shape, (np.eye(5), OWN))
    costs = [] if told else np.random.default_rng(2).random(len(held)).tolist()
    plain = made_of(held, costs, form=form, seed=11)
    twin = as_table(as_arrays(plain), compiled=True)
    truth = held @ np.random.default_rng(3).dirichlet(np.ones(held.shape[1]))
    played = run(plain, truth, 300)
    assert played == run(twin, truth, 300, twin=True)
    assert np.array_equal(cells(plain), cells(twin), equal_nan=True)
    assert len(set(played)) > 1


@pytest.mark.parametrize("form", [SPANS, OWN])
def test_told_costs_are_sampled_around_their_mean(form: int) -> None:
    """One luck for all: an arm told a hundred times moves a tenth as far as one told once; what was never told is free."""
    table = made_of(chain(3), [], form=form)
    for arm, told, mean in ((1, 100, 0.4), (2, 10_000, 0.4)):
        put(table, "priced", arm, told)
        put(table, "costs", arm, told * mean)
    luck = np.array([thompson._luck(table) for _ in range(20_000)])
    spread = math.sqrt(thompson.OFTEN * thompson.WIDE**2 + (1 - thompson.OFTEN) * thompson.NARROW**2)
    assert abs(luck.mean()) < 4 * spread / math.sqrt(luck.size)
    assert luck.std() == pytest.approx(spread, rel=0.03)
    for value in luck[:50].tolist():
        one, other, never = (thompson._cost(table, arm, value) for arm in (1, 2, 3))
        assert one - 0.4 == pytest.approx(10 * (other - 0.4))
        assert never == 0.0
    assert thompson._cost(table, 1, 1e9) == 1.0
    assert thompson._cost(table, 1, -1e9) == 0.0


EXTREME: list[tuple[float, float]] = [
    (0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (1e9, 0.0), (1e9, 1e9), (1e9, 1.0), (1e9, 0.5e9), (3.0, 1e-9),
    (7.0, 6.999999999), (MOST_COUNTED, MOST_COUNTED), (MOST_COUNTED, 0.0),
]  # fmt: skip


@pytest.mark.parametrize("shape", [*SHAPES, "own"])
@pytest.mark.parametrize("told", [False, True], ids=["known costs", "told costs"])
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_no_tally_makes_a_sample_that_is_no_number(shape: str, told: bool, data: Any) -> None:
    held, form = SHAPES.get(shape, (np.eye(5), OWN))
    plays, successes = zip(*(data.draw(st.sampled_from(EXTREME)) for _ in held), strict=True)
    costs = [] if told else [0.5] * len(held)
    table = made_of(held, costs, form=form, plays=plays, successes=successes, seed=data.draw(st.integers(0, 2**32 - 1)))
    for place, n in enumerate(plays):
        put(table, "priced", 1 + place, n)
        put(table, "costs", 1 + place, n * 1.0)
    for price in (0.0, 1e-12, 1.0, 5.0, 1e9):
        assert 0 <= sampled(table, price) < len(held) + 2
        assert all(map(math.isfinite, table.room))
        if form != OWN:
            assert (drawn(table) >= 0.0).all()
            assert drawn(table).sum() == pytest.approx(1.0)
            assert fitted(table).sum() == pytest.approx(1.0)
            assert (fitted(table) > 0.0).all()


# --- the selector's own view of it


def own_chain() -> Menu:
    return Menu({"a": 0.1, "b": 0.4}, safe="all", skip="none", order="chain")


MENUS: dict[str, tuple[Menu, str, str]] = {
    "top_k": (Menu.top_k([5, 10, 20], classes=100), "thompson", "contained"),
    "thresholds": (Menu.thresholds(0, 1, step=0.1), "thompson", "contained"),
    "intervals": (Menu.intervals(step=0.25), "thompson", "closed"),
    "intervals, fails": (Menu.intervals(step=0.25, safe_success=0.95), "thompson", "closed"),
    "subsets": (Menu.subsets({"a": 1, "b": 2}, safe="person", safe_cost=9), "thompson", "contained"),
    "grid": (Menu.grid(distance=[1, 5], rating=[4, 0]), "optimist", "contained"),
    "chain of one's own": (own_chain(), "thompson", "contained"),
    "no order": (Menu({"a": 0.1, "b": 0.4}, safe="all", skip="none"), "optimist", "half-log"),
    "one option": (Menu({"a": 0.1}, safe="all", skip="none", order="chain"), "optimist", "half-log"),
    "too many cells": (Menu.intervals(step=1 / 200), "optimist", "contained"),
}


@pytest.mark.parametrize(("menu", "chooser", "bounds"), MENUS.values(), ids=MENUS.keys())
def test_what_auto_becomes(menu: Menu, chooser: str, bounds: str) -> None:
    selector = Selector(menu, 0.8)
    assert (selector.chooser, selector.bounds) == (chooser, bounds)
    named = Selector(menu, 0.8, bounds="kl")
    assert (named.chooser, named.bounds) == ("optimist", "kl")
    assert Selector(menu, 0.8, chooser="thompson").chooser == "thompson"
    again = Selector.from_state(selector.state())
    assert (again.chooser, again.bounds) == (chooser, bounds)


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
    one, same, other = (arms_of(Selector(menu, 0.8, chooser="thompson", seed=seed), 500) for seed in (1, 1, 2))
    assert one == same
    assert one != other
    again = Selector(menu, 0.8, chooser="thompson", seed=7)
    again.reseed(1)
    assert arms_of(again, 500) == one


@pytest.mark.parametrize("seed", [-1, 1.5, "a", None, True])
def test_seeds_are_whole_numbers(seed: Any) -> None:
    with pytest.raises(suffice.InvalidArgument, match="seed must be"):
        Selector(MENUS["top_k"][0], 0.8, seed=seed)


@pytest.mark.parametrize("guard", [0, -1.0, math.nan, "much", False])
def test_a_guard_is_a_number_above_0(guard: Any) -> None:
    with pytest.raises(suffice.InvalidArgument, match="guard must be"):
        Selector(MENUS["top_k"][0], 0.8, guard=guard)


def test_a_sampler_needs_bounds_of_ours() -> None:
    class Mine:
        name = "mine"
        upper = np.ones(5)
        lower = np.zeros(5)

        def open(self, menu: Any, horizon: Any) -> None: ...
        def update(self, tally: Any, arm: int, told: int) -> None: ...
        def refresh(self, tally: Any, told: int) -> None: ...

    with pytest.raises(suffice.InvalidArgument, match="bounds must be ours"):
        Selector(MENUS["top_k"][0], 0.8, chooser="thompson", bounds=Mine())


@pytest.mark.parametrize("name", ["top_k", "intervals", "subsets", "no order"])
def test_asking_for_less_than_all_that_is_there(name: str) -> None:
    menu = MENUS[name][0]
    selector = Selector(menu, 0.8, chooser="thompson", seed=3)
    arms_of(selector, 200)
    ends = {menu.safe, menu.skip}
    few = list(menu.options[:2])
    asked = {selector.ask(available=few, audit=False).option for _ in range(60)}
    assert asked <= {*ends, *few}
    assert {selector.ask(available=[], audit=False).option for _ in range(20)} <= ends
    told, pending = selector.outcomes, selector.pending
    assert {selector.ask(audit=False).id for _ in range(20)} == {-1}
    assert (selector.outcomes, selector.pending) == (told, pending)


def test_the_paper_s_bounds_do_not_stop_the_sampler() -> None:
    """Their lines are infinite before an arm is played, and a gap of infinity could not be saved."""
    selector = Selector(MENUS["top_k"][0], 0.8, 2000, bounds="paper", chooser="thompson")
    arms_of(selector, 300)
    assert math.isfinite(selector.state()["learner"]["gap"])


# --- saving


def busy(selectors: list[Selector], steps: int, seed: int, swap: Callable[[int, Selector], Selector]) -> list[int]:
    """All of them through the same world, with late and lost outcomes and options that are down; the arms, if all agree."""
    rng = np.random.default_rng(seed)
    menu = selectors[0].menu
    succeeds = world_of(menu, seed + 1)
    known = menu.costs is not None
    out: list[list[Any]] = []
    played = []
    for step in range(steps):
        selectors[-1] = swap(step, selectors[-1])
        which = [option for option in menu.options if rng.random() < 0.7] if step % 11 == 0 else None
        audit = step % 17 != 0
        asked = [selector.ask(available=which, audit=audit) for selector in selectors]
        assert len({(one.arm, one.price, one.id) for one in asked}) == 1, f"step {step}"
        played.append(asked[0].arm)
        if audit:
            out.append(asked)
        while len(out) > (0 if step % 200 < 120 else 5):
            late = out.pop(int(rng.integers(len(out))))
            success = succeeds(late[0])
            for selector, decision in zip(selectors, late, strict=True):
                if step % 29 == 0:
                    selector.expire(decision.id)
                if step % 58:
                    selector.tell(decision.id, success, None if known else 0.5 * decision.arm / menu.n_arms)
    return played


@pytest.mark.parametrize("name", ["top_k", "thresholds", "intervals", "intervals, fails", "subsets", "no order"])
@pytest.mark.parametrize("guard", [1.0, 0.02])
@pytest.mark.parametrize("compiled", [pytest.param(True, marks=needs_compiler), False])
def test_saved_and_loaded_it_goes_on_as_if_it_had_not_been(
    name: str, guard: float, compiled: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if not compiled:
        monkeypatch.setenv("SUFFICE_NO_COMPILE", "1")
    elif available():
        suffice.warmup()

    def swap(step: int, selector: Selector) -> Selector:
        if step % 333 != 200:
            return selector
        selector.save(tmp_path / "state.json")
        return Selector.load(tmp_path / "state.json")

    made = [Selector(MENUS[name][0], 0.8, chooser="thompson", seed=5, guard=guard) for _ in range(2)]
    steps = 2000 if compiled else 900
    assert len(set(busy(made, steps, 1, swap))) > 2
    one, other = (selector.state() for selector in made)
    assert one["learner"] == other["learner"]
    assert one["accounts"] == other["accounts"]


@pytest.mark.long
@needs_compiler
@pytest.mark.parametrize("compiled", [True, False])
def test_saved_and_loaded_with_many_options(compiled: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if not compiled:
        monkeypatch.setenv("SUFFICE_NO_COMPILE", "1")

    def swap(step: int, selector: Selector) -> Selector:
        if step % 333 != 200:
            return selector
        selector.save(tmp_path / "state.json")
        return Selector.load(tmp_path / "state.json")

    for guard in (1.0, 0.02):
        made = [Selector(Menu.intervals(step=0.05), 0.8, chooser="thompson", seed=5, guard=guard) for _ in range(2)]
        busy(made, 6000 if compiled else 2000, 2, swap)


@pytest.mark.parametrize("way", ["deepcopy", "pickle", "expiry"])
def test_copies_and_clocks(way: str, tmp_path: Path) -> None:
    now = [0.0]
    menu = MENUS["intervals"][0]
    made = [
        Selector(menu, 0.8, seed=2, expire_after=7.0 if way == "expiry" else None, clock=lambda: now[0])
        for _ in range(2)
    ]

    def swap(step: int, selector: Selector) -> Selector:
        now[0] += 1.0
        if step % 150 != 100:
            return selector
        if way == "deepcopy":
            return copy.deepcopy(selector)
        if way == "pickle":
            selector._clock = now.__len__  # a function that can be pickled
            return pickle.loads(pickle.dumps(selector))  # type: ignore[no-any-return]
        selector.save(tmp_path / "state.json")
        return Selector.load(tmp_path / "state.json", clock=lambda: now[0])

    if way == "expiry":
        for step in range(600):
            made[1] = swap(step, made[1])
            asked = [selector.ask() for selector in made]
            assert asked[0].arm == asked[1].arm
            if step % 3:
                for selector, decision in zip(made, asked, strict=True):
                    selector.tell(decision.id, step % 5 > 0 or decision.is_safe)
        assert made[0].certificate().expired == made[1].certificate().expired > 100
    else:
        assert len(set(busy(made, 600, 1, swap))) > 3


def damaged(name: str, change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    selector = Selector(MENUS[name][0], 0.8, chooser="thompson")
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


@pytest.mark.parametrize("value", [0.0, -1.0, 1e300, -1e300, 5e-324])
@pytest.mark.parametrize("compiled", [pytest.param(True, marks=needs_compiler), False])
@pytest.mark.filterwarnings("ignore::suffice.SufficeWarning")
def test_what_cannot_be_told_from_a_state_costs_money_at_the_worst(
    value: float, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cells full of absurd numbers: the promise is kept, and what is played are arms."""
    if not compiled:
        monkeypatch.setenv("SUFFICE_NO_COMPILE", "1")

    def absurd(state: dict[str, Any]) -> None:
        kept = state["learner"]["cells"]
        kept["numbers"] = [*kept["numbers"][:WORDS], *[value] * (len(kept["numbers"]) - WORDS)]
        kept["fit_at"] = kept["seen"] = value

    try:
        selector = Selector.from_state(damaged("intervals", absurd))
    except StateError:
        return
    succeeds = world_of(selector.menu, 1)
    for _ in range(400):
        decision = selector.ask()
        selector.tell(decision, succeeds(decision))
        assert selector.debt <= 0.8
