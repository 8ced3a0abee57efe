"""Recorded decisions as CSV files: rows and cells, each checked, and the columns of successes and costs as numbers."""

import csv
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.lab.streams.base import Floats

PREFIXES: Final = ("success:", "cost:")
BATCH: Final = 1 << 16  # rows in memory as text at once
WORDS: Final = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}


@contextmanager
def csv_rows(path: object, what: str) -> Iterator[tuple[list[str], Iterator[list[str]]]]:
    """The header of a CSV file, and its rows one by one. An error names the argument `what`."""
    if not isinstance(path, str | os.PathLike) or Path(path).suffix.lower() != ".csv":
        raise InvalidArgument(f"{what} must name a .csv file, got {quoted(path)}")
    place = quoted(str(path))
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            rows = filter(None, reader)  # a blank line is no row
            try:
                names = [cell.strip() for cell in next(rows, [])]
                yield names, _of_width(rows, len(names))
            except csv.Error as error:
                raise InvalidArgument(
                    f"{what} must name a CSV file, got line {reader.line_num} with: {error}"
                ) from error
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"{what} must name a text file in UTF-8, got {place}: {error.reason}") from error
    except OSError as error:
        raise InvalidArgument(f"{what} must name a file that can be read, got {place}: {error.strerror}") from error


def _of_width(rows: Iterator[list[str]], width: int) -> Iterator[list[str]]:
    for number, row in enumerate(rows, 1):
        if len(row) != width:
            raise InvalidArgument(f"rows must have {width} cells as the header has, got {len(row)} in row {number}")
        yield row


def number_in(name: str, cell: object, row: int) -> float:
    """The number in a cell, which may be a word such as true."""
    text = str(cell).strip()
    try:
        return WORDS[text.lower()] if text.lower() in WORDS else float(text)
    except ValueError:
        raise InvalidArgument(f"{name} must be a number, got {quoted(text)} in row {row}") from None


def read_columns(path: object) -> dict[str, Floats]:
    """The columns `success:OPTION` and `cost:OPTION` of a file, in their order; other columns are ignored."""
    with csv_rows(path, "path") as (names, rows):
        places, done, batches = wanted(names), 0, []
        while batch := list(itertools.islice(rows, BATCH)):
            batches.append(_batch(batch, names, places, done))
            done += len(batch)
    table = np.concatenate(batches) if batches else np.empty((0, len(places)))
    return {names[place]: np.ascontiguousarray(table[:, column]) for column, place in enumerate(places)}


def wanted(names: list[str]) -> list[int]:
    """The places of the columns to read."""
    places = [place for place, name in enumerate(names) if name.startswith(PREFIXES)]
    if not any(names[place].startswith("success:") for place in places):
        raise InvalidArgument(
            f"columns must include success:OPTION, one per option, got {quoted(', '.join(names)) if names else 'none'}"
        )
    check_distinct([names[place] for place in places])
    return places


def check_distinct(names: list[str]) -> None:
    """Refuse a column that is there twice."""
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InvalidArgument(f"columns must differ, got {quoted(twice[0])} twice")


def _batch(rows: list[list[str]], names: list[str], places: list[int], done: int) -> Floats:
    """Some rows as numbers: all at once, or, if any cell is not a plain number, cell by cell."""
    try:
        numbers = np.array([float(row[place]) for row in rows for place in places])
    except ValueError:
        careful = [
            [number_in(names[place], row[place], done + step) for place in places] for step, row in enumerate(rows, 1)
        ]
        numbers = np.array(careful, dtype=np.float64)
    return numbers.reshape(-1, len(places))
