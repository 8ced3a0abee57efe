"""Rivals: one contract that each passes, each method's formula written out a second time, and what holds on every path."""

import copy
import importlib.util
import inspect
import itertools
import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq, linprog

import suffice
from suffice import InvalidArgument, Menu, optimum, simulate
from suffice.lab import rivals
from suffice.lab.rivals import (
    BCCP,
    SAOCP,
    SPS,
    AgACI,
    AlwaysSafe,
    BestFixed,
    ClairvoyantMix,
    ConformalPI,
    ConformalPID,
    ConservativePath,
    ConservativeUCB,
    DecayingACI,
    DtACI,
    Exp3P,
    Exp3Unlock,
    GroupACI,
    Knapsack,
    OptimisticLP,
    Projected,
    QuantileACI,
    Rival,
    ScalarACI,
    ScaleFreeOGD,
    ShortestInterval,
    VowpalWabbit,
    available,
)
from suffice.lab.rivals.base import COMMON, CONTEXT, FEEDBACK, NONE, PRIMARY, SUMMARY, TRUTH, own_rng
from suffice.lab.rivals.estimates import Estimates
from suffice.lab.rivals.exp3 import loss
from suffice.lab.rivals.threshold_rival import Chained
from suffice.lab.streams import Attack, Beta, LabelRanks, Phases, PredictionApis, RequiredThreshold, Trap, UnitPoints
from tests.support.paths import DOCS

FOUND = available()
RANKS = LabelRanks.cifar100()
POINTS = UnitPoints(Menu.intervals(step=0.125))
NEEDS = RequiredThreshold(step=0.1)
WITHOUT_WABBIT = pytest.mark.skipif(importlib.util.find_spec("vowpalwabbit") is None, reason="needs vowpalwabbit")
KINDS = [
    pytest.param(kind, id=name, marks=WITHOUT_WABBIT if kind is VowpalWabbit else ()) for name, kind in FOUND.items()
]
LATTER = Menu({"a": 0.1, "b": 0.4}, safe="all", skip="none", order="chain")  # a chain without numbers


class Seen:
    """A stream, and something that is known before each step."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.menu = stream, stream.menu

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def context(self, latent: Any) -> dict[str, float]:
        return {"hint": float(latent) % 7.0}


class Rigged:
    """A stream's menu, and the same outcome whatever is played, the boundary arms included."""

    def __init__(self, stream: Any, outcome: float) -> None:
        self.stream, self.menu, self.outcome = stream, stream.menu, outcome
        self.latent = 0.5 if self.menu.kind == "intervals" else float(self.menu.safe if outcome == 0.0 else 1)

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Any:
        return np.full(count, self.latent)

    def judge(self, latent: Any, arm: int, price: float) -> tuple[float, float]:
        return self.outcome, self.menu.known_cost(arm) or 0.0

    def context(self, latent: Any) -> dict[str, float]:
        return {"hint": float(latent) % 7.0}


def stream_for(kind: type[Rival]) -> Any:
    if kind.contextual:
        return Seen(RANKS)
    return POINTS if kind is ShortestInterval else RANKS


def ask(rival: Rival, hint: float = 1.0) -> Any:
    return rival.ask(context={"hint": hint}) if rival.contextual else rival.ask()


def make(kind: type[Rival], stream: Any = None, target: Any = 0.9, horizon: int = 2000, **more: Any) -> Any:
    stream = stream_for(kind) if stream is None else stream
    there = {"menu": stream.menu, "target": target, "horizon": horizon, "stream": stream}
    return kind(**{name: there[name] for name in inspect.signature(kind).parameters if name in there}, **more)


def arm_at(menu: Menu, value: float) -> int:
    """The smallest option at or above a value, the plain way."""
    return next((arm for arm in range(menu.n_arms) if float(menu.option(arm)) >= value), menu.n_arms - 1)


def needed(stream: Any, count: int) -> list[float]:
    """Of each step the least option that covers its label."""
    return [float(stream.menu.option(arm_at(stream.menu, latent))) for latent in latents_of(stream, count)]


def latents_of(stream: Any, count: int, seed: int = 0) -> list[float]:
    return [float(latent) for latent in stream.draw(np.random.default_rng(seed), count, 0)]


# --- the contract


def test_found_is_what_is_public() -> None:
    public = {getattr(rivals, name) for name in rivals.__all__ if name not in ("Rival", "available")}
    assert public == set(FOUND.values())
    assert len(FOUND) == 27
    assert all(name == kind.name for name, kind in FOUND.items())


def test_the_page_on_rivals_says_what_they_say() -> None:
    page = DOCS / "rivals.md"
    lines = [line for line in page.read_text("utf-8").splitlines() if line.startswith("| ")]
    rows = {
        cells[0]: cells[1:]
        for cells in ([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines)
    }
    brief = {PRIMARY: "read", SUMMARY: "summary", COMMON: "common knowledge"}
    for name, kind in FOUND.items():
        settings = [
            f"`{p.name}`" if p.default in (p.empty, None) else f"`{p.name}={getattr(p.default, '__name__', p.default)}`"
            for p in list(inspect.signature(kind).parameters.values())[2:]
        ]
        said = [kind.source, brief.get(kind.read, kind.read), kind.guarantee.replace("|", r"\|"), ", ".join(settings)]
        assert rows.pop(name) == said, name
    assert list(rows) == ["method"]


@pytest.mark.parametrize("kind", KINDS)
class TestEveryRival:
    def test_it_says_what_it_is(self, kind: type[Rival]) -> None:
        for said in (kind.name, kind.source, kind.read, kind.guarantee):
            assert isinstance(said, str)
            assert said
        yardstick = kind in (AlwaysSafe, BestFixed, ClairvoyantMix)
        assert kind.feedback in ((NONE, TRUTH) if yardstick else FEEDBACK)
        assert kind.contextual == (kind.feedback == CONTEXT)
        assert ">>> " in (inspect.getdoc(kind) or "")
        unsure = "common knowledge" in kind.read or "summary" in kind.read
        assert not unsure or "in the manner of" in kind.source

    def test_ask_and_tell(self, kind: type[Rival]) -> None:
        rival, menu = make(kind), stream_for(kind).menu
        rng = np.random.default_rng(0)
        first = menu.n_arms - 2 if kind is Projected else 0  # its first round is not counted
        cost = 0.0
        for step in range(300):
            decision = ask(rival)
            assert 0 <= decision.arm < menu.n_arms
            assert decision.option == menu.option(decision.arm)
            assert rival.pending == 1
            success = float(rng.random() < 0.5)
            if rival.hears(success):
                rival.hear(1.0)
            rival.tell(decision, success)
            cost += menu.known_cost(decision.arm)
            assert rival.outcomes == max(0, step + 1 - first)
            assert rival.pending == 0
        assert rival.cost == pytest.approx(cost)
        assert rival.debt == pytest.approx(0.9 * rival.outcomes - rival.successes)
        with pytest.raises(suffice.AlreadyTold):
            rival.tell(decision, True)
        with pytest.raises(suffice.ForeignDecision):
            rival.tell(ask(make(kind)), True)
        with pytest.raises(InvalidArgument, match="success must lie between 0 and 1"):
            rival.tell(ask(rival), 2)

    def test_it_runs(self, kind: type[Rival]) -> None:
        stream, rival = stream_for(kind), make(kind)
        one, other = (simulate(rival, stream, 2000, seed=3) for _ in range(2))
        assert (one.arms == other.arms).all()
        assert rival.outcomes == 0
        for column in (one.arms, one.successes, one.costs, one.prices):
            assert np.isfinite(column).all()
        twin = one.method
        assert twin.cost == pytest.approx(one.costs.sum())
        if kind is not Projected:
            assert twin.debt == pytest.approx(one.debt)
        if not rival.hears(1.0):
            assert (simulate(rival, stream, 2000, seed=3).arms == one.arms).all()

    def test_a_copy_goes_on_alike(self, kind: type[Rival]) -> None:
        stream = stream_for(kind)
        rival = simulate(make(kind), stream, 100).method
        twin = copy.deepcopy(rival)
        for latent in latents_of(stream, 200, seed=9):
            decisions = [ask(method, latent % 7.0) for method in (rival, twin)]
            assert decisions[0].arm == decisions[1].arm
            success, cost = stream.judge(latent, decisions[0].arm, 0.0)
            for method, decision in zip((rival, twin), decisions, strict=True):
                if method.hears(success):
                    method.hear(latent)
                method.tell(decision, success, cost)

    @pytest.mark.parametrize("outcome", [0.0, 1.0])
    def test_nothing_overflows(self, kind: type[Rival], outcome: float) -> None:
        stream = stream_for(kind)
        with np.errstate(over="raise", invalid="raise"):
            trace = simulate(make(kind), Rigged(stream, outcome), 2000)
        assert ((trace.arms >= 0) & (trace.arms < stream.menu.n_arms)).all()
        for value in vars(trace.method).values():
            if isinstance(value, float | np.ndarray):
                assert np.isfinite(value).all()

    def test_outcomes_may_come_late_and_in_any_order(self, kind: type[Rival]) -> None:
        rival, rng = make(kind), np.random.default_rng(1)
        for _ in range(30):
            decisions = [ask(rival, float(hint)) for hint in range(5)]
            for place in rng.permutation(5):
                if rival.hears(1.0):
                    rival.hear(1.0)
                rival.tell(decisions[place], 1.0)
        assert rival.pending == 0
        assert not rival._waiting

    def test_it_refuses_what_it_cannot_play(self, kind: type[Rival]) -> None:
        with pytest.raises(InvalidArgument, match="menu must be a Menu, got 3"):
            make(kind, _Has(3))
        if issubclass(kind, Chained):
            for menu in (POINTS.menu, PredictionApis().menu, Menu({"a": 0.1}, safe="all")):
                with pytest.raises(InvalidArgument, match="menu must be a chain of options"):
                    make(kind, _Has(menu))
            wrong = Menu({"a": 0.4, "b": 0.1}, safe="all", order="chain")
            with pytest.raises(InvalidArgument, match="costs do not fall"):
                make(kind, _Has(wrong))


class _Has:
    """All that `make` needs of a stream."""

    def __init__(self, menu: Any) -> None:
        self.menu = menu


@pytest.mark.parametrize("kind", KINDS)
def test_on_which_menus_it_runs(kind: type[Rival]) -> None:
    bare = LabelRanks(Menu.top_k([1, 2], classes=4, skip=False), [5, 3, 1, 1])
    worlds: dict[str, Any] = {
        "ranks": RANKS,
        "no skip": bare,
        "needs": NEEDS,
        "points": POINTS,
        "apis": PredictionApis("DIGIT"),
    }
    runs = set()
    for name, plain in worlds.items():
        world = Seen(plain) if kind.contextual else plain
        try:
            rival = make(kind, world, horizon=200)
        except InvalidArgument:
            continue
        trace = simulate(rival, world, 200)
        assert np.isfinite(trace.costs).all()
        runs.add(name)
    chains = {"ranks", "no skip", "needs"}
    expected = {BCCP: {"ranks", "no skip"}, ShortestInterval: {"points"}, Projected: set(worlds) - {"no skip"}}
    assert runs == expected.get(kind, chains if issubclass(kind, Chained) else set(worlds))


def test_labels_go_through_one_door() -> None:
    rival = make(QuantileACI)
    with pytest.raises(InvalidArgument, match="latent must be heard before it is told: 'quantile ACI' sees label"):
        rival.tell(rival.ask(), True)
    rival = make(QuantileACI)
    for wrong in (math.nan, math.inf, "a", None, (1, 2)):
        with pytest.raises(InvalidArgument, match="latent must be a finite number"):
            rival.hear(wrong)
    with pytest.raises(InvalidArgument, match="latent must not be shown to 'scalar ACI', which sees success"):
        make(ScalarACI).hear(1.0)
    decision = rival.ask()
    with pytest.raises(InvalidArgument):
        rival.tell(decision, True)
    assert rival.pending == 1
    # A label of a step that was not covered is not used.
    shy, plain = make(SPS), make(SPS)
    for method in (shy, plain):
        decision = method.ask()
        if method is shy:
            method.hear(7.0)
        method.tell(decision, False)
    assert shy._recorded == plain._recorded == [100.0]


def test_methods_on_labels_need_numbers() -> None:
    kinds: list[type[Rival]] = [QuantileACI, DtACI, AgACI, SAOCP, ConformalPID, SPS, Exp3Unlock]
    for kind in kinds:
        with pytest.raises(InvalidArgument, match="menu must have growing numbers for options"):
            make(kind, _Has(LATTER))
    assert ScalarACI(LATTER, 0.9).ask().option == "all"  # the bit alone needs none
    with pytest.raises(InvalidArgument, match="menu must be a top_k menu"):
        make(BCCP, NEEDS)
    with pytest.raises(InvalidArgument, match="menu must be a menu of intervals"):
        make(ShortestInterval, RANKS)
    with pytest.raises(InvalidArgument, match="menu must know its costs or be a chain"):
        Exp3P(Menu(["a"], safe="all"), 0.9, 100)


def test_settings_are_checked() -> None:
    menu = RANKS.menu
    for wrong in (
        lambda: ScalarACI(menu, 0.9, step=0),
        lambda: ScalarACI(menu, 0.9, start=101),
        lambda: DecayingACI(menu, 0.9, decay=0.6),
        lambda: ConformalPI(menu, 0.9, gain=-1),
        lambda: ConformalPI(menu, 0.9, saturation=0),
        lambda: ConformalPID(menu, 0.9, forecast=3),  # type: ignore[arg-type]
        lambda: ConformalPID(menu, 0.9, window=0),
        lambda: QuantileACI(menu, 0.9, momentum=1),
        lambda: QuantileACI(menu, 0.9, momentum=-0.1),
        lambda: ScaleFreeOGD(menu, 0.9, scale=0),
        lambda: SAOCP(menu, 0.9, lifetime=0),
        lambda: Exp3P(menu, 0.9, 100, penalty=2),
        lambda: OptimisticLP(menu, 0.9, 100, seed=-1),
        lambda: Knapsack(menu, 0.9, 0),
        lambda: GroupACI(menu, 0.9, groups=3),  # type: ignore[arg-type]
        lambda: GroupACI(menu, 0.9, groups=lambda step: (2.0,)),
        lambda: BestFixed(menu, 0.9, Trap()),
        lambda: BestFixed(menu, 0.9, POINTS),
    ):
        with pytest.raises(InvalidArgument, match="must"):
            wrong()
    grows = GroupACI(menu, 0.9, groups=lambda step: (1.0,) * (step + 1))
    grows.ask()
    with pytest.raises(InvalidArgument, match="groups must give 1 numbers in every step, got 2"):
        grows.ask()
    with pytest.raises(suffice.Infeasible):
        BestFixed(menu, 0.9, _Hopeless())
    with pytest.raises(InvalidArgument, match="method must have the stream's menu"):
        simulate(make(ScalarACI), NEEDS, 10)
    asked = make(ScalarACI)
    asked.ask()
    with pytest.raises(InvalidArgument, match="method must be a fresh one"):
        simulate(asked, RANKS, 10)


class _Hopeless:
    def truth(self) -> tuple[Any, Any]:
        return np.zeros(RANKS.menu.n_arms), np.zeros(RANKS.menu.n_arms)


def test_costs_must_be_told_where_they_are_not_known() -> None:
    rival = OptimisticLP(Menu(["a"], safe="all", skip="none"), 0.8, 100)
    decision = next(decision for decision in iter(rival.ask, None) if decision.option == "a")
    with pytest.raises(InvalidArgument, match="cost must be told"):
        rival.tell(decision, True)
    rival.tell(decision, True, 0.3)


def test_the_methods_randomness_is_its_own() -> None:
    stream = RANKS
    one, other = (simulate(OptimisticLP(stream.menu, 0.9, 500, seed=seed), stream, 500) for seed in (0, 1))
    assert (one.arms != other.arms).any()
    assert own_rng(0).random() != np.random.default_rng(0).random()


# --- formulas, written out a second time


@pytest.mark.parametrize("stream", [RANKS, NEEDS, Rigged(RANKS, 0.0), Rigged(RANKS, 1.0)])
def test_scalar_aci(stream: Any) -> None:
    step, target = Fraction(1, 20), Fraction(9, 10)
    trace = simulate(ScalarACI(stream.menu, 0.9, step=0.05), stream, 500)
    low, high = (Fraction(str(stream.menu.option(arm))) for arm in (0, stream.menu.n_arms - 1))
    threshold = high
    for arm, success in zip(trace.arms, trace.successes, strict=True):
        assert arm == arm_at(stream.menu, float(threshold))
        threshold += step * (high - low) * (target - int(success))
    assert trace.method.threshold == pytest.approx(float(threshold), rel=1e-12)
    # The identity, exactly: all that the threshold moved is owed or banked.
    owed = target * 500 - int(trace.successes.sum())
    assert threshold - high == step * (high - low) * owed
    assert Fraction(trace.method.debt) == Fraction(float(owed))


@pytest.mark.parametrize("plan", ["fail", "hover", "greedy"])
def test_aci_is_valid_on_every_path(plan: str) -> None:
    stream = Attack(RANKS, plan=plan)
    for step in (0.01, 0.05, 0.3):
        trace = simulate(ScalarACI(stream.menu, 0.9, step=step), stream, 3000)
        assert np.abs(trace.debts).max() <= (1 + step) / step
    for step in (0.01, 0.1):
        trace = simulate(QuantileACI(RANKS.menu, 0.9, step=step), RANKS, 3000)
        assert np.abs(trace.debts).max() <= (1 + step) / step
        level = 0.1 - step * trace.debt
        assert trace.method.level == pytest.approx(level, abs=1e-9)


def test_decaying_aci() -> None:
    trace = simulate(DecayingACI(NEEDS.menu, 0.8, step=0.5, decay=0.1), NEEDS, 500)
    threshold = 1.0
    for step, (arm, success) in enumerate(zip(trace.arms, trace.successes, strict=True), 1):
        assert arm == arm_at(NEEDS.menu, threshold)
        threshold += 0.5 / step**0.6 * (0.8 - success)
    assert trace.method.threshold == pytest.approx(threshold)


@pytest.mark.parametrize("stream", [NEEDS, Rigged(NEEDS, 0.0), Rigged(NEEDS, 1.0), Attack(NEEDS, plan="fail")])
def test_conformal_pi(stream: Any) -> None:
    trace = simulate(ConformalPI(NEEDS.menu, 0.8, step=0.05, gain=0.5, saturation=0.7), stream, 500)
    level, errors, wound = 1.0, 0.0, False
    for step, (arm, success) in enumerate(zip(trace.arms, trace.successes, strict=True)):
        angle = errors * math.log(step + 1) / (0.7 * (step + 1))
        wound |= abs(angle) >= math.pi / 2
        state = math.copysign(99.0, angle) if abs(angle) >= math.pi / 2 else level + 0.5 * math.tan(angle)
        if min(abs(state - option) for option in (0.0, *NEEDS.menu.options, 1.0)) > 1e-9:
            assert arm == arm_at(NEEDS.menu, state)
        level += 0.05 * (0.8 - success)
        errors += (1 - success) - 0.2
    assert wound == isinstance(stream, Rigged)
    assert 0.0 <= trace.method.threshold <= 1.0
    if not isinstance(stream, Rigged):
        times = np.arange(1, 501)
        assert (np.abs(trace.debts) <= 1.0 + math.pi / 2 * 0.7 * (times + 1) / np.log(times + 1)).all()


def test_p_control_is_scalar_aci() -> None:
    one = simulate(ConformalPI(NEEDS.menu, 0.8, gain=0), NEEDS, 500)
    assert (one.arms == simulate(ScalarACI(NEEDS.menu, 0.8), NEEDS, 500).arms).all()


def test_conformal_pid() -> None:
    rival = ConformalPID(NEEDS.menu, 0.8, step=0.1, gain=0.5, saturation=0.7, window=20)
    trace = simulate(rival, NEEDS, 500)
    past: list[float] = []
    tracked, errors, forecast = 0.0, 0.0, 1.0
    for step, (latent, arm, success) in enumerate(zip(needed(NEEDS, 500), trace.arms, trace.successes, strict=True)):
        angle = errors * math.log(step + 1) / (0.7 * (step + 1))
        state = math.copysign(99.0, angle) if abs(angle) >= math.pi / 2 else forecast + tracked + 0.5 * math.tan(angle)
        if min(abs(state - option) for option in (0.0, *NEEDS.menu.options, 1.0)) > 1e-9:
            assert arm == arm_at(NEEDS.menu, state)
        spread = max(past[-20:]) - min(past[-20:]) if past else 1.0
        tracked += 0.1 * spread * (0.8 - success)
        errors += (1 - success) - 0.2
        forecast = 0.9 * forecast + 0.1 * latent
        past.append(latent)
    assert trace.method.forecast == pytest.approx(forecast)
    assert trace.method._tracked == pytest.approx(tracked)


@pytest.mark.parametrize("wild", [0.0, 1e6, -1e6])
def test_the_integrator_holds_the_rate_whatever_is_forecast(wild: float) -> None:
    times = np.arange(1, 2001)
    trace = simulate(ConformalPID(NEEDS.menu, 0.8, saturation=0.7, forecast=lambda forecast, score: wild), NEEDS, 2000)
    assert (np.abs(trace.debts) <= 1.0 + math.pi / 2 * 0.7 * (times + 1) / np.log(times + 1)).all()
    rival = ConformalPID(NEEDS.menu, 0.8, forecast=lambda forecast, score: math.nan)
    decision = rival.ask()
    rival.hear(0.5)
    with pytest.raises(InvalidArgument, match="forecast must be finite, got nan after a score of"):
        rival.tell(decision, True)


def test_a_forecast_is_worth_having_where_scores_repeat_themselves() -> None:
    stream = _Tides()
    plain = simulate(ConformalPI(stream.menu, 0.9), stream, 2000)
    cast = simulate(ConformalPID(stream.menu, 0.9, forecast=lambda forecast, score: 1.0 - score), stream, 2000)
    assert abs(cast.rate - 0.9) < 0.05
    assert cast.mean_cost < 0.8 * plain.mean_cost


class _Tides:
    """Needs of 0.2 and 0.8 in turn."""

    menu = NEEDS.menu

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Any:
        return np.where(np.arange(start, start + count) % 2 == 0, 0.2, 0.8)

    def judge(self, latent: Any, arm: int, price: float) -> tuple[float, float]:
        return NEEDS.judge(latent, arm, price)


def test_scale_free_ogd() -> None:
    trace = simulate(ScaleFreeOGD(NEEDS.menu, 0.8, scale=0.5), NEEDS, 500)
    threshold, slopes = 1.0, []
    for arm, success in zip(trace.arms, trace.successes, strict=True):
        assert arm == arm_at(NEEDS.menu, threshold)
        slopes.append((1 - success) - 0.2)
        threshold += 0.5 / math.sqrt(3) * slopes[-1] / math.sqrt(sum(slope**2 for slope in slopes))
    assert trace.method.threshold == pytest.approx(threshold)


@pytest.mark.parametrize("plan", ["fail", "hover", "greedy"])
def test_scale_free_ogd_is_valid_on_every_path(plan: str) -> None:
    for target, scale in itertools.product((0.5, 0.9), (0.1, 1, 3)):
        for stream in (Attack(RANKS, plan=plan), Attack(NEEDS, plan=plan, level=0.0), RANKS):
            trace = simulate(ScaleFreeOGD(stream.menu, target, scale=scale), stream, 1000)
            bound = (2 + math.sqrt(3) / scale) * np.sqrt(np.cumsum((target - trace.successes) ** 2))
            assert (np.abs(trace.debts) <= bound + 1e-9).all()


@pytest.mark.parametrize(("target", "lifetime"), [(0.8, 8), (0.5, 1), (0.3, 3)])
def test_saocp(target: float, lifetime: int) -> None:
    trace = simulate(SAOCP(NEEDS.menu, target, lifetime=lifetime), NEEDS, 300)
    experts: dict[int, dict[str, float]] = {}
    start = 1.0

    def mean() -> float:
        prior = {t: 1 / (t * t * (1 + math.floor(math.log2(t)))) for t in experts}
        weights = {t: prior[t] * max(0.0, bet(expert)) for t, expert in experts.items()}
        weights = weights if sum(weights.values()) > 0 else prior
        return sum(weights[t] * experts[t]["q"] for t in experts) / sum(weights.values())

    def bet(expert: dict[str, float]) -> float:
        return expert["z"] / expert["age"] * (1 + expert["won"]) if expert["age"] else 0.0

    def pinball(score: float, q: float) -> float:
        return target * (score - q) if score > q else (1 - target) * (q - score)

    for step, (score, arm) in enumerate(zip(needed(NEEDS, 300), trace.arms, strict=True), 1):
        experts[step] = {"q": start, "z": 0.0, "won": 0.0, "age": 0, "squares": 0.0}
        played = mean()
        assert arm == arm_at(NEEDS.menu, played - 1e-9)
        for expert in experts.values():
            stake = bet(expert)
            gain = (pinball(score, played) - pinball(score, expert["q"])) / max(target, 1 - target)
            gain = min(1.0, max(round(gain, 12), -1.0 if stake > 0 else 0.0))
            expert["z"], expert["won"], expert["age"] = (
                expert["z"] + gain,
                expert["won"] + gain * stake,
                expert["age"] + 1,
            )
            slope = -target if score > expert["q"] else 1 - target
            expert["squares"] += slope**2
            expert["q"] -= slope / math.sqrt(3 * expert["squares"])
        start = mean()
        power = {t: max(2**k for k in range(10) if t % 2**k == 0) for t in experts}
        experts = {t: expert for t, expert in experts.items() if expert["age"] < lifetime * power[t]}
    experts[301] = {"q": start, "z": 0.0, "won": 0.0, "age": 0, "squares": 0.0}
    assert trace.method.born.tolist() == sorted(experts)
    assert trace.method.threshold == pytest.approx(mean())


def test_saocp_is_quick_after_a_shift_and_keeps_few_experts() -> None:
    stream = Phases(
        (RequiredThreshold(step=0.02, distribution=Beta(2, 20)), 2000),
        (RequiredThreshold(step=0.02, distribution=Beta(20, 2)), 500),
    )
    trace = simulate(SAOCP(stream.menu, 0.8), stream, 2500)
    assert trace.successes[2050:].mean() > 0.75
    assert trace.method.born.size < 4 * 12


def _quantile(past: Sequence[float], level: float) -> float:
    """The least score that a share of at least 1 − level does not exceed."""
    if level <= 0 or not past:
        return math.inf
    if level >= 1:
        return -math.inf
    scores = np.sort(past)
    shares = np.arange(1, scores.size + 1) / scores.size
    return float(scores[np.flatnonzero(shares >= 1 - level - 1e-12)[0]])


def test_quantile_aci() -> None:
    trace = simulate(QuantileACI(NEEDS.menu, 0.8, step=0.013), NEEDS, 400)
    past: list[float] = []
    level = 0.2
    for latent, arm in zip(latents_of(NEEDS, 400), trace.arms, strict=True):
        assert arm == arm_at(NEEDS.menu, _quantile(past, level))
        level += 0.013 * (0.2 - (latent > float(NEEDS.menu.option(arm))))
        past.append(latent)
    assert trace.method.level == pytest.approx(level)


def test_quantile_aci_with_momentum() -> None:
    trace = simulate(QuantileACI(NEEDS.menu, 0.8, step=0.05, momentum=0.95), NEEDS, 300)
    past: list[float] = []
    failures: list[bool] = []
    level = 0.2
    for latent, arm in zip(latents_of(NEEDS, 300), trace.arms, strict=True):
        assert arm == arm_at(NEEDS.menu, _quantile(past, level))
        failures.append(latent > float(NEEDS.menu.option(arm)))
        weights = 0.95 ** np.arange(len(failures))[::-1]
        level += 0.05 * (0.2 - np.average(failures, weights=weights))
        past.append(latent)
    assert trace.method.level == pytest.approx(level)


def test_dt_aci() -> None:
    trace = simulate(DtACI(NEEDS.menu, 0.8), NEEDS, 400)
    past: list[float] = []
    steps = [0.001 * 2**k for k in range(8)]
    levels, weights = [0.2] * 8, [1 / 8] * 8
    for latent, arm in zip(needed(NEEDS, 400), trace.arms, strict=True):
        assert arm == arm_at(NEEDS.menu, _quantile(past, sum(w * a for w, a in zip(weights, levels, strict=True))))
        beta = np.mean(np.array(past) >= latent) if past else 1.0
        pinball = [0.2 * (beta - a) - min(beta - a, 0.0) for a in levels]
        heavy = [w * math.exp(-2.72 * x) for w, x in zip(weights, pinball, strict=True)]
        weights = [0.999 * w / sum(heavy) + 0.001 / 8 for w in heavy]
        missed = [latent > _quantile(past, a) for a in levels]
        levels = [a + g * (0.2 - m) for a, g, m in zip(levels, steps, missed, strict=True)]
        past.append(latent)
    assert trace.method.weights == pytest.approx(weights)
    assert trace.method.level == pytest.approx(sum(w * a for w, a in zip(weights, levels, strict=True)))


def test_ag_aci() -> None:
    trace = simulate(AgACI(NEEDS.menu, 0.8), NEEDS, 300)
    past: list[float] = []
    steps = np.array([0.001 * 2**k for k in range(8)])
    levels, regrets = np.full(8, 0.2), np.zeros((0, 8))
    rates, exponents = np.full(8, 0.5), np.zeros(8)
    for latent, arm in zip(needed(NEEDS, 300), trace.arms, strict=True):
        ends = np.clip([_quantile(past, a) for a in levels], 0.0, 1.0)
        weights = rates * np.exp(-rates * exponents)
        mean = (weights @ ends) / weights.sum()
        assert arm == (arm_at(NEEDS.menu, mean - 1e-9) if past else NEEDS.menu.n_arms - 1)
        slope = -0.8 if latent > mean else 0.2
        regrets = np.vstack([regrets, slope * (ends - mean)])
        exponents = exponents + regrets[-1] * (1 + rates * regrets[-1])
        squares = (regrets**2).sum(axis=0)
        rates = np.array([0.5 if s == 0 else min(0.5, math.sqrt(math.log(8) / s)) for s in squares])
        levels = levels + steps * (0.2 - ((latent > ends) & (levels > 0)))
        past.append(latent)
    weights = rates * np.exp(-rates * exponents)
    assert trace.method.weights == pytest.approx(weights / weights.sum())


def test_sps() -> None:
    trace = simulate(SPS(NEEDS.menu, 0.6, 500), NEEDS, 500)
    recorded: list[float] = []
    threshold = 1.0
    for latent, arm in zip(needed(NEEDS, 500), trace.arms, strict=True):
        assert arm == arm_at(NEEDS.menu, threshold)
        played = float(NEEDS.menu.option(arm))
        recorded.append(latent if latent <= played else played)
        width = math.sqrt(math.log(2 * 500**2) / (2 * len(recorded)))
        enough = np.array(recorded)[(np.array(recorded) > np.array(recorded)[:, None]).mean(axis=1) + width <= 0.4]
        threshold = min([threshold, *enough])
    assert trace.method.threshold == threshold < 0.6
    assert (np.diff(trace.arms) <= 0).all()  # it only ever tightens


def test_sps_holds_the_target_in_every_step() -> None:
    truth, _ = NEEDS.truth()
    for seed in range(5):
        trace = simulate(SPS(NEEDS.menu, 0.7, 2000), NEEDS, 2000, seed=seed)
        assert (truth[trace.arms] >= 0.7).all()


def test_bccp() -> None:
    trace = simulate(BCCP(RANKS.menu, 0.9, seed=4), RANKS, 500)
    rng = own_rng(4)
    pulls = np.array([0.5 / 100 + 0.5 / rank / sum(1 / r for r in range(1, 101)) for rank in range(1, 101)])
    assert pulls.sum() == pytest.approx(1.0)
    steps, ends, weights = [1.0, 3.0, 10.0, 30.0], [100.0] * 4, [1.0] * 4
    hits, d = 0, 0.0
    for latent, arm in zip(latents_of(RANKS, 500), trace.arms, strict=True):
        mean = sum(w * q for w, q in zip(weights, ends, strict=True)) / sum(weights)
        assert arm == arm_at(RANKS.menu, mean)
        pulled = 1 + int(np.searchsorted(np.cumsum(pulls), rng.random() * np.cumsum(pulls)[-1], side="right"))
        if pulled == latent:
            hits += 1
            d = 1 / (100 * pulls[pulled - 1])
            check = [(0.9 if pulled > q else 0.1) * abs(pulled - q) / 100 for q in ends]
            weights = [w * math.exp(-10 * d * x) for w, x in zip(weights, check, strict=True)]
            ends = [q + s * d * ((pulled > q) - 0.1) for q, s in zip(ends, steps, strict=True)]
        assert d < 2
    assert hits > 10
    mean = sum(w * q for w, q in zip(weights, ends, strict=True)) / sum(weights)
    assert trace.method.threshold == pytest.approx(mean)
    assert mean < 99


def test_bccp_finds_the_quantile_from_pulls_alone() -> None:
    trace = simulate(BCCP(RANKS.menu, 0.9), RANKS, 20_000)
    assert abs(trace.successes[10_000:].mean() - 0.9) < 0.06


def test_group_aci() -> None:
    def groups(step: int) -> tuple[float, ...]:
        return (1.0, float(step % 3 == 0), float(step >= 300))

    stream = Attack(NEEDS, level=0.0, plan="fail")
    for world in (NEEDS, stream):
        trace = simulate(GroupACI(NEEDS.menu, 0.8, groups=groups, step=0.1), world, 600)
        parts = np.zeros(3)
        for step, (arm, success) in enumerate(zip(trace.arms, trace.successes, strict=True)):
            member = np.array(groups(step))
            assert arm == arm_at(NEEDS.menu, 1.0 + parts @ member)
            parts = parts + (0.1 * 0.8 if success == 0 else -0.1 * (1 - 0.8)) * member
        assert trace.method.parts == pytest.approx(parts)
        # Each part is the step times the debt of its group, and no group's debt is large.
        belongs = np.array([groups(step) for step in range(600)])
        debts = belongs.T @ (0.8 - trace.successes)
        assert parts == pytest.approx(0.1 * debts)
        assert np.abs(debts).max() <= 2 * math.sqrt(600 * 3 / 0.1)


def test_exp3() -> None:
    stream = LabelRanks.cifar100()
    trace = simulate(Exp3P(stream.menu, 0.9, 500, penalty=0.01, seed=2), stream, 500)
    rng, arms = own_rng(2), stream.menu.n_arms
    beta, eta = math.sqrt(math.log(arms) / (arms * 500)), 0.95 * math.sqrt(math.log(arms) / (arms * 500))
    gamma = 1.05 * math.sqrt(arms * math.log(arms) / 500)
    gains = np.zeros(arms)
    for arm, success, cost in zip(trace.arms, trace.successes, trace.costs, strict=True):
        p = (1 - gamma) * np.exp(eta * gains) / np.exp(eta * gains).sum() + gamma / arms
        assert arm == min(int(np.searchsorted(np.cumsum(p), rng.random() * np.cumsum(p)[-1], side="right")), arms - 1)
        loss = (0.1 + 0.1 * 0.9 if success else 1 - 0.1 * 0.9) + 0.01 * cost
        gains = gains + (np.where(np.arange(arms) == arm, 1 - loss, 0.0) + beta) / p
    p = (1 - gamma) * np.exp(eta * gains) / np.exp(eta * gains).sum() + gamma / arms
    assert trace.method.probabilities() == pytest.approx(p)


@pytest.mark.parametrize("kind", [Exp3P, Exp3Unlock])
def test_exp3_drifts_to_the_safe_option(kind: type[Rival]) -> None:
    """Not by accident: on every path little regret means few failures, however many the target allows."""
    stream = LabelRanks(Menu.top_k([1], classes=4), [2, 1, 1, 1])  # one shown succeeds two times in five
    trace = simulate(make(kind, stream, 0.7, 10_000), stream, 10_000)
    latents, sizes, penalty = np.array(latents_of(stream, 10_000)), np.array([0.0, 0.25, 1.0]), 0.01
    success = latents[:, None] <= np.array([0, 1, 4])
    losses = np.where(success, 0.3 + 0.3 * 0.7, 1 - 0.3 * 0.7) + penalty * sizes
    regret = losses[np.arange(10_000), trace.arms].sum() - losses.sum(axis=0).min()
    assert 0.7 * 0.4 * (1 - trace.rate) <= regret / 10_000 + penalty
    assert trace.method.probabilities().argmax() == 2
    assert trace.successes[5_000:].mean() > 0.85  # far beyond the target, and dearer than it need be
    assert trace.costs[5_000:].mean() > optimum(*stream.truth(), 0.7).cost + 0.1


def test_exp3_has_no_reason_to_succeed_at_a_target_of_a_half_or_less() -> None:
    assert [loss(1.0, 0.5) - loss(0.0, 0.5), loss(1.0, 0.6) - loss(0.0, 0.6)] == pytest.approx([0.0, 0.08])
    assert loss(0.0, 0.1) - loss(1.0, 0.1) == pytest.approx(0.9 * 0.8)


def test_exp3_uses_the_probability_of_when_it_was_asked() -> None:
    one, other = (Exp3P(RANKS.menu, 0.9, 500) for _ in range(2))
    early = one.ask()
    for _ in range(50):
        one.tell(one.ask(), 1.0)
    before = one._logs.copy()
    one.tell(early, 1.0)
    first = other.ask()
    other.tell(first, 1.0)
    moved = one._logs - before
    assert moved - moved[0] == pytest.approx(other._logs - other._logs[0])


def test_unlocked_losses_are_unbiased() -> None:
    """Whatever the label, the estimates of all losses have the right means over the arm that is drawn."""
    p = np.array([0.1, 0.25, 0.15, 0.05, 0.15, 0.3])
    rival = make(Exp3Unlock)
    for label in (1.0, 5.0, 6.0, 20.0, 51.0, 100.0):
        covers = np.array([float(k) >= label for k in (0, 5, 10, 20, 50, 100)])
        losses = np.where(covers, 0.1 + 0.09, 1 - 0.09)
        means = np.zeros(6)
        for arm in range(6):
            known = np.ones(6, dtype=bool) if covers[arm] else np.arange(6) <= arm
            chance = rival.seen(p, arm, label if covers[arm] else None)
            assert (np.isfinite(chance) == known).all()
            means += p[arm] * losses / chance
        assert means == pytest.approx(losses)


def test_exp3_unlock() -> None:
    trace = simulate(Exp3Unlock(RANKS.menu, 0.9, 500, penalty=0.01, seed=2), RANKS, 500)
    rng, arms = own_rng(2), RANKS.menu.n_arms
    eta = math.sqrt(math.log(arms) / 500)
    costs = np.array([0, 0.05, 0.1, 0.2, 0.5, 1.0])
    sums = np.zeros(arms)
    for latent, arm in zip(latents_of(RANKS, 500), trace.arms, strict=True):
        p = (1 - eta) * np.exp(-eta * sums) / np.exp(-eta * sums).sum() + eta / arms
        assert arm == min(int(np.searchsorted(np.cumsum(p), rng.random() * np.cumsum(p)[-1], side="right")), arms - 1)
        covers = costs * 100 >= latent
        for i in range(arms):
            if covers[arm] or i <= arm:
                loss = (0.19 if covers[i] else 0.91) + 0.01 * costs[i]
                sums[i] += loss / (p[covers].sum() if covers[i] else p[i:].sum())
    p = (1 - eta) * np.exp(-eta * sums) / np.exp(-eta * sums).sum() + eta / arms
    assert trace.method.probabilities() == pytest.approx(p)


def test_bounds_on_both_sides() -> None:
    menu = Menu(["a", "b"], safe="all", skip="none", safe_cost=2.0)
    estimates, rng = Estimates(menu, 1000), np.random.default_rng(0)
    told = [(float(rng.random() < 0.7), 2.0 * rng.random()) for _ in range(40)]
    for success, cost in told:
        estimates.add(1, success, cost)

    def ends(mean: float) -> tuple[float, float]:
        level = (math.log(2 * 4 * 1000) + math.log(41)) / 40

        def excess(q: float) -> float:
            return mean * math.log(mean / q) + (1 - mean) * math.log((1 - mean) / (1 - q)) - level

        return brentq(excess, 1e-9, mean), brentq(excess, mean, 1 - 1e-9)

    low, high = ends(float(np.mean([success for success, _ in told])))
    assert (estimates.lower[1], estimates.upper[1]) == pytest.approx((low, high), abs=1e-6)
    assert estimates.cost[1] == pytest.approx(2.0 * ends(float(np.mean([cost for _, cost in told])) / 2)[0], abs=1e-6)
    assert (estimates.lower[2], estimates.upper[2], estimates.cost[2]) == (0.0, 1.0, 0.0)
    assert (estimates.lower[3], estimates.upper[3], estimates.cost[3]) == (1.0, 1.0, 2.0)


def test_optimistic_lp() -> None:
    stream = PredictionApis("DIGIT")
    rival = OptimisticLP(stream.menu, 0.9, 300)
    for latent in stream.draw(np.random.default_rng(0), 300):
        upper, cost = rival._estimates.upper, rival._estimates.cost
        solved = linprog(cost, A_ub=-upper[None], b_ub=[-0.9], A_eq=np.ones((1, upper.size)), b_eq=[1.0])
        mix = rival.mix()
        assert mix @ cost == pytest.approx(solved.fun, abs=1e-9)
        assert mix @ upper >= 0.9 - 1e-9
        assert (mix > 0).sum() <= 2
        decision = rival.ask()
        assert mix[decision.arm] > 0
        rival.tell(decision, *stream.judge(latent, decision.arm, 0.0))


def test_knapsack() -> None:
    stream = PredictionApis("DIGIT")
    trace = simulate(Knapsack(stream.menu, 0.8, 300), stream, 300)
    estimates = Estimates(stream.menu, 300)
    growth = 1 + math.sqrt(math.log(2) / 60)
    failures, time, left = 1.0, 1.0, 60
    costs = np.array([stream.menu.known_cost(arm) for arm in range(17)])
    for arm, success in zip(trace.arms, trace.successes, strict=True):
        ratios = (1.0 - costs) / (failures * (1 - estimates.upper) + time * 0.2)
        assert arm == (16 if left < 1 else int(ratios.argmax()))
        failures *= growth ** (1 - estimates.upper[arm])
        time *= growth**0.2
        left -= 1 - int(success)
        estimates.add(int(arm), float(success), float(costs[arm]))


@pytest.mark.parametrize("target", [0.5, 0.9, Fraction(2, 3)])
def test_the_knapsack_keeps_its_word_at_the_horizon(target: Any) -> None:
    worlds: list[Any] = [
        RANKS,
        Attack(RANKS, plan="fail"),
        Attack(RANKS, plan="hover"),
        Attack(PredictionApis(), plan="fail"),
    ]
    for world, horizon in itertools.product(worlds, (1, 7, 500)):
        trace = simulate(Knapsack(world.menu, target, horizon), world, horizon)
        assert Fraction(trace.successes.sum()) >= Fraction(str(target)) * horizon
    rival = Knapsack(RANKS.menu, target, 100)  # late outcomes, all bad where they can be
    for _ in range(10):
        for decision in [rival.ask() for _ in range(10)]:
            rival.tell(decision, decision.is_safe)
    assert rival.debt <= 0
    assert rival.ask().is_safe


def test_conservative_ucb() -> None:
    stream = PredictionApis("DIGIT")
    trace = simulate(ConservativeUCB(stream.menu, 0.8, 500), stream, 500)
    estimates, plays = Estimates(stream.menu, 500), [0] * 17
    costs = [stream.menu.known_cost(arm) or 0.0 for arm in range(17)]
    explored = 0
    for step, (arm, success) in enumerate(zip(trace.arms, trace.successes, strict=True), 1):
        saved = [(1 - c) * min(1.0, 0.2 / max(1 - u, 1e-9)) for c, u in zip(costs, estimates.upper, strict=True)]
        best = saved.index(max(saved))
        certain = sum(n * low for n, low in zip(plays, estimates.lower, strict=True)) + estimates.lower[best]
        if abs(certain - 0.8 * step) > 1e-9:
            assert arm == (best if certain >= 0.8 * step else 16)
        plays[arm] += 1
        explored += arm != 16
        estimates.add(int(arm), float(success), costs[arm])
    assert explored > 20


@pytest.mark.parametrize("target", [0.5, 0.9, Fraction(2, 3)])
def test_the_sample_path_variant_is_never_behind(target: Any) -> None:
    worlds: list[Any] = [
        RANKS,
        PredictionApis("DIGIT"),
        Attack(RANKS, plan="fail"),
        Attack(RANKS, plan="greedy"),
        Trap(),
    ]
    for world in worlds:
        trace = simulate(ConservativePath(world.menu, target, 2000), world, 2000)
        owed = Fraction(str(target))
        sums = np.cumsum(trace.successes).astype(int).tolist()
        assert all(done >= owed * step for step, done in enumerate(sums, 1))
        assert (trace.arms != world.menu.n_arms - 1).any()


def test_shortest_interval() -> None:
    trace = simulate(ShortestInterval(POINTS.menu, 0.6, 300), POINTS, 300)
    past: list[float] = []
    options = [POINTS.menu.option(arm) for arm in range(POINTS.menu.n_arms)]
    for latent, arm in zip(latents_of(POINTS, 300), trace.arms, strict=True):
        fine = [(1.0, 0.0, POINTS.menu.n_arms - 1)]
        for place, option in enumerate(options[1:-1], 1):
            held = sum(option[0] <= point <= option[1] for point in past)
            if past and held >= (0.6 + math.sqrt(math.log(300) / len(past))) * len(past) - 1e-9:
                fine.append((option[1] - option[0], option[0], place))
        assert arm == min(fine)[2]
        past.append(latent)
    assert trace.costs[-1] < 1.0


def test_the_yardsticks() -> None:
    success, cost = RANKS.truth()
    assert set(simulate(make(BestFixed, target=0.95), RANKS, 50).arms.tolist()) == {3}
    assert success[2] < 0.95 <= success[3]
    trace = simulate(make(ClairvoyantMix, target=0.95), RANKS, 20_000)
    assert trace.mean_cost == pytest.approx(optimum(success, cost, 0.95).cost, abs=0.005)
    assert trace.rate == pytest.approx(0.95, abs=0.006)
    assert set(trace.arms.tolist()) == {2, 3}


def test_the_lemma_of_the_projected_price() -> None:
    """Figure 3: stuck at the cap 2, no success in the outage, and each capped round loses step·target."""
    stream = Trap()
    trace = simulate(Projected(stream.menu, 0.5, 2000, step=0.05), stream, 2000)
    outage = slice(stream.first, stream.last)
    assert trace.successes[outage].sum() == 0
    assert trace.prices[stream.first + 100 : stream.last].tolist() == [2.0] * 400
    kept = simulate(suffice.paper(stream.menu, 0.5, 2000, step=0.05), stream, 2000)
    assert kept.successes[outage].mean() > 0.4
    assert trace.debts[stream.last - 1] - trace.debts[stream.first - 1] == 250.0  # target·L is owed for the outage
    assert trace.worst_window(500) == 0.0
    assert kept.worst_window(500) > 0.4
