"""Files of label ranks: .npz, .npy and .csv, read or refused with the row that is wrong."""

import csv
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.errors import InvalidArgument, quoted

Ranks = NDArray[np.int64]


def read_ranks(path: str | os.PathLike[str]) -> tuple[Ranks, int | None]:
    """The ranks in a file, and the number of classes where the file tells."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidArgument(f"path must name an .npz, .npy or .csv file, got {quoted(path)}")
    readers = {".npz": _npz, ".npy": _npy, ".csv": _csv}
    reader = readers.get(Path(path).suffix.lower())
    if reader is None:
        raise InvalidArgument(f"path must name an .npz, .npy or .csv file, got {quoted(str(path))}")
    try:
        return reader(Path(path))
    except InvalidArgument:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidArgument(f"path must name a file that can be read, got {quoted(str(path))}: {reason}") from error
    except (ValueError, EOFError, zipfile.BadZipFile, csv.Error) as error:
        raise InvalidArgument(f"path must name a file of ranks, got {quoted(str(path))}: {str(error)[:80]}") from error


def ranks_of(probs: Any, labels: Any) -> Ranks:
    """Where each true label stands when its row is sorted from most to least probable; of equals, the first class first.

    >>> ranks_of([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2]], [2, 1]).tolist()
    [2, 2]
    """
    table, truths = np.asarray(probs), np.asarray(labels)
    if table.ndim != 2 or table.dtype.kind not in "fiu" or table.size == 0:
        raise InvalidArgument(f"probs must hold a row of numbers per sample, got shape {table.shape} of {table.dtype}")
    if truths.shape != table.shape[:1] or truths.dtype.kind not in "iu":
        raise InvalidArgument(f"labels must hold one class number per row of probs, got shape {truths.shape}")
    if np.isnan(table).any():
        raise InvalidArgument(f"probs must be numbers, got nan in row {int(np.isnan(table).any(axis=1).argmax()) + 1}")
    wrong = (truths < 0) | (truths >= table.shape[1])
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidArgument(f"labels must be 0 to {table.shape[1] - 1}, got {truths[row]} in row {row + 1}")
    own = np.take_along_axis(table, truths[:, None].astype(np.int64), axis=1)
    tied_before = (table == own) & (np.arange(table.shape[1]) < truths[:, None])
    ranks: Ranks = 1 + (table > own).sum(axis=1) + tied_before.sum(axis=1)
    return ranks


def _npz(path: Path) -> tuple[Ranks, int | None]:
    with np.load(path, allow_pickle=False) as held:
        names = sorted(held.files)
        if "rank" in names:
            return _whole(held["rank"]), held["probs"].shape[-1] if "probs" in names else None
        if "probs" in names and "labels" in names:
            probs = held["probs"]
            return ranks_of(probs, held["labels"]), probs.shape[1]
    raise InvalidArgument(f"path must hold `rank`, or `probs` and `labels`, got {', '.join(names) or 'skip'}")


def _npy(path: Path) -> tuple[Ranks, None]:
    return _whole(np.load(path, allow_pickle=False)), None


def _csv(path: Path) -> tuple[Ranks, None]:
    """One rank per line; or a column `rank` among others."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    column = 0
    if rows and not _is_number(rows[0][0]):
        header = [cell.strip() for cell in rows.pop(0)]
        if "rank" not in header:
            raise InvalidArgument(f"path must have a column `rank`, got {quoted(', '.join(header))}")
        column = header.index("rank")
    elif rows and len(rows[0]) > 1:
        raise InvalidArgument(
            f"path must have a header with a column `rank`, or one column, got {len(rows[0])} columns"
        )
    ranks = np.empty(len(rows))
    for place, row in enumerate(rows):
        if column >= len(row) or not _is_number(row[column]):
            raise InvalidArgument(
                f"rank must be a whole number, got {quoted(row[column : column + 1])} in row {place + 1}"
            )
        ranks[place] = float(row[column])
    return _whole(ranks), None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _whole(values: NDArray[Any]) -> Ranks:
    if values.ndim != 1 or values.dtype.kind not in "fiu":
        raise InvalidArgument(f"rank must be a row of whole numbers, got shape {values.shape} of {values.dtype}")
    if values.size == 0:
        raise InvalidArgument("rank must hold at least one rank, got none")
    # Beyond 1e9 nothing is a rank, and bincount would ask for all the memory there is.
    wrong = ~((values >= 1) & (values <= 1e9) & (values == np.floor(values)))
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidArgument(f"rank must be a whole number of at least 1, got {values[row]:g} in row {row + 1}")
    return values.astype(np.int64)
