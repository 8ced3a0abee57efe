"""`suffice run`: the numbers of a run, streams and settings by text, bad input, and output."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from suffice import InvalidArgument, Menu, Selector, optimum, simulate
from suffice.best_mix import contextual_optimum
from suffice.lab.board import Board
from suffice.lab.method_specs import methods, usual
from suffice.lab.run import Run, run_methods, setting_of
from suffice.lab.run_stream import open_stream, parsed, parts
from suffice.lab.streams import ConfidentApis, LabelRanks, Log, RequiredThreshold, Trap
from suffice.simulator import Stream
from tests.support.command import say_in_process

Say = Callable[..., tuple[int, str, str]]

LOG = "success:small,cost:small,success:large,cost:large\n1,0.1,1,2\n0,0.3,1,2\n0.5,0,1,2\n"

COINS = """
import suffice

class Coins:
    name = "coins"
    description = "a coin"
    menu = suffice.Menu({"half": 0.5}, safe="all", skip="none")

    @classmethod
    def from_settings(cls, *, chance: float = 0.5):
        if not 0 <= chance <= 1:
            raise ValueError("chance must be a share")
        made = cls()
        made.chance = chance
        return made

    def draw(self, rng, count):
        return rng.random(count)

    def outcome(self, latent, arm, price):
        return ((0.0, 0.0), (float(latent < self.chance), 0.5), (1.0, 1.0))[arm]
"""


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Say:
    monkeypatch.setenv("COLUMNS", "80")
    return partial(say_in_process, capsys)


def numbers(say: Say, *tokens: str) -> dict[str, Any]:
    code, out, err = say(*tokens, "--json")
    assert code == 0, err
    document: dict[str, Any] = json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    return document


def assert_refused(result: tuple[int, str, str], *parts: str) -> None:
    code, out, err = result
    assert code == 2, out
    assert len(err.strip().splitlines()) == 1, err
    assert err.startswith("suffice: ")
    for part in parts:
        assert part in err, err


def play(stream: Stream, target: float, horizon: int, names: list[str], seed: int = 0, window: int = 500) -> Run:
    setting = setting_of("a stream", "a test", stream, target, horizon, seed, window)
    return run_methods(setting, methods(stream, target, horizon, names))


def order(board: Board) -> set[str]:
    return {row.method for row in board.rows}


# --- the numbers


def test_a_row_agrees_with_simulate() -> None:
    stream = LabelRanks.cifar100()
    result = play(stream, 0.9, 3000, ["suffice"], seed=7, window=100)
    trace = simulate(Selector(stream.menu, 0.9, seed=7), stream, 3000, seed=7)
    row, best = result.board.rows[0], optimum(*stream.truth(), target=0.9)
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
    assert result.curves["suffice"]["debt"][-1] == pytest.approx(trace.debt)
    assert result.curves["suffice"]["cost"][-1] == pytest.approx(trace.mean_cost)


def test_short_and_free_runs_have_no_second_half_and_no_share() -> None:
    single = play(Trap(), 0.5, 1, ["suffice"]).board.rows[0]
    assert (single.late_cost, single.of_optimum) == (None, None)  # no second half, no optimum
    odd = play(Trap(), 0.5, 5, ["always_safe"]).board.rows[0]
    assert odd.late_cost is not None
    assert odd.late_cost.value == 1.0
    always = LabelRanks(Menu.top_k([1], classes=4), [5, 0, 0, 0])
    board = play(always, 0.9, 10, ["always_safe"]).board
    assert board.best is not None
    assert (board.rows[0].of_optimum is None) == (board.best.cost == 0.0)


def test_methods_that_cannot_run_are_skipped() -> None:
    log = Log.of({"success:a": [1, 0], "success:b": [1, 1]}, costs={"a": 0.2, "b": 1})
    board = play(log, 0.9, 100, ["suffice", "paper", "projected", "threshold"]).board
    assert order(board) == {"suffice"}
    assert set(board.skipped) == {"paper", "projected", "threshold"}
    with pytest.raises(InvalidArgument, match="menu must have a skip option"):
        play(log, 0.9, 100, ["paper", "projected"])


def test_the_threshold_selector_runs_on_required_thresholds() -> None:
    result = play(RequiredThreshold(), 0.9, 2000, ["threshold"])
    assert result.board.rows[0].feedback == "success"
    assert result.board.rows[0].largest_debt <= 0.9
    assert result.certificates["threshold"].holds


# --- streams and settings by text


@pytest.mark.parametrize("text", ["3", "-2", "0.5", "1e3", "true", "Off", "none", "5,10", "7,", "a,b", "", "hover"])
def test_settings_are_parsed(text: str) -> None:
    wanted = {"3": 3, "-2": -2, "0.5": 0.5, "1e3": 1000.0, "true": True, "Off": False, "none": None, "5,10": (5, 10),
              "7,": (7,)}  # fmt: skip
    assert parsed(text) == wanted.get(text, text)


def test_settings_may_stand_in_the_text() -> None:
    assert parts("needs:a=2,b=5") == ("needs", ("a=2", "b=5"))
    assert parts("log.csv:costs.small=0.1,skip=skip") == ("log.csv", ("costs.small=0.1", "skip=skip"))
    assert open_stream("ranks:ks=5,10,least=2").stream.menu.options == (5, 10)


def test_settings_reach_the_stream(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("success:a,success:1\n1,1\n0,1\n")
    menu = open_stream(str(path), ["costs.a=0.1", "costs.1=2", "skip=skip", "safe=1"]).stream.menu
    assert (menu.safe, menu.skip, menu.safe_cost) == ("1", "skip", 2.0)
    assert open_stream("ranks", ["ks=5,10"]).stream.menu.options == (5, 10)
    assert open_stream("rides-grid", ["requests=50"]).stream.menu.n_arms > 2


# --- contexts


def test_a_run_with_contexts() -> None:
    stream = ConfidentApis("YELP")
    assert usual(stream) == ("suffice", "suffice:model=auto", "paper", "projected", "always_safe")
    assert usual(Trap()) == ("suffice", "paper", "projected", "always_safe")
    board = play(stream, 0.95, 600, ["suffice", "suffice:model=auto", "linucb", "suffice:model=none"]).board
    rows = {row.method: row for row in board.rows}
    assert {name: row.feedback for name, row in rows.items()} == {
        "suffice": "success + cost", "suffice:model=auto": "context, success + cost", "linucb": "context, success + cost",
        "suffice:model=none": "success + cost",
    }  # fmt: skip
    assert board.contextual is not None
    assert board.contextual.cost == pytest.approx(contextual_optimum(*stream.cases(), target=0.95).cost)
    assert max(rows["suffice"].largest_debt, rows["suffice:model=auto"].largest_debt) <= 1.0
    assert rows["suffice:model=none"].cost == rows["suffice"].cost


def test_methods_with_a_model_need_a_context() -> None:
    board = play(Trap(), 0.5, 100, ["suffice", "suffice:model=auto", "squarecb"]).board
    assert order(board) == {"suffice"}
    assert board.contextual is None
    reason = "stream must show a context to look at, got one without context(latent)"
    assert board.skipped == {"suffice:model=auto": reason, "squarecb": reason}
    with pytest.raises(InvalidArgument, match="model must be"):
        methods(ConfidentApis(), 0.9, 100, ["suffice:model=oracle"])


def test_the_command_with_contexts(say: Say, tmp_path: Path) -> None:
    words = ["run", "confidence", "--target", "0.9", "--horizon", "300", "--methods", "suffice,epsilon_greedy"]
    code, out, _ = say(*words, "--out", str(tmp_path))
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    for part in ("0.03386 a step, by", "; 0.02438 with the context.", "optimum, context"):
        assert part in " ".join(out.split()), part
    assert "optimum with the context" in (tmp_path / "run.svg").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run-dark.svg", "run.png", "run.svg"]
    document = numbers(say, *words)
    assert document["contextual_optimum"]["cost"] < document["optimum"]["cost"]
    assert document["rows"][1]["of_optimum"]["value"] > 0.0


# --- the command


def test_every_option(say: Say) -> None:
    ours = "suffice:bounds=hoeffding:max_surplus=20"
    document = numbers(
        say, "run", "apis", "--target", "0.9", "--horizon", "1e3", "--seed", "3", "--set", "task=IMDB", "--set", "person=4",
        "--set", "unit=usd", "--methods", f"always_safe,{ours}", "--window", "100",
    )  # fmt: skip
    assert document["stream"] == "apis"
    assert (document["horizon"], document["seeds"], document["window"]) == (1000, [3], 100)
    rows = {row["method"]: row for row in document["rows"]}
    assert rows.keys() == {"always_safe", ours}
    assert rows["always_safe"]["cost"]["value"] == pytest.approx(4 * 6.751)
    assert document["certificates"][ours]["ahead_at_most"] < 22


def test_the_table(say: Say) -> None:
    code, out, _ = say("run", "trap", "--target", "0.5", "--horizon", "2000")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    for part in ("suffice", "paper", "projected", "always_safe", "success + cost", "none", "debt", "worst", "Kept:",
                 "No optimum is known"):  # fmt: skip
        assert part in out
    code, out, _ = say("run", "mix", "--target", "0.9", "--horizon", "500")
    assert "regret" in out
    assert "90%: 0.3323 a step" in out


def test_a_log(say: Say, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(LOG)
    document = numbers(say, "run", str(path), "--target", "0.9")
    assert document["horizon"] == 3  # its rows
    assert set(document["skipped"]) == {"paper", "projected"}
    code, out, _ = say("run", str(path), "--target", "0.9", "--horizon", "300")
    assert code == 0
    for part in ("paper cannot run here: menu must have a skip option", "Best fixed mix over the whole log",
                 "To add one: --set skip=skip", "The log has 3 rows: they are played again and again"):  # fmt: skip
        assert part in " ".join(out.split())
    path.write_text(LOG.splitlines()[0] + "\n1,0.1,1,2\n")  # one row
    assert numbers(say, "run", str(path), "--target", "0.9")["horizon"] == 1


def test_a_users_file(say: Say, tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(COINS)
    document = numbers(say, "run", str(path), "--target", "0.9", "--horizon", "400", "--set", "chance=0.8")
    assert document["stream"] == "coins"
    assert all(row["largest_debt"] <= 0.9 for row in document["rows"] if row["method"] == "suffice")
    assert_refused(
        say("run", str(path), "--target", "0.9", "--set", "chance=7"), "chance must be a share", "chance=0.5"
    )
    path.write_text(COINS + COINS.replace("Coins", "More").replace('"coins"', '"more"'))
    assert_refused(say("run", str(path), "--target", "0.9"), "which of coins, more")
    assert numbers(say, "run", f"{path}:more", "--target", "0.9", "--horizon", "50")["stream"] == "more"
    assert_refused(say("run", f"{path}:less", "--target", "0.9"), "must be one of coins, more")
    path.write_text("x = 1 / 0")
    assert_refused(say("run", str(path), "--target", "0.9"), "ZeroDivisionError")


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("trp --target 0.5", ["got 'trp': did you mean trap?", "beta", ".csv"]),
        ("nowhere.csv --target 0.5", ["nowhere.csv", "No such file"]),
        ("nowhere.py --target 0.5", ["must name a Python file"]),
        ("trap --target 1", ["target must lie strictly between 0 and 1, got 1"]),
        ("trap --target nan", ["target must be finite"]),
        ("trap --target 0.5 --horizon 0", ["horizon must be at least 1"]),
        ("trap --target 0.5 --seed -1", ["seed must be at least 0"]),
        ("trap --target 0.5 --window 0", ["window must be at least 1"]),
        ("trap --target 0.5 --methods suffice:max_surplus=-3", ["max_surplus must be a number above 0"]),
        ("trap --target 0.5 --methods suffice:bounds=wide", ["bounds must be one of", "kl"]),
        ("trap --target 0.5 --methods magic", ["methods must be some of suffice, paper", "'magic'"]),
        ("trap --target 0.5 --methods ,", ["methods must be some of", "got none"]),
        ("trap --target 0.5 --set frist=3", ["did you mean first?", "first=800, last=1300, cost=0.05"]),
        ("trap --target 0.5 --set first", ["key=value", "first=800"]),
        ("trap --target 0.5 --set first=many", ["first must be a whole number", "first=800"]),
        ("trap:first=9,last=3 --target 0.5", ["first must be at most last", "last=1300"]),
        ("trap --target 0.5 --set safe=safe", ["set must name a setting, got 'safe'"]),
        ("trap --target 0.5 --out /dev/null/x", ["out must name a folder"]),
    ],
)  # fmt: skip
def test_bad_arguments(say: Say, words: str, parts: list[str]) -> None:
    assert_refused(say("run", *words.split()), *parts)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a,b\n1,2\n", ["columns must include success:OPTION", "a, b"]),
        ("success:a,success:b,cost:b\n1,1,1\n", ["cost:a"]),
        ("success:a,cost:a,success:b,cost:b\n1,nan,1,1\n", ["cost:a must be between 0 and 1", "nan in row 1"]),
        ("success:a,cost:a,success:b,cost:b\n1,0,1,1\n1,3,1,1\n", ["what the safe option costs", "got 3 in row 2"]),
        ("success:a,cost:a,success:b,cost:b\n1,oops,1,1\n", ["cost:a must be a number, got 'oops' in row 1"]),
        ("success:a,cost:a,success:b,cost:b\n", ["at least one row"]),
        ("", ["columns must include success:OPTION"]),
    ],
)
def test_bad_logs(say: Say, tmp_path: Path, text: str, parts: list[str]) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    assert_refused(say("run", str(path), "--target", "0.9"), *parts)


def test_a_log_whose_safe_option_fails_gives_a_warning_of_one_line(tmp_path: Path) -> None:
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
