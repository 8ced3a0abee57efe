"""`suffice compare`: its statistics by hand, results that survive an interrupt and never mix, and all that it writes."""

import contextlib
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from suffice import InvalidArgument, SufficeError
from suffice.cli import compare_tables
from suffice.cli import main as cli
from suffice.lab import compare_streams, statistics
from suffice.lab.compare import Found, Plan, perform, plan
from suffice.lab.compare_board import board, totals
from suffice.lab.compare_files import methods_csv, numbers, runs_csv, write
from suffice.lab.compare_methods import chosen
from suffice.lab.compare_store import NAME, Store
from suffice.lab.compare_streams import Entry, entries
from suffice.lab.method_specs import methods, rivals
from suffice.lab.report import brief
from suffice.lab.run import compare as run_compare
from suffice.lab.run_results import Outcome
from suffice.lab.run_stream import open_stream, parts
from suffice.lab.streams import RequiredThreshold
from tests.support.command import say_in_process
from tests.support.paths import DOCS

Say = Callable[..., tuple[int, str, str]]

# Runs that take a moment where the environment says so, so that they can be caught in the middle.
SLOW = """
import os, time
import suffice

class Slow:
    name, about = "slow", "a coin that takes its time"
    menu = suffice.Menu({"half": 0.5}, safe="all", skip="none")

    @classmethod
    def named(cls, *, chance: float = 0.5):
        made = cls()
        made.chance = chance
        return made

    def draw(self, rng, count):
        time.sleep(float(os.environ.get("SLOW", "0")))
        return rng.random(count)

    def judge(self, latent, arm, price):
        return ((0.0, 0.0), (float(latent < self.chance), 0.5), (1.0, 1.0))[arm]

    def truth(self):
        return [0.0, self.chance, 1.0], [0.0, 0.5, 1.0]
"""


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Say:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    return partial(say_in_process, capsys)


def small(*streams: str, **changes: Any) -> Plan:
    return plan(streams or ["mix"], **{"horizon": 200, "seeds": 2, "rivals": "always_safe", **changes})


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / NAME).read_text().splitlines()]


def ran(price: float, **changes: Any) -> Outcome:
    known = {
        "rate": 0.8,
        "cost": 0.1,
        "late_cost": 0.1,
        "regret": price,
        "debt": 0.0,
        "largest_debt": 0.5,
        "worst_window": 0.7,
    }
    return Outcome(**{**known, "priced_regret": price, **changes})


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


# --- the statistics, by hand


def test_a_ratio_of_means_and_its_interval() -> None:
    # r = 3/3; (x − r·y)/ȳ = −1/3, 0, −1/3, 2/3, of standard deviation √(2/9); Student's 3.182 with 3 degrees of freedom.
    found = statistics.ratio([1, 2, 3, 6], [2, 2, 4, 4])
    half = 3.182 * (2 / 9) ** 0.5 / 2
    assert (found.value, found.low, found.high) == pytest.approx((1.0, 1.0 - half, 1.0 + half))
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
    found = statistics.geometric([([1, 3], [2, 2]), ([2, 2], [2, 2])])
    assert (found.value, found.low, found.high) == pytest.approx((1.0, np.exp(-12.706 / 4), np.exp(12.706 / 4)))
    assert statistics.geometric([([8, 8], [1, 1]), ([2, 2], [4, 4])]).value == pytest.approx(2.0)  # √(8·½)
    # Two streams that move together are no evidence twice.
    one, both = (statistics.geometric([([1, 2, 4], [2, 2, 2])] * count) for count in (1, 2))
    assert (both.low, both.high) == pytest.approx((one.low, one.high))
    assert np.isnan(statistics.geometric([([1, -2], [1, 1])]).value)
    assert np.isnan(statistics.geometric([]).value)


def test_the_intervals_of_ratios_cover() -> None:
    rng = np.random.default_rng(2)
    world = rng.gamma(20, 5, (500, 20))
    pairs = [(0.6 * one + rng.normal(0, 5, 20), one + rng.normal(0, 5, 20)) for one in world]
    found = [statistics.ratio(x, y) for x, y in pairs]
    assert 0.91 <= np.mean([one.low <= 0.6 <= one.high for one in found]) <= 0.98
    unpaired = [statistics.ratio(x, np.roll(y, 1)) for x, y in pairs]
    assert np.mean([one.high - one.low for one in found]) < 0.5 * np.mean([one.high - one.low for one in unpaired])
    means = [statistics.geometric([pair, pair]) for pair in pairs]
    assert 0.91 <= np.mean([one.low <= 0.6 <= one.high for one in means]) <= 0.98


@pytest.fixture(scope="module")
def mix() -> Entry:
    return entries(["mix"], [], 0.8, 1000, 100)[0]


def test_a_board(mix: Entry) -> None:
    runs = {
        "suffice": [ran(10), ran(14)],
        "paper-1": [ran(30), ran(34)],
        "paper-5": [ran(23.5), ran(24.5)],
        "bold": [ran(1, rate=0.7, debt=100.0), ran(2, rate=0.71, debt=90.0, largest_debt=120.0, worst_window=0.1)],
    }
    found = board(mix, 0.8, dict.fromkeys(runs, "success"), runs, {"sps": "why not"})
    assert found.yardstick == "paper-5"
    ours, first = found.ratios["suffice"], found.ratios["paper-1"]
    assert ours is not None
    assert first is not None
    assert (ours.value, first.value) == pytest.approx((24 / 48, 64 / 48))
    assert found.short == {"bold"}
    assert [row.method for row in found.rows] == ["suffice", "paper-5", "paper-1", "bold"]  # who owes much is last
    bold = found.rows[-1]
    assert (bold.largest_debt, bold.worst_window) == (120.0, 0.1)
    assert (bold.mean_largest_debt.value, bold.mean_worst_window.value) == pytest.approx((60.25, 0.4))
    assert found.rows[0].dearer is not None
    assert found.rows[0].dearer.value == 0.0
    assert found.skipped == {"sps": "why not"}


def test_without_a_sure_yardstick_there_are_no_ratios(mix: Entry) -> None:
    feedback = {"suffice": "success + cost", "paper-1": "success + cost"}
    wide = board(mix, 0.8, feedback, {"suffice": [ran(1), ran(2)], "paper-1": [ran(1), ran(40)]}, {})
    assert (wide.yardstick, wide.ratios) == (None, {})
    assert "not clearly above 0" in str(wide.unmeasured)
    alone = board(mix, 0.8, feedback, {"suffice": [ran(1), ran(2)]}, {})
    assert "not among those that ran" in str(alone.unmeasured)
    shifting = entries(["trap"], [], 0.8, 1000, 100)[0]
    lost = {
        name: [ran(0, regret=None, priced_regret=None, cost=cost)] for name, cost in (("paper-1", 2), ("suffice", 1))
    }
    steady = board(shifting, 0.8, feedback, lost, {})
    assert [row.method for row in steady.rows] == ["suffice", "paper-1"]  # by cost
    assert (steady.yardstick, steady.unmeasured, steady.rows[0].regret) == (None, None, None)


def test_totals(mix: Entry) -> None:
    paper = {"paper-1": [ran(10), ran(10)]}
    feedback = dict.fromkeys(("a", "b", "c", "paper-1"), "success")
    first = board(mix, 0.8, feedback, {"a": [ran(20), ran(20)], "b": [ran(1), ran(1)], **paper}, {})
    second_entry = entries(["mix:easy=0.7,hard=0.3"], [], 0.8, 1000, 100)[0]
    second = board(second_entry, 0.8, feedback, {"a": [ran(5), ran(5)], "c": [ran(-1), ran(-1)], **paper}, {})
    found = {total.method: total for total in totals([first, second])}
    assert list(found) == ["a", "paper-1", "c", "b"] or list(found) == ["paper-1", "a", "c", "b"]
    assert found["a"].overall is not None
    assert found["a"].overall.value == pytest.approx(1.0)  # √(2·½)
    assert found["b"].ratios.keys() == {"mix"}
    assert found["c"].ratios == {"mix:easy=0.7,hard=0.3": None}  # of a regret below 0 there is no share
    assert found["c"].overall is None
    assert found["c"].plain == pytest.approx(-0.1)
    assert totals([first]) == ()


def test_a_regret_below_0(mix: Entry) -> None:
    """Who looks at the context may be below the optimum that does not look: no ratio, no lie, and the first place."""
    runs = {
        "paper-1": [ran(30), ran(34)],
        "looks": [ran(-40, cost=0.05, late_cost=0.04), ran(-44, cost=0.07, late_cost=None)],
        "suffice": [ran(10), ran(14)],
    }
    feedback = dict.fromkeys(runs, "success + cost") | {"looks": "context, success + cost"}
    found = board(mix, 0.8, feedback, runs, {})
    assert [row.method for row in found.rows] == ["looks", "suffice", "paper-1"]
    assert found.ratios["looks"] is None
    first, best = found.rows[0], found.best
    assert best is not None
    assert first.of_optimum is not None
    assert first.of_optimum.value == pytest.approx(0.06 / best.cost)
    assert first.of_optimum.low < first.of_optimum.value < first.of_optimum.high
    assert first.late_cost is not None
    assert first.late_cost.value == 0.04  # of the runs that have a second half
    second = board(replace(mix, label="again"), 0.8, feedback, {**runs, "looks": [ran(64), ran(64)]}, {})
    summary = totals([found, second])
    assert [total.method for total in summary] == ["looks", "suffice", "paper-1"]  # 11/32 is less than 12/32
    looks = next(total for total in summary if total.method == "looks")
    assert looks.overall is None
    assert looks.plain == pytest.approx(0.5 * (-42 + 64) / 32)
    found_all = Found(small(), (found, second), summary, 0)
    out = printed(found_all, 120)
    assert out.count("≤ 0") == 2  # on its board and in the summary
    document = json.loads(json.dumps(numbers(found_all)), parse_constant=lambda word: pytest.fail(word))
    assert document["streams"]["mix"]["rows"][0]["ratio"] is None
    assert [row["ratio"] == "" for row in table(methods_csv(found_all))] == [True, *[False] * 5]


# --- which methods


def test_methods_are_chosen() -> None:
    ours = ("suffice", "paper-1", "paper-5", "paper-20")
    assert chosen("none") == ours
    assert chosen("all") == (*ours, *rivals())
    assert chosen("exp3, conservative-path ,exp3,suffice", paper=False) == ("suffice", "exp3", "conservative_path")
    assert chosen(["projected-5", "paper"], suffice=False) == (*ours[1:], "projected-5")
    same = set(chosen("same")) - set(ours)
    assert {"always_safe", "projected", "exp3"} <= same
    assert {rivals()[name].feedback for name in same} == {"none", "success", "success + cost"}


def test_a_methods_own_chance_differs_between_worlds() -> None:
    make = methods(RequiredThreshold(), 0.8, 100, ["exp3"])["exp3"]
    plays = []
    for seed in (1, 1, 2):
        method = make(seed)
        plays.append([method.ask().arm for _ in range(30)])
    assert plays[0] == plays[1] != plays[2]


# --- streams, and what keeps their results apart


def test_settings_stand_in_the_text() -> None:
    assert parts("needs:a=2,b=5") == ("needs", ("a=2", "b=5"))
    assert parts("log.csv:costs.small=0.1,skip=skip") == ("log.csv", ("costs.small=0.1", "skip=skip"))
    assert open_stream("ranks:ks=5,10,least=2").stream.menu.options == (5, 10)
    assert open_stream("trap:first=10", ["first=3", "last=20"]).stream.first == 10


def test_keys_tell_all_apart_that_matters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def key(
        text: str = "needs", settings: Sequence[str] = (), target: float = 0.8, horizon: int = 100, window: int = 50
    ) -> str:
        return entries([text], settings, target, horizon, window)[0].key

    base = key()
    assert base == key()
    others = [key("needs:a=3"), key(settings=["a=4"]), key(target=0.9), key(horizon=200), key(window=20), key("ranks")]
    assert len({base, *others}) == 7
    assert key("needs:a=3") == key(settings=["a=3"])
    assert key(window=1000) == key(window=100)  # no window is longer than the run
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "slow.py").write_text(SLOW)
    files = [key(str(tmp_path / name / "slow.py")) for name in ("one", "two")]
    assert files[0] == files[1]  # the same file in another folder
    (tmp_path / "two" / "slow.py").write_text(SLOW + "\n")
    assert key(str(tmp_path / "two" / "slow.py")) != files[1]
    monkeypatch.setattr(compare_streams, "sources", lambda: "another version")
    assert key() != base


def test_files_are_called_by_their_names(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "slow.py").write_text(SLOW)
    one, two = (str(tmp_path / name / "slow.py") for name in ("one", "two"))
    assert [entry.label for entry in entries([one, one], [], 0.8, 100, 50)] == ["slow.py"]
    assert [entry.label for entry in entries([f"{one}:chance=0.3"], [], 0.8, 100, 50)] == ["slow.py:chance=0.3"]
    assert [entry.label for entry in entries([one, two], [], 0.8, 100, 50)] == [one, two]


# --- runs that are kept


def test_runs_are_those_of_suffice_run(tmp_path: Path) -> None:
    found = perform(small("mix", rivals="exp3"), tmp_path, jobs=1).boards[0]
    stream = open_stream("mix").stream
    names = [row.method for row in found.rows]
    alone = run_compare(stream, 0.8, 200, methods(stream, 0.8, 200, names), seeds=[0, 1])
    for row in alone.rows:
        mine = next(one for one in found.rows if one.method == row.method)
        assert (mine.cost, mine.debt, mine.priced_regret) == (row.cost, row.debt, row.priced_regret)


def test_only_what_is_missing_is_run(tmp_path: Path) -> None:
    first = perform(small(), tmp_path, jobs=1)
    assert (first.reused, len(lines(tmp_path))) == (0, 10)
    assert perform(small(), tmp_path, jobs=1).reused == 10
    more = perform(small(seeds=3), tmp_path, jobs=1)
    assert (more.reused, len(lines(tmp_path))) == (10, 15)
    wider = perform(small("mix", "trap", rivals="always_safe,projected"), tmp_path, jobs=1)
    assert (wider.reused, len(lines(tmp_path))) == (10, 15 + 2 + 12)
    seen: list[tuple[str, int, int]] = []
    perform(small("mix", "trap"), tmp_path, jobs=1, progress=lambda *what: seen.append(what))
    assert seen == [("mix", 10, 10), ("trap", 10, 10)]


def test_settings_do_not_mix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = [small(), small(target=0.7), small(horizon=100), small(window=20), small(settings=["easy=0.6", "hard=0.4"])]
    apart = [runs_csv(perform(one, tmp_path / str(place), jobs=1)) for place, one in enumerate(plans)]
    together = [perform(one, tmp_path / "all", jobs=1) for one in plans]
    assert [found.reused for found in together] == [0] * 5
    assert [runs_csv(found) for found in together] == apart
    assert [perform(one, tmp_path / "all", jobs=1).reused for one in plans] == [10] * 5
    monkeypatch.setattr(compare_streams, "sources", lambda: "another version")
    assert perform(small(), tmp_path / "all", jobs=1).reused == 0


def test_fresh_discards_this_comparison_alone(tmp_path: Path) -> None:
    for one in (small(), small(target=0.7)):
        perform(one, tmp_path, jobs=1)
    again = perform(small(), tmp_path, jobs=1, fresh=True)
    assert (again.reused, len(lines(tmp_path))) == (0, 20)
    assert perform(small(target=0.7), tmp_path, jobs=1).reused == 10


@pytest.mark.parametrize("kept", [0.0, 0.4, 0.999])
def test_a_torn_last_line_is_no_result(tmp_path: Path, kept: float) -> None:
    whole = perform(small(), tmp_path / "whole", jobs=1)
    text = (tmp_path / "whole" / NAME).read_bytes()
    *before, last = text.splitlines(keepends=True)
    (tmp_path / "torn").mkdir()
    torn = tmp_path / "torn" / NAME
    torn.write_bytes(b"".join(before) + last[: int(kept * (len(last) - 1))])
    found = perform(small(), tmp_path / "torn", jobs=1)
    assert found.reused == 9
    assert runs_csv(found) == runs_csv(whole)
    assert torn.read_bytes().endswith(last)  # on a line of its own
    assert perform(small(), tmp_path / "torn", jobs=1).reused == 10


def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("my notes\n")
    with pytest.raises(InvalidArgument, match="out must name a folder of its own"):
        perform(small(), tmp_path, jobs=1)
    assert (tmp_path / NAME).read_text() == "my notes\n"
    (tmp_path / NAME).write_text('{"key": "k", "method": "m", "seed": 0}\n')  # ours, from when less was measured
    assert Store(tmp_path).read() == {}
    assert perform(small(), tmp_path, jobs=1).reused == 0


def test_jobs_change_nothing(tmp_path: Path) -> None:
    one, two = (perform(small("mix", "needs"), tmp_path / str(jobs), jobs=jobs) for jobs in (1, 2))
    assert runs_csv(one) == runs_csv(two)
    assert sorted(map(str, lines(tmp_path / "1"))) == sorted(map(str, lines(tmp_path / "2")))


# --- methods that cannot run


LABELLED = """
import suffice

class Words:
    name = "words"
    menu = suffice.Menu.top_k([1], classes=2)

    @classmethod
    def named(cls):
        return cls()

    def draw(self, rng, count):
        return ["first"] * count

    def judge(self, latent, arm, price):
        return float(arm > 0), arm / 2
"""


def test_what_cannot_run_is_listed_and_the_others_run(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text(LABELLED)
    found = perform(
        small(str(tmp_path / "words.py"), rivals="quantile_aci,shortest_interval,always_safe"), tmp_path / "out", jobs=1
    ).boards[0]
    assert {row.method for row in found.rows} == {"suffice", "paper-1", "paper-5", "paper-20", "always_safe"}
    assert "a menu of intervals" in found.skipped["shortest_interval"]  # at once
    assert "latent must be a finite number" in found.skipped["quantile_aci"]  # when it was run
    assert {line["method"] for line in lines(tmp_path / "out")} == {row.method for row in found.rows}


def test_a_stream_that_breaks_is_named_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "words.py"
    path.write_text(LABELLED.replace("arm / 2", "arm / 0"))
    with pytest.raises(SufficeError, match=r"no method ran to the end: ZeroDivisionError: .* \(words.py:16\)"):
        perform(small(str(path)), tmp_path, jobs=1)


def test_no_method_at_all(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="one that can run here: menu must be a menu of intervals"):
        perform(small(rivals="shortest_interval", suffice=False, paper=False), tmp_path / "out", jobs=1)
    assert not (tmp_path / "out").exists()


# --- interrupts


STOPPED = ["compare", "slow.py", "--rivals", "always_safe", "--seeds", "6", "--horizon", "50", "--jobs", "1"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "slow.py").write_text(SLOW)
    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(SystemExit):
        patch.chdir(folder)
        cli(STOPPED)
    return folder / "comparison"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda how: how.name)
def test_a_run_that_was_stopped_goes_on(tmp_path: Path, say: Say, undisturbed: Path, how: signal.Signals) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    running = subprocess.Popen(
        [sys.executable, "-m", "suffice", *STOPPED, "--out", "stopped"],
        cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "SLOW": "0.15"},
    )  # fmt: skip
    results = tmp_path / "stopped" / NAME
    until = time.monotonic() + 60
    while not (results.exists() and results.read_bytes().count(b"\n") >= 3) and time.monotonic() < until:
        time.sleep(0.02)
    running.send_signal(how)
    out, err = running.communicate(timeout=60)
    kept = len(lines(tmp_path / "stopped"))
    assert 3 <= kept < 30
    assert out == ""
    if how is signal.SIGKILL:
        assert running.returncode == -signal.SIGKILL
    else:
        assert running.returncode == 130
        assert err == f"suffice: stopped; {kept} of 30 runs are kept in stopped: the same command goes on from there\n"
    if how is signal.SIGINT:
        code, out, _ = say(*STOPPED, "--out", "stopped")
        assert code == 0
        assert f"{kept} runs were there already" in out
        for name in ("methods.csv", "runs.csv", "comparison.json", "comparison.html", "slow.py.svg"):
            assert (tmp_path / "stopped" / name).read_bytes() == (undisturbed / name).read_bytes(), name
    else:
        found = perform(plan(["slow.py"], rivals="always_safe", seeds=6, horizon=50), "stopped", jobs=1)
        assert found.reused == kept
        assert runs_csv(found) == (undisturbed / "runs.csv").read_text()
    assert len(lines(tmp_path / "stopped")) == 30


# --- streams with contexts


SEEN = """
import numpy as np
import suffice

class Seen:
    name, about = "seen", "easy or hard, and one sees which"
    menu = suffice.Menu({"small": 0.2}, safe="all", skip="none")

    @classmethod
    def named(cls):
        return cls()

    def draw(self, rng, count):
        return rng.random((count, 2))

    def context(self, latent):
        return {"hard": float(latent[0] > 0.7)}

    def judge(self, latent, arm, price):
        works = latent[1] < (0.98 if latent[0] <= 0.7 else 0.1)
        return ((0.0, 0.0), (float(works), 0.2), (1.0, 1.0))[arm]

    def truth(self):
        return [0.0, 0.7 * 0.98 + 0.3 * 0.1, 1.0], [0.0, 0.2, 1.0]

    def cases(self):
        return [0.7, 0.3], [[0.0, 0.98, 1.0], [0.0, 0.1, 1.0]], [[0.0, 0.2, 1.0], [0.0, 0.2, 1.0]]
"""


@pytest.fixture(scope="module")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Found, Path]:
    folder = tmp_path_factory.mktemp("contexts")
    (folder / "seen.py").write_text(SEEN)
    wanted = plan([str(folder / "seen.py"), "mix"], target=0.9, horizon=1500, seeds=2, rivals="linucb,squarecb")
    assert wanted.methods[:3] == ("suffice", "suffice:model=auto", "paper-1")
    found = perform(wanted, folder / "out", jobs=1)
    write(found, folder / "out")
    return found, folder / "out"


def test_contexts_bring_in_the_model_unless_ours_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "seen.py").write_text(SEEN)
    assert "suffice:model=auto" not in small("mix").methods
    assert small(str(tmp_path / "seen.py"), "mix").methods[:2] == ("suffice", "suffice:model=auto")
    assert "suffice:model=auto" not in small(str(tmp_path / "seen.py"), suffice=False).methods
    assert small(str(tmp_path / "seen.py"), rivals="suffice:model=auto").methods.count("suffice:model=auto") == 1


def test_both_optima_are_there(contexts: tuple[Found, Path]) -> None:
    found, folder = contexts
    seen, plain = found.boards
    # 71.6% succeed with small: 0.9 takes 0.1/0.284 of it, at 0.2, and the rest at 1. Looking, small where it is easy and
    # for the others the safe option, but none for as many as may still fail.
    alike = 0.2 * 0.1 / 0.284 + 1.0 - 0.1 / 0.284
    looking = 0.7 * 0.2 + 0.3 - (0.1 - 0.7 * 0.02)
    assert seen.best is not None
    assert seen.looking is not None
    assert (seen.best.cost, seen.looking.cost) == pytest.approx((alike, looking))
    assert plain.looking is None
    document = json.loads((folder / "comparison.json").read_text())
    assert document["streams"]["seen.py"]["contextual_optimum"]["cost"] == pytest.approx(looking)
    assert document["streams"]["mix"]["contextual_optimum"] is None
    rows = {(row["stream"], row["method"]): row for row in table((folder / "methods.csv").read_text())}
    mine = rows["seen.py", "linucb"]
    assert float(mine["contextual_optimum"]) == pytest.approx(looking)
    assert float(mine["of_optimum"]) == pytest.approx(float(mine["cost"]) / alike)
    assert float(mine["of_optimum_low"]) < float(mine["of_optimum"]) < float(mine["of_optimum_high"])
    assert (mine["feedback"], rows["seen.py", "suffice:model=auto"]["feedback"]) == ("context, success + cost",) * 2
    assert rows["seen.py", "suffice"]["feedback"] == "success + cost"
    assert float(mine["late_cost"]) < float(rows["seen.py", "suffice"]["late_cost"])
    runs = table((folder / "runs.csv").read_text())
    assert all(float(run["late_cost"]) >= 0.0 for run in runs)
    page, figure = (folder / "comparison.html").read_text(), (folder / "seen.py.svg").read_text()
    for part in ("Looking at the context, the optimum costs", "of optimum", "second half", "context, success + cost"):
        assert part in page, part
    assert "optimum, looking at the context" in figure
    assert "optimum, looking at the context" not in (folder / "mix.svg").read_text()


@pytest.mark.parametrize("width", [80, 120])
def test_the_tables_of_contexts(contexts: tuple[Found, Path], width: int) -> None:
    found = contexts[0]
    where = Console(width=width, file=io.StringIO())
    for part in compare_tables.boards(found, where):
        where.print(part)
    out = where.file.getvalue()  # type: ignore[attr-defined]
    assert max(map(len, out.splitlines())) <= width
    assert "…" not in out
    words = " ".join(out.split())
    for part in ("a step without looking at the context", "looking at it.", "optimum, looking", "context, success + cost",
                 "suffice:model=auto, linucb, squarecb cannot run here: stream must show a context"):  # fmt: skip
        assert part in words, part
    assert out.count("optimum, looking") == 1
    assert "or by looking at the context" in str(compare_tables.explained(found))


def test_looking_pays(contexts: tuple[Found, Path]) -> None:
    rows = {row.method: row for row in contexts[0].boards[0].rows}
    assert rows["linucb"].cost.value < rows["suffice"].cost.value
    assert rows["suffice:model=auto"].largest_debt <= 1.0
    assert rows["suffice:model=auto"].cost.value < rows["suffice"].cost.value


# --- the command, and what it writes


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Found, Path]:
    folder = tmp_path_factory.mktemp("written")
    found = perform(
        plan(["mix", "needs:a=3,b=4", "trap"], horizon=400, seeds=3, rivals="always_safe,sps,clairvoyant"),
        folder,
        jobs=1,
    )
    write(found, folder, "suffice compare mix & more")
    return found, folder


def test_the_files(written: tuple[Found, Path]) -> None:
    found, folder = written
    figures = [
        f"{name}{end}" for name in ("mix", "needs-a=3-b=4", "trap", "summary") for end in (".svg", "-dark.svg", ".png")
    ]
    assert {path.name for path in folder.iterdir()} == {
        NAME, "comparison.html", "comparison.json", "methods.csv", "runs.csv", *figures,
    }  # fmt: skip
    light, dark = ((folder / f"mix{end}.svg").read_text() for end in ("", "-dark"))
    assert "#ffffff" in light
    assert "#16181c" in dark
    for part in (
        "conservative" if "conservative" in light else "safe",
        "knows the truth",
        "the yardstick",
        "largest debt",
    ):
        assert part in light
    rows = table((folder / "methods.csv").read_text())
    assert len(rows) == sum(len(board.rows) for board in found.boards)
    ours = next(row for row in rows if (row["stream"], row["method"]) == ("mix", "suffice"))
    first = next(row for row in found.boards[0].rows if row.method == "suffice")
    assert first.priced_regret is not None
    assert float(ours["priced_regret_low"]) == first.priced_regret.low
    assert (ours["feedback"], ours["seeds"], ours["horizon"]) == ("success + cost", "3", "400")
    assert ours["yardstick"] == found.boards[0].yardstick
    assert float(ours["largest_debt"]) >= float(ours["mean_largest_debt"])
    assert float(ours["ratio_low"]) <= float(ours["ratio"]) <= float(ours["ratio_high"])
    shifting = [row for row in rows if row["stream"] == "trap"]
    assert {row["method"] for row in shifting} == {"suffice", "paper-1", "paper-5", "paper-20", "always_safe"}
    assert all(row["regret"] == row["ratio"] == "" for row in shifting)
    runs = table((folder / "runs.csv").read_text())
    assert len(runs) == len(lines(folder)) == 3 * len(rows)
    mine = [run for run in runs if (run["stream"], run["method"]) == ("mix", "suffice")]
    assert [run["seed"] for run in mine] == ["0", "1", "2"]
    assert np.mean([float(run["cost"]) for run in mine]) == pytest.approx(first.cost.value)
    assert methods_csv(found) == (folder / "methods.csv").read_text()


def test_the_numbers(written: tuple[Found, Path]) -> None:
    found, folder = written
    document = json.loads((folder / "comparison.json").read_text(), parse_constant=lambda word: pytest.fail(word))
    assert document == json.loads(json.dumps(numbers(found)))
    assert list(document["streams"]) == ["mix", "needs:a=3,b=4", "trap"]
    assert document["streams"]["trap"]["optimum"] is None
    assert {"sps", "clairvoyant"} == set(document["streams"]["trap"]["skipped"])
    yardstick = document["streams"]["mix"]["yardstick"]
    row = next(row for row in document["streams"]["mix"]["rows"] if row["method"] == yardstick)
    assert row["ratio"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    papers = [row for row in document["streams"]["mix"]["rows"] if row["method"].startswith("paper")]
    assert min(papers, key=lambda row: row["priced_regret"]["value"])["method"] == yardstick
    assert all(set(total["ratios"]) == {"mix", "needs:a=3,b=4"} for total in document["summary"])


def test_the_page_stands_alone(written: tuple[Found, Path]) -> None:
    found, folder = written
    page = (folder / "comparison.html").read_text()
    addresses = re.findall(r"(?:src|srcset|href)=[\"']([^\"']+)", page)
    assert len(addresses) == 2 * 4 + 2  # four figures in two styles, two links within
    assert all(address.startswith(("data:image/svg+xml;base64,", "#")) for address in addresses)
    for part in (
        "prefers-color-scheme: dark", "suffice compare mix &amp; more", "needs:a=3,b=4", "the yardstick", "success + cost",
        "label when covered", "truth", "Priced regret as a share", "geometric mean", "and so not here: trap",
        "No optimum is known", "clairvoyant: stream must have truth",
    ):  # fmt: skip
        assert part in page, part
    assert page.count("<table class=board>") == 4
    for board_ in found.boards:
        for row in board_.rows:
            assert brief(row.debt.value) in page


def printed(found: Found, width: int) -> str:
    where = Console(width=width, file=io.StringIO())
    for part in (*compare_tables.boards(found, where), *compare_tables.summary(found, where)):
        where.print(part)
    return where.file.getvalue()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("width", [80, 100])
def test_the_tables(written: tuple[Found, Path], width: int) -> None:
    out = printed(written[0], width)
    assert max(map(len, out.splitlines())) <= width
    assert "…" not in out
    for part in ("needs:a=3,b=4", "Optimum at 80%", "success + cost", "label when covered", "truth", "◆", "±", "≤", "≥",
                 "regret", "ratio", "geometric", "No optimum is known", "sps cannot run here: menu must be a chain",
                 "not here: trap"):  # fmt: skip
        assert part in " ".join(out.split()) if " " in part else part in out, part
    shifting = out[out.index("trap: ") : out.index("Priced regret as")]
    assert "ratio" not in shifting
    assert "regret\n" not in shifting


def test_many_streams_make_a_summary_in_parts(mix: Entry) -> None:
    feedback = {"suffice": "success + cost", "paper-1": "success + cost"}
    runs = {"suffice": [ran(5), ran(6)], "paper-1": [ran(10), ran(10)]}
    boards = tuple(board(replace(mix, label=f"mix:easy={place}"), 0.8, feedback, runs, {}) for place in range(9))
    found = Found(small(), boards, totals(boards), 0)
    out = printed(found, 80)
    assert out.count("geometric") == 2
    assert max(map(len, out.splitlines())) <= 80
    assert all(f"easy={place}" in out[out.index("Priced regret as") :] for place in range(9))


def test_a_table_that_is_too_wide_leaves_out_the_plain_regret(mix: Entry) -> None:
    runs = {"paper-1": [ran(1234567, largest_debt=999999.0, debt=-999999.0, cost=123456.0) for _ in range(2)]}
    found = Found(small(), (board(mix, 0.8, {"paper-1": "label when covered"}, runs, {}),), (), 0)
    for width, there in ((80, 1), (120, 2)):
        where = Console(width=width, file=io.StringIO())
        where.print(*compare_tables.boards(found, where))
        out = where.file.getvalue()  # type: ignore[attr-defined]
        assert out.count("regret") == there
        assert "…" not in out


def test_the_command(say: Say) -> None:
    words = ["compare", "mix", "needs", "--rivals", "always_safe", "--seeds", "3", "--horizon", "400", "--jobs", "1"]
    code, out, err = say(*words)
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    for part in ("geometric", "Means over 3 seeds", "methods.csv", "comparison/comparison.html"):
        assert part in out, part
    assert "there already" not in out
    assert len(lines(Path("comparison"))) == 30


def test_the_lines_of_the_docs_work_as_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DOCS / "lab.md").read_text()
    block = next(part for part in (rest.split("```")[0] for rest in text.split("```py\n")) if "perform(plan(" in part)
    monkeypatch.chdir(tmp_path)
    exec(
        block.replace(
            'rivals="same", seeds=20), "comparison"', 'rivals="none", seeds=2, horizon=99), "comparison", jobs=1'
        )
    )
    assert (tmp_path / "comparison" / "comparison.html").is_file()
    assert len(lines(tmp_path / "comparison")) == 16


def test_as_json(say: Say) -> None:
    words = [
        "compare",
        "trap",
        "--rivals",
        "none",
        "--no-paper",
        "--seeds",
        "1",
        "--horizon",
        "50",
        "--jobs",
        "1",
        "--json",
    ]
    code, out, err = say(*words)
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert [row["method"] for row in document["streams"]["trap"]["rows"]] == ["suffice"]
    assert document["seeds"] == [0]
    assert document["summary"] == []
    assert Path("comparison/comparison.html").is_file()
    assert json.loads(say(*words, "--seed", "7", "--out", "other")[1])["seeds"] == [7]
    page = Path("other/comparison.html").read_text()
    assert "suffice compare trap --horizon 50 --seeds 1 --seed 7 --rivals none --no-paper<" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "streams must name at least one, as in `suffice compare beta ranks`"),
        (["trp"], "got 'trp': did you mean trap?"),
        (["trap:frist=3"], "set must name a setting, got 'frist': did you mean first? (settings of trap: first=800"),
        (["trap", "--set", "first"], "set must be written key=value, got 'first'"),
        (["trap", "--rivals", "exp4"], "got 'exp4': did you mean exp3?"),
        (["trap", "--rivals", "paper-x"], "paper must be followed by a scale above 0, as in paper-5, got 'paper-x'"),
        (["trap", "--rivals", "none", "--no-paper", "--no-suffice"], "rivals must name at least one"),
        (["trap", "--target", "1"], "target must lie strictly between 0 and 1"),
        (["trap", "--horizon", "0"], "horizon must be at least 1"),
        (["trap", "--seeds", "0"], "seeds must be at least 1"),
        (["trap", "--seed", "-1"], "seed must be at least 0"),
        (["trap", "--window", "0"], "window must be at least 1"),
        (["trap", "--jobs", "0"], "jobs must be a number of processes"),
        (["trap", "--out", "/dev/null/x"], "out must name a folder that can be written"),
        (["none.csv"], "No such file"),
    ],
)
def test_bad_arguments(say: Say, words: list[str], said: str) -> None:
    code, out, err = say("compare", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.strip().splitlines()) == 1
    assert not Path("comparison").exists()
