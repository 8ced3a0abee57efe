"""`suffice replay`: what a team's own decision log has to say about a target, and what it cannot."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from suffice.cli.commands import AsJson, Whole, command
from suffice.cli.tables import compared, explained
from suffice.cli.terminal import bars, console, fitted, mixed, number, plain_table, waiting, write_json
from suffice.lab import replay as lab
from suffice.lab import replay_files
from suffice.lab.run_files import numbers
from suffice.lab.verdict import Estimate
from suffice.numbers import rate
from suffice.promise.certificate import percent

MOST_ROWS = 30


def replay(
    log: Annotated[Path, Parameter(metavar="LOG")],
    /,
    *,
    target: float,
    kind: Literal["score", "threshold", "option"] | None = None,
    low: float | None = None,
    high: float | None = None,
    step: float | None = None,
    max_surplus: float | None = None,
    window: Whole = 500,
    as_json: AsJson = False,
) -> None:
    """Ask a log of past decisions what would have held a target.

    Which threshold, option or mix of two would have done, and at what cost? The log is a .csv or .parquet file with one row
    per decision. What it can tell depends on its columns:

    score: what the threshold had to reach, for every row. The answer is exact, and the log is played in its order.

    threshold, success (and cost): the threshold that was used and whether it worked. Success rates get bounds.

    option, success (and cost, propensity): the option that was chosen, whether it worked, what it cost, and the
    probability with which it was chosen.

    Parameters
    ----------
    log
        The file.
    target
        The success rate to hold.
    kind
        What kind of log it is, where the columns leave it open.
    low
        For scores: a threshold that never suffices.
    high
        For scores: a threshold that always does; the largest score if left out.
    step
        For scores: the width of the selector's grid; a twentieth of the range if left out.
    max_surplus
        For scores: the most successes that a selector may bank.
    window
        For scores: length of the windows in which the worst success rate is looked for.
    as_json
        Print the numbers as JSON and nothing else.
    """
    where = console(as_json)
    rate("target", target)
    with waiting(where, "reading ..."):
        decisions = replay_files.read(str(log), kind)
    with bars(where) as moving:
        tasks: dict[str, Any] = {}

        def progress(name: str, done: int) -> None:
            if name not in tasks:
                tasks[name] = moving.add_task(name, total=decisions.rows)
            moving.update(tasks[name], completed=done)

        found = lab.replay(
            decisions, target, low=low, high=high, step=step, max_surplus=max_surplus, window=window, progress=progress
        )
    if as_json:
        played = None if found.played is None else numbers(found.played, {})
        write_json({"log": str(log), **asdict(replace(found, played=None)), "played": played})
        return
    _print(where, str(log), found)


def _print(where: Console, log: str, found: lab.Replay) -> None:
    text = (
        Text("\n")
        .append(log, style="bold")
        .append(f": {'an' if found.kind == 'option' else 'a'} {found.kind} log, {found.rows:,} rows.")
    )
    if found.success is not None:
        cost = "" if found.cost is None else f", at a mean cost of {number(found.cost)}"
        text.append(f" What was chosen succeeded {percent(found.success)} of the time{cost}.")
    where.print(text.append("\n"))
    if found.choices:
        where.print(fitted(_choices(found), where))
        if len(found.choices) > MOST_ROWS:
            where.print(Text(f"and {len(found.choices) - MOST_ROWS:,} more, chosen less often", style="dim"))
        where.print()
    if found.places:
        where.print(fitted(_places(found), where))
        where.print()
    where.print(_answers(found))
    for note in found.notes:
        where.print(Text(note, style="yellow"))
    if found.played is not None:
        where.print(Text("\nThe log in its order, through suffice:", style="bold"))
        where.print(fitted(compared(found.played), where))
        for name, certificate in found.played.certificates.items():
            where.print(Panel(Text(str(certificate)), title=f"{name}'s certificate", title_align="left"))
        where.print(explained(found.played))
    where.print(Text("\nWhat this cannot say", style="bold"))
    for limit in found.limits:
        where.print(_bullet(limit))


def _bullet(text: str) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_row("•", Text(text))
    return table


def _answers(found: lab.Replay) -> Table:
    table = Table(header_style="bold", box=None, padding=(0, 1, 0, 0))
    table.add_column(f"what would have held {percent(found.target)}")
    table.add_column("choice")
    table.add_column("cost", justify="right", no_wrap=True)
    for answer in found.answers:
        chosen = Text(mixed(answer.mix), style="green") if answer.mix else Text(answer.why or "none", style="yellow")
        table.add_row(f"by {answer.by}" if found.kind == "option" else answer.by, chosen, number(answer.cost))
    return table


def _choices(found: lab.Replay) -> Table:
    weighted = found.choices[0].weighted is not None
    headings = ["option", "\nchosen", "success\nrate", "95%\nsure", "mean\ncost"]
    table = plain_table(*headings, *(["weighted\nrate", "95%\nsure", "weighted\ncost"] if weighted else []))
    table.columns[0].overflow = "fold"
    for choice in sorted(found.choices, key=lambda one: -one.chosen)[:MOST_ROWS]:
        cells = [choice.option, f"{choice.chosen:,}", *_rate(choice.success, found.target), number(choice.cost)]
        if choice.weighted is not None:
            cells += [*_rate(choice.weighted, found.target), number(choice.weighted_cost)]
        table.add_row(*cells)
    return table


def _rate(estimate: Estimate, target: float) -> list[Any]:
    style = "green" if estimate.low >= target else "red" if estimate.high < target else ""
    return [Text(percent(estimate.value), style=style), _between(estimate.low, estimate.high)]


def _between(low: float, high: float) -> str:
    return f"{100 * low:.1f}–{100 * high:.1f}%"


def _places(found: lab.Replay) -> Table:
    costs, blind = found.places[0].cost is not None, found.places[0].blind is not None
    headings = ["\nthreshold", "\nused", "on this log\nbetween", "others alike,\n95% sure"]
    headings += (["where used,\nif blindly", "\n95% sure"] if blind else []) + (["mean\ncost"] if costs else [])
    table = plain_table(*headings, left=0)
    for place in found.places:
        style = "green" if place.at_least >= found.target else "red" if place.at_most < found.target else ""
        cells: list[Any] = [f"{place.threshold:.6g}", f"{place.used:,}"]
        cells += [Text(_between(place.at_least, place.at_most), style=style)]
        cells += [_between(place.sure_at_least, place.sure_at_most)]
        cells += _rate(place.blind, found.target) if place.blind is not None else []
        table.add_row(*cells, *([number(place.cost)] if costs else []))
    return table


app: App = command(
    replay,
    "suffice replay decisions.csv --target 0.9",
    "suffice replay scores.parquet --target 0.95 --low 0 --high 1 --step 0.02",
)
