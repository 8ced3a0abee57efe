"""One run of a comparison as plain data: it may be done in another process, or on another machine."""

import functools
import warnings
from dataclasses import dataclass
from typing import NamedTuple

from suffice.best_mix import Optimum
from suffice.errors import SufficeError, SufficeWarning
from suffice.lab.board import benchmark
from suffice.lab.method_specs import methods
from suffice.lab.run_results import Outcome, midpoint, outcome
from suffice.lab.run_stream import open_stream
from suffice.lab.sweep import error_line
from suffice.simulator import Stream, summarize


class RunKey(NamedTuple):
    """What a run is stored under; `stream` is a key that holds all that the stream and its settings are."""

    stream: str
    method: str
    seed: int


@dataclass(frozen=True, slots=True)
class Task:
    """A run to do."""

    key: RunKey
    stream: str  # as typed
    settings: tuple[str, ...]
    target: float
    horizon: int
    window: int


@dataclass(frozen=True, slots=True)
class Result:
    """A run that was done, or the reason why it could not be."""

    task: Task
    outcome: Outcome | None
    refused: str = ""


def run_task(task: Task) -> Result:
    """Do one run. An error becomes a reason, so that the other runs go on."""
    _, name, seed = task.key
    try:
        stream, best = _open(task.key.stream, task.stream, task.settings, task.target)
        method = methods(stream, task.target, task.horizon, [name])[name](seed)
        marks = [midpoint(task.horizon)]
        return Result(
            task, outcome(summarize(method, stream, task.horizon, seed, window=task.window, marks=marks), best)
        )
    except SufficeError as error:
        return Result(task, None, str(error))
    except Exception as error:  # a user's stream may raise anything
        return Result(task, None, error_line(error))


@functools.lru_cache(maxsize=8)
def _open(_key: str, text: str, settings: tuple[str, ...], target: float) -> tuple[Stream, Optimum | None]:
    """A process opens a stream once, and again if what it is made from has changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SufficeWarning)  # shown once, where the tasks were made
        stream = open_stream(text, settings).stream
    return stream, benchmark(stream, target)[0]
