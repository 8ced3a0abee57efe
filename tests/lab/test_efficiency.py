"""What the promise costs: the shares of the paper's regret that the docs claim, and what choosing takes in time."""

from typing import Any

import pytest

from suffice import Learning
from suffice.lab.experiment import run_experiment
from suffice.lab.experiments.efficiency import Efficiency
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
    assert found["never far behind"].status == REPRODUCED
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
