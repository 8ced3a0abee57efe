"""Methods against each other: the same worlds for all, on one stream or several, kept as they finish, beside a yardstick.

The yardstick is the paper's method at the best of three scales of its step, chosen afterwards by what it came to: nobody
could have chosen so well beforehand, and so a ratio below 1 is no matter of tuning.
"""

import contextlib
import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from suffice.errors import InvalidArgument, SufficeError
from suffice.lab.compare_board import Board, Total, board, totals
from suffice.lab.compare_methods import DEFAULT, SUFFICE, chosen
from suffice.lab.compare_store import Store
from suffice.lab.compare_streams import Entry, entries
from suffice.lab.compare_work import REFUSED, Line, Task, tasks, work
from suffice.lab.method_specs import LOOKING, feedback_of, methods, shows
from suffice.lab.run_results import Outcome
from suffice.lab.sweep import blamed, checked, finished
from suffice.numbers import positive_int, rate

Progress = Callable[[str, int, int], None]  # the stream, runs done, runs in all
SEEDS: Final = 20
TARGET: Final = 0.8


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be compared, all of it checked."""

    streams: tuple[Entry, ...]
    methods: tuple[str, ...]
    target: float
    seeds: tuple[int, ...]
    window: int


@dataclass(frozen=True, slots=True)
class Found:
    """What came of it."""

    plan: Plan
    boards: tuple[Board, ...]  # one per stream
    totals: tuple[Total, ...]  # over several streams; empty for one
    reused: int  # runs that were there already


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
        rivals: names, or "all", "same" (those that see no more than success and cost) or "none".
        suffice: whether the default selector is in it, which is not told the horizon; where a stream shows contexts, the
            one with a model that looks at them is in it too.
        paper: whether the paper's method is in it, at the scales 1, 5 and 20 of its step.
        settings: `key=value`, for all streams.
        window: the length of the windows in which the worst success rate is looked for.

    >>> plan(["trap"], rivals="projected", seeds=2).methods
    ('suffice', 'paper-1', 'paper-5', 'paper-20', 'projected')
    """
    rate("target", target)
    first, count, width = positive_int("seed", seed, 0), positive_int("seeds", seeds), positive_int("window", window)
    steps = None if horizon is None else positive_int("horizon", horizon)
    names = chosen(rivals, suffice=suffice, paper=paper)
    opened = entries(streams, settings, float(target), steps, width)
    if suffice and any(shows(entry.stream) for entry in opened):
        names = tuple(dict.fromkeys([SUFFICE, LOOKING, *names]))
    return Plan(opened, names, float(target), tuple(range(first, first + count)), width)


def perform(
    what: Plan, folder: str | os.PathLike[str], *, jobs: int = -1, fresh: bool = False, progress: Progress | None = None
) -> Found:
    """Do the runs that `folder` does not hold yet, and keep each as soon as it is done.

    Whatever ends it, finished runs are kept: the same call goes on from there. Runs of other settings, or of another
    version of the code, may lie in the same folder; they are neither used nor touched.

    Args:
        what: the plan.
        folder: where results.jsonl is, or will be.
        jobs: how many processes; -1 for all cores. A backend set by `joblib.parallel_config` takes precedence.
        fresh: discard the runs of these streams and settings first.
        progress: called as runs finish.

    >>> import tempfile
    >>> found = perform(plan(["trap"], horizon=500, seeds=2, rivals="none"), tempfile.mkdtemp(), jobs=1)
    >>> sorted(row.method for row in found.boards[0].rows), found.reused
    (['paper-1', 'paper-20', 'paper-5', 'suffice'], 0)
    """
    checked(jobs)
    able = {entry.label: _able(entry, what) for entry in what.streams}
    if not any(feedback for feedback, _ in able.values()):
        _, refused = next(iter(able.values()))
        raise InvalidArgument(f"methods must hold one that can run here: {next(iter(refused.values()))}")
    store = Store(folder)
    store.prepare()
    if fresh:
        store.forget({entry.key for entry in what.streams})
    wanted = {
        entry.label: tasks(entry, able[entry.label][0], what.seeds, what.target, what.window) for entry in what.streams
    }
    there = store.read()
    reused = sum(_run(task) in there for some in wanted.values() for task in some)
    with contextlib.closing(_finish(wanted, there, jobs, progress)) as lines:
        for line in lines:
            if REFUSED in line:
                able[line["stream"]][1].setdefault(line["method"], line[REFUSED])
            else:
                store.add(line)
                there[_run(line)] = Outcome(**{name: line[name] for name in Outcome.__slots__})
    boards = tuple(_board(entry, *able[entry.label], there, what) for entry in what.streams)
    if not any(one.rows for one in boards):
        raise SufficeError(f"no method ran to the end: {next(iter(boards[0].skipped.values()))}")
    return Found(what, boards, totals(boards), reused)


def _able(entry: Entry, what: Plan) -> tuple[dict[str, str], dict[str, str]]:
    """The methods that can run on a stream, with their feedback, and the others, with the reason."""
    feedback, refused = {}, {}
    for name, make in methods(entry.stream, what.target, entry.horizon, what.methods).items():
        try:
            feedback[name] = feedback_of(make(what.seeds[0]))
        except SufficeError as error:
            refused[name] = str(error)
        except Exception as error:  # what one method did not foresee is no reason not to run the others
            refused[name] = blamed(error)
    return feedback, refused


def _run(task: Mapping[str, Any]) -> tuple[str, str, int]:
    return task["key"], task["method"], task["seed"]


def _finish(
    wanted: Mapping[str, Sequence[Task]], there: Mapping[Any, Outcome], jobs: int, progress: Progress | None
) -> Generator[Line, None, None]:
    """The runs that are missing, as they finish, with word of how far it is."""
    done = {label: sum(_run(task) in there for task in some) for label, some in wanted.items()}
    if progress is not None:
        for label, some in wanted.items():
            progress(label, done[label], len(some))
    missing = [task for some in wanted.values() for task in some if _run(task) not in there]
    with contextlib.closing(finished(work, missing, jobs=jobs if missing else 1)) as lines:
        for line in lines:
            yield line
            done[line["stream"]] += 1
            if progress is not None:
                progress(line["stream"], done[line["stream"]], len(wanted[line["stream"]]))


def _board(
    entry: Entry, feedback: Mapping[str, str], refused: Mapping[str, str], there: Mapping[Any, Outcome], what: Plan
) -> Board:
    outcomes = {name: [there[entry.key, name, seed] for seed in what.seeds] for name in feedback if name not in refused}
    return board(entry, what.target, feedback, outcomes, refused)
