"""The page on reproducing the paper: the experiments that are quick, run again, and what the page says of them."""

import re
from typing import Any

import pytest

from suffice.lab.experiment import LEVELS, run_experiment
from suffice.lab.reproduce import chosen
from tests.support.paths import DOCS

PAGE = (DOCS / "reproduce.md").read_text("utf-8")
ROWS = {
    "no window strays": ("attack", "bound holds"),
    "the bound is tight": ("attack", "bound is tight"),
    "a projected price hides": ("attack", "projection breaks it"),
    "no success in the outage": ("trap", "no success"),
    "its price is stuck": ("trap", "never above"),
    "each capped round": ("trap", "residual"),
    "the boundary rule recovers": ("trap", "recovers"),
    "**the projected cannot recover**": ("trap", "cannot recover"),
    "a long local failure": ("labels", "long failure, 4000+2000"),
    "the boundary rule returns": ("labels", "returns, 4000+2000"),
    "…and keeps debt near zero": ("labels", "debt, 4000+2000"),
    "before, both use the top 5": ("labels", "cheap before, 4000+2000"),
}


@pytest.fixture(scope="module")
def verdicts() -> dict[tuple[str, str], Any]:
    found = {}
    for experiment in chosen(["trap", "labels", "attack"]):
        numbers = run_experiment(
            experiment, dict(experiment.levels["quick"]), lambda work, tasks: [work(task) for task in tasks]
        )
        found.update({(experiment.name, verdict.claim): verdict for verdict in experiment.verdicts(numbers)})
    return found


def said(row: str) -> str:
    """What the page says of a claim with --quick."""
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| {row}")]
    return [cell.strip(" *") for cell in line.strip("|").split("|")][3]


@pytest.mark.parametrize("row", ROWS)
def test_the_page_says_what_comes_out(row: str, verdicts: dict[tuple[str, str], Any]) -> None:
    verdict = verdicts[ROWS[row]]
    text = said(row)
    number = re.match(r"[−-]?[\d.]+", text.replace("−", "-"))
    assert number is not None, text
    digits = len(number[0].partition(".")[2])
    assert float(number[0]) == pytest.approx(verdict.value, abs=0.51 * 10**-digits)
    assert ("not so" in text) == (verdict.status == "not reproduced")
    assert ("not reached" in text) == verdict.status.startswith("not reached")


def test_every_level_is_there() -> None:
    for level in set(LEVELS) - {"default"}:
        assert f"`--{level}`" in PAGE
