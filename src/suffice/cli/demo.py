"""`suffice demo`: label ranks, first easy, then hard, and four ways to choose."""

from dataclasses import asdict

from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from suffice import demo as demonstration
from suffice.certificate import percent
from suffice.checks import whole
from suffice.cli.shared import AsJson, Whole, bars, console, stepping, write_json


def demo(
    *,
    target: float = 0.8,
    easy: Whole = 20_000,
    hard: Whole = 10_000,
    window: Whole = 500,
    seed: Whole = 0,
    as_json: AsJson = False,
) -> None:
    """How many labels to show? CIFAR-100 label ranks, first easy, then hard, and four ways to choose.

    Parameters
    ----------
    target
        The success rate to hold.
    easy
        How many easy images come first (true label among the classifier's first five).
    hard
        How many hard ones follow (true label at rank 80 or beyond).
    window
        Length of the windows in which the worst success rate is looked for.
    seed
        Which draw of ranks.
    as_json
        Print the numbers as JSON and nothing else.
    """
    where = console(as_json)
    horizon = whole("easy", easy) + whole("hard", hard)
    names = demonstration.methods(target, horizon)
    if not as_json:
        where.print(_story(target, easy, hard))
    with bars(where) as moving:
        result = demonstration.run(target, easy, hard, seed, window, stepping(moving, names, horizon))
    if as_json:
        numbers = {"rows": [asdict(row) for row in result.rows], "optimum": result.optimum}
        write_json(numbers)
        return
    where.print(_table(result, target, window))
    where.print(Panel(Text(str(result.certificate)), title="suffice's certificate", title_align="left"))
    where.print(Text(_moral(result), style="dim"))


def _story(target: float, easy: int, hard: int) -> Text:
    return Text(
        "\nA classifier ranks 100 labels. We show the first k of 0, 5, 10, 20, 50 or 100 and learn only whether the "
        f"true label was among them; showing k costs k/100. The goal: succeed {percent(target)} of the time and show "
        f"little. The ranks are drawn from those of a real classifier on CIFAR-100: {easy:,} easy ones (rank 5 or better) "
        f"come first; then, unannounced, {hard:,} hard ones (rank 80 or worse), where only showing everything works.\n"
    )


def _table(result: demonstration.Demo, target: float, window: int) -> Table:
    table = Table(title=None, header_style="bold", box=None, padding=(0, 1, 0, 0))
    table.add_column("method")
    for heading in (
        "success\nrate", "final\ndebt", "largest\ndebt", f"worst\n{window}", "mean\ncost", "of which\neasy", "\nhard",
    ):  # fmt: skip
        table.add_column(heading, justify="right")
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


def _moral(result: demonstration.Demo) -> str:
    dearest = max(result.rows, key=lambda row: row.cost)
    ours = result.rows[0]
    return (
        "Debt: successes owed. A cost below the optimum is bought with debt. All are told whether it worked, and the cost; "
        "the paper and its projected baseline use the step 20/√T. suffice spent "
        f"{percent(ours.cost / dearest.cost)} of what always showing everything costs.\n"
        "Next: the ten lines in README.md, or `suffice run` on a stream of your own."
    )
