"""`suffice replay`: what a log of decisions shows about a target, and what it cannot show."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

from cyclopts import App, Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from suffice.cli.commands import AsJson, Target, command
from suffice.cli.tables import mixed, number, plain_table
from suffice.cli.terminal import console, write_json
from suffice.lab import replay as lab
from suffice.lab import replay_files
from suffice.lab.replay_records import Replay
from suffice.lab.verdict import Estimate
from suffice.numbers import rate
from suffice.promise.wording import percent

MOST_ROWS: Final = 30


def replay(
    log: Annotated[Path, Parameter(metavar="LOG", help="The file.")],
    /,
    *,
    target: Target,
    as_json: AsJson = False,
) -> None:
    """Ask a log of past decisions what would have held a target.

    Which threshold, option or mix of two would have done, and at what cost? The log is a .csv file with one row per
    decision. What it can show depends on its columns:

    threshold, success (and cost): the threshold that was used and whether it worked. Success rates get bounds.

    option, success (and cost): the option that was chosen, whether it worked, and what it cost.
    """
    where = console(as_json)
    rate("target", target)
    result = lab.replay(replay_files.read(str(log)), target)
    if as_json:
        write_json({"log": str(log), **asdict(result)})
        return
    _show(where, str(log), result)


def _show(where: Console, log: str, result: Replay) -> None:
    text = Text("\n").append(log, style="bold")
    text.append(f": {'an' if result.kind == 'option' else 'a'} {result.kind} log, {result.rows:,} rows.")
    cost = "" if result.cost is None else f", at a mean cost of {number(result.cost)}"
    text.append(f" What was chosen succeeded {percent(result.success)} of the time{cost}.")
    where.print(text.append("\n"))
    if result.options:
        where.print(_options(result))
        if len(result.options) > MOST_ROWS:
            where.print(Text(f"and {len(result.options) - MOST_ROWS:,} more, chosen less often", style="dim"))
        where.print()
    if result.thresholds:
        where.print(_thresholds(result))
        where.print()
    where.print(_answers(result))
    for note in result.notes:
        where.print(Text(note, style="yellow"))
    where.print(Text("\nWhat this cannot show", style="bold"))
    limits = Table.grid(padding=(0, 1))
    for limit in result.limits:
        limits.add_row("•", Text(limit))
    where.print(limits)


def _answers(result: Replay) -> Table:
    table = Table(header_style="bold", box=None, padding=(0, 1, 0, 0))
    table.add_column(f"what would have held {percent(result.target)}")
    table.add_column("choice")
    table.add_column("cost", justify="right", no_wrap=True)
    for answer in result.answers:
        chosen = Text(mixed(answer.mix), style="green") if answer.mix else Text(answer.why or "none", style="yellow")
        table.add_row(f"by {answer.by}" if result.kind == "option" else answer.by, chosen, number(answer.cost))
    return table


def _options(result: Replay) -> Table:
    table = plain_table("option", "\nchosen", "success\nrate", "95%\nsure", "mean\ncost")
    for row in sorted(result.options, key=lambda row: -row.chosen)[:MOST_ROWS]:
        table.add_row(row.option, f"{row.chosen:,}", *_rate(row.success, result.target), number(row.cost))
    return table


def _rate(estimate: Estimate, target: float) -> list[Text | str]:
    return [
        Text(percent(estimate.value), style=_style(estimate.low, estimate.high, target)),
        _between(estimate.low, estimate.high),
    ]


def _style(low: float, high: float, target: float) -> str:
    return "green" if low >= target else "red" if high < target else ""


def _between(low: float, high: float) -> str:
    return f"{100 * low:.1f}–{100 * high:.1f}%"


def _thresholds(result: Replay) -> Table:
    costs = result.thresholds[0].cost is not None
    headings = ["\nthreshold", "\nused", "on this log\nbetween", "others alike,\n95% sure"]
    table = plain_table(*headings, *(["mean\ncost"] if costs else []), left=0)
    for row in result.thresholds:
        bounds = Text(_between(row.at_least, row.at_most), style=_style(row.at_least, row.at_most, result.target))
        cells = (f"{row.threshold:.6g}", f"{row.used:,}", bounds, _between(row.sure_at_least, row.sure_at_most))
        table.add_row(*cells, *([number(row.cost)] if costs else []))
    return table


app: App = command(replay, "suffice replay decisions.csv --target 0.9")
