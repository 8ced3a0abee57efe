"""How often bounds are wrong, by simulation: at most as often as is stated, however arms are chosen.

Two kinds of tests. Those of statements simulate sums of outcomes, thousands of streams at a time, and look at a theorem of
docs/bounds.md by itself. Those of code play whole streams with the very functions that a selector uses, and look at every
bound after every outcome. In both, bounds that are known to be wrong are tried on the same streams and must be caught.
"""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from suffice import Menu
from suffice.kernels.compiler import compiled
from suffice.learning import bound_formulas as formulas
from suffice.learning.arm_table import catch_up, learn_arm, recompute_bound
from suffice.learning.bound_formulas import KL
from suffice.learning.interval_closure import close
from suffice.learning.records import Lesson, Table
from tests.support.tables import fresh_table

Floats = NDArray[np.float64]
needs_compiler = pytest.mark.compiled


def at_most(share: float, streams: int) -> float:
    """A share of streams that a probability of `share` exceeds once in thirty thousand tests, if ever."""
    return share + (4.0 * math.sqrt(streams * share) + 3.0) / streams


def lemma(beta: float, end: float) -> tuple[float, float]:
    """The half-log lemma: how often U falls below p before `end`, and by how much on average."""
    slices = math.ceil(beta * math.log(end))
    proven = 3.41 * beta * math.sqrt(beta / (beta - 1))
    return math.e * slices * math.exp(-beta), min(proven, math.sqrt(5.44 * slices)) * math.exp(-beta)


# --- code: whole streams


def _copy_table(table: Table, other: Table) -> None:
    """Write one table over another."""
    table.head.epoch_end, table.head.refresh_after = other.head.epoch_end, other.head.refresh_after
    table.head.level, table.head.margin, table.head.steps = other.head.level, other.head.margin, other.head.steps
    table.head.unplayed, table.head.sort_after = other.head.unplayed, other.head.sort_after
    for arm in range(len(table.arms)):
        table.arms[arm] = other.arms[arm]  # type: ignore[index]
    for place in range(len(table.room)):
        table.room[place] = other.room[place]


copy_table = compiled(_copy_table)


def watch(
    table: Table, blank: Table, scratch: Table, low: Any, high: Any, truth: Any, omega: Any, points: Any, coins: Any,
    rule: int, share: float, implied: bool, alone: bool, short: Any, dear: Any,
) -> None:  # fmt: skip
    """Play streams, and note per stream, epoch and arm the most by which a bound was wrong.

    A row of `points` and `coins` is a stream; an arm succeeds where the point lies in its window. `rule`: by chance (0), the
    arm whose bound is nearest to being wrong (1), the same arm until it works (2). Wrong on purpose: thresholds shrunk to a
    `share`, or outcomes taken as those of all arms of which they are implied. `alone`: the closure without other bounds.
    """
    head, arms = table.head, table.arms
    seen = scratch.arms if alone else arms
    first, last = head.has_skip, head.arms - 1
    for stream in range(len(points)):
        copy_table(table, blank)
        copy_table(scratch, blank)
        arm, worked, epoch = first, False, 0
        for told in range(1, points.shape[1] + 1):
            coin = coins[stream, told - 1]
            if rule == 0:
                arm = first + int(coin * (last - first))
            elif rule == 1:
                nearest = 2.0
                for other in range(first, last):
                    gap = seen[other].upper - truth[other]
                    if gap < nearest:
                        nearest, arm = gap, other
            elif worked:
                arm = first + (arm + 1 - first) % (last - first)
            point = points[stream, told - 1]
            worked = low[arm] <= point <= high[arm]
            cost = np.nan
            if head.costs_known == 0:
                cost = head.safe_cost if (coin * 7919.0) % 1.0 < omega[arm] / head.safe_cost else 0.0
            before = head.refresh_after
            head.steps = told
            for other in range(first, last):
                around = low[other] <= low[arm] and high[arm] <= high[other]
                within = low[arm] <= low[other] and high[other] <= high[arm]
                if other == arm or (implied and (around if worked else within)):
                    said = cost if not implied else np.nan
                    lesson = Lesson(other, 1.0 if worked else 0.0, said, 1.0, True, True, True)
                    due = learn_arm(table, lesson, 1.0)
                    if due > 0:
                        catch_up(table, due, other, 1.0)
            while 2 << epoch <= told + 1:
                epoch += 1
            if share < 1.0:
                level = head.level
                for other in range(first, last):
                    plays = arms[other].plays
                    if plays > 0.0:
                        grown = math.log(plays + 1.0) if head.kind == KL else 0.0
                        head.level = share * (level + grown) - grown
                        recompute_bound(table, other)
                head.level = level
            if alone and before != head.refresh_after:
                copy_table(scratch, table)
                for other in range(first, last):
                    scratch.arms[other].upper = 1.0
                close(scratch)
            for other in range(first, last):
                short[stream, epoch, other] = max(short[stream, epoch, other], truth[other] - seen[other].upper)
                dear[stream, epoch, other] = max(dear[stream, epoch, other], arms[other].lower - omega[other])


CHAIN = Menu(["s", "m", "l", "xl"], safe="all", skip="none", order="chain", safe_cost=2.0)
INTERVALS = Menu.intervals(step=0.25, skip=True)


def world(menu: Menu, streams: int, length: int, seed: int) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Windows and truth of every arm, and points: on [0, 1], every other one on a grid point where options are intervals."""
    rng = np.random.default_rng(seed)
    points = rng.random((streams, length))
    if menu is CHAIN:
        low, high = np.full(menu.n_arms, -1.0), np.array([-1.0, 0.2, 0.45, 0.7, 0.9, 1.0])
        return low, high, np.maximum(high, 0.0), np.array([0.0, 0.3, 0.6, 1.2, 1.5, 2.0]), points
    grid = np.array([0.05, 0.3, 0.1, 0.4, 0.15])
    points = np.where(rng.random(points.shape) < 0.5, points, rng.choice(5, points.shape, p=grid) / 4)
    ends = np.array([[2.0, -1.0], *menu.options, menu.safe])
    low, high = ends[:, 0].copy(), ends[:, 1].copy()
    atoms = [grid[(np.arange(5) / 4 >= a) & (np.arange(5) / 4 <= b)].sum() for a, b in ends]
    truth = 0.5 * np.maximum(high - low, 0.0) + 0.5 * np.array(atoms)
    assert menu.costs is not None
    return low, high, truth, np.concatenate([[0.0], menu.costs, [1.0]]), points


def watched(
    menu: Menu, kind: int, rule: int, streams: int, length: int, *, share: float = 1.0, implied: bool = False,
    alone: bool = False,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Per stream, epoch and arm: how far the success was underrated, and the cost overrated, at most."""
    low, high, truth, omega, points = world(menu, streams, length, seed=kind)
    table, blank, scratch = (fresh_table(menu, kind, compiled=True) for _ in range(3))
    epochs = length.bit_length() + 1
    short, dear = np.zeros((streams, epochs, menu.n_arms)), np.zeros((streams, epochs, menu.n_arms))
    coins = np.random.default_rng(99).random((streams, length))
    compiled(watch)(
        table, blank, scratch, low, high, truth, omega, points, coins, rule, share, implied, alone, short, dear
    )
    return short, dear


WRONG = 1e-9
RULE_NAMES = ["by chance", "hostile", "until it works"]


def wrong_somewhere(excess: Floats) -> Floats:
    """The share of streams on which some arm's bound was wrong at some time, per epoch."""
    return np.asarray((excess > WRONG).any(axis=2).mean(axis=0))


def exceeds(shares: Floats, allowed: Any, streams: int) -> bool:
    """Whether bounds were wrong on more streams than is stated, in some epoch; E = 2, 4, 8, ..."""
    return any(wrong > at_most(min(1.0, allowed(2.0 ** (k + 1))), streams) for k, wrong in enumerate(shares))


def union(end: float) -> float:
    """What is stated of all KL bounds on successes together, and of all on costs: n arms, each with 1/(2nE)."""
    return 1 / (2 * end)


def differences(end: float) -> float:
    """What is stated of the closure of intervals."""
    return min(0.25, math.sqrt(INTERVALS.n_arms / end))


def seldom(excess: Floats, kind: int, families: int) -> bool:
    """Whether each arm by itself was wrong as seldom as the lemma says, so many families of plays being bounded."""
    streams = len(excess)
    for k in range(2, excess.shape[1]):
        often, _ = lemma(formulas.level_of(kind, 0, 2 << k), 2.0 ** (k + 1))
        if ((excess[:, k] > WRONG).mean(axis=0) > at_most(min(1.0, families * often), streams)).any():
            return False
    return True


def by_little(excess: Floats, kind: int, families: int, scale: float = 1.0) -> bool:
    """Whether each arm by itself was wrong by as little on average."""
    for k in range(2, excess.shape[1]):
        _, much = lemma(formulas.level_of(kind, 0, 2 << k), 2.0 ** (k + 1))
        spread = excess[:, k].std(axis=0) / math.sqrt(len(excess))
        if (excess[:, k].mean(axis=0) > families * scale * much + 4 * spread).any():
            return False
    return True


def check_kl(rule: int, streams: int, length: int) -> None:
    short, dear = watched(CHAIN, formulas.KL, rule, streams, length)
    assert not exceeds(wrong_somewhere(short), union, streams)
    assert not exceeds(wrong_somewhere(dear), union, streams)


def check_lemma(kind: int, menu: Menu, rule: int, streams: int, length: int) -> None:
    """Half-log bounds of an arm's own plays, and where arms contain one another those of its pool besides."""
    families = 1 if kind == formulas.HALF_LOG else 2
    short, dear = watched(menu, kind, rule, streams, length)
    assert seldom(short, kind, families)
    assert by_little(short, kind, families)
    assert seldom(dear, kind, 1)
    assert by_little(dear, kind, 1, menu.safe_cost)


def check_closure(rule: int, streams: int, length: int) -> None:
    short, _ = watched(INTERVALS, formulas.INTERVAL_CLOSURE, rule, streams, length, alone=True)
    assert not exceeds(wrong_somewhere(short), differences, streams)


@needs_compiler
@pytest.mark.parametrize("rule", range(3), ids=RULE_NAMES)
class TestCode:
    def test_kl(self, rule: int) -> None:
        check_kl(rule, streams=1500, length=255)

    def test_half_log(self, rule: int) -> None:
        check_lemma(formulas.HALF_LOG, CHAIN, rule, streams=300, length=2047)

    @pytest.mark.parametrize("menu", [CHAIN, INTERVALS], ids=["chain", "intervals"])
    def test_contained(self, menu: Menu, rule: int) -> None:
        check_lemma(formulas.ORDERED, menu, rule, streams=300, length=2047)

    def test_closure(self, rule: int) -> None:
        check_closure(rule, streams=400, length=511)


@needs_compiler
class TestWhatIsWrongIsCaught:
    """The same checks in the same worlds, of bounds that are not safe."""

    def test_half_the_threshold(self) -> None:
        short, dear = watched(CHAIN, formulas.KL, 0, 1500, 255, share=0.5)
        assert exceeds(wrong_somewhere(short), union, 1500)
        assert exceeds(wrong_somewhere(dear), union, 1500)

    def test_counting_what_is_implied(self) -> None:
        """A failure of a larger option is one of a smaller, a success of a smaller one of a larger: true, and biased."""
        short, _ = watched(CHAIN, formulas.KL, 0, 200, 511, implied=True)
        assert exceeds(wrong_somewhere(short), union, 200)
        for menu in (CHAIN, INTERVALS):
            for families, kind in ((1, formulas.HALF_LOG), (2, formulas.ORDERED)):
                short, _ = watched(menu, kind, 0, 150, 4095, implied=True)
                assert not seldom(short, kind, families)
                assert not by_little(short, kind, families)
        short, _ = watched(INTERVALS, formulas.INTERVAL_CLOSURE, 0, 200, 511, implied=True, alone=True)
        assert exceeds(wrong_somewhere(short), differences, 200)
