"""What a comparison writes: a page, its numbers as JSON and CSV, and a figure per stream. Compute, then write."""

import json
import os
import re
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from suffice.lab import compare_figure, compare_page
from suffice.lab.compare import Found
from suffice.lab.compare_board import Board
from suffice.lab.experiment import Numbers
from suffice.lab.report import csv_text
from suffice.lab.run_files import benchmark, finite, flat, spread
from suffice.version import VERSION

NAME = "comparison"


def numbers(found: Found) -> Numbers:
    """A comparison in JSON's terms; what is not a number becomes null."""
    plan = found.plan
    document: Numbers = finite(
        {
            "suffice": VERSION,
            "target": plan.target,
            "seeds": list(plan.seeds),
            "window": plan.window,
            "streams": {board.stream: _stream(board) for board in found.boards},
            "summary": [{**asdict(total), "short": sorted(total.short)} for total in found.totals],
        }
    )
    return document


def _stream(board: Board) -> dict[str, Any]:
    return {
        "about": board.about,
        "arms": board.arms,
        "horizon": board.horizon,
        "optimum": benchmark(board.best, mix=board.mix),
        "contextual_optimum": benchmark(board.looking),
        "unreachable": board.unreachable,
        "yardstick": board.yardstick,
        "unmeasured": board.unmeasured,
        "rows": [
            {**asdict(row), "ratio": _plain(board, row.method), "short": row.method in board.short}
            for row in board.rows
        ],
        "skipped": board.skipped,
    }


def _plain(board: Board, method: str) -> dict[str, float] | None:
    ratio = board.ratios.get(method)
    return None if ratio is None else asdict(ratio)


def methods_csv(found: Found) -> str:
    """A row per stream and method."""
    return csv_text([_row(board, place, found) for board in found.boards for place in range(len(board.rows))])


def _row(board: Board, place: int, found: Found) -> dict[str, Any]:
    row = board.rows[place]
    return {
        "stream": board.stream,
        "target": found.plan.target,
        "horizon": board.horizon,
        "seeds": len(found.plan.seeds),
        "window": min(found.plan.window, board.horizon),
        **flat(row),
        **spread("ratio", board.ratios.get(row.method)),
        "yardstick": board.yardstick,
        "optimum": None if board.best is None else board.best.cost,
        "contextual_optimum": None if board.looking is None else board.looking.cost,
        "short": row.method in board.short,
    }


def runs_csv(found: Found) -> str:
    """A row per run."""
    return csv_text(
        [
            {"stream": board.stream, "horizon": board.horizon, "method": row.method, "feedback": row.feedback, "seed": seed,
             **asdict(run)}
            for board in found.boards for row in board.rows
            for seed, run in zip(found.plan.seeds, board.runs[row.method], strict=True)
        ]
    )  # fmt: skip


def write(found: Found, folder: str | os.PathLike[str], command: str = "") -> list[Path]:
    """Write comparison.html, comparison.json, methods.csv, runs.csv and the figures; their paths. Needs matplotlib.

    `command` is what the page says it was made by. What a comparison finds, the same runs write again, byte for byte.
    """
    place = Path(folder)
    figures = names(board.stream for board in found.boards)
    drawn = compare_figure.draw(found, figures, place)
    page = compare_page.page(found, figures, place, command)
    texts = {
        f"{NAME}.html": page,
        f"{NAME}.json": json.dumps(numbers(found), indent=1) + "\n",
        "methods.csv": methods_csv(found),
        "runs.csv": runs_csv(found),
    }
    for name, text in texts.items():
        (place / name).write_text(text, encoding="utf-8")
    return [
        *(place / name for name in texts),
        *(place / f"{name}{end}" for name in drawn for end in (".svg", "-dark.svg", ".png")),
    ]


def names(streams: Iterable[str]) -> dict[str, str]:
    """A file name for every stream.

    >>> names(["beta", "needs:a=2,b=5", "needs:a=2;b=5"])
    {'beta': 'beta', 'needs:a=2,b=5': 'needs-a=2-b=5', 'needs:a=2;b=5': 'needs-a=2-b=5-2'}
    """
    found: dict[str, str] = {}
    for stream in streams:
        plain = name = re.sub(r"[^\w.=-]+", "-", stream).strip("-.") or "stream"
        count = 1
        while name in (compare_figure.SUMMARY, *found.values()):
            count += 1
            name = f"{plain}-{count}"
        found[stream] = name
    return found
