"""The command line as a person meets it: the real program in a process of its own."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import suffice
from suffice.cli import COMMANDS, NAMES, application
from tests.support.command import say_in_process
from tests.support.terminal import sit


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
        "projected price",
        "always safe",
        "optimum, clairvoyant",
    ):
        assert name in rows
    assert "Kept: " in done.stdout
    assert "Traceback" not in done.stderr


def test_demo_numbers() -> None:
    numbers = json.loads(run("demo", "--easy", "3000", "--hard", "1500", "--json").stdout)
    rows = {row["name"]: row for row in numbers["rows"]}
    ours, theirs = rows["suffice"], rows["projected price"]
    assert ours["largest_debt"] <= 0.8
    assert ours["rate"] >= 0.8 - 1e-3
    assert theirs["largest_debt"] > 100
    assert numbers["optimum"] == pytest.approx((3000 * 0.04 + 1500 * 0.8) / 4500)
    assert ours["cost"] < 1.1 * numbers["optimum"] < rows["always safe"]["cost"]
    assert json.loads(run("demo", "--easy", "3000", "--hard", "1500", "--json").stdout) == numbers
    assert (numbers["target"], numbers["easy_optimum"], numbers["hard_optimum"]) == pytest.approx((0.8, 0.04, 0.8))
    assert numbers["certificate"]["status"] == "kept"
    assert numbers["certificate"]["text"].startswith(f"Kept: {ours['rate']:.1%} of 4,500 succeeded")


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
    assert {row["name"] for row in found["streams"]} == set(suffice.lab.streams.available())
    settings = {row["name"]: row["settings"] for row in found["streams"]}
    assert settings["trap"] == "first=800, last=1300, cost=0.05"
    assert {"always_safe", "projected"} <= {row["name"] for row in found["rivals"]}
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


def test_help_begins_with_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = say_in_process(capsys, "--help")
    places = [out.index(f"│ {name} ") for name in NAMES if not name.startswith("-")]
    assert places == sorted(places)
    assert (
        out.index("Start here")
        < out.index("Methods, streams and logs")
        < out.index("The service")
        < out.index("Options")
    )
    assert say_in_process(capsys)[1] == out  # with nothing to do it says what it can do


def test_the_first_sentence_is_that_of_the_command() -> None:
    for name, _, summary in COMMANDS:
        assert application(name)[name].help.split("\n")[0] == summary
        assert application()[name].help == summary


def test_examples_are_understood(capsys: pytest.CaptureFixture[str]) -> None:
    found = 0
    for tokens in commands():
        _, out, _ = say_in_process(capsys, *tokens, "--help")
        for line in out.split("Example")[1].splitlines()[1:]:
            words = line.split()
            if words[:1] == ["suffice"] and "COMMAND" not in words:
                application().parse_args(words[1:], print_error=False, exit_on_error=False)
                found += 1
    assert found > 20


def test_help_reads_only_what_it_needs() -> None:
    """What would make it slow: the lab, the service, and what draws figures."""
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
    ("command", "said"),
    [
        ("rnu", "there is no command 'rnu'; did you mean run?"),
        ("zzz", "there is no command 'zzz', only demo, run, compare,"),
        ("--hlep", "there is no option '--hlep'; did you mean --help?"),
        ("keys crate", "there is no command 'crate' of keys; did you mean create?"),
        ("run beta --target 0.9 --sede 4", "there is no option --sede of run; did you mean --seed?"),
        ("run beta --tarjet=0.9", "there is no option --tarjet of run; did you mean --target?"),
        ("demo --frobnicate", "there is no option --frobnicate of demo; see suffice demo --help"),
        ("serve --prot 1", "there is no option --prot of serve; did you mean --port?"),
        ("run beta", "run needs --target; see suffice run --help"),
        ("run --target 0.9", "run needs STREAM; see suffice run --help"),
        ("run beta --target", "--target needs a value; see suffice run --help"),
        ("run beta --target often", "--target must be a number, got 'often'"),
        ("run beta --target 2", "target must lie strictly between 0 and 1, got 2.0"),
        ("run beta --target 0.9 --target 0.8", "--target must be given once, not several times"),
        ("run beta --target 0.9 --seeds 1.5", "--seeds must be a whole number, got '1.5'"),
        ("run beta --target 0.9 --horizon many", "--horizon must be a whole number, got 'many'"),
        ("run beta --target 0.9 --json=maybe", "--json must be true or false, got 'maybe'"),
        ("list strams", "WHAT must be one of streams, rivals, bounds, choosers, experiments (did you mean streams?)"),
        ("list streams rivals", "list takes nothing more, got 'rivals'; see suffice list --help"),
        ("serve --log-level loud", "--log-level must be one of debug, info, warning, error, got 'loud'"),
        ("serve --json", "json must go with --show-config"),
        ("demo --pace 3", "pace must go with --live"),
        ("demo --seed -1", "seed must be at least 0, got -1"),
        ("demo --window 0", "window must be at least 1, got 0"),
        ("demo --live --easy 3", "target, easy, hard and window must be left out with --live"),
        ("demo --live --pace 0", "pace must be above 0"),
        ("demo --live --seconds -1", "seconds must be"),
        ("demo --live --port 99999", "port must be at most 65535, got 99999"),
        ("run nowhere.csv --target 0.9", "path must name a file that can be read, got 'nowhere.csv'"),
        ("replay folder.csv --target 0.9", "log must name a file that can be read, got 'folder.csv': Is a directory"),
        (
            "keys list --store sqlite:///no.db",
            "no.db could not be used, and nothing was changed: file is not a database",
        ),
        ("--install-completion --shell tcsh", "--shell must be one of bash, zsh, fish, got 'tcsh'"),
    ],
)
def test_mistakes_are_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "no.db").write_text("this is no database")
    code, out, err = say_in_process(capsys, *command.split())
    assert (code, out) == (2, "")
    assert err.startswith(f"suffice: {said}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "tokens", [["rnu"], ["run", "beta", "--tarjet", "1"], ["list", "skip"], ["demo", "--easy", "x"]]
)
def test_mistakes_of_the_real_program(tokens: list[str]) -> None:
    done = run(*tokens, FORCE_COLOR="")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("suffice: ")
    assert done.stderr.count("\n") == 1


def broken(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The program, after some code that breaks it."""
    return subprocess.run(
        [sys.executable, "-c", f"import suffice.cli as cli\n{code}\ncli.main(['list'])"],
        capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **environment},
    )  # fmt: skip


def test_a_bug_is_one_sentence_and_its_place_can_be_seen() -> None:
    code = "def wrong(words): raise RuntimeError('two\\nlines')\ncli._run = wrong"
    done = broken(code)
    assert (done.returncode, done.stdout) == (70, "")
    assert done.stderr == (
        "suffice: this is a bug in suffice, please report it: RuntimeError: two lines (SUFFICE_DEBUG=1 shows where)\n"
    )
    done = broken(code, SUFFICE_DEBUG="1")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "in wrong" in done.stderr


def test_a_package_that_is_missing_is_named() -> None:
    code = "def wrong(words): raise ModuleNotFoundError('no such', name='asyncpg.pool')\ncli._run = wrong"
    done = broken(code)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "suffice: this needs asyncpg, which is not installed\n"
    assert broken(code.replace("asyncpg.pool", "suffice.gone")).returncode == 70  # that is a bug of ours


@pytest.mark.parametrize("mistake", ["--scope all", "--scope use --expires soon", "--scope use --expires 2001-01-01"])
def test_a_key_that_cannot_be_makes_no_store(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mistake: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert say_in_process(capsys, "keys", "create", "me", *mistake.split())[0] == 2
    assert not list(tmp_path.iterdir())


def test_what_the_system_refuses_is_one_sentence() -> None:
    code = "def wrong(words): raise PermissionError(13, 'Permission denied', 'numbers.csv')\ncli._run = wrong"
    done = broken(code)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "suffice: this could not be done with 'numbers.csv': Permission denied\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_a_full_disk_is_one_sentence() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "suffice", "list", "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "suffice: this could not be done: No space left on device\n"


@pytest.mark.parametrize("command", ["list", "--help", "list --json"])
def test_a_reader_who_goes_away_is_no_error(command: str) -> None:
    ours, theirs = os.pipe()
    os.close(ours)  # gone before the first line
    done = subprocess.run(
        [sys.executable, "-m", "suffice", *command.split()],
        stdout=theirs,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(theirs)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("command", ["list", "--help", "list --json"])
def test_what_was_closed_is_not_written_to(command: str) -> None:
    for closed in (">&-", ">&- 2>&-"):
        done = subprocess.run(
            ["sh", "-c", f'exec "$0" -m suffice {command} {closed}', sys.executable],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# --- terminals and pipes


def test_colours_are_for_terminals() -> None:
    for tokens in (["list", "bounds"], ["--help"]):
        assert "\x1b[" not in run(*tokens).stdout
        assert "\x1b[" in sit(*tokens).raw
    coloured = run("run", "trap", "--target", "0.5", "--horizon", "50", FORCE_COLOR="1").stdout
    assert "\x1b[32m" in coloured
    assert "━" not in coloured  # a pipe has no use for a progress bar, whatever its colours
    assert "\r" not in coloured


def test_no_color_and_dumb_terminals() -> None:
    tokens = ["run", "trap", "--target", "0.5", "--horizon", "50"]
    assert "\x1b[32m" in sit(*tokens).raw  # a debt in green
    colour = re.compile(r"\x1b\[[0-9;]*(3[0-7]|9[0-7]|38;|4[0-7])[0-9;]*m")
    assert not colour.search(sit(*tokens, NO_COLOR="1").raw)
    assert "\x1b" not in sit(*tokens, TERM="dumb").raw


def test_bars_are_gone_when_all_is_done() -> None:
    seen = sit("run", "trap", "--target", "0.5", "--horizon", "20000")
    assert seen.code == 0
    assert "━" in seen.raw
    assert "suffice's certificate" in seen.text


def test_a_narrow_terminal_breaks_no_box() -> None:
    seen = sit("demo", "--easy", "300", "--hard", "100", columns=50)
    assert seen.code == 0
    box = [line for line in seen.text.splitlines() if line.startswith(("╭", "│", "╰"))]
    assert box
    assert {len(line) for line in box} == {50}
    assert all(line.endswith(("╮", "│", "╯")) for line in box)


@pytest.mark.parametrize("command", ["demo --easy 300 --hard 100", "run beta --target 0.8 --horizon 50 --seeds 2"])
def test_a_narrow_terminal_breaks_no_number(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    shown = []
    for columns in ("80", "40"):
        monkeypatch.setenv("COLUMNS", columns)
        shown.append(say_in_process(capsys, *command.split())[1])
    wide, narrow = shown
    assert "mean cost" not in wide  # there it is a table, whose headings are broken and whose numbers are not
    costs = re.findall(r"^  mean cost [0-9.]+( ±[0-9.]+)?$", narrow, re.MULTILINE)
    assert len(costs) == 5  # of four methods, and of the optimum
    assert any(costs) == ("--seeds" in command)
    assert "…" not in narrow
    assert max(map(len, narrow.splitlines())) <= 40


def test_a_window_is_no_longer_than_the_run() -> None:
    assert re.search(
        r"^method +rate +debt +debt +40 ", run("demo", "--easy", "30", "--hard", "10").stdout, re.MULTILINE
    )


def test_letters_that_a_pipe_does_not_have() -> None:
    done = run("run", "trap", "--target", "0.5", "--horizon", "50", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "certificate" in done.stdout
    assert done.stdout.isascii()


def test_ctrl_c_ends_it_quietly() -> None:
    seen = sit("demo", "--easy", "5_000_000", stop_at="A classifier ranks")
    # Where Ctrl-C meets code made from a text, as dataclasses is, Python itself ends by the signal. To a shell both are 130.
    assert seen.code in (130, -2)
    assert "Traceback" not in seen.text
    assert "suffice:" not in seen.text


def test_ctrl_c_while_it_is_read_in_ends_it_quietly() -> None:
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
    made = json.loads(run("keys", "create", "me", "--scope", "use", "--store", store, "--json").stdout)
    for tokens in (
        ["demo", "--easy", "200", "--hard", "100"],
        ["run", "trap", "--target", "0.5", "--horizon", "50"],
        ["compare", "trap", "--seeds", "1", "--horizon", "50", "--rivals", "none", "--no-paper", "--jobs", "1",
         "--out", str(tmp_path / "comparison")],
        ["replay", str(log), "--target", "0.4"],
        ["list"],
        ["keys", "list", "--store", store],
        ["keys", "revoke", made["id"], "--store", store],
        ["copy", store, f"sqlite:///{tmp_path / 'copy.db'}"],
        ["serve", "--show-config", "--store", "postgresql://me:secret@db/kept"],
    ):  # fmt: skip
        done = run(*tokens, "--json", FORCE_COLOR="1")
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        assert document
        assert "\x1b" not in done.stdout
        assert "secret" not in done.stdout
    assert document["store"] == {"value": "postgresql://me:***@db/kept", "from": "--store"}
    assert document["port"] == {"value": 8470, "from": "default"}


def test_json_of_a_mistake_is_nothing() -> None:
    done = run("run", "trap", "--target", "7", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "target must lie" in done.stderr
