"""Runs in parallel through joblib: on this machine's cores, or on a cluster by `joblib.parallel_config`."""

import traceback
import warnings
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import joblib

from suffice.errors import InvalidArgument

Report = Callable[[int], None]


def sweep(work: Callable[[Any], Any], tasks: list[Any], *, jobs: int = -1, done: Report | None = None) -> list[Any]:
    """The result of every task, in order. `done` is called with the number finished so far.

    >>> sweep(abs, [-1, 2, -3], jobs=1)
    [1, 2, 3]
    """
    parallel = _parallel(checked(jobs), "generator")
    results = []
    for result in parallel(joblib.delayed(work)(task) for task in tasks):
        results.append(result)
        if done is not None:
            done(len(results))
    return results


def finished(work: Callable[[Any], Any], tasks: list[Any], *, jobs: int = -1) -> Generator[Any, None, None]:
    """The result of every task as soon as it is there, in any order: for those who keep what is done.

    >>> sorted(finished(abs, [-1, 2, -3], jobs=1))
    [1, 2, 3]
    """
    results = _parallel(checked(jobs), "generator_unordered")(joblib.delayed(work)(task) for task in tasks)
    try:
        for result in results:  # noqa: UP028 (a `yield from` would close it where its warning cannot be caught)
            yield result
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # who stops early knows that some were not finished
            if hasattr(results, "close"):
                results.close()


def checked(jobs: int) -> int:
    """A number of processes that joblib takes."""
    if not isinstance(jobs, int) or jobs == 0:
        raise InvalidArgument(f"jobs must be a number of processes, or -1 for all cores, got {jobs!r}")
    return jobs


def blamed(error: Exception) -> str:
    """An error that nobody foresaw, and the line that raised it."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"


def _parallel(jobs: int, one_by_one: str) -> Any:
    """joblib's Parallel, which reports results one by one where its backend can."""
    backend, wanted = joblib.parallel.get_active_backend()
    # A backend that the user has chosen, a cluster say, comes with its own number of workers.
    number = jobs if type(backend).__name__ in ("LokyBackend", "SequentialBackend") else wanted
    able = getattr(backend, "supports_return_generator", False)
    return joblib.Parallel(n_jobs=number, return_as=one_by_one if able else "list")
