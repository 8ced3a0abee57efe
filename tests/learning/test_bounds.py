"""Bounds: a contract that every kind passes, their formulas, and coverage by Monte Carlo."""

import math

import numpy as np
import pytest

from suffice import InvalidArgument, Menu, Selector, optimum, summarize
from suffice.lab.streams import UnitPoints
from suffice.learning.bound_formulas import HALF_LOG, level_of, upper_of
from suffice.learning.bounds import NAMED, Bounds, Tally, resolve_bounds
from suffice.promise.divergence import kl, kl_lower, kl_upper

KNOWN = Menu({"a": 0.1, "b": 0.4}, safe="all", skip="none")
TOLD = Menu(["a", "b"], safe="all", skip="none", safe_cost=2.0)


@pytest.mark.parametrize("name", [*NAMED, "auto"])
@pytest.mark.parametrize("menu", [KNOWN, TOLD], ids=["known", "told"])
@pytest.mark.parametrize("horizon", [None, 1000])
class TestEveryKind:
    def test_boundary_arms_are_exact_and_stay_so(self, name: str, menu: Menu, horizon: int | None) -> None:
        bounds = self.fed(name, menu, horizon)
        assert (bounds.upper[0], bounds.lower[0]) == (0.0, 0.0)
        assert (bounds.upper[-1], bounds.lower[-1]) == (1.0, menu.safe_cost)

    def test_updating_one_by_one_equals_refreshing_all(self, name: str, menu: Menu, horizon: int | None) -> None:
        bounds = self.fed(name, menu, horizon)
        again = resolve_bounds(name)
        again.open(menu, horizon)
        again.refresh(self.tally, 300)
        assert (again.upper == bounds.upper).all()
        assert (again.lower == bounds.lower).all()

    def test_bounds_surround_the_means_and_close_in(self, name: str, menu: Menu, horizon: int | None) -> None:
        bounds = self.fed(name, menu, horizon)
        for arm in (1, 2):
            assert bounds.upper[arm] > self.tally.successes[arm] / self.tally.plays[arm]
            if menu.costs is None or name == "paper":
                assert bounds.lower[arm] < self.tally.costs[arm] / self.tally.priced[arm]
            else:
                assert bounds.lower[arm] == menu.known_cost(arm)
        early, late = bounds.upper[1], self.fed(name, menu, horizon, rounds=3000).upper[1]
        assert late < early

    def test_an_arm_never_played_could_be_anything(self, name: str, menu: Menu, horizon: int | None) -> None:
        bounds = resolve_bounds(name)
        bounds.open(menu, horizon)
        assert (bounds.upper[menu.interior] >= 1.0).all()
        assert (bounds.lower[menu.interior] <= (menu.costs if menu.costs is not None else 0.0)).all()

    def fed(self, name: str, menu: Menu, horizon: int | None, rounds: int = 300) -> Bounds:
        rng = np.random.default_rng(0)
        bounds = resolve_bounds(name)
        bounds.open(menu, horizon)
        assert isinstance(bounds, Bounds)
        self.tally = Tally(menu.n_arms)
        for told in range(1, rounds + 1):
            arm = int(rng.integers(0, menu.n_arms))
            success = float(rng.random() < (0.0, 0.3, 0.8, 1.0)[arm])
            cost = {0: 0.0, menu.n_arms - 1: menu.safe_cost}.get(arm, float(rng.random() * arm / 2))
            self.tally.add(arm, success, cost)
            bounds.update(self.tally, arm, told)
        return bounds


def test_auto_says_what_it_became() -> None:
    assert Selector(KNOWN, 0.9).bounds == "half-log"
    assert Selector(KNOWN, 0.9, bounds="hoeffding").bounds == "hoeffding"


@pytest.mark.parametrize("bad", ["best", 3, None, Tally, object()])
def test_unknown_bounds_are_refused(bad: object) -> None:
    with pytest.raises(
        InvalidArgument,
        match='bounds must be one of "auto", "closed", "contained", "half-log", "kl", "hoeffding", "paper" or an object',
    ):
        Selector(KNOWN, 0.9, bounds=bad)  # type: ignore[arg-type]


def test_hoeffding_width() -> None:
    bounds = resolve_bounds("hoeffding")
    bounds.open(TOLD, 100)
    tally = Tally(4)
    for k in range(100):
        tally.add(1, float(k < 20), 1.0)
    bounds.update(tally, 1, 50)
    width = math.sqrt(2 * math.log(4 * 100) / 100)
    assert bounds.upper[1] == pytest.approx(0.2 + width)
    assert bounds.lower[1] == pytest.approx(1.0 - 2.0 * width)


def test_an_expired_play_has_no_cost() -> None:
    tally = Tally(4)
    tally.add(1, 0.0, None)
    for name in NAMED:
        bounds = resolve_bounds(name)
        bounds.open(TOLD, 100)
        bounds.update(tally, 1, 1)
        assert bounds.lower[1] <= 0.0


def test_kl_bounds_invert_the_divergence() -> None:
    rng = np.random.default_rng(0)
    for mean, level in zip(rng.random(2000), 10 ** rng.uniform(-6, 1, 2000), strict=True):
        upper, lower = kl_upper(mean, level), kl_lower(mean, level)
        assert 0 <= lower <= mean <= upper <= 1
        if upper < 1 - 1e-9:
            assert kl(mean, upper) == pytest.approx(level, rel=1e-6, abs=1e-11)
        if lower > 1e-9:
            assert kl(mean, lower) == pytest.approx(level, rel=1e-3, abs=1e-11)


@pytest.mark.parametrize("mean", [0.02, 0.5, 0.9])
@pytest.mark.parametrize("graded", [False, True])
def test_the_mixture_threshold_covers_at_all_times(mean: float, graded: bool) -> None:
    """P(some s: s·kl(mean_s, p) > ln((s+1)/δ)) <= δ, for coins and for fractional outcomes."""
    rng = np.random.default_rng(7)
    delta, streams, length = 0.05, 2000, 500
    draws = rng.beta(mean, 1 - mean, (streams, length)) if graded else rng.random((streams, length)) < mean
    plays = np.arange(1, length + 1)
    means = np.clip(np.cumsum(draws.astype(float), axis=1) / plays, 1e-15, 1 - 1e-15)
    divergence = means * np.log(means / mean) + (1 - means) * np.log((1 - means) / (1 - mean))
    wrong = (plays * divergence > np.log((plays + 1) / delta)).any(axis=1).mean()
    assert wrong <= delta + 3 * math.sqrt(delta / streams)


@pytest.mark.parametrize("name", ["kl", "hoeffding"])
@pytest.mark.parametrize("horizon", [None, 400])
def test_selector_bounds_cover_on_almost_every_stream(name: str, horizon: int | None) -> None:
    """Whole runs: how often is any bound of any arm wrong at any time? The kl bounds' share per epoch sums to below 1."""
    truth, cost = np.array([0.0, 0.3, 0.6, 1.0]), np.array([0.0, 0.4, 0.8, 2.0])
    wrong = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        selector = Selector(TOLD, 0.7, horizon, bounds=name)
        missed = False
        for _ in range(400):
            decision = selector.ask()
            arm = decision.arm
            spent = cost[arm] * (rng.random() * 2 if arm in (1, 2) else 1.0)
            selector.tell(decision, float(rng.random() < truth[arm]), spent)
            missed = missed or bool(
                (selector.learner.columns()[4] < truth).any() or (selector.learner.columns()[5] > cost).any()
            )
        wrong += missed
    assert wrong <= 1


@pytest.mark.parametrize("mean", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("graded", [False, True])
def test_half_a_logarithm_underrates_seldom_and_by_little(mean: float, graded: bool) -> None:
    """The lemma behind the half-log threshold: P(some s: U_s < p) <= e·K·exp(−β) and E sup (p − U_s)⁺ within its bound."""
    rng = np.random.default_rng(11)
    end, streams = 1024, 3000
    beta = level_of(HALF_LOG, 7, end)
    assert beta == pytest.approx(0.5 * math.log(end) + math.log(1.0 + math.log(end)))
    assert level_of(HALF_LOG, 100_000, end) == beta  # no union over arms
    draws = rng.beta(mean, 1 - mean, (streams, end)) if graded else rng.random((streams, end)) < mean
    plays = np.arange(1, end + 1)
    means = np.cumsum(draws.astype(float), axis=1) / plays
    inside = np.clip(means, 1e-15, 1 - 1e-15)
    divergence = inside * np.log(inside / mean) + (1 - inside) * np.log((1 - inside) / (1 - mean))
    below = (means < mean) & (plays * divergence > beta)
    rounds = math.ceil(beta * math.log(end))
    wrong = below.any(axis=1)
    assert wrong.mean() <= min(1.0, math.e * rounds * math.exp(-beta)) + 3 * math.sqrt(0.25 / streams)
    shortfalls = np.zeros(streams)
    for stream in np.flatnonzero(wrong):
        shortfalls[stream] = max(
            mean - upper_of(HALF_LOG, float(means[stream, s] * plays[s]), float(plays[s]), beta)
            for s in np.flatnonzero(below[stream])
        )
    assert shortfalls.mean() <= 3.41 * beta * math.sqrt(beta / (beta - 1)) * math.exp(-beta)


def test_half_a_logarithm_is_cheaper_and_keeps_the_promise() -> None:
    """Paired runs on the paper's intervals: less regret than with the union threshold, on every seed."""
    stream = UnitPoints.named()
    best = optimum(*stream.truth(), 0.8)
    for seed in range(3):
        runs = [summarize(Selector(stream.menu, 0.8, bounds=name), stream, 50_000, seed) for name in ("half-log", "kl")]
        regrets = [run.cost - best.cost * run.steps + best.price * run.debt for run in runs]
        assert regrets[0] < 0.75 * regrets[1]
        assert max(run.largest_debt for run in runs) <= 0.8
