"""`suffice replay`: bounds for thresholds, rates for options, and bad logs."""

import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suffice import InvalidArgument, optimum
from suffice.lab.replay import replay
from suffice.lab.replay_files import decisions, read
from suffice.lab.replay_records import Replay, sure
from tests.support.command import say_in_process

Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Say:
    monkeypatch.setenv("COLUMNS", "80")
    return partial(say_in_process, capsys)


def answers(result: Replay) -> dict[str, Any]:
    return {answer.by: answer for answer in result.answers}


# --- threshold logs


def test_monotone_pooling() -> None:
    log = decisions({"threshold": [1, 2, 2, 3], "success": [1, 0, 1, 1], "cost": [1, 4, 6, 9]})
    rows = replay(log, 0.75).thresholds
    assert [row.threshold for row in rows] == [1, 2, 3]
    assert [(row.at_least, row.at_most) for row in rows] == [
        (0.25, 0.75),
        (0.5, 0.75),
        (0.75, 1.0),
    ]
    assert [row.cost for row in rows] == [1, 5, 9]
    result = answers(replay(log, 0.75))
    assert result["one threshold, by its bounds"].mix == {"3": 1.0}
    assert result["one threshold, by its bounds"].cost == 9
    assert result["a mix of two, at best (upper bounds)"].mix == {"1": 1.0}
    assert not result["one threshold, by its 95% bounds"].mix
    assert "even 3" in (result["one threshold, by its 95% bounds"].why or "")


@pytest.mark.parametrize("seed", range(5))
def test_bounds_hold_however_thresholds_were_chosen(seed: int) -> None:
    rng = np.random.default_rng(seed)
    needs = rng.beta(2, 5, 2000).round(3)
    # Thresholds depend on the request: just enough, too little or too much.
    used = np.clip(needs + rng.choice([-0.1, 0.0, 0.0, 0.1], 2000), 0, 1).round(2)
    result = replay(decisions({"threshold": used, "success": needs <= used}), 0.6)
    for row in result.thresholds:
        truth = float((needs <= row.threshold).mean())
        assert row.at_least - 1e-12 <= truth <= row.at_most + 1e-12
    first = answers(result)["one threshold, by its bounds"]
    if first.mix:
        assert (needs <= float(next(iter(first.mix)))).mean() >= 0.6


def test_many_thresholds_are_not_all_shown() -> None:
    rng = np.random.default_rng(0)
    used = rng.random(20_000)
    result = replay(decisions({"threshold": used, "success": used > rng.random(20_000) ** 2}), 0.3)
    assert len(result.thresholds) < 20
    assert any("20,000 thresholds" in note for note in result.notes)
    shown = {row.threshold for row in result.thresholds}
    exact = float(next(iter(answers(result)["one threshold, by its bounds"].mix)))
    assert min(abs(exact - threshold) for threshold in shown) < 1e-9


# --- option logs


def test_rates_of_options() -> None:
    log = decisions(
        {"option": ["a"] * 400 + ["b"] * 400, "success": [1, 0] * 200 + [1] * 400, "cost": [1] * 400 + [3] * 400}
    )
    result = replay(log, 0.8)
    a, b = result.options
    assert (a.option, a.chosen, a.success.value, a.cost) == ("a", 400, 0.5, 1)
    assert (a.success.low, a.success.high) == sure(0.5, 400)
    assert answers(result)["estimates"].cost == pytest.approx(2.2)
    best = optimum([a.success.low, b.success.low], [1, 3], 0.8)
    assert answers(result)["lower bounds, cautious"].cost == pytest.approx(best.cost)
    assert best.cost > 2.2
    hopeless = answers(replay(log, 0.999))["lower bounds, cautious"]
    assert not hopeless.mix
    assert "the best is b" in (hopeless.why or "")


def test_the_interval_may_be_watched() -> None:
    rng = np.random.default_rng(1)
    missed = 0
    for _ in range(200):
        mean = np.cumsum(rng.random(300) < 0.7) / np.arange(1, 301)
        missed += any(not low <= 0.7 <= high for low, high in (sure(float(mean[s]), s + 1) for s in range(0, 300, 5)))
    assert missed <= 10  # 5% of 200, at all times together


def test_without_costs_the_best_rate_is_named() -> None:
    result = replay(decisions({"option": ["a", "b"] * 300, "success": [0, 1] * 300}), 0.9)
    assert answers(result)["estimates"].mix == {"b": 1.0}
    assert answers(result)["estimates"].cost is None
    assert any("no column cost" in note for note in result.notes)


# --- files and the command

FILES = {
    "threshold": "threshold,success,cost\n3,yes,1\n1,no,2\n2,true,3\n",
    "option": "option,success,cost\n" + "small,1,0.1\nlarge,1,1\nsmall,0,0.1\n" * 50,
}


@pytest.mark.parametrize("kind", FILES)
def test_the_command(say: Say, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(FILES[kind])
    code, out, err = say("replay", str(path), "--target", "0.9")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert "What this cannot show" in out
    assert f"{kind} log" in " ".join(out.split())
    code, out, _ = say("replay", str(path), "--target", "0.9", "--json")
    document = json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert code == 0
    assert document["kind"] == kind
    assert document["limits"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a,b\n1,2\n", ["threshold and success, or option and success, got 'a, b'"]),
        ("", ["got none"]),
        ("success:a,cost:a\n1,1\n", ["use `suffice compare`"]),
        ("threshold,option,success\n1,a,1\n", ["threshold or option, got both"]),
        ("threshold,success\n", ["at least one row"]),
        ("threshold,success\n1,1\ninf,1\n", ["threshold must be finite, got inf in row 2"]),
        ("threshold,success\n1,1\nten,1\n", ["threshold must be a number, got 'ten' in row 2"]),
        ("threshold,success,threshold\n1,1,2\n", ["'threshold' twice"]),
        ("option,success\na,1\n,1\n", ["option must be named in every row, got none in row 2"]),
        ("option,success\na,2\n", ["success must be between 0 and 1, got 2 in row 1"]),
        ("option,success,cost\na,1,-1\n", ["cost must be finite and at least 0, got -1 in row 1"]),
        ("option,success,cost\na,1,\n", ["cost must be a number, got '' in row 1"]),
        ("option,success\n" + "".join(f"{i},1\n" for i in range(10_001)), ["at most 10,000 values", "is it an id?"]),
    ],
)
def test_bad_logs(say: Say, tmp_path: Path, text: str, parts: list[str]) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    code, _, err = say("replay", str(path), "--target", "0.9")
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    for part in parts:
        assert part in err, err


def test_rows_without_an_outcome_are_left_out(say: Say, tmp_path: Path) -> None:
    """As in the export of a selector, where some decisions are pending and some have expired."""
    log = tmp_path / "decisions.csv"
    log.write_text("decision,option,success,cost\n0,a,1,0.5\n1,a,,0.5\n2,b, ,\n3,b,0,1\n")
    code, out, _ = say("replay", str(log), "--target", "0.4")
    assert code == 0
    assert "option log, 2 rows" in out
    assert "2 of 4 rows hold no outcome and are left out." in out
    assert read(log).without_outcome == 2
    assert decisions({"threshold": [1, 2, 3], "success": np.array([1.0, math.nan, 0.0])}).without_outcome == 1
    with pytest.raises(InvalidArgument, match="success must be between 0 and 1, got 7 in row 3"):
        decisions({"option": ["a", "b", "c"], "success": [1, None, 7]})
    with pytest.raises(InvalidArgument, match="success must be given in at least one row, got none in 2"):
        decisions({"option": ["a", "b"], "success": ["", ""]})
