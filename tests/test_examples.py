"""The examples run as they are, without a file and with one, and keep what they say."""

import csv
import gzip
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
ROUTING = EXAMPLES / "llm_routing.py"


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    monkeypatch.setattr(sys, "argv", [ROUTING.name, *arguments])
    runpy.run_path(str(ROUTING), run_name="__main__")
    return capsys.readouterr().out


def cost(text: str) -> float:
    found = re.search(r"It cost ([\d.]+) per query", text)
    assert found is not None, text
    return float(found[1])


def test_it_runs_by_itself_in_seconds() -> None:
    done = subprocess.run([sys.executable, str(ROUTING)], capture_output=True, text=True, timeout=120, check=True)
    assert done.stderr == ""
    for task in ("chat", "code", "maths"):
        assert re.search(rf"^{task}\nKept: 9\d", done.stdout, re.MULTILINE)
    assert "in each of 3 groups" in done.stdout
    assert "All 1" in done.stdout  # an interval for those that were not judged, too
    assert "The model (logistic) is followed" in done.stdout
    assert cost(done.stdout) < 0.6


def test_the_same_twice(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = (run(monkeypatch, capsys, "--queries", "2000") for _ in range(2))
    assert first == second
    assert first.count("Kept:") == 4


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_recorded_queries(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the cheap model is never worse it is taken, and where it always is, it is not."""
    path = tmp_path / f"queries{ending}"
    with gzip.open(path, "wt", newline="") if ending.endswith(".gz") else path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["task", "weak_ok", "strong_ok", "prompt_chars"])
        for place in range(60):
            writer.writerow(["mmlu/law", place % 2 == 0, place % 2 == 0, 100 + place])  # both right, or both wrong
    easy = run(monkeypatch, capsys, "--path", str(path), "--queries", "10000")
    assert easy.count("Kept:") == 2
    assert easy.startswith("mmlu\n")
    assert cost(easy) < 0.1
    path_hard = tmp_path / "hard.csv"
    path_hard.write_text("task,weak_ok,strong_ok,prompt_chars\ngsm8k,False,True,80\n")
    hard = run(monkeypatch, capsys, "--path", str(path_hard), "--queries", "4000")
    assert "gsm8k\nKept:" in hard
    assert cost(hard) > 0.8


def test_it_is_short_and_names_no_place() -> None:
    text = ROUTING.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 80
    assert "assumed" in text
    assert not re.search(r"/(home|root|work|tmp)/", text)


def test_the_page_links_every_example() -> None:
    page = (EXAMPLES.parent / "docs" / "context.md").read_text(encoding="utf-8")
    for example in EXAMPLES.glob("*.py"):
        assert f"(../examples/{example.name})" in page
