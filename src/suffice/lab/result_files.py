"""Comparisons as CSV."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from suffice.lab.board import Board, Row
from suffice.lab.experiment import Numbers
from suffice.lab.report import csv_text
from suffice.lab.verdict import Estimate


def methods_csv(boards: Iterable[Board]) -> str:
    """A row per stream and method, each interval in columns of its own."""
    return csv_text([_method_cells(board, row) for board in boards for row in board.rows])


def _method_cells(board: Board, row: Row) -> Numbers:
    setting = board.setting
    cells: Numbers = {
        "stream": setting.name,
        "target": setting.target,
        "horizon": setting.horizon,
        "seeds": len(setting.seeds),
        "window": setting.window,
        "optimum": None if board.best is None else board.best.cost,
        "contextual_optimum": None if board.contextual is None else board.contextual.cost,
        "yardstick": board.yardstick,
    }
    for name in row.__slots__:
        cells |= spread(name, getattr(row, name))
    return cells


def spread(name: str, value: object) -> Numbers:
    """An estimate as three columns, anything else as one.

    >>> spread("cost", Estimate(2.0, 1.5, 2.5)), spread("method", "paper")
    ({'cost': 2.0, 'cost_low': 1.5, 'cost_high': 2.5}, {'method': 'paper'})
    """
    if not isinstance(value, Estimate):
        return {name: value}
    return {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}


def write_comparison(boards: Sequence[Board], folder: str | os.PathLike[str]) -> None:
    """Write methods.csv. The same runs give the same file, byte for byte."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    (place / "methods.csv").write_text(methods_csv(boards), encoding="utf-8")
