"""Streams: the contract that every stream of the package passes, and what is special about each."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

from suffice import Menu
from suffice.lab.streams import (
    CIFAR100,
    TASKS,
    Beta,
    ConfidentApis,
    HiddenCosts,
    LabelRanks,
    Log,
    Phases,
    PredictionApis,
    RequiredThreshold,
    Rides,
    Stream,
    SyntheticContext,
    Trap,
    UnitPoints,
    available,
    from_file,
)
from suffice.lab.streams.discover import maker
from suffice.lab.streams.rides import FEWEST, MOST, Pool
from suffice.testing.streams import StreamContract
from tests.support.attack import Attack
from tests.support.refusals import refused


class Bare:
    """A user's stream with nothing but what the protocol asks, and a `draw` without a start."""

    menu = Menu({"half": 0.5}, safe="all", skip="none", safe_cost=1.0)

    def draw(self, rng: np.random.Generator, count: int) -> list[float]:
        return list(rng.random(count))

    def outcome(self, latent: float, arm: int, price: float) -> tuple[float, float]:
        return (0.0, float(latent < 0.5), 1.0)[arm], (0.0, 0.5, 1.0)[arm]


BARE: Any = Bare()
ROWS: dict[str, Any] = {
    "success:small model": [1, 0, 1, 0, 1, 0, 1, 0],
    "success:large model": [1, 1, 1, 0, 1, 1, 1, 0],
    "success:person": [1, 1, 1, 1, 1, 1, 1, 1],
    "cost:small model": [0.02, 0.03, 0.01, 0.02, 0.02, 0.04, 0.02, 0.03],
    "cost:large model": [0.2, 0.3, 0.1, 0.2, 0.2, 0.4, 0.2, 0.3],
    "cost:person": [1, 1, 1, 1, 1, 1, 1, 1],
}
LOG = Log.of({"success:a": [1, 0, 0.5], "cost:a": [0.1, 0.2, 0.6], "success:b": [1, 1, 1], "cost:b": [1, 1, 1]})
SKIP = Log.of({"success:a": [0, 1], "cost:a": [0.05, 0.05], "success:b": [1, 1], "cost:b": [1, 1]}, skip="skip")
EASY, HARD = LabelRanks.cifar100(most=5), LabelRanks.cifar100(least=80)
FEW_RANKS = LabelRanks(Menu.top_k([1, 2], classes=4, skip=False), [5, 3, 1, 1])


def example(kind: Any) -> Any:
    """A stream of a kind with its own settings; a log needs rows."""
    return Log.of(ROWS) if kind is Log else maker(kind)()


STREAMS: dict[str, Stream] = {
    **{name: example(kind) for name, kind in available().items()},
    "ranks without a skip": FEW_RANKS,
    "intervals without a skip": UnitPoints(Menu.intervals(step=0.25, skip=False)),
    "beta by scipy": UnitPoints(distribution=Beta(0.5, 1.5)),
    "flat needs": RequiredThreshold.flat(),
    "needs from 1 to 20": RequiredThreshold(1, 20, step=1),
    "apis in dollars": PredictionApis("digit", unit="usd"),
    "shuffled log": Log.of(ROWS, order="shuffled", skip="skip"),
    "log without a skip": LOG,
    "phases of tables": Phases((PredictionApis("YELP"), 30), (PredictionApis("DIGIT"), 30)),
    "phases of kinds": Phases((Trap(first=5, last=10), 20), (SKIP, 20), (BARE, 20)),
    "phases of kinds with tables": Phases((PredictionApis("YELP"), 20), (Rides(requests=50), 20)),
    "told ranks without a skip": HiddenCosts(FEW_RANKS),
    "told apis": HiddenCosts(PredictionApis("DIGIT"), spread=1),
    "told bare": HiddenCosts(BARE),
    "told attack": HiddenCosts(Attack(LabelRanks.cifar100(), plan="greedy")),
    "told phases": HiddenCosts(Phases((EASY, 30), (HARD, 30))),
    "phases of told": Phases(
        (HiddenCosts(PredictionApis("YELP")), 30), (HiddenCosts(PredictionApis("DIGIT"), spread=1), 30)
    ),
    "attack": Attack(LabelRanks.cifar100()),
    "attack on a bare stream": Attack(BARE, plan="fail"),
    "confidence, shuffled": ConfidentApis("WAIMAI", shuffled=True),
    "synthetic contexts with gaps": SyntheticContext(2, options=2, missing=0.3),
}


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS.keys())
class TestEveryStream(StreamContract):
    pass


@pytest.mark.parametrize("kind", available().values(), ids=available().keys())
class TestEveryName:
    def test_it_has_a_description_of_one_line(self, kind: Any) -> None:
        assert kind.name == kind.name.lower()
        assert 10 < len(kind.description) < 100
        assert "\n" not in kind.description
        assert kind.__doc__
        assert maker(kind).__doc__

    def test_it_can_be_sent_to_another_process(self, kind: Any) -> None:
        stream: Any = example(kind)
        twin = pickle.loads(pickle.dumps(stream))
        assert list(twin.draw(np.random.default_rng(2), 20)) == list(stream.draw(np.random.default_rng(2), 20))
        assert [hasattr(twin, form) for form in ("windows", "table")] == [
            hasattr(stream, form) for form in ("windows", "table")
        ]


# --- finding


def test_every_stream_is_found() -> None:
    names = [
        "apis",
        "beta",
        "confidence",
        "log",
        "needs",
        "phases",
        "ranks",
        "rides",
        "tilted",
        "told",
        "trap",
    ]
    assert list(available()) == names


def test_the_default_streams_need_no_scipy() -> None:
    code = (
        "import sys; sys.modules['scipy'] = None\n"
        "from suffice.lab.streams.discover import available, maker\n"
        "for name, kind in available().items():\n"
        "    if name == 'log':\n"
        "        continue  # it needs a file\n"
        "    stream = maker(kind)()\n"
        "    getattr(stream, 'truth', int)()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


COINS = """
import suffice
from suffice.lab.streams import Trap

class Coins:
    name = "coins"
    menu = suffice.Menu({"half": 0.5, "all": 1}, safe="all")
    @classmethod
    def from_settings(cls, chance: float = 0.5):
        return cls()
    def draw(self, rng, count):
        return rng.random(count)
    def outcome(self, latent, arm, price):
        return (latent < 0.5, 0.5) if arm == 0 else (True, 1.0)

Alias = Coins
class Helper:
    pass
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "path must hold a class with a `name`"),
        ("from suffice.lab.streams import Trap", "path must hold a class with a `name`"),
        ("class A:\n    name = 'a'\n    def draw(self): ...", "class A must have outcome"),
        ("1/0", "path must name a file that runs"),
        ("def", "path must name a file that runs"),
        (COINS + "class More(Coins): pass", "name must be one stream's alone, got 'coins' twice"),
    ],
)
def test_files_without_streams(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    refused(lambda: from_file(path), message)


# --- points


@pytest.mark.parametrize(("a", "b"), [(1, 1), (2, 5), (7, 2), (300, 400), (2.5, 0.5), (900, 600)])
def test_beta_is_scipys(a: float, b: float) -> None:
    places = np.linspace(0, 1, 101)
    assert Beta(a, b).at_most(places) == pytest.approx(scipy.stats.beta(a, b).cdf(places), abs=1e-12)


def test_a_beta_without_a_closed_form_needs_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    assert UnitPoints.from_settings(a=3, b=4).truth()[0][-1] == 1.0
    refused(
        lambda: UnitPoints.from_settings(a=2.5).truth(),
        "a and b must be whole numbers with a sum of at most 1001 where SciPy is",
    )


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


def test_more_permissive_options_succeed_more_and_cost_more() -> None:
    stream = Rides(requests=300)
    successes, costs = stream.table()
    for inner in range(stream.menu.n_arms):
        for outer in range(stream.menu.n_arms):
            if stream.menu.nested(inner, outer):
                assert (successes[:, inner] <= successes[:, outer]).all()
                assert (costs[:, inner] <= costs[:, outer]).all()
    assert stream.menu.costs is None
    assert np.ptp(costs[:, 3]) > 0


# --- settings


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: UnitPoints(Menu.top_k([1], classes=3, skip=True)),
            "menu must be a menu of intervals, got <Menu of 3 arms",
        ),
        (lambda: UnitPoints.from_settings(a=0), "a must be above 0"),
        (lambda: RequiredThreshold(1, 1), "low must be below high"),
        (lambda: RequiredThreshold.flat(bottom=0.8, top=0.4), "bottom and top must be increasing inside the range"),
        (lambda: Trap(5, 4), "first must be at most last, got 5 and 4"),
        (lambda: PredictionApis("imagenet"), "task must be one of AFFECTNET, "),
        (lambda: PredictionApis(unit="eur"), 'unit must be "person" or "usd", got \'eur\''),
        (lambda: Rides(high=1, step=1), "step must be below high, got 1 and 1"),
    ],
)
def test_settings_are_checked(make: Any, message: str) -> None:
    refused(make, message)
