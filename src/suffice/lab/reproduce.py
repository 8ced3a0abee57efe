"""Run the experiments and write the results: figures, numbers and verdicts."""

import importlib.metadata
from collections.abc import Callable, Iterable
from pathlib import Path

from suffice.errors import InvalidArgument, SufficeError, quoted
from suffice.lab import drawing, report
from suffice.lab.discovery import available, from_file
from suffice.lab.experiment import LEVELS, Do, Experiment, Numbers, Task, run_experiment
from suffice.lab.sweep import error_line, sweep

Progress = Callable[[str, int, int], None]  # the experiment, runs done, runs in all


def chosen(only: Iterable[str] = ()) -> list[Experiment]:
    """The experiments with these names or in these files; all of the package if none is named."""
    known, kinds = available(), {}
    for name in only:
        if name in known:
            kinds[name] = known[name]
        elif name.endswith(".py"):
            kinds.update(from_file(name))
        else:
            raise InvalidArgument(f"only must be one of {', '.join(known)}, or a Python file, got {quoted(name)}")
    return [kind() for kind in (kinds or known).values()]


def reproduce(
    out: str | Path = "reproduction", *, level: str = "default", only: Iterable[str] = (), seeds: int | None = None,
    jobs: int = -1, progress: Progress | None = None,
) -> list[report.Result]:  # fmt: skip
    """Run experiments, write `out`, and return the results with their verdicts.

    Args:
        out: the folder to write; made if it is not there.
        level: "quick", "default" or "deep".
        only: names of experiments, or Python files that hold some; all if empty.
        seeds: how many seeds, where an experiment has seeds; its own number if left out.
        jobs: how many processes; -1 for all cores. A backend set by `joblib.parallel_config` takes precedence.
        progress: called as runs finish.
    """
    if level not in LEVELS:
        raise InvalidArgument(f"level must be one of {', '.join(LEVELS)}, got {quoted(level)}")
    if seeds is not None and seeds < 2:
        raise InvalidArgument(f"seeds must be at least 2, or there is no interval, got {quoted(seeds)}")
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    results, failures = [], []
    about = {"suffice": importlib.metadata.version("suffice"), "level": level}
    for experiment in chosen(only):
        settings = dict(experiment.levels[level])
        if seeds is not None and "seeds" in settings:
            settings["seeds"] = seeds
        try:
            numbers = run_experiment(experiment, settings, _do(experiment.name, jobs, progress))
            result = report.Result(experiment, settings, numbers)
            drawing.draw(experiment, numbers, folder)
        except (InvalidArgument, KeyboardInterrupt):
            raise
        except Exception as error:  # one failure must not cost the hours of the other experiments
            failures.append(f"{experiment.name} failed: {type(error).__name__}: {error}")
            continue
        results.append(result)
        report.write_numbers(results, folder, about)  # after each experiment: what is done is not lost
    if failures:
        raise ExperimentFailed("; ".join(failures) + (f"; all others are in {folder}" if results else ""))
    return results


class ExperimentFailed(SufficeError):
    """An experiment raised; the others were run and written."""


class RunFailed(Exception):
    """A run raised; the message names it."""


class NamedWork:
    """Work that names the run in which it failed. A class, so that it can be sent to another machine."""

    def __init__(self, work: Callable[[Task], Numbers]) -> None:
        self.work = work

    def __call__(self, task: Task) -> Numbers:
        try:
            return self.work(task)
        except InvalidArgument:
            raise
        except Exception as error:
            raise RunFailed(f"run {task.get('run', task)!r}: {error_line(error)}") from None


def _do(name: str, jobs: int, progress: Progress | None) -> Do:
    def do(work: Callable[[Task], Numbers], tasks: list[Task]) -> list[Numbers]:
        def report_done(done: int) -> None:
            if progress is not None:
                progress(name, done, len(tasks))

        report_done(0)
        # The longest runs go first, so that the cores finish together.
        order = sorted(range(len(tasks)), key=lambda place: -tasks[place].get("horizon", 0))
        results = sweep(NamedWork(work), [tasks[place] for place in order], jobs=jobs, done=report_done)
        return [result for _, result in sorted(zip(order, results, strict=True), key=lambda pair: pair[0])]

    return do
