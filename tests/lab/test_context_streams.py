"""Streams with contexts: what is seen before choosing, what looking costs, and how every arm does in each case."""

import copy
import gzip
import math
import pickle
from collections.abc import Callable
from importlib import import_module, resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suffice import InvalidArgument, Menu, Selector, optimum, simulate, summarize
from suffice.best_mix import contextual_optimum
from suffice.lab.streams import (
    TASKS,
    Attack,
    ConfidentApis,
    Drift,
    HiddenCosts,
    LabelRanks,
    Mix,
    Phases,
    PredictionApis,
    Routing,
    SyntheticContext,
)
from suffice.lab.streams.confidence import confidence_counts
from suffice.lab.streams.routing_files import COUNTED
from suffice.lab.streams.tilted import KINDS
from suffice.selector.records import Decision
from tests.support.refusals import refused

simulator = import_module("suffice.simulator")  # the name `suffice.simulate` is the function


class Looks:
    """A contextual method of ten lines: a rule from the context to an arm."""

    target = 0.5
    contextual = True

    def __init__(self, menu: Menu, rule: Callable[[Any], int]) -> None:
        self.menu, self.rule = menu, rule
        self.seen: list[Any] = []
        self.costs: list[float | None] = []

    def ask(self, context: Any = None) -> Decision:
        self.seen.append(context)
        arm = self.rule(context)
        return Decision(len(self.seen) - 1, arm, self.menu.option(arm), self.menu.kind_of(arm), 0.0, "")

    def tell(self, decision: Decision, success: float, cost: float | None = None) -> None:
        self.costs.append(cost)


class Ranked(LabelRanks):
    """A stream with windows whose context says where it is from."""

    def __init__(self, place: str, **settings: Any) -> None:
        super().__init__(Menu.top_k([5, 10], classes=100), **settings)
        self.place = place

    def context(self, latent: Any) -> dict[str, Any]:
        return {"place": self.place, "even": int(latent) % 2 == 0}


class Rows:
    """A stream of one's own with nothing but what the protocol asks, whose context is a row of numbers."""

    menu = Menu({"half": 0.5}, safe="all", skip="none")

    def draw(self, rng: np.random.Generator, count: int) -> Any:
        return rng.random(count)

    def judge(self, latent: float, arm: int, price: float) -> tuple[float, float]:
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


TASKS_KNOWN = [{"task": "MMLU"}, {"task": "GSM8K"}]
APIS = {
    "confidence YELP": ConfidentApis(),
    "confidence DIGIT": ConfidentApis("DIGIT"),
    "confidence, shuffled": ConfidentApis("WAIMAI", shuffled=True),
    "confidence, mirrored": ConfidentApis("IMDB", mirrored="both", person=1),
}
# Each with the contexts that its cases are of.
STREAMS: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    **{name: (stream, confidences(stream)) for name, stream in APIS.items()},
    "routing": (Routing(), TASKS_KNOWN),
    "routing, not worse": (Routing(success="not worse"), TASKS_KNOWN),
    "tilted": (SyntheticContext(), tilts("")),
    "tilted, with gaps": (SyntheticContext(2, options=2, missing=0.3), tilts("", "level", "kind", "both")),
    "tilted, nothing seen": (SyntheticContext(missing=1), tilts("both")),
    "told": (HiddenCosts(ConfidentApis("IMDB"), spread=1, tie=0.8), confidences(ConfidentApis("IMDB"))),
}


def key_of(known: dict[str, Any]) -> str:
    return str(known)  # nan is not itself, its text is


@pytest.mark.parametrize(("stream", "contexts"), STREAMS.values(), ids=STREAMS.keys())
class TestEveryStreamWithContexts:
    def test_contexts_are_plain_and_ones_own(self, stream: Any, contexts: Any) -> None:
        latents = stream.draw(np.random.default_rng(0), 50)
        fields = list(stream.context(latents[0]))
        for latent in latents:
            known = stream.context(latent)
            assert list(known) == fields
            assert all(value is None or type(value) in (float, str) for value in known.values())
            before = key_of(known)
            known.clear()  # whoever is handed a context may change it
            assert key_of(stream.context(latent)) == before
        twin = pickle.loads(pickle.dumps(copy.deepcopy(stream)))
        assert key_of(twin.context(latents[0])) == key_of(stream.context(latents[0]))

    def test_cases_add_up_to_the_truth(self, stream: Any, contexts: Any) -> None:
        weights, success, cost = stream.cases()
        assert success.shape == cost.shape == (weights.size, stream.menu.n_arms)
        assert (weights > 0).all()
        assert weights.sum() == pytest.approx(1.0)
        assert ((success >= 0) & (success <= 1)).all()
        assert (success[:, -1] == 1.0).all()
        looks = [self.look(stream, arm) for arm in range(stream.menu.n_arms)]
        assert weights @ success == pytest.approx(stream.truth()[0], abs=1e-12)
        assert weights @ cost == pytest.approx(stream.truth()[1] + looks, abs=1e-12)

    @staticmethod
    def look(stream: Any, arm: int) -> float:
        latent = stream.draw(np.random.default_rng(0), 1)[0]
        return float(stream.look(latent, arm)) if hasattr(stream, "look") else 0.0

    def test_cases_are_what_is_drawn(self, stream: Any, contexts: Any) -> None:
        weights, success, cost = stream.cases()
        draws = 30_000
        groups: dict[str, list[Any]] = {key_of(known): [] for known in contexts}
        assert len(groups) == weights.size
        for latent in stream.draw(np.random.default_rng(1), draws):
            groups[key_of(stream.context(latent))].append(latent)
        found = list(groups.values())
        for case in np.flatnonzero(weights > 20 / draws):
            share, count = weights[case], len(found[case])
            assert abs(count / draws - share) <= 5 * math.sqrt(share / draws)
            for arm in range(0, stream.menu.n_arms, 3):
                judged = np.array([stream.judge(latent, arm, 0.5) for latent in found[case]])
                judged[:, 1] += self.look(stream, arm)
                for part, exact in enumerate((success[case, arm], cost[case, arm])):
                    width = max(judged[:, part].std(), 0.02 if part == 0 and 0 < exact < 1 else 0.0)
                    assert abs(judged[:, part].mean() - exact) <= 5 * width / math.sqrt(count) + 1e-9

    def test_who_knows_the_cases_reaches_their_optimum(self, stream: Any, contexts: Any) -> None:
        weights, success, cost = stream.cases()
        best = contextual_optimum(weights, success, cost, 0.85)
        pooled, known = stream.truth()
        assert best.cost <= optimum(pooled, known, 0.85).cost + stream.menu.safe_cost * 1e-3
        steps, rng = 8_000, np.random.default_rng(5)
        places = {key_of(context): place for place, context in enumerate(contexts)}
        method: Any = Looks(
            stream.menu, lambda context: int(rng.choice(stream.menu.n_arms, p=best.weights[places[key_of(context)]]))
        )
        trace = simulate(method, stream, steps, seed=2)
        assert abs(trace.rate - 0.85) <= 4.5 * math.sqrt(0.85 * 0.15 / steps)
        assert abs(trace.mean_cost - best.cost) <= 4.5 * trace.costs.std() / math.sqrt(steps) + 1e-9

    def test_who_does_not_look_is_shown_nothing_and_pays_nothing_for_it(self, stream: Any, contexts: Any) -> None:
        trace = simulate(Selector(stream.menu, 0.8), stream, 200, seed=1)
        assert trace.largest_debt <= 0.8 + 1e-9
        if stream.menu.costs is not None:
            known = [stream.menu.known_cost(arm) for arm in trace.arms]
            assert trace.costs.tolist() == pytest.approx(known, rel=1e-12)


# --- the simulator


def test_a_contextual_method_is_shown_each_context_and_pays_for_looking() -> None:
    stream = ConfidentApis("COMMAND", unit="usd")
    arms = stream.menu.n_arms
    turns = iter(range(10**9))
    method: Any = Looks(stream.menu, lambda context: next(turns) % arms)
    trace = simulate(method, stream, 300, seed=3)
    latents = stream.draw(np.random.default_rng(3), 300)
    assert trace.method.seen == [stream.context(latent) for latent in latents]
    assert trace.method.costs == trace.costs.tolist()
    first = stream.task.apis[0]
    for step, arm in enumerate(trace.arms):
        free = arm == arms - 1 or first in stream.menu.option(arm)
        known = stream.menu.known_cost(int(arm))
        assert known is not None
        assert trace.costs[step] == pytest.approx(known + (0.0 if free else 0.02))
    assert trace.costs[trace.arms == 0].tolist() == pytest.approx([0.02] * 18)
    assert trace.costs.max() == stream.menu.safe_cost


@pytest.mark.parametrize("task", confidence_counts())
@pytest.mark.parametrize("unit", ["person", "usd"])
def test_looking_never_costs_more_than_the_safe_option(task: str, unit: str) -> None:
    """Not even where a person costs what all four APIs do, and the sum of prices is rounded."""
    stream = ConfidentApis(task, person=1, unit=unit)
    assert all(stream.judge(0, arm, 0)[1] + stream.look(0, arm) <= stream.menu.safe_cost for arm in range(17))
    assert (stream.cases().cost <= stream.menu.safe_cost).all()


def test_a_contextual_method_is_asked_plainly_where_there_is_no_context() -> None:
    stream = PredictionApis("YELP")
    method: Any = Looks(stream.menu, lambda context: 1)
    trace = simulate(method, stream, 10)
    assert trace.method.seen == [None] * 10
    assert trace.costs.tolist() == [stream.menu.known_cost(1)] * 10


def test_a_contextual_method_is_never_run_blindly() -> None:
    class Ready(Looks):
        def can_run(self, stream: Any) -> bool:
            return True

    stream = ConfidentApis()
    looking, blind = Ready(stream.menu, lambda context: 2), Selector(stream.menu, 0.9)
    assert simulator._world(looking, stream) is None
    assert simulator._world(looking, PredictionApis()) is not None or not simulator.available()  # nothing to see there
    assert simulator._world(blind, stream) is not None or not simulator.available()


def test_summaries_and_rows_of_numbers() -> None:
    stream: Any = Rows()
    method: Any = Looks(stream.menu, lambda row: 1 if row[0] < 0.5 else 2)
    summary = summarize(method, stream, 400)
    assert summary.rate == 1.0
    assert summary.mean_cost < 0.9


@pytest.mark.parametrize(
    "stream", [ConfidentApis(), Routing(), SyntheticContext(noise=1), ConfidentApis.named(shift="both", at=50)]
)
def test_a_plain_selector_runs_compiled_and_takes_the_same_steps(stream: Any) -> None:
    class Slow:
        """The same stream, which can only be asked."""

        menu, draw, judge = stream.menu, staticmethod(stream.draw), staticmethod(stream.judge)

    slow: Any = Slow()
    compiled = simulate(Selector(stream.menu, 0.9), stream, 400, seed=7)
    asked = simulate(Selector(stream.menu, 0.9), slow, 400, seed=7)
    assert simulator._world(Selector(stream.menu, 0.9), slow) is None
    assert compiled.arms.tolist() == asked.arms.tolist()
    assert compiled.costs.tolist() == asked.costs.tolist()


# --- several streams as one


def test_phases_hand_on_contexts() -> None:
    stream: Any = Phases((ConfidentApis("YELP"), 30), (ConfidentApis("IMDB"), 30))
    latents = stream.draw(np.random.default_rng(0), 60)
    for place, part in enumerate(stream.streams):
        for latent in latents[30 * place : 30 * place + 30]:
            own = int(latent) - 256 * place
            assert stream.context(latent) == part.context(own)
            assert [stream.look(latent, arm) for arm in range(17)] == [part.look(own, arm) for arm in range(17)]
    assert len(stream.table().costs) == 512
    assert simulator._world(Selector(stream.menu, 0.9), stream) is not None or not simulator.available()


@pytest.mark.parametrize("join", [
    lambda one, other: Mix((one, 1), (other, 1)),
    lambda one, other: Drift(one, other, 100),
    lambda one, other: Phases((one, 50), (other, 50)),
    lambda one, other: Phases((Mix((one, 1), (other, 1)), 50), (Drift(one, other, 50), 50)),
])  # fmt: skip
@pytest.mark.parametrize("windows", [True, False])
def test_a_context_is_that_of_the_stream_the_step_is_from(join: Any, windows: bool) -> None:
    one: Any = Ranked("easy", most=5) if windows else Routing()
    other: Any = Ranked("hard", least=50) if windows else Routing(success="right", person=3)
    if not windows:
        other.context = lambda latent: {"task": "OTHER"}
        other._table = other._table._replace(successes=1 - other._table.successes)
    stream = join(one, other)
    seen = set()
    for latent in stream.draw(np.random.default_rng(0), 100):
        known = stream.context(latent)
        if windows:
            seen.add(known["place"])
            assert stream.judge(latent, 1, 0.5)[0] == (known["place"] == "easy")
        else:
            seen.add(known["task"] == "OTHER")
            assert stream.judge(latent, 0, 0.5)[0] == (known["task"] == "OTHER")
    assert len(seen) == 2


def test_contexts_are_handed_on_only_where_all_have_the_same_fields() -> None:
    rows: Any = Rows()
    for one, other in (
        (ConfidentApis(), PredictionApis()),
        (Ranked("a"), LabelRanks.cifar100([5, 10])),
        (SyntheticContext(), SyntheticContext(noise=2)),
        (SyntheticContext(options=1), rows),
    ):
        stream = Phases((one, 5), (other, 5))
        assert not hasattr(stream, "context")
        assert not hasattr(stream, "look")
    assert Phases((Ranked("a"), 5), (LabelRanks.cifar100([5, 10]), 5)).windows() is not None  # compiled as ever
    both: Any = Phases((rows, 3), (rows, 3))
    assert both.context(both.draw(np.random.default_rng(0), 1)[0]).shape == (2,)
    free: Any = Mix((ConfidentApis(), 1), (Phases((ConfidentApis(), 3)), 1))
    assert hasattr(free, "look")
    assert not hasattr(Mix((SyntheticContext(), 1)), "look")


def test_told_and_attack_hand_on_contexts() -> None:
    apis = ConfidentApis("DIGIT")
    latents = apis.draw(np.random.default_rng(4), 20)
    told: Any = HiddenCosts(apis)
    assert [told.context(latent) for latent in told.draw(np.random.default_rng(4), 20)] == [
        apis.context(latent) for latent in latents
    ]
    attack: Any = Attack(apis, plan="fail")
    assert attack.context(latents[0]) == apis.context(latents[0])
    assert attack.look(latents[0], 0) == apis.look(latents[0], 0) > 0
    joined: Any = Mix((told, 1), (HiddenCosts(apis, spread=1), 2))
    for latent in joined.draw(np.random.default_rng(0), 20):
        assert joined.context(latent) == apis.context(int(latent) % (256 * 8) // 8)
        assert joined.look(latent, 0) > 0
    ranked: Any = HiddenCosts(Ranked("here"))
    drawn = ranked.draw(np.random.default_rng(0), 5)
    assert ranked.context(drawn[0])["place"] == "here"
    assert not hasattr(HiddenCosts(LabelRanks.cifar100()), "context")


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
def test_who_does_not_look_meets_the_same_world_as_without_contexts(task: str) -> None:
    stream, plain = ConfidentApis(task), PredictionApis(task)
    assert stream.menu.recipe() == plain.menu.recipe()
    assert stream.truth()[0] == pytest.approx(plain.truth()[0], abs=1e-12)
    assert stream.truth()[1].tolist() == plain.truth()[1].tolist()


def test_a_confidence_is_the_middle_of_its_sixteenth() -> None:
    stream = ConfidentApis()
    assert [stream.context(16 * place + 5)["confidence"] for place in (0, 7, 15)] == [1 / 32, 15 / 32, 31 / 32]
    assert stream.context(np.int64(255)) == {"confidence": 31 / 32}


def test_the_confidence_is_worth_looking_at_unless_it_is_shuffled() -> None:
    for task in ("COMMAND", "DIGIT", "YELP"):
        plain = optimum(*ConfidentApis(task).truth(), 0.9).cost
        assert contextual_optimum(*ConfidentApis(task).cases(), 0.9).cost < 0.75 * plain
        stream = ConfidentApis(task, shuffled=True)
        assert stream.truth()[0] == pytest.approx(ConfidentApis(task).truth()[0])
        blind = contextual_optimum(*stream.cases(), 0.9).cost
        assert plain - 1e-9 <= blind <= plain + stream.look(0, 0)
        assert np.ptp(stream.cases().success, axis=0) == pytest.approx(0.0, abs=1e-12)


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
    assert truth["both"] == pytest.approx(truth["none"])  # who does not look does not notice
    assert np.abs(truth["contexts"] - truth["none"]).max() > 0.1


def test_shifts_are_phases() -> None:
    stream: Any = ConfidentApis.named(task="command", shift="outcomes", at=100)
    assert isinstance(stream, Phases)
    assert stream.ends[0] == 100
    assert [phase.success.tolist() for phase in stream.truths()] == [
        ConfidentApis("COMMAND", mirrored=what).truth()[0].tolist() for what in ("none", "outcomes")
    ]
    latents = stream.draw(np.random.default_rng(0), 200)
    assert (latents[:100] < 256).all()
    assert (latents[100:] >= 256).all()
    assert pickle.loads(pickle.dumps(stream)).context(latents[150]) == stream.context(latents[150])
    assert simulate(Selector(stream.menu, 0.9), stream, 300).largest_debt <= 0.9 + 1e-9
    assert isinstance(ConfidentApis.named(at=5), ConfidentApis)


def test_confidence_is_checked() -> None:
    refused(lambda: ConfidentApis("affectnet"), "task must be one of AUDIOMNIST, COMMAND, DIGIT")
    with pytest.raises(InvalidArgument, match=r"got 'affectnet', for which no confidences were recorded$"):
        ConfidentApis("affectnet")
    with pytest.raises(InvalidArgument, match=r"got 'MNIST'$"):
        ConfidentApis("MNIST")
    refused(lambda: ConfidentApis(3), "task must be one of")  # type: ignore[arg-type]
    refused(lambda: ConfidentApis(person=0.5), "person must be at least 1")
    refused(lambda: ConfidentApis(unit="eur"), "unit must be")
    refused(lambda: ConfidentApis(shuffled=1), "shuffled must be True or False, got 1")  # type: ignore[arg-type]
    refused(lambda: ConfidentApis(mirrored="all"), "mirrored must be one of none, contexts, outcomes, both, got 'all'")
    refused(lambda: ConfidentApis.named(shift="x"), "shift must be one of none, contexts, outcomes, both, got 'x'")
    refused(lambda: ConfidentApis.named(shift="both", at=0), "at must be at least 1, got 0")


# --- routing


def recorded(path: Path, lengths: Callable[[int], int] = lambda row: 100 + row % 50) -> Path:
    """A file with RouteLLM's own counts, in the form of its recording."""
    kinds = zip(COUNTED.counts, COUNTED.task, COUNTED.mixtral, COUNTED.gpt4, strict=True)
    rows = [
        (("gsm8k", "mmlu/law", "mmlu/art")[0 if task == "GSM8K" else 1 + row % 2], weak, strong)
        for count, task, weak, strong in kinds
        for row in range(int(count))
    ]
    lines = [f"{task},{weak},{strong},{lengths(row)},7" for row, (task, weak, strong) in enumerate(rows)]
    text = "\n".join(["task,weak_ok,strong_ok,prompt_chars,weak_resp_chars", *lines]) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def test_the_counts_are_routellms() -> None:
    assert COUNTED.counts.sum() == 15_361
    success, cost = Routing().truth()
    assert success[1] == pytest.approx((8818 + 742 + 747 + 95) / 15_361)
    assert success[2] == pytest.approx((8818 + 2497 + 747 + 383) / 15_361)
    assert cost.tolist() == pytest.approx([0, 0.24 / 74.82, 24.7 / 74.82, 1])
    loose, cheap = Routing(success="not worse").truth()
    assert loose[1] == pytest.approx(1 - (2497 + 383) / 15_361)
    assert cheap.tolist() == pytest.approx([0, 0.24 / 24.7, 1])


@pytest.mark.parametrize("name", ["queries.csv", "queries.CSV", "queries.csv.gz"])
def test_a_file_is_the_same_world_with_more_to_see(tmp_path: Path, name: str) -> None:
    path = recorded(tmp_path / name)
    stream, built_in = Routing.load(path), Routing()
    assert stream.truth()[0] == pytest.approx(built_in.truth()[0], abs=1e-12)
    assert len(stream.table().costs) == 15_361
    assert stream.context(0) == {"task": "MMLU", "length": 101.0}
    assert Routing.named(path=str(path), lengths=None, subject=True).context(1) == {
        "task": "MMLU", "length": 101.0, "subject": "art",
    }  # fmt: skip
    assert Routing.load(path, subject=True).context(15_360)["subject"] == "gsm8k"


def test_lengths_are_rounded_to_so_many_values(tmp_path: Path) -> None:
    path = recorded(tmp_path / "queries.csv", lengths=lambda row: row * row)
    for values in (1, 4, 16):
        stream = Routing.load(path, lengths=values)
        known = [stream.context(row)["length"] for row in range(15_361)]
        _, counts = np.unique(known, return_counts=True)
        assert counts.size == values
        assert np.ptp(counts) <= 1
        assert known == sorted(known)  # as the lengths themselves are
    scrambled = recorded(tmp_path / "scrambled.csv", lengths=lambda row: row * 7919 % 15_361)
    # Lengths that come once each tell the outcome of the query: a benchmark that flatters.
    exact = contextual_optimum(*Routing.load(scrambled, lengths=None).cases(), 0.8).cost
    assert exact < 0.5 * contextual_optimum(*Routing.load(scrambled, lengths=8).cases(), 0.8).cost


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "columns must include task, weak_ok, strong_ok, prompt_chars, got a file without task, weak_ok"),
        (
            "task,weak_ok,prompt_chars\nmmlu,1,3",
            "columns must include task, weak_ok, strong_ok, prompt_chars, got a file",
        ),
        ("task,weak_ok,strong_ok,prompt_chars\n", "rows must be at least one"),
        (
            "task,weak_ok,strong_ok,prompt_chars\na,1,0,3\na,maybe,0,3",
            "weak_ok must be True or False, got 'maybe' in row 2",
        ),
        ("task,weak_ok,strong_ok,prompt_chars\na,1,0", "prompt_chars must be a whole number, got '' in row 1"),
        ("task,weak_ok,strong_ok,prompt_chars\na,1,,3", "strong_ok must be True or False, got '' in row 1"),
        ("task,weak_ok,strong_ok,prompt_chars\na,1,0,-3", "prompt_chars must be a whole number, got '-3' in row 1"),
    ],
)
def test_files_of_another_kind(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "queries.csv"
    path.write_text(text)
    refused(lambda: Routing.load(path), said)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    refused(lambda: Routing.load(tmp_path / "none.csv"), "path must name a file that can be read")
    refused(lambda: Routing.named(path=""), "path must name a .csv or .csv.gz file, got ''")
    refused(lambda: Routing.load("queries.txt"), "path must name a .csv or .csv.gz file, got 'queries.txt'")
    refused(lambda: Routing.load(3), "path must name a .csv or .csv.gz file, got 3")  # type: ignore[arg-type]
    broken = tmp_path / "broken.csv.gz"
    broken.write_bytes(b"task,weak_ok")
    refused(lambda: Routing.load(broken), "path must name a file that can be read")
    broken.write_bytes(gzip.compress(b"task" * 1000)[:20])
    refused(lambda: Routing.load(broken), "path must name a file that can be read")
    odd = tmp_path / "odd.csv"
    odd.write_bytes(b"\xff\xfe")
    refused(lambda: Routing.load(odd), "path must name a text file in UTF-8")


def test_routing_is_checked() -> None:
    refused(lambda: Routing(success="fine"), 'success must be "right" or "not worse", got \'fine\'')
    refused(lambda: Routing(mixtral=0), "mixtral must be above 0")
    refused(lambda: Routing(mixtral=3, gpt4=2), "mixtral must be at most gpt4, got 3 and 2")
    refused(lambda: Routing(person=0.9), "person must be at least 1, the price of both models, got 0.9")
    refused(lambda: Routing(lengths=0), "lengths must be at least 1, got 0")
    refused(lambda: Routing(subject=True), "subject must be False where no queries are given")
    refused(lambda: Routing([1]), "queries must be Queries, as read by Routing.load, got [1]")  # type: ignore[arg-type]


# --- tilted


def test_a_tilt_of_0_says_nothing_and_more_of_it_says_more() -> None:
    flat = SyntheticContext(0)
    assert np.ptp(flat.cases().success, axis=0).tolist() == [0.0] * 5
    gains = []
    for tilt in (0, 1, 2, 4):
        stream = SyntheticContext(tilt)
        plain, looking = optimum(*stream.truth(), 0.8).cost, contextual_optimum(*stream.cases(), 0.8).cost
        gains.append(1 - looking / plain)
    assert gains[0] == pytest.approx(0.0, abs=1e-9)
    assert gains == sorted(gains)
    assert gains[-1] > 0.4


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


def test_noise_has_nothing_to_do_with_success() -> None:
    stream = SyntheticContext(noise=3)
    assert stream.truth()[0].tolist() == SyntheticContext().truth()[0].tolist()
    latents = stream.draw(np.random.default_rng(0), 20_000)
    known = [stream.context(latent) for latent in latents]
    assert list(known[0]) == ["level", "kind", "noise 1", "noise 2", "noise 3"]
    columns = np.array([[k["level"], k["noise 1"], k["noise 2"], k["noise 3"]] for k in known])
    success = stream.table().successes[latents, 2]
    seen = np.corrcoef(np.column_stack([columns, success]), rowvar=False)[-1]
    assert seen[0] > 0.5
    assert np.abs(seen[1:4]).max() < 5 / math.sqrt(20_000)
    assert np.unique(columns[:, 1]).size == 64
    assert not np.array_equal(columns[:, 1], columns[:, 2])


def test_as_much_is_missing_as_is_said() -> None:
    stream = SyntheticContext(missing=0.2, noise=1)
    known = [stream.context(latent) for latent in stream.draw(np.random.default_rng(0), 10_000)]
    gaps = np.array([[math.isnan(k["level"]), k["kind"] is None, math.isnan(k["noise 1"])] for k in known])
    assert gaps.mean(axis=0) == pytest.approx([0.2, 0.2, 0.0], abs=0.02)
    assert (gaps[:, 0] & gaps[:, 1]).mean() == pytest.approx(0.04, abs=0.01)
    costs = [contextual_optimum(*SyntheticContext(missing=share).cases(), 0.8).cost for share in (0, 0.2, 0.6, 1)]
    assert costs == sorted(costs)
    assert costs[-1] == pytest.approx(optimum(*SyntheticContext().truth(), 0.8).cost)


def test_tilted_is_checked() -> None:
    refused(lambda: SyntheticContext(-1), "tilt must lie between 0 and 100, got -1")
    refused(lambda: SyntheticContext("x"), "tilt must be a number")  # type: ignore[arg-type]
    refused(lambda: SyntheticContext(missing=1.1), "missing must lie between 0 and 1, got 1.1")
    refused(lambda: SyntheticContext(options=0), "options must be at least 1, got 0")
    refused(lambda: SyntheticContext(noise=33), "options and noise must be at most 32, got 3 and 33")
