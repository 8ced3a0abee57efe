"""What the commands share: where they print, progress bars, numbers as people read them, and the extra `lab`."""

import json
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from suffice.certificate import percent
from suffice.errors import InvalidArgument, SufficeError, shown
from suffice.lab.run import Comparison, Row
from suffice.lab.run_files import finite
from suffice.lab.verdict import Estimate

AsJson = Annotated[bool, Parameter(name="--json", negative="")]


def _whole(_: Any, tokens: Sequence[Any]) -> int:
    text = tokens[0].value
    try:
        return int(text)
    except ValueError:
        number = float(text)  # 1e6 is how people write a million
        if not number.is_integer():
            raise ValueError(f"{text} is no whole number") from None
        return int(number)


Whole = Annotated[int, Parameter(converter=_whole)]
MaybeWhole = Annotated[int | None, Parameter(converter=_whole)]


def console(as_json: bool) -> Console:
    """Where to print: not where the JSON goes."""
    return Console(stderr=as_json)


def bars(where: Console, *, left: bool = False) -> Progress:
    """Progress bars that are gone when all is done, and that nobody sees who does not look at a terminal.

    `left` adds the time that is left, for work in many parts.
    """
    times: list[ProgressColumn] = [TimeElapsedColumn()]
    if left:
        times += [TextColumn("left"), TimeRemainingColumn(compact=True)]
    return Progress(
        TextColumn("{task.description:>24}"), BarColumn(20 if left else 40), MofNCompleteColumn(), *times,
        console=where, transient=True, disable=not where.is_terminal,
    )  # fmt: skip


@contextmanager
def stoppable() -> Iterator[None]:
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


def stepping(shown_in: Progress, names: Iterable[str], total: int) -> Callable[[str, int], None]:
    """A bar per method, which moves as its steps are done."""
    tasks = {name: shown_in.add_task(name, total=total) for name in names}
    return lambda name, done: shown_in.update(tasks[name], completed=done)


def write_json(document: Any) -> None:
    """Print JSON that every reader takes: nan and infinity become null."""
    sys.stdout.write(json.dumps(finite(document), indent=2) + "\n")


def lab_or_say(what: str, *packages: str) -> None:
    """Make sure that the packages of the extra `lab` are there before any work is done."""
    for package in packages:
        try:
            __import__(package)
        except ImportError:
            raise SufficeError(f"{what} needs {package}: pip install 'suffice[lab]'") from None


def folder(out: str) -> Path:
    """A folder to write to, made if it is not there."""
    path = Path(out)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgument(
            f"out must name a folder that can be written, got {shown(out)}: {error.strerror}"
        ) from error
    return path


def link(path: Path) -> Text:
    """A path to click on, where the terminal can."""
    return Text(str(path), style=f"link {path.resolve().as_uri()}")


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


def mixed(mix: dict[str, float]) -> str:
    """A mix in words.

    >>> mixed({"small": 0.25, "large": 0.75}), mixed({"small": 1.0})
    ('25% × small + 75% × large', 'small')
    """
    if len(mix) == 1:
        return next(iter(mix))
    return " + ".join(f"{percent(share)} × {name}" for name, share in mix.items())


# --- a comparison, which `run` and `replay` print


def compared(found: Comparison) -> Table:
    """A row per method: a cost never without its debt, and below each name the feedback it was given."""
    regrets = found.best is not None
    headings = [
        "method\n(feedback)",
        "success\nrate",
        "final\ndebt",
        "largest\ndebt",
        f"worst\n{found.window:,}",
        "mean\ncost",
    ]
    table = plain_table(*headings, *(["\nregret", "priced\nregret"] if regrets else []))
    many = len(found.seeds) > 1
    for row in found.rows:
        table.add_row(*_cells(row, many, regrets))
    if found.best is not None:
        shown_cost = Text(number(found.best.cost), style="dim")
        table.add_row(
            Text("optimum", style="dim"), Text(percent(found.target), style="dim"), "", "", "", shown_cost, "", ""
        )
    return table


def _cells(row: Row, many: bool, regrets: bool) -> list[Text]:
    worst = Text(tenths(row.largest_debt), style="green" if row.largest_debt <= 1.0 else "red")
    name = Text(row.method, style="bold" if row.method == "suffice" else "").append(
        f"\n{row.feedback}", style="dim not bold"
    )
    cells = [
        name, _cell(row.rate, percent, many), _cell(row.debt, tenths, many), worst, Text(percent(row.worst_window)),
        _cell(row.cost, number, many),
    ]  # fmt: skip
    if regrets and row.regret is not None and row.priced_regret is not None:
        cells += [_cell(row.regret, tenths, many), _cell(row.priced_regret, tenths, many)]
    return cells


def _cell(estimate: Estimate, write: Callable[[float], str], many: bool) -> Text:
    cell = Text(write(estimate.value))
    if many:
        wider = max(estimate.high - estimate.value, estimate.value - estimate.low)
        cell.append(f"\n±{write(wider)}" if wider > 0.0 else "", style="dim")
    return cell


def below(*, looking: bool) -> str:
    """What a cost below the optimum is bought with."""
    more = ", or by looking at the context: regret and shares are of the optimum that does not look" if looking else ""
    return f"Debt: successes owed; a cost below the optimum is bought with debt{more}."


def explained(found: Comparison) -> Text:
    """What the words of the table mean, as short as can be."""
    parts = [below(looking=found.looking is not None)]
    if found.best is not None:
        prices = f"{number(found.best.dual)} a success owed and {number(found.best.dual_ahead)} a success banked"
        parts.append(f"Priced regret: regret + debt at the shadow price, {prices}.")
    if len(found.seeds) > 1:
        parts.append(
            f"Means over {len(found.seeds)} seeds, the same worlds for all methods; ± is the wider side of a 95% interval; "
            "the largest debt and the worst window are the worst of all seeds."
        )
    if found.alike:
        parts.append("Every seed came to the same: chance plays no part in this stream (a log: --set order=shuffled).")
    return Text(" ".join(parts), style="dim")
