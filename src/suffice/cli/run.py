"""`suffice run`: some methods on a stream, side by side in one world."""

from pathlib import Path
from typing import Annotated, Final

from cyclopts import App, Parameter
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from suffice.cli.boards import explained, show_board
from suffice.cli.commands import AsJson, Horizon, Seed, Settings, Target, Window, command, require
from suffice.cli.terminal import console, folder, link, progress, write_json
from suffice.lab.method_specs import methods as makers
from suffice.lab.method_specs import usual
from suffice.lab.result_files import run_numbers
from suffice.lab.run import Run, run_methods, setting_of
from suffice.lab.run_stream import Opened, open_stream
from suffice.lab.streams import Log
from suffice.numbers import rate

STREAM: Final = """A name (see `suffice list streams`), a .csv or .parquet log with columns success:OPTION and cost:OPTION, or
a .py file with a stream of your own (FILE.py:NAME if it holds several). Settings may stand behind a colon: needs:a=2,b=5."""
METHODS: Final = """Which methods, with commas: suffice, paper, threshold, or any of `suffice list rivals`; paper-5 and
projected-5 have another step, 5/√T; suffice:chooser=optimist:memory=full has parts of its own (bounds, chooser, prices,
memory, guard, max_surplus), suffice:model=auto has a model of the context. If left out: suffice, paper, projected, always_safe
and, where the stream shows a context, suffice:model=auto."""


def run(
    stream: Annotated[str, Parameter(help=" ".join(STREAM.split()))],
    /,
    *,
    target: Target,
    horizon: Horizon = None,
    seed: Seed = 0,
    settings: Settings = (),
    methods: Annotated[str | None, Parameter(metavar="NAMES", help=" ".join(METHODS.split()))] = None,
    window: Window = 500,
    out: Annotated[Path | None, Parameter(
        metavar="FOLDER", help="A folder for the figure (SVG, dark SVG, PNG).")] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Run some methods on a stream, all in the same world.

    The table shows what each cost and how many successes it owed: at the end, at its worst, and in the worst window. For
    several worlds, with intervals, see `suffice compare`.
    """
    where = console(as_json)
    rate("target", target)
    if out is not None:
        require("--out", "lab")
    opened = open_stream(stream, settings)
    steps = opened.horizon if horizon is None else horizon
    setting = setting_of(opened.name, opened.about, opened.stream, target, steps, seed, window)
    wanted = usual(opened.stream) if methods is None else tuple(methods.split(","))
    made = makers(opened.stream, target, steps, wanted)
    place = None if out is None else folder(out)
    with progress(where) as report:
        result = run_methods(setting, made, progress=report)
    if place is not None:
        from suffice.lab.result_figures import draw_run

        draw_run(result, place)
    if as_json:
        write_json(run_numbers(result))
        return
    _show(where, result, opened)
    if place is not None:
        where.print(Text("Wrote run.svg, run-dark.svg and run.png to ", style="dim").append_text(link(place)))


def _show(where: Console, result: Run, opened: Opened) -> None:
    board = result.board
    show_board(where, board)
    if isinstance(opened.stream, Log):
        if any("skip" in why for why in board.skipped.values()):
            where.print(Text("To add one: --set skip=skip, at cost 0 and without success.", style="dim"))
        if board.setting.horizon > opened.horizon:
            where.print(Text(f"The log has {opened.horizon:,} rows: they are played again and again.", style="yellow"))
    certificate = result.certificates.get("suffice")
    if certificate is not None:
        where.print(Panel(Text(str(certificate)), title="suffice's certificate", title_align="left"))
    where.print(explained([board]))


app: App = command(
    run,
    "suffice run beta --target 0.9",
    "suffice run apis --set task=IMDB --target 0.95 --methods suffice,always_safe",
    "suffice run decisions.csv --target 0.9 --out figures",
)
