"""The command line as a person meets it: the real program in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

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


@pytest.mark.parametrize("kind", ["streams", "rivals", "bounds", "choosers", "experiments"])
def test_list(kind: str) -> None:
    shown = run("list", kind).stdout
    rows = json.loads(run("list", kind, "--json").stdout)[kind]
    assert rows
    for row in rows:
        assert row["name"] in shown
        assert all(isinstance(text, str) for text in row.values())
    assert max(map(len, shown.splitlines())) <= 80


def test_list_finds_everything() -> None:
    found = json.loads(run("list", "--json").stdout)
    assert {row["name"] for row in found["streams"]} == set(suffice.streams.found())
    settings = {row["name"]: row["settings"] for row in found["streams"]}
    assert settings["trap"] == "first=800, last=1300, cost=0.05"
    assert {"everything", "projected"} <= {row["name"] for row in found["rivals"]}
    assert all(row["feedback"] and row["guarantee"] and row["source"] for row in found["rivals"])
    assert run("list", "nonsense").returncode != 0


# An experiment of one's own, which takes no time.
OWN = """
from suffice.lab import Estimate, Experiment, judge

class Own(Experiment):
    name, title, about = "own", "An experiment of one's own", "It counts."
    levels = {"quick": {"seeds": 2}, "default": {"seeds": 3}, "deep": {"seeds": 4}}

    def tasks(self, settings):
        return [{"run": f"own/{seed}", "seed": seed} for seed in range(settings["seeds"])]

    @staticmethod
    def work(task):
        return {"seed": task["seed"], "value": 1.0}

    def collect(self, settings, results):
        return {"rows": list(results)}

    def verdicts(self, numbers):
        count = Estimate.exact(len(numbers["rows"]))
        wide = Estimate(0.5, 0.25, 0.75)
        return [
            judge("seeds", "nowhere", "there are seeds", "how many", count, at_least=2),
            judge("limit", "nowhere", "a rate in the limit", "an exponent", wide, at_most=0.6, reached=1000),
            judge("bad", "nowhere", "what is not so", "a number", Estimate.exact(float("nan")), at_most=1),
        ]

    def draw(self, numbers, canvas):
        canvas.panels("own", 1).plot([1, 2], [1, 2])
"""


@pytest.mark.parametrize(
    ("options", "seeds"),
    [(["--quick", "--jobs", "1"], 2), ([], 3), (["--deep", "--jobs", "1"], 4), (["--seeds", "5", "--jobs", "1"], 5)],
)
def test_reproduce(tmp_path: Path, options: list[str], seeds: int) -> None:
    own, out = tmp_path / "own.py", tmp_path / "out"
    own.write_text(OWN)
    done = run("reproduce", "--only", str(own), "--out", str(out), *options)
    assert done.returncode == 0, done.stderr
    for part in ("An experiment of one's own", "no interval", "0.25 to 0.75", "not reproduced", "not reached by T=1,000",
                 "3 claims: 1 reproduced, 1 not reached yet, 1 not reproduced.", "report.html"):  # fmt: skip
        assert part in " ".join(done.stdout.split()), done.stdout
    assert (out / "report.html").is_file()
    assert json.loads((out / "numbers.json").read_text())["experiments"]["own"]["settings"]["seeds"] == seeds


def test_reproduce_as_json_and_strictly(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(OWN)
    common = ["reproduce", "--only", str(own), "--out", str(tmp_path / "out"), "--jobs", "1", "--quick"]
    done = run(*common, "--json", "--strict")
    assert done.returncode == 1
    found = json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert [verdict["status"] for verdict in found["experiments"]["own"]] == [
        "reproduced",
        "not reached by T=1,000",
        "not reproduced",
    ]
    assert found["level"] == "quick"
    own.write_text(OWN.replace('Estimate.exact(float("nan"))', "Estimate.exact(0.5)"))
    assert run(*common, "--strict").returncode == 0


def test_reproduce_runs_a_real_experiment(tmp_path: Path) -> None:
    done = run("reproduce", "--quick", "--only", "trap", "--jobs", "1", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "Three-arm shift" in done.stdout
    assert max(map(len, done.stdout.splitlines()[:-2])) <= 80


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["reproduce", "--quick", "--deep"], "quick and deep must not be given together"),
        (["reproduce", "--only", "nonsense"], "only must be one of"),
        (["reproduce", "--only", "trap", "--seeds", "1"], "seeds must be at least 2"),
        (["reproduce", "--only", "trap", "--jobs", "0", "--quick"], "jobs must be a number of processes"),
        (["reproduce", "--only", "trap", "--out", "/dev/null/x"], "out must name a folder"),
    ],
)
def test_reproduce_refuses(arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_without_the_lab_only_what_sweeps_is_missing() -> None:
    hide = "import sys; sys.modules['joblib'] = None; sys.modules['matplotlib'] = None; from suffice.cli import main; "
    for tokens, code, said in (
        (["reproduce"], 2, "suffice: reproduce needs joblib: pip install 'suffice[lab]'"),
        (["compare", "trap"], 2, "suffice: compare needs joblib: pip install 'suffice[lab]'"),
        (["--help"], 0, ""),
        (["demo", "--easy", "100", "--hard", "100"], 0, ""),
        (["list"], 0, ""),
        (["run", "trap", "--target", "0.5", "--horizon", "50"], 0, ""),
    ):
        done = subprocess.run(
            [sys.executable, "-c", f"{hide}main({tokens})"], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr.strip()) == (code, said)


def test_whole_numbers_are_whole() -> None:
    assert run("demo", "--easy", "1e3", "--hard", "1_000", "--json").returncode == 0
    done = run("demo", "--easy", "10.5")
    assert done.returncode != 0
    assert "10.5" in done.stderr + done.stdout
