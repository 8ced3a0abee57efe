"""`suffice compare`: many methods in the same worlds, on one stream or several, beside the paper at its best."""

import sys
from pathlib import Path
from typing import Annotated, Final

from cyclopts import App, Parameter
from rich.text import Text

from suffice.cli.boards import explained, show_board
from suffice.cli.commands import (
    AsJson,
    Flag,
    Folder,
    Horizon,
    Jobs,
    Settings,
    Target,
    Whole,
    Window,
    command,
    require,
)
from suffice.cli.terminal import STOPPED, console, echo, interruptible, link, progress, write_json
from suffice.lab.compare_methods import DEFAULT

STREAMS: Final = """One or several: names (see `suffice list streams`), logs or .py files, as in `suffice run`. Settings may
stand behind a colon: needs:a=2,b=5."""
RIVALS: Final = """Which rivals, with commas: any of `suffice list rivals`, projected-5 for another step, threshold; or all,
same (those that are shown no more than success and cost) or none. Suffice with other parts belongs here, too:
suffice:chooser=optimist, suffice:bounds=kl:prices=straight, suffice:memory=full."""
NO_SUFFICE: Final = """Leave out the default selector and, on streams that show a context, the one with a model of it,
suffice:model=auto."""


def compare(
    *streams: Annotated[str, Parameter(help=" ".join(STREAMS.split()))],
    target: Target = 0.8,
    horizon: Horizon = None,
    seeds: Annotated[Whole, Parameter(help="How many worlds; from two on, numbers have 95% intervals.")] = 20,
    seed: Annotated[Whole, Parameter(help="The first world.")] = 0,
    rivals: Annotated[str, Parameter(
        metavar="NAMES", help=" ".join(RIVALS.split()), show_default=DEFAULT.replace(",", ", "))] = DEFAULT,
    no_suffice: Annotated[Flag, Parameter(help=" ".join(NO_SUFFICE.split()))] = False,
    no_paper: Annotated[Flag, Parameter(
        help="Leave out the paper's method at the steps 1, 5 and 20/√T, whose best is the yardstick.")] = False,
    settings: Settings = (),
    window: Window = 500,
    jobs: Jobs = -1,
    out: Folder = Path("comparison"),
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Compare methods over many worlds; write tables and figures.

    The worlds are the same for all methods. Each run is stored in the folder as soon as it is done. Stop it at any time: the
    same command continues from there, and with more --seeds or --rivals only the missing runs are done. Other settings, or
    another version of suffice, have results of their own.
    """
    require("compare", "lab")
    from suffice.lab import compare as lab
    from suffice.lab.result_files import comparison_numbers, write_comparison

    where = console(as_json)
    plan = lab.plan(
        streams, target=target, horizon=horizon, seeds=seeds, seed=seed, rivals=rivals, suffice=not no_suffice,
        paper=not no_paper, settings=settings, window=window,
    )  # fmt: skip
    try:
        with interruptible(), progress(where) as report:
            result = lab.compare(plan, out, jobs=jobs, progress=report)
    except KeyboardInterrupt:
        echo(f"stopped; finished runs are stored in {out}: the same command continues from there", "yellow")
        sys.exit(STOPPED)
    write_comparison(result.boards, out)
    if as_json:
        write_json(comparison_numbers(result.boards))
        return
    for board in result.boards:
        show_board(where, board)
    where.print()
    where.print(explained(result.boards))
    if result.reused:
        where.print(Text(f"{result.reused:,} runs were stored before.", style="dim"))
    where.print(Text("Wrote methods.csv and the figures (SVG, PNG) to ", style="dim").append_text(link(out)))


app: App = command(
    compare,
    "suffice compare beta ranks --rivals same",
    "suffice compare apis --target 0.95 --seeds 50 --out apis",
    "suffice compare trap --rivals all --no-paper",
)
