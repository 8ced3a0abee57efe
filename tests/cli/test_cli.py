"""The command line: the real program in a process of its own."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import suffice
from suffice.cli import COMMANDS, NAMES, application
from suffice.lab.demo import run_demo
from tests.support.command import say_in_process
from tests.support.terminal import run_in_terminal


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "suffice", *arguments],
        capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "COLUMNS": "80", **environment},
    )  # fmt: skip


def test_demo() -> None:
    done = run("demo", "--easy", "3000", "--hard", "1500")
    assert done.returncode == 0, done.stderr
    assert "\x1b[" not in done.stdout  # no colours in a pipe
    for name in ("suffice", "the paper", "projected price", "always safe", "least possible"):
        assert re.search(rf"^{name}†? +[\d.]+% ", done.stdout, re.MULTILINE), name
    assert "Kept: " in done.stdout
    assert "Traceback" not in done.stderr


def test_demo_numbers() -> None:
    demo = run_demo(0.8, 3000, 1500)
    rows = {row.method: row for row in demo.board.rows}
    ours, theirs, best = rows["suffice"], rows["projected price"], demo.optimum
    assert ours.largest_debt <= 5
    assert ours.rate.value >= 0.8 - 1e-3
    assert theirs.largest_debt > 100
    assert (best.both, best.easy, best.hard) == pytest.approx(((3000 * 0.04 + 1500 * 0.8) / 4500, 0.04, 0.8))
    costs = demo.costs["suffice"]
    assert costs.both == pytest.approx((3000 * costs.easy + 1500 * costs.hard) / 4500)
    assert costs.both < 1.1 * best.both < rows["always safe"].cost.value
    certificate = str(demo.board.certificates["suffice"])
    assert certificate.startswith(f"Kept: {ours.rate.value:.1%} of 4,500 outcomes succeeded")


def test_version() -> None:
    assert run("--version").stdout.strip() == suffice.__version__


def test_a_missing_extra_is_named() -> None:
    code = "import sys; sys.modules['rich'] = None; sys.modules['cyclopts'] = None; from suffice.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip() == "the command line needs two more packages: pip install 'suffice[cli]'"


def test_list_finds_everything(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listed = json.loads(say_in_process(capsys, "list", "--json")[1])
    assert list(listed) == ["streams", "rivals", "experiments"]
    for kind, rows in listed.items():
        _, out, _ = say_in_process(capsys, "list", kind)
        assert max(map(len, out.splitlines())) <= 80
        assert all(row["name"] in out for row in rows)
    assert {row["name"] for row in listed["streams"]} == set(suffice.lab.streams.available())
    settings = {row["name"]: row["settings"] for row in listed["streams"]}
    assert settings["trap"] == "first=800, last=1300, cost=0.05"
    assert {"always_safe", "projected"} <= {row["name"] for row in listed["rivals"]}
    assert all(row["feedback"] and row["guarantee"] and row["source"] for row in listed["rivals"])


# An experiment that takes no time.
OWN = """
from suffice.lab import Estimate, Experiment, judge

class Own(Experiment):
    name, title, about = "own", "A quick experiment", "It counts."
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
    for part in ("A quick experiment", "no interval", "0.25 to 0.75", "not reproduced", "not reached by T=1,000",
                 "3 claims: 1 reproduced, 1 not reached yet, 1 not reproduced.", "It counts.", "verdicts.csv"):  # fmt: skip
        assert part in " ".join(done.stdout.split()), done.stdout
    verdicts = list(csv.DictReader((out / "verdicts.csv").read_text().splitlines()))
    assert [verdict["status"] for verdict in verdicts] == ["reproduced", "not reached by T=1,000", "not reproduced"]
    assert json.loads((out / "numbers.json").read_text())["experiments"]["own"]["settings"]["seeds"] == seeds


def test_reproduce_strictly(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(OWN)
    common = ["reproduce", "--only", str(own), "--out", str(tmp_path / "out"), "--jobs", "1", "--quick"]
    assert run(*common, "--strict").returncode == 1
    own.write_text(OWN.replace('Estimate.exact(float("nan"))', "Estimate.exact(0.5)"))
    assert run(*common, "--strict").returncode == 0


def test_without_the_extra_only_sweeps_are_missing() -> None:
    hide = "import sys; sys.modules['joblib'] = None; sys.modules['matplotlib'] = None; from suffice.cli import main; "
    for tokens, code, message in (
        (["reproduce"], 2, "suffice: reproduce needs joblib: pip install 'suffice[lab]'"),
        (["compare", "trap"], 2, "suffice: compare needs joblib: pip install 'suffice[lab]'"),
        (["--help"], 0, ""),
        (["demo", "--easy", "100", "--hard", "100"], 0, ""),
        (["list"], 0, ""),
    ):
        done = subprocess.run(
            [sys.executable, "-c", f"{hide}main({tokens})"], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr.strip()) == (code, message)


# --- help


def commands() -> list[list[str]]:
    """Every command, as it is called."""
    return [[], *([name] for name in NAMES), *(["keys", name] for name in ("create", "list", "revoke"))]


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_help_fits(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for tokens in commands():
        code, out, err = say_in_process(capsys, *tokens, "--help")
        assert (code, err) == (0, ""), tokens
        assert max(len(line) for line in out.splitlines()) <= columns, tokens
        assert "Example" in out
        assert "default: False" not in out
        assert "default: ()" not in out


def test_the_summary_of_a_command_is_its_first_sentence() -> None:
    for name, _, summary in COMMANDS:
        assert application(name)[name].help.split("\n")[0] == summary
        assert application()[name].help == summary


def test_the_examples_of_the_help_parse(capsys: pytest.CaptureFixture[str]) -> None:
    examples = 0
    for tokens in commands():
        _, out, _ = say_in_process(capsys, *tokens, "--help")
        for line in out.split("Example")[1].splitlines()[1:]:
            words = line.split()
            if words[:1] == ["suffice"] and "COMMAND" not in words:
                application().parse_args(words[1:], print_error=False, exit_on_error=False)
                examples += 1
    assert examples > 20


def test_help_reads_only_what_it_needs() -> None:
    """The lab, the service and matplotlib would make it slow."""
    code = (
        "import sys; from suffice.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(*(name for name in ('asyncio', 'pydantic', 'matplotlib', 'suffice.lab', 'rich.markdown', 'rich.progress') "
        "if name in sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "\n"


# --- mistakes


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("rplay", 'Unknown command "rplay". Did you mean "replay"?'),
        ("keys crate", 'Unknown command "crate". Did you mean "create"?'),
        ("compare beta --sede 4", "Unknown option: --sede. Did you mean --seed?; see suffice compare --help"),
        ("serve --prot 1", "Unknown option: --prot. Did you mean --port?; see suffice serve --help"),
        (
            "compare beta --target often",
            'Invalid value for --target: unable to convert "often" into float; see suffice compare',
        ),
        ("compare beta --horizon many", "Invalid value for --horizon: it must be a whole number, got 'many'"),
        ("list strams", 'Invalid value "strams" for WHAT. Choose from: "streams", "rivals", "experiments"'),
        ("serve --log-level loud", 'Invalid value "loud" for --log-level. Choose from: "debug"'),
        ("demo --pace 3", "pace must go with --live"),
        ("demo --live --easy 3", "target, easy and hard must be left out with --live"),
        ("demo --live --pace 0", "pace must be above 0"),
        ("demo --live --port 99999", "port must be at most 65535, got 99999"),
        ("replay folder.csv --target 0.9", "log must name a file that can be read, got 'folder.csv': Is a directory"),
        (
            "keys list --store sqlite:///no.db",
            "no.db could not be used, and nothing was changed: file is not a database",
        ),
        ("--install-completion --shell tcsh", 'Invalid value "tcsh" for --shell'),
        ("reproduce --quick --deep", "quick and deep must not be given together"),
        ("reproduce --only trap --seeds 1", "seeds must be at least 2"),
        ("reproduce --only trap --jobs 0 --quick", "jobs must be a number of processes"),
        ("reproduce --only trap --out /dev/null/x", "out must name a folder"),
    ],
)
def test_mistakes_are_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "no.db").write_text("this is no database")
    code, out, err = say_in_process(capsys, *command.split())
    assert (code, out) == (2, "")
    assert err.startswith(f"suffice: {message}")
    assert err.count("\n") == 1
    assert "Traceback" not in err


def fail(error: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The program, where a command raises an error."""
    code = f"import suffice.cli as cli\ndef fail(words): raise {error}\ncli._run = fail\ncli.main(['list'])"
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **environment},
    )  # fmt: skip


BUG = "this is a bug in suffice, please report it: "


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        ("RuntimeError('two\\nlines')", 70, f"{BUG}RuntimeError: two lines (SUFFICE_DEBUG=1 shows where)"),
        ("ModuleNotFoundError('no such', name='suffice.gone')", 70, f"{BUG}ModuleNotFoundError: no such"),
        ("ModuleNotFoundError('no such', name='asyncpg.pool')", 2, "this needs asyncpg, which is not installed"),
        ("PermissionError(13, 'Not permitted', 'a.csv')", 2, "this could not be done with 'a.csv': Not permitted"),
    ],
)
def test_unexpected_errors_are_one_sentence(error: str, code: int, message: str) -> None:
    done = fail(error)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(f"suffice: {message}")
    assert done.stderr.count("\n") == 1


def test_debugging_shows_the_traceback() -> None:
    done = fail("RuntimeError('two lines')", SUFFICE_DEBUG="1")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "in fail" in done.stderr


@pytest.mark.parametrize("mistake", ["--scope all", "--scope use --expires soon", "--scope use --expires 2001-01-01"])
def test_bad_arguments_of_a_key_make_no_store(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mistake: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert say_in_process(capsys, "keys", "create", "me", *mistake.split())[0] == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["list", "--help", "list --json"])
def test_a_closed_pipe_is_no_error(command: str) -> None:
    ours, theirs = os.pipe()
    os.close(ours)  # closed before the first line
    done = subprocess.run(
        [sys.executable, "-m", "suffice", *command.split()],
        stdout=theirs,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(theirs)
    assert (done.returncode, done.stderr) == (141, "")


# --- terminals and pipes


def test_colours_are_for_terminals() -> None:
    for tokens in (["list", "experiments"], ["--help"]):
        assert "\x1b[" not in run(*tokens).stdout
        assert "\x1b[" in run_in_terminal(*tokens).raw
    coloured = run("demo", "--easy", "50", "--hard", "50", FORCE_COLOR="1").stdout
    assert "\x1b[32m" in coloured
    assert "━" not in coloured  # a pipe has no use for a progress bar, whatever its colours
    assert "\r" not in coloured


def test_bars_are_gone_when_all_is_done() -> None:
    session = run_in_terminal("demo")
    assert session.code == 0
    assert "━" in session.raw
    assert "suffice's certificate" in session.text


def test_characters_that_the_encoding_lacks() -> None:
    done = run("demo", "--easy", "50", "--hard", "50", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "certificate" in done.stdout
    assert done.stdout.isascii()


def test_ctrl_c_ends_it_quietly() -> None:
    session = run_in_terminal("demo", "--easy", "5_000_000", stop_at="A classifier ranks")
    # Where Ctrl-C meets code made from a text, as dataclasses is, Python itself ends by the signal. To a shell both are 130.
    assert session.code in (130, -2)
    assert "Traceback" not in session.text
    assert "suffice:" not in session.text


def test_ctrl_c_during_imports_ends_it_quietly() -> None:
    code = (
        "import sys\n"
        "from suffice.__main__ import main\n"
        "class Pressed:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'cyclopts': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Pressed())\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


# --- JSON


def test_json_is_alone_on_stdout(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("option,success,cost\n" + "a,1,0.5\nb,0,0.1\n" * 20)
    store = f"sqlite:///{tmp_path / 'kept.db'}"
    os.environ.pop("SUFFICE_STORE", None)
    for tokens in (
        ["replay", str(log), "--target", "0.4"],
        ["list"],
        ["keys", "create", "me", "--scope", "use", "--store", store],
        ["keys", "list", "--store", store],
        ["copy", store, f"sqlite:///{tmp_path / 'copy.db'}"],
    ):  # fmt: skip
        done = run(*tokens, "--json", FORCE_COLOR="1")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)
        assert "\x1b" not in done.stdout
