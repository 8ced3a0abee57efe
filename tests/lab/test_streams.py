"""Streams: one contract that every stream of the package passes, and what is special about each."""

import copy
import json
import math
import pickle
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

from suffice import Menu, Selector, ThresholdSelector, optimum, simulate
from suffice.lab.rivals import QuantileACI
from suffice.lab.streams import (
    CIFAR100,
    TASKS,
    Attack,
    Beta,
    Drift,
    HiddenCosts,
    LabelRanks,
    Log,
    Mix,
    Phases,
    PredictionApis,
    RequiredThreshold,
    Rides,
    RidesGrid,
    Stream,
    Trap,
    UnitPoints,
    available,
    from_file,
)
from suffice.lab.streams.discover import maker
from suffice.lab.streams.rank_files import ranks_of
from suffice.lab.streams.rides import FEWEST, MOST, Pool
from suffice.lab.streams.shapes import Frozen
from tests.support.refusals import refused


class Bare:
    """A user's stream with nothing but what the protocol asks, and no sense of time."""

    menu = Menu({"half": 0.5}, safe="all", skip="none")

    def draw(self, rng: np.random.Generator, count: int) -> list[float]:
        return list(rng.random(count))

    def judge(self, latent: float, arm: int, price: float) -> tuple[float, float]:
        return (0.0, float(latent < 0.5), 1.0)[arm], (0.0, 0.5, 1.0)[arm]


BARE: Any = Bare()
LOG = Log.of({"success:a": [1, 0, 0.5], "cost:a": [0.1, 0.2, 0.6], "success:b": [1, 1, 1], "cost:b": [1, 1, 1]})
SKIP = Log.of({"success:a": [0, 1], "success:b": [1, 1]}, skip="skip", costs={"a": 0.05, "b": 1})
STREAMS: dict[str, Stream] = {
    **{name: maker(kind)() for name, kind in available().items()},
    "easy ranks": LabelRanks.cifar100(most=5),
    "ranks without nothing": LabelRanks(Menu.top_k([1, 2], classes=4, skip=False), [5, 3, 1, 1]),
    "intervals without nothing": UnitPoints(Menu.intervals(step=0.25, skip=False)),
    "atoms": UnitPoints(Menu.intervals(step=0.25), Frozen(scipy.stats.rv_discrete(values=([0, 1], [0.3, 0.7])))),
    "arcsine": UnitPoints(Menu.intervals(step=0.1), scipy.stats.arcsine()),
    "crooked beta": UnitPoints(distribution=Beta(0.5, 1.5)),
    "flat needs": RequiredThreshold.flat(),
    "dear needs": RequiredThreshold(1, 20, step=1, cost=lambda threshold: 3 * threshold**2),
    **{f"apis {task}": PredictionApis(task) for task in TASKS},
    "apis in dollars": PredictionApis("digit", person=1, unit="usd"),
    "shuffled log": Log.named(order="shuffled", skip="skip"),
    "log without nothing": LOG,
    "phases of tables": Phases((PredictionApis("YELP"), 30), (PredictionApis("DIGIT"), 30)),
    "phases of kinds": Phases((Trap(first=5, last=10), 20), (SKIP, 20), (BARE, 20)),
    "mix of tables": Mix(
        (PredictionApis("YELP"), 1), (PredictionApis("DIGIT"), 3), (Rides(requests=50), Fraction(1, 2))
    ),
    "mix of kinds": Mix((SKIP, 1), (BARE, 2)),
    "mix of ranks and a mix": Mix((LabelRanks.cifar100(), 1), (Mix((LabelRanks.cifar100(least=6), 1)), 1)),
    "drift of kinds": Drift(Trap(), BARE, 50),
    "shift that ends": Phases.named(easy=40, hard=20, again=60),
    "told ranks": HiddenCosts.named(of="ranks"),
    "told ranks without nothing": HiddenCosts(LabelRanks(Menu.top_k([1, 2], classes=4, skip=False), [5, 3, 1, 1])),
    "told apis, tied": HiddenCosts(PredictionApis("DIGIT"), spread=1, tie=0.7),
    "told needs, tied the other way": HiddenCosts(RequiredThreshold(), tie=-1),
    "told atoms": HiddenCosts(UnitPoints(Menu.intervals(step=0.25), scipy.stats.bernoulli(0.3)), tie=0.5),
    "told fine intervals": HiddenCosts(UnitPoints(Menu.intervals(step=0.0125)), spread=1, tie=0.2),
    "told bare": HiddenCosts(BARE),
    "told attack": HiddenCosts(Attack(LabelRanks.cifar100(), plan="greedy")),
    "told phases": HiddenCosts(Phases((LabelRanks.cifar100(most=5), 30), (LabelRanks.cifar100(least=80), 30))),
    "mix of told": Mix((HiddenCosts(PredictionApis("YELP")), 1), (HiddenCosts(PredictionApis("DIGIT"), spread=1), 1)),
    "greedy attack": Attack(Rides(requests=50), plan="greedy", level=0.2),
    "attack on a bare stream": Attack(BARE, plan="fail"),
}


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS.keys())
class TestEveryStream:
    def test_the_same_seed_gives_the_same_world(self, stream: Stream) -> None:
        one, other = (stream.draw(np.random.default_rng(5), 100, 7) for _ in range(2))
        assert list(one) == list(other)
        assert len(one) == 100
        assert len(stream.draw(np.random.default_rng(5), 0, 7)) == 0

    def test_outcomes_are_possible_and_boundary_arms_do_what_they_say(self, stream: Stream) -> None:
        menu = stream.menu
        for latent in stream.draw(np.random.default_rng(0), 60):
            for arm in range(menu.n_arms):
                success, cost = stream.judge(latent, arm, 0.5)
                assert type(success) is type(cost) is float
                assert 0 <= success <= 1
                assert 0 <= cost <= menu.safe_cost
                known = menu.known_cost(arm)
                assert known is None or cost == pytest.approx(known, rel=1e-12)
            if menu.has_skip:
                assert stream.judge(latent, 0, 0.5) == (0.0, 0.0)
            assert stream.judge(latent, menu.n_arms - 1, 0.5) == (1.0, menu.safe_cost)

    def test_compiled_forms_judge_as_the_stream_does(self, stream: Stream) -> None:
        rng = np.random.default_rng(1)
        latents = stream.draw(rng, 80)
        arms = rng.integers(stream.menu.n_arms, size=(80, 5))
        if hasattr(stream, "windows"):
            low, high, costs = stream.windows()
            assert low.shape == high.shape == costs.shape == (stream.menu.n_arms,)
            for latent, arm in ((latent, arm) for latent, row in zip(latents, arms, strict=True) for arm in row):
                assert stream.judge(latent, arm, 0.5) == (float(low[arm] <= latent <= high[arm]), costs[arm])
        if hasattr(stream, "table"):
            successes, costs = stream.table()
            assert successes.shape == costs.shape == (len(costs), stream.menu.n_arms)
            assert np.asarray(latents).dtype.kind == "i"
            assert ((successes >= 0) & (successes <= 1)).all()
            assert ((costs >= 0) & (costs <= stream.menu.safe_cost)).all()
            for latent, arm in ((latent, arm) for latent, row in zip(latents, arms, strict=True) for arm in row):
                assert stream.judge(latent, arm, 0.5) == (successes[latent, arm], costs[latent, arm])

    def test_truth_is_what_is_drawn(self, stream: Stream) -> None:
        if not hasattr(stream, "truth"):
            pytest.skip("not independent and alike")
        truth: tuple[Any, Any] = stream.truth()
        draws = 24_000
        latents = stream.draw(np.random.default_rng(3), draws)
        arms = np.unique(np.linspace(0, stream.menu.n_arms - 1, 7).astype(int))
        for arm in arms:
            judged = np.array([stream.judge(latent, int(arm), 0.5) for latent in latents])
            for part in (0, 1):
                sigma = judged[:, part].std() / math.sqrt(draws)
                assert abs(judged[:, part].mean() - truth[part][arm]) <= 4 * sigma + 1e-9, arm
        assert truth[0][-1] == 1.0
        assert truth[1][-1] == pytest.approx(stream.menu.safe_cost)
        for target in (0.1, 0.8, 0.99, 1):
            best = optimum(*truth, target)
            assert best.weights @ truth[0] >= target - 1e-9
            assert 0 <= best.cost <= stream.menu.safe_cost

    def test_a_selector_holds_its_promise(self, stream: Stream) -> None:
        trace = simulate(Selector(stream.menu, 0.8), stream, 300, seed=1)
        assert trace.largest_debt <= 0.8 + 1e-9

    def test_it_can_be_copied(self, stream: Stream) -> None:
        twin = copy.deepcopy(stream)
        latents = stream.draw(np.random.default_rng(0), 5)
        assert list(latents) == list(twin.draw(np.random.default_rng(0), 5))
        assert twin.judge(latents[0], 1, 0.5) == stream.judge(latents[0], 1, 0.5)


@pytest.mark.parametrize("kind", available().values(), ids=available().keys())
class TestEveryName:
    def test_it_is_introduced_in_a_line(self, kind: Any) -> None:
        assert kind.name == kind.name.lower()
        assert 10 < len(kind.about) < 100
        assert "\n" not in kind.about
        assert kind.__doc__
        assert maker(kind).__doc__

    def test_it_can_be_sent_to_another_process(self, kind: Any) -> None:
        stream = maker(kind)()
        twin = pickle.loads(pickle.dumps(stream))
        assert list(twin.draw(np.random.default_rng(2), 20)) == list(stream.draw(np.random.default_rng(2), 20))
        assert [hasattr(twin, form) for form in ("windows", "table")] == [
            hasattr(stream, form) for form in ("windows", "table")
        ]


# --- finding


def test_every_stream_is_found() -> None:
    names = ["apis", "attack", "beta", "confidence", "drift", "log", "mix", "needs", "phases", "ranks", "rides"]
    assert list(available()) == [*names, "rides-grid", "routing", "tilted", "told", "trap"]


def test_the_default_streams_need_no_scipy() -> None:
    code = (
        "import sys; sys.modules['scipy'] = None\n"
        "from suffice.lab.streams.discover import available, maker\n"
        "for kind in available().values():\n"
        "    stream = maker(kind)()\n"
        "    getattr(stream, 'truth', int)()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


COINS = """
import suffice
from suffice.lab.streams import Trap

class Coins:
    name = "coins"
    menu = suffice.Menu({"half": 0.5}, safe="all")
    @classmethod
    def named(cls, chance: float = 0.5):
        return cls()
    def draw(self, rng, count):
        return rng.random(count)
    def judge(self, latent, arm, price):
        return (latent < 0.5, 0.5) if arm == 0 else (True, 1.0)

Alias = Coins
class Helper:
    pass
"""


def test_streams_in_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(COINS)
    assert list(from_file(path)) == ["coins"]
    kind = from_file(str(path))["coins"]
    assert simulate(Selector(kind.menu, 0.6), maker(kind)(), 200).largest_debt <= 0.6


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "path must hold a class with a `name`"),
        ("class A:\n    name = 3", "path must hold a class with a `name`"),
        ("from suffice.lab.streams import Trap", "path must hold a class with a `name`"),
        ("class A:\n    name = 'a'\n    def draw(self): ...", "class A must have judge"),
        ("1/0", "path must name a file that runs"),
        ("def", "path must name a file that runs"),
        (COINS + "class More(Coins): pass", "name must be one stream's alone, got 'coins' twice"),
    ],
)
def test_files_without_streams(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    refused(lambda: from_file(path), said)


def test_files_that_are_none(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.py", "x.txt", 3, None):
        refused(lambda path=path: from_file(path), "path must name a Python file, got")  # type: ignore[misc]


# --- points


def test_the_papers_benchmark() -> None:
    assert round(optimum(*UnitPoints().truth(), 0.8).cost, 5) == 0.39738


@pytest.mark.parametrize(("a", "b"), [(1, 1), (2, 5), (7, 2), (300, 400), (2.5, 0.5), (900, 600)])
def test_beta_is_scipys(a: float, b: float) -> None:
    places = np.linspace(0, 1, 101)
    assert Beta(a, b).at_most(places) == pytest.approx(scipy.stats.beta(a, b).cdf(places), abs=1e-12)


def test_a_beta_without_a_closed_form_needs_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    assert UnitPoints.named(a=3, b=4).truth()[0][-1] == 1.0
    refused(
        lambda: UnitPoints.named(a=2.5).truth(),
        "a and b must be whole numbers with a sum of at most 1001 where SciPy is",
    )
    refused(
        lambda: UnitPoints.named(a=1000).truth(),
        "a and b must be whole numbers with a sum of at most 1001 where SciPy is",
    )


def test_points_from_scipy_are_the_same_world_in_law() -> None:
    own, frozen = (UnitPoints(distribution=d).truth() for d in (None, scipy.stats.beta(2, 5)))
    assert own[0] == pytest.approx(frozen[0], abs=1e-12)


def test_atoms_at_the_ends_of_intervals_count_on_both_sides() -> None:
    stream = UnitPoints(Menu.intervals(step=0.5), scipy.stats.bernoulli(0.3))
    chances = dict(zip([stream.menu.option(arm) for arm in range(4)], stream.truth()[0], strict=True))
    assert chances == pytest.approx({None: 0.0, (0.0, 0.5): 0.7, (0.5, 1.0): 0.3, (0.0, 1.0): 1.0})


def test_half_a_million_intervals() -> None:
    stream = UnitPoints(Menu.intervals(step=0.001))
    success, cost = stream.truth()
    assert success.size == cost.size == stream.menu.n_arms == 500_501
    assert 0.39 < optimum(success, cost, 0.8).cost < 0.39738


def test_points_are_checked() -> None:
    refused(lambda: UnitPoints(Menu.top_k([1], classes=3)), "menu must be a menu of intervals, got <Menu of 3 arms")
    refused(lambda: UnitPoints(3), "menu must be a menu of intervals, got 3")  # type: ignore[arg-type]
    refused(
        lambda: UnitPoints(distribution=scipy.stats.norm()), "distribution must lie on [0, 1], got one with 0.659 of"
    )
    refused(lambda: UnitPoints(distribution="beta"), "distribution must be a frozen distribution with cdf and ppf")
    refused(lambda: UnitPoints.named(a=0), "a must be above 0")
    refused(lambda: UnitPoints.named(b="x"), "b must be a number")  # type: ignore[arg-type]
    refused(lambda: UnitPoints.named(step=0.3), "step must divide")


# --- needs


def test_needs_follow_the_distribution() -> None:
    stream = RequiredThreshold(10, 30, step=5)
    assert stream.menu.options == (15.0, 20.0, 25.0)
    assert stream.truth()[0][1:-1] == pytest.approx(Beta(2, 5).at_most(np.array([0.25, 0.5, 0.75])))
    assert stream.truth()[1].tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    drawn = stream.draw(np.random.default_rng(0), 1000)
    assert 10 < drawn.min() < drawn.max() < 30


def test_any_threshold_can_be_judged() -> None:
    stream = RequiredThreshold(0, 10, step=1, cost=lambda threshold: threshold / 5)
    assert stream.judge_value(4.5, 4.4) == (0.0, 4.4 / 5)
    assert stream.judge_value(4.5, 4.5) == (1.0, 0.9)
    assert stream.judge_value(0.0, 0.0) == (0.0, 0.0)
    assert stream.judge_value(10.0, 10.0) == (1.0, 2.0)
    for arm in range(stream.menu.n_arms):
        assert stream.judge(4.5, arm, 0.0) == stream.judge_value(4.5, stream.menu.option(arm))


def test_a_controller_without_costs_drifts_up_where_needs_are_flat() -> None:
    stream = RequiredThreshold.flat(0.8, bottom=0.4, top=0.8)
    success, cost = stream.truth()
    inside = (cost >= 0.4 - 1e-9) & (cost <= 0.8 + 1e-9)
    assert success[inside] == pytest.approx(0.8)
    assert optimum(success, cost, 0.8).cost == pytest.approx(0.4)
    needs = stream.draw(np.random.default_rng(0), 5000)
    assert not ((needs > 0.4) & (needs <= 0.8)).any()
    selector = ThresholdSelector(0.8, 0, 1, step=0.01)
    spent = []
    for need in needs:
        decision = selector.ask()
        success_now, cost_now = stream.judge_value(need, decision.option)
        selector.tell(decision, success_now)
        spent.append(cost_now)
    assert np.mean(spent[1000:]) > 0.5  # well above the 0.4 that would do


def test_needs_are_checked() -> None:
    refused(lambda: RequiredThreshold(1, 1), "low must be below high")
    refused(lambda: RequiredThreshold.flat(low=2, high=1), "low must be below high")
    refused(lambda: RequiredThreshold(step=2), "step must be at most the range")
    refused(lambda: RequiredThreshold(cost=lambda threshold: 1 - threshold), "cost must not fall, got 0.9 after 0.95")
    refused(
        lambda: RequiredThreshold(cost=lambda threshold: threshold - 0.5),
        "cost must be at least 0, got -0.45 at threshold 0.05",
    )
    refused(lambda: RequiredThreshold(cost=lambda threshold: math.nan), "cost must be finite")
    refused(lambda: RequiredThreshold(cost=0.5), "cost must be a function")  # type: ignore[arg-type]
    refused(lambda: RequiredThreshold.flat(bottom=0.8, top=0.4), "bottom and top must be increasing inside the range")
    refused(lambda: RequiredThreshold.flat(1.0), "share must lie strictly between 0 and 1")
    refused(lambda: RequiredThreshold.named(flat="yes"), "flat must be True or False")  # type: ignore[arg-type]
    assert (
        RequiredThreshold.named(flat=True, low=10, high=20, step=0.5).truth()[0].tolist().count(pytest.approx(0.8)) == 9
    )


# --- the trap


def test_the_trap_fails_when_it_should() -> None:
    works = Trap().draw(np.random.default_rng(0), 2000)
    assert works.sum() == 1500
    assert works[799] == 1
    assert works[800] == 0
    assert works[1299] == 0
    assert works[1300] == 1
    refused(lambda: Trap(5, 4), "first must be at most last, got 5 and 4")
    refused(lambda: Trap(first=-1), "first must be at least 0")
    refused(lambda: Trap(cost=2), "costs must lie between 0 and safe_cost 1")


# --- label ranks


def test_the_histogram_is_the_one_of_the_source() -> None:
    assert len(CIFAR100) == 100
    assert sum(CIFAR100) == 10_000
    assert sum(CIFAR100[79:]) == 6
    assert CIFAR100[0] == 7048
    assert sum(CIFAR100[:5]) == 9020
    success, cost = LabelRanks.cifar100().truth()
    assert success[1] == pytest.approx(0.9020)
    assert cost.tolist() == [0, 0.05, 0.1, 0.2, 0.5, 1.0]


def test_ranks_of_ones_own(tmp_path: Path) -> None:
    ranks = np.repeat(np.arange(1, 101, dtype=np.uint8), CIFAR100)
    np.savez(tmp_path / "a.npz", rank=ranks)
    np.save(tmp_path / "a.npy", ranks.astype(np.float64))
    (tmp_path / "a.csv").write_text("\n".join(map(str, ranks)) + "\n\n")
    (tmp_path / "b.csv").write_text("id,rank\n" + "".join(f"x,{rank}\n" for rank in ranks))
    for name in ("a.npz", "a.npy", "a.csv", "b.csv"):
        stream = LabelRanks.load(tmp_path / name, classes=100)
        assert stream.menu.recipe() == LabelRanks.cifar100().menu.recipe()
        assert stream.truth()[0].tolist() == LabelRanks.cifar100().truth()[0].tolist()
    assert LabelRanks.named(path=str(tmp_path / "a.npz"), classes=100, ks=(3,), least=2).menu.options == (3,)


def test_ranks_from_probabilities(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    probs, labels = rng.random((200, 12)).round(1).astype(np.float16), rng.integers(12, size=200)
    order = np.argsort(-probs.astype(float), axis=1, kind="stable")
    assert ranks_of(probs, labels).tolist() == [
        int((row == y).argmax()) + 1 for row, y in zip(order, labels, strict=True)
    ]
    np.savez(tmp_path / "a.npz", probs=probs, labels=labels)
    stream = LabelRanks.load(tmp_path / "a.npz")
    assert stream.menu.options == (5, 10)  # those of the paper's that there are labels for
    assert stream.menu.safe == 12
    refused(lambda: LabelRanks.load(tmp_path / "a.npz", classes=13), "classes must be the 12 columns of probs, got 13")


def test_files_of_ranks_are_checked(tmp_path: Path) -> None:
    def holds(name: str, said: str, classes: int | None = 10, **arrays: Any) -> None:
        path = tmp_path / name
        if name.endswith(".npz"):
            np.savez(path, **arrays)
        elif name.endswith(".npy"):
            np.save(path, arrays["rank"])
        else:
            path.write_text(arrays["text"])
        refused(lambda: LabelRanks.load(path, classes=classes), said)

    holds("a.npz", "classes must be given, for there are no probs", classes=None, rank=[1, 2])
    holds("b.npz", "path must hold `rank`, or `probs` and `labels`, got labels, scores", scores=[1], labels=[1])
    holds("c.npz", "rank must be at most the 10 classes, got 11 in row 2", rank=[1, 11])
    holds("d.npz", "labels must be 0 to 1, got 2 in row 1", probs=[[0.5, 0.5]], labels=[2])
    holds("e.npz", "labels must hold one class number per row", probs=[[0.5, 0.5]], labels=[0, 1])
    holds("f.npz", "probs must be numbers, got nan in row 2", probs=[[0.5, 0.5], [0.5, np.nan]], labels=[0, 1])
    holds("g.npy", "rank must be a whole number of at least 1, got 0 in row 3", rank=[1, 2, 0])
    holds("h.npy", "rank must be a whole number of at least 1, got 1.5 in row 1", rank=[1.5])
    holds("i.npy", "rank must be a whole number of at least 1, got nan in row 1", rank=[np.nan])
    holds("j.npy", "rank must hold at least one rank", rank=np.array([], dtype=int))
    holds("k.npy", "rank must be a row of whole numbers, got shape (2, 2)", rank=np.ones((2, 2)))
    holds("l.csv", "rank must be a whole number, got ['x'] in row 2", text="rank\n1\nx\n")
    holds("m.csv", "path must have a column `rank`, got 'a, b'", text="a,b\n1,2\n")
    holds("n.csv", "path must have a header", text="1,2\n3,4\n")
    holds("o.csv", "rank must hold at least one rank", text="")
    holds("p.csv", "rank must be a whole number, got [] in row 1", text="a,rank\n1\n")
    (tmp_path / "junk.npz").write_bytes(b"junk")
    refused(lambda: LabelRanks.load(tmp_path / "junk.npz"), "path must name a file of ranks")
    refused(lambda: LabelRanks.load(tmp_path / "none.npy"), "path must name a file that can be read")
    refused(lambda: LabelRanks.load(tmp_path / "a.txt"), "path must name an .npz, .npy or .csv file")
    refused(lambda: LabelRanks.load(3), "path must name an .npz, .npy or .csv file, got 3")  # type: ignore[arg-type]
    refused(lambda: LabelRanks.named(classes=10), "classes must be 100 where no path is given, got 10")


# --- APIs


def test_the_counts_are_those_of_the_source() -> None:
    samples = {
        "AFFECTNET": 287401, "AUDIOMNIST": 30000, "COMMAND": 64727, "DIGIT": 2000, "EXPW": 31510, "FERPLUS": 6358,
        "FLUENT": 30043, "IMDB": 25000, "RAFDB": 15339, "SHOP": 62774, "WAIMAI": 11987, "YELP": 20000,
    }  # fmt: skip
    assert {name: sum(task.counts) for name, task in TASKS.items()} == samples
    assert sum(samples.values()) == 587_139
    assert all(len(task.counts) == 16 and len(task.apis) == len(task.prices) == 4 for task in TASKS.values())


@pytest.mark.parametrize("task", TASKS)
def test_a_subset_succeeds_where_one_of_its_apis_is_right(task: str) -> None:
    stream = PredictionApis(task, unit="usd")
    success, cost = stream.truth()
    apis, prices, counts = TASKS[task]
    for arm in range(1, 16):
        places = [apis.index(api) for api in stream.menu.option(arm)]
        right = sum(count for pattern, count in enumerate(counts) if any(pattern >> place & 1 for place in places))
        assert success[arm] == pytest.approx(right / sum(counts))
        assert cost[arm] == pytest.approx(sum(float(prices[place]) for place in places))
    assert (success[0], cost[0], success[16]) == (0.0, 0.0, 1.0)
    assert cost[16] == pytest.approx(3 * cost[15])


def test_apis_are_scaled_to_a_person() -> None:
    dollars, scaled = PredictionApis("IMDB", unit="usd"), PredictionApis("IMDB")
    assert scaled.menu.safe_cost == 1.0
    assert scaled.truth()[1] * dollars.menu.safe_cost == pytest.approx(dollars.truth()[1])
    refused(lambda: PredictionApis("imagenet"), "task must be one of AFFECTNET, ")
    refused(lambda: PredictionApis(person=0.5), "person must be at least 1")
    refused(lambda: PredictionApis(unit="eur"), 'unit must be "person" or "usd", got \'eur\'')


# --- rides


def test_the_fewest_drivers_are_probed() -> None:
    pool, stream = Pool.simulated(200, seed=1), Rides(requests=200)
    successes, costs = stream.table()
    for row in range(200):
        drivers = int(pool.there[row].sum())
        scores = sorted(pool.score[row], reverse=True)
        assert pool.score[row].tolist() == scores
        for arm in range(1, stream.menu.n_arms - 1):
            threshold = stream.menu.option(arm)
            enough = [size for size in range(1, drivers + 1) if sum(scores[:size]) >= threshold]
            size = enough[0] if enough else drivers
            assert costs[row, arm] == size / MOST
            assert successes[row, arm] == pool.accepts[row, :size].any()
    assert FEWEST <= pool.there.sum(axis=1).min() <= pool.there.sum(axis=1).max() <= MOST
    assert not (pool.accepts & ~pool.there).any()


def test_drivers_accept_as_often_as_their_scores_say() -> None:
    pool = Pool.simulated(4000, seed=2)
    sigma = math.sqrt((pool.score * (1 - pool.score)).sum())
    assert abs(pool.accepts.sum() - pool.score.sum()) < 4 * sigma
    near, far = (pool.score[pool.there & rule].mean() for rule in (pool.distance < 2, pool.distance > 4))
    assert near > 2 * far


def test_more_permissive_options_succeed_more_and_cost_more() -> None:
    for stream in (Rides(requests=300), RidesGrid(requests=300)):
        successes, costs = stream.table()
        for inner in range(stream.menu.n_arms):
            for outer in range(stream.menu.n_arms):
                if stream.menu.nested(inner, outer):
                    assert (successes[:, inner] <= successes[:, outer]).all()
                    assert (costs[:, inner] <= costs[:, outer]).all()
        assert stream.menu.costs is None
        assert np.ptp(costs[:, 3]) > 0


def test_rides_are_checked() -> None:
    refused(lambda: Rides(requests=0), "requests must be at least 1")
    refused(lambda: Rides(high=1, step=1), "step must be below high, got 1 and 1")
    refused(lambda: Rides(seed=-1), "seed must be at least 0")
    refused(lambda: RidesGrid(distances=[2, 1]), "distances must be finite numbers that rise, got [2, 1]")
    refused(lambda: RidesGrid(ratings=[1, 2]), "ratings must be finite numbers that fall, got [1, 2]")
    refused(lambda: RidesGrid(ratings="good"), "ratings must be numbers, got 'good'")  # type: ignore[arg-type]
    refused(lambda: RidesGrid([1], [1]), "distances and ratings must make at least two pairs")


# --- streams of streams


def test_phases_follow_each_other() -> None:
    stream = Phases((LabelRanks.cifar100(most=5), 30), (LabelRanks.cifar100(least=80), 30))
    worked = [stream.judge(latent, 1, 0.0)[0] for latent in stream.draw(np.random.default_rng(0), 80)]
    assert worked == [1.0] * 30 + [0.0] * 50


def test_a_shift_that_ends() -> None:
    stream = Phases.named(easy=4000, hard=2000, again=6000)
    ranks = stream.draw(np.random.default_rng(0), 15_000)
    easy = ranks <= 5
    assert easy[:4000].all()
    assert not easy[4000:6000].any()
    assert easy[6000:].all()  # the last phase goes on
    assert [phase.length for phase in stream.truths()] == [4000, 2000, 6000]
    assert [len(phases.truths()) for phases in (Phases.named(), Phases.named(again=1))] == [2, 3]
    refused(lambda: Phases.named(again=-1), "again must be at least 0, got -1")
    assert hasattr(stream, "windows")


def test_the_truth_of_each_phase() -> None:
    easy, hard = LabelRanks.cifar100(most=5), LabelRanks.cifar100(least=80)
    stream = Phases((easy, 30), (hard, 50), (easy, 7))
    for phase, (part, length) in zip(stream.truths(), ((easy, 30), (hard, 50), (easy, 7)), strict=True):
        assert phase.length == length
        assert (phase.success == part.truth()[0]).all()
        assert (phase.cost == part.truth()[1]).all()
    costs = [optimum(phase.success, phase.cost, 0.9).cost for phase in stream.truths()]
    assert costs == pytest.approx([0.9 * 0.05, 0.9, 0.9 * 0.05], rel=0.01)
    assert not hasattr(stream, "truth")
    assert not hasattr(Phases((SKIP, 5), (BARE, 5)), "truths")  # one of them does not know its own


def test_each_phase_begins_at_its_own_first_step() -> None:
    stream = Phases((SKIP, 5), (Trap(first=2, last=4), 4), (SKIP, 1))
    rng = np.random.default_rng(0)
    latents = np.concatenate([stream.draw(rng, count, start) for start, count in ((0, 3), (3, 4), (7, 5))])
    assert [stream.judge(latent, 1, 0.0)[0] for latent in latents] == [0, 1, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0]


def test_tables_are_laid_one_below_the_other() -> None:
    stream = Phases((PredictionApis("YELP"), 10), (PredictionApis("DIGIT"), 10))
    latents = stream.draw(np.random.default_rng(0), 20)
    assert latents[:10].max() < 16 <= latents[10:].min()
    assert (stream.table().costs[16:] == PredictionApis("DIGIT").table().costs).all()


def test_costs_that_differ_are_told() -> None:
    one, other = PredictionApis("YELP"), PredictionApis("DIGIT")
    assert Phases((one, 1), (PredictionApis("YELP"), 1)).menu is one.menu
    joined = Phases((one, 1), (other, 1)).menu
    assert joined.costs is None
    assert [joined.option(arm) for arm in range(17)] == [one.menu.option(arm) for arm in range(17)]
    assert (
        Phases((PredictionApis("IMDB"), 1), (PredictionApis("SHOP"), 1)).menu.costs is not None
    )  # other names, the same prices
    thresholds = [RequiredThreshold(cost=cost).menu for cost in (None, lambda threshold: threshold**2)]
    assert (
        thresholds[0].order
        == Mix((RequiredThreshold(), 1), (RequiredThreshold(cost=lambda x: x**2), 1)).menu.order
        == "chain"
    )


def test_streams_that_do_not_go_together() -> None:
    ranks = LabelRanks.cifar100()
    refused(lambda: Phases(), "phases must hold at least one (stream, length)")
    refused(lambda: Phases((ranks, 1), (Trap(), 1)), "phases must share one menu, or have menus with as many arms")
    refused(lambda: Phases(ranks), "phases must be pairs (stream, length)")  # type: ignore[arg-type]
    refused(lambda: Phases((ranks, 0)), "length must be at least 1")
    refused(lambda: Mix(), "parts must hold at least one (stream, weight)")
    refused(lambda: Mix((ranks, 0)), "weight must be above 0")
    refused(lambda: Mix(ranks), "parts must be pairs (stream, weight)")  # type: ignore[arg-type]
    refused(lambda: Mix((3, 1)), "parts must be streams, with menu, draw and judge, got 3")  # type: ignore[arg-type]
    refused(lambda: Mix((ranks, 1), (Trap(), 1)), "parts must share one menu")
    refused(lambda: Drift(ranks, Trap(), 5), "first and second must share one menu")
    refused(lambda: Drift(ranks, ranks, 0), "length must be at least 1")
    dear = PredictionApis("YELP", unit="usd")
    refused(lambda: Drift(PredictionApis("YELP"), dear, 5), "first and second must share one menu")
    without = LabelRanks(Menu.top_k([1, 2, 3, 4, 5], classes=100, skip=False))
    refused(lambda: Mix((ranks, 1), (without, 1)), "parts must share one menu")


def test_a_mix_is_drawn_by_its_weights() -> None:
    stream = Mix((LabelRanks.cifar100(most=1), 1), (LabelRanks.cifar100(least=80), 3))
    share = float((stream.draw(np.random.default_rng(0), 20_000) == 1).mean())
    assert share == pytest.approx(0.25, abs=4 * math.sqrt(0.25 * 0.75 / 20_000))


def test_a_drift_does_not_depend_on_where_blocks_begin() -> None:
    stream = Drift(LabelRanks.cifar100(most=1), LabelRanks.cifar100(least=80), 10_000)
    rng = np.random.default_rng(0)
    second = np.concatenate([stream.draw(rng, 1000, start) for start in range(0, 12_000, 1000)]) > 1
    assert not second[0]
    assert second[10_000:].all()
    for start in range(0, 10_000, 2000):
        assert second[start : start + 2000].mean() == pytest.approx((start + 1000) / 10_000, abs=0.05)


def told(stream: Any, spread: float = 0.5, tie: float = 0.0, draws: int = 4000) -> Any:
    """Successes and costs of every arm in some steps."""
    noisy = HiddenCosts(stream, spread=spread, tie=tie)
    steps = noisy.draw(np.random.default_rng(7), draws)
    return noisy, np.array([[noisy.judge(step, arm, 0.0) for arm in range(noisy.menu.n_arms)] for step in steps])


def test_told_costs_are_known_costs_times_noise() -> None:
    ranks = LabelRanks.cifar100()
    _, judged = told(ranks)
    known, costs = ranks.truth()[1], judged[:, :, 1]
    factors = costs[:, 1:-1] / known[1:-1]
    assert factors.min(axis=0) == pytest.approx([0.5] * 4)
    assert factors.max(axis=0) == pytest.approx([1.5] * 4)
    assert factors == pytest.approx(factors[:, :1].repeat(4, axis=1))  # one noise per step, whatever is played
    assert (costs[:, 0] == 0).all()
    assert (costs[:, -1] == 1).all()
    sigma = factors.std() / math.sqrt(len(factors))
    assert abs(factors.mean() - 1) < 4 * sigma


def test_told_costs_keep_their_mean_where_there_is_little_room() -> None:
    dear = RequiredThreshold(step=0.1)
    noisy, judged = told(dear, spread=1.0)
    costs = judged[:, :, 1]
    assert ((costs >= 0) & (costs <= 1)).all()
    assert costs[:, 9].min() == pytest.approx(0.8)  # 0.9 has room for 0.1 only, and so as much less below
    assert costs[:, 9].max() == pytest.approx(1.0)
    rows = noisy.table().costs.reshape(-1, 8, noisy.menu.n_arms)
    assert rows.mean(axis=1) == pytest.approx(np.tile(dear.truth()[1], (len(rows), 1)))


@pytest.mark.parametrize("tie", [-1.0, -0.4, 0.4, 1.0])
def test_told_costs_may_follow_success(tie: float) -> None:
    noisy, judged = told(LabelRanks.cifar100((1, 2, 5)), spread=0.8, tie=tie)
    for arm in (1, 2, 3):
        success, cost = judged[:, arm, 0] == 1, judged[:, arm, 1]
        known = noisy.truth()[1][arm]
        gap = cost[success].mean() - cost[~success].mean()
        assert gap == pytest.approx(tie * 0.8 * known, abs=0.12 * known)
        if abs(tie) == 1:
            assert np.ptp(cost[success]) < 1e-12
    _, free = told(LabelRanks.cifar100((1, 2, 5)), spread=0.8)
    assert abs(np.corrcoef(free[:, 1, 0], free[:, 1, 1])[0, 1]) < 4 / math.sqrt(len(free))


@pytest.mark.parametrize("stream", [LabelRanks.cifar100(), UnitPoints(), PredictionApis(), RequiredThreshold(), BARE])
def test_noise_does_not_change_the_points(stream: Any) -> None:
    own, rng, noisy = np.random.default_rng(3), np.random.default_rng(3), HiddenCosts(stream)
    for start in (0, 50):
        plain = stream.draw(own, 50, start) if stream is not BARE else stream.draw(own, 50)
        steps = noisy.draw(rng, 50, start)
        assert [step.own for step in steps] == list(plain)
        assert [steps[place] for place in range(50)] == list(steps)
        for latent, step in zip(plain, steps, strict=True):
            assert float(step) == latent
            assert [noisy.judge(step, arm, 0.0)[0] for arm in range(stream.menu.n_arms)] == [
                stream.judge(latent, arm, 0.0)[0] for arm in range(stream.menu.n_arms)
            ]


def test_runs_on_told_costs_are_compiled_and_the_same() -> None:
    class Asked:
        """The same stream without its table."""

        def __init__(self, stream: HiddenCosts) -> None:
            self.menu, self.draw, self.judge = stream.menu, stream.draw, stream.judge

    for stream in (
        HiddenCosts.named(),
        HiddenCosts.named(of="ranks", tie=0.5),
        HiddenCosts(PredictionApis("DIGIT"), spread=1),
    ):
        assert hasattr(stream, "table")
        one, other = (simulate(Selector(stream.menu, 0.8), world, 1500) for world in (stream, Asked(stream)))
        assert (one.arms == other.arms).all()
        assert one.costs == pytest.approx(other.costs)
    assert not hasattr(STREAMS["told fine intervals"], "table")  # too large to write down: it is asked


def test_labels_are_heard_through_the_noise() -> None:
    ranks = LabelRanks.cifar100()
    noisy = HiddenCosts(ranks)
    one = simulate(QuantileACI(ranks.menu, 0.9), ranks, 500)
    other = simulate(QuantileACI(noisy.menu, 0.9), noisy, 500)
    assert (one.arms == other.arms).all()
    assert (one.successes == other.successes).all()
    assert (one.costs != other.costs).any()


def test_hidden_menus_can_be_saved() -> None:
    for stream in (HiddenCosts.named(), HiddenCosts.named(of="ranks"), HiddenCosts.named(of="apis")):
        menu = Menu.from_recipe(json.loads(json.dumps(stream.menu.recipe())))
        assert menu.costs is None
        assert menu.recipe() == stream.menu.recipe()
        pairs = np.random.default_rng(0).integers(menu.n_arms, size=(50, 2)).tolist()
        inner = stream.stream.menu
        assert all(menu.nested(a, b) == inner.nested(a, b) for a, b in pairs)


def test_told_costs_are_checked() -> None:
    refused(
        lambda: HiddenCosts(Rides(requests=20)), "stream must have menu, draw and judge, and a menu that knows costs"
    )
    refused(lambda: HiddenCosts(3), "stream must have menu, draw and judge")  # type: ignore[arg-type]
    refused(lambda: HiddenCosts(LabelRanks.cifar100(), spread=1.1), "spread must lie between 0 and 1, got 1.1")
    refused(lambda: HiddenCosts(LabelRanks.cifar100(), tie=-2), "tie must lie between -1 and 1, got -2")
    refused(lambda: HiddenCosts(BARE, tie=0.5), "tie must be 0 where the stream does not know its truth, got 0.5")
    refused(lambda: HiddenCosts.named(of="told"), "of must be one of apis, attack, beta")
    refused(lambda: HiddenCosts.named(of="rides"), "stream must have menu, draw and judge, and a menu that knows costs")


def test_an_attack_decides_by_the_price() -> None:
    ranks = LabelRanks.cifar100()
    for plan, below, above in (("hover", 0.0, 1.0), ("greedy", 1.0, 0.0), ("fail", 0.0, 0.0)):
        stream = Attack(ranks, level=2, plan=plan)
        for arm in range(1, 5):
            assert stream.judge(1, arm, 1.999) == (below, ranks.judge(1, arm, 0.0)[1])
            assert stream.judge(100, arm, 2.0) == (above, ranks.judge(1, arm, 0.0)[1])
        assert stream.judge(1, 0, 0.0) == (0.0, 0.0)
        assert stream.judge(100, 5, 9.0) == (1.0, 1.0)
        assert not any(hasattr(stream, form) for form in ("windows", "table", "truth"))
    assert Attack(PredictionApis("YELP", unit="usd")).level == pytest.approx(20.253)
    refused(lambda: Attack(ranks, plan="kind"), "plan must be one of hover, greedy, fail, got 'kind'")
    refused(lambda: Attack.named(level="high"), "level must be a number")  # type: ignore[arg-type]
    refused(lambda: Attack(3), "stream must have menu, draw and judge, got 3")  # type: ignore[arg-type]


@pytest.mark.parametrize("plan", ["hover", "greedy", "fail"])
@pytest.mark.parametrize("level", [0.1, 1.0, 4.9])
def test_no_attack_breaks_the_promise(plan: str, level: float) -> None:
    stream = Attack(LabelRanks.cifar100(), level=level, plan=plan)
    assert simulate(Selector(stream.menu, 0.8), stream, 1500).largest_debt <= 0.8 + 1e-9
