"""`suffice --install-completion`: a script for the shell, written once, so that completing takes no time."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter
from rich.text import Text

from suffice.cli.commands import command
from suffice.cli.terminal import console
from suffice.errors import SufficeError

Shell = Literal["bash", "zsh", "fish"]
STARTUP = {"bash": ".bashrc", "zsh": ".zshrc"}  # fish needs none

# A folder in fpath does nothing in a zsh that never called compinit, as a new one does not.
COMPINIT = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }"

# Where fish is told nothing else, it offers the files of the folder among our commands.
NO_FILES = """
# Here no file is wanted
complete -c suffice -n __fish_use_subcommand -f
complete -c suffice -n '__fish_suffice_using_command demo' -f
complete -c suffice -n '__fish_suffice_using_command list' -f
complete -c suffice -n '__fish_suffice_using_command keys' -f
"""


def install(
    *,
    shell: Shell | None = None,
    out: Annotated[Path | None, Parameter(metavar="FILE")] = None,
) -> None:
    """Let TAB complete commands and options.

    It writes a script for bash, zsh or fish, and a line into the startup file of the shell where it takes one. Do it again
    after an update of suffice.

    Parameters
    ----------
    shell
        Which shell; this one if left out.
    out
        Write the script there, and touch nothing else.
    """
    from suffice.cli import application

    app, chosen = application(), shell or _this()
    try:
        path = app.install_completion(shell=chosen, output=out, add_to_startup=out is None)
    except RuntimeError as error:  # of a home that is nowhere
        raise SufficeError("HOME must be set, or say where to write: --out FILE") from error
    if chosen == "fish":
        with path.open("a", encoding="utf-8") as script:
            script.write(NO_FILES)
    where = console()
    where.print(Text(f"Wrote {path}"), soft_wrap=True)
    if out is None:
        startup = Path.home() / STARTUP.get(chosen, "none")
        if startup.is_file() and str(path.parent) in startup.read_text(errors="replace"):
            if chosen == "zsh":
                _add_compinit(startup)
            where.print(Text(f"{startup} loads it"), soft_wrap=True)
        where.print(Text(f"Start a new {chosen} and type: suffice <TAB>"), soft_wrap=True)


def _add_compinit(startup: Path) -> None:
    """At the end of the file: a compinit before it is left alone."""
    text = startup.read_text(errors="replace")
    if COMPINIT not in text:
        with startup.open("a") as file:
            file.write(f"{'' if text.endswith(chr(10)) else chr(10)}{COMPINIT}\n")


def _this() -> Shell:
    from cyclopts.completion.detect import ShellDetectionError, detect_shell

    with suppress(ShellDetectionError):
        found = detect_shell()
        if found != "powershell":
            return found
    raise SufficeError("shell must be said here: --shell bash, zsh or fish")


app: App = command(install, "suffice --install-completion", "suffice --install-completion --shell zsh",
                   name="--install-completion")  # fmt: skip
