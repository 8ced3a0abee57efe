"""Comparisons as JSON, CSV and figures."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from suffice.best_mix import Optimum
from suffice.lab.board import Board, Row
from suffice.lab.experiment import Numbers
from suffice.lab.report import csv_text
from suffice.lab.verdict import Estimate
from suffice.promise.certificate import Certificate
from suffice.version import VERSION


def board_numbers(board: Board) -> Numbers:
    """A board in JSON's terms."""
    setting = board.setting
    return {
        "stream": setting.name,
        "about": setting.about,
        "arms": setting.stream.menu.n_arms,
        "target": setting.target,
        "horizon": setting.horizon,
        "seeds": list(setting.seeds),
        "window": setting.window,
        "optimum": None if board.best is None else {**_optimum(board.best), "mix": board.mix},
        "contextual_optimum": None if board.contextual is None else _optimum(board.contextual),
        "unreachable": board.unreachable,
        "yardstick": board.yardstick,
        "rows": [asdict(row) for row in board.rows],
        "skipped": board.skipped,
        "certificates": {name: _certificate(certificate) for name, certificate in board.certificates.items()},
    }


def comparison_numbers(boards: Iterable[Board]) -> Numbers:
    """The boards of a comparison in JSON's terms."""
    return {"suffice": VERSION, "streams": {board.setting.name: board_numbers(board) for board in boards}}


def _optimum(best: Optimum) -> Numbers:
    return {"cost": best.cost, "price": best.price, "price_ahead": best.price_ahead}


def _certificate(certificate: Certificate) -> Numbers:
    """The numbers of a certificate, its status and its text."""
    names = [field.name for field in fields(Certificate) if field.name not in ("promise", "account")]
    return {
        "status": certificate.status,
        **{name: getattr(certificate, name) for name in names},
        "text": str(certificate),
    }


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
    """Write methods.csv and a figure per stream (SVG, dark SVG, PNG). Needs matplotlib.

    The same runs give the same files, byte for byte.
    """
    from suffice.lab.result_figures import draw_board

    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    (place / "methods.csv").write_text(methods_csv(boards), encoding="utf-8")
    for board in boards:
        if board.rows:
            draw_board(board, figure_name(board.setting.name), place)


def figure_name(stream: str) -> str:
    """A file name for a stream.

    >>> figure_name("needs:a=2,b=5"), figure_name("logs/mine.csv")
    ('needs-a=2-b=5', 'logs-mine.csv')
    """
    return re.sub(r"[^\w.=-]+", "-", stream).strip("-.") or "stream"
