"""The figure of a comparison: all methods of a stream as dots in rows, the best on top, coloured by what they are shown."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from matplotlib.lines import Line2D
from matplotlib.ticker import StrMethodFormatter

from suffice.lab import drawing
from suffice.lab.compare import Found
from suffice.lab.compare_board import Board, Total
from suffice.lab.experiment import Canvas, Experiment, Numbers
from suffice.lab.rivals.base import FEEDBACK, NONE, TRUTH
from suffice.lab.run import Row
from suffice.lab.verdict import Estimate
from suffice.promise.certificate import percent

# Okabe and Ito's colours, which everyone can tell apart.
COLOURS: Final = {
    "none": "#999999", "success": "#009E73", "success + cost": "#0072B2", "context, success + cost": "#56B4E9",
    "label when covered": "#E69F00", "label": "#D55E00", "truth": "#CC79A7",
}  # fmt: skip
SEES: Final = {NONE: "sees nothing", TRUTH: "knows the truth"}
ORDER: Final = (NONE, *FEEDBACK, TRUTH)
OTHER: Final = "#777777"
SHAPES: Final = ("s", "^", "v", "P", "X", "*", "<", ">", "p", "h")
SUMMARY: Final = "summary"
NEAR: Final = 20  # times the least: up to there dots are on a straight axis
ROW: Final = 0.22  # inches that a method takes
LINES: Final[dict[str, Any]] = {"optimum": ":", "optimum, looking at the context": "--"}  # and how they are drawn


def draw(found: Found, names: Mapping[str, str], folder: Path) -> list[str]:
    """Write the figures of all streams and, for several, of the summary; their names."""
    # Only `draw` is asked of it; the rest of an experiment is not needed to make a figure.
    return drawing.draw(cast(Experiment, _Figures(found, names)), {}, folder)


class _Figures:
    def __init__(self, found: Found, names: Mapping[str, str]) -> None:
        self.found, self.names = found, names

    def draw(self, _: Numbers, canvas: Canvas) -> None:
        for board in self.found.boards:
            if board.rows:
                _board(board, self.names[board.stream], self.found, canvas)
        if self.found.totals:
            _summary(self.found, canvas)


def _board(board: Board, name: str, found: Found, canvas: Canvas) -> None:
    places = range(len(board.rows) - 1, -1, -1)
    main, debts = canvas.panels(name, 2, width=3.7, height=ROW * len(board.rows) + 1.6)
    for place, row in zip(places, board.rows, strict=True):
        look = _look(row.method, row.feedback, row.method in board.short, row.method == board.yardstick)
        _dot(main, _main(row), place, look)
        _dot(debts, row.mean_largest_debt, place, look)
        debts.plot([row.largest_debt], [place], marker="|", markersize=8, color=look["color"], linestyle="none")
    _rows(main, places, [row.method for row in board.rows])
    _rows(debts, places, [""] * len(places))
    for panel in (main, debts):
        _divide(panel, len(board.short), canvas)
    debts.axvline(found.plan.target, linestyle=":", color=canvas.colour("target"), linewidth=1.0)
    _axis(debts, [row.mean_largest_debt for row in board.rows], max(row.largest_debt for row in board.rows), 1.0)
    debts.set_xlabel("largest debt (bar: worst seed; dotted: the target)")
    lines = _optima(board)
    for label, line in lines.items():
        main.axvline(line, linestyle=LINES[label], color=canvas.colour("target"), linewidth=1.0)
    _axis(main, [_main(row) for row in board.rows], also=list(lines.values()))
    what = "mean cost over" if board.best is None else "priced regret after"
    main.set_xlabel(f"{what} {board.horizon:,} steps")
    seeds = len(found.plan.seeds)
    title = f"{board.stream}: target {percent(found.plan.target)}, {seeds} seed{'s' if seeds > 1 else ''}"
    main.set_title(title, loc="left", fontsize=9, color=main.xaxis.label.get_color())
    more = [Line2D([], [], linestyle=LINES[label], color=OTHER, linewidth=1.0, label=label) for label in lines]
    _legend(main.figure, {row.feedback for row in board.rows}, bool(board.short), board.yardstick is not None, more)


def _optima(board: Board) -> dict[str, float]:
    """Where the optima lie, on a stream with contexts: a regret of 0 is the one that does not look."""
    if board.looking is None:
        return {}
    plain, looking = LINES
    if board.best is None:
        return {looking: board.looking.cost}
    return {plain: 0.0, looking: (board.looking.cost - board.best.cost) * board.horizon}


def _main(row: Row) -> Estimate:
    return row.cost if row.priced_regret is None else row.priced_regret


def _axis(
    panel: Any, shown: Sequence[Estimate], high: float = 0.0, straight: float | None = None, also: Sequence[float] = ()
) -> None:
    """As wide as the dots: straight from 0 where they are near each other, else logarithmic, though straight around 0."""
    most = max(high, *(one.high for one in shown), *also)
    least = min([*(one.value for one in shown), *also])
    figures = StrMethodFormatter("{x:,.10g}")
    if straight is None and all(one.low > 0.0 for one in shown) and all(place > 0.0 for place in also):
        if most < NEAR * least:
            panel.set_xlim(0.0, 1.06 * most)
            panel.xaxis.set_major_formatter(figures)
            return
        panel.set_xscale("log")
        panel.set_xlim(0.7 * least, 1.5 * most)
    else:
        sure = [one.value for one in shown if one.low > 0.0]
        power = straight or 10.0 ** math.floor(math.log10(min(sure, default=1.0)))
        panel.set_xscale("symlog", linthresh=power)
        # An interval around 0 that reaches far below says no more than one that reaches to 0.
        below = min((one.low for one in shown if one.high < 0.0), default=0.0)
        panel.set_xlim(min(-0.4 * power, 1.6 * least, 1.2 * below), max(1.7 * most, 1.4 * power))
    panel.xaxis.set_major_formatter(figures)  # a new scale brings one of its own


def _divide(panel: Any, short: int, canvas: Canvas) -> None:
    """A line above those that are short of the target."""
    if short:
        panel.axhline(short - 0.5, color=canvas.colour("target"), linewidth=0.8)


def _look(method: str, feedback: str, short: bool, yardstick: bool) -> dict[str, Any]:
    colour = COLOURS.get(feedback, OTHER)
    return {
        "color": colour, "marker": "D" if yardstick else "o", "markersize": 7 if method == "suffice" else 5,
        "markerfacecolor": None if short else colour,
    }  # fmt: skip


def _dot(panel: Any, estimate: Estimate, place: float, look: Mapping[str, Any]) -> None:
    ends = [[max(0.0, estimate.value - estimate.low)], [max(0.0, estimate.high - estimate.value)]]
    filled = look["markerfacecolor"] or panel.get_facecolor()  # a hollow mark hides the line behind it
    panel.errorbar([estimate.value], [place], xerr=ends, linestyle="none", elinewidth=1.2, capsize=0,
                   **{**look, "markerfacecolor": filled})  # fmt: skip


def _rows(panel: Any, places: Sequence[float], methods: Sequence[str]) -> None:
    panel.set_yticks(places, methods)
    panel.set_ylim(min(places) - 0.6, max(places) + 0.6)
    panel.tick_params(axis="y", length=0)
    for label, method in zip(panel.get_yticklabels(), methods, strict=True):
        label.set_fontweight("bold" if method == "suffice" else "normal")


def _legend(figure: Any, feedback: set[str], short: bool, yardstick: bool, more: Sequence[Any] = ()) -> None:
    handles = [_mark(SEES.get(name, f"sees {name}"), color=COLOURS[name]) for name in ORDER if name in feedback]
    if yardstick:
        handles.append(_mark("the yardstick", marker="D"))
    if short:
        handles.append(_mark("short of the target", markerfacecolor="none"))
    handles += more
    figure.legend(
        handles=handles, fontsize=7.5, loc="outside lower center", ncols=min(4, len(handles)), handletextpad=0.2
    )


def _mark(label: str, **look: Any) -> Line2D:
    return Line2D([], [], linestyle="none", label=label, **{"marker": "o", "markersize": 5, "color": OTHER, **look})


def _without(panel: Any, totals: Mapping[float, Total]) -> None:
    """Word of those that have no regret to share somewhere: a logarithmic axis has no place for them."""
    if totals:
        low, high = panel.get_xlim()
        panel.set_xlim(low * (low / high) ** 0.08, high)
    for place, total in totals.items():
        colour = COLOURS.get(total.feedback, OTHER)
        panel.text(0.01, place, "≤ 0", transform=panel.get_yaxis_transform(), fontsize=7.5, va="center", color=colour)


def _summary(found: Found, canvas: Canvas) -> None:
    totals = [total for total in found.totals if total.ratios]
    streams = [board.stream for board in found.boards if board.yardstick is not None]
    shapes = dict(zip(streams, SHAPES * len(streams), strict=False))
    places = range(len(totals) - 1, -1, -1)
    panel = canvas.panels(SUMMARY, 1, width=6.4, height=ROW * len(totals) + 1.7)
    for place, total in zip(places, totals, strict=True):
        colour = COLOURS.get(total.feedback, OTHER)
        for stream, ratio in total.ratios.items():
            if ratio is not None:
                panel.plot(
                    [ratio.value],
                    [place],
                    shapes[stream],
                    color=colour,
                    markerfacecolor="none",
                    markersize=4,
                    alpha=0.7,
                )
        if total.overall is not None and len(total.ratios) == len(streams):
            _dot(panel, total.overall, place, _look(total.method, total.feedback, bool(total.short), False))
    panel.set_xscale("log")
    _without(
        panel, {place: total for place, total in zip(places, totals, strict=True) if None in total.ratios.values()}
    )
    panel.xaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    panel.axvline(1.0, linestyle=":", color=canvas.colour("target"), linewidth=1.0)
    _rows(panel, places, [total.method for total in totals])
    panel.set_xlabel("priced regret as a share of the yardstick's (large: geometric mean)")
    more = [_mark(stream, marker=shape, markerfacecolor="none", markersize=4) for stream, shape in shapes.items()]
    _legend(panel.figure, {total.feedback for total in totals}, any(total.short for total in totals), False, more)
