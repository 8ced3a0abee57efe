"""One run: some methods on a stream, all in the same world, with their certificates and their course over time."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypedDict

from suffice.errors import SufficeError
from suffice.lab.board import Board, Setting, benchmark, make_board
from suffice.lab.method_specs import Make, feedback_of
from suffice.lab.run_results import even, midpoint, outcome
from suffice.numbers import positive_int
from suffice.promise.certificate import Certificate
from suffice.simulator import Stream, Summary, summarize

Progress = Callable[[str, int, int], None]  # the method, steps done, steps in all
MARKS: Final = 200  # points of a curve


class Curve(TypedDict):
    """What a method had come to after each of some steps."""

    step: list[int]
    rate: list[float]
    debt: list[float]
    cost: list[float]  # per step so far


@dataclass(frozen=True, slots=True)
class Run:
    """What some methods came to in one world."""

    board: Board
    certificates: dict[str, Certificate] = field(repr=False)
    curves: dict[str, Curve] = field(repr=False)


def setting_of(
    name: str, about: str, stream: Stream, target: float, horizon: int, seed: int = 0, window: int = 500
) -> Setting:
    """The setting of one world; the window is no longer than the run."""
    steps = positive_int("horizon", horizon)
    return Setting(
        name, about, stream, float(target), steps, (positive_int("seed", seed, 0),),
        min(positive_int("window", window), steps),
    )  # fmt: skip


def run_methods(
    setting: Setting, makers: Mapping[str, Make], *, marks: Iterable[int] = (), progress: Progress | None = None
) -> Run:
    """Run every method in the world of the first seed. A method that cannot run on the stream is skipped.

    Args:
        setting: the stream and what is asked of the methods.
        makers: how to make each method.
        marks: further steps that the curves must include.
        progress: called as steps are done.

    >>> from suffice.lab.method_specs import methods
    >>> from suffice.lab.streams import Trap
    >>> stream = Trap()
    >>> setting = setting_of("trap", "a shift", stream, 0.5, 2000)
    >>> result = run_methods(setting, methods(stream, 0.5, 2000, ["suffice", "paper"]))
    >>> sorted(row.method for row in result.board.rows), result.certificates["suffice"].holds
    (['paper', 'suffice'], True)
    """
    feedback: dict[str, str] = {}
    summaries: dict[str, Summary] = {}
    errors: dict[str, SufficeError] = {}
    wanted = {*even(setting.horizon, min(MARKS, setting.horizon)), midpoint(setting.horizon), *marks}
    for name, make in makers.items():
        try:
            method = make(setting.seeds[0])
            feedback[name] = feedback_of(method)
            summaries[name] = summarize(
                method, setting.stream, setting.horizon, setting.seeds[0], window=setting.window, marks=wanted,
                progress=None if progress is None else _named(progress, name, setting.horizon),
            )  # fmt: skip
        except SufficeError as error:
            errors[name] = error
    if not summaries:
        raise next(iter(errors.values()))
    best, _ = benchmark(setting.stream, setting.target)
    outcomes = {name: [outcome(summary, best)] for name, summary in summaries.items()}
    certified = {name: summary.method for name, summary in summaries.items() if hasattr(summary.method, "certificate")}
    return Run(
        board=make_board(setting, feedback, outcomes, {name: str(error) for name, error in errors.items()}),
        certificates={name: method.certificate() for name, method in certified.items()},
        curves={name: _curve(summary) for name, summary in summaries.items()},
    )


def _named(progress: Progress, name: str, total: int) -> Callable[[int], None]:
    return lambda done: progress(name, done, total)


def _curve(summary: Summary) -> Curve:
    marks = summary.marks
    return Curve(
        step=[mark.step for mark in marks],
        rate=[mark.successes / mark.step for mark in marks],
        debt=[summary.target * mark.step - mark.successes for mark in marks],
        cost=[mark.cost / mark.step for mark in marks],
    )
