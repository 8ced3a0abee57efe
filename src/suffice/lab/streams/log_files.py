"""Files of recorded decisions, CSV or Parquet: their columns of successes and costs as numbers, row by row checked."""

import csv
import importlib
import importlib.util
import itertools
import os
from pathlib import Path
from typing import Any, Final

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.lab.streams.base import Floats

PREFIXES: Final = ("success:", "cost:")
BATCH: Final = 1 << 16  # rows in memory as text at once
WORDS: Final = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}


def read_columns(path: str | os.PathLike[str]) -> dict[str, Floats]:
    """The columns `success:OPTION` and `cost:OPTION` of a file, in their order. Other columns are left alone."""
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
    """The places of the columns that are to be read."""
    places = [place for place, name in enumerate(names) if name.startswith(PREFIXES)]
    if not any(names[place].startswith("success:") for place in places):
        raise InvalidArgument(
            f"columns must include success:OPTION, one per option, got {quoted(', '.join(names)) if names else 'none'}"
        )
    kept = [names[place] for place in places]
    twice = [name for name in kept if kept.count(name) > 1]
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
    """Some rows as numbers, quickly; and if there is anything to stumble over, one by one."""
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
    columns = _by_pyarrow(path) if _installed("pyarrow") else _by_pandas(path)
    return {name: _floats(name, values) for name, values in columns.items()}


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _by_pyarrow(path: Path) -> dict[str, Any]:
    parquet = importlib.import_module("pyarrow.parquet")
    broken = importlib.import_module("pyarrow").ArrowException
    try:
        names = list(parquet.read_schema(path).names)
        kept = [names[place] for place in wanted(names)]
        table = parquet.read_table(path, columns=kept)
    except broken as error:
        raise InvalidArgument(f"path must name a Parquet file, got {quoted(str(path))}: {str(error)[:80]}") from error
    return {name: table.column(name).to_numpy() for name in kept}


def _by_pandas(path: Path) -> dict[str, Any]:
    if not _installed("pandas"):
        raise InvalidArgument(f"path must name a CSV file unless pyarrow is installed, got {quoted(str(path))}")
    pandas = importlib.import_module("pandas")
    try:
        frame = pandas.read_parquet(path)
    except (ImportError, ValueError) as error:
        raise InvalidArgument(f"path must name a Parquet file that pandas reads: {str(error)[:80]}") from error
    names = [str(name) for name in frame.columns]
    return {names[place]: frame.iloc[:, place].to_numpy() for place in wanted(names)}


def _floats(name: str, values: Any) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)  # a missing value becomes nan, which is refused with its row
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name} must be numbers, got a column of {np.asarray(values).dtype}") from None
