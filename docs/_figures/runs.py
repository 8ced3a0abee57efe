"""The runs behind docs/pictures.md: seeded, and computed apart from drawing, so that a test can hold the page to them."""

import functools
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import suffice
from suffice.lab.streams import Phases, PredictionApis, UnitPoints

Floats = NDArray[np.float64]

SEED = 1
TARGET = 0.9
MAX_DEBT, IN_FLIGHT = 5, 200  # the defaults of a selector
LAGS = (1, 3, 10, 30, 100, 300, 1000)
SHOWN_LAGS = (1, 30, 300)


# --- four sentiment APIs and a person


@dataclass(frozen=True, slots=True)
class Hull:
    """Every option as a point (success, cost), the lower hull of them, and the cheapest mix at the target."""

    success: Floats
    cost: Floats
    corners: list[int]
    optimum: Any
    names: list[str]


@functools.cache
def hull() -> Hull:
    """What each subset of the four APIs would do and cost, which only the stream knows."""
    stream = PredictionApis("IMDB")
    success, cost = stream.truth()
    mixes = [suffice.optimum(success, cost, level).weights for level in np.linspace(0.02, 0.999, 400)]
    corners = sorted({int(arm) for weights in mixes for arm in np.flatnonzero(weights)})
    names = [short(stream.menu.option(arm)) for arm in range(stream.menu.n_arms)]
    return Hull(success, cost, corners, suffice.optimum(success, cost, TARGET), names)


def short(option: Any) -> str:
    """An option of the API menu in a few letters: who is called."""
    if option == ():
        return "skip"
    return "safe" if isinstance(option, str) else " + ".join(name.split()[0] for name in option)


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a selector knows after some outcomes: a line per arm, lower cost − price·upper success."""

    told: int
    cost: Floats
    success: Floats
    names: list[str]


@functools.cache
def envelope(steps: int = 3000) -> Envelope:
    """The bounds of the optimist after so many outcomes."""
    stream = PredictionApis("IMDB")
    selector = suffice.Selector(stream.menu, TARGET, learning=suffice.Learning(chooser="optimist"))
    arms = suffice.simulate(selector, stream, steps, SEED).method.options()
    upper, lower = np.array([arm.upper_success for arm in arms]), np.array([arm.lower_cost for arm in arms])
    return Envelope(steps, lower, upper, [short(arm.option) for arm in arms])


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a success over time, straight and on the curve, and what both cost and owed."""

    cap: float
    shadow: float
    straight: Floats
    curve: Floats
    cost: dict[str, float]
    largest_debt: dict[str, float]
    optimum: float


@functools.cache
def price(steps: int = 20_000) -> Price:
    """The same stream at both kinds of prices; the same world."""
    stream = PredictionApis("IMDB")
    runs = {
        kind: suffice.simulate(
            suffice.Selector(stream.menu, TARGET, learning=suffice.Learning(prices=kind)), stream, steps, SEED
        )
        for kind in ("straight", "curve")
    }
    best = suffice.optimum(*stream.truth(), TARGET)
    return Price(
        cap=1.0 / (1.0 - TARGET),
        shadow=best.price,
        straight=runs["straight"].prices,
        curve=runs["curve"].prices,
        cost={kind: run.mean_cost for kind, run in runs.items()},
        largest_debt={kind: run.largest_debt for kind, run in runs.items()},
        optimum=best.cost,
    )


# --- images that become hard


@dataclass(frozen=True, slots=True)
class Walk:
    """One run between the limits: the surplus after each outcome, and where an end was played."""

    max_surplus: float
    hard: tuple[int, int]
    banked: Floats
    safe: NDArray[np.bool_]
    skip: NDArray[np.bool_]
    cost: float
    rate: float


@functools.cache
def walk(easy: int = 500, hard: int = 150, again: int = 350, max_surplus: float = 20) -> Walk:
    """A thousand images, some of them hard, at a small max_surplus."""
    stream = Phases.from_settings(easy=easy, hard=hard, again=again)
    selector = suffice.Selector(stream.menu, TARGET, max_surplus=max_surplus)
    trace = suffice.simulate(selector, stream, easy + hard + again, SEED)
    kinds = np.array([stream.menu.kind_of(arm) for arm in trace.arms])
    return Walk(max_surplus, (easy, easy + hard), -trace.debts, kinds == 1, kinds == -1, trace.mean_cost, trace.rate)


@dataclass(frozen=True, slots=True)
class Shift:
    """Debts through a shift and back, for three methods on the same images."""

    ends: tuple[int, int, int]
    debts: dict[str, Floats]
    cost: dict[str, float]


@functools.cache
def shift(easy: int = 4000, hard: int = 2000, again: int = 4000) -> Shift:
    """CIFAR-100: the true label among the first five, then at rank 80 or beyond, then among the first five again."""
    stream, steps = Phases.from_settings(easy=easy, hard=hard, again=again), easy + hard + again
    step = 20 / steps**0.5  # of the paper's steps the one that owes least
    methods: dict[str, Any] = {
        "suffice": suffice.Selector(stream.menu, TARGET),
        "paper": suffice.paper(stream.menu, TARGET, steps, step=step),
        "projected": suffice.lab.rivals.Projected(stream.menu, TARGET, steps, step=step),
    }
    traces = {name: suffice.simulate(method, stream, steps, SEED) for name, method in methods.items()}
    return Shift(
        (easy, easy + hard, steps),
        {name: trace.debts for name, trace in traces.items()},
        {name: trace.mean_cost for name, trace in traces.items()},
    )


@dataclass(frozen=True, slots=True)
class Late:
    """What feedback does that comes some decisions late: the debt over time, its largest value, its bound, the cost."""

    shift: int
    debts: dict[int, Floats]
    largest: dict[int, float]
    bound: dict[int, float]
    cost: dict[int, float]


@functools.cache
def late(easy: int = 3000, hard: int = 3000) -> Late:
    """The same shift, with every outcome told so many decisions after its own."""
    stream = Phases.from_settings(easy=easy, hard=hard)
    ranks = stream.draw(np.random.default_rng(SEED), easy + hard)
    found: dict[int, tuple[Floats, suffice.Selector]] = {lag: told_late(stream, ranks, lag) for lag in LAGS}
    return Late(
        easy,
        {lag: found[lag][0] for lag in SHOWN_LAGS},
        {lag: float(debts.max()) for lag, (debts, _) in found.items()},
        {lag: selector.certificate().debt_at_most for lag, (_, selector) in found.items()},
        {lag: selector.cost / selector.outcomes for lag, (_, selector) in found.items()},
    )


def told_late(stream: Any, latents: Floats, lag: int) -> tuple[Floats, suffice.Selector]:
    """The debt after each outcome, when `lag` decisions are out at a time; the selector at the end."""
    selector = suffice.Selector(stream.menu, TARGET)
    out: deque[tuple[suffice.Decision, float]] = deque()
    debts = []

    def tell_oldest() -> None:
        decision, latent = out.popleft()
        selector.tell(decision, *stream.outcome(latent, decision.arm, decision.price)[:1])
        debts.append(selector.debt)

    for latent in latents.tolist():
        out.append((selector.ask(), latent))
        if len(out) == lag:
            tell_oldest()
    while out:
        tell_oldest()
    return np.array(debts), selector


# --- intervals


@dataclass(frozen=True, slots=True)
class Cost:
    """What a decision costs as time goes by: the mean of each stretch over some seeds; and the largest debts."""

    edges: Floats
    courses: dict[str, Floats]
    largest_debt: dict[str, float]
    optimum: float


@functools.cache
def cost(steps: int = 100_000, seeds: int = 5) -> Cost:
    """The paper's own benchmark: points from Beta(2, 5), 211 intervals, a target of 80%."""
    stream, target = UnitPoints(), 0.8
    methods: dict[str, Any] = {
        "suffice": suffice.Selector(stream.menu, target),
        "paper": suffice.paper(stream.menu, target, steps, step=5 / steps**0.5),
    }
    edges = np.unique(np.geomspace(1, steps, 26).astype(int))
    courses, largest = {}, {}
    for name, method in methods.items():
        runs = [suffice.summarize(method, stream, steps, seed, marks=edges.tolist()) for seed in range(seeds)]
        spent = np.array([[mark.cost for mark in run.marks] for run in runs]).mean(axis=0)
        courses[name] = np.diff(spent) / np.diff(edges)
        largest[name] = max(run.largest_debt for run in runs)
    return Cost(edges, courses, largest, suffice.optimum(*stream.truth(), target).cost)


def facts() -> list[str]:
    """What docs/pictures.md says in words of these runs; a test looks for each in the page."""
    bank, through, late_by, way = walk(), shift(), late(), price()
    least, down = hull(), cost()
    first = int(np.flatnonzero(bank.safe[bank.hard[0] :])[0])
    owed = {name: f"{debts.max():.0f}" for name, debts in through.debts.items()}
    mix = [f"{weight:.0%}" for weight in least.optimum.weights if weight > 0]
    above = {name: course / down.optimum - 1.0 for name, course in down.courses.items()}
    later = above["suffice"][np.searchsorted(down.edges, 400) - 1 :].max()
    return [
        f"within {first} outcomes",
        f"{bank.rate:.1%} succeeded, at a cost of {bank.cost:.2f}",
        f"({through.cost['projected']:.2f} against {through.cost['suffice']:.2f} a decision)",
        f"it owes {owed['projected']} successes",
        f"owes {owed['paper']}, which",
        f"`suffice` owed {through.debts['suffice'].max():.1f} at the most",
        f"Amazon {mix[0]} of the time, and Google on top of these {mix[1]} of the time: {least.optimum.cost:.3f}",
        f"The slope of the edge is {least.optimum.price:.2f}",
        f"costs {way.cost['curve']:.4f} instead of {way.cost['straight']:.4f}, where {way.optimum:.4f} is the least",
        f"{late_by.cost[1]:.2f} a decision when told at once, {late_by.cost[10]:.2f} with 10 outstanding",
        f"{late_by.cost[100]:.2f} with 100, and {late_by.cost[1000]:.2f} with 1,000",
        f"After 400 outcomes no stretch is more than {later:.0%} above the least possible",
        f"the last is {above['suffice'][-1]:.1%} above it",
        f"still {above['paper'][-1]:.0%} above it then, and owed {down.largest_debt['paper']:.0f} successes",
    ]
