"""The page of a comparison: one HTML file that stands alone, in the style of the report."""

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from suffice.lab.compare import Found
from suffice.lab.compare_board import Board, Total
from suffice.lab.compare_figure import COLOURS, SUMMARY
from suffice.lab.report import brief, figure, head, number
from suffice.lab.run import Row
from suffice.lab.verdict import Estimate
from suffice.promise.certificate import percent

STYLE = """
.board th { vertical-align: bottom; } .board th:nth-child(n+2) { text-align: right; } .board td { white-space: nowrap; }
.ours td:first-child { font-weight: 600; } .short td { color: var(--dim); } .mark { color: var(--bad); font-weight: 600; }
.tag { color: var(--wait); font-weight: 400; } .better { color: var(--good); } .dot { display: inline-block; width: .6em;
  height: .6em; border-radius: 50%; margin-right: .4em; } small { color: var(--dim); font-weight: 400; display: block; }
code { overflow-wrap: anywhere; } figure { margin: 1rem 0; }
"""
CHEAPER = ", or by looking at a context: regret and “of optimum” are against the optimum that does not look at one"
NOBODY = "<td class=number>–</td>"
SHORT = '<span class=mark title="short of the target">†</span>'


def page(found: Found, figures: Mapping[str, str], folder: Path, command: str = "") -> str:
    """The page: the summary first where there are several streams, then each stream with its figure and its table."""
    plan = found.plan
    seeds = f"{len(plan.seeds)} worlds" if len(plan.seeds) > 1 else "one world"
    parts = [
        *head("Methods compared", STYLE),
        f"<p>{len(plan.methods)} methods on {_count(len(plan.streams), 'stream')}, each in {seeds} that are the same for all, "
        f"with a target of {percent(plan.target)}. {_explained(found)}</p>",
        f"<p class=dim>Made by <code>{html.escape(command)}</code></p>" if command else "",
        _summary(found, folder),
        *(_section(board, found, figures[board.stream], folder) for board in found.boards),
        "</body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("s" if count != 1 else "")


def _explained(found: Found) -> str:
    contexts = any(board.looking is not None for board in found.boards)
    said = [
        f"Debt is the number of successes owed: a cost below the optimum is bought with debt{CHEAPER if contexts else ''}."
    ]
    if any(board.best is not None for board in found.boards):
        said.append(
            "Priced regret is regret plus what is owed at the shadow price of a success, or less what is banked: the fair "
            "number, as long as debts are small."
        )
    if any(board.yardstick is not None for board in found.boards):
        said.append(
            "The yardstick is the paper’s method with the step 1, 5 or 20/√T, whichever came to the least priced regret on "
            "that stream; ratios are means over paired worlds, with an interval by the delta method, and there are none "
            "(≤ 0) where there is no regret to share."
        )
    if any(board.short for board in found.boards):
        said.append(
            f"Methods marked {SHORT} fail over 5% more often than allowed and stand last: to make up for so large a debt "
            "would cost more than the shadow price."
        )
    if len(found.plan.seeds) > 1:
        said.append("Numbers are means with 95% intervals; ≤ and ≥ give the worst of all worlds.")
    return " ".join(said)


def _summary(found: Found, folder: Path) -> str:
    if not found.totals:
        return ""
    boards = [board for board in found.boards if board.yardstick is not None]
    heads = [f"<a href='#{place}'>{html.escape(board.stream)}</a><small>÷ {board.yardstick}</small>"
             for place, board in enumerate(found.boards) if board.yardstick is not None]  # fmt: skip
    rows = [
        _line(total.method, [
            _name(total.method, total.feedback, bool(total.short), False),
            _overall(total, len(boards)),
            *(
                _ratio(total.ratios[board.stream], board.stream in total.short) if board.stream in total.ratios else NOBODY
                for board in boards
            ),
        ], short=False)
        for total in found.totals
    ]  # fmt: skip
    left_out = [html.escape(board.stream) for board in found.boards if board.yardstick is None]
    note = f"<p class=dim>Without a yardstick, and so not here: {', '.join(left_out)}.</p>" if left_out else ""
    return (
        "<h2>Priced regret as a share of the yardstick’s</h2>"
        f"<figure>{figure(SUMMARY, folder, 'All streams')}</figure>"
        f"{_table(['method<small>feedback</small>', 'geometric mean', *heads], rows)}{note}"
    )


def _overall(total: Total, count: int) -> str:
    if total.overall is None:
        return NOBODY
    some = "" if len(total.ratios) == count else f"<small>{len(total.ratios)} of {count} streams</small>"
    return _ratio(total.overall, bool(total.short), some)


def _section(board: Board, found: Found, name: str, folder: Path) -> str:
    place = found.boards.index(board)
    reasons = "".join(f"<li>{html.escape(method)}: {html.escape(why)}</li>" for method, why in board.skipped.items())
    skipped = f"<p>Not run:</p><ul>{reasons}</ul>" if reasons else ""
    unmeasured = f"<p class=waiting>No ratios: {html.escape(board.unmeasured)}.</p>" if board.unmeasured else ""
    picture = f"<figure>{figure(name, folder, board.stream)}</figure>" if board.rows else ""
    return (
        f"<h2 id={place}>{html.escape(board.stream)}</h2><p>{_story(board, found.plan.target)}</p>{picture}"
        f"{_board(board, found) if board.rows else ''}{unmeasured}{skipped}"
    )


def _story(board: Board, target: float) -> str:
    text = f"{html.escape(board.about[0].upper() + board.about[1:])}. {board.arms:,} arms, {board.horizon:,} steps. "
    if board.best is not None:
        mix = " + ".join(f"{percent(share)} × {html.escape(option)}" for option, share in board.mix.items())
        kind = "The best fixed mix over the whole log" if board.recorded else "The optimum"
        text += (
            f"{kind} at {percent(target)} costs {number(board.best.cost)} a step: {mix}. One more success would cost "
        )
        text += f"{number(board.best.price)}, one fewer save {number(board.best.price_ahead)}."
        if board.looking is not None:
            text += f" Looking at the context, the optimum costs {number(board.looking.cost)} a step"
            text += f", {percent(board.looking.cost / board.best.cost)} of that." if board.best.cost > 0.0 else "."
        return text
    if board.unreachable is not None:
        return f"{text}There is no optimum: {html.escape(board.unreachable)}."
    return f"{text}No optimum is known for it, and so there is no regret; methods are in the order of their cost."


def _board(board: Board, found: Found) -> str:
    window = min(found.plan.window, board.horizon)
    heads = [
        "method<small>feedback</small>",
        "success rate",
        "final debt",
        "largest debt",
        f"worst {window:,}",
        "mean cost",
        "in the<br>second half",
    ]
    heads += ["of optimum", "regret", "priced regret"] if board.best is not None else []
    heads += ["ratio"] if board.ratios else []
    rows = [_line(row.method, _cells(row, board, found), short=row.method in board.short) for row in board.rows]
    return _table(heads, rows)


def _cells(row: Row, board: Board, found: Found) -> list[str]:
    many = len(found.plan.seeds) > 1
    cells = [
        _name(row.method, row.feedback, row.method in board.short, row.method == board.yardstick),
        _estimate(row.rate, _share),
        _estimate(row.debt, brief),
        _worst(row.mean_largest_debt, row.largest_debt, brief, "≤", many),
        _worst(row.mean_worst_window, row.worst_window, _share, "≥", many),
        _estimate(row.cost, number),
        _estimate(row.late_cost, number),
    ]
    if board.best is not None:
        cells += [_estimate(row.of_optimum, _share), _estimate(row.regret, brief), _estimate(row.priced_regret, brief)]
    return cells + ([_ratio(board.ratios[row.method], row.method in board.short)] if board.ratios else [])


def _name(method: str, feedback: str, short: bool, yardstick: bool) -> str:
    dot = f"<span class=dot style='background:{COLOURS.get(feedback, '#777')}'></span>"
    tag = " <span class=tag>the yardstick</span>" if yardstick else ""
    return f"<td>{dot}{html.escape(method)}{SHORT if short else ''}{tag}<small>{html.escape(feedback)}</small></td>"


def _estimate(estimate: Estimate | None, write: Callable[[float], str]) -> str:
    if estimate is None:
        return NOBODY
    return _number(write(estimate.value), _span(estimate, write))


def _worst(mean: Estimate, worst: float, write: Callable[[float], str], sign: str, many: bool) -> str:
    return _number(write(mean.value), f"{sign} {write(worst)}" if many else "")


def _ratio(estimate: Estimate | None, short: bool, note: str = "") -> str:
    if estimate is None:
        return "<td class=number>≤ 0</td>"
    better = estimate.high < 1.0 and not short
    text = f"<span class=better>{brief(estimate.value)}</span>" if better else brief(estimate.value)
    return _number(text + (SHORT if short else ""), note or _span(estimate, brief))


def _span(estimate: Estimate, write: Callable[[float], str]) -> str:
    exact = estimate.low == estimate.high
    return "" if exact else f"{write(estimate.low)} to {write(estimate.high)}"


def _share(value: float) -> str:
    return f"{100.0 * value:.2f}%"


def _number(text: str, below: str) -> str:
    return f"<td class=number>{text}<small>{below}</small></td>"


def _line(method: str, cells: Iterable[str], *, short: bool) -> str:
    kind = " class=ours" if method == "suffice" else " class=short" if short else ""
    return f"<tr{kind}>{''.join(cells)}</tr>"


def _table(heads: Sequence[str], rows: Sequence[str]) -> str:
    head_line = "".join(f"<th>{text}</th>" for text in heads)
    return f"<div class=wide><table class=board><tr>{head_line}</tr>{''.join(rows)}</table></div>"
