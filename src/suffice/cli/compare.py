"""`suffice compare`: many methods in the same worlds, on one stream or several, beside the paper at its best."""

from pathlib import Path
from typing import Annotated, Final

from cyclopts import App, Parameter
from rich.text import Text

from suffice.cli.boards import explained, show_board
from suffice.cli.commands import (
    Flag,
    Folder,
    Horizon,
    Jobs,
    Settings,
    Target,
    Whole,
    command,
    require,
)
from suffice.cli.terminal import console, folder, interruptible, link, progress
from suffice.lab.compare_methods import DEFAULT

STREAMS: Final = """One or several: names (see `suffice list streams`), .csv logs with columns success:OPTION and
cost:OPTION, or .py files with streams of your own (FILE.py:NAME if it holds several). Settings may stand behind a colon:
needs:a=2,b=5."""
RIVALS: Final = """Which rivals, with commas: any of `suffice list rivals`, projected-5 for another step, 5/√T; or all, same
(those that are shown no more than success and cost) or none."""


def compare(
    *streams: Annotated[str, Parameter(help=" ".join(STREAMS.split()))],
    target: Target = 0.8,
    horizon: Horizon = None,
    seeds: Annotated[Whole, Parameter(
        help="How many worlds: from two on with 95% intervals; 1 shows the certificate of suffice.")] = 20,
    seed: Annotated[Whole, Parameter(help="The first world.")] = 0,
    rivals: Annotated[str, Parameter(
        metavar="NAMES", help=" ".join(RIVALS.split()), show_default=DEFAULT.replace(",", ", "))] = DEFAULT,
    no_paper: Annotated[Flag, Parameter(
        help="Leave out the paper's method at the steps 1, 5 and 20/√T, whose best is the yardstick.")] = False,
    settings: Settings = (),
    window: Annotated[Whole, Parameter(help="Length of the windows for the worst success rate.")] = 500,
    jobs: Jobs = -1,
    out: Folder = Path("comparison"),
) -> None:  # fmt: skip
    """Compare methods over many worlds; write a table.

    The worlds are the same for all methods. The table shows what each cost and how many successes it owed: at the end, at its
    worst, and in the worst window.
    """
    require("compare", "lab")
    from suffice.lab import compare as lab
    from suffice.lab.result_files import write_comparison

    where = console()
    plan = lab.plan(
        streams, target=target, horizon=horizon, seeds=seeds, seed=seed, rivals=rivals,
        paper=not no_paper, settings=settings, window=window,
    )  # fmt: skip
    place = folder(out)
    with interruptible(), progress(where) as report:
        boards = lab.compare(plan, jobs=jobs, progress=report)
    write_comparison(boards, place)
    for board in boards:
        show_board(where, board)
    where.print()
    where.print(explained(boards))
    where.print(Text("Wrote methods.csv to ", style="dim").append_text(link(place)))


app: App = command(
    compare,
    "suffice compare beta --seeds 1 --target 0.9",
    "suffice compare beta ranks --rivals same",
    "suffice compare apis --target 0.95 --seeds 50 --out apis",
    "suffice compare decisions.csv --rivals none --out decisions",
)
