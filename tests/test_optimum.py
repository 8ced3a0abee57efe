"""The exact optimum against HiGHS, on random and on degenerate instances."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog

import suffice
from suffice import optimum
from suffice.best_mix import CLOSE, contextual_optimum

Floats = NDArray[np.float64]


def highs(success: Floats, cost: Floats, target: float) -> float | None:
    result = linprog(cost, A_ub=[-success], b_ub=[-target], A_eq=[np.ones(cost.size)], b_eq=[1.0], method="highs")
    return float(result.fun) if result.status == 0 else None


def instance(rng: np.random.Generator) -> tuple[Floats, Floats, float]:
    """Random arms, often degenerate: few levels (ties), duplicates, only the boundary arms, a target met exactly."""
    n = int(rng.choice([1, 2, 3, 5, 10, 60]))
    levels = int(rng.choice([2, 4, 10**6]))
    success = rng.integers(0, levels + 1, n) / levels
    cost = rng.integers(0, levels + 1, n) / levels
    if rng.random() < 0.7:
        success[-1], cost[-1] = 1.0, cost.max()
    if rng.random() < 0.5:
        success[0], cost[0] = 0.0, 0.0
    if n > 3 and rng.random() < 0.3:
        success[2], cost[2] = success[1], cost[1]
    if rng.random() < 0.3:
        target = float(rng.choice(success))
    else:
        target = float(rng.integers(1, 100) / 100)
    return success, cost * rng.choice([1.0, 1e-3, 1e4]), target


@pytest.mark.parametrize("block", range(10))
def test_equals_highs(block: int) -> None:
    rng = np.random.default_rng(block)
    infeasible = 0
    for _ in range(300):
        success, cost, target = instance(rng)
        expected = highs(success, cost, target)
        if success.max() < target:
            infeasible += 1
            with pytest.raises(suffice.Infeasible, match="out of reach"):
                optimum(success, cost, target)
            continue
        assert expected is not None
        result = optimum(success, cost, target)
        scale = max(1e-6, float(np.abs(cost).max()))
        assert result.cost == pytest.approx(expected, abs=1e-9 * scale)
        weights = result.weights
        assert weights.sum() == pytest.approx(1.0)
        assert (weights >= 0).all()
        assert (weights > 0).sum() <= 2
        assert weights @ success >= target - 1e-12
        assert weights @ cost == pytest.approx(result.cost, abs=1e-12 * scale)
        # Weak duality proves optimality without trusting HiGHS: no arm is better at the shadow price.
        for price in (result.price, result.price_ahead):
            assert price >= 0
            assert (cost - price * success).min() + price * target == pytest.approx(
                result.cost, abs=1e-9 * (scale + price)
            )
    assert 0 < infeasible < 300


def test_many_arms() -> None:
    rng = np.random.default_rng(0)
    success = np.sort(rng.random(200_000))
    cost = success**3 + 0.01 * rng.random(success.size)
    success[0], cost[0], success[-1], cost[-1] = 0.0, 0.0, 1.0, 1.1
    result = optimum(success, cost, 0.8)
    assert (cost - result.price * success).min() + result.price * 0.8 == pytest.approx(result.cost, abs=1e-12)
    assert (result.weights > 0).sum() <= 2


def test_shadow_prices_at_a_kink() -> None:
    result = optimum([0, 0.5, 1], [0, 0.1, 1], 0.5)
    assert (result.cost, result.price_ahead, result.price) == (0.1, 0.2, 1.8)
    assert optimum([0.5, 0.9], [0.1, 0.1], 0.4).price == 0.0


def test_no_skip_and_exact_target() -> None:
    assert optimum([0.6, 1], [0.2, 1], Fraction(4, 5)).cost == pytest.approx(0.6)
    assert optimum([1.0], [3.0], 0.9).cost == 3.0


# --- with contexts


Contexts = tuple[Floats, Floats, Floats, float]


@st.composite
def contexts(draw: st.DrawFn) -> Contexts:
    """Up to six contexts of up to six arms, often degenerate: few levels, equal rows, a target on a kink."""
    kinds, arms, levels = draw(st.integers(1, 6)), draw(st.integers(1, 6)), draw(st.sampled_from([2, 4, 10**6]))
    rows = st.lists(st.integers(0, levels), min_size=arms, max_size=arms)
    tables = st.lists(rows, min_size=kinds, max_size=kinds).map(lambda table: np.array(table) / levels)
    success, cost = draw(tables), draw(tables)
    shares = np.array(draw(st.lists(st.integers(0, 5), min_size=kinds, max_size=kinds)), dtype=np.float64)
    shares[0] += 1.0
    weights = shares / shares.sum()
    if draw(st.booleans()):
        success[:, -1] = 1.0
    played = draw(st.lists(st.integers(0, arms - 1), min_size=kinds, max_size=kinds))
    on_a_kink = float(weights @ success[np.arange(kinds), played])
    target = draw(st.one_of(st.just(min(1.0, on_a_kink)), st.integers(0, 100).map(lambda percent: percent / 100)))
    return weights, success, cost * draw(st.sampled_from([1.0, 1e4])), target


def highs_of_contexts(weights: Floats, success: Floats, cost: Floats, target: float) -> float | None:
    kinds, arms = success.shape
    result = linprog(
        (weights[:, None] * cost).ravel(),
        A_ub=[-(weights[:, None] * success).ravel()],
        b_ub=[-target],
        A_eq=np.repeat(np.eye(kinds), arms, axis=1),
        b_eq=np.ones(kinds),
        method="highs",
    )
    return float(result.fun) if result.status == 0 else None


@settings(max_examples=150, deadline=None)
@given(contexts())
def test_contexts_equal_highs(drawn: Contexts) -> None:
    weights, success, cost, target = drawn
    if weights @ success.max(axis=1) < target - 1e-12:
        with pytest.raises(suffice.Infeasible, match="out of reach"):
            contextual_optimum(weights, success, cost, target)
        return
    expected = highs_of_contexts(weights, success, cost, min(target, float(weights @ success.max(axis=1))))
    assert expected is not None
    result = contextual_optimum(weights, success, cost, target)
    scale = max(1e-6, float(np.abs(cost).max()))
    assert result.cost == pytest.approx(expected, abs=1e-8 * scale)
    mix = result.weights
    assert mix.shape == success.shape
    assert mix.sum(axis=1) == pytest.approx(1.0)
    assert (mix >= 0).all()
    assert ((mix > 0).sum(axis=1) > 1).sum() <= 1
    assert weights @ (mix * success).sum(axis=1) >= target - 1e-11
    assert weights @ (mix * cost).sum(axis=1) == pytest.approx(result.cost, abs=1e-12 * scale)
    # At the shadow price no context has a better arm, which proves it without HiGHS.
    assert result.price >= result.price_ahead >= 0
    for price in (result.price, result.price_ahead):
        priced = weights @ (cost - price * success).min(axis=1) + price * target
        assert priced == pytest.approx(result.cost, abs=1e-9 * (scale + price))


@settings(max_examples=150, deadline=None)
@given(contexts())
def test_contexts_that_do_not_matter(drawn: Contexts) -> None:
    """One context is no context, several that are alike neither; and knowing which it is never makes it dearer."""
    weights, success, cost, target = drawn
    if success[0].max() >= target:
        plain = optimum(success[0], cost[0], target)
        alone = contextual_optimum([1.0], success[:1], cost[:1], target)
        rows = np.zeros(weights.size, dtype=np.int64)
        alike = contextual_optimum(weights, success[rows], cost[rows], target)
        scale = max(1e-6, float(np.abs(cost).max()))
        gaps = np.abs(success[0] - target)
        on_a_kink_or_off_it = not (
            (gaps > 0.0) & (gaps < 2 * CLOSE)
        ).any()  # next to one, the slope is that of either side
        for result in (alone, alike):
            assert result.cost == pytest.approx(plain.cost, abs=1e-9 * scale)
            assert not on_a_kink_or_off_it or (result.price, result.price_ahead) == pytest.approx(
                (plain.price, plain.price_ahead), rel=1e-6
            )
    pooled = np.minimum(weights @ success, 1.0), weights @ cost
    if pooled[0].max() >= target:
        told = contextual_optimum(weights, success, cost, target).cost
        assert told <= optimum(*pooled, target).cost + 1e-9 * max(1.0, float(np.abs(cost).max()))


def test_shadow_prices_of_contexts_at_kinks() -> None:
    """Two contexts of equal weight: slopes 0.2 and 1.8 in one, 1 in the other, so kinks at 1/4 and 3/4."""
    success, cost = np.array([[0, 0.5, 1], [0, 0, 1]]), np.array([[0, 0.1, 1], [0, 0, 1]])
    found = [contextual_optimum([0.5, 0.5], success, cost, target) for target in (0, 0.25, 0.5, 0.75, 1)]
    assert [result.cost for result in found] == pytest.approx([0, 0.05, 0.3, 0.55, 1])
    assert [result.price_ahead for result in found] == pytest.approx([0, 0.2, 1, 1, 1.8])
    assert [result.price for result in found] == pytest.approx([0.2, 1, 1, 1.8, 1.8])
    free = contextual_optimum([0.5, 0.5], [[0.9, 1.0], [0.7, 1.0]], [[0.0, 1.0]] * 2, 0.7)
    assert (free.cost, free.price, free.price_ahead) == (0, 0, 0)


@pytest.mark.parametrize(
    ("weights", "success", "cost", "target", "said"),
    [
        ([0.5, 0.4], [[0, 1]] * 2, [[0, 1]] * 2, 0.5, "weights must be at least 0 and sum to 1, got a sum of 0.9"),
        ([1.5, -0.5], [[0, 1]] * 2, [[0, 1]] * 2, 0.5, "weights must be at least 0 and sum to 1"),
        ([np.nan], [[0, 1]], [[0, 1]], 0.5, "weights must be finite, got nan"),
        ("ab", [[0, 1]], [[0, 1]], 0.5, "weights must hold one number per context, got 'ab'"),
        ([1.0], [0, 1], [[0, 1]], 0.5, "success must hold one row per context and one number per arm"),
        ([1.0], [[0, 1]], [[0, 1, 2]], 0.5, "success and cost must have a row for each of the 1 weights"),
        ([0.5, 0.5], [[0, 1]], [[0, 1]], 0.5, "success and cost must have a row for each of the 2 weights"),
        ([1.0], [[0, 1.1]], [[0, 1]], 0.5, "success must lie between 0 and 1 for every arm, got 1.1"),
        ([1.0], [[0, 1]], [[0, np.inf]], 0.5, "cost must be finite, got inf"),
        ([1.0], [[0, 1]], [[0, -1]], 0.5, "cost must be at least 0 for every arm, got -1"),
        (["1"], [[0, 1]], [[0, 1]], 0.5, "weights must hold one number per context, got ['1']"),
        (
            [1.0],
            [[0, 1]],
            [[0, True]],
            0.5,
            "cost must hold one row per context and one number per arm, got [[0, True]]",
        ),
        ([1.0], [[0, 1]], [[0, 1]], 1.5, "target must lie between 0 and 1, got 1.5"),
        ([1.0], [[0, 1]], [[0, 1]], "x", "target must be a number, got 'x'"),
    ],
)
def test_contexts_are_checked(weights: object, success: object, cost: object, target: object, said: str) -> None:
    with pytest.raises(suffice.InvalidArgument) as error:
        contextual_optimum(weights, success, cost, target)  # type: ignore[arg-type]
    assert str(error.value).startswith(said)


@pytest.mark.parametrize(
    ("success", "cost", "target", "said"),
    [
        ([0, 1], [-1, 1], 0.5, "cost must be at least 0 for every arm, got -1"),
        ([0, 1], [math.nan, 1], 0.5, "cost must be finite, got nan"),
        ([0, math.nan], [0, 1], 0.5, "success must be finite, got nan"),
        (["0", "1"], [0, 1], 0.5, "success must hold one number per arm, got ['0', '1']"),
        ([False, True], [0, 1], 0.5, "success must hold one number per arm, got [False, True]"),
        (np.array([False, True]), [0, 1], 0.5, "success must hold one number per arm, got array([False,  True])"),
        ([0, 1], 1, 0.5, "cost must hold one number per arm, got an array of shape ()"),
        ([], [], 0.5, "success must hold one number per arm, got an array of shape (0,)"),
        ([0, 1], [0, 1, 2], 0.5, "success and cost must be equally long, got 2 and 3"),
        ([0, 1], [0, 1], True, "target must be a number, got True"),
        ([0, 1], [0, 1], "0.5", "target must be a number, got '0.5'"),
        ([0, 1], [0, 1], math.nan, "target must be finite, got nan"),
        ([0, 1], [0, 1], 1.5, "target must lie between 0 and 1, got 1.5"),
        ([0, 2], [0, 1], 0.5, "success must lie between 0 and 1 for every arm"),
        ([[0, 1]], [0, 1], 0.5, "success must hold one number per arm, got an array of shape (1, 2)"),
    ],
)
def test_arms_are_checked(success: object, cost: object, target: object, said: str) -> None:
    with pytest.raises(suffice.InvalidArgument, match=re.escape(said)):
        optimum(success, cost, target)  # type: ignore[arg-type]


def test_contexts_out_of_reach() -> None:
    with pytest.raises(
        suffice.Infeasible, match=r"target 0.9 is out of reach: the best arm of each .* 0.7 of the time"
    ):
        contextual_optimum([0.5, 0.5], [[0.0, 1.0], [0.0, 0.4]], [[0.0, 1.0]] * 2, 0.9)
