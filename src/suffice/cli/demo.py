"""`suffice demo`: label ranks, first easy, then hard, and four ways to choose; or, with --live, a service to look at."""

from dataclasses import asdict
from typing import Annotated, Any

from cyclopts import App, Group, Parameter
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from suffice.cli.commands import OPTIONS, AsJson, Flag, MaybeWhole, Whole, command
from suffice.cli.live import live
from suffice.cli.terminal import bars, console, fitted, plain_table, stepping, write_json
from suffice.errors import InvalidArgument
from suffice.lab import demo as demonstration
from suffice.lab.demo import Demo
from suffice.lab.live import FIRST, PACE
from suffice.numbers import positive_int
from suffice.promise.certificate import percent

TABLE = Group("Without --live", sort_key=5)
LIVE = Group("With --live", sort_key=6)


def demo(
    *,
    live_: Annotated[Flag, Parameter(name="--live", group=OPTIONS)] = False,
    target: Annotated[float, Parameter(group=TABLE)] = 0.8,
    easy: Annotated[Whole, Parameter(group=TABLE)] = 20_000,
    hard: Annotated[Whole, Parameter(group=TABLE)] = 10_000,
    window: Annotated[Whole, Parameter(group=TABLE)] = 500,
    port: Annotated[MaybeWhole, Parameter(group=LIVE)] = None,
    pace: Annotated[float | None, Parameter(group=LIVE, show_default=f"{PACE:g}")] = None,
    first: Annotated[MaybeWhole, Parameter(group=LIVE, show_default=f"{FIRST:,}")] = None,
    seconds: Annotated[float | None, Parameter(group=LIVE)] = None,
    open_: Annotated[bool | None, Parameter(name="--open", group=LIVE)] = None,
    seed: Annotated[Whole, Parameter(group=OPTIONS)] = 0,
    as_json: Annotated[AsJson, Parameter(group=OPTIONS)] = False,
) -> None:
    """See it work: in the terminal, or with --live in a browser.

    How many labels to show? CIFAR-100 label ranks, first easy, then hard, and four ways to choose: a table in a few seconds.
    With --live, a service on this machine: three worlds that shift again and again ask it what to do, and a page shows how the
    promise is kept.

    Parameters
    ----------
    live_
        Start the service, with three worlds that use it, and say where to look. Ctrl-C ends it.
    target
        The success rate to hold.
    easy
        How many easy images come first (true label among the classifier's first five).
    hard
        How many hard ones follow (true label at rank 80 or beyond).
    window
        Length of the windows in which the worst success rate is looked for.
    port
        The port to listen on; any that is free if left out.
    pace
        Decisions per second of each world.
    first
        So many decisions of each world come as fast as they can, at the beginning.
    seconds
        End by itself after so many seconds; else Ctrl-C ends it.
    open_
        Open the page in a browser. If left out, only from a terminal on a machine with a screen.
    seed
        Which draw.
    as_json
        Print the numbers as JSON and nothing else; with --live, when it ends.
    """
    given = {"port": port, "pace": pace, "first": first, "seconds": seconds, "open": open_}
    if live_:
        if (target, easy, hard, window) != (0.8, 20_000, 10_000, 500):
            raise InvalidArgument(
                "target, easy, hard and window must be left out with --live: its worlds are what they are"
            )
        live(
            port or 0, PACE if pace is None else pace, FIRST if first is None else first, seconds, open_, seed, as_json
        )
        return
    for name, value in given.items():
        if value is not None:
            raise InvalidArgument(f"{name} must go with --live")
    _table_of(target, easy, hard, window, seed, as_json)


def _table_of(target: float, easy: int, hard: int, window: int, seed: int, as_json: bool) -> None:
    where = console(as_json)
    horizon = positive_int("easy", easy) + positive_int("hard", hard)
    positive_int("window", window)
    positive_int("seed", seed, 0)
    names = demonstration.methods(target, horizon)
    if not as_json:
        where.print(_story(target, easy, hard))
    with bars(where) as moving:
        result = demonstration.run(target, easy, hard, seed, window, stepping(moving, names, horizon))
    if as_json:
        write_json(_numbers(result, target))
        return
    where.print(fitted(_table(result, target, min(window, horizon)), where))
    where.print(Panel(Text(str(result.certificate)), title="suffice's certificate", title_align="left"))
    where.print(Text(_moral(result), style="dim"))


def _numbers(result: Demo, target: float) -> dict[str, Any]:
    certificate = result.certificate
    return {
        "target": target,
        "rows": [asdict(row) for row in result.rows],
        "optimum": result.optimum,
        "easy_optimum": result.easy_optimum,
        "hard_optimum": result.hard_optimum,
        "certificate": {
            "status": certificate.status,
            "debt_at_most": certificate.debt_at_most,
            "text": str(certificate),
        },
    }


def _story(target: float, easy: int, hard: int) -> Text:
    return Text(
        "\nA classifier ranks 100 labels. We show the first k of 0, 5, 10, 20, 50 or 100 and learn only whether the "
        f"true label was among them; showing k costs k/100. The goal: succeed {percent(target)} of the time and show "
        f"little. The ranks are drawn from those of a real classifier on CIFAR-100: {easy:,} easy ones (rank 5 or better) "
        f"come first; then, unannounced, {hard:,} hard ones (rank 80 or worse), where only showing all 100 works.\n"
    )


def _table(result: Demo, target: float, window: int) -> Table:
    table = plain_table(
        "method", "success\nrate", "final\ndebt", "largest\ndebt", f"worst\n{window}", "mean\ncost", "of which\neasy",
        "\nhard",
    )  # fmt: skip
    for row in result.rows:
        kept = row.largest_debt <= 1.0
        table.add_row(
            Text(row.name, style="bold" if row.name == "suffice" else ""),
            percent(row.rate),
            f"{round(row.debt, 1) + 0.0:,.1f}",
            Text(f"{row.largest_debt:,.1f}", style="green" if kept else "red"),
            percent(row.worst_window),
            *(f"{cost:.3f}" for cost in (row.cost, row.easy_cost, row.hard_cost)),
        )
    table.add_row(*[""] * 8)
    table.add_row(
        Text("optimum, clairvoyant", style="dim"), percent(target), "0.0", "", "",
        *(f"{cost:.3f}" for cost in (result.optimum, result.easy_optimum, result.hard_optimum)),
    )  # fmt: skip
    return table


def _moral(result: Demo) -> str:
    dearest = max(result.rows, key=lambda row: row.cost)
    ours = result.rows[0]
    return (
        "Debt: successes owed. A cost below the optimum is bought with debt. All are told whether it worked, and the cost; "
        "the paper and its projected baseline use the step 20/√T. suffice spent "
        f"{percent(ours.cost / dearest.cost)} of what always playing the safe option costs.\n"
        "Next: `suffice demo --live` (`make live` in a checkout) to watch it on a page, the ten lines in README.md, or "
        "`suffice run` on your own stream."
    )


app: App = command(
    demo,
    "suffice demo",
    "suffice demo --target 0.95 --hard 20_000",
    "suffice demo --live",
    "suffice demo --live --port 8470 --pace 100",
)
