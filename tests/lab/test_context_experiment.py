"""The experiment `context`: its runs, verdicts that follow the numbers, and the tables of the docs."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from suffice.lab import drawing
from suffice.lab.experiment import run_experiment
from suffice.lab.experiments import context as module
from suffice.lab.experiments.context import (
    FULL,
    MOST_OF_OPTIMUM,
    PLAIN,
    SHIFTS,
    SHUFFLED,
    TARGETS,
    Context,
    row_of,
)
from suffice.lab.method_specs import LOOKING
from suffice.lab.sweep import sweep
from suffice.lab.verdict import NOT_REPRODUCED, REPRODUCED, Verdict

needs_compiler = pytest.mark.compiled
DOCS = Path(__file__).parents[2] / "docs" / "context.md"


def run(seeds: int, horizon: int) -> dict[str, Any]:
    return run_experiment(
        Context(), {"seeds": seeds, "horizon": horizon}, lambda work, tasks: [work(task) for task in tasks]
    )


def verdicts(numbers: dict[str, Any], **changes: Any) -> dict[str, Verdict]:
    return {verdict.claim: verdict for verdict in Context().verdicts({**numbers, **changes})}


@pytest.fixture(scope="module")
def numbers() -> Any:
    """Two tasks and one shift, a few seeds: a moment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "RIVALS", ("linucb",))
        patch.setattr(module, "TASKS_OF_RIVALS", ("COMMAND",))
        patch.setattr(module, "SHIFTS", ("both",))
        patch.setattr(module, "TARGETS", {"COMMAND": 0.95, "EXPW": 0.9})
        return run(3, 3000)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The claims of the two tasks alone."""
    monkeypatch.setattr(module, "TARGETS", {"COMMAND": 0.95, "EXPW": 0.9})
    monkeypatch.setattr(module, "MOST_OF_OPTIMUM", {name: MOST_OF_OPTIMUM[name] for name in ("COMMAND", "EXPW")})
    monkeypatch.setattr(module, "TASKS_OF_RIVALS", ("COMMAND",))


@needs_compiler
def test_contexts_save_costs_and_the_debt_stays_within_its_limit(numbers: dict[str, Any], small: None) -> None:
    row = row_of(numbers, "COMMAND")
    assert row["late_of_plain_high"] < 0.8
    assert row["followed"] > 0.5
    found = verdicts(numbers)
    assert found["never far behind"].status == REPRODUCED
    assert found["at the start"].status == REPRODUCED
    assert found["EXPW, 0.9"].status == "not reached by T=3,000"


@needs_compiler
def test_both_selectors_meet_the_same_outcomes(numbers: dict[str, Any]) -> None:
    """As long as the model is not followed, they play the same arms; only the context itself is paid for."""
    plain, looking = (row_of(numbers, "COMMAND", SHUFFLED, method) for method in (PLAIN, LOOKING))
    assert looking["followed"] == 0.0
    assert looking["rate"] == plain["rate"]
    assert plain["cost"] < looking["cost"] < 1.01 * plain["cost"]


@needs_compiler
def test_verdicts_follow_the_numbers(numbers: dict[str, Any], small: None) -> None:
    assert verdicts(numbers, horizon=FULL)["EXPW, 0.9"].status == NOT_REPRODUCED
    changed = copy.deepcopy(numbers)
    row_of(changed, "EXPW").update(of_optimum=0.8, of_optimum_low=0.79, of_optimum_high=0.869, largest_debt=5.1)
    row_of(changed, "COMMAND", SHUFFLED).update(of_optimum=1.06, of_optimum_low=0.9, of_optimum_high=1.2)
    row_of(changed, "EXPW", SHUFFLED).update(of_optimum=1.02)
    row_of(changed, "COMMAND").update(early_of_plain=1.051)
    found = verdicts(changed, horizon=FULL)
    assert found["EXPW, 0.9"].status == REPRODUCED
    assert found["never far behind"].status == NOT_REPRODUCED
    assert found["contexts that say nothing"].status == NOT_REPRODUCED
    assert (found["contexts that say nothing"].low, found["contexts that say nothing"].high) == (0.9, 1.2)
    assert found["at the start"].status == NOT_REPRODUCED
    row_of(changed, "EXPW").update(of_optimum_high=0.871)
    assert verdicts(changed, horizon=FULL)["EXPW, 0.9"].status == NOT_REPRODUCED


@needs_compiler
def test_figures(numbers: dict[str, Any], small: None, tmp_path: Path) -> None:
    json.dumps(numbers)
    assert drawing.draw(Context(), numbers, tmp_path) == ["context_ratios", "context_time"]


def test_the_page_quotes_the_tables_of_one_run() -> None:
    """Every task stands in the docs with a number, in tables with a column for each shift."""
    page = DOCS.read_text(encoding="utf-8")
    assert "| task, target | without a look | with a look | per-context optimum | contexts shuffled |" in page
    assert f"| task, target | {' | '.join(SHIFTS)} | largest debt |" in page
    for name, target in TARGETS.items():
        assert re.search(rf"\| {name}, {target:.0%} \| \d\.\d\d ± \d\.\d\d \| \*\*\d\.\d\d ± \d\.\d\d\*\* \|", page)
        _, looking = module.optima_of(name)
        assert f"| {looking.cost / module.optima_of(name)[0].cost:.2f} |" in page


@pytest.mark.long
@needs_compiler
def test_what_long_runs_show() -> None:
    deep = Context.levels["deep"]
    found = run_experiment(Context(), dict(deep), lambda work, tasks: sweep(work, tasks))
    assert {claim for claim, verdict in verdicts(found).items() if verdict.status != REPRODUCED} == set()
