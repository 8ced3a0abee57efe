"""`suffice reproduce`: the paper, claim by claim."""

import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter
from rich.table import Table
from rich.text import Text

from suffice.cli.commands import AsJson, Flag, MaybeWhole, Whole, command, require_lab
from suffice.cli.terminal import bars, console, folder, interruptible, link, number, write_json
from suffice.errors import InvalidArgument
from suffice.lab.verdict import NOT_REPRODUCED, REPRODUCED, Verdict


def reproduce(
    *,
    quick: Flag = False,
    deep: Flag = False,
    only: Annotated[
        tuple[str, ...], Parameter(negative="", consume_multiple=True, metavar="NAME", show_default=False)
    ] = (),
    out: Annotated[Path, Parameter(metavar="FOLDER")] = Path("reproduction"),
    seeds: MaybeWhole = None,
    jobs: Whole = -1,
    strict: Flag = False,
    as_json: AsJson = False,
) -> None:
    """Reproduce the paper: which of its claims hold?

    Runs its figures, corollaries and theorems, writes figures, numbers and a report, and gives a verdict on each claim.

    Parameters
    ----------
    quick
        Short runs: minutes.
    deep
        Long runs: the full horizons.
    only
        Some experiments (see `suffice list experiments`), or Python files with experiments of your own.
    out
        The folder to write.
    seeds
        How many seeds, where an experiment has seeds; its own number if left out.
    jobs
        How many processes; -1 for all cores.
    strict
        Exit with 1 if any claim is not reproduced. Else verdicts are findings, and the exit code is 0.
    as_json
        Print the verdicts as JSON and nothing else.
    """
    if quick and deep:
        raise InvalidArgument("quick and deep must not be given together")
    require_lab("reproduce", "joblib", "matplotlib")
    from suffice.lab import reproduce as lab

    where = console(as_json)
    level = "quick" if quick else "deep" if deep else "default"
    lab.chosen(only)  # a name that there is not is an error before anything is written
    place = folder(out)
    with interruptible(), bars(where) as moving:
        tasks: dict[str, Any] = {}

        def progress(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = moving.add_task(name, total=total)
            moving.update(tasks[name], completed=done)

        results = lab.reproduce(place, level=level, only=only, seeds=seeds, jobs=jobs, progress=progress)
    verdicts = [verdict for result in results for verdict in result.verdicts]
    page = place / "report.html"
    if as_json:
        write_json(
            {
                "level": level,
                "report": str(page),
                "experiments": {r.experiment.name: [asdict(verdict) for verdict in r.verdicts] for r in results},
            }
        )
    else:
        for result in results:
            where.print(Text(f"\n{result.experiment.title}\n", style="bold"))
            where.print(_table(result.verdicts))
        where.print(_counts(verdicts))
        where.print(Text("The report: ").append_text(link(page)), soft_wrap=True)  # a path that is broken is no path
    if strict and any(verdict.status == NOT_REPRODUCED for verdict in verdicts):
        sys.exit(1)


def _table(verdicts: list[Verdict]) -> Table:
    table = Table(header_style="bold", box=None, padding=(0, 2, 0, 0), show_edge=False)
    table.add_column("claim", ratio=5)
    table.add_column("number", justify="right", ratio=2)
    table.add_column("wanted", ratio=2)
    table.add_column("verdict", ratio=2)
    for verdict in verdicts:
        exact = verdict.low == verdict.high
        span = "no interval" if exact else f"{number(verdict.low)} to {number(verdict.high)}"
        table.add_row(
            Text(verdict.claim, style="bold")
            .append(f"\n{verdict.says}", style="not bold")
            .append(f"\n{verdict.measured}", style="not bold dim"),
            Text(number(verdict.value)).append(f"\n{span}", style="dim"),
            verdict.wanted,
            Text(verdict.status, style=_style(verdict.status)),
        )
        table.add_row()
    return table


def _style(status: str) -> str:
    if status == REPRODUCED:
        return "green"
    return "red" if status == NOT_REPRODUCED else "yellow"


def _counts(verdicts: list[Verdict]) -> Text:
    """How many claims came to what."""
    said = Counter("not reached yet" if v.status.startswith("not reached") else v.status for v in verdicts)
    text = Text(f"{len(verdicts)} claims: ")
    for place, (status, count) in enumerate(said.most_common()):
        text.append(", " if place else "").append(f"{count} {status}", style=_style(status))
    return text.append(".")


app: App = command(
    reproduce,
    "suffice reproduce --quick",
    "suffice reproduce --only trap labels --out report",
    "suffice reproduce --deep --strict",
)
