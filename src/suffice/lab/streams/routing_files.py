"""Queries to two language models, by whom they were answered right: a recording in a file, or the counts of one."""

import csv
import gzip
import os
import zlib
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.errors import InvalidArgument, quoted
from suffice.lab.streams.base import Floats

COLUMNS: Final = ("task", "weak_ok", "strong_ok", "prompt_chars")
WORDS: Final = {"true": True, "1": True, "false": False, "0": False}


class Queries(NamedTuple):
    """Kinds of queries, one per entry: whether Mixtral and GPT-4 were right, and what is known before asking either."""

    counts: Floats  # how often each kind was recorded
    mixtral: NDArray[np.bool_]
    gpt4: NDArray[np.bool_]
    task: tuple[str, ...]
    subject: tuple[str, ...] | None = None
    length: Floats | None = None  # of the prompt, in characters


# Joint counts of the 15,361 queries to Mixtral-8x7B and GPT-4 of I. Ong et al., RouteLLM: learning to route LLMs with
# preference data, 2024: lm-sys/RouteLLM at 0b64fda (Apache-2.0). Right or wrong: both, GPT-4 only, Mixtral only, neither.
COUNTED: Final = Queries(
    np.array([8818.0, 2497.0, 742.0, 1985.0, 747.0, 383.0, 95.0, 94.0]),
    np.array([True, False, True, False] * 2),
    np.array([True, True, False, False] * 2),
    ("MMLU",) * 4 + ("GSM8K",) * 4,
)


def read_queries(path: str | os.PathLike[str]) -> Queries:
    """The queries in a .csv or .csv.gz file with a row per query; other columns than `COLUMNS` are left alone.

    `task` is gsm8k or mmlu/SUBJECT.
    """
    if not isinstance(path, str | os.PathLike) or not Path(path).name.lower().endswith((".csv", ".csv.gz")):
        raise InvalidArgument(f"path must name a .csv or .csv.gz file, got {quoted(path)}")
    try:
        opened: Any = gzip.open if Path(path).suffix.lower() == ".gz" else open
        with opened(path, "rt", encoding="utf-8", newline="") as file:
            return _queries(csv.DictReader(file))
    except UnicodeDecodeError as error:
        raise InvalidArgument(
            f"path must name a text file in UTF-8, got {quoted(str(path))}: {error.reason}"
        ) from error
    except (OSError, EOFError, csv.Error, zlib.error) as error:
        why = getattr(error, "strerror", None) or str(error).splitlines()[0][:80]
        raise InvalidArgument(f"path must name a file that can be read, got {quoted(str(path))}: {why}") from error


def _queries(rows: "csv.DictReader[str]") -> Queries:
    missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
    if missing:
        raise InvalidArgument(
            f"columns must include {', '.join(COLUMNS)}, got a file without {', '.join(missing)}: "
            f"{quoted(', '.join(rows.fieldnames or ()))}"
        )
    cells = [[row[name] or "" for name in COLUMNS] for row in rows]
    if not cells:
        raise InvalidArgument("rows must be at least one, got a file with a header alone")
    tasks, mixtral, gpt4, lengths = zip(*cells, strict=True)
    return Queries(
        np.ones(len(cells)),
        np.array([_word("weak_ok", word, row) for row, word in enumerate(mixtral, 1)]),
        np.array([_word("strong_ok", word, row) for row, word in enumerate(gpt4, 1)]),
        tuple(task.partition("/")[0].upper() for task in tasks),
        tuple(task.partition("/")[2] or task for task in tasks),
        np.array([_length(word, row) for row, word in enumerate(lengths, 1)]),
    )


def _word(name: str, text: str, row: int) -> bool:
    if text.strip().lower() not in WORDS:
        raise InvalidArgument(f"{name} must be True or False, got {quoted(text)} in row {row}")
    return WORDS[text.strip().lower()]


def _length(text: str, row: int) -> float:
    if not text.strip().isdecimal():
        raise InvalidArgument(f"prompt_chars must be a whole number, got {quoted(text)} in row {row}")
    return float(text)
