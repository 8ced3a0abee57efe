"""Many methods in many worlds, the same for all, on one stream or several."""

import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from suffice.errors import InvalidArgument, SufficeError
from suffice.lab.board import Board, Setting, make_board
from suffice.lab.compare_methods import DEFAULT, SUFFICE, chosen
from suffice.lab.compare_tasks import Result, Task, run_task
from suffice.lab.method_specs import LOOKING, feedback_of, methods, shows
from suffice.lab.run_stream import open_stream
from suffice.lab.sweep import checked_jobs, error_line, sweep
from suffice.numbers import positive_int, rate

Progress = Callable[[str, int, int], None]  # what is done, runs done, runs in all
SEEDS: Final = 20
TARGET: Final = 0.8


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be compared, all of it checked."""

    streams: tuple[Setting, ...]  # each by a name of its own
    methods: tuple[str, ...]
    settings: tuple[str, ...]  # of all streams


class _Able(NamedTuple):
    """The methods that can run on a stream, with their feedback, and the others, with the reason."""

    feedback: dict[str, str]
    refused: dict[str, str]


def plan(
    streams: Sequence[str], *, target: float = TARGET, horizon: int | None = None, seeds: int = SEEDS, seed: int = 0,
    rivals: str | Iterable[str] = DEFAULT, paper: bool = True, settings: Iterable[str] = (),
    window: int = 500,
) -> Plan:  # fmt: skip
    """What to compare: suffice, where a stream shows contexts also with a model of them, and the others that are named.

    Args:
        streams: names of streams, logs or Python files; settings may stand in their text, as in "needs:a=2,b=5".
        target: the success rate to hold.
        horizon: how many steps; 20,000 if left out, or as many as a log has rows.
        seeds: how many worlds, the same for all methods.
        seed: the first of them.
        rivals: names, or "all", "same" (those that are shown no more than success and cost) or "none".
        paper: whether to include the paper's method, at the steps 1, 5 and 20/√T.
        settings: `key=value`, for all streams.
        window: the length of the windows for the worst success rate.

    >>> plan(["trap"], rivals="projected", seeds=2).methods
    ('suffice', 'paper-1', 'paper-5', 'paper-20', 'projected')
    """
    rate("target", target)
    first, count, width = positive_int("seed", seed, 0), positive_int("seeds", seeds), positive_int("window", window)
    steps = None if horizon is None else positive_int("horizon", horizon)
    names, common = chosen(rivals, paper=paper), tuple(settings)
    texts = list(dict.fromkeys(text.strip() for text in streams))
    if not texts:
        raise InvalidArgument(
            "streams must name at least one, as in `suffice compare beta ranks`, got none (see `suffice list streams`)"
        )
    opened = []
    for text in texts:
        found = open_stream(text, common)
        length = found.horizon if steps is None else steps
        worlds = tuple(range(first, first + count))
        opened.append(Setting(text, found.about, found.stream, float(target), length, worlds, min(width, length)))
    if any(shows(setting.stream) for setting in opened):
        names = tuple(dict.fromkeys([SUFFICE, LOOKING, *names]))
    return Plan(tuple(opened), names, common)


def compare(what: Plan, *, jobs: int = -1, progress: Progress | None = None) -> tuple[Board, ...]:
    """Do all runs: a board per stream. With one seed it holds the certificates of that world.

    Args:
        what: the plan.
        jobs: how many processes; -1 for all cores. A backend set by `joblib.parallel_config` takes precedence.
        progress: called as runs finish.

    >>> board, = compare(plan(["trap"], horizon=500, seeds=1, rivals="none"), jobs=1)
    >>> sorted(row.method for row in board.rows), board.certificates["suffice"].holds
    (['paper-1', 'paper-20', 'paper-5', 'suffice'], True)
    """
    checked_jobs(jobs)
    able = {setting.name: _able(setting, what.methods) for setting in what.streams}
    if not any(part.feedback for part in able.values()):
        reason = next(iter(able[what.streams[0].name].refused.values()))
        raise InvalidArgument(f"methods must hold one that can run here: {reason}")
    comparison = uuid.uuid4().hex
    tasks = [task for s in what.streams for task in _tasks(comparison, s, what.settings, able[s.name].feedback)]
    report = progress or (lambda *_: None)
    report("runs", 0, len(tasks))
    results = sweep(run_task, tasks, jobs=jobs, done=lambda done: report("runs", done, len(tasks)))
    boards = tuple(_board(s, able[s.name], [one for one in results if one.task.stream == s.name]) for s in what.streams)
    if not any(board.rows for board in boards):
        raise SufficeError(f"no method ran to the end: {next(iter(boards[0].skipped.values()))}")
    return boards


def _able(setting: Setting, names: Iterable[str]) -> _Able:
    able = _Able({}, {})
    for name, make in methods(setting.stream, setting.target, setting.horizon, names).items():
        try:
            able.feedback[name] = feedback_of(make(setting.seeds[0]))
        except SufficeError as error:
            able.refused[name] = str(error)
        except Exception as error:  # an unforeseen error of one method must not stop the others
            able.refused[name] = error_line(error)
    return able


def _tasks(comparison: str, setting: Setting, settings: tuple[str, ...], names: Iterable[str]) -> list[Task]:
    return [
        Task(comparison, setting.name, settings, name, seed, setting.target, setting.horizon, setting.window)
        for seed in setting.seeds for name in names
    ]  # fmt: skip


def _board(setting: Setting, able: _Able, results: Sequence[Result]) -> Board:
    """The board of the methods that ran in every world."""
    refused = dict(able.refused)
    for result in results:
        if result.outcome is None:
            refused.setdefault(result.task.method, result.refused)
    runs = {name: [one for one in results if one.task.method == name] for name in able.feedback if name not in refused}
    certificates = {name: some[0].certificate for name, some in runs.items()} if len(setting.seeds) == 1 else {}
    return make_board(
        setting,
        able.feedback,
        {name: [one.outcome for one in some if one.outcome is not None] for name, some in runs.items()},
        refused,
        {name: certificate for name, certificate in certificates.items() if certificate is not None},
    )
