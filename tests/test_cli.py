"""The command line as a person meets it: the real program in a process of its own."""

import json
import os
import subprocess
import sys

import pytest

import suffice


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "suffice", *arguments],
        capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "COLUMNS": "80", **environment},
    )  # fmt: skip


def test_demo() -> None:
    done = run("demo", "--easy", "3000", "--hard", "1500")
    assert done.returncode == 0, done.stderr
    assert "\x1b[" not in done.stdout  # no colours where nobody looks
    rows = {line.split("  ")[0].strip() for line in done.stdout.splitlines()}
    for name in (
        "suffice",
        "the paper",
        "projected dual",
        "always everything",
        "optimum, clairvoyant",
    ):
        assert name in rows
    assert "Kept: " in done.stdout
    assert "Traceback" not in done.stderr


def test_demo_numbers() -> None:
    numbers = json.loads(run("demo", "--easy", "3000", "--hard", "1500", "--json").stdout)
    rows = {row["name"]: row for row in numbers["rows"]}
    ours, theirs = rows["suffice"], rows["projected dual"]
    assert ours["largest_debt"] <= 0.8
    assert ours["rate"] >= 0.8 - 1e-3
    assert theirs["largest_debt"] > 100
    assert numbers["optimum"] == pytest.approx((3000 * 0.04 + 1500 * 0.8) / 4500)
    assert ours["cost"] < 1.1 * numbers["optimum"] < rows["always everything"]["cost"]
    assert json.loads(run("demo", "--easy", "3000", "--hard", "1500", "--json").stdout) == numbers


def test_version_and_help() -> None:
    assert run("--version").stdout.strip() == suffice.__version__
    shown = run("--help").stdout
    assert "demo" in shown
    assert "Hold a success rate" in shown
    assert "--seed" in run("demo", "--help").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["demo", "--target", "2"], "target must lie strictly between 0 and 1"),
        (["demo", "--easy", "0"], "easy must be"),
    ],
)
def test_errors_are_one_sentence(arguments: list[str], said: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_without_the_extra_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['rich'] = None; sys.modules['cyclopts'] = None; from suffice.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip() == "the command line needs two more packages: pip install 'suffice[cli]'"
