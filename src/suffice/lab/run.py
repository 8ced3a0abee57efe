"""One comparison: a stream, some methods, the same worlds for all. A cost is never reported without its debt (theory 8)."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from suffice import rivals as package
from suffice.bounds import named_bounds
from suffice.certificate import Certificate
from suffice.checks import positive, rate, whole
from suffice.errors import Infeasible, InvalidArgument, SufficeError, shown
from suffice.lab import fit
from suffice.lab.runs import even
from suffice.lab.verdict import Estimate
from suffice.optimum import Optimum, optimum
from suffice.printed import paper
from suffice.rivals import Projected, Rival
from suffice.selector import Selector
from suffice.simulate import Summary, summarize
from suffice.threshold import ThresholdSelector

Make = Callable[[], Any]
Progress = Callable[[str, int], None]  # the method, steps done in all its runs
MARKS = 200  # points of a curve


@dataclass(frozen=True, slots=True)
class Row:
    """How one method did: means over seeds with 95% intervals, and the worst of what must not be bad."""

    method: str
    feedback: str
    rate: Estimate
    debt: Estimate
    largest_debt: float
    worst_window: float
    cost: Estimate
    regret: Estimate | None
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
    unreachable: str | None  # why there is no optimum where the truth is known
    rows: tuple[Row, ...]
    skipped: dict[str, str]  # methods that cannot run here, and why
    certificates: dict[str, Certificate] = field(repr=False)  # of the first seed
    curves: dict[str, dict[str, list[float]]] = field(repr=False)
    alike: bool  # every seed came to the same


# --- methods


def rivals() -> dict[str, type[Rival]]:
    """Every rival, by the name of its file, which is easier to type than its own.

    >>> rivals()["projected"].feedback
    'success + cost'
    """
    kinds = {kind.__module__.rpartition(".")[2]: kind for kind in package.found().values()}
    return dict(sorted(kinds.items()))


def methods(
    stream: Any, target: float, horizon: int, names: Iterable[str], *, bounds: str = "auto", slack: float | None = None,
    scale: float = 1.0,
) -> dict[str, Make]:  # fmt: skip
    """How to make each of the methods named: "suffice", "paper", "threshold" or a rival.

    `scale` is a in the paper's step a/sqrt(horizon), for its method and for its projected baseline.

    >>> from suffice.streams import Trap
    >>> list(methods(Trap(), 0.5, 100, ["suffice", "everything"]))
    ['suffice', 'everything']
    """
    menu = stream.menu
    rate("target", target)
    named_bounds(bounds)
    if slack is not None:
        positive("slack", slack)
    step = float(positive("scale", scale)) / whole("horizon", horizon) ** 0.5
    known: dict[str, Make] = {
        "suffice": lambda: Selector(menu, target, slack=slack, bounds=bounds),
        "paper": lambda: paper(menu, target, horizon, step),
        "threshold": lambda: _threshold(stream, target, slack),
        **{name: _maker(kind, stream, target, horizon) for name, kind in rivals().items()},
        "projected": lambda: Projected(menu, target, horizon, step),
    }
    wanted = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    for name in wanted:
        if name not in known:
            raise InvalidArgument(f"methods must be some of {', '.join(known)}, got {shown(name)}")
    if not wanted:
        raise InvalidArgument(f"methods must be some of {', '.join(known)}, got none")
    return {name: known[name] for name in wanted}


def _threshold(stream: Any, target: float, slack: float | None) -> ThresholdSelector:
    if not hasattr(stream, "judge_value"):
        raise InvalidArgument("stream must judge any threshold between its low and high, as `needs` does")
    return ThresholdSelector(target, stream.low, stream.high, slack=slack)


def _maker(kind: type[Rival], stream: Any, target: float, horizon: int) -> Make:
    there = {"menu": stream.menu, "target": target, "horizon": horizon, "stream": stream}
    takes = inspect.signature(kind).parameters

    def make() -> Rival:
        lacking = [n for n, p in takes.items() if n not in there and p.default is p.empty and p.kind < p.VAR_POSITIONAL]
        if lacking:
            raise InvalidArgument(f"method needs {', '.join(lacking)}, which the command line cannot give")
        return kind(**{name: value for name, value in there.items() if name in takes})

    return make


def _feedback(method: Any) -> str:
    return str(getattr(method, "feedback", "success" if isinstance(method, ThresholdSelector) else "success + cost"))


# --- the comparison


def compare(
    stream: Any, target: float, horizon: int, makers: Mapping[str, Make], *, seeds: Sequence[int] = (0,),
    window: int = 500, progress: Progress | None = None,
) -> Comparison:  # fmt: skip
    """Run every method on the same worlds. A method that cannot run here is set aside; the others run.

    >>> from suffice.streams import Trap
    >>> found = compare(Trap(), 0.5, 2000, methods(Trap(), 0.5, 2000, ["suffice", "paper"]))
    >>> [row.method for row in found.rows], found.rows[0].largest_debt <= 0.5
    (['suffice', 'paper'], True)
    """
    horizon, window = whole("horizon", horizon), min(whole("window", window), whole("horizon", horizon))
    made, skipped, errors = {}, {}, []
    for name, make in makers.items():
        try:
            made[name] = make()
        except SufficeError as error:
            skipped[name] = str(error)
            errors.append(error)
    if not made:
        raise errors[0]
    best, unreachable = _optimum(stream, target)
    runs: dict[str, list[Summary]] = {}
    for name, method in made.items():
        try:
            runs[name] = [
                summarize(
                    method, stream, horizon, seed, window=window, marks=even(horizon, min(MARKS, horizon)),
                    progress=None if progress is None else _from(progress, name, place * horizon),
                )
                for place, seed in enumerate(seeds)
            ]  # fmt: skip
        except SufficeError as error:
            skipped[name] = str(error)
            errors.append(error)
    if not runs:
        raise errors[-1]
    first = [summary.mean_cost for summary in next(iter(runs.values()))]
    return Comparison(
        target=float(target),
        horizon=horizon,
        seeds=tuple(seeds),
        window=window,
        best=best,
        mix={} if best is None else _mix(stream.menu, best),
        unreachable=unreachable,
        rows=tuple(_row(name, _feedback(made[name]), found, best, first) for name, found in runs.items()),
        skipped=skipped,
        certificates={
            name: found[0].method.certificate()
            for name, found in runs.items()
            if hasattr(found[0].method, "certificate")
        },
        curves={name: _curve(found) for name, found in runs.items()},
        alike=len(seeds) > 1 and all(_alike(found) for found in runs.values()),
    )


def _from(progress: Progress, name: str, before: int) -> Callable[[int], None]:
    return lambda done: progress(name, before + done)


def _optimum(stream: Any, target: float) -> tuple[Optimum | None, str | None]:
    if not hasattr(stream, "truth"):
        return None, None
    try:
        success, cost = stream.truth()
        return optimum(success, cost, target), None
    except Infeasible as error:
        return None, str(error)


def _mix(menu: Any, best: Optimum) -> dict[str, float]:
    return {str(menu.option(int(arm))): float(best.weights[arm]) for arm in best.weights.nonzero()[0]}


def _row(name: str, feedback: str, runs: Sequence[Summary], best: Optimum | None, first: Sequence[float]) -> Row:
    regrets = [] if best is None else [run.cost - best.cost * run.steps for run in runs]
    # A success owed is worth the right slope, one banked the left (theory 8).
    prices = [] if best is None else [best.dual if run.debt > 0 else best.dual_ahead for run in runs]
    priced = [regret + price * run.debt for regret, price, run in zip(regrets, prices, runs, strict=bool(regrets))]
    costs = [run.mean_cost for run in runs]
    return Row(
        method=name,
        feedback=feedback,
        rate=_estimate([run.rate for run in runs]),
        debt=_estimate([run.debt for run in runs]),
        largest_debt=max(run.largest_debt for run in runs),
        worst_window=min(run.worst_window for run in runs),
        cost=_estimate(costs),
        regret=_estimate(regrets) if regrets else None,
        priced_regret=_estimate(priced) if priced else None,
        dearer=_estimate([cost - other for cost, other in zip(costs, first, strict=True)]),
    )


def _estimate(values: Sequence[float]) -> Estimate:
    return fit.mean(values) if len(values) > 1 else Estimate.exact(values[0])


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


def _alike(runs: Sequence[Summary]) -> bool:
    return len({(run.successes, run.cost, run.largest_debt, run.worst_window) for run in runs}) == 1
