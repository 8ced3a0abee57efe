"""The streams of a comparison, and the key of each that keeps its results apart from others."""

import functools
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from suffice.errors import InvalidArgument
from suffice.kernels.compiler import PACKAGE
from suffice.lab.board import Setting
from suffice.lab.run_stream import open_stream, parts

APART: Final = ("cli", "service", "client")  # code that no run goes through


@dataclass(frozen=True, slots=True)
class Entry:
    """A stream of a comparison."""

    setting: Setting
    settings: tuple[str, ...]  # of all streams
    key: str  # results are stored under it: equal only if all that they depend on is equal


def entries(
    texts: Sequence[str],
    settings: Iterable[str],
    target: float,
    horizon: int | None,
    seeds: tuple[int, ...],
    window: int,
) -> tuple[Entry, ...]:
    """Open the streams of a comparison.

    >>> [entry.setting.name for entry in entries(["trap", "needs:a=3,b=4"], [], 0.8, 100, (0,), 50)]
    ['trap', 'needs:a=3,b=4']
    """
    wanted = list(dict.fromkeys(text.strip() for text in texts))
    if not wanted:
        raise InvalidArgument(
            "streams must name at least one, as in `suffice compare beta ranks`, got none (see `suffice list streams`)"
        )
    common, opened_entries = tuple(settings), []
    for text in wanted:
        opened = open_stream(text, common)
        steps = opened.horizon if horizon is None else horizon
        setting = Setting(text, opened.about, opened.stream, target, steps, seeds, min(window, steps))
        opened_entries.append(Entry(setting, common, _key(text, common, setting)))
    return tuple(opened_entries)


def _key(text: str, common: Sequence[str], setting: Setting) -> str:
    what, inside = parts(text)
    path, dot, name = what.partition(".py:")
    given = dict(item.partition("=")[::2] for item in (*common, *inside))
    document = {
        "stream": [_content(path + ".py" if dot else what), name],
        "settings": {key.strip(): _content(value.strip()) for key, value in sorted(given.items())},
        "target": setting.target, "horizon": setting.horizon, "window": setting.window,
        "code": code_hash(), "numpy": np.__version__,
    }  # fmt: skip
    return _hash(json.dumps(document).encode())


def _content(text: str) -> str:
    """A file stands for its content: the same log in another folder is the same, a log that has changed is not."""
    path = Path(text)
    try:
        return f"file {_hash(path.read_bytes())}" if path.is_file() else text
    except OSError:  # a text that cannot be a path
        return text


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


@functools.cache
def code_hash() -> str:
    """The state of all code and data that a run may go through, in sixteen digits."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*")):
        place = path.relative_to(PACKAGE)
        if path.is_file() and "__pycache__" not in place.parts and place.parts[0] not in APART:
            digest.update(place.as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
