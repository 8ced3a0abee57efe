"""Streams with contexts: what is known before choosing, what that costs, and the outcomes of every arm in each case."""

import math
import pickle
from collections.abc import Callable
from importlib import import_module, resources
from typing import Any

import numpy as np
import pytest

from suffice import InvalidArgument, Menu, Selector, simulate
from suffice.lab.streams import (
    TASKS,
    ConfidentApis,
    LabelRanks,
    Phases,
    PredictionApis,
    SyntheticContext,
)
from suffice.lab.streams.confidence import confidence_counts
from suffice.lab.streams.tilted import KINDS
from suffice.selector.records import Decision
from suffice.testing.streams import context_costs as context_costs_of
from tests.support.refusals import refused

simulator = import_module("suffice.simulator")  # the name `suffice.simulate` is the function


class Rule:
    """A contextual method of ten lines: a rule from the context to an arm."""

    target = 0.5
    contextual = True

    def __init__(self, menu: Menu, rule: Callable[[Any], int]) -> None:
        self.menu, self.rule = menu, rule
        self.contexts: list[Any] = []
        self.costs: list[float | None] = []

    def ask(self, context: Any = None) -> Decision:
        self.contexts.append(context)
        arm = self.rule(context)
        return Decision(len(self.contexts) - 1, arm, self.menu.option(arm), self.menu.kind_of(arm), 0.0, "")

    def tell(self, decision: Decision, success: float, cost: float | None = None) -> None:
        self.costs.append(cost)


class Ranked(LabelRanks):
    """A stream with windows whose context says where it is from."""

    def __init__(self, place: str, **settings: Any) -> None:
        super().__init__(Menu.top_k([5, 10], classes=100, skip=True), **settings)
        self.place = place

    def context(self, latent: Any) -> dict[str, Any]:
        return {"place": self.place, "even": int(latent) % 2 == 0}


class More(SyntheticContext):
    """Synthetic contexts with one more field."""

    def context(self, latent: int) -> dict[str, float | str | None]:
        return super().context(latent) | {"noise": 0.5}


class Rows:
    """A stream with nothing but what the protocol asks, whose context is a row of numbers."""

    menu = Menu({"half": 0.5}, safe="all", skip="none", safe_cost=1.0)

    def draw(self, rng: np.random.Generator, count: int) -> Any:
        return rng.random(count)

    def outcome(self, latent: float, arm: int, price: float) -> tuple[float, float]:
        return (0.0, float(latent < 0.5), 1.0)[arm], (0.0, 0.5, 1.0)[arm]

    def context(self, latent: float) -> Any:
        return np.array([latent, 1.0])


def confidences(stream: ConfidentApis) -> list[dict[str, Any]]:
    return [stream.context(16 * place) for place in range(16) if stream.joint[place].sum() > 0]


def tilts(*gaps: str) -> list[dict[str, Any]]:
    """Contexts by what is missing: "", "level", "kind" or "both", in the order of the cases."""
    levels, found = [(place + 0.5) / 16 for place in range(16)], []
    for gap in gaps:
        for level in [math.nan] if gap in ("level", "both") else levels:
            found += [{"level": level, "kind": kind} for kind in ([None] if gap in ("kind", "both") else KINDS)]
    return found


APIS = {
    "confidence YELP": ConfidentApis(),
    "confidence, shuffled": ConfidentApis("WAIMAI", shuffled=True),
    "confidence, mirrored": ConfidentApis("IMDB", mirrored="both"),
}
# Each with the contexts that its cases are of.
STREAMS: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    **{name: (stream, confidences(stream)) for name, stream in APIS.items()},
    "tilted": (SyntheticContext(), tilts("")),
    "tilted, with gaps": (SyntheticContext(2, options=2, missing=0.3), tilts("", "level", "kind", "both")),
    "tilted, nothing known": (SyntheticContext(missing=1), tilts("both")),
}


def key_of(context: dict[str, Any]) -> str:
    return str(context)  # nan is not itself, its text is


@pytest.mark.parametrize(("stream", "contexts"), STREAMS.values(), ids=STREAMS.keys())
class TestEveryStreamWithContexts:
    def test_cases_are_what_is_drawn(self, stream: Any, contexts: Any) -> None:
        weights, success, cost = stream.cases()
        draws = 30_000
        groups: dict[str, list[Any]] = {key_of(context): [] for context in contexts}
        assert len(groups) == weights.size
        for latent in stream.draw(np.random.default_rng(1), draws):
            groups[key_of(stream.context(latent))].append(latent)
        latents = list(groups.values())
        context_costs = context_costs_of(stream)
        for case in np.flatnonzero(weights > 20 / draws):
            share, count = weights[case], len(latents[case])
            assert abs(count / draws - share) <= 5 * math.sqrt(share / draws)
            for arm in range(0, stream.menu.n_arms, 3):
                outcomes = np.array([stream.outcome(latent, arm, 0.5) for latent in latents[case]])
                outcomes[:, 1] += context_costs[arm]
                for part, exact in enumerate((success[case, arm], cost[case, arm])):
                    width = max(outcomes[:, part].std(), 0.02 if part == 0 and 0 < exact < 1 else 0.0)
                    assert abs(outcomes[:, part].mean() - exact) <= 5 * width / math.sqrt(count) + 1e-9

    def test_a_method_without_contexts_does_not_pay_for_them(self, stream: Any, contexts: Any) -> None:
        if stream.menu.costs is not None:
            trace = simulate(Selector(stream.menu, 0.8), stream, 200, seed=1)
            known = [stream.menu.known_cost(arm) for arm in trace.arms]
            assert trace.costs.tolist() == pytest.approx(known, rel=1e-12)


# --- the simulator


def test_a_contextual_method_is_shown_each_context_and_pays_for_it() -> None:
    stream = ConfidentApis("COMMAND")
    arms = stream.menu.n_arms
    turns = iter(range(10**9))
    method: Any = Rule(stream.menu, lambda context: next(turns) % arms)
    trace = simulate(method, stream, 300, seed=3)
    latents = stream.draw(np.random.default_rng(3), 300)
    assert trace.method.contexts == [stream.context(latent) for latent in latents]
    assert trace.method.costs == trace.costs.tolist()
    first = stream.task.apis[0]
    price = 0.02 / (3 * 126.02)  # of the cheapest API, in prices of a person
    for step, arm in enumerate(trace.arms):
        free = arm == arms - 1 or first in stream.menu.option(arm)
        known = stream.menu.known_cost(int(arm))
        assert known is not None
        assert trace.costs[step] == pytest.approx(known + (0.0 if free else price))
    assert trace.costs[trace.arms == 0].tolist() == pytest.approx([price] * 18)
    assert trace.costs.max() == stream.menu.safe_cost


def test_a_contextual_method_is_not_compiled_where_there_are_contexts() -> None:
    class Ready(Rule):
        def can_run(self, stream: Any) -> bool:
            return True

    stream = ConfidentApis()
    contextual, plain = Ready(stream.menu, lambda context: 2), Selector(stream.menu, 0.9)
    assert simulator.compiled_world(contextual, stream) is None
    assert (
        simulator.compiled_world(contextual, PredictionApis()) is not None or not simulator.available()
    )  # no contexts there
    assert simulator.compiled_world(plain, stream) is not None or not simulator.available()


# --- several streams as one


@pytest.mark.parametrize("join", [
    lambda one, other: Phases((one, 50), (other, 50)),
    lambda one, other: Phases((Phases((one, 20), (other, 20)), 50), (Phases((other, 20), (one, 20)), 50)),
])  # fmt: skip
def test_a_context_is_that_of_the_stream_of_the_step(join: Any) -> None:
    easy = Ranked("easy", most=5)
    hard = Ranked("hard", least=50)
    stream = join(easy, hard)
    places = set()
    for latent in stream.draw(np.random.default_rng(0), 100):
        context = stream.context(latent)
        places.add(context["place"])
        assert stream.outcome(latent, 1, 0.5)[0] == (context["place"] == "easy")
    assert places == {"easy", "hard"}


def test_combined_streams_have_contexts_only_with_the_same_fields() -> None:
    rows: Any = Rows()
    for one, other in (
        (ConfidentApis(), PredictionApis()),
        (Ranked("a"), LabelRanks.cifar100([5, 10])),
        (SyntheticContext(), More()),
        (SyntheticContext(options=1), rows),
    ):
        stream = Phases((one, 5), (other, 5))
        assert not hasattr(stream, "context")
        assert not hasattr(stream, "context_cost")
    assert Phases((Ranked("a"), 5), (LabelRanks.cifar100([5, 10]), 5)).windows() is not None  # still compiled
    both: Any = Phases((rows, 3), (rows, 3))
    assert both.context(both.draw(np.random.default_rng(0), 1)[0]).shape == (2,)
    free: Any = Phases((ConfidentApis(), 1), (Phases((ConfidentApis(), 3)), 1))
    assert hasattr(free, "context_cost")
    assert not hasattr(Phases((SyntheticContext(), 1)), "context_cost")


# --- confidence


def test_the_counts_are_those_of_the_apis() -> None:
    counts = confidence_counts()
    assert sorted(counts) == sorted(set(TASKS) - {"AFFECTNET"})
    for task, split in counts.items():
        assert tuple(split.sum(axis=0).tolist()) == TASKS[task].counts
    text = resources.files("suffice.lab.streams").joinpath("confidence_counts.csv").read_text(encoding="utf-8")
    assert "Apache-2.0" in text
    assert "NeurIPS 2020" in text


@pytest.mark.parametrize("task", confidence_counts())
def test_without_contexts_the_world_is_that_of_the_apis(task: str) -> None:
    stream, plain = ConfidentApis(task), PredictionApis(task)
    assert stream.menu.recipe() == plain.menu.recipe()
    assert stream.truth()[0] == pytest.approx(plain.truth()[0], abs=1e-12)
    assert stream.truth()[1].tolist() == plain.truth()[1].tolist()


def test_what_a_shift_changes_and_what_it_leaves() -> None:
    before = ConfidentApis("AUDIOMNIST").cases()
    after = {what: ConfidentApis("AUDIOMNIST", mirrored=what).cases() for what in ("contexts", "outcomes", "both")}
    assert after["contexts"].weights == pytest.approx(before.weights[::-1])
    assert after["contexts"].success == pytest.approx(before.success)
    assert after["outcomes"].weights == pytest.approx(before.weights)
    assert after["outcomes"].success == pytest.approx(before.success[::-1])
    assert after["both"].weights == pytest.approx(before.weights[::-1])
    assert after["both"].success == pytest.approx(before.success[::-1])
    truth = {what: ConfidentApis("AUDIOMNIST", mirrored=what).truth()[0] for what in ("none", "contexts", "both")}
    assert truth["both"] == pytest.approx(truth["none"])  # invisible without contexts
    assert np.abs(truth["contexts"] - truth["none"]).max() > 0.1


def test_shifts_are_phases() -> None:
    stream: Any = ConfidentApis.from_settings(task="command", shift="outcomes", at=100)
    assert isinstance(stream, Phases)
    assert stream.ends[0] == 100
    assert [phase.success.tolist() for phase in stream.truths()] == [
        ConfidentApis("COMMAND", mirrored=what).truth()[0].tolist() for what in ("none", "outcomes")
    ]
    latents = stream.draw(np.random.default_rng(0), 200)
    assert (latents[:100] < 256).all()
    assert (latents[100:] >= 256).all()
    assert pickle.loads(pickle.dumps(stream)).context(latents[150]) == stream.context(latents[150])
    assert simulate(Selector(stream.menu, 0.9), stream, 300).largest_debt <= 5
    assert isinstance(ConfidentApis.from_settings(at=5), ConfidentApis)


def test_confidence_is_checked() -> None:
    refused(lambda: ConfidentApis("affectnet"), "task must be one of AUDIOMNIST, COMMAND, DIGIT")
    with pytest.raises(InvalidArgument, match=r"got 'affectnet', for which no confidences were recorded$"):
        ConfidentApis("affectnet")
    with pytest.raises(InvalidArgument, match=r"got 'MNIST'$"):
        ConfidentApis("MNIST")
    refused(lambda: ConfidentApis(3), "task must be one of")  # type: ignore[arg-type]
    refused(lambda: ConfidentApis(shuffled=1), "shuffled must be True or False, got 1")  # type: ignore[arg-type]
    refused(lambda: ConfidentApis(mirrored="all"), "mirrored must be one of none, contexts, outcomes, both, got 'all'")
    refused(
        lambda: ConfidentApis.from_settings(shift="x"), "shift must be one of none, contexts, outcomes, both, got 'x'"
    )
    refused(lambda: ConfidentApis.from_settings(shift="both", at=0), "at must be at least 1, got 0")


# --- tilted


def test_tilted_is_logistic_in_the_level_and_the_kind() -> None:
    stream = SyntheticContext(2, options=2)
    success = stream.cases().success.reshape(16, len(KINDS), 4)
    for level, kind, option in ((0, 0, 1), (5, 2, 2), (15, 1, 1)):
        z = 3 * option / 3 - 0.5 + 2 * (2 * (level + 0.5) / 16 - 1 + (-0.5, 0, 0.5)[kind])
        assert success[level, kind, option] == pytest.approx(1 / (1 + math.exp(-z)))
    assert (np.diff(success[:, :, 1:-1], axis=0) > 0).all()
    assert (np.diff(success, axis=2) > 0).all()
    table = stream.table().successes
    assert (np.diff(table, axis=1) >= 0).all()  # a chain
