"""Decision logs as files: the columns that a replay needs, CSV or Parquet, every cell checked and named by its row."""

import csv
import importlib
import importlib.util
import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.errors import InvalidArgument, quoted
from suffice.kernels.rows import Floats
from suffice.lab.streams.log_files import BATCH, WORDS

# The columns that tell the kinds apart, and those that may come with them.
NEEDED: Final[dict[str, tuple[str, ...]]] = {
    "score": ("score",), "threshold": ("threshold", "success"), "option": ("option", "success"),
}  # fmt: skip
OPTIONAL: Final[dict[str, tuple[str, ...]]] = {"score": (), "threshold": ("cost",), "option": ("cost", "propensity")}
MOST_OPTIONS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Decisions:
    """A decision log: its kind, its columns of numbers, and for an option log which option each row chose."""

    kind: str
    rows: int
    columns: dict[str, Floats] = field(repr=False)
    options: tuple[str, ...] = ()
    chosen: NDArray[np.int64] | None = field(default=None, repr=False)
    untold: int = 0  # rows that were left out because they hold no outcome


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


def decisions(columns: Mapping[str, Any], names: Iterable[str] = (), *, kind: str | None = None) -> Decisions:
    """A decision log from columns: what they are says which kind it is. `names` are all that the file has.

    >>> decisions({"option": ["small", "large"], "success": [1, 0]}).options
    ('small', 'large')
    """
    found = kind_of([*columns, *names], kind)
    held = {name: columns[name] for name in (*NEEDED[found], *OPTIONAL[found]) if name in columns}
    sizes = {name: len(column) for name, column in held.items()}
    if len(set(sizes.values())) != 1:
        raise InvalidArgument(f"columns must be equally long, got {quoted(sizes)}")
    every = next(iter(sizes.values()))
    if every == 0:
        raise InvalidArgument("log must hold at least one row, got none")
    told = _told(held["success"]) if "success" in held else range(every)
    if not told:
        raise InvalidArgument(f"success must be told in at least one row, got none in {every:,}")
    if len(told) < every:
        held = {name: [column[place] for place in told] for name, column in held.items()}
    rows, untold = len(told), every - len(told)
    numbers = {name: _checked(name, column, told) for name, column in held.items() if name != "option"}
    if found != "option":
        return Decisions(found, rows, numbers, untold=untold)
    codes: dict[str, int] = {}
    texts = ["" if option is None else str(option).strip() for option in held["option"]]
    chosen = np.fromiter((codes.setdefault(text, len(codes)) for text in texts), dtype=np.int64, count=rows)
    if "" in codes:
        raise InvalidArgument(f"option must be named in every row, got none in row {told[texts.index('')] + 1}")
    if len(codes) > MOST_OPTIONS:
        raise InvalidArgument(f"option must take at most {MOST_OPTIONS:,} values, got {len(codes):,}: is it an id?")
    return Decisions(found, rows, numbers, tuple(codes), chosen, untold)


def _told(success: Sequence[Any]) -> Sequence[int]:
    """The rows that hold an outcome: decisions that are pending or were given up have none."""
    if isinstance(success, np.ndarray) and success.dtype.kind != "O":
        return np.flatnonzero(~np.isnan(success)).tolist() if success.dtype.kind == "f" else range(len(success))
    told = [place for place, cell in enumerate(success) if cell is not None and cell != "" and str(cell).strip()]
    return range(len(success)) if len(told) == len(success) else told


def kind_of(names: Iterable[str], kind: str | None = None) -> str:
    """Which kind of log has these columns."""
    there = list(dict.fromkeys(names))
    if kind is not None and kind not in NEEDED:
        raise InvalidArgument(f"kind must be one of {', '.join(NEEDED)}, got {quoted(kind)}")
    fitting = [one for one, needed in NEEDED.items() if set(needed) <= set(there)]
    if kind is not None:
        if kind in fitting:
            return kind
        raise InvalidArgument(f"columns must include {' and '.join(NEEDED[kind])}, got {_list(there)}")
    if len(fitting) > 1:
        raise InvalidArgument(
            f"kind must be given where columns fit several, got {', '.join(fitting)}: say --kind {fitting[0]}"
        )
    if fitting:
        return fitting[0]
    if any(name.startswith("success:") for name in there):
        raise InvalidArgument(
            "columns success:OPTION tell how every option would have done: use `suffice run` for this log"
        )
    raise InvalidArgument(
        f"columns must include score; or threshold and success; or option and success, got {_list(there)}"
    )


def _list(names: list[str]) -> str:
    return quoted(", ".join(names)) if names else "none"


def _checked(name: str, values: ArrayLike, places: Sequence[int]) -> Floats:
    """A column of numbers, with its rule: which row breaks it. `places` are those of the rows in the log."""
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        column = np.array([_number(name, value, places[row] + 1) for row, value in enumerate(values)])  # type: ignore[arg-type]
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


def _number(name: str, value: Any, row: int) -> float:
    text = str(value).strip()
    try:
        return WORDS[text.lower()] if text.lower() in WORDS else float(text)
    except ValueError:
        raise InvalidArgument(f"{name} must be a number, got {quoted(text)} in row {row}") from None


# --- files


def _wanted(names: list[str], kind: str | None) -> list[int]:
    found = kind_of(names, kind)
    wanted = (*NEEDED[found], *OPTIONAL[found])
    twice = [name for name in wanted if names.count(name) > 1]
    if twice:
        raise InvalidArgument(f"columns must differ, got {quoted(twice[0])} twice")
    return [place for place, name in enumerate(names) if name in wanted]


def _csv(path: Path, kind: str | None) -> tuple[dict[str, Any], list[str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        rows = filter(None, reader)  # a blank line is no row
        try:
            names = [cell.strip() for cell in next(rows, [])]
            places, done = _wanted(names, kind), 0
            kept: list[list[Any]] = [[] for _ in places]
            while batch := list(itertools.islice(rows, BATCH)):
                _same_length(batch, len(names), done)
                for column, place in zip(kept, places, strict=True):
                    column.extend(row[place] for row in batch)
                done += len(batch)
        except csv.Error as error:
            raise InvalidArgument(f"log must name a CSV file, got line {reader.line_num} with: {error}") from error
    return {names[place]: column for place, column in zip(places, kept, strict=True)}, names


def _same_length(rows: list[list[str]], width: int, done: int) -> None:
    for step, row in enumerate(rows):
        if len(row) != width:
            raise InvalidArgument(
                f"rows must have {width} cells as the header has, got {len(row)} in row {done + step + 1}"
            )


def _parquet(path: Path, kind: str | None) -> tuple[dict[str, Any], list[str]]:
    if not path.is_file():
        raise InvalidArgument(f"log must name a file that can be read, got {quoted(str(path))}: no such file")
    if importlib.util.find_spec("pyarrow") is None:
        raise InvalidArgument(f"log must name a CSV file unless pyarrow is installed, got {quoted(str(path))}")
    parquet = importlib.import_module("pyarrow.parquet")
    broken = importlib.import_module("pyarrow").ArrowException
    try:
        names = list(parquet.read_schema(path).names)
        kept = [names[place] for place in _wanted(names, kind)]
        table = parquet.read_table(path, columns=kept)
    except broken as error:
        raise InvalidArgument(f"log must name a Parquet file, got {quoted(str(path))}: {str(error)[:80]}") from error
    return {name: table.column(name).to_numpy() for name in kept}, names
