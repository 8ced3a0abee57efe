"""Runs in parallel through joblib: on this machine's cores, or on a cluster by `joblib.parallel_config`."""

from collections.abc import Callable
from typing import Any

import joblib

from suffice.errors import InvalidArgument

Report = Callable[[int], None]


def sweep(work: Callable[[Any], Any], tasks: list[Any], *, jobs: int = -1, done: Report | None = None) -> list[Any]:
    """The result of every task, in order. `done` is called with the number finished so far.

    >>> sweep(abs, [-1, 2, -3], jobs=1)
    [1, 2, 3]
    """
    if not isinstance(jobs, int) or jobs == 0:
        raise InvalidArgument(f"jobs must be a number of processes, or -1 for all cores, got {jobs!r}")
    parallel = _parallel(jobs)
    results = []
    for result in parallel(joblib.delayed(work)(task) for task in tasks):
        results.append(result)
        if done is not None:
            done(len(results))
    return results


def _parallel(jobs: int) -> Any:
    """joblib's Parallel, which reports results one by one where its backend can."""
    backend, wanted = joblib.parallel.get_active_backend()
    # A backend that the user has chosen, a cluster say, comes with its own number of workers.
    number = jobs if type(backend).__name__ in ("LokyBackend", "SequentialBackend") else wanted
    one_by_one = getattr(backend, "supports_return_generator", False)
    return joblib.Parallel(n_jobs=number, return_as="generator" if one_by_one else "list")
