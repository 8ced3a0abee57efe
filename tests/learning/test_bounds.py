"""Bounds: names and refusals, the formulas, and what half a logarithm saves. `test_contracts` has what all kinds pass."""

import math

import numpy as np
import pytest

from suffice import InvalidArgument, Learning, Menu, Selector, optimum, summarize
from suffice.lab.streams import UnitPoints
from suffice.learning.bounds import Tally, resolve_bounds
from suffice.promise.divergence import kl, kl_lower, kl_upper

KNOWN = Menu({"a": 0.1, "b": 0.4}, safe="all", skip="none", safe_cost=1.0)


@pytest.mark.parametrize("bad", ["best", 3, None, Tally, object()])
def test_unknown_bounds_are_refused(bad: object) -> None:
    with pytest.raises(
        InvalidArgument,
        match='bounds must be one of "auto", "interval-closure", "ordered", "half-log", "kl", "hoeffding", "paper" or an ',
    ):
        Learning(bounds=bad)  # type: ignore[arg-type]


def test_hoeffding_width() -> None:
    bounds, tally = resolve_bounds("hoeffding"), Tally(4)
    bounds.start(Menu(["a", "b"], safe="all", skip="none", safe_cost=2.0), 100)
    for k in range(100):
        tally.add(1, float(k < 20), 1.0)
    bounds.update(tally, 1, 50)
    width = math.sqrt(2 * math.log(4 * 100) / 100)
    assert bounds.upper[1] == pytest.approx(0.2 + width)
    assert bounds.lower[1] == pytest.approx(1.0 - 2.0 * width)


def test_kl_bounds_invert_the_divergence() -> None:
    rng = np.random.default_rng(0)
    for mean, level in zip(rng.random(2000), 10 ** rng.uniform(-6, 1, 2000), strict=True):
        upper, lower = kl_upper(mean, level), kl_lower(mean, level)
        assert 0 <= lower <= mean <= upper <= 1
        if upper < 1 - 1e-9:
            assert kl(mean, upper) == pytest.approx(level, rel=1e-6, abs=1e-11)
        if lower > 1e-9:
            assert kl(mean, lower) == pytest.approx(level, rel=1e-3, abs=1e-11)


def test_half_a_logarithm_is_cheaper_and_keeps_the_promise() -> None:
    """Paired runs on the paper's intervals: less regret than with the union threshold, for every seed."""
    stream = UnitPoints()
    best = optimum(*stream.truth(), 0.8)
    for seed in range(3):
        runs = [
            summarize(Selector(stream.menu, 0.8, learning=Learning(bounds=name)), stream, 50_000, seed)
            for name in ("half-log", "kl")
        ]
        regrets = [run.cost - best.cost * run.steps + best.price * run.debt for run in runs]
        assert regrets[0] < 0.75 * regrets[1]
        assert max(run.largest_debt for run in runs) <= 5
