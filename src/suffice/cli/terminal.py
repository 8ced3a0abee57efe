"""Where the commands print: terminals and pipes, progress bars, JSON, and numbers as people read them."""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from suffice.errors import InvalidArgument, quoted
from suffice.promise.certificate import percent

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn


class Screen(Console):
    """rich's console, whose broken pipe is an error like any other: `main` knows what to do about it."""

    def on_broken_pipe(self) -> None:
        """Who read what we print has gone."""
        raise BrokenPipeError


def console(as_json: bool = False) -> Console:
    """Where to print: not where the JSON goes."""
    return Screen(stderr=as_json)


def echo(sentence: str, style: str) -> None:
    """One sentence on stderr, in one line however long it is."""
    Screen(stderr=True, soft_wrap=True).print(Text(f"suffice: {' '.join(sentence.split())}", style=style))


def watched(where: Console) -> bool:
    """Whether somebody looks at it as it changes. FORCE_COLOR makes no terminal of a pipe, and a dumb one cannot go back."""
    return where.file.isatty() and not where.is_dumb_terminal


def bars(where: Console, *, left: bool = False) -> "Progress":
    """Progress bars that are gone when all is done, and that nobody sees who does not look at a terminal.

    `left` adds the time that is left, for work in many parts.
    """
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    times: list[ProgressColumn] = [TimeElapsedColumn()]
    if left:
        times += [TextColumn("left"), TimeRemainingColumn(compact=True)]
    return Progress(
        TextColumn("{task.description:>24}"), BarColumn(20 if left else 40), MofNCompleteColumn(), *times,
        console=where, transient=True, disable=not watched(where),
    )  # fmt: skip


def waiting(where: Console, words: str) -> AbstractContextManager[Any]:
    """Say what takes a moment, to who looks."""
    return where.status(words) if watched(where) else nullcontext()


def stepping(shown_in: "Progress", names: Iterable[str], total: int) -> Callable[[str, int], None]:
    """A bar per method, which moves as its steps are done."""
    tasks = {name: shown_in.add_task(name, total=total) for name in names}
    return lambda name, done: shown_in.update(tasks[name], completed=done)


@contextmanager
def interruptible() -> Iterator[None]:
    """A request to end (SIGTERM) is taken as Ctrl-C is: work is kept, and worker processes do not stay behind."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield  # only there can signals be taken
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def printable() -> None:
    """What the encoding of a terminal or a pipe does not have becomes a question mark, not an error.

    Where they were closed (`>&-`), what is said goes nowhere; and no file of ours gets the number of one of them.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (open until the program ends)
        if hasattr(getattr(sys, name), "reconfigure"):
            getattr(sys, name).reconfigure(errors="replace")


def quiet() -> None:
    """Nobody reads stdout any more: what is left in its buffer must not fail again when Python ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # no file of its own
        return


def write_json(document: Any) -> None:
    """Print JSON that every reader takes: nan and infinity become null."""
    from suffice.lab.run_files import finite

    sys.stdout.write(json.dumps(finite(document), indent=2) + "\n")


# --- files


def folder(out: str | Path) -> Path:
    """A folder to write to, made if it is not there."""
    path = Path(out)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgument(
            f"out must name a folder that can be written, got {quoted(str(out))}: {error.strerror}"
        ) from error
    return path


def link(path: Path) -> Text:
    """A path to click on, where the terminal can."""
    return Text(str(path), style=f"link {path.resolve().as_uri()}")


# --- numbers and tables


def number(value: float | None) -> str:
    """Four digits, with commas; a dash for what there is not.

    >>> number(0.123456), number(1234567.0), number(-0.0), number(None)
    ('0.1235', '1,234,567', '0', '–')
    """
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value + 0.0:.4g}"


def tenths(value: float) -> str:
    """One digit, with commas, and never a negative zero.

    >>> tenths(-0.01), tenths(12345.67)
    ('0.0', '12,345.7')
    """
    return f"{round(value, 1) + 0.0:,.1f}"


def plain_table(*headings: str, left: int = 1) -> Table:
    """A table without lines, its first columns to the left and the others to the right."""
    table = Table(header_style="bold", box=None, padding=(0, 1, 0, 0))
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place < left else "right", overflow="fold")
    return table


def fitted(table: Table, where: Console) -> Table | Text:
    """The table or, where it is too narrow for that, a line for each number: one that is broken in two is misread."""
    columns = [[_words(column.header), *map(_words, column.cells)] for column in table.columns]
    least = [
        max(len(part) for cell in cells for part in (cell.plain.split("\n") if place else cell.plain.split() or [""]))
        for place, cells in enumerate(columns)
    ]
    if sum(least) + len(least) <= where.width:
        return table
    headings = [" ".join(heading.plain.split()) for heading, *_ in columns]
    said = Text()
    for name, *cells in zip(*(cells for _, *cells in columns), strict=True):
        said.append_text(Text("\n  ").join(name.split("\n"))).append("\n")
        for heading, cell in zip(headings[1:], cells, strict=True):
            if cell.plain:
                said.append(f"  {heading} ", style="dim").append_text(_in_line(cell)).append("\n")
    return said.append(f"{table.caption}\n", style="dim italic") if table.caption else said


def _words(cell: Any) -> Text:
    return cell if isinstance(cell, Text) else Text(str(cell))


def _in_line(cell: Text) -> Text:
    return Text(" ").join(cell.split("\n"))


def mixed(mix: dict[str, float]) -> str:
    """A mix in words.

    >>> mixed({"small": 0.25, "large": 0.75}), mixed({"small": 1.0})
    ('25% × small + 75% × large', 'small')
    """
    if len(mix) == 1:
        return next(iter(mix))
    return " + ".join(f"{percent(share)} × {name}" for name, share in mix.items())
