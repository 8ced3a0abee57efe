"""Runs in parallel through joblib: on this machine's cores, or on a cluster by `joblib.parallel_config`."""

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import joblib

from suffice.errors import InvalidArgument

Item = TypeVar("Item")
Result = TypeVar("Result")


def sweep(
    work: Callable[[Item], Result], tasks: list[Item], *, jobs: int = -1, done: Callable[[int], None] | None = None
) -> list[Result]:
    """The result of every task, in order. `done` is called with the number finished so far.

    >>> sweep(abs, [-1, 2, -3], jobs=1)
    [1, 2, 3]
    """
    parallel = _parallel(checked_jobs(jobs))
    results: list[Result] = []
    for result in parallel(joblib.delayed(work)(task) for task in tasks):
        results.append(result)
        if done is not None:
            done(len(results))
    return results


def checked_jobs(jobs: int) -> int:
    """A number of processes that joblib takes."""
    if not isinstance(jobs, int) or jobs == 0:
        raise InvalidArgument(f"jobs must be a number of processes, or -1 for all cores, got {jobs!r}")
    return jobs


def error_line(error: Exception) -> str:
    """An unforeseen error, and the line that raised it."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"


def _parallel(jobs: int) -> Any:
    """joblib's Parallel, which reports results one by one where its backend can."""
    backend, wanted = joblib.parallel.get_active_backend()
    # A backend that the user has chosen, such as a cluster, has its own number of workers.
    number = jobs if type(backend).__name__ in ("LokyBackend", "SequentialBackend") else wanted
    able = getattr(backend, "supports_return_generator", False)
    return joblib.Parallel(n_jobs=number, return_as="generator" if able else "list")
