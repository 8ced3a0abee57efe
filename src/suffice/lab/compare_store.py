"""The store of finished runs: one JSON object per line, only appended to. A line that a crash has torn is not a result."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Final

from suffice.errors import InvalidArgument, SufficeError, quoted
from suffice.lab.compare_tasks import RunKey, Task
from suffice.lab.experiment import Numbers
from suffice.lab.run_results import Outcome

NAME: Final = "results.jsonl"


class Store:
    """The runs in a folder, of this comparison and of others, each under its key.

    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()))
    >>> key = RunKey("k", "suffice", 0)
    >>> store.add(Task(key, "trap", (), 0.8, 100, 50), Outcome(0.9, 0.1, 0.1, None, None, 0.0, 0.5, 0.8))
    >>> store.read()[key].rate
    0.9
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.path = Path(folder) / NAME

    def prepare(self) -> None:
        """Check that the folder can be written before any run is done."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.open("ab").close()
        except OSError as error:
            raise InvalidArgument(
                f"out must name a folder that can be written, got {quoted(str(self.path.parent))}: {error.strerror}"
            ) from error

    def read(self) -> dict[RunKey, Outcome]:
        """Every complete run."""
        if not self.path.exists():
            return {}
        texts = self.path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        lines = [line for text in texts if (line := _parsed(text)) is not None]
        if any(text.endswith("\n") for text in texts) and not lines:
            raise InvalidArgument(
                f"out must name a folder of its own, got {quoted(str(self.path.parent))}: its {NAME} holds something else"
            )
        names = Outcome.__slots__
        return {
            RunKey(line["key"], line["method"], line["seed"]): Outcome(**{name: line[name] for name in names})
            for line in lines
            if all(name in line for name in names)  # an older version may have measured less
        }

    def add(self, task: Task, outcome: Outcome) -> None:
        """Append a run. It is one write of one line, so the line is complete, or torn and not read."""
        line = {
            "key": task.key.stream, "stream": task.stream, "method": task.key.method, "seed": task.key.seed,
            "target": task.target, "horizon": task.horizon, "window": task.window, **asdict(outcome),
        }  # fmt: skip
        try:
            with self.path.open("a+b", buffering=0) as file:
                size = file.seek(0, os.SEEK_END)
                torn = size > 0 and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n"
                file.write(("\n" * torn + json.dumps(line) + "\n").encode())
        except OSError as error:
            raise SufficeError(
                f"{self.path} cannot be written: {error.strerror}; all runs before are stored"
            ) from error


def _parsed(text: str) -> Numbers | None:
    """A complete line that names a run, else None."""
    try:
        line: Numbers = json.loads(text)
        named = isinstance(line["key"], str) and isinstance(line["method"], str) and isinstance(line["seed"], int)
    except (ValueError, TypeError, KeyError):
        return None
    return line if named else None
