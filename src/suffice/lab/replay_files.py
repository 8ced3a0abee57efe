"""Decision logs as CSV files: the columns that a replay needs, every cell checked and named by its row."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.kernels.rows import Floats, Ints
from suffice.lab.streams.log_files import check_distinct, csv_rows, number_in

# The columns that tell the kinds apart, and those that may come with them.
NEEDED: Final[dict[str, tuple[str, ...]]] = {
    "threshold": ("threshold", "success"), "option": ("option", "success"),
}  # fmt: skip
OPTIONAL: Final[dict[str, tuple[str, ...]]] = {"threshold": ("cost",), "option": ("cost",)}
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


def read(path: str | os.PathLike[str]) -> Decisions:
    """The decision log in a .csv file; see `decisions`."""
    with csv_rows(path, "log") as (names, rows):
        kind = kind_of(names)
        wanted = [name for name in names if name in (*NEEDED[kind], *OPTIONAL[kind])]
        check_distinct(wanted)
        places = [names.index(name) for name in wanted]
        columns: list[list[str]] = [[] for _ in places]
        for row in rows:
            for column, place in zip(columns, places, strict=True):
                column.append(row[place])
    return decisions(dict(zip(wanted, columns, strict=True)))


def decisions(columns: Mapping[str, Column]) -> Decisions:
    """A decision log from columns, whose names say which kind it is.

    >>> decisions({"option": ["small", "large"], "success": [1, 0]}).options
    ('small', 'large')
    """
    kind = kind_of(columns)
    held = {name: columns[name] for name in (*NEEDED[kind], *OPTIONAL[kind]) if name in columns}
    sizes = {name: len(column) for name, column in held.items()}
    if len(set(sizes.values())) != 1:
        raise InvalidArgument(f"columns must be equally long, got {quoted(sizes)}")
    every = next(iter(sizes.values()))
    if every == 0:
        raise InvalidArgument("log must hold at least one row, got none")
    places = _with_outcome(held["success"])
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


def kind_of(names: Iterable[str]) -> str:
    """Which kind of log has these columns."""
    known = list(dict.fromkeys(names))
    fitting = [kind for kind, needed in NEEDED.items() if set(needed) <= set(known)]
    if len(fitting) > 1:
        raise InvalidArgument("columns must include threshold or option, got both: leave one of them out")
    if fitting:
        return fitting[0]
    if any(name.startswith("success:") for name in known):
        raise InvalidArgument(
            "columns success:OPTION hold the outcome of every option: use `suffice compare` for this log"
        )
    listed = quoted(", ".join(known)) if known else "none"
    raise InvalidArgument(f"columns must include threshold and success, or option and success, got {listed}")


def _checked(name: str, values: Column, places: Sequence[int]) -> Floats:
    """A column of numbers by its rule. An error names the row in the log: `places` are those of the values."""
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        column = np.array([number_in(name, value, places[row] + 1) for row, value in enumerate(values)])
    if column.ndim != 1:
        raise InvalidArgument(f"{name} must hold one number per row, got shape {column.shape}")
    good = {
        "success": ("between 0 and 1", (column >= 0.0) & (column <= 1.0)),
        "cost": ("finite and at least 0", np.isfinite(column) & (column >= 0.0)),
    }
    rule, fits = good.get(name, ("finite", np.isfinite(column) & (np.abs(column) <= 1e100)))
    if not fits.all():
        row = int((~fits).argmax())
        raise InvalidArgument(f"{name} must be {rule}, got {column[row]:g} in row {places[row] + 1}")
    return column
