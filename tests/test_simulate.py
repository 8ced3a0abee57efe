"""The simulator: the same step as ask and tell, the same world for every method, and what a trace says."""

import importlib
import tracemalloc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from suffice import Learning, Menu, Rule, Selector, ThresholdSelector, Trace, paper, replicate, simulate, summarize
from suffice.kernels.compiler import available, signatures
from suffice.lab.rivals import AlwaysSafe, Projected
from suffice.lab.streams import LabelRanks, Phases, Stream, Table, Trap

module = importlib.import_module("suffice.simulator")  # the name `suffice.simulate` is the function


def test_the_numbers_of_a_trace() -> None:
    successes = np.array([1.0, 0, 0, 1, 1, 0, 0, 0, 1, 1])
    trace = Trace(0.5, np.zeros(10, dtype=np.int64), successes, np.full(10, 0.25), np.zeros(10), None)
    assert trace.rate == 0.5
    assert trace.mean_cost == 0.25
    assert trace.debts.tolist() == [-0.5, 0, 0.5, 0, -0.5, 0, 0.5, 1, 0.5, 0]
    assert (trace.debt, trace.largest_debt) == (0.0, 1.0)
    assert trace.worst_window(3) == 0.0
    assert trace.worst_window(4) == 0.25
    assert trace.worst_window(100) == 0.5


def test_progress_is_reported() -> None:
    seen: list[int] = []
    simulate(ThresholdSelector(0, 1, 0.5), Trap(), 600, progress=seen.append)  # which is asked step by step
    assert seen == [256, 512, 600]
    compiled: list[int] = []
    simulate(Selector(Trap().menu, 0.5), Trap(), 70_000, progress=compiled.append)
    assert compiled[-1] == 70_000


def test_a_threshold_can_be_simulated() -> None:
    class Scores:
        """Succeeds where the threshold exceeds a uniform score."""

        menu = Trap().menu

        def draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
            return rng.random(count)

        def outcome(self, latent: float, arm: int, price: float) -> tuple[float, float]:
            return float(arm == 2 or (arm == 1 and price > latent)), price

    trace = simulate(ThresholdSelector(0, 1, 0.8), Scores(), 3000)  # type: ignore[arg-type]  # it need not know the time
    assert trace.largest_debt <= 5
    assert trace.rate == pytest.approx(0.8, abs=0.03)


STREAMS: dict[str, Stream] = {
    "ranks": LabelRanks.cifar100(),
    "many ranks": LabelRanks.cifar100(tuple(range(1, 100))),
    "trap": Trap(),
    "phases": Phases(
        (LabelRanks.cifar100(most=5), 700), (LabelRanks.cifar100(least=80), 300), (LabelRanks.cifar100(), 500)
    ),
}


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS.keys())
@pytest.mark.parametrize("kind", ["half-log", "kl", "hoeffding", "paper's"])
def test_compiled_runs_take_the_steps_of_ask_and_tell(
    stream: Stream, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In several blocks, through a first round, and with the method left in the same state."""
    monkeypatch.setattr(module, "BLOCK", 400)
    fresh = (
        paper(stream.menu, 0.8, 1700)
        if kind == "paper's"
        else Selector(stream.menu, 0.8, learning=Learning(bounds=kind))
    )
    compiled = simulate(fresh, stream, 1700, seed=2)
    with monkeypatch.context() as patch:
        patch.setattr(module, "available", lambda: False)
        asked = simulate(fresh, stream, 1700, seed=2)
    for name in ("arms", "successes", "costs", "prices"):
        assert (getattr(compiled, name) == getattr(asked, name)).all(), name
    states = [trace.method.state() for trace in (compiled, asked)]
    for name in ("accounts", "learner", "next_id", "outstanding", "first_unplayed"):
        assert states[0][name] == states[1][name], name
    one, other = compiled.method.ask(), asked.method.ask()
    assert (one.id, one.arm, one.price) == (other.id, other.arm, other.price)


def test_a_summary_says_what_the_trace_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 300)
    stream = STREAMS["phases"]
    for method in (Selector(stream.menu, 0.9), AlwaysSafe(stream.menu, 0.9)):
        trace = simulate(method, stream, 1000, seed=1)
        summary = summarize(method, stream, 1000, seed=1)
        assert summary.rate == pytest.approx(trace.rate)
        assert summary.mean_cost == pytest.approx(trace.mean_cost)
        assert summary.debt == pytest.approx(trace.debt)
        assert summary.largest_debt == pytest.approx(trace.largest_debt)
        assert list(summary.plays) == np.bincount(trace.arms, minlength=stream.menu.n_arms).tolist()


def test_replicas_are_what_single_runs_are() -> None:
    stream = STREAMS["ranks"]
    method = Selector(stream.menu, 0.9)
    together = replicate(method, stream, 3000, seeds=[5, 1, 9], workers=2)
    singles = [Selector(stream.menu, 0.9, seed=seed) for seed in (5, 1, 9)]
    assert together == [summarize(one, stream, 3000, seed) for one, seed in zip(singles, (5, 1, 9), strict=True)]
    assert len({run.cost for run in together}) == 3
    assert method.outcomes == 0


def test_the_memory_of_a_summary_does_not_grow() -> None:
    stream = STREAMS["ranks"]
    peaks = []
    for horizon in (200_000, 2_000_000):
        tracemalloc.start()
        summarize(Selector(stream.menu, 0.9), stream, horizon)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]
    assert peaks[1] < 2_000_000 * 8


def test_nothing_is_compiled_again_for_another_size_or_stream() -> None:
    """One signature per kernel, whatever the menu, the stream or the numbers in it."""
    if not available():
        pytest.skip("the extra `fast` is not installed")
    simulate(Selector(STREAMS["ranks"].menu, 0.9), STREAMS["ranks"], 50)
    before = signatures()
    assert before["suffice.selector.runs.play"] == 1
    for stream in STREAMS.values():
        for target in (0.5, Fraction(2, 3)):
            simulate(Selector(stream.menu, target, max_surplus=3), stream, 50)
    assert signatures() == before


class Kinds:
    """Three kinds of steps, with costs that are told and successes in parts."""

    def __init__(self) -> None:
        self.menu = Menu(["a", "b"], safe="all", skip="none", safe_cost=1.0)
        self.successes = np.array([[0.0, 0.3, 1.0, 1.0], [0.0, 0.123456789012, 0.7, 1.0], [0.0, 1.0, 0.0, 1.0]])
        self.costs = np.array([[0.0, 0.1, 0.4, 1.0], [0.0, 0.2, 0.3, 1.0], [0.0, 0.05, 0.6, 1.0]])

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Any:
        return rng.integers(0, 3, count)

    def outcome(self, latent: Any, arm: int, price: float) -> tuple[float, float]:
        return float(self.successes[latent, arm]), float(self.costs[latent, arm])

    def table(self) -> Table:
        return Table(self.successes, self.costs)


class Thirds:
    """Needs between 1 and 4: a threshold succeeds from there on, at a cost that is its place in the range."""

    low, high, linear = 1.0, 4.0, True

    def __init__(self) -> None:
        self.menu = Menu.thresholds(1, 4, step=0.5, skip=True, safe_cost=1.0)

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Any:
        return rng.uniform(1.0, 4.0, count)

    def threshold_outcome(self, latent: Any, value: float) -> tuple[float, float]:
        return float(latent <= value), (value - self.low) / (self.high - self.low)


@pytest.mark.parametrize(
    "kind",
    [
        "selector",
        "paper",
        "projected",
        "projected on ranks",
        "threshold",
        "threshold, cheap",
    ],
)
def test_every_compiled_run_takes_the_steps_of_ask_and_tell(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 300)
    kinds, ranks = Kinds(), LabelRanks.cifar100(tuple(range(1, 90)))
    cases: dict[str, tuple[Any, Any]] = {
        "selector": (kinds, Selector(kinds.menu, 0.8)),
        "paper": (kinds, paper(kinds.menu, 0.8, 1000)),
        "projected": (kinds, Projected(kinds.menu, 0.8, 1000)),
        "projected on ranks": (ranks, Projected(ranks.menu, 0.8, 1000, step=0.2)),
        "threshold": (Thirds(), ThresholdSelector(1, 4, 0.7)),
        "threshold, cheap": (Thirds(), ThresholdSelector(1, 4, 0.7, rule=Rule(2, step=0.1), low_fails=False)),
    }
    stream, method = cases[kind]
    compiled = simulate(method, stream, 1000, seed=3)
    with monkeypatch.context() as patch:
        patch.setattr(module, "available", lambda: False)
        asked = simulate(method, stream, 1000, seed=3)
    for name in ("arms", "successes", "costs", "prices"):
        assert getattr(compiled, name) == pytest.approx(getattr(asked, name), abs=1e-9), name
    assert (compiled.arms == asked.arms).all()
    assert 0.0 < compiled.rate < 1.0
    for name in ("outcomes", "successes", "debt", "pending"):
        assert getattr(compiled.method, name) == pytest.approx(getattr(asked.method, name)), name
    assert compiled.method.cost == pytest.approx(asked.method.cost)


def test_a_menu_on_a_stream_that_only_judges_values_is_asked_step_by_step() -> None:
    """There are no windows and no table for compiled code to look into."""

    class Both(Thirds):
        def outcome(self, latent: Any, arm: int, price: float) -> tuple[float, float]:
            value = (1.0, *self.menu.options, 4.0)[arm]
            return float(arm > 0 and latent <= value), (value - 1.0) / 3.0

    stream = Both()
    trace = simulate(Selector(stream.menu, 0.7), stream, 400)
    latents = stream.draw(np.random.default_rng(0), 400)
    for step, arm in enumerate(trace.arms.tolist()):
        assert (trace.successes[step], trace.costs[step]) == pytest.approx(stream.outcome(latents[step], arm, 0.0))
