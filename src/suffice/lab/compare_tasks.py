"""One run of a comparison as plain data: it may be done in another process, or on another machine."""

import functools
import warnings
from dataclasses import dataclass

from suffice.best_mix import Optimum
from suffice.errors import SufficeError, SufficeWarning
from suffice.lab.board import benchmark
from suffice.lab.method_specs import methods
from suffice.lab.run_results import Outcome, outcome
from suffice.lab.run_stream import open_stream
from suffice.lab.sweep import error_line
from suffice.promise.certificate import Certificate
from suffice.simulator import Stream, summarize


@dataclass(frozen=True, slots=True)
class Task:
    """A run to do."""

    comparison: str  # a name that no other comparison has
    stream: str  # as typed
    settings: tuple[str, ...]
    method: str
    seed: int
    target: float
    horizon: int
    window: int


@dataclass(frozen=True, slots=True)
class Result:
    """A run that was done, or the reason why it could not be."""

    task: Task
    outcome: Outcome | None
    certificate: Certificate | None = None  # of a method that has one
    refused: str = ""


def run_task(task: Task) -> Result:
    """Do one run. An error becomes a reason, so that the other runs go on."""
    try:
        stream, best = _open(task.comparison, task.stream, task.settings, task.target)
        method = methods(stream, task.target, task.horizon, [task.method])[task.method](task.seed)
        summary = summarize(method, stream, task.horizon, task.seed, window=task.window)
        certificate = summary.method.certificate() if hasattr(summary.method, "certificate") else None
        return Result(task, outcome(summary, best), certificate)
    except SufficeError as error:
        return Result(task, None, refused=str(error))
    except Exception as error:  # a user's stream may raise anything
        return Result(task, None, refused=error_line(error))


@functools.lru_cache(maxsize=8)
def _open(_comparison: str, text: str, settings: tuple[str, ...], target: float) -> tuple[Stream, Optimum | None]:
    """A process opens a stream once in each comparison: before the next one its file may have changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SufficeWarning)  # shown once, where the tasks were made
        stream = open_stream(text, settings).stream
    return stream, benchmark(stream, target)[0]
