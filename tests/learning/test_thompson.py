"""Thompson sampling over cell masses, against transcriptions that share no code."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.kernels.compiler import available, compiled
from suffice.kernels.rows import Floats
from suffice.learning import thompson
from suffice.learning.arm_blocks import MOST_COUNTED
from suffice.learning.arm_table import EVERY_ARM
from suffice.learning.bound_formulas import HALF_LOG
from suffice.learning.records import LISTS, OWN, SPANS, ArmRow, Table, TableHead
from suffice.learning.rng import WORDS, seed_state
from suffice.learning.tables import as_arrays
from suffice.learning.thompson import fit, sample_own
from suffice.learning.thompson import thompson as sample_cells
from tests.support.tables import as_table, cells, column, needs_compiler, put, put_head

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
    thompson.reset_fit(table)
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
    luck = np.array([thompson._cost_noise(table) for _ in range(20_000)])
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
