"""Figures of boards: every method as a row, debt beside cost."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from matplotlib.lines import Line2D

from suffice.lab import drawing
from suffice.lab.board import Board, Row
from suffice.lab.experiment import Canvas
from suffice.lab.rivals.base import FEEDBACK
from suffice.lab.verdict import Estimate
from suffice.promise.certificate import percent

# Okabe and Ito's colours, which readers with any colour vision can tell apart: one for each kind of feedback.
COLOURS: Final = dict(
    zip(
        FEEDBACK,
        ("#999999", "#009E73", "#0072B2", "#D55E00"),
        strict=True,
    )
)
OTHER: Final = "#777777"
ROW: Final = 0.22  # inches that a method takes


def draw_board(board: Board, name: str, folder: Path) -> None:
    """Write NAME.svg, NAME-dark.svg and NAME.png: the cost and the largest debt of every method, the best on top."""
    drawing.twins(lambda canvas: _paint_board(board, name, canvas), folder)


def _optima(board: Board, line: Callable[..., object], colour: str) -> None:
    if board.best is not None:
        line(board.best.cost, linestyle=":", color=colour, linewidth=1.0, label="optimum")
    if board.contextual is not None:
        line(board.contextual.cost, linestyle="--", color=colour, linewidth=1.0, label="optimum with the context")


def _paint_board(board: Board, name: str, canvas: Canvas) -> None:
    cost, debt = canvas.panels(name, 2, width=3.7, height=ROW * len(board.rows) + 1.6)
    for place, row in enumerate(reversed(board.rows)):
        _dot(cost, row.cost, place, row)
        _dot(debt, row.mean_largest_debt, place, row)
        debt.plot([row.largest_debt], [place], marker="|", markersize=8, color=_colour(row), linestyle="none")
    setting, grey = board.setting, canvas.colour("target")
    _optima(board, cost.axvline, grey)
    debt.set_xscale("symlog", linthresh=1.0)
    debt.set_xlim(left=-1.0)
    for panel, methods in ((cost, [row.method for row in reversed(board.rows)]), (debt, [""] * len(board.rows))):
        panel.set_yticks(range(len(methods)), methods)
        panel.set_ylim(-0.6, len(methods) - 0.4)
    cost.set_xlim(left=0.0)
    cost.set_xlabel(f"mean cost over {setting.horizon:,} steps")
    debt.set_xlabel("largest debt (bar: worst seed)")
    seeds = f"{len(setting.seeds)} seed{'s' if len(setting.seeds) > 1 else ''}"
    title = f"{setting.name}: target {percent(setting.target)}, {seeds}"
    cost.set_title(title, loc="left", fontsize=9, color=cost.xaxis.label.get_color())
    _legend(board, cost)


def _colour(row: Row) -> str:
    return COLOURS.get(row.feedback, OTHER)


def _dot(panel: Any, estimate: Estimate, place: int, row: Row) -> None:
    """A dot with its interval; hollow where the method is short of the target."""
    ends = [[max(0.0, estimate.value - estimate.low)], [max(0.0, estimate.high - estimate.value)]]
    panel.errorbar(
        [estimate.value], [place], xerr=ends, linestyle="none", elinewidth=1.2, marker="o", color=_colour(row),
        markersize=7 if row.method == "suffice" else 5,
        markerfacecolor=panel.get_facecolor() if row.short else _colour(row),
    )  # fmt: skip


def _legend(board: Board, panel: Any) -> None:
    shown = {row.feedback for row in board.rows}
    marks = [(f"feedback: {feedback}", colour, colour) for feedback, colour in COLOURS.items() if feedback in shown]
    if any(row.short for row in board.rows):
        marks.append(("short of the target", OTHER, "none"))
    handles = [
        Line2D([], [], linestyle="none", marker="o", markersize=5, label=label, color=colour, markerfacecolor=face)
        for label, colour, face in marks
    ]
    lines = [line for line in panel.get_lines() if not line.get_label().startswith("_")]
    panel.figure.legend(handles=[*handles, *lines], fontsize=7.5, loc="outside lower center", ncols=min(4, len(marks)))
