"""The lab: the same numbers twice, verdicts that follow the numbers, and what is written."""

import csv
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

import suffice
from suffice import InvalidArgument, Menu
from suffice.lab import Estimate, Experiment, Verdict, drawing, judge, statistics
from suffice.lab import paper_methods as methods_module
from suffice.lab.discovery import available
from suffice.lab.experiment import LEVELS, run_experiment
from suffice.lab.experiments.corollaries import best_of_all, grid
from suffice.lab.reproduce import chosen, reproduce
from suffice.lab.rivals import Projected
from suffice.lab.streams import from_file
from suffice.lab.sweep import sweep
from suffice.lab.verdict import NOT_REPRODUCED, REPRODUCED, power
from tests.support.paths import DOCS

EXPERIMENTS = available()
SMALL = {"horizons": [300, 1000, 3000], "seeds": 4, "horizon": 1500, "phases": [[600, 300]]}


def small(experiment: type[Experiment], **changes: Any) -> dict[str, Any]:
    """Settings of an experiment that take a moment."""
    settings = dict(experiment.levels["quick"])
    if experiment.name != "trap":
        settings |= {key: value for key, value in SMALL.items() if key in settings}
    return settings | changes


def run(experiment: type[Experiment], **changes: Any) -> tuple[dict[str, Any], dict[str, Verdict]]:
    made = experiment()
    numbers = run_experiment(made, small(experiment, **changes), lambda work, tasks: [work(task) for task in tasks])
    return numbers, {verdict.claim: verdict for verdict in made.verdicts(numbers)}


# --- every experiment


@pytest.mark.parametrize("kind", EXPERIMENTS.values(), ids=EXPERIMENTS.keys())
def test_an_experiment_has_settings_rows_verdicts_and_figures(kind: type[Experiment], tmp_path: Path) -> None:
    assert set(kind.levels) == set(LEVELS)
    assert all(level.get("seeds", 20) >= 20 for level in kind.levels.values())  # none: no chance is involved
    numbers, verdicts = run(kind)
    assert json.loads(json.dumps(numbers, allow_nan=True))
    assert numbers["rows"]
    for row in numbers["rows"]:
        assert "debt" in row or "cost" not in row, "a cost is never reported without its debt"
        assert "largest_debt" in row or "cost" not in row
    assert verdicts
    for verdict in verdicts.values():
        assert verdict.status in (REPRODUCED, NOT_REPRODUCED) or verdict.status.startswith("not reached by T=")
        assert verdict.says
        assert verdict.wanted
        assert verdict.source
    names = drawing.draw(kind(), numbers, tmp_path)
    assert bool(names) == (kind.name not in ("attack", "corollaries", "threshold"))  # for those the paper has no figure
    for name in names:
        for ending in (".svg", "-dark.svg", ".png"):
            assert (tmp_path / f"{name}{ending}").stat().st_size > 2000
        light, dark = ((tmp_path / f"{name}{ending}.svg").read_text() for ending in ("", "-dark"))
        assert "#ffffff" in light
        assert "#16181c" in dark


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in EXPERIMENTS.values():
        monkeypatch.setattr(kind, "levels", {level: small(kind) for level in LEVELS})
    for folder in ("one", "two"):
        reproduce(
            tmp_path / folder, level="quick", only=["trap", "labels", "threshold"], jobs=1 if folder == "one" else 2
        )
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    written = {"numbers.json", "verdicts.csv", "labels.csv", "trap.svg", "trap-dark.svg", "trap.png"}
    assert written <= set(files)
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


# --- verdicts that can turn


def projected_price(menu: Menu, target: float, horizon: int, scale: float) -> Any:
    return Projected(menu, target, horizon, scale / horizon**0.5)


@pytest.mark.parametrize(
    ("name", "claim", "changes"),
    [
        ("projected", "boundary rule covers", {"horizons": [10_000]}),
        ("projected", "cheaper", {"horizons": [10_000]}),
        ("trap", "no residual", {}),
        ("trap", "recovers", {}),
        ("labels", "returns, 4000+2000", {"phases": [[4000, 2000]]}),
        ("labels", "debt, 4000+2000", {"phases": [[4000, 2000]]}),
        ("labels", "the safe option after, 4000+2000", {"phases": [[4000, 2000]]}),
        ("attack", "bound holds", {"horizon": 4000}),
        ("intervals", "validity", {"horizons": [1000, 10_000]}),
    ],
)
def test_a_projected_price_under_the_name_of_the_boundary_method_turns_the_verdict(
    name: str, claim: str, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, honest = run(EXPERIMENTS[name], **changes)
    assert honest[claim].status == REPRODUCED
    monkeypatch.setitem(methods_module.METHODS, "paper", projected_price)
    _, turned = run(EXPERIMENTS[name], **changes)
    assert turned[claim].status == NOT_REPRODUCED


def test_a_controller_that_is_clipped_breaks_the_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    module = __import__("suffice.lab.experiments.appendix_threshold", fromlist=["simulate"])
    honest = module.identity_error(0.8, 2000)

    def clipped(*arguments: Any) -> Any:
        trace = suffice.simulate(*arguments)
        np.clip(trace.prices, 0.3, 0.35, out=trace.prices)
        return trace

    monkeypatch.setattr(module, "simulate", clipped)
    assert honest <= 1e-9 < module.identity_error(0.8, 2000)


def test_the_flat_counterexample_fails_and_the_margin_helps() -> None:
    numbers, verdicts = run(EXPERIMENTS["threshold"], horizons=[1000, 10_000, 100_000], seeds=8)
    assert verdicts["flat rewards, per step"].status == REPRODUCED
    assert verdicts["identity"].status == REPRODUCED
    assert verdicts["validity"].status == REPRODUCED
    assert numbers["exponents"]["beta"][0] < 0.8 < numbers["exponents"]["flat"][0]


# --- judging and fitting


def test_the_interval_decides() -> None:
    wide = Estimate(0.5, 0.3, 0.7)
    assert judge("c", "s", "x", "m", wide, at_most=0.7).status == REPRODUCED
    assert judge("c", "s", "x", "m", wide, at_most=0.69).status == NOT_REPRODUCED
    assert judge("c", "s", "x", "m", wide, at_least=0.3).status == REPRODUCED
    assert judge("c", "s", "x", "m", wide, at_least=0.31).status == NOT_REPRODUCED
    assert judge("c", "s", "x", "m", wide, at_most=0.6, reached=10**6).status == "not reached by T=10^6"
    unknown = Estimate(float("nan"), float("nan"), float("nan"))
    assert judge("c", "s", "x", "m", unknown, at_most=9.0).status == NOT_REPRODUCED
    assert judge("c", "s", "x", "m", wide, at_most=0.8, at_least=0.2).wanted == "at most 0.8 and at least 0.2"
    assert power(30_000) == "30,000"


def test_intervals_cover() -> None:
    """By simulation: the 95% intervals of a mean of 20 seeds and of an exponent cover in about 95% of cases."""
    rng = np.random.default_rng(5)
    means = [statistics.mean(rng.exponential(2.0, 20)) for _ in range(300)]
    assert 0.85 <= np.mean([mean.low <= 2.0 <= mean.high for mean in means]) <= 0.99
    few = [statistics.mean(rng.normal(1.0, 1.0, 3)) for _ in range(600)]
    assert 0.92 <= np.mean([mean.low <= 1.0 <= mean.high for mean in few]) <= 0.98
    horizons = np.array([1e3, 1e4, 1e5, 1e6])
    slopes = [statistics.exponent(horizons, horizons**0.6 * rng.lognormal(-0.02, 0.2, (20, 4))) for _ in range(200)]
    assert 0.85 <= np.mean([mean.low <= 0.6 <= mean.high for mean in slopes]) <= 0.99
    assert np.isnan(statistics.exponent([10, 100], [[-5.0, 3.0], [1.0, 2.0]]).value)


@pytest.mark.parametrize("setting", ["thresholds", "intervals"])
def test_the_optimum_of_all_is_below_every_grid_and_near_a_fine_one(setting: str) -> None:
    best = best_of_all(setting, 0.8).cost
    truths = [grid(setting, horizon).truth() for horizon in (10**3, 10**5, 10**7)]
    costs = [suffice.optimum(success, cost, 0.8).cost for success, cost in truths]
    assert all(best <= cost + 1e-9 for cost in costs)
    assert costs[-1] - best < 0.02 if setting == "thresholds" else 0.06


# --- sweeps


def twice(value: int) -> int:
    return 2 * value


def process_id(_: int) -> int:
    return os.getpid()


def test_a_sweep_keeps_the_order_and_reports_progress() -> None:
    seen: list[int] = []
    assert sweep(twice, list(range(7)), jobs=2, done=seen.append) == [0, 2, 4, 6, 8, 10, 12]
    assert seen == [1, 2, 3, 4, 5, 6, 7]
    with pytest.raises(InvalidArgument, match="jobs must be"):
        sweep(twice, [1], jobs=0)


@pytest.mark.filterwarnings("default")
def test_a_sweep_on_a_real_dask_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same numbers from two worker processes of a cluster, by nothing but `joblib.parallel_config`."""
    distributed = pytest.importorskip("distributed")
    kind = EXPERIMENTS["labels"]
    monkeypatch.setattr(kind, "levels", {level: small(kind) for level in LEVELS})
    reproduce(tmp_path / "here", level="quick", only=["labels"], jobs=1)
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        with joblib.parallel_config(backend="dask"):
            reproduce(tmp_path / "there", level="quick", only=["labels"])
            places = set(sweep(process_id, list(range(20))))
        assert places <= set(client.run(os.getpid).values())
    for name in ("numbers.json", "verdicts.csv", "labels.csv"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()


# --- what is written


def test_the_numbers_and_the_verdicts_are_written(tmp_path: Path) -> None:
    results = reproduce(tmp_path, level="quick", only=["trap"], jobs=1)
    rows = list(csv.DictReader((tmp_path / "verdicts.csv").read_text().splitlines()))
    for row, verdict in zip(rows, results[0].verdicts, strict=True):
        assert (row["experiment"], row["says"], row["measured"]) == ("trap", verdict.says, verdict.measured)
        assert (row["status"], float(row["value"])) == (verdict.status, verdict.value)
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert numbers["experiments"]["trap"]["verdicts"][0]["value"] == 0.0


FAILING = """
from suffice.lab import Experiment

class Failing(Experiment):
    name, title, about = "failing", "Fails", "It fails."
    levels = {level: {} for level in ("quick", "default", "deep")}

    def tasks(self, settings):
        return [{"run": "failing/seed=0"}]

    @staticmethod
    def work(task):
        return 1 / 0

    collect = verdicts = draw = None
"""


def test_a_failing_experiment_does_not_stop_the_others(tmp_path: Path) -> None:
    path = tmp_path / "failing.py"
    path.write_text(FAILING)
    message = r"failing failed: RunFailed: run 'failing/seed=0': ZeroDivisionError.*failing.py"
    with pytest.raises(suffice.SufficeError, match=message):
        reproduce(tmp_path / "out", only=["trap", str(path)], jobs=1)
    numbers = json.loads((tmp_path / "out" / "numbers.json").read_text())
    assert list(numbers["experiments"]) == ["trap"]


def test_the_stream_of_the_docs_works_as_it_stands(tmp_path: Path) -> None:
    text = (DOCS / "lab.md").read_text()
    blocks = {part.split("```")[0] for part in text.split("```py\n")[1:]}
    shop = next(block for block in blocks if "class Shop" in block)
    coin = next(block for block in blocks if "class Coin" in block)
    (tmp_path / "shop.py").write_text(shop)
    (tmp_path / "coin.py").write_text(coin.replace('"seeds": 20', '"seeds": 3'))
    stream = from_file(tmp_path / "shop.py")["shop"](mondays=0.2)
    run = suffice.summarize(suffice.Selector(stream.menu, 0.9), stream, 3000)
    assert run.largest_debt <= 5
    results = reproduce(tmp_path / "out", only=[str(tmp_path / "coin.py")], jobs=1)
    assert results[0].verdicts[0].status == REPRODUCED


def test_bad_requests(tmp_path: Path) -> None:
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: chosen([str(tmp_path / "none.py")]), "only must name an experiment or a Python file"),
        (lambda: reproduce(tmp_path, level="huge"), "level must be one of quick, default, deep"),
    ]
    for call, message in wrong:
        with pytest.raises(InvalidArgument, match=message):
            call()
    (tmp_path / "empty.py").write_text("x = 1\n")
    with pytest.raises(InvalidArgument, match="must hold a subclass of"):
        chosen([str(tmp_path / "empty.py")])
