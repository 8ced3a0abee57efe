"""The streams of a comparison: what each is called, how long it is run, and the key that keeps its results apart."""

import functools
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from suffice.errors import InvalidArgument
from suffice.kernels.compiler import PACKAGE
from suffice.lab.run_stream import Opened, open_stream, parts

# What a result does not depend on: the commands, and of the lab all but what a run goes through.
APART: Final = ("cli", "lab")
THROUGH: Final = ("lab/compare_work.py", "lab/method_specs.py", "lab/run_stream.py", "lab/run_results.py")


@dataclass(frozen=True, slots=True)
class Entry:
    """A stream of a comparison."""

    label: str  # what it is called, no two alike
    text: str  # what was typed
    settings: tuple[str, ...]  # those for all streams
    horizon: int
    key: str  # what its results are kept under: the same only where all that they depend on is the same
    opened: Opened = field(repr=False, compare=False)

    @property
    def stream(self) -> Any:
        return self.opened.stream


def entries(
    texts: Sequence[str], settings: Iterable[str], target: float, horizon: int | None, window: int
) -> tuple[Entry, ...]:
    """Open the streams of a comparison.

    >>> [entry.label for entry in entries(["trap", "needs:a=3,b=4"], [], 0.8, 100, 50)]
    ['trap', 'needs:a=3,b=4']
    """
    wanted = list(dict.fromkeys(text.strip() for text in texts))
    if not wanted:
        raise InvalidArgument(
            "streams must name at least one, as in `suffice compare beta ranks`, got none (see `suffice list streams`)"
        )
    common = tuple(settings)
    found = []
    for text, label in zip(wanted, _labels(wanted), strict=True):
        opened = open_stream(text, common)
        steps = opened.horizon if horizon is None else horizon
        key = _key(text, common, {"target": target, "horizon": steps, "window": min(window, steps)})
        found.append(Entry(label, text, common, steps, key, opened))
    return tuple(found)


def _labels(texts: Sequence[str]) -> list[str]:
    """Files are called by their names, where no two have the same; folders would only be in the way."""
    short = [Path(what).name + (f":{','.join(inside)}" if inside else "") for what, inside in map(parts, texts)]
    return [label if short.count(label) == 1 else text for label, text in zip(short, texts, strict=True)]


def _key(text: str, common: Sequence[str], numbers: dict[str, Any]) -> str:
    what, inside = parts(text)
    path, dot, name = what.partition(".py:")
    given = dict(setting.partition("=")[::2] for setting in (*common, *inside))
    document = {
        "stream": [_content(path + ".py" if dot else what), name],
        "settings": {key.strip(): _content(value.strip()) for key, value in sorted(given.items())},
        **numbers,
        "sources": sources(),
        "numpy": np.__version__,
    }
    return _hash(json.dumps(document).encode())


def _content(text: str) -> str:
    """A file stands for what is in it: the same log in another folder is the same, one that has changed is not."""
    path = Path(text)
    try:
        return f"file {_hash(path.read_bytes())}" if path.is_file() else text
    except OSError:  # a text that cannot be a path
        return text


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


@functools.cache
def sources() -> str:
    """The state of all code that a run goes through, in sixteen digits."""
    files = [
        path for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.relative_to(PACKAGE).parts[0] not in APART
    ]  # fmt: skip
    digest = hashlib.sha256()
    for path in sorted([*files, *(PACKAGE / name for name in THROUGH)]):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
