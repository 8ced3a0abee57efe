"""A comparison as a table, which `run` and `replay` print."""

from collections.abc import Callable

from rich.table import Table
from rich.text import Text

from suffice.cli.terminal import number, plain_table, tenths
from suffice.lab.run import Comparison, Row
from suffice.lab.verdict import Estimate
from suffice.promise.certificate import percent


def compared(found: Comparison) -> Table:
    """A row per method: a cost never without its debt, and below each name the feedback it was given."""
    regrets = found.best is not None
    headings = [
        "method\n(feedback)",
        "success\nrate",
        "final\ndebt",
        "largest\ndebt",
        f"worst\n{found.window:,}",
        "mean\ncost",
    ]
    table = plain_table(*headings, *(["\nregret", "priced\nregret"] if regrets else []))
    many = len(found.seeds) > 1
    for row in found.rows:
        table.add_row(*_cells(row, many, regrets))
    if found.best is not None:
        shown_cost = Text(number(found.best.cost), style="dim")
        table.add_row(
            Text("optimum", style="dim"), Text(percent(found.target), style="dim"), "", "", "", shown_cost, "", ""
        )
    return table


def _cells(row: Row, many: bool, regrets: bool) -> list[Text]:
    worst = Text(tenths(row.largest_debt), style="green" if row.largest_debt <= 1.0 else "red")
    name = Text(row.method, style="bold" if row.method == "suffice" else "").append(
        f"\n{row.feedback}", style="dim not bold"
    )
    cells = [
        name, _cell(row.rate, percent, many), _cell(row.debt, tenths, many), worst, Text(percent(row.worst_window)),
        _cell(row.cost, number, many),
    ]  # fmt: skip
    if regrets and row.regret is not None and row.priced_regret is not None:
        cells += [_cell(row.regret, tenths, many), _cell(row.priced_regret, tenths, many)]
    return cells


def _cell(estimate: Estimate, write: Callable[[float], str], many: bool) -> Text:
    cell = Text(write(estimate.value))
    if many:
        wider = max(estimate.high - estimate.value, estimate.value - estimate.low)
        cell.append(f"\n±{write(wider)}" if wider > 0.0 else "", style="dim")
    return cell


def below(*, looking: bool) -> str:
    """What a cost below the optimum is bought with."""
    more = ", or by looking at the context: regret and shares are of the optimum that does not look" if looking else ""
    return f"Debt: successes owed; a cost below the optimum is bought with debt{more}."


def explained(found: Comparison) -> Text:
    """What the words of the table mean, as short as can be."""
    parts = [below(looking=found.looking is not None)]
    if found.best is not None:
        prices = f"{number(found.best.price)} a success owed and {number(found.best.price_ahead)} a success banked"
        parts.append(f"Priced regret: regret + debt at the shadow price, {prices}.")
    if len(found.seeds) > 1:
        parts.append(
            f"Means over {len(found.seeds)} seeds, the same worlds for all methods; ± is the wider side of a 95% interval; "
            "the largest debt and the worst window are the worst of all seeds."
        )
    if found.alike:
        parts.append("Every seed came to the same: chance plays no part in this stream (a log: --set order=shuffled).")
    return Text(" ".join(parts), style="dim")
