"""A board: how several methods did on one stream, in the same worlds. A cost never stands without its debt (theory 8).

The yardstick is the paper's method at the best of its steps, chosen afterwards by its own result. No user could choose so
well beforehand, so a ratio below 1 does not come from tuning.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from suffice.best_mix import Optimum, contextual_optimum, optimum
from suffice.errors import Infeasible
from suffice.lab import statistics
from suffice.lab.run_results import Outcome
from suffice.lab.streams import Log
from suffice.lab.verdict import Estimate
from suffice.promise.certificate import Certificate
from suffice.simulator import Stream

SHORT: Final = 0.05  # share of the allowed failures: a method that fails so much more often misses the target
Outcomes = Mapping[str, Sequence[Outcome]]  # per method, in the order of the seeds


@dataclass(frozen=True, slots=True)
class Setting:
    """What every method on a board has in common."""

    name: str  # of the stream
    about: str
    stream: Stream
    target: float
    horizon: int
    seeds: tuple[int, ...]
    window: int

    @property
    def recorded(self) -> bool:
        """Whether the stream is a log: its optimum is the best fixed mix over all rows."""
        return isinstance(self.stream, Log)


@dataclass(frozen=True, slots=True)
class Row:
    """How one method did: means over seeds with 95% intervals, and the worst seed where the worst matters."""

    method: str
    feedback: str
    rate: Estimate
    debt: Estimate
    largest_debt: float  # of all seeds
    mean_largest_debt: Estimate
    worst_window: float  # of all seeds
    mean_worst_window: Estimate
    cost: Estimate
    of_optimum: Estimate | None  # cost as a share of the context-free optimum's
    regret: Estimate | None  # against the context-free optimum: a method that uses the context may be below 0
    priced_regret: Estimate | None  # regret plus the debt, or less the surplus, at the shadow price of a success
    ratio: Estimate | None  # of priced regret to the yardstick's; None without a yardstick or where it is not above 0
    short: bool  # misses the target


@dataclass(frozen=True, slots=True)
class Board:
    """All methods on one stream, by priced regret, or by cost where there is no regret. Those short of the target are last.

    Priced regret values a debt at what one more success costs at the target. Making up for a large debt takes more expensive
    successes, so the priced regret of a method that owes much is too low.
    """

    setting: Setting
    best: Optimum | None
    mix: dict[str, float]  # options of the optimum and their weights
    contextual: Optimum | None  # optimum of a method that uses the context, where the stream has cases
    unreachable: str | None  # why there is no optimum although the truth is known
    rows: tuple[Row, ...]
    yardstick: str | None
    skipped: dict[str, str]  # methods that cannot run here, and why
    outcomes: Outcomes = field(repr=False)
    certificates: Mapping[str, Certificate] = field(repr=False)  # of the methods that have one, where there is one seed

    @property
    def alike(self) -> bool:
        """Whether all of several seeds gave the same: then chance plays no part."""
        return all(len(runs) > 1 and len(set(runs)) == 1 for runs in self.outcomes.values())


def make_board(
    setting: Setting,
    feedback: Mapping[str, str],
    outcomes: Outcomes,
    skipped: Mapping[str, str],
    certificates: Mapping[str, Certificate],
) -> Board:
    """The board of the methods in `outcomes`; `feedback` says what each is shown."""
    best, unreachable = benchmark(setting.stream, setting.target)
    yardstick = _yardstick(outcomes)
    baseline = [] if yardstick is None else _priced(outcomes[yardstick])
    rows = [_row(name, feedback[name], runs, setting.target, best, baseline) for name, runs in outcomes.items()]
    return Board(
        setting=setting,
        best=best,
        mix=_mix(setting.stream, best),
        contextual=_contextual(setting.stream, setting.target),
        unreachable=unreachable,
        rows=tuple(sorted(rows, key=lambda row: (row.short, (row.priced_regret or row.cost).value))),
        yardstick=yardstick,
        skipped=dict(skipped),
        outcomes=outcomes,
        certificates=certificates,
    )


def benchmark(stream: Stream, target: float) -> tuple[Optimum | None, str | None]:
    """The optimum where the truth is known; if there is none, why."""
    if not hasattr(stream, "truth"):
        return None, None
    try:
        success, cost = stream.truth()
        return optimum(success, cost, target), None
    except Infeasible as error:
        return None, str(error)


def _contextual(stream: Stream, target: float) -> Optimum | None:
    if not hasattr(stream, "cases"):
        return None
    try:
        weights, success, cost = stream.cases()
        return contextual_optimum(weights, success, cost, target)
    except Infeasible:  # the context-free optimum gives the reason
        return None


def _mix(stream: Stream, best: Optimum | None) -> dict[str, float]:
    if best is None:
        return {}
    return {str(stream.menu.option(int(arm))): float(best.weights[arm]) for arm in best.weights.nonzero()[0]}


def _row(
    method: str, feedback: str, runs: Sequence[Outcome], target: float, best: Optimum | None, baseline: Sequence[float]
) -> Row:
    rate, ratio = statistics.mean([run.rate for run in runs]), None
    if baseline:
        share = statistics.ratio(_priced(runs), baseline)
        ratio = share if share.value > 0.0 else None
    return Row(
        method=method,
        feedback=feedback,
        rate=rate,
        debt=statistics.mean([run.debt for run in runs]),
        largest_debt=max(run.largest_debt for run in runs),
        mean_largest_debt=statistics.mean([run.largest_debt for run in runs]),
        worst_window=min(run.worst_window for run in runs),
        mean_worst_window=statistics.mean([run.worst_window for run in runs]),
        cost=statistics.mean([run.cost for run in runs]),
        of_optimum=statistics.mean([run.cost / best.cost for run in runs]) if best and best.cost > 0.0 else None,
        regret=_mean([run.regret for run in runs]),
        priced_regret=_mean([run.priced_regret for run in runs]),
        ratio=ratio,
        short=rate.high < target - SHORT * (1.0 - target),
    )


def _mean(values: Sequence[float | None]) -> Estimate | None:
    known = [value for value in values if value is not None]
    return statistics.mean(known) if known else None


def _priced(runs: Sequence[Outcome]) -> list[float]:
    return [run.priced_regret for run in runs if run.priced_regret is not None]


def _yardstick(outcomes: Outcomes) -> str | None:
    """The paper's method at the step with the least mean priced regret, if that is clearly above 0."""
    papers = {name: _priced(runs) for name, runs in outcomes.items() if name.startswith("paper-")}
    means = {name: statistics.mean(priced) for name, priced in papers.items() if priced}
    best = min(means, key=lambda name: means[name].value, default=None)
    return best if best is not None and means[best].low > 0.0 else None
