"""One comparison: a stream, some methods, the same worlds for all. A cost is never reported without its debt (theory 8)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from suffice.best_mix import Optimum, contextual_optimum, optimum
from suffice.errors import Infeasible, SufficeError
from suffice.lab import statistics
from suffice.lab.method_specs import Make, feedback_of
from suffice.lab.run_results import Outcome, even, midpoint, outcome
from suffice.lab.verdict import Estimate
from suffice.numbers import positive_int
from suffice.promise.certificate import Certificate
from suffice.simulator import Summary, summarize

Progress = Callable[[str, int], None]  # the method, steps done in all its runs
MARKS = 200  # points of a curve


@dataclass(frozen=True, slots=True)
class Row:
    """How one method did: means over seeds with 95% intervals, and the worst of what must not be bad."""

    method: str
    feedback: str
    rate: Estimate
    debt: Estimate
    largest_debt: float  # of all seeds
    mean_largest_debt: Estimate
    worst_window: float  # of all seeds
    mean_worst_window: Estimate
    cost: Estimate
    late_cost: Estimate | None  # of the second half of the run, where it has one
    of_optimum: Estimate | None  # its cost as a share of the optimum's that does not look at the context
    regret: Estimate | None  # against that one, too: it may be below 0 for who looks
    priced_regret: Estimate | None  # regret with what is owed at its price, or what is banked
    dearer: Estimate | None  # its cost less the first method's, seed by seed


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that came out of a run."""

    target: float
    horizon: int
    seeds: tuple[int, ...]
    window: int
    best: Optimum | None
    mix: dict[str, float]  # the optimum's options and their weights
    looking: Optimum | None  # the optimum of who looks at the context, where the stream has cases
    unreachable: str | None  # why there is no optimum where the truth is known
    rows: tuple[Row, ...]
    skipped: dict[str, str]  # methods that cannot run here, and why
    certificates: dict[str, Certificate] = field(repr=False)  # of the first seed
    curves: dict[str, dict[str, list[float]]] = field(repr=False)
    alike: bool  # every seed came to the same


def compare(
    stream: Any, target: float, horizon: int, makers: Mapping[str, Make], *, seeds: Sequence[int] = (0,),
    window: int = 500, progress: Progress | None = None,
) -> Comparison:  # fmt: skip
    """Run every method on the same worlds. A method that cannot run here is set aside; the others run.

    >>> from suffice.lab.method_specs import methods
    >>> from suffice.lab.streams import Trap
    >>> found = compare(Trap(), 0.5, 2000, methods(Trap(), 0.5, 2000, ["suffice", "paper"]))
    >>> [row.method for row in found.rows], found.rows[0].largest_debt <= 0.5
    (['suffice', 'paper'], True)
    """
    horizon, window = (
        positive_int("horizon", horizon),
        min(positive_int("window", window), positive_int("horizon", horizon)),
    )
    feedback, skipped, errors = {}, {}, []
    for name, make in makers.items():
        try:
            feedback[name] = feedback_of(make(seeds[0]))
        except SufficeError as error:
            skipped[name] = str(error)
            errors.append(error)
    if not feedback:
        raise errors[0]
    best, unreachable = benchmark(stream, target)
    marks = {*even(horizon, min(MARKS, horizon)), midpoint(horizon)}
    runs: dict[str, list[Summary]] = {}
    for name in feedback:
        try:
            runs[name] = [
                summarize(
                    makers[name](seed), stream, horizon, seed, window=window, marks=marks,
                    progress=None if progress is None else _from(progress, name, place * horizon),
                )
                for place, seed in enumerate(seeds)
            ]  # fmt: skip
        except SufficeError as error:
            skipped[name] = str(error)
            errors.append(error)
    if not runs:
        raise errors[-1]
    outcomes = {name: [outcome(run, best) for run in found] for name, found in runs.items()}
    first = next(iter(outcomes.values()))
    return Comparison(
        target=float(target),
        horizon=horizon,
        seeds=tuple(seeds),
        window=window,
        best=best,
        mix=mix(stream.menu, best),
        looking=looking(stream, target),
        unreachable=unreachable,
        rows=tuple(row(name, feedback[name], found, first, best) for name, found in outcomes.items()),
        skipped=skipped,
        certificates={
            name: found[0].method.certificate()
            for name, found in runs.items()
            if hasattr(found[0].method, "certificate")
        },
        curves={name: _curve(found) for name, found in runs.items()},
        alike=alike(outcomes),
    )


def _from(progress: Progress, name: str, before: int) -> Callable[[int], None]:
    return lambda done: progress(name, before + done)


def benchmark(stream: Any, target: float) -> tuple[Optimum | None, str | None]:
    """The optimum where the truth is known; if even that has none, why."""
    if not hasattr(stream, "truth"):
        return None, None
    try:
        success, cost = stream.truth()
        return optimum(success, cost, target), None
    except Infeasible as error:
        return None, str(error)


def looking(stream: Any, target: float) -> Optimum | None:
    """The optimum of who looks at the context before choosing, where the stream knows its cases."""
    if not callable(getattr(stream, "cases", None)):
        return None
    try:
        weights, success, cost = stream.cases()
        return contextual_optimum(weights, success, cost, target)
    except Infeasible:  # then the other one has said so
        return None


def mix(menu: Any, best: Optimum | None) -> dict[str, float]:
    """The options of the optimum, and their weights."""
    if best is None:
        return {}
    return {str(menu.option(int(arm))): float(best.weights[arm]) for arm in best.weights.nonzero()[0]}


def row(
    method: str, feedback: str, outcomes: Sequence[Outcome], first: Sequence[Outcome], best: Optimum | None = None
) -> Row:
    """One row from the runs of several seeds; `first` are those of the method that it is compared with."""
    least = best.cost if best is not None and best.cost > 0.0 else None  # of nothing there are no shares
    return Row(
        method=method,
        feedback=feedback,
        rate=statistics.mean([run.rate for run in outcomes]),
        debt=statistics.mean([run.debt for run in outcomes]),
        largest_debt=max(run.largest_debt for run in outcomes),
        mean_largest_debt=statistics.mean([run.largest_debt for run in outcomes]),
        worst_window=min(run.worst_window for run in outcomes),
        mean_worst_window=statistics.mean([run.worst_window for run in outcomes]),
        cost=statistics.mean([run.cost for run in outcomes]),
        late_cost=_mean([run.late_cost for run in outcomes]),
        of_optimum=None if least is None else statistics.mean([run.cost / least for run in outcomes]),
        regret=_mean([run.regret for run in outcomes]),
        priced_regret=_mean([run.priced_regret for run in outcomes]),
        dearer=statistics.mean([run.cost - other.cost for run, other in zip(outcomes, first, strict=True)]),
    )


def _mean(values: Sequence[float | None]) -> Estimate | None:
    there = [value for value in values if value is not None]
    return statistics.mean(there) if there else None


def alike(outcomes: Mapping[str, Sequence[Outcome]]) -> bool:
    """Whether every seed came to the same: then chance plays no part."""
    return all(len(found) > 1 and len(set(found)) == 1 for found in outcomes.values())


def _curve(runs: Sequence[Summary]) -> dict[str, list[float]]:
    """Means over seeds after each mark."""
    found: dict[str, list[float]] = {
        "step": [float(mark.step) for mark in runs[0].marks],
        "rate": [],
        "debt": [],
        "cost": [],
    }
    for place, mark in enumerate(runs[0].marks):
        successes = sum(run.marks[place].successes for run in runs) / len(runs)
        found["rate"].append(successes / mark.step)
        found["debt"].append(runs[0].target * mark.step - successes)
        found["cost"].append(sum(run.marks[place].cost for run in runs) / len(runs) / mark.step)
    return found
