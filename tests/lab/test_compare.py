"""`suffice compare`: statistics by hand, boards, runs in worlds that all methods share, and all that it writes."""

import csv
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suffice import Selector, SufficeError, optimum, simulate
from suffice.lab import statistics
from suffice.lab.board import Board, Setting, make_board
from suffice.lab.compare import Plan, compare, plan
from suffice.lab.compare_methods import chosen
from suffice.lab.method_specs import methods, rivals
from suffice.lab.result_files import methods_csv, write_comparison
from suffice.lab.run_results import Outcome
from suffice.lab.streams import LabelRanks
from tests.support.command import say_in_process
from tests.support.paths import DOCS

Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Say:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    return partial(say_in_process, capsys)


def small(*streams: str, **changes: Any) -> Plan:
    return plan(streams or ["ranks"], **{"horizon": 200, "seeds": 2, "rivals": "always_safe", **changes})


def ran(price: float, **changes: Any) -> Outcome:
    usual = {
        "rate": 0.8, "cost": 0.1, "late_cost": 0.1, "regret": price, "priced_regret": price, "debt": 0.0,
        "largest_debt": 0.5, "worst_window": 0.7,
    }  # fmt: skip
    return Outcome(**{**usual, **changes})


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


# --- the statistics, by hand


def test_a_ratio_of_means_and_its_interval() -> None:
    # r = 3/3; (x − r·y)/ȳ = −1/3, 0, −1/3, 2/3, of standard deviation √(2/9); Student's 3.182 with 3 degrees of freedom.
    ratio = statistics.ratio([1, 2, 3, 6], [2, 2, 4, 4])
    half = 3.182 * (2 / 9) ** 0.5 / 2
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((1.0, 1.0 - half, 1.0 + half))
    # Not the mean of the ratios, which would be (½ + 1 + ¾ + 1½)/4.
    assert np.mean([0.5, 1, 0.75, 1.5]) != pytest.approx(1.0)
    same = statistics.ratio([3, 5, 8], [3, 5, 8])
    assert (same.value, same.low, same.high) == (1.0, 1.0, 1.0)
    alone = statistics.ratio([3], [6])
    assert (alone.value, alone.low, alone.high) == (0.5, 0.5, 0.5)
    assert np.isnan(statistics.ratio([1, 2], [-3, 3]).value)


def test_a_geometric_mean_and_its_interval() -> None:
    # Both ratios are 1. The seeds move the log of the first by −½ and ½, of the mean of both by half that: a standard
    # error of ¼, with Student's 12.706 for one degree of freedom.
    mean = statistics.geometric([([1, 3], [2, 2]), ([2, 2], [2, 2])])
    assert (mean.value, mean.low, mean.high) == pytest.approx((1.0, np.exp(-12.706 / 4), np.exp(12.706 / 4)))
    assert statistics.geometric([([8, 8], [1, 1]), ([2, 2], [4, 4])]).value == pytest.approx(2.0)  # √(8·½)
    # Two streams that move together are no evidence twice.
    single, both = (statistics.geometric([([1, 2, 4], [2, 2, 2])] * count) for count in (1, 2))
    assert (both.low, both.high) == pytest.approx((single.low, single.high))
    assert np.isnan(statistics.geometric([([1, -2], [1, 1])]).value)
    assert np.isnan(statistics.geometric([]).value)


def test_the_intervals_of_ratios_cover() -> None:
    rng = np.random.default_rng(2)
    worlds = rng.gamma(20, 5, (500, 20))
    pairs = [(0.6 * world + rng.normal(0, 5, 20), world + rng.normal(0, 5, 20)) for world in worlds]
    ratios = [statistics.ratio(x, y) for x, y in pairs]
    assert 0.91 <= np.mean([ratio.low <= 0.6 <= ratio.high for ratio in ratios]) <= 0.98
    unpaired = [statistics.ratio(x, np.roll(y, 1)) for x, y in pairs]
    assert np.mean([r.high - r.low for r in ratios]) < 0.5 * np.mean([r.high - r.low for r in unpaired])
    means = [statistics.geometric([pair, pair]) for pair in pairs]
    assert 0.91 <= np.mean([mean.low <= 0.6 <= mean.high for mean in means]) <= 0.98


# --- boards


@pytest.fixture(scope="module")
def ranks() -> Setting:
    return plan(["ranks"], horizon=1000, seeds=2, window=100).streams[0]


def board_of(setting: Setting, runs: dict[str, list[Outcome]]) -> Board:
    return make_board(setting, dict.fromkeys(runs, "success"), runs, {}, {})


def test_a_board(ranks: Setting) -> None:
    runs = {
        "suffice": [ran(10), ran(14)],
        "paper-1": [ran(30), ran(34)],
        "paper-5": [ran(23.5), ran(24.5)],
        "bold": [ran(1, rate=0.7, debt=100.0), ran(2, rate=0.71, debt=90.0, largest_debt=120.0, worst_window=0.1)],
    }
    board = make_board(ranks, dict.fromkeys(runs, "success"), runs, {"sps": "why not"}, {})
    rows = {row.method: row for row in board.rows}
    assert board.yardstick == "paper-5"
    ours, first = rows["suffice"].ratio, rows["paper-1"].ratio
    assert ours is not None
    assert first is not None
    assert (ours.value, first.value) == pytest.approx((24 / 48, 64 / 48))
    assert [row.method for row in board.rows] == ["suffice", "paper-5", "paper-1", "bold"]  # a large debt comes last
    assert [row.short for row in board.rows] == [False, False, False, True]
    bold = rows["bold"]
    assert (bold.largest_debt, bold.worst_window) == (120.0, 0.1)
    assert (bold.mean_largest_debt.value, bold.mean_worst_window.value) == pytest.approx((60.25, 0.4))
    assert board.skipped == {"sps": "why not"}


def test_without_a_sure_yardstick_there_are_no_ratios(ranks: Setting) -> None:
    wide = board_of(ranks, {"suffice": [ran(1), ran(2)], "paper-1": [ran(1), ran(40)]})
    alone = board_of(ranks, {"suffice": [ran(1), ran(2)]})
    for board in (wide, alone):
        assert (board.yardstick, board.rows[0].ratio) == (None, None)
    shifting = plan(["trap"], horizon=1000, seeds=1, window=100).streams[0]
    runs = {name: [ran(0, regret=None, priced_regret=None, cost=cost)] for name, cost in (("paper-1", 2), ("ours", 1))}
    board = board_of(shifting, runs)
    assert [row.method for row in board.rows] == ["ours", "paper-1"]  # by cost
    assert (board.yardstick, board.rows[0].regret) == (None, None)


def test_a_regret_below_0_has_no_ratio(ranks: Setting) -> None:
    """A method that uses the context may be below the context-free optimum."""
    runs = {
        "paper-1": [ran(30), ran(34)],
        "linucb": [ran(-40, cost=0.05), ran(-44, cost=0.07)],
        "suffice": [ran(10), ran(14)],
    }
    board = board_of(ranks, runs)
    assert [row.method for row in board.rows] == ["linucb", "suffice", "paper-1"]
    first, best = board.rows[0], board.best
    assert first.ratio is None
    assert best is not None
    assert first.of_optimum is not None
    assert first.of_optimum.value == pytest.approx(0.06 / best.cost)
    assert first.of_optimum.low < first.of_optimum.value < first.of_optimum.high
    assert [row["ratio"] == "" for row in table(methods_csv([board]))] == [True, False, False]


# --- which methods


def test_methods_are_chosen() -> None:
    ours = ("suffice", "paper-1", "paper-5", "paper-20")
    assert chosen("none") == ours
    assert chosen("all") == (*ours, *rivals())
    assert chosen("scalar_aci, conservative-path ,scalar_aci", paper=False) == (
        "suffice",
        "scalar_aci",
        "conservative_path",
    )
    assert chosen(["projected-5", "paper"]) == (*ours, "projected-5")
    same = set(chosen("same")) - set(ours)
    assert {"always_safe", "projected", "scalar_aci"} <= same
    assert {rivals()[name].feedback for name in same} == {"none", "success", "success + cost"}


def test_the_randomness_of_a_method_differs_between_worlds() -> None:
    stream = LabelRanks.cifar100()
    make = methods(stream, 0.8, 300, ["suffice"])["suffice"]
    plays = [simulate(make(seed), stream, 300, seed=0).arms.tolist() for seed in (1, 1, 2)]
    assert plays[0] == plays[1] != plays[2]


# --- runs


def test_a_row_agrees_with_simulate() -> None:
    (board,) = compare(plan(["ranks"], target=0.9, horizon=3000, seeds=1, seed=7, window=100, rivals="none"), jobs=1)
    stream = LabelRanks.cifar100()
    trace = simulate(Selector(stream.menu, 0.9, seed=7), stream, 3000, seed=7)
    row = next(row for row in board.rows if row.method == "suffice")
    best = optimum(*stream.truth(), target=0.9)
    assert row.rate.value == pytest.approx(trace.rate)
    assert row.debt.value == pytest.approx(trace.debt)
    assert row.largest_debt == pytest.approx(trace.largest_debt)
    assert row.worst_window == pytest.approx(trace.worst_window(100))
    assert row.cost.value == pytest.approx(trace.mean_cost)
    assert row.of_optimum is not None
    assert row.of_optimum.value == pytest.approx(trace.mean_cost / best.cost)
    assert row.regret is not None
    assert row.priced_regret is not None
    assert row.regret.value == pytest.approx(3000 * (trace.mean_cost - best.cost))
    slope = best.price if trace.debt > 0 else best.price_ahead
    assert row.priced_regret.value == pytest.approx(row.regret.value + slope * trace.debt)
    assert str(board.certificates["suffice"]) == str(trace.method.certificate())


def test_jobs_change_nothing() -> None:
    seen: list[tuple[str, int, int]] = []
    first = compare(small("ranks", "needs"), jobs=1, progress=lambda *what: seen.append(what))
    second = compare(small("ranks", "needs"), jobs=2)
    assert [board.outcomes for board in first] == [board.outcomes for board in second]
    assert seen == [("runs", done, 20) for done in range(21)]


def test_a_file_that_has_changed_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rates = []
    for successes in ("1", "0"):
        path.write_text(f"success:a,cost:a,success:b,cost:b\n{successes},0.1,1,1\n")
        (board,) = compare(small(str(path), horizon=50, rivals="none"), jobs=1)
        rates.append(next(row.cost.value for row in board.rows if row.method == "suffice"))
    assert rates[0] < 0.5 < rates[1]


# --- methods that cannot run


LABELLED = """
import suffice

class Words:
    name = "words"
    menu = suffice.Menu({"first": 0.5, "both": 1}, safe="both", skip="none")

    def draw(self, rng, count):
        return ["first"] * count

    def outcome(self, latent, arm, price):
        return float(arm > 0), arm / 2

    def context(self, latent):
        return latent
"""


def test_methods_that_cannot_run_are_listed_and_the_others_run(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text(LABELLED)
    wanted = small(str(tmp_path / "words.py"), rivals="scalar_aci,linucb,always_safe")
    (board,) = compare(wanted, jobs=1)
    assert {row.method for row in board.rows} == {"suffice", "paper-1", "paper-5", "paper-20", "always_safe"}
    assert "must be a chain" in board.skipped["scalar_aci"]  # at once
    assert "context must" in board.skipped["linucb"]  # when it was run


def test_a_stream_that_breaks_is_named_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "words.py"
    path.write_text(LABELLED.replace("arm / 2", "arm / 0"))
    with pytest.raises(SufficeError, match=r"no method ran to the end: ZeroDivisionError: .* \(words.py:12\)"):
        compare(small(str(path)), jobs=1)


# --- streams with contexts


SEEN = """
import numpy as np
import suffice

class Seen:
    name, description = "seen", "easy or hard, and the context says which"
    menu = suffice.Menu({"small": 0.2, "all": 1}, safe="all", skip="none")

    def draw(self, rng, count):
        return rng.random((count, 2))

    def context(self, latent):
        return {"hard": float(latent[0] > 0.7)}

    def outcome(self, latent, arm, price):
        works = latent[1] < (0.98 if latent[0] <= 0.7 else 0.1)
        return ((0.0, 0.0), (float(works), 0.2), (1.0, 1.0))[arm]

    def truth(self):
        return [0.0, 0.7 * 0.98 + 0.3 * 0.1, 1.0], [0.0, 0.2, 1.0]

    def cases(self):
        return [0.7, 0.3], [[0.0, 0.98, 1.0], [0.0, 0.1, 1.0]], [[0.0, 0.2, 1.0], [0.0, 0.2, 1.0]]
"""


def test_contexts_bring_in_the_model(tmp_path: Path) -> None:
    (tmp_path / "seen.py").write_text(SEEN)
    assert "suffice:model=auto" not in small("ranks").methods
    assert small(str(tmp_path / "seen.py"), "ranks").methods[:2] == ("suffice", "suffice:model=auto")
    assert small(str(tmp_path / "seen.py"), rivals="suffice:model=auto").methods.count("suffice:model=auto") == 1


def test_contexts_pay_and_have_an_optimum_of_their_own(
    tmp_path: Path, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "seen.py").write_text(SEEN)
    words = "seen.py ranks --target 0.9 --horizon 1500 --seeds 2 --rivals linucb --jobs 1"
    code, out, _ = say("compare", *words.split())
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    for part in (
        "with the context.",
        "optimum, context",
        "suffice:model=auto, linucb cannot run here: stream must show",
    ):
        assert part in " ".join(out.split()), part
    rows = {(row["stream"], row["method"]): row for row in table(Path("comparison/methods.csv").read_text())}
    plain, model, rival = (rows["seen.py", name] for name in ("suffice", "suffice:model=auto", "linucb"))
    # 71.6% succeed with small: 0.9 takes 0.1/0.284 of it, at 0.2, and the rest at 1. With the context, small where it is
    # easy and for the others the safe option, but none for as many as may still fail.
    alike = 0.2 * 0.1 / 0.284 + 1.0 - 0.1 / 0.284
    contextual = 0.7 * 0.2 + 0.3 - (0.1 - 0.7 * 0.02)
    assert (float(rival["optimum"]), float(rival["contextual_optimum"])) == pytest.approx((alike, contextual))
    assert rows["ranks", "suffice"]["contextual_optimum"] == ""
    assert float(rival["of_optimum"]) == pytest.approx(float(rival["cost"]) / alike)
    assert (rival["feedback"], model["feedback"]) == ("context, success + cost",) * 2
    assert plain["feedback"] == "success + cost"
    assert float(rival["cost"]) < float(plain["cost"])
    assert float(model["cost"]) < float(plain["cost"])
    assert float(model["largest_debt"]) <= 5.0


# --- the command, and what it writes


def test_the_command(say: Say) -> None:
    words = "compare ranks needs:a=3,b=4 trap --rivals always_safe,linucb,projected --seeds 3 --horizon 400 --jobs 1"
    code, out, err = say(*words.split())
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    for part in ("needs:a=3,b=4", "Optimum at 80%", "success + cost", "◆", "±", "≤", "≥",
                 "regret", "ratio", "No optimum is known", "linucb cannot run here: stream must show a context",
                 "Means over 3 seeds", "methods.csv"):  # fmt: skip
        assert part in " ".join(out.split()), part
    shifting = out[out.index("trap: ") :]
    assert "ratio" not in shifting.split("Debt:")[0]
    folder = Path("comparison")
    assert [path.name for path in folder.iterdir()] == ["methods.csv"]
    rows = table((folder / "methods.csv").read_text())
    ours = next(row for row in rows if (row["stream"], row["method"]) == ("ranks", "suffice"))
    assert (ours["feedback"], ours["seeds"], ours["horizon"]) == ("success + cost", "3", "400")
    assert float(ours["largest_debt"]) >= float(ours["mean_largest_debt"])
    assert float(ours["ratio_low"]) <= float(ours["ratio"]) <= float(ours["ratio_high"])
    assert all(row["regret"] == row["ratio"] == "" for row in rows if row["stream"] == "trap")


def test_one_seed_shows_the_certificate(say: Say, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("success:a,cost:a,success:b,cost:b\n1,0.1,1,1\n0,0.1,1,1\n1,0.2,1,1\n")
    words = ["compare", "log.csv", "--rivals", "always_safe", "--seeds", "1", "--jobs", "1", "--target", "0.9"]
    code, out, _ = say(*words, "--horizon", "300")
    assert code == 0
    for part in ("suffice's certificate", "Kept: ", "paper-20 cannot run here: menu must have a skip option",
                 "Best fixed mix over the whole log", "To add one: --set skip=skip", "The log has 3 rows"):  # fmt: skip
        assert part in " ".join(out.split()), part
    assert "3 steps" in " ".join(say(*words)[1].split())  # as many as the log has rows
    (board,) = compare(plan(["log.csv"], target=0.9, seeds=1, rivals="always_safe"), jobs=1)
    assert (board.setting.horizon, board.setting.seeds) == (3, (0,))
    assert str(board.certificates["suffice"]).startswith("At most 0.7 behind (limit 5): 66.7% of 3 outcomes succeeded")
    assert "certificate" not in say(*words[:5], "2", *words[6:])[1]


def test_a_log_whose_safe_option_fails_gives_a_warning_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("success:a,cost:a,success:b,cost:b\n" + "1,0.1,1,1\n0,0.1,0,1\n" * 20)
    words = ["compare", "log.csv", "--target", "0.9", "--seeds", "1", "--rivals", "none", "--no-paper", "--jobs", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "suffice", *words],
        capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, "COLUMNS": "80"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("suffice: safe ('b') fails in 20 of 40 rows")
    assert len(done.stderr.strip().splitlines()) == 1
    assert "No optimum: target 0.9 is out of reach" in done.stdout


def test_the_same_runs_give_the_same_files(tmp_path: Path) -> None:
    boards = compare(small(), jobs=1)
    for folder in ("one", "two"):
        write_comparison(boards, tmp_path / folder)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


def test_the_lines_of_the_docs_work_as_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DOCS / "lab.md").read_text()
    block = next(part for part in (rest.split("```")[0] for rest in text.split("```py\n")) if "compare(plan(" in part)
    monkeypatch.chdir(tmp_path)
    before, after = 'rivals="same", seeds=20)', 'rivals="none", seeds=2, horizon=99), jobs=1'
    assert before in block
    exec(block.replace(before, after))
    assert (tmp_path / "comparison" / "methods.csv").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "streams must name at least one, as in `suffice compare beta ranks`"),
        ("trp", "got 'trp': did you mean trap?"),
        ("trap --set first", "set must be written key=value, got 'first'"),
        ("trap --rivals linucv", "got 'linucv': did you mean linucb?"),
        ("trap --rivals paper-x", "paper must be followed by a scale above 0, as in paper-5, got 'paper-x'"),
        ("trap --horizon 0", "horizon must be at least 1"),
        ("trap --seeds 0", "seeds must be at least 1"),
        ("trap --window 0", "window must be at least 1"),
        ("trap --jobs 0", "jobs must be a number of processes"),
        ("trap --out /dev/null/x", "out must name a folder that can be written"),
    ],
)
def test_bad_arguments(say: Say, words: str, message: str) -> None:
    code, out, err = say("compare", *words.split())
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert not Path("comparison/methods.csv").exists()
