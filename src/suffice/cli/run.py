"""`suffice run`: some methods on a stream, side by side."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from suffice.best_mix import Optimum
from suffice.cli.commands import AsJson, MaybeWhole, Whole, command, require_lab
from suffice.cli.tables import compared, explained
from suffice.cli.terminal import (
    bars,
    console,
    fitted,
    folder,
    link,
    mixed,
    number,
    plain_table,
    stepping,
    waiting,
    write_json,
)
from suffice.lab.method_specs import methods as makers
from suffice.lab.method_specs import usual
from suffice.lab.run import Comparison, compare
from suffice.lab.run_files import numbers, write
from suffice.lab.run_stream import Opened, open_stream
from suffice.lab.streams import Log
from suffice.lab.verdict import Estimate
from suffice.numbers import positive_int, rate
from suffice.promise.certificate import percent

WIDE, COST = 100, 5  # from here on there is room for a column that can be done without; the place of the mean cost


def run(
    stream: str,
    /,
    *,
    target: float,
    horizon: MaybeWhole = None,
    seed: Whole = 0,
    seeds: Whole = 1,
    settings: Annotated[
        tuple[str, ...],
        Parameter(name="--set", negative="", consume_multiple=True, metavar="KEY=VALUE", show_default=False),
    ] = (),
    safe: Annotated[str | None, Parameter(metavar="OPTION")] = None,
    methods: Annotated[str | None, Parameter(metavar="NAMES")] = None,
    bounds: Annotated[str, Parameter(metavar="NAME")] = "auto",
    max_surplus: float | None = None,
    scale: float = 1.0,
    window: Whole = 500,
    out: Annotated[Path | None, Parameter(metavar="FOLDER")] = None,
    as_json: AsJson = False,
) -> None:
    """Run some methods on a stream, all on the same worlds.

    The table says what each cost, and how many successes it owed: at the end, at its worst, and in the worst window.

    Parameters
    ----------
    stream
        A name (see `suffice list streams`), a .csv or .parquet log with columns success:OPTION and cost:OPTION, or a .py
        file with a stream of your own (FILE.py:NAME if it holds several). Settings may stand behind a colon: needs:a=2,b=5.
    target
        The success rate to hold.
    horizon
        How many steps: 20,000 if left out, or as many as a log has rows.
    seed
        Which world; the first of them with --seeds.
    seeds
        How many worlds; from two on, numbers come with 95% intervals.
    settings
        Settings of the stream, key=value; costs.small=0.1 for a mapping, ks=5,10 for several numbers.
    safe
        For a log: the option that always succeeds; its last if left out.
    methods
        Which methods, with commas: suffice, paper, threshold, or any of `suffice list rivals`; paper-5 and projected-5
        have a scale of their own, suffice:chooser=optimist:memory=full has parts of its own (bounds, chooser, prices,
        memory, guard, max_surplus), suffice:model=auto looks at the context. If left out: suffice, paper, projected,
        always_safe and, where the stream shows a context, suffice:model=auto.
    bounds
        The bounds of suffice; see `suffice list bounds`.
    max_surplus
        The most successes that suffice may bank.
    scale
        a in the paper's step a/√T, for `paper` and `projected`; the paper tries 1, 5 and 20.
    window
        Length of the windows in which the worst success rate is looked for.
    out
        A folder for the figure (SVG, dark SVG, PNG) and the numbers (JSON, CSV).
    as_json
        Print the numbers as JSON and nothing else.
    """
    where = console(as_json)
    rate("target", target)
    worlds = range(positive_int("seed", seed, 0), seed + positive_int("seeds", seeds))
    if out is not None:
        require_lab("--out", "matplotlib")
    with waiting(where, "reading ..."):
        opened = open_stream(stream, settings, safe=safe)
    steps = opened.horizon if horizon is None else positive_int("horizon", horizon)
    wanted = usual(opened.stream) if methods is None else tuple(methods.split(","))
    made = makers(opened.stream, target, steps, wanted, bounds=bounds, max_surplus=max_surplus, scale=scale)
    place = None if out is None else folder(out)
    with bars(where) as moving:
        progress = stepping(moving, made, steps * len(worlds))
        found = compare(opened.stream, target, steps, made, seeds=worlds, window=window, progress=progress)
    about = {"stream": opened.name, "about": opened.about, "arms": opened.stream.menu.n_arms}
    written = [] if place is None else write(found, about, place)
    if as_json:
        write_json(numbers(found, about))
        return
    where.print(_story(opened, found))
    where.print(fitted(_table(found, where.width), where))
    for name, why in found.skipped.items():
        where.print(Text(f"{name} cannot run here: {why}", style="yellow"))
    if {"paper", "projected"} & set(made):
        where.print(Text(f"The step of paper and projected is {scale:g}/√T (--scale).", style="dim"))
    if any("skip" in why for why in found.skipped.values()) and isinstance(opened.stream, Log):
        where.print(Text("To add one: --set skip=skip, at cost 0 and without success.", style="dim"))
    if isinstance(opened.stream, Log) and steps > opened.horizon:
        where.print(
            Text(f"The log has {opened.horizon:,} rows: they are gone through again and again.", style="yellow")
        )
    certificate = found.certificates.get("suffice")
    if certificate is not None:
        title = "suffice's certificate" + (f", seed {seed}" if len(worlds) > 1 else "")
        where.print(Panel(Text(str(certificate)), title=title, title_align="left"))
    where.print(explained(found))
    if place is not None:
        names = ", ".join(path.name for path in written)
        where.print(Text(f"wrote {names} to ", style="dim").append_text(link(place)))


def _story(opened: Opened, found: Comparison) -> Text:
    menu: Any = opened.stream.menu
    costs = "told with the outcome" if menu.costs is None else "known"
    text = Text("\n").append(opened.name, style="bold").append(
        f": {opened.about}. {menu.n_arms:,} arms{'' if menu.has_skip else ' and no skip option'}, costs {costs}, "
        f"the safe option costs {number(menu.safe_cost)}. {found.horizon:,} steps.\n"
    )  # fmt: skip
    if found.best is not None:
        kind = "Best fixed mix over the whole log" if isinstance(opened.stream, Log) else "Optimum"
        text.append(f"{kind} at {percent(found.target)}: {optima(found.best, found.mix, found.looking)}.\n")
    elif found.unreachable is not None:
        text.append(f"No optimum: {found.unreachable}.\n", style="yellow")
    else:
        text.append("No optimum is known for this stream, so there is no regret.\n", style="dim")
    return text


def optima(best: Optimum, mix: dict[str, float], looking: Optimum | None) -> str:
    """What the optimum costs and is made of, and what the one costs that looks at the context."""
    if looking is None:
        return f"{number(best.cost)} a step, by {mixed(mix)}"
    return f"{number(best.cost)} a step without looking at the context, by {mixed(mix)}; {number(looking.cost)} looking at it"


def _table(found: Comparison, width: int) -> Table:
    """The comparison and, where there is room, beside each cost its share of the optimum's that does not look."""
    table = compared(found)
    if found.looking is not None:
        words = ("optimum, looking", percent(found.target), "", "", "", number(found.looking.cost))
        table.add_row(*(Text(word, style="dim") for word in words))
    if found.best is None or found.best.cost == 0.0 or (width < WIDE and found.looking is None):
        return table
    optima = [Text(f"{best.cost / found.best.cost:.1%}", style="dim") for best in (found.best, found.looking) if best]
    columns = [(str(column.header), list(column.cells)) for column in table.columns]
    columns.insert(COST + 1, ("of\noptimum", [*(_share(row.of_optimum) for row in found.rows), *optima]))
    wider = plain_table(*(heading for heading, _ in columns))
    for line in zip(*(cells for _, cells in columns), strict=True):
        wider.add_row(*line)
    return wider


def _share(estimate: Estimate | None) -> Text:
    if estimate is None:
        return Text("–", style="dim")
    half = estimate.high - estimate.value
    return Text(f"{estimate.value:.1%}").append(f"\n±{half:.1%}" if half > 0.0 else "", style="dim")


app: App = command(
    run,
    "suffice run beta --target 0.9",
    "suffice run ranks --target 0.9 --horizon 1e5 --seeds 10",
    "suffice run apis --set task=IMDB --target 0.95 --methods suffice,always_safe",
    "suffice run decisions.csv --target 0.9 --out figures",
)
