"""The command line. It only parses and prints; what it shows is computed elsewhere. One file per command."""

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from cyclopts import App, Group
from cyclopts.exceptions import CycloptsError

from suffice.cli.commands import OPTIONS, example
from suffice.cli.terminal import console, echo, printable, quiet
from suffice.cli.usage_errors import sentence
from suffice.errors import SufficeError, SufficeWarning, quoted
from suffice.version import VERSION

START = Group("Start here", sort_key=1)
METHODS = Group("Methods, streams and logs", sort_key=2)
SERVICE = Group("The service", sort_key=3)

# Every command, in the order of the help, and the first sentence of its own help: a file is read only when it is called.
COMMANDS = (
    ("demo", START, "See it work: in the terminal, or with --live in a browser."),
    ("run", METHODS, "Run some methods on a stream, all on the same worlds."),
    ("compare", METHODS, "Compare methods over many worlds; write tables and figures."),
    ("replay", METHODS, "Ask a log of past decisions what would have held a target."),
    ("reproduce", METHODS, "Reproduce the paper: which of its claims hold?"),
    ("list", METHODS, "List the streams, rivals, bounds, choosers and experiments."),
    ("serve", SERVICE, "Serve selectors over HTTP, kept in SQLite or PostgreSQL."),
    ("keys", SERVICE, "Make, list and revoke the keys that let clients in."),
    ("copy", SERVICE, "Copy a store into an empty one: a move, or a backup."),
    ("--install-completion", OPTIONS, "Let TAB complete commands and options."),
)
NAMES = tuple(name for name, _, _ in COMMANDS)
FILES = {"list": "listing", "--install-completion": "completion"}  # where a name cannot be that of a file

DEBUG = "SUFFICE_DEBUG"  # set to 1, an error that nobody expected is shown with its traceback
MISTAKE, BUG, STOPPED, UNREAD = 2, 70, 130, 141  # exit codes: the last two as a shell has them after a signal


def application(called: str | None = None) -> App:
    """The whole command line. Only the command that is called speaks for itself; of the others the first sentence is here."""
    app = App(
        name="suffice",
        version=VERSION,
        help="Hold a success rate at the least cost when all you ever see is whether it worked.",
        help_format="plaintext",
        group_parameters=OPTIONS,
        help_epilogue=example(
            "suffice demo", "suffice run beta --target 0.9", "suffice COMMAND --help    says more, with examples"
        ),
    )
    for place, (name, group, summary) in enumerate(COMMANDS):
        app.command(
            f"suffice.cli.{FILES.get(name, name)}:app",
            name=name, group=group, sort_key=place, help=None if name == called else summary,
        )  # fmt: skip
    for flag, words in (("--help", "Say this, and end."), ("--version", "Say which version this is, and end.")):
        app[flag].group, app[flag].help = (OPTIONS,), words
    return app


def main(tokens: Sequence[str] | None = None) -> None:
    """Run; an error is one sentence, not a traceback, and so is a warning."""
    words = list(sys.argv[1:] if tokens is None else tokens)
    printable()
    with _warnings():
        try:
            _run(words)
        except BrokenPipeError:
            quiet()
            sys.exit(UNREAD)
        except KeyboardInterrupt:
            sys.exit(STOPPED)
        except SufficeError as error:
            _end(str(error))
        except CycloptsError as error:
            _end(sentence(error))
        except OSError as error:
            if os.environ.get(DEBUG):
                raise
            place = f" with {quoted(error.filename)}" if error.filename else ""
            _end(f"this could not be done{place}: {error.strerror or error}")
        except Exception as error:
            if os.environ.get(DEBUG):
                raise
            if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("suffice"):
                _end(f"this needs {error.name.partition('.')[0]}, which is not installed")
            what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            _end(f"this is a bug in suffice, please report it: {what} ({DEBUG}=1 shows where)", BUG)


def _run(words: list[str]) -> None:
    called = next((word for word in words if word in NAMES), None)
    try:
        application(called)(words, console=console(), print_error=False, exit_on_error=False)
    finally:
        sys.stdout.flush()  # here a pipe that nobody reads is an error that can be caught


def _end(said: str, code: int = MISTAKE) -> None:
    echo(said, "red")
    sys.exit(code)


@contextmanager
def _warnings() -> Iterator[None]:
    """Warnings of ours are one sentence; others are shown as they always are."""
    with warnings.catch_warnings():
        before = warnings.showwarning

        def show(message: Any, category: type[Warning], *rest: Any) -> None:
            if issubclass(category, SufficeWarning):
                echo(str(message), "yellow")
            else:
                before(message, category, *rest)

        warnings.showwarning = show  # type: ignore[assignment]
        yield
