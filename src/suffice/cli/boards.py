"""The table of methods that `compare` and `demo` print: a row per method, a cost beside its debt."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from suffice.cli.tables import mixed, number, table_of, tenths
from suffice.lab.board import Board, Row
from suffice.lab.report import brief
from suffice.lab.streams import Log
from suffice.lab.verdict import Estimate
from suffice.promise.wording import percent

SHORT: Final = "†"
YARDSTICK: Final = "◆"
SMALL_DEBT: Final = 1.0  # shown in green up to here
Write = Callable[[float], str]


def show_board(where: Console, board: Board) -> None:
    """Print a board: what the stream is, a row per method, what could not run, and suffice's certificate of a single world."""
    where.print(_story(board))
    if board.rows:
        where.print(table_of(*board_cells(board)))
    for why in dict.fromkeys(board.skipped.values()):
        names = ", ".join(name for name, reason in board.skipped.items() if reason == why)
        where.print(Text(f"{names} cannot run here: {why}", style="yellow"))
    if isinstance(board.setting.stream, Log):
        if any("skip" in why for why in board.skipped.values()):
            where.print(Text("To add one: --set skip=skip, at cost 0 and without success.", style="dim"))
        rows = len(board.setting.stream.table().costs)
        if board.setting.horizon > rows:
            where.print(Text(f"The log has {rows:,} rows: they are played again and again.", style="yellow"))
    if "suffice" in board.certificates:
        certificate = Text(str(board.certificates["suffice"]))
        where.print(Panel(certificate, title="suffice's certificate", title_align="left"))


def _story(board: Board) -> Text:
    setting = board.setting
    text = Text("\n").append(setting.name, style="bold")
    text.append(f": {setting.about}. {setting.stream.menu.n_arms:,} arms, {setting.horizon:,} steps. ")
    if board.best is not None:
        kind = "Best fixed mix over the whole log" if setting.recorded else "Optimum"
        text.append(f"{kind} at {percent(setting.target)}: {number(board.best.cost)} a step, by {mixed(board.mix)}")
        text.append("." if board.contextual is None else f"; {number(board.contextual.cost)} with the context.")
    elif board.unreachable is not None:
        text.append(f"No optimum: {board.unreachable}.", style="yellow")
    else:
        text.append("No optimum is known, so there is no regret.", style="dim")
    return text.append("\n")


def board_cells(board: Board) -> tuple[list[str], list[list[Text]]]:
    """The headings and the lines of a board: a cost beside its debt, and below each name the feedback that it is given."""
    headings = [
        "method\n(feedback)", "success\nrate", "final\ndebt", "largest\ndebt", f"worst\n{board.setting.window:,}",
        "mean\ncost", *(["priced\nregret"] if board.best else []), *(["\nratio"] if board.yardstick else []),
    ]  # fmt: skip
    lines = [_cells(row, board) for row in board.rows]
    for name, best in (("optimum", board.best), ("optimum, context", board.contextual)):
        if best is not None:
            words = [name, percent(board.setting.target), "", "", "", number(best.cost)]
            words += [""] * (len(headings) - len(words))
            lines.append([Text(word, style="dim") for word in words])
    return headings, lines


def _cells(row: Row, board: Board) -> list[Text]:
    name = Text(row.method, style="bold" if row.method == "suffice" else "")
    name.append(SHORT if row.short else "", style="red not bold")
    name.append(f" {YARDSTICK}" if row.method == board.yardstick else "", style="cyan not bold")
    kept = "green" if row.largest_debt <= SMALL_DEBT else "red"
    many = len(board.setting.seeds) > 1
    cells = [
        name.append(f"\n{row.feedback}", style="dim not bold"),
        _estimate(row.rate, percent),
        _estimate(row.debt, _debt),
        _worst(row.mean_largest_debt, f"≤{_debt(row.largest_debt)}" if many else "", _debt, kept),
        _worst(row.mean_worst_window, f"≥{percent(row.worst_window)}" if many else "", percent),
        _estimate(row.cost, number),
    ]
    if board.best is not None:
        cells.append(_estimate(row.priced_regret, brief))
    if board.yardstick is not None:
        better = row.ratio is not None and row.ratio.high < 1.0 and not row.short
        cells.append(_estimate(row.ratio, brief, "green" if better else "", missing="≤ 0"))
    return cells


def _estimate(estimate: Estimate | None, write: Write, style: str = "", missing: str = "–") -> Text:
    if estimate is None:
        return Text(missing, style="dim")
    half = max(estimate.high - estimate.value, estimate.value - estimate.low)
    varies = half > 1e-9 * max(1.0, abs(estimate.value))  # less is rounding
    return Text(write(estimate.value), style=style).append(f"\n±{write(half)}" if varies else "", style="dim")


def _worst(mean: Estimate, worst: str, write: Write, style: str = "") -> Text:
    return Text(write(mean.value), style=style).append(f"\n{worst}" if worst else "", style="dim")


def _debt(value: float) -> str:
    return tenths(value) if abs(value) < 100.0 else f"{value:,.0f}"


def explained(boards: Sequence[Board]) -> Text:
    """What the words of the table mean."""
    seeds, optima = len(boards[0].setting.seeds), [board.best for board in boards if board.best is not None]
    return Text(" ".join(_explanations(boards, seeds, bool(optima))), style="dim")


def _explanations(boards: Sequence[Board], seeds: int, regret: bool) -> Iterator[str]:
    yield "Debt: successes owed; a cost below the optimum is bought with debt, or with the context."
    if regret:
        yield (
            "Priced regret: cost above the optimum that ignores the context, plus debt at the shadow price of a success."
        )
    if any(board.yardstick for board in boards):
        yield (
            f"Ratio: priced regret as a share of the yardstick's ({YARDSTICK}), the paper at its best step of 1, 5 and 20/√T, "
            "chosen afterwards; none (≤ 0) where there is no regret."
        )
    elif regret and any(row.method.startswith("paper-") for board in boards for row in board.rows):
        yield "No ratios: the paper's regret is not clearly above 0 (a longer --horizon, or more --seeds)."
    if any(row.short for board in boards for row in board.rows):
        yield f"{SHORT}: fails over 5% more often than allowed; the priced regret of so large a debt is too low."
    if seeds > 1:
        yield (
            f"Means over {seeds} seeds, the same worlds for all methods; ± is the wider side of a 95% interval; ≤ and ≥ are "
            "the worst seed."
        )
    if any(board.alike for board in boards):
        yield "Where all seeds gave the same, chance plays no part (a log: --set order=shuffled)."
