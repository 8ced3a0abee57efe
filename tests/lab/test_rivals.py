"""Rivals: the contract that each passes, each formula written out a second time, and what holds on every path."""

import inspect
import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from suffice import InvalidArgument, Menu, simulate
from suffice.lab import rivals
from suffice.lab.rivals import (
    ConservativePath,
    DecayingACI,
    Rival,
    ScalarACI,
    available,
)
from suffice.lab.rivals.base import PRIMARY
from suffice.lab.streams import LabelRanks, PredictionApis, RequiredThreshold, Stream, Trap, UnitPoints
from suffice.testing.rivals import RivalContract
from tests.support.attack import Attack
from tests.support.paths import DOCS

RIVALS = available()
RANKS = LabelRanks.cifar100()
NEEDS = RequiredThreshold(step=0.1)
POINTS = UnitPoints(Menu.intervals(step=0.125, skip=True))
THRESHOLDS = (ScalarACI, DecayingACI)
KINDS = [pytest.param(kind, id=name) for name, kind in RIVALS.items()]


def make(kind: type[Rival], menu: Menu, target: Any = 0.9, horizon: int = 2000, **settings: Any) -> Any:
    given = {"menu": menu, "target": target, "horizon": horizon}
    takes = inspect.signature(kind).parameters
    return kind(**{name: value for name, value in given.items() if name in takes}, **settings)


def arm_at(menu: Menu, value: float) -> int:
    """The smallest option at or above a value, by a search from the first."""
    return next((arm for arm in range(menu.n_arms) if float(menu.option(arm)) >= value), menu.n_arms - 1)


# --- the contract


@pytest.mark.parametrize("kind", KINDS)
class TestEveryRival(RivalContract):
    @pytest.fixture(autouse=True)
    def _made_of(self, kind: type[Rival]) -> None:
        self.kind = kind

    def make_rival(self, stream: Stream) -> Rival:
        rival: Rival = make(self.kind, stream.menu)
        return rival


def test_the_public_rivals_are_those_that_are_found() -> None:
    public = {getattr(rivals, name) for name in rivals.__all__ if name not in ("Rival", "available")}
    assert public == set(RIVALS.values())
    assert all(name == kind.name for name, kind in RIVALS.items())


def test_the_page_on_rivals_describes_each_as_it_describes_itself() -> None:
    lines = [line for line in (DOCS / "rivals.md").read_text("utf-8").splitlines() if line.startswith("| ")]
    rows = {
        cells[0]: cells[1:]
        for cells in ([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines)
    }
    brief = {PRIMARY: "read"}
    for name, kind in RIVALS.items():
        settings = [
            f"`{p.name}`" if p.default in (p.empty, None) else f"`{p.name}={p.default}`"
            for p in list(inspect.signature(kind).parameters.values())[2:]
        ]
        described = [
            kind.source,
            brief.get(kind.read, kind.read),
            kind.guarantee.replace("|", r"\|"),
            ", ".join(settings),
        ]
        assert rows.pop(name) == described, name
    assert list(rows) == ["method"]


def test_what_a_rival_cannot_play_is_refused() -> None:
    for kind in RIVALS.values():
        with pytest.raises(InvalidArgument, match="menu must be a Menu, got 3"):
            make(kind, 3)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="menu must be a chain of options"):
        ScalarACI(POINTS.menu, 0.9)
    with pytest.raises(InvalidArgument, match="costs do not fall"):
        ScalarACI(Menu({"a": 0.4, "b": 0.1}, safe="all", order="chain", safe_cost=1.0), 0.9)
    assert ScalarACI(Menu({"a": 0.1, "b": 0.4}, safe="all", order="chain", safe_cost=1.0), 0.9).ask().option == "all"


def test_settings_are_checked() -> None:
    menu = RANKS.menu
    for wrong in (
        lambda: ScalarACI(menu, 0.9, step=0),
        lambda: DecayingACI(menu, 0.9, decay=0.6),
        lambda: ConservativePath(menu, 0.9, 0),
    ):
        with pytest.raises(InvalidArgument, match="must"):
            wrong()


def test_costs_must_be_told_where_the_menu_does_not_know_them() -> None:
    rival = ConservativePath(Menu(["a"], safe="all", skip="none", safe_cost=1.0), 0.5, 100)
    rival.tell(rival.ask(), True, 1.0)
    decision = rival.ask()
    assert decision.option == "a"
    with pytest.raises(InvalidArgument, match="cost must be told"):
        rival.tell(decision, True)
    rival.tell(decision, True, 0.3)


# --- formulas, written out a second time


class FixedOutcome(RequiredThreshold):
    """The same outcome whatever is played, the boundary arms included."""

    def __init__(self, success: float) -> None:
        super().__init__(step=0.1)
        self.success = success

    windows = None  # type: ignore[assignment]  # it is asked step by step

    def outcome(self, latent: float, arm: int, price: float) -> tuple[float, float]:
        return self.success, self.menu.known_cost(arm) or 0.0


@pytest.mark.parametrize("stream", [RANKS, NEEDS, FixedOutcome(0.0), FixedOutcome(1.0)])
def test_scalar_aci(stream: Any) -> None:
    step, target = Fraction(1, 20), Fraction(9, 10)
    trace = simulate(ScalarACI(stream.menu, 0.9, step=0.05), stream, 500)
    low, high = (Fraction(str(stream.menu.option(arm))) for arm in (0, stream.menu.n_arms - 1))
    threshold = high
    for arm, success in zip(trace.arms, trace.successes, strict=True):
        assert arm == arm_at(stream.menu, float(threshold))
        threshold += step * (high - low) * (target - int(success))
    assert trace.method.threshold == pytest.approx(float(threshold), rel=1e-12)
    # The identity, exactly: the threshold has moved in proportion to what is owed or banked.
    owed = target * 500 - int(trace.successes.sum())
    assert threshold - high == step * (high - low) * owed
    assert Fraction(trace.method.debt) == Fraction(float(owed))


@pytest.mark.parametrize("plan", ["fail", "hover", "greedy"])
def test_scalar_aci_is_valid_on_every_path(plan: str) -> None:
    for step in (0.01, 0.05, 0.3):
        trace = simulate(ScalarACI(RANKS.menu, 0.9, step=step), Attack(RANKS, plan=plan), 3000)
        assert np.abs(trace.debts).max() <= (1 + step) / step


def test_decaying_aci() -> None:
    trace = simulate(DecayingACI(NEEDS.menu, 0.8, step=0.5, decay=0.1), NEEDS, 500)
    threshold = 1.0
    for step, (arm, success) in enumerate(zip(trace.arms, trace.successes, strict=True), 1):
        assert arm == arm_at(NEEDS.menu, threshold)
        threshold += 0.5 / step**0.6 * (0.8 - success)
    assert trace.method.threshold == pytest.approx(threshold)


def test_the_bounds_of_conservative_exploration() -> None:
    menu = Menu(["a", "b"], safe="all", skip="none", safe_cost=2.0)
    rival, rng = ConservativePath(menu, 0.5, 1000), np.random.default_rng(0)
    outcomes = [(float(rng.random() < 0.7), 2.0 * rng.random()) for _ in range(40)]
    for success, cost in outcomes:
        rival._learn(1, success, cost, counted=True)

    def ends(mean: float) -> tuple[float, float]:
        level = (math.log(2 * 4 * 1000) + math.log(41)) / 40

        def excess(q: float) -> float:
            return mean * math.log(mean / q) + (1 - mean) * math.log((1 - mean) / (1 - q)) - level

        return brentq(excess, 1e-9, mean), brentq(excess, mean, 1 - 1e-9)

    _, highest = ends(float(np.mean([success for success, _ in outcomes])))
    lowest, _ = ends(float(np.mean([cost for _, cost in outcomes])) / 2)
    assert rival.upper_success.tolist() == pytest.approx([0.0, highest, 1.0, 1.0], abs=1e-6)
    assert rival.lower_cost.tolist() == pytest.approx([0.0, 2.0 * lowest, 0.0, 2.0], abs=1e-6)


def test_the_optimistic_arm_is_the_cheapest_when_mixed_with_the_safe_option() -> None:
    stream = PredictionApis("DIGIT")
    rival = ConservativePath(stream.menu, 0.8, 500)
    for latent in stream.draw(np.random.default_rng(0), 500).tolist():
        pairs = zip(rival.lower_cost.tolist(), rival.upper_success.tolist(), strict=True)
        saved = [(1 - cost) * min(1.0, 0.2 / max(1 - upper, 1e-9)) for cost, upper in pairs]
        assert saved[rival.optimistic_arm()] == pytest.approx(max(saved))
        decision = rival.ask()
        rival.tell(decision, *stream.outcome(latent, decision.arm, 0.0))


@pytest.mark.parametrize("target", [0.5, 0.9, Fraction(2, 3)])
def test_conservative_exploration_is_never_behind(target: Any) -> None:
    for world in (RANKS, PredictionApis("DIGIT"), Attack(RANKS, plan="fail"), Attack(RANKS, plan="greedy"), Trap()):
        trace = simulate(ConservativePath(world.menu, target, 2000), world, 2000)
        owed = Fraction(str(target))
        sums = np.cumsum(trace.successes).astype(int).tolist()
        assert all(done >= owed * step for step, done in enumerate(sums, 1))
        assert (trace.arms != world.menu.n_arms - 1).any()
