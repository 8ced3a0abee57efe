"""`suffice reproduce`: the paper, claim by claim."""

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from suffice.cli.commands import Flag, Folder, Jobs, MaybeWhole, command, require
from suffice.cli.tables import number
from suffice.cli.terminal import console, folder, interruptible, link, progress
from suffice.errors import InvalidArgument
from suffice.lab.report import span
from suffice.lab.verdict import NOT_REPRODUCED, REPRODUCED, Verdict

if TYPE_CHECKING:
    from suffice.lab.report import Result


def reproduce(
    *,
    quick: Annotated[Flag, Parameter(help="Short runs: minutes.")] = False,
    deep: Annotated[Flag, Parameter(help="Long runs: the full horizons.")] = False,
    only: Annotated[tuple[str, ...], Parameter(
        negative="", consume_multiple=True, metavar="NAME", show_default=False,
        help="Some experiments (see `suffice list experiments`), or Python files with experiments of your own.")] = (),
    out: Folder = Path("reproduction"),
    seeds: Annotated[MaybeWhole, Parameter(
        help="How many seeds, where an experiment has seeds; its own number if left out.")] = None,
    jobs: Jobs = -1,
    strict: Annotated[Flag, Parameter(
        help="Exit with 1 if any claim is not reproduced. Else verdicts are findings, and the exit code is 0.")] = False,
) -> None:  # fmt: skip
    """Reproduce the paper: which of its claims hold?

    Runs its figures, corollaries and theorems, writes figures, numbers and verdicts, and gives a verdict on each claim.
    """
    if quick and deep:
        raise InvalidArgument("quick and deep must not be given together")
    require("reproduce", "lab")
    from suffice.lab import reproduce as lab

    where = console()
    level = "quick" if quick else "deep" if deep else "default"
    lab.chosen(only)  # an unknown name is an error before anything is written
    place = folder(out)
    with interruptible(), progress(where) as report:
        results = lab.reproduce(place, level=level, only=only, seeds=seeds, jobs=jobs, progress=report)
    _show(where, results, place)
    if strict and any(verdict.status == NOT_REPRODUCED for result in results for verdict in result.verdicts):
        sys.exit(1)


def _show(where: Console, results: list["Result"], place: Path) -> None:
    for result in results:
        where.print(Text(f"\n{result.experiment.title}\n", style="bold"))
        where.print(Text(f"{result.experiment.about}\n", style="dim"))
        where.print(_table(result.verdicts))
    where.print(_counts([verdict for result in results for verdict in result.verdicts]))
    wrote = Text("Wrote verdicts.csv, the numbers and the figures (SVG, PNG) to ", style="dim")
    where.print(wrote.append_text(link(place)), soft_wrap=True)  # a broken path cannot be copied


def _table(verdicts: list[Verdict]) -> Table:
    table = Table(header_style="bold", box=None, padding=(0, 2, 0, 0), show_edge=False)
    table.add_column("claim", ratio=5)
    table.add_column("number", justify="right", ratio=2)
    table.add_column("wanted", ratio=2)
    table.add_column("verdict", ratio=2)
    for verdict in verdicts:
        claim = Text(verdict.claim, style="bold").append(f"\n{verdict.says}", style="not bold")
        table.add_row(
            claim.append(f"\n{verdict.measured}", style="not bold dim"),
            Text(number(verdict.value)).append(f"\n{span(verdict)}", style="dim"),
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
    """How many claims have which verdict."""
    counts = Counter("not reached yet" if v.status.startswith("not reached") else v.status for v in verdicts)
    text = Text(f"{len(verdicts)} claims: ")
    for place, (status, count) in enumerate(counts.most_common()):
        text.append(", " if place else "").append(f"{count} {status}", style=_style(status))
    return text.append(".")


app: App = command(
    reproduce,
    "suffice reproduce --quick",
    "suffice reproduce --only trap labels --out claims",
    "suffice reproduce --deep --strict",
)
