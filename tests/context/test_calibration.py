"""Calibration corrects wrong probabilities, leaves right ones alone, and survives certainty."""

import math

import numpy as np
import pytest

from suffice.context.models.calibration import Calibration
from suffice.kernels.rows import Floats


def log_loss(chances: Floats, outcomes: Floats) -> float:
    chances = np.clip(chances, 1e-12, 1.0 - 1e-12)
    return float(-(outcomes * np.log(chances) + (1.0 - outcomes) * np.log1p(-chances)).mean())


def calibrated(given: Floats, outcomes: Floats) -> tuple[float, Calibration]:
    """The log loss of probabilities corrected by the outcomes before each, and the calibration after all."""
    calibration, used = Calibration(), []
    for chance, outcome in zip(given.tolist(), outcomes.tolist(), strict=True):
        used.append(calibration.apply(chance))
        calibration.update(chance, outcome)
    return log_loss(np.array(used), outcomes), calibration


@pytest.mark.parametrize(
    ("tilt", "shift"), [(1.0, 0.0), (4.0, 0.0), (10.0, 0.0), (0.3, 0.0), (1.0, 2.0), (3.0, -2.0)],
    ids=["right", "overconfident", "very overconfident", "underconfident", "too high", "overconfident and too low"],
)  # fmt: skip
def test_wrong_probabilities_are_corrected(tilt: float, shift: float) -> None:
    """Most of the excess log loss is gone, measured on outcomes not yet learned from."""
    rng = np.random.default_rng(0)
    odds = 1.5 * rng.normal(size=3000)
    outcomes = (rng.random(3000) < 1.0 / (1.0 + np.exp(-odds))).astype(float)
    given = 1.0 / (1.0 + np.exp(-np.clip(tilt * odds + shift, -50.0, 50.0)))
    best, before = log_loss(1.0 / (1.0 + np.exp(-odds)), outcomes), log_loss(given, outcomes)
    after, calibration = calibrated(given, outcomes)
    assert after < best + max(0.25 * (before - best), 0.005)
    assert calibration.slope == pytest.approx(1.0 / tilt, rel=0.4)


def test_an_update_is_newtons_step() -> None:
    rng = np.random.default_rng(3)
    calibration, known, weights = Calibration(), np.zeros((2, 2)), np.array([1.0, 0.0])
    for _ in range(50):
        chance, outcome = float(rng.uniform(0.1, 0.9)), float(rng.random() < 0.6)
        at = np.array([math.log(chance / (1.0 - chance)), 1.0])
        expected = 1.0 / (1.0 + math.exp(-weights @ at))
        known = 0.999 * known + expected * (1.0 - expected) * np.outer(at, at)
        weights = weights + np.linalg.solve(known + 4.0 * np.eye(2), (outcome - expected) * at)
        calibration.update(chance, outcome)
        assert [calibration.slope, calibration.shift] == pytest.approx(weights.tolist())
    assert weights[0] > 0.0  # otherwise the step would have been cut


@pytest.mark.parametrize("given", [0.0, 1.0, 1e-300, 1.0 - 2**-53])
@pytest.mark.parametrize("outcome", [0.0, 1.0, 0.5])
def test_certain_probabilities_are_corrected(given: float, outcome: float) -> None:
    calibration = Calibration()
    for _ in range(500):
        calibration.update(given, outcome)
        assert 0.0 <= calibration.slope <= 16.0
        assert 0.0 < calibration.apply(given) < 1.0
    assert calibration.apply(given) == pytest.approx(outcome, abs=0.1)
    assert calibration.apply(0.2) <= calibration.apply(0.3)
