"""What the promise costs: the shares of the paper's regret that the docs claim, and what choosing takes in time."""

import time
from typing import Any

import pytest

from suffice import Learning, Selector, summarize
from suffice.lab.experiment import run_experiment
from suffice.lab.experiments.efficiency import Efficiency, world_of
from suffice.lab.streams import UnitPoints
from suffice.lab.sweep import sweep
from suffice.lab.verdict import REPRODUCED

needs_compiler = pytest.mark.compiled


def verdicts(**settings: Any) -> dict[str, Any]:
    made = Efficiency()
    numbers = run_experiment(made, settings, lambda work, tasks: sweep(work, tasks, jobs=1))
    return {verdict.claim: verdict for verdict in made.verdicts(numbers)}


@needs_compiler
def test_short_runs_reproduce_the_claims() -> None:
    """The claims at a tenth of their horizons, where all of them hold but for those of long runs."""
    found = verdicts(seeds=6, horizons=[10_000], horizon=5_000)
    assert found["intervals, 10^4"].status == REPRODUCED
    assert found["told costs"].status == REPRODUCED
    assert found["never behind"].status == REPRODUCED
    assert found["a shift that ends"].status == REPRODUCED
    assert found["on the whole"].high < 1 / 4


@pytest.mark.long
@needs_compiler
def test_long_runs_reproduce_the_claims() -> None:
    found = verdicts(**Efficiency.levels["deep"])
    assert {claim for claim, verdict in found.items() if verdict.status != REPRODUCED} == set()
    assert {"intervals, 10^4", "intervals, 10^5", "intervals, 10^6"} < set(found)


@needs_compiler
def test_a_selector_with_the_papers_bounds_fails_the_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdicts can fail: with the paper's bounds in place of the default's they do."""
    from suffice.lab.experiments import efficiency

    monkeypatch.setattr(efficiency, "LADDER", {**efficiency.LADDER, "suffice": Learning(bounds="hoeffding")})
    found = verdicts(seeds=3, horizons=[10_000], horizon=2_000)
    assert found["intervals, 10^4"].status != REPRODUCED
    assert found["on the whole"].status != REPRODUCED


def test_worlds_have_a_truth_and_a_target() -> None:
    for name in ("intervals", "IMDB", "labels", "rides", "needs", "intervals, told", "labels, told"):
        stream, target, best = world_of(name)
        assert 0.0 < best.cost < stream.menu.safe_cost
        assert target in (0.8, 0.9)
        assert (stream.menu.costs is None) == ("told" in name or name == "rides")


@needs_compiler
def test_structure_and_sampling_take_a_few_times_as_long() -> None:
    """CPU time per simulated step with 211 arms, interleaved, least of three: in plain KL bounds."""
    stream = UnitPoints()
    kinds = {
        "kl": Learning(bounds="kl"), "ordered": Learning(bounds="ordered"), "interval-closure": Learning(chooser="optimist"),
        "sampling": Learning(),
    }  # fmt: skip
    taken: dict[str, list[float]] = {kind: [] for kind in kinds}
    for repeat in range(4):
        for kind, learning in kinds.items():
            start = time.process_time()
            summarize(Selector(stream.menu, 0.8, learning=learning), stream, 20_000, repeat)
            taken[kind].append(time.process_time() - start)
    least = {kind: min(times[1:]) for kind, times in taken.items()}  # the first may compile
    assert least["ordered"] <= 10 * least["kl"]
    assert least["interval-closure"] <= 10 * least["kl"]
    assert least["sampling"] <= 50 * least["kl"]
