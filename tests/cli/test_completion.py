"""Shell completion: installed into a home of its own, and used by a real bash, as if somebody pressed TAB."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from suffice.cli import NAMES
from suffice.cli.completion import COMPINIT
from suffice.service.http.settings import Settings

PLACES = {
    "bash": ".local/share/bash-completion/completions/suffice",
    "zsh": ".zsh/completions/_cyclopts_suffice",
    "fish": ".config/fish/completions/suffice.fish",
}
STARTUP = {"bash": ".bashrc", "zsh": ".zshrc"}

# What bash does at TAB: it calls the function that `complete` names for the command.
TAB = """
. "$1"; shift
[ "$(complete -p suffice)" = "complete -F _suffice suffice" ] || exit 9
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _suffice; printf '%s\\n' "${COMPREPLY[@]}"
"""


def install(home: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    left_out = ("BASH_VERSION", "ZSH_VERSION", "FISH_VERSION", "ZSH", "ZSH_CUSTOM", "SHELL")
    inherited = {name: value for name, value in os.environ.items() if name not in left_out}
    return subprocess.run(
        [sys.executable, "-m", "suffice", "--install-completion", *arguments],
        capture_output=True, text=True, timeout=120, check=False, env={**inherited, "HOME": str(home), **environment},
    )  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which all three are installed; bash twice."""
    home = tmp_path_factory.mktemp("home")
    (home / ".bashrc").write_text("export MINE=1")  # without an end of its last line
    (home / "log.csv").write_text("a file that shells may offer")
    for shell in (*PLACES, "bash"):
        done = install(home, "--shell", shell)
        assert (done.returncode, done.stderr) == (0, "")
        assert str(home / PLACES[shell]) in done.stdout
    return home


def press_tab(home: Path, *words: str) -> list[str]:
    done = subprocess.run(
        ["bash", "--norc", "-c", TAB, "tab", str(home / PLACES["bash"]), "suffice", *words],
        capture_output=True, text=True, check=True, cwd=home, env={"PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize("shell", PLACES)
def test_installing_writes_the_script(home: Path, shell: str) -> None:
    script = (home / PLACES[shell]).read_text()
    for word in ("demo", "reproduce", "max-selectors", "no-paper", "revoke"):
        assert word in script
    if shell in STARTUP:
        lines = (home / STARTUP[shell]).read_text().splitlines()
        assert sum(str((home / PLACES[shell]).parent) in line for line in lines) == 1
    found = shutil.which(shell)
    if found is not None:  # its own opinion of the script, where the shell is here
        assert subprocess.run([found, "-n", str(home / PLACES[shell])], check=False).returncode == 0


def test_the_startup_file_stays_as_it_was(home: Path) -> None:
    assert (home / ".bashrc").read_text().splitlines()[0] == "export MINE=1"
    done = subprocess.run(
        ["bash", "--norc", "-c", '. "$HOME/.bashrc"; complete -p suffice'],
        capture_output=True, text=True, check=True, env={"PATH": os.environ["PATH"], "HOME": str(home)},
    )  # fmt: skip
    assert done.stdout == "complete -F _suffice suffice\n"


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["re"], {"replay", "reproduce"}),
        ([""], {name for name in NAMES if not name.startswith("-")}),
        (["keys", ""], {"create", "list", "revoke"}),
        (["keys", "create", "--s"], {"--scope", "--store"}),
        (["run", "beta", "--t"], {"--target"}),
        (["demo", "--p"], {"--pace", "--port"}),
        (["list", "b"], {"bounds"}),
        (["replay", "log.csv", "--kind", ""], {"score", "threshold", "option"}),
        (["serve", "--log-level", ""], {"debug", "info", "warning", "error"}),
        (["replay", ".bash"], {".bashrc"}),  # a file
    ],
)
def test_bash_completes(home: Path, words: list[str], offered: set[str]) -> None:
    assert set(press_tab(home, *words)) == offered


def test_every_setting_of_the_service_completes(home: Path) -> None:
    offered = set(press_tab(home, "serve", "--"))
    assert {"--" + name.replace("_", "-") for name in Settings.model_fields} <= offered
    assert {"--config", "--show-config", "--no-docs"} <= offered


def test_completing_runs_no_python(home: Path) -> None:
    script = (home / PLACES["bash"]).read_text()
    assert "__complete" not in script  # what cyclopts calls to ask the program
    assert not re.search(r"\bpython", script)


def test_zsh_begins_to_complete_if_nobody_did_before(home: Path, tmp_path: Path) -> None:
    assert (home / ".zshrc").read_text().splitlines()[-1] == COMPINIT
    (tmp_path / ".zshrc").write_text("autoload -Uz compinit && compinit\nMINE=1")
    for _ in range(2):  # again, after an update
        assert install(tmp_path, "--shell", "zsh").returncode == 0
    lines = (tmp_path / ".zshrc").read_text().splitlines()
    assert lines[-2:] == ["MINE=1", COMPINIT]
    assert lines.count(COMPINIT) == 1


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh here")
@pytest.mark.parametrize("before", ["", "autoload -Uz compinit && compinit\n"], ids=["new", "with compinit"])
def test_a_real_zsh_knows_it(tmp_path: Path, before: str) -> None:
    (tmp_path / ".zshrc").write_text(before)
    assert install(tmp_path, "--shell", "zsh").returncode == 0
    done = subprocess.run(
        ["zsh", "-ic", "print -r -- $_comps[suffice]; autoload +X $_comps[suffice] && print loaded"],
        capture_output=True, text=True, check=True, env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.stdout.split() == ["_cyclopts_suffice", "loaded"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish here")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("suffice re", {"replay", "reproduce"}),
        ("suffice keys ", {"create", "list", "revoke"}),  # and no file
        ("suffice demo ", set()),
        ("suffice serve --log-level ", {"debug", "info", "warning", "error"}),
        ("suffice replay ", {"log.csv"}),
        ("suffice keys list --config .bash", {".bashrc"}),
    ],
)
def test_a_real_fish_completes(home: Path, typed: str, offered: set[str]) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # it completes only what can be run
    done = subprocess.run(
        ["fish", "-c", "complete -C $argv[1]", typed],
        capture_output=True, text=True, check=True, cwd=home, env={"PATH": path, "HOME": str(home)},
    )  # fmt: skip
    assert {line.split("\t")[0] for line in done.stdout.splitlines()} == offered


def test_a_file_of_ones_own_is_all_that_is_written(tmp_path: Path) -> None:
    done = install(tmp_path / "home", "--shell", "zsh", "--out", str(tmp_path / "script"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "script").read_text().startswith("#compdef suffice")
    assert not (tmp_path / "home").exists()


def refused(code: str, said: str) -> None:
    """Run it in a Python of its own: it must end with this one sentence."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_nobodys_home_is_said() -> None:
    code = (
        "from pathlib import Path\n"
        "def nowhere(): raise RuntimeError('Could not determine home directory.')\n"
        "Path.home = nowhere\n"
        "from suffice.cli import main; main(['--install-completion', '--shell', 'bash'])"
    )
    refused(code, "suffice: HOME must be set, or say where to write: --out FILE\n")


def test_the_shell_is_found_or_asked_for(tmp_path: Path) -> None:
    done = install(tmp_path, FISH_VERSION="3.7")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / PLACES["fish"]).is_file()
    code = (
        "from cyclopts.completion import detect\n"
        "def lost(): raise detect.ShellDetectionError('no idea')\n"
        "detect.detect_shell = lost\n"
        "from suffice.cli import main; main(['--install-completion'])"
    )
    refused(code, "suffice: shell must be said here: --shell bash, zsh or fish\n")
