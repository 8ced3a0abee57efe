"""`suffice run`: comparisons, streams by what a person types, hostile input, and what is written."""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suffice import InvalidArgument, Menu, Selector, optimum, simulate
from suffice.best_mix import contextual_optimum
from suffice.lab.method_specs import methods, rivals, usual
from suffice.lab.rivals import AlwaysSafe
from suffice.lab.run import compare, row
from suffice.lab.run_results import outcome
from suffice.lab.run_stream import open_stream, parsed
from suffice.lab.streams import ConfidentApis, LabelRanks, Log, PredictionApis, RequiredThreshold, Trap
from suffice.simulator import summarize
from tests.support.command import say_in_process

LOG = "success:small,cost:small,success:large,cost:large\n1,0.1,1,2\n0,0.3,1,2\n0.5,0,1,2\n"

OWN = """
import suffice

class Coins:
    name = "coins"
    about = "a coin"
    menu = suffice.Menu({"half": 0.5}, safe="all", skip="none")

    @classmethod
    def named(cls, *, chance: float = 0.5):
        if not 0 <= chance <= 1:
            raise ValueError("chance must be a share")
        made = cls()
        made.chance = chance
        return made

    def draw(self, rng, count):
        return rng.random(count)

    def judge(self, latent, arm, price):
        return ((0.0, 0.0), (float(latent < self.chance), 0.5), (1.0, 1.0))[arm]
"""


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.setenv("COLUMNS", "120")
    return partial(say_in_process, capsys)


def numbers(say: Callable[..., tuple[int, str, str]], *tokens: str) -> dict[str, Any]:
    code, out, err = say(*tokens, "--json")
    assert code == 0, err
    found: dict[str, Any] = json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    return found


def refused(said: tuple[int, str, str], *parts: str) -> None:
    code, out, err = said
    assert code == 2, out
    assert len(err.strip().splitlines()) == 1, err
    assert err.startswith("suffice: ")
    for part in parts:
        assert part in err, err


# --- the comparison


def test_a_row_says_what_simulate_says() -> None:
    stream = LabelRanks.cifar100()
    found = compare(stream, 0.9, 3000, methods(stream, 0.9, 3000, ["suffice"]), seeds=[7], window=100)
    trace = simulate(Selector(stream.menu, 0.9, seed=7), stream, 3000, seed=7)
    row, best = found.rows[0], optimum(*stream.truth(), target=0.9)
    assert row.rate.value == pytest.approx(trace.rate)
    assert row.debt.value == pytest.approx(trace.debt)
    assert row.largest_debt == pytest.approx(trace.largest_debt)
    assert row.worst_window == pytest.approx(trace.worst_window(100))
    assert row.cost.value == pytest.approx(trace.mean_cost)
    assert row.late_cost is not None
    assert row.late_cost.value == pytest.approx(trace.costs[1500:].mean())
    assert row.of_optimum is not None
    assert row.of_optimum.value == pytest.approx(trace.mean_cost / best.cost)
    assert row.regret is not None
    assert row.priced_regret is not None
    assert row.regret.value == pytest.approx(3000 * (trace.mean_cost - best.cost))
    slope = best.price if trace.debt > 0 else best.price_ahead
    assert row.priced_regret.value == pytest.approx(row.regret.value + slope * trace.debt)
    assert found.curves["suffice"]["debt"][-1] == pytest.approx(trace.debt)
    assert found.curves["suffice"]["cost"][-1] == pytest.approx(trace.mean_cost)


def test_seeds_are_paired_and_have_intervals() -> None:
    stream = PredictionApis()
    makers = methods(stream, 0.9, 1500, ["suffice", "always_safe"])
    found = compare(stream, 0.9, 1500, makers, seeds=range(4))
    ours, all_of_it = found.rows
    assert ours.rate.low < ours.rate.value < ours.rate.high
    assert ours.dearer is not None
    assert ours.dearer.value == 0.0
    assert all_of_it.dearer is not None
    assert all_of_it.dearer.value == pytest.approx(all_of_it.cost.value - ours.cost.value)
    single = [compare(stream, 0.9, 1500, makers, seeds=[seed]).rows[0] for seed in range(4)]
    assert ours.largest_debt == max(row.largest_debt for row in single)
    assert ours.cost.value == pytest.approx(np.mean([row.cost.value for row in single]))
    assert not found.alike
    assert compare(Trap(), 0.5, 500, methods(Trap(), 0.5, 500, ["suffice"]), seeds=range(2)).alike


def test_halves_and_shares_where_there_are_none() -> None:
    stream = Trap()
    one = compare(stream, 0.5, 1, methods(stream, 0.5, 1, ["suffice"])).rows[0]
    assert (one.late_cost, one.of_optimum) == (None, None)  # no second half, no optimum
    odd = compare(stream, 0.5, 5, methods(stream, 0.5, 5, ["always_safe"])).rows[0]
    assert odd.late_cost is not None
    assert odd.late_cost.value == 1.0
    free = LabelRanks(Menu.top_k([1], classes=4), [5, 3, 1, 1])
    skip = optimum(*free.truth(), target=0.9)
    outcomes = [outcome(summarize(AlwaysSafe(free.menu, 0.9), free, 10), skip)]
    assert outcomes[0].late_cost is None  # nobody marked the half
    assert row("always_safe", "none", outcomes, outcomes, replace(skip, cost=0.0)).of_optimum is None


def test_what_cannot_run_is_set_aside() -> None:
    log = Log.of({"success:a": [1, 0], "success:b": [1, 1]}, costs={"a": 0.2, "b": 1})
    found = compare(log, 0.9, 100, methods(log, 0.9, 100, ["suffice", "paper", "projected", "threshold"]))
    assert [row.method for row in found.rows] == ["suffice"]
    assert set(found.skipped) == {"paper", "projected", "threshold"}
    with pytest.raises(InvalidArgument, match="menu must have a skip option"):
        compare(log, 0.9, 100, methods(log, 0.9, 100, ["paper", "projected"]))


def test_rivals_are_found() -> None:
    assert rivals()["always_safe"] is AlwaysSafe
    for kind in rivals().values():
        assert kind.feedback


def test_the_threshold_controller_runs_on_needs() -> None:
    stream = RequiredThreshold()
    found = compare(stream, 0.9, 2000, methods(stream, 0.9, 2000, ["threshold"]))
    assert found.rows[0].feedback == "success"
    assert found.rows[0].largest_debt <= 0.9
    assert found.certificates["threshold"].holds


@pytest.mark.parametrize("text", ["3", "-2", "0.5", "1e3", "true", "Off", "none", "5,10", "7,", "a,b", "", "hover"])
def test_settings_are_parsed(text: str) -> None:
    wanted = {"3": 3, "-2": -2, "0.5": 0.5, "1e3": 1000.0, "true": True, "Off": False, "none": None, "5,10": (5, 10),
              "7,": (7,)}  # fmt: skip
    assert parsed(text) == wanted.get(text, text)


def test_settings_reach_the_stream(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("success:a,success:1\n1,1\n0,1\n")
    log = open_stream(str(path), ["costs.a=0.1", "costs.1=2", "skip=skip"], safe="1").stream
    assert (log.menu.safe, log.menu.skip, log.menu.safe_cost) == ("1", "skip", 2.0)
    assert open_stream("ranks", ["ks=5,10"]).stream.menu.options == (5, 10)
    assert open_stream("rides-grid", ["requests=50"]).stream.menu.n_arms > 2


# --- contexts


def test_a_comparison_with_contexts() -> None:
    stream = ConfidentApis("YELP")
    assert usual(stream) == ("suffice", "suffice:model=auto", "paper", "projected", "always_safe")
    assert usual(Trap()) == ("suffice", "paper", "projected", "always_safe")
    names = ["suffice", "suffice:model=auto", "linucb", "suffice:model=none"]
    found = compare(stream, 0.95, 600, methods(stream, 0.95, 600, names))
    plain, looking, rival, none = found.rows
    assert [row.feedback for row in found.rows] == [
        "success + cost", "context, success + cost", "context, success + cost", "success + cost",
    ]  # fmt: skip
    assert found.looking is not None
    assert found.looking.cost == pytest.approx(contextual_optimum(*stream.cases(), target=0.95).cost)
    assert max(plain.largest_debt, looking.largest_debt) <= 1.0
    assert none.cost == plain.cost
    assert rival.of_optimum is not None
    assert found.best is not None
    assert rival.of_optimum.value == pytest.approx(rival.cost.value / found.best.cost)


def test_who_looks_needs_something_to_look_at() -> None:
    found = compare(Trap(), 0.5, 100, methods(Trap(), 0.5, 100, ["suffice", "suffice:model=auto", "squarecb"]))
    assert [row.method for row in found.rows] == ["suffice"]
    assert found.looking is None
    said = "stream must show a context to look at, got one without context(latent)"
    assert found.skipped == {"suffice:model=auto": said, "squarecb": said}
    with pytest.raises(InvalidArgument, match="model must be"):
        methods(ConfidentApis(), 0.9, 100, ["suffice:model=oracle"])


def test_the_command_with_contexts(
    say: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    words = ["run", "confidence", "--target", "0.9", "--horizon", "300", "--methods", "suffice,epsilon_greedy"]
    for width in ("80", "120"):
        monkeypatch.setenv("COLUMNS", width)
        code, out, _ = say(*words)
        assert code == 0
        assert max(map(len, out.splitlines())) <= int(width)
        words_ = " ".join(out.split())
        for part in ("0.03386 a step without looking at the context, by", "; 0.02438 looking at it.", "optimum, looking",
                     "72.0%", "or by looking at the context"):  # fmt: skip
            assert part in words_, part
    found = numbers(say, *words, "--out", str(tmp_path))
    assert found["contextual_optimum"]["cost"] < found["optimum"]["cost"]
    assert found["rows"][1]["of_optimum"]["value"] > 0.0
    header = (tmp_path / "run.csv").read_text().splitlines()[0].split(",")
    assert {"late_cost", "of_optimum", "of_optimum_low"} <= set(header)
    assert "optimum, looking at the context" in (tmp_path / "run.svg").read_text()
    code, out, _ = say("run", "mix", "--target", "0.9", "--horizon", "100", "--methods", "suffice")
    assert "looking" not in out
    assert "of\n" in out or "optimum" in out


# --- the command


def test_every_option(say: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = numbers(
        say, "run", "apis", "--target", "0.9", "--horizon", "1e3", "--seed", "3", "--seeds", "2", "--set", "task=IMDB",
        "person=4", "--set", "unit=usd", "--methods", "always_safe,suffice", "--bounds", "hoeffding", "--max-surplus", "20",
        "--window", "100", "--out", str(out),
    )  # fmt: skip
    assert found["stream"] == "apis"
    assert (found["horizon"], found["seeds"], found["window"]) == (1000, [3, 4], 100)
    assert [row["method"] for row in found["rows"]] == ["always_safe", "suffice"]
    assert found["rows"][0]["cost"]["value"] == pytest.approx(4 * 6.751)
    assert found["certificates"]["suffice"]["ahead_at_most"] < 22
    assert sorted(path.name for path in out.iterdir()) == ["run-dark.svg", "run.csv", "run.json", "run.png", "run.svg"]
    written = json.loads((out / "run.json").read_text())
    assert written["rows"] == found["rows"]
    rows = list(csv.DictReader((out / "run.csv").read_text().splitlines()))
    assert [row["method"] for row in rows] == ["always_safe", "suffice"]
    assert float(rows[1]["cost_low"]) <= float(rows[1]["cost"]) <= float(rows[1]["cost_high"])


def test_the_table(say: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    for width in ("80", "120"):
        monkeypatch.setenv("COLUMNS", width)
        code, out, _ = say("run", "trap", "--target", "0.5", "--horizon", "2000", "--seeds", "2")
        assert code == 0
        assert max(map(len, out.splitlines())) <= int(width)
        for part in ("suffice", "paper", "projected", "always_safe", "success + cost", "none", "debt", "worst", "Kept:",
                     "No optimum is known", "same"):  # fmt: skip
            assert part in out
    code, out, _ = say("run", "mix", "--target", "0.9", "--horizon", "500")
    assert "regret" in out
    assert "Optimum at 90%" in out


def test_a_stream_without_truth_has_no_regret(say: Callable[..., tuple[int, str, str]]) -> None:
    found = numbers(say, "run", "attack", "--target", "0.9", "--horizon", "300", "--methods", "suffice")
    assert found["optimum"] is None
    assert found["rows"][0]["regret"] is None
    assert found["rows"][0]["largest_debt"] <= 0.9


def test_a_log(say: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(LOG)
    found = numbers(say, "run", str(path), "--target", "0.9")
    assert found["horizon"] == 3  # its rows
    assert set(found["skipped"]) == {"paper", "projected"}
    code, out, _ = say("run", str(path), "--target", "0.9", "--horizon", "300")
    assert code == 0
    assert "paper cannot run here: menu must have a skip option" in " ".join(out.split())
    assert "Best fixed mix over the whole log" in out
    path.write_text(LOG.splitlines()[0] + "\n1,0.1,1,2\n")  # one row
    assert numbers(say, "run", str(path), "--target", "0.9")["horizon"] == 1


def test_a_file_of_ones_own(say: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(OWN)
    found = numbers(say, "run", str(path), "--target", "0.9", "--horizon", "400", "--set", "chance=0.8")
    assert found["stream"] == "coins"
    assert found["rows"][0]["largest_debt"] <= 0.9
    refused(say("run", str(path), "--target", "0.9", "--set", "chance=7"), "chance must be a share", "chance=0.5")
    path.write_text(OWN + OWN.replace("Coins", "More").replace('"coins"', '"more"'))
    refused(say("run", str(path), "--target", "0.9"), "which of coins, more")
    assert numbers(say, "run", f"{path}:more", "--target", "0.9", "--horizon", "50")["stream"] == "more"
    refused(say("run", f"{path}:less", "--target", "0.9"), "must be one of coins, more")
    path.write_text("x = 1 / 0")
    refused(say("run", str(path), "--target", "0.9"), "ZeroDivisionError")


@pytest.mark.parametrize(
    ("tokens", "parts"),
    [
        (["trp", "--target", "0.5"], ["got 'trp': did you mean trap?", "beta", ".csv"]),
        (["nowhere.csv", "--target", "0.5"], ["nowhere.csv", "No such file"]),
        (["nowhere.py", "--target", "0.5"], ["must name a Python file"]),
        (["trap", "--target", "1"], ["target must lie strictly between 0 and 1, got 1"]),
        (["trap", "--target", "0"], ["target must lie strictly between 0 and 1"]),
        (["trap", "--target", "nan"], ["target must be finite"]),
        (["trap", "--target", "0.5", "--horizon", "0"], ["horizon must be at least 1"]),
        (["trap", "--target", "0.5", "--seeds", "0"], ["seeds must be at least 1"]),
        (["trap", "--target", "0.5", "--seed", "-1"], ["seed must be at least 0"]),
        (["trap", "--target", "0.5", "--window", "0"], ["window must be at least 1"]),
        (["trap", "--target", "0.5", "--max-surplus", "-3"], ["max_surplus must be above 0"]),
        (["trap", "--target", "0.5", "--bounds", "wide"], ["bounds must be one of", "kl"]),
        (["trap", "--target", "0.5", "--methods", "magic"], ["methods must be some of suffice, paper", "'magic'"]),
        (["trap", "--target", "0.5", "--methods", ","], ["methods must be some of", "got none"]),
        (["trap", "--target", "0.5", "--set", "frist=3"], ["did you mean first?", "first=800, last=1300, cost=0.05"]),
        (["trap", "--target", "0.5", "--set", "first"], ["key=value", "first=800"]),
        (["trap", "--target", "0.5", "--set", "first=many"], ["first must be a whole number", "first=800"]),
        (["trap", "--target", "0.5", "--set", "first=9", "last=3"], ["first must be at most last", "last=1300"]),
        (["trap", "--target", "0.5", "--safe", "safe"], ["safe must be left out"]),
        (["trap", "--target", "0.5", "--out", "/dev/null/x"], ["out must name a folder"]),
    ],
)  # fmt: skip
def test_bad_arguments(say: Callable[..., tuple[int, str, str]], tokens: list[str], parts: list[str]) -> None:
    refused(say("run", *tokens), *parts)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a,b\n1,2\n", ["columns must include success:OPTION", "a, b"]),
        ("success:a,success:b,cost:b\n1,1,1\n", ["cost:a"]),
        ("success:a,cost:a,success:b,cost:b\n1,nan,1,1\n", ["cost:a must be between 0 and 1", "nan in row 1"]),
        (
            "success:a,cost:a,success:b,cost:b\n1,0,1,1\n1,3,1,1\n",
            ["cost:a", "what the safe option costs", "got 3 in row 2"],
        ),
        ("success:a,cost:a,success:b,cost:b\n1,oops,1,1\n", ["cost:a must be a number, got 'oops' in row 1"]),
        ("success:a,cost:a,success:b,cost:b\n", ["at least one row"]),
        ("", ["columns must include success:OPTION"]),
    ],
)
def test_bad_logs(say: Callable[..., tuple[int, str, str]], tmp_path: Path, text: str, parts: list[str]) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    refused(say("run", str(path), "--target", "0.9"), *parts)


def test_a_log_whose_safe_option_fails_says_so_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("success:a,cost:a,success:b,cost:b\n" + "1,0.1,1,1\n0,0.1,0,1\n" * 20)
    done = subprocess.run(
        [sys.executable, "-m", "suffice", "run", str(path), "--target", "0.9", "--methods", "suffice"],
        capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "80"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("suffice: safe ('b') fails in 20 of 40 rows")
    assert len(done.stderr.strip().splitlines()) == 1
    assert "No optimum: target 0.9 is out of reach" in done.stdout


def test_out_without_matplotlib_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None; from suffice.cli import main; "
        "main(['run', 'trap', '--target', '0.5', '--out', '/tmp/never'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.strip() == "suffice: --out needs matplotlib: pip install 'suffice[lab]'"


@pytest.mark.long
def test_a_million_rows(say: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rng = np.random.default_rng(0)
    rows = (f"{int(draw < 0.8)},{draw / 5:.3f},1,1\n" for draw in rng.random(1_000_000).tolist())
    path.write_text("success:a,cost:a,success:b,cost:b\n" + "".join(rows))
    found = numbers(say, "run", str(path), "--target", "0.9", "--methods", "suffice")
    assert found["horizon"] == 1_000_000
    assert found["rows"][0]["largest_debt"] <= 0.9
