"""The command line. It only parses and prints; other rooms compute what it shows. One file per command."""

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TextIO

from cyclopts import App, Group
from cyclopts.exceptions import CycloptsError

from suffice.cli.commands import OPTIONS, example
from suffice.cli.terminal import STOPPED, console, discard_output, echo, replace_unprintable
from suffice.errors import SufficeError, SufficeWarning, quoted
from suffice.version import VERSION

START: Final = Group("Start here", sort_key=1)
METHODS: Final = Group("Methods, streams and logs", sort_key=2)
SERVICE: Final = Group("The service", sort_key=3)

# Every command, in the order of the help, and the first sentence of its help: its file is read only when it is called.
COMMANDS: Final = (
    ("demo", START, "See it work: in the terminal, or with --live in a browser."),
    ("compare", METHODS, "Compare methods over many worlds; write a table."),
    ("replay", METHODS, "Ask a log of past decisions what would have held a target."),
    ("reproduce", METHODS, "Reproduce the paper: which of its claims hold?"),
    ("list", METHODS, "List the streams, rivals and experiments."),
    ("serve", SERVICE, "Serve selectors over HTTP, kept in SQLite or PostgreSQL."),
    ("keys", SERVICE, "Make, list and revoke the keys that let clients in."),
    ("copy", SERVICE, "Copy a store into an empty one: a move, or a backup."),
)
NAMES: Final = tuple(name for name, _, _ in COMMANDS)
FILES: Final = {"list": "listing"}  # where a file cannot have the command's name

DEBUG: Final = "SUFFICE_DEBUG"  # set to 1, an unexpected error is shown with its traceback
MISTAKE, BUG, UNREAD = 2, 70, 141  # exit codes: the last as a shell has it after a closed pipe


def application(called: str | None = None) -> App:
    """The whole command line. Only the module of the command `called` is read; the others show their first sentence."""
    app = App(
        name="suffice",
        version=VERSION,
        help="Hold a success rate at the least cost when all you ever see is whether it worked.",
        help_format="plaintext",
        group_parameters=OPTIONS,
        help_epilogue=example(
            "suffice demo", "suffice compare beta --seeds 1", "suffice COMMAND --help    shows more, with examples"
        ),
    )
    for place, (name, group, summary) in enumerate(COMMANDS):
        app.command(
            f"suffice.cli.{FILES.get(name, name)}:app",
            name=name, group=group, sort_key=place, help=None if name == called else summary,
        )  # fmt: skip
    app.register_install_completion_command(help="Let TAB complete commands and options.", group=OPTIONS)
    for flag, words in (("--help", "Show this help."), ("--version", "Show the version.")):
        app[flag].group, app[flag].help = (OPTIONS,), words
    return app


def main(tokens: Sequence[str] | None = None) -> None:
    """Run a command. An error is one sentence, not a traceback, and so is a warning."""
    words = list(sys.argv[1:] if tokens is None else tokens)
    replace_unprintable()
    with _warnings():
        try:
            _run(words)
        except BrokenPipeError:
            discard_output()
            sys.exit(UNREAD)
        except KeyboardInterrupt:
            sys.exit(STOPPED)
        except SufficeError as error:
            _end(str(error))
        except CycloptsError as error:
            _end(f"{str(error).rstrip('.')}; see {' '.join(('suffice', *(error.command_chain or ())))} --help")
        except Exception as error:
            if os.environ.get(DEBUG):
                raise
            _end(*_described(error))


def _run(words: list[str]) -> None:
    called = next((word for word in words if word in NAMES), None)
    try:
        application(called)(words, console=console(), print_error=False, exit_on_error=False)
    finally:
        sys.stdout.flush()  # a closed pipe must raise here, where the error is caught


def _described(error: Exception) -> tuple[str, int]:
    """An unexpected error as a sentence, and the exit code."""
    if isinstance(error, OSError):
        place = f" with {quoted(error.filename)}" if error.filename else ""
        return f"this could not be done{place}: {error.strerror or error}", MISTAKE
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("suffice"):
        return f"this needs {error.name.partition('.')[0]}, which is not installed", MISTAKE
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"this is a bug in suffice, please report it: {what} ({DEBUG}=1 shows where)", BUG


def _end(sentence: str, code: int = MISTAKE) -> None:
    echo(sentence, "red")
    sys.exit(code)


@contextmanager
def _warnings() -> Iterator[None]:
    """Show warnings of suffice as one sentence, and others as usual."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(
            message: Warning | str, category: type[Warning], filename: str, lineno: int, file: TextIO | None = None,
            line: str | None = None,
        ) -> None:  # fmt: skip
            if issubclass(category, SufficeWarning):
                echo(str(message), "yellow")
            else:
                usual(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield
