"""Decision logs as files: the columns that a replay needs, CSV or Parquet, every cell checked and named by its row."""

import csv
import importlib
import importlib.util
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.kernels.rows import Floats, Ints
from suffice.lab.streams.log_files import WORDS

# The columns that tell the kinds apart, and those that may come with them.
NEEDED: Final[dict[str, tuple[str, ...]]] = {
    "score": ("score",), "threshold": ("threshold", "success"), "option": ("option", "success"),
}  # fmt: skip
OPTIONAL: Final[dict[str, tuple[str, ...]]] = {"score": (), "threshold": ("cost",), "option": ("cost", "propensity")}
MOST_OPTIONS: Final = 10_000
Column = Sequence[object] | np.ndarray


@dataclass(frozen=True, slots=True)
class Decisions:
    """A decision log: its kind, its columns of numbers, and for an option log which option each row chose."""

    kind: str
    rows: int
    columns: dict[str, Floats] = field(repr=False)
    options: tuple[str, ...] = ()
    chosen: Ints | None = field(default=None, repr=False)
    without_outcome: int = 0  # rows that were left out because they hold no outcome


def read(path: str | os.PathLike[str], kind: str | None = None) -> Decisions:
    """The decision log in a .csv or .parquet file; see `decisions`."""
    place = Path(path)
    reader = {".csv": _csv, ".parquet": _parquet, ".pq": _parquet}.get(place.suffix.lower())
    if reader is None:
        raise InvalidArgument(f"log must name a .csv or .parquet file, got {quoted(str(path))}")
    try:
        return decisions(*reader(place, kind), kind=kind)
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"log must name a text file in UTF-8, got {quoted(str(path))}: {error.reason}") from error
    except OSError as error:
        why = error.strerror or str(error).splitlines()[0][:80]
        raise InvalidArgument(f"log must name a file that can be read, got {quoted(str(path))}: {why}") from error


def decisions(columns: Mapping[str, Column], names: Iterable[str] = (), *, kind: str | None = None) -> Decisions:
    """A decision log from columns, whose names say which kind it is. `names` are all columns of the file.

    >>> decisions({"option": ["small", "large"], "success": [1, 0]}).options
    ('small', 'large')
    """
    kind = kind_of([*columns, *names], kind)
    held = {name: columns[name] for name in (*NEEDED[kind], *OPTIONAL[kind]) if name in columns}
    sizes = {name: len(column) for name, column in held.items()}
    if len(set(sizes.values())) != 1:
        raise InvalidArgument(f"columns must be equally long, got {quoted(sizes)}")
    every = next(iter(sizes.values()))
    if every == 0:
        raise InvalidArgument("log must hold at least one row, got none")
    places = _with_outcome(held["success"]) if "success" in held else range(every)
    if not places:
        raise InvalidArgument(f"success must be given in at least one row, got none in {every:,}")
    if len(places) < every:
        held = {name: [column[place] for place in places] for name, column in held.items()}
    numbers = {name: _checked(name, column, places) for name, column in held.items() if name != "option"}
    options, chosen = _coded(held["option"], places) if kind == "option" else ((), None)
    return Decisions(kind, len(places), numbers, options, chosen, every - len(places))


def _with_outcome(success: Column) -> Sequence[int]:
    """The rows that hold an outcome: decisions that are pending or have expired have none."""
    if isinstance(success, np.ndarray) and success.dtype.kind != "O":
        return np.flatnonzero(~np.isnan(success)).tolist() if success.dtype.kind == "f" else range(len(success))
    places = [place for place, cell in enumerate(success) if cell is not None and str(cell).strip()]
    return range(len(success)) if len(places) == len(success) else places


def _coded(options: Column, places: Sequence[int]) -> tuple[tuple[str, ...], Ints]:
    """The names of the options, and for each row which of them it chose."""
    codes: dict[str, int] = {}
    texts = ["" if option is None else str(option).strip() for option in options]
    chosen = np.fromiter((codes.setdefault(text, len(codes)) for text in texts), dtype=np.int64, count=len(texts))
    if "" in codes:
        raise InvalidArgument(f"option must be named in every row, got none in row {places[texts.index('')] + 1}")
    if len(codes) > MOST_OPTIONS:
        raise InvalidArgument(f"option must take at most {MOST_OPTIONS:,} values, got {len(codes):,}: is it an id?")
    return tuple(codes), chosen


def kind_of(names: Iterable[str], kind: str | None = None) -> str:
    """Which kind of log has these columns."""
    known = list(dict.fromkeys(names))
    listed = quoted(", ".join(known)) if known else "none"
    if kind is not None and kind not in NEEDED:
        raise InvalidArgument(f"kind must be one of {', '.join(NEEDED)}, got {quoted(kind)}")
    fitting = [name for name, needed in NEEDED.items() if set(needed) <= set(known)]
    if kind is not None:
        if kind in fitting:
            return kind
        raise InvalidArgument(f"columns must include {' and '.join(NEEDED[kind])}, got {listed}")
    if len(fitting) > 1:
        raise InvalidArgument(
            f"kind must be given where columns fit several, got {', '.join(fitting)}: say --kind {fitting[0]}"
        )
    if fitting:
        return fitting[0]
    if any(name.startswith("success:") for name in known):
        raise InvalidArgument("columns success:OPTION hold the outcome of every option: use `suffice run` for this log")
    raise InvalidArgument(f"columns must include score; or threshold and success; or option and success, got {listed}")


def _checked(name: str, values: Column, places: Sequence[int]) -> Floats:
    """A column of numbers by its rule. An error names the row in the log: `places` are those of the values."""
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        column = np.array([_number(name, value, places[row] + 1) for row, value in enumerate(values)])
    if column.ndim != 1:
        raise InvalidArgument(f"{name} must hold one number per row, got shape {column.shape}")
    good = {
        "success": ("between 0 and 1", (column >= 0.0) & (column <= 1.0)),
        "propensity": ("between 1e-9 and 1", (column >= 1e-9) & (column <= 1.0)),
        "cost": ("finite and at least 0", np.isfinite(column) & (column >= 0.0)),
    }
    rule, fits = good.get(name, ("finite", np.isfinite(column) & (np.abs(column) <= 1e100)))
    if not fits.all():
        row = int((~fits).argmax())
        raise InvalidArgument(f"{name} must be {rule}, got {column[row]:g} in row {places[row] + 1}")
    return column


def _number(name: str, value: object, row: int) -> float:
    text = str(value).strip()
    try:
        return WORDS[text.lower()] if text.lower() in WORDS else float(text)
    except ValueError:
        raise InvalidArgument(f"{name} must be a number, got {quoted(text)} in row {row}") from None


# --- files


def _wanted(names: list[str], kind: str | None) -> list[int]:
    log_kind = kind_of(names, kind)
    wanted = (*NEEDED[log_kind], *OPTIONAL[log_kind])
    for name in wanted:
        if names.count(name) > 1:
            raise InvalidArgument(f"columns must differ, got {quoted(name)} twice")
    return [place for place, name in enumerate(names) if name in wanted]


def _csv(path: Path, kind: str | None) -> tuple[dict[str, Column], list[str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        rows = filter(None, reader)  # without blank lines
        try:
            names = [cell.strip() for cell in next(rows, [])]
            places = _wanted(names, kind)
            columns: list[list[str]] = [[] for _ in places]
            for number, row in enumerate(rows, 1):
                if len(row) != len(names):
                    raise InvalidArgument(
                        f"rows must have {len(names)} cells as the header has, got {len(row)} in row {number}"
                    )
                for column, place in zip(columns, places, strict=True):
                    column.append(row[place])
        except csv.Error as error:
            raise InvalidArgument(f"log must name a CSV file, got line {reader.line_num} with: {error}") from error
    return {names[place]: column for place, column in zip(places, columns, strict=True)}, names


def _parquet(path: Path, kind: str | None) -> tuple[dict[str, Column], list[str]]:
    if importlib.util.find_spec("pyarrow") is None:
        raise InvalidArgument(f"log must name a CSV file unless pyarrow is installed, got {quoted(str(path))}")
    parquet = importlib.import_module("pyarrow.parquet")
    broken = importlib.import_module("pyarrow").ArrowException
    try:
        names = list(parquet.read_schema(path).names)
        wanted = [names[place] for place in _wanted(names, kind)]
        table = parquet.read_table(path, columns=wanted)
    except broken as error:
        raise InvalidArgument(f"log must name a Parquet file, got {quoted(str(path))}: {str(error)[:80]}") from error
    return {name: table.column(name).to_numpy() for name in wanted}, names
