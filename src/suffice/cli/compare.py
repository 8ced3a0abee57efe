"""`suffice compare`: every method on the same worlds, on one stream or several, beside the paper at its best."""

import inspect
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter
from rich.text import Text

from suffice.cli.commands import AsJson, Flag, MaybeWhole, Whole, command, require_lab
from suffice.cli.terminal import bars, console, interruptible, link, waiting, write_json
from suffice.lab.compare_methods import DEFAULT


def _spaced(names: str) -> str:
    """Names that a line can be broken between."""
    return names.replace(",", ", ")


def compare(
    *streams: str,
    target: float = 0.8,
    horizon: MaybeWhole = None,
    seeds: Whole = 20,
    seed: Whole = 0,
    rivals: Annotated[str, Parameter(metavar="NAMES", show_default=_spaced)] = DEFAULT,
    no_suffice: Flag = False,
    no_paper: Flag = False,
    settings: Annotated[
        tuple[str, ...], Parameter(name="--set", negative="", metavar="KEY=VALUE", show_default=False)
    ] = (),
    window: Whole = 500,
    jobs: Whole = -1,
    out: Annotated[Path, Parameter(metavar="FOLDER")] = Path("comparison"),
    fresh: Flag = False,
    as_json: AsJson = False,
) -> None:
    """Compare methods over many worlds; write tables and figures.

    The worlds are the same for all methods. Each run is kept in the folder as soon as it is done. Stop it at any time: the
    same command goes on from there, and with more --seeds or --rivals only what is missing is run. Other settings, or another
    version of suffice, have results of their own.

    Parameters
    ----------
    streams
        One or several: names (see `suffice list streams`), logs or .py files, as in `suffice run`. Settings may stand
        behind a colon: needs:a=2,b=5.
    target
        The success rate to hold, on all streams.
    horizon
        How many steps: 20,000 if left out, or as many as a log has rows.
    seeds
        How many worlds; from two on, numbers come with 95% intervals.
    seed
        The first world.
    rivals
        Whom to compare with, with commas: any of `suffice list rivals`, projected-5 for another step, threshold; or all,
        same (those that see no more than success and cost) or none. Ours with other parts stands there, too:
        suffice:chooser=optimist, suffice:bounds=kl:prices=straight, suffice:memory=full.
    no_suffice
        Leave the default selector out, which is not told the horizon, and the one that looks at the context of streams that
        show one, suffice:model=auto.
    no_paper
        Leave the paper's method out, at the steps 1, 5 and 20/√T, whose best is the yardstick.
    settings
        A setting for all streams, key=value; once for each.
    window
        Length of the windows in which the worst success rate is looked for.
    jobs
        How many processes; -1 for all cores.
    out
        The folder to write, and to go on from.
    fresh
        Run everything again: discard what the folder holds of this comparison.
    as_json
        Print the numbers as JSON and nothing else.
    """
    require_lab("compare", "joblib", "matplotlib")
    from suffice.cli import compare_tables as tables
    from suffice.lab import compare as lab
    from suffice.lab.compare_files import numbers, write

    where = console(as_json)
    options: dict[str, Any] = {
        "target": target, "horizon": horizon, "seeds": seeds, "seed": seed, "rivals": rivals,
        "suffice": not no_suffice, "paper": not no_paper, "settings": settings, "window": window,
    }  # fmt: skip
    with waiting(where, "reading ..."):
        plan = lab.plan(streams, **options)
    counts: dict[str, tuple[int, int]] = {}
    try:
        with interruptible(), bars(where, left=True) as moving:
            tasks: dict[str, Any] = {}

            def progress(name: str, done: int, total: int) -> None:
                counts[name] = done, total
                if name not in tasks:
                    tasks[name] = moving.add_task(name, total=total)
                moving.update(tasks[name], completed=done)

            found = lab.perform(plan, out, jobs=jobs, fresh=fresh, progress=progress)
    except KeyboardInterrupt:
        console(True).print(_stopped(counts, out), soft_wrap=True)
        sys.exit(130)
    written = write(found, out, _command(streams, options))
    if as_json:
        write_json(numbers(found))
        return
    for part in tables.boards(found, where):
        where.print(part)
    for part in tables.summary(found, where) if found.totals else ():
        where.print(part)
    where.print()
    where.print(tables.explained(found))
    if found.reused:
        where.print(Text(f"{found.reused:,} runs were there already (--fresh runs them again).", style="dim"))
    names = ", ".join(path.name for path in written[1:] if path.suffix in (".json", ".csv"))
    where.print(Text(f"Wrote {names} and the figures (SVG, PNG) to ", style="dim").append_text(link(out)))
    where.print(Text("The page: ").append_text(link(written[0])), soft_wrap=True)  # a path that is broken is no path


def _command(streams: Sequence[str], options: Mapping[str, Any]) -> str:
    """What to type for this comparison, without what nobody has to say."""
    words = ["suffice", "compare", *streams]
    for name, value in options.items():
        if isinstance(value, bool):
            words += [] if value else [f"--no-{name}"]
        elif value == inspect.signature(compare).parameters[name].default:
            continue
        elif isinstance(value, tuple):
            words += [word for setting in value for word in ("--set", setting)]
        else:
            words += [f"--{name}", str(value)]
    return shlex.join(words)


def _stopped(counts: dict[str, tuple[int, int]], out: Path) -> Text:
    done, total = (sum(pair[place] for pair in counts.values()) for place in (0, 1))
    return Text(
        f"suffice: stopped; {done:,} of {total:,} runs are kept in {out}: the same command goes on from there",
        style="yellow",
    )


app: App = command(
    compare,
    "suffice compare beta ranks --rivals same",
    "suffice compare apis --target 0.95 --seeds 50 --out apis",
    "suffice compare trap --rivals all --no-paper",
)
