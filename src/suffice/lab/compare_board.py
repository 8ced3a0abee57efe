"""From the runs on a stream to its board: a row per method, and how much of the yardstick's priced regret each has."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from suffice.best_mix import Optimum
from suffice.lab import statistics
from suffice.lab.compare_streams import Entry
from suffice.lab.run import Row, alike, benchmark, looking, mix, row
from suffice.lab.run_results import Outcome
from suffice.lab.streams import Log
from suffice.lab.verdict import Estimate

SHORT: Final = 0.05  # of the failures that are allowed: whoever has so many more has missed the target
Runs = Mapping[str, Sequence[Outcome]]  # per method, in the order of the seeds


@dataclass(frozen=True, slots=True)
class Board:
    """How all methods did on one stream, the best first: by priced regret, or by cost where there is none.

    Those that are short of the target come last. A debt is priced at what one more success costs at the target; to make up
    for a large one takes dearer successes than that, and so the priced regret of who owes much is too kind.
    """

    stream: str
    about: str
    arms: int
    horizon: int
    recorded: bool  # a log: the optimum is the best fixed mix over all of it
    best: Optimum | None
    mix: dict[str, float]  # the optimum's options and their weights
    looking: Optimum | None  # the optimum of who looks at the context, where the stream has cases
    unreachable: str | None  # why there is no optimum where the truth is known
    rows: tuple[Row, ...]
    yardstick: str | None
    unmeasured: str | None  # why there is no yardstick
    ratios: dict[str, Estimate | None]  # of priced regret to the yardstick's, per method; None where it is not above 0
    short: frozenset[str]  # methods that miss the target
    skipped: dict[str, str]  # methods that cannot run here, and why
    alike: bool  # every seed came to the same
    runs: Runs = field(repr=False)


@dataclass(frozen=True, slots=True)
class Total:
    """A method over several streams."""

    method: str
    feedback: str
    ratios: dict[str, Estimate | None]  # per stream where it ran
    overall: Estimate | None  # their geometric mean; None where one of them is
    plain: float  # their plain mean, with those that are not above 0 as they are
    short: frozenset[str]  # the streams where it misses the target


def board(entry: Entry, target: float, feedback: Mapping[str, str], runs: Runs, skipped: Mapping[str, str]) -> Board:
    """The board of a stream."""
    best, unreachable = benchmark(entry.stream, target)
    first = next(iter(runs.values()), ())
    rows = [row(name, feedback[name], found, first, best) for name, found in runs.items()]
    yardstick, unmeasured = _yardstick(rows)
    short = frozenset(one.method for one in rows if one.rate.high < target - SHORT * (1.0 - target))
    under = [] if yardstick is None else priced(runs[yardstick])
    return Board(
        stream=entry.label,
        about=entry.opened.about,
        arms=entry.stream.menu.n_arms,
        horizon=entry.horizon,
        recorded=isinstance(entry.stream, Log),
        best=best,
        mix=mix(entry.stream.menu, best),
        looking=looking(entry.stream, target),
        unreachable=unreachable,
        rows=tuple(sorted(rows, key=lambda one: (one.method in short, _size(one)))),
        yardstick=yardstick,
        unmeasured=unmeasured,
        ratios={name: _share(priced(found), under) for name, found in runs.items()} if under else {},
        short=short,
        skipped=dict(skipped),
        alike=alike(runs),
        runs=runs,
    )


def _share(over: Sequence[float], under: Sequence[float]) -> Estimate | None:
    """How much of the yardstick's regret a method has; who looks at the context may have less than none."""
    found = statistics.ratio(over, under)
    return found if found.value > 0.0 else None


def _size(one: Row) -> float:
    return (one.cost if one.priced_regret is None else one.priced_regret).value


def _yardstick(rows: Sequence[Row]) -> tuple[str | None, str | None]:
    """The paper at its best scale, or why there is none to measure by."""
    if not rows or rows[0].priced_regret is None:
        return None, None
    paper = {one.method: one.priced_regret for one in rows if one.method.startswith("paper") and one.priced_regret}
    if not paper:
        return None, "the paper's method is not among those that ran"
    name = min(paper, key=lambda method: paper[method].value)
    if paper[name].low <= 0.0:
        return None, f"the priced regret of {name} is not clearly above 0 (a longer --horizon, or more --seeds)"
    return name, None


def priced(runs: Sequence[Outcome]) -> list[float]:
    """The priced regret of each run; empty where there is none."""
    return [run.priced_regret for run in runs if run.priced_regret is not None]


def totals(boards: Sequence[Board]) -> tuple[Total, ...]:
    """Every method over all boards that have a yardstick: as on a board, and those that lack a stream last."""
    measured = [one for one in boards if one.yardstick is not None]
    if len(measured) < 2:
        return ()
    names = {one.method: one.feedback for found in measured for one in found.rows}
    found = [_total(name, feedback, measured) for name, feedback in names.items()]
    return tuple(sorted(found, key=_order))


def _order(one: Total) -> tuple[int, bool, float]:
    return -len(one.ratios), bool(one.short), one.plain if one.overall is None else one.overall.value


def _total(name: str, feedback: str, boards: Sequence[Board]) -> Total:
    there = [one for one in boards if name in one.runs]
    pairs = [(priced(one.runs[name]), priced(one.runs[one.yardstick or ""])) for one in there]
    overall = statistics.geometric(pairs)
    return Total(
        method=name,
        feedback=feedback,
        ratios={one.stream: one.ratios[name] for one in there},
        overall=overall if math.isfinite(overall.value) else None,
        plain=sum(statistics.ratio(*pair).value for pair in pairs) / max(1, len(pairs)),
        short=frozenset(one.stream for one in there if name in one.short),
    )
