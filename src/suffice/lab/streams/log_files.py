"""Files of recorded decisions, CSV or Parquet: their columns of successes and costs as numbers, checked row by row."""

import csv
import importlib
import itertools
import os
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from suffice.errors import InvalidArgument, quoted
from suffice.lab.streams.base import Floats

PREFIXES: Final = ("success:", "cost:")
BATCH: Final = 1 << 16  # rows in memory as text at once
WORDS: Final = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}


def read_columns(path: str | os.PathLike[str]) -> dict[str, Floats]:
    """The columns `success:OPTION` and `cost:OPTION` of a file, in their order; other columns are ignored."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidArgument(f"path must name a .csv or .parquet file, got {quoted(path)}")
    readers = {".csv": _csv, ".parquet": _parquet, ".pq": _parquet}
    reader = readers.get(Path(path).suffix.lower())
    if reader is None:
        raise InvalidArgument(f"path must name a .csv or .parquet file, got {quoted(str(path))}")
    try:
        return reader(Path(path))
    except UnicodeDecodeError as error:
        raise InvalidArgument(
            f"path must name a text file in UTF-8, got {quoted(str(path))}: {error.reason}"
        ) from error
    except OSError as error:
        why = error.strerror or str(error).splitlines()[0][:80]
        raise InvalidArgument(f"path must name a file that can be read, got {quoted(str(path))}: {why}") from error


def wanted(names: list[str]) -> list[int]:
    """The places of the columns to read."""
    places = [place for place, name in enumerate(names) if name.startswith(PREFIXES)]
    if not any(names[place].startswith("success:") for place in places):
        raise InvalidArgument(
            f"columns must include success:OPTION, one per option, got {quoted(', '.join(names)) if names else 'none'}"
        )
    chosen = [names[place] for place in places]
    twice = [name for name in chosen if chosen.count(name) > 1]
    if twice:
        raise InvalidArgument(f"columns must differ, got {quoted(twice[0])} twice")
    return places


# --- CSV


def _csv(path: Path) -> dict[str, Floats]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        rows = filter(None, reader)  # a blank line is no row
        try:
            names = [cell.strip() for cell in next(rows, [])]
            places, done, batches = wanted(names), 0, []
            while batch := list(itertools.islice(rows, BATCH)):
                batches.append(_batch(batch, names, places, done))
                done += len(batch)
        except csv.Error as error:
            raise InvalidArgument(f"path must name a CSV file, got line {reader.line_num} with: {error}") from error
    table = np.concatenate(batches) if batches else np.empty((0, len(places)))
    return {names[place]: np.ascontiguousarray(table[:, column]) for column, place in enumerate(places)}


def _batch(rows: list[list[str]], names: list[str], places: list[int], done: int) -> Floats:
    """Some rows as numbers: all at once, or, if any cell is not a plain number, cell by cell."""
    width = len(names)
    try:
        if any(len(row) != width for row in rows):
            raise ValueError("a row of another length")
        numbers = np.array([float(row[place]) for row in rows for place in places])
    except ValueError:
        careful = [[_number(row, names, place, done + step + 1) for place in places] for step, row in enumerate(rows)]
        numbers = np.array(careful, dtype=np.float64)
    return numbers.reshape(-1, len(places))


def _number(row: list[str], names: list[str], place: int, number: int) -> float:
    if len(row) != len(names):
        raise InvalidArgument(f"rows must have {len(names)} cells as the header has, got {len(row)} in row {number}")
    text = row[place].strip()
    try:
        return WORDS[text.lower()] if text.lower() in WORDS else float(text)
    except ValueError:
        raise InvalidArgument(f"{names[place]} must be a number, got {quoted(text)} in row {number}") from None


# --- Parquet


def _parquet(path: Path) -> dict[str, Floats]:
    if not path.is_file():
        raise InvalidArgument(f"path must name a file that can be read, got {quoted(str(path))}: no such file")
    try:
        arrow, parquet = (importlib.import_module(name) for name in ("pyarrow", "pyarrow.parquet"))
    except ImportError:
        raise InvalidArgument(
            f"path must name a CSV file unless pyarrow is installed, got {quoted(str(path))}: pip install pyarrow"
        ) from None
    try:
        names = list(parquet.read_schema(path).names)
        chosen = [names[place] for place in wanted(names)]
        table = parquet.read_table(path, columns=chosen)
    except arrow.ArrowException as error:
        raise InvalidArgument(f"path must name a Parquet file, got {quoted(str(path))}: {str(error)[:80]}") from error
    return {name: _floats(name, table.column(name).to_numpy()) for name in chosen}


def _floats(name: str, values: ArrayLike) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)  # a missing value becomes nan, which is refused with its row
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name} must be numbers, got a column of {np.asarray(values).dtype}") from None
