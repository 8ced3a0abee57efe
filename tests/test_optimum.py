"""The exact optimum against HiGHS, on random and on degenerate instances."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

import suffice
from suffice import optimum

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
        for dual in (result.dual, result.dual_ahead):
            assert dual >= 0
            assert (cost - dual * success).min() + dual * target == pytest.approx(
                result.cost, abs=1e-9 * (scale + dual)
            )
    assert 0 < infeasible < 300


def test_a_million_arms() -> None:
    rng = np.random.default_rng(0)
    success = np.sort(rng.random(1_000_000))
    cost = success**3 + 0.01 * rng.random(success.size)
    success[0], cost[0], success[-1], cost[-1] = 0.0, 0.0, 1.0, 1.1
    result = optimum(success, cost, 0.8)
    assert (cost - result.dual * success).min() + result.dual * 0.8 == pytest.approx(result.cost, abs=1e-12)
    assert (result.weights > 0).sum() <= 2


def test_a_long_curved_hull() -> None:
    """Every arm is a corner of the hull: the edge must be found without walking all of them."""
    success = np.linspace(0, 1, 100_001)
    result = optimum(success, np.expm1(20 * success), 0.3333333)
    assert result.cost == pytest.approx(float(np.expm1(20 * 0.3333333)), rel=1e-6)


def test_shadow_prices_at_a_kink() -> None:
    result = optimum([0, 0.5, 1], [0, 0.1, 1], 0.5)
    assert (result.cost, result.dual_ahead, result.dual) == (0.1, 0.2, 1.8)
    assert optimum([0.5, 0.9], [0.1, 0.1], 0.4).dual == 0.0


def test_no_nothing_and_exact_target() -> None:
    assert optimum([0.6, 1], [0.2, 1], Fraction(4, 5)).cost == pytest.approx(0.6)
    assert optimum([1.0], [3.0], 0.9).cost == 3.0
