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
    where = console()
    where.print(Text(f"Wrote {path}"), soft_wrap=True)
    if out is None:
        startup = Path.home() / STARTUP.get(chosen, "none")
        if startup.is_file() and str(path.parent) in startup.read_text(errors="replace"):
            where.print(Text(f"{startup} loads it"), soft_wrap=True)
        needs = " (which has called compinit)" if chosen == "zsh" else ""
        where.print(Text(f"Start a new {chosen}{needs} and type: suffice <TAB>"), soft_wrap=True)


def _this() -> Shell:
    from cyclopts.completion.detect import ShellDetectionError, detect_shell

    with suppress(ShellDetectionError):
        found = detect_shell()
        if found != "powershell":
            return found
    raise SufficeError("shell must be said here: --shell bash, zsh or fish")


app: App = command(install, "suffice --install-completion", "suffice --install-completion --shell zsh",
                   name="--install-completion")  # fmt: skip
