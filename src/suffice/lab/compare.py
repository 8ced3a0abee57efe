"""Many methods in many worlds, the same for all, on one stream or several. Each run is stored as soon as it is done."""

import contextlib
import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from suffice.errors import InvalidArgument, SufficeError
from suffice.lab.board import Board, make_board
from suffice.lab.compare_methods import DEFAULT, SUFFICE, chosen
from suffice.lab.compare_store import Store
from suffice.lab.compare_streams import Entry, entries
from suffice.lab.compare_tasks import Result, RunKey, Task, run_task
from suffice.lab.method_specs import LOOKING, feedback_of, methods, shows
from suffice.lab.run_results import Outcome
from suffice.lab.sweep import checked_jobs, error_line, finished
from suffice.numbers import positive_int, rate

Progress = Callable[[str, int, int], None]  # the stream, runs done, runs in all
SEEDS: Final = 20
TARGET: Final = 0.8


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be compared, all of it checked."""

    streams: tuple[Entry, ...]
    methods: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a comparison came to."""

    boards: tuple[Board, ...]  # one per stream
    reused: int  # runs that were stored before


class _Able(NamedTuple):
    """The methods that can run on a stream, with their feedback, and the others, with the reason."""

    feedback: dict[str, str]
    refused: dict[str, str]


def plan(
    streams: Sequence[str], *, target: float = TARGET, horizon: int | None = None, seeds: int = SEEDS, seed: int = 0,
    rivals: str | Iterable[str] = DEFAULT, suffice: bool = True, paper: bool = True, settings: Iterable[str] = (),
    window: int = 500,
) -> Plan:  # fmt: skip
    """What to compare.

    Args:
        streams: as `suffice run` takes them; settings may stand in their text, as in "needs:a=2,b=5".
        target: the success rate to hold.
        horizon: how many steps; 20,000 if left out, or as many as a log has rows.
        seeds: how many worlds, the same for all methods.
        seed: the first of them.
        rivals: names, or "all", "same" (those that are shown no more than success and cost) or "none".
        suffice: whether to include the default selector and, where a stream shows contexts, the one with a model.
        paper: whether to include the paper's method, at the steps 1, 5 and 20/√T.
        settings: `key=value`, for all streams.
        window: the length of the windows for the worst success rate.

    >>> plan(["trap"], rivals="projected", seeds=2).methods
    ('suffice', 'paper-1', 'paper-5', 'paper-20', 'projected')
    """
    rate("target", target)
    first, count, width = positive_int("seed", seed, 0), positive_int("seeds", seeds), positive_int("window", window)
    steps = None if horizon is None else positive_int("horizon", horizon)
    names = chosen(rivals, suffice=suffice, paper=paper)
    opened = entries(streams, settings, float(target), steps, tuple(range(first, first + count)), width)
    if suffice and any(shows(entry.setting.stream) for entry in opened):
        names = tuple(dict.fromkeys([SUFFICE, LOOKING, *names]))
    return Plan(opened, names)


def compare(
    what: Plan, folder: str | os.PathLike[str], *, jobs: int = -1, progress: Progress | None = None
) -> Comparison:
    """Do the runs that `folder` does not hold yet.

    Finished runs stay stored if an error or an interrupt ends it: the same call continues from there. Runs of other settings,
    or of another version of the code, may lie in the same folder; they are neither used nor changed.

    Args:
        what: the plan.
        folder: where results.jsonl is, or will be.
        jobs: how many processes; -1 for all cores. A backend set by `joblib.parallel_config` takes precedence.
        progress: called as runs finish.

    >>> import tempfile
    >>> found = compare(plan(["trap"], horizon=500, seeds=2, rivals="none"), tempfile.mkdtemp(), jobs=1)
    >>> sorted(row.method for row in found.boards[0].rows), found.reused
    (['paper-1', 'paper-20', 'paper-5', 'suffice'], 0)
    """
    checked_jobs(jobs)
    able = {entry.key: _able(entry, what.methods) for entry in what.streams}
    if not any(part.feedback for part in able.values()):
        reason = next(iter(able[what.streams[0].key].refused.values()))
        raise InvalidArgument(f"methods must hold one that can run here: {reason}")
    store = Store(folder)
    store.prepare()
    tasks = [task for entry in what.streams for task in _tasks(entry, able[entry.key].feedback)]
    stored = store.read()
    reused = sum(task.key in stored for task in tasks)
    with contextlib.closing(_missing(tasks, stored, jobs, progress)) as results:
        for result in results:
            key = result.task.key
            if result.outcome is None:
                able[key.stream].refused.setdefault(key.method, result.refused)
            else:
                store.add(result.task, result.outcome)
                stored[key] = result.outcome
    boards = tuple(_board(entry, able[entry.key], stored) for entry in what.streams)
    if not any(board.rows for board in boards):
        raise SufficeError(f"no method ran to the end: {next(iter(boards[0].skipped.values()))}")
    return Comparison(boards, reused)


def _able(entry: Entry, names: Iterable[str]) -> _Able:
    able, setting = _Able({}, {}), entry.setting
    for name, make in methods(setting.stream, setting.target, setting.horizon, names).items():
        try:
            able.feedback[name] = feedback_of(make(setting.seeds[0]))
        except SufficeError as error:
            able.refused[name] = str(error)
        except Exception as error:  # an unforeseen error of one method must not stop the others
            able.refused[name] = error_line(error)
    return able


def _tasks(entry: Entry, names: Iterable[str]) -> list[Task]:
    """The runs on a stream, all methods in one world before the next world: an interrupt leaves complete worlds."""
    setting, listed = entry.setting, tuple(names)
    return [
        Task(
            RunKey(entry.key, name, seed), setting.name, entry.settings, setting.target, setting.horizon,
            setting.window,
        )
        for seed in setting.seeds for name in listed
    ]  # fmt: skip


def _missing(
    tasks: Sequence[Task], stored: Mapping[RunKey, Outcome], jobs: int, progress: Progress | None
) -> Generator[Result, None, None]:
    """Do the runs that are not stored, and report how many are done per stream."""
    missing = [task for task in tasks if task.key not in stored]
    total = {
        label: sum(task.stream == label for task in tasks) for label in dict.fromkeys(task.stream for task in tasks)
    }
    done = {label: count - sum(task.stream == label for task in missing) for label, count in total.items()}
    report = progress or (lambda *_: None)
    for label, count in total.items():
        report(label, done[label], count)
    with contextlib.closing(finished(run_task, missing, jobs=jobs if missing else 1)) as results:
        for result in results:
            yield result
            label = result.task.stream
            done[label] += 1
            report(label, done[label], total[label])


def _board(entry: Entry, able: _Able, stored: Mapping[RunKey, Outcome]) -> Board:
    outcomes = {
        name: [stored[RunKey(entry.key, name, seed)] for seed in entry.setting.seeds]
        for name in able.feedback if name not in able.refused
    }  # fmt: skip
    return make_board(entry.setting, able.feedback, outcomes, able.refused)
