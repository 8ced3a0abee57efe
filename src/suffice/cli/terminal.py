"""Where the commands print: terminals and pipes, progress bars, and JSON."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from rich.console import Console
from rich.text import Text

from suffice.errors import InvalidArgument, quoted

STOPPED: Final = 130  # exit code after Ctrl-C, as a shell has it


class Screen(Console):
    """rich's console, but a broken pipe raises an error that `main` handles."""

    def on_broken_pipe(self) -> None:
        """The reader of the output has gone."""
        raise BrokenPipeError


def console(as_json: bool = False) -> Console:
    """Where to print: stderr if JSON goes to stdout."""
    return Screen(stderr=as_json)


def echo(sentence: str, style: str) -> None:
    """Print one sentence on stderr, in one line however long it is."""
    Screen(stderr=True, soft_wrap=True).print(Text(f"suffice: {' '.join(sentence.split())}", style=style))


def interactive(where: Console) -> bool:
    """Whether output may be redrawn. FORCE_COLOR makes no terminal of a pipe, and a dumb terminal cannot go back."""
    return where.file.isatty() and not where.is_dumb_terminal


@contextmanager
def progress(where: Console) -> Iterator[Callable[[str, int, int], None]]:
    """Progress bars, which are removed at the end: call what this yields with a name, how much is done, and the total."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:>24}"), BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("left"), TimeRemainingColumn(compact=True),
    )  # fmt: skip
    with Progress(*columns, console=where, transient=True, disable=not interactive(where)) as bars:
        tasks = {}

        def report(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total)
            bars.update(tasks[name], completed=done, total=total)

        yield report


@contextmanager
def interruptible() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C: finished work is kept, and worker processes end."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can take signals
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def replace_unprintable() -> None:
    """Print a question mark, instead of failing, for a character that the encoding of the output lacks."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def discard_output() -> None:
    """The reader of stdout has gone: discard its buffer, which would fail again when Python ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # stdout is no file
        return


def write_json(document: object) -> None:
    """Print JSON; nan and infinity become null."""
    from suffice.lab.report import json_text

    sys.stdout.write(json_text(document, indent=2))


def folder(out: Path) -> Path:
    """A folder to write to, made if it does not exist."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgument(
            f"out must name a folder that can be written, got {quoted(str(out))}: {error.strerror}"
        ) from error
    return out


def link(path: Path) -> Text:
    """A path to click on, where the terminal supports it."""
    return Text(str(path), style=f"link {path.resolve().as_uri()}")
