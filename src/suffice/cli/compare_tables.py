"""What `suffice compare` prints: a board per stream and, for several, a summary. Narrow enough for 80 columns."""

import math
from collections.abc import Callable, Collection, Iterator, Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from suffice.cli.run import optima
from suffice.cli.tables import below
from suffice.cli.terminal import number, tenths
from suffice.lab.compare import Found
from suffice.lab.compare_board import Board, Total
from suffice.lab.report import brief
from suffice.lab.run import Row
from suffice.lab.verdict import Estimate
from suffice.promise.certificate import percent

WIDE = 100  # from here on there is room between columns
SHORT, YARDSTICK, NO_RATIO = "†", "◆", "≤ 0"
REGRET, SHARE, RATIO = "\nregret", "of\noptimum", "\nratio"  # the columns that a table can do without
Write = Callable[[float], str]


def boards(found: Found, where: Console) -> Iterator[RenderableType]:
    """Every stream: what it is, its table, and what could not run."""
    for board in found.boards:
        yield _story(board, found.plan.target)
        yield _fitting(board, found, where)
        yield from (Text(f"{name} cannot run here: {why}", style="yellow") for name, why in _gathered(board))
        if board.unmeasured is not None:
            yield Text(f"No ratios: {board.unmeasured}.", style="yellow")
        if board.alike:
            yield Text("Every seed came to the same: chance plays no part in this stream.", style="dim")


def _fitting(board: Board, found: Found, where: Console) -> Table:
    """The table with as many columns as there is room for; the files have all of them."""
    # Priced regret says more than regret; and who looks at the context is better measured by the optimum than by a ratio.
    later = [RATIO, SHARE] if board.looking is not None else [SHARE, RATIO]
    columns = {REGRET, SHARE, RATIO}
    table = _table(board, found, where.width, columns)
    for column in (REGRET, *later):
        if _fits(table, where):
            break
        columns = columns - {column}
        table = _table(board, found, where.width, columns)
    return table


def _fits(table: Table, where: Console) -> bool:
    boundless = where.options.update(width=10_000)  # else nothing is ever wider than the console
    return where.measure(table, options=boundless).maximum <= where.width


def _story(board: Board, target: float) -> Text:
    text = Text("\n").append(board.stream, style="bold").append(
        f": {board.about}. {board.arms:,} arms, {board.horizon:,} steps. "
    )  # fmt: skip
    if board.best is not None:
        kind = "Best fixed mix over the whole log" if board.recorded else "Optimum"
        return text.append(f"{kind} at {percent(target)}: {optima(board.best, board.mix, board.looking)}.\n")
    if board.unreachable is not None:
        return text.append(f"No optimum: {board.unreachable}.\n", style="yellow")
    return text.append("No optimum is known, so there is no regret.\n", style="dim")


def _gathered(board: Board) -> Iterator[tuple[str, str]]:
    """Methods with the same reason in one line."""
    for why in dict.fromkeys(board.skipped.values()):
        yield ", ".join(name for name, other in board.skipped.items() if other == why), why


def _table(board: Board, found: Found, width: int, columns: Collection[str]) -> Table:
    table = _plain(width)
    table.add_column("method\n(feedback)", no_wrap=True)
    headings = ["success\nrate", "final\ndebt", "largest\ndebt", f"worst\n{min(found.plan.window, board.horizon):,}"]
    headings.append("mean\ncost")
    if board.best is not None:
        headings += [name for name in (SHARE, REGRET) if name in columns] + ["priced\nregret"]
    if board.ratios and RATIO in columns:
        headings.append(RATIO)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in board.rows:
        table.add_row(*_cells(row, board, found, columns))
    for name, best in (("optimum", board.best), ("optimum, looking", board.looking)):
        if best is not None:
            words = [_share(found.plan.target)(found.plan.target), "", "", "", _cost(best.cost)]
            if board.best is not None and board.best.cost > 0.0 and board.looking is not None and SHARE in columns:
                words.append(percent(best.cost / board.best.cost))
            table.add_row(*(Text(word, style="dim") for word in (name, *words)))
    return table


def _plain(width: int) -> Table:
    return Table(header_style="bold", box=None, padding=(0, 2 if width >= WIDE else 1, 0, 0), pad_edge=False)


def _cells(row: Row, board: Board, found: Found, columns: Collection[str]) -> list[Text]:
    many, share, finer = len(found.plan.seeds) > 1, _share(found.plan.target), _share(found.plan.target, 1)
    name = Text(row.method, style="bold" if row.method == "suffice" else "")
    name.append(SHORT if row.method in board.short else "", style="red not bold")
    name.append(f" {YARDSTICK}" if row.method == board.yardstick else "", style="cyan not bold")
    cells = [
        name.append(f"\n{row.feedback}", style="dim not bold"),
        _estimate(row.rate, share, finer),
        _estimate(row.debt, _debt, _debt),
        _worst(
            row.mean_largest_debt, row.largest_debt, _debt, "≤", many, "green" if row.largest_debt <= 1.0 else "red"
        ),
        _worst(row.mean_worst_window, row.worst_window, share, "≥", many, ""),
        _estimate(row.cost, _cost, lambda value: brief(value, 1)),
    ]
    if board.best is not None:
        cells += [_estimate(row.of_optimum, _tenth, _tenth)] if SHARE in columns else []
        regrets = [row.regret, row.priced_regret] if REGRET in columns else [row.priced_regret]
        cells += [_estimate(regret, brief, lambda value: brief(value, 2)) for regret in regrets]
    if board.ratios and RATIO in columns:
        cells.append(_ratio(board.ratios[row.method], row.method in board.short))
    return cells


def _share(target: float, more: int = 0) -> Write:
    """Percent, with the more digits the fewer failures are allowed."""
    digits = max(1, math.ceil(-math.log10(1.0 - target))) + more
    return lambda value: f"{100.0 * value:.{digits}f}%"


def _debt(value: float) -> str:
    return tenths(value) if abs(value) < 100.0 else f"{value:,.0f}"


def _cost(value: float) -> str:
    return number(value) if abs(value) >= 1e-3 else brief(value)


def _tenth(value: float) -> str:
    return f"{100.0 * value:.1f}%"


def _estimate(estimate: Estimate | None, write: Write, write_half: Write) -> Text:
    if estimate is None:
        return Text("–", style="dim")
    return Text(write(estimate.value)).append(_half(estimate, write_half), style="dim")


def _half(estimate: Estimate, write: Write) -> str:
    wider = max(estimate.high - estimate.value, estimate.value - estimate.low)
    return f"\n±{write(wider)}" if wider > 1e-9 * max(1.0, abs(estimate.value)) else ""  # else it is rounding


def _worst(mean: Estimate, worst: float, write: Write, sign: str, many: bool, style: str) -> Text:
    return Text(write(mean.value), style=style).append(f"\n{sign}{write(worst)}" if many else "", style="dim")


def summary(found: Found, where: Console) -> Iterator[RenderableType]:
    """Methods by streams: the ratio to the yardstick, and the geometric mean. In parts where one table is too wide."""
    measured = [board for board in found.boards if board.yardstick is not None]
    yield Text("\nPriced regret as a share of the yardstick's", style="bold")
    shown = 0
    while shown < len(measured):
        tables = [
            _part(found.totals, measured[shown:end], len(measured), where.width)
            for end in range(shown + 1, len(measured) + 1)
        ]
        fitting = max(1, sum(_fits(table, where) for table in tables))
        yield Text()
        yield tables[fitting - 1]
        shown += fitting
    left_out = [board.stream for board in found.boards if board.yardstick is None]
    if left_out:
        yield Text(f"Without a yardstick, and so not here: {', '.join(left_out)}.", style="dim")


def _part(totals: Sequence[Total], boards: Sequence[Board], count: int, width: int) -> Table:
    """The summary of some streams out of `count`."""
    table = _plain(width)
    table.add_column("method\n(feedback)", no_wrap=True)
    table.add_column("geometric\nmean", justify="right", no_wrap=True)
    for board in boards:
        head = Text(board.stream.replace(":", ":\n").replace(",", ",\n")).append(
            f"\n÷ {board.yardstick}", style="dim not bold"
        )
        table.add_column(head, justify="right", overflow="fold", max_width=12)
    for total in totals:
        name = Text(total.method, style="bold" if total.method == "suffice" else "")
        cells = [
            _ratio(total.ratios[board.stream], board.stream in total.short)
            if board.stream in total.ratios
            else Text("–", style="dim")
            for board in boards
        ]
        table.add_row(name.append(f"\n{total.feedback}", style="dim not bold"), _overall(total, count), *cells)
    return table


def _overall(total: Total, count: int) -> Text:
    mean = total.overall
    if mean is None:
        return Text("–", style="dim")
    cell = _ratio(mean, bool(total.short), bare=True)
    if len(total.ratios) < count:
        return cell.append(f"\n{len(total.ratios)} of {count}", style="dim")
    span = f"\n{_thousandths(mean.low)}–{_thousandths(mean.high)}" if mean.high > mean.low else ""
    return cell.append(span, style="dim")


def _ratio(estimate: Estimate | None, short: bool, *, bare: bool = False) -> Text:
    if estimate is None:
        return Text(NO_RATIO, style="dim")
    cell = Text().append(_thousandths(estimate.value), style="green" if estimate.high < 1.0 and not short else "")
    cell.append(SHORT if short else "", style="red")
    return cell if bare else cell.append(_half(estimate, _thousandths), style="dim")


def _thousandths(value: float) -> str:
    return f"{round(value, 3) + 0.0:.3f}" if abs(value) < 1.0 else brief(value)


def explained(found: Found) -> Text:
    """What the words of the tables mean, as short as can be."""
    seeds, boards = len(found.plan.seeds), found.boards
    said = [below(looking=any(board.looking is not None for board in boards))]
    if any(board.best is not None for board in boards):
        said.append(
            "Of optimum: mean cost as a share of its. Priced regret: regret + debt at the shadow price of a success."
        )
    if any(board.yardstick is not None for board in boards):
        said.append(
            f"Ratio: priced regret as a share of the yardstick's ({YARDSTICK}), the paper at its best step of 1, 5 and 20/√T "
            f"(chosen afterwards); none ({NO_RATIO}) where there is no regret to share."
        )
    if any(board.short for board in boards):
        said.append(
            f"{SHORT}: fails over 5% more often than allowed; at the shadow price, debts that large look too cheap."
        )
    if seeds > 1:
        said.append(
            f"Means over {seeds} seeds, the same worlds for all methods; ± reaches to the ends of a 95% interval; "
            "≤ and ≥ are the worst of all seeds."
        )
    return Text(" ".join(said), style="dim")
