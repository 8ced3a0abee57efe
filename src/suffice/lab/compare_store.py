"""Where finished runs are kept: one JSON object per line, only ever appended to. What a crash has torn is not a result."""

import json
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from suffice.errors import InvalidArgument, SufficeError, quoted
from suffice.lab.compare_work import Line
from suffice.lab.run_results import Outcome

NAME: Final = "results.jsonl"
Run = tuple[str, str, int]  # the key of its stream, the method, the seed


class Store:
    """The runs of a folder, of this comparison and of others: each is found by all that it depends on.

    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()))
    >>> store.add({"key": "k", "method": "suffice", "seed": 0, "rate": 0.9, "cost": 0.1, "late_cost": 0.1,
    ...            "regret": None, "priced_regret": None, "debt": 0.0, "largest_debt": 0.5, "worst_window": 0.8})
    >>> store.read()["k", "suffice", 0].rate
    0.9
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.path = Path(folder) / NAME

    def prepare(self) -> None:
        """Make sure that runs can be kept, before any is done."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.open("ab").close()
        except OSError as error:
            raise InvalidArgument(
                f"out must name a folder that can be written, got {quoted(str(self.path.parent))}: {error.strerror}"
            ) from error

    def read(self) -> dict[Run, Outcome]:
        """Every run that is whole."""
        found = ((line, _outcome(line)) for _, line in self._lines())
        return {(line["key"], line["method"], line["seed"]): run for line, run in found if run is not None}

    def add(self, line: Line) -> None:
        """Keep a run. One write of one line: it is there as a whole, or it is torn and will not be read."""
        text = json.dumps(line) + "\n"
        try:
            with self.path.open("a+b", buffering=0) as file:
                torn = file.seek(0, os.SEEK_END) > 0 and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n"
                file.write(("\n" * torn + text).encode())
        except OSError as error:
            raise SufficeError(f"{self.path} cannot be written: {error.strerror}; all runs before are kept") from error

    def forget(self, keys: Collection[str]) -> None:
        """Discard the runs of some streams; those of others stay."""
        kept = [text for text, line in self._lines() if line["key"] not in keys]
        if self.path.exists():
            beside = self.path.with_suffix(".new")
            beside.write_text("".join(kept), encoding="utf-8")
            os.replace(beside, self.path)

    def _lines(self) -> Iterator[tuple[str, Line]]:
        try:
            texts = self.path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        except FileNotFoundError:
            return
        except OSError as error:
            raise SufficeError(f"{self.path} cannot be read: {error.strerror}") from error
        found = [(text.rstrip("\n") + "\n", line) for text in texts if (line := _parsed(text)) is not None]
        if any(text.endswith("\n") for text in texts) and not found:
            raise InvalidArgument(
                f"out must name a folder of its own, got {quoted(str(self.path.parent))}: its {NAME} holds something else"
            )
        yield from found


def _parsed(text: str) -> Line | None:
    """A line that is whole and names a run, else None."""
    try:
        line = json.loads(text)
        ours = isinstance(line["key"], str) and isinstance(line["method"], str) and isinstance(line["seed"], int)
    except (ValueError, TypeError, KeyError):
        return None
    return line if ours else None


def _outcome(line: Line) -> Outcome | None:
    if not all(name in line for name in Outcome.__slots__):
        return None  # of a version that measured less
    return Outcome(**{name: line[name] for name in Outcome.__slots__})
