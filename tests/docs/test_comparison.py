"""The comparison page: its table, its times, and what it says of the libraries that are installed with the tests."""

import inspect
import re
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pytest

from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "comparison.md").read_text("utf-8")
RESULTS = (ROOT / "benchmarks" / "RESULTS.md").read_text("utf-8")
PEERS = {
    "MAPIE": "mapie",
    "River": "river",
    "Vowpal Wabbit": "vowpalwabbit",
    "MABWiser": "mabwiser",
    "PyBandits": "pybandits",
}
TIMED = {"suffice 0.1": "suffice (half-log)", "MAPIE": "MAPIE ACI (n scores)", "River": "River UCB",
         "Vowpal Wabbit": "Vowpal Wabbit", "MABWiser": "MABWiser UCB1", "PyBandits": "PyBandits"}  # fmt: skip


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|\n").split("|")]


def table() -> dict[str, dict[str, str]]:
    """The side-by-side table: a row per need, a column per library."""
    lines = PAGE.split("## Side by side")[1].split("\nBold:")[0].strip().splitlines()
    names = cells(lines[0])[1:]
    return {row[0].strip("*"): dict(zip(names, row[1:], strict=True)) for row in map(cells, lines[2:])}


TABLE = table()


def required(call: Any) -> set[str]:
    """The arguments that a call cannot do without."""
    parameters = inspect.signature(call).parameters.values()
    return {one.name for one in parameters if one.default is one.empty and one.kind is not one.VAR_KEYWORD} - {"self"}


def test_every_library_has_a_column_and_a_version() -> None:
    for row in TABLE.values():
        assert list(row) == ["suffice 0.1", *PEERS]
        assert all(row.values())
    for name, package in PEERS.items():
        described = re.search(rf"{name} (\d+\.\d+)\.\d+", PAGE)
        assert described is not None, name
        with suppress(PackageNotFoundError):
            installed = version(package)
            assert installed.startswith(described[1]), (
                f"the page describes {name} {described[1]}; check it against {installed}"
            )


def test_times_are_those_that_were_measured() -> None:
    lines = RESULTS.split("## Time per decision")[1].split("##")[0].splitlines()
    rows = {row[0]: row[1:] for row in map(cells, (line for line in lines if line.startswith("|")))}
    sizes = rows["n ="]
    for options in ("3", "1,000"):
        for name, said in TABLE[f"µs a decision, {options} options"].items():
            measured = float(rows[TIMED[name]][sizes.index(options)].replace(",", ""))
            assert float(said.replace(",", "")) == pytest.approx(measured, rel=0.04), (name, options)


def test_river_is_told_a_reward_and_no_target() -> None:
    bandit = pytest.importorskip("river.bandit")
    assert "arm_id" in required(bandit.UCB.update)
    for policy in (bandit.UCB, bandit.EpsilonGreedy, bandit.ThompsonSampling, bandit.LinUCBDisjoint):
        assert not {"target", "cost", "costs"} & set(inspect.signature(policy).parameters)
    assert bandit.evaluate_offline
    assert "y" in required(pytest.importorskip("river.conf").RegressionJackknife.learn_one)
