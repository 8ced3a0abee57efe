"""The numbers of one run, and of several seeds together with intervals. A cost is never reported without its debt."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from suffice.best_mix import Optimum
from suffice.lab import statistics
from suffice.lab.experiment import Numbers
from suffice.lab.paper_methods import FEEDBACK
from suffice.selector.selector import Selector
from suffice.simulator import Method, Stream, Summary, summarize


def geometric(horizon: int, per_decade: int = 12) -> list[int]:
    """Steps spread evenly on a logarithmic axis, the last one included."""
    count = int(np.log10(horizon) * per_decade) + 1
    return sorted({round(step) for step in np.geomspace(1, horizon, count).tolist()} | {horizon})


def even(horizon: int, count: int = 200) -> list[int]:
    """Steps spread evenly, the last one included."""
    return sorted({round(step) for step in np.linspace(horizon / count, horizon, count).tolist()})


def midpoint(horizon: int) -> int:
    """The step after which the second half begins; where a run marks it, its outcome has the cost of that half."""
    return max(1, horizon // 2)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run came to. Without an optimum there is no regret; for a method that uses the context it may be below 0."""

    rate: float
    cost: float  # per step
    late_cost: float | None  # per step of the second half; None where its beginning is not marked
    regret: float | None
    priced_regret: float | None  # plus the debt, or less the surplus, at the shadow price of a success
    debt: float
    largest_debt: float
    worst_window: float


def outcome(summary: Summary, best: Optimum | None) -> Outcome:
    """A run against the optimum, where there is one: where the steps are independent and alike."""
    regret = priced = None
    if best is not None:
        regret = summary.cost - best.cost * summary.steps
        # A success of debt is worth the right slope, one of surplus the left (theory 8).
        priced = regret + (best.price if summary.debt > 0.0 else best.price_ahead) * summary.debt
    return Outcome(
        summary.rate, summary.mean_cost, _late(summary), regret, priced, summary.debt, summary.largest_debt,
        summary.worst_window,
    )  # fmt: skip


def _late(summary: Summary) -> float | None:
    middle = next((mark for mark in summary.marks if mark.step == midpoint(summary.steps)), None)
    if middle is None or middle.step == summary.steps:
        return None
    return (summary.cost - middle.cost) / (summary.steps - middle.step)


def measure(
    method: Method,
    stream: Stream,
    horizon: int,
    seed: int,
    best: Optimum,
    *,
    marks: Iterable[int] = (),
    window: int = 500,
) -> Numbers:
    """Run a method and measure it against the optimum."""
    if isinstance(method, Selector):
        method.reseed(seed)  # else its own randomness would be the same in all worlds
    summary = summarize(method, stream, horizon, seed, marks=marks, window=window)
    return row(summary, best)


def row(summary: Summary, best: Optimum) -> Numbers:
    """A run in JSON's terms: rate, cost, regret and all kinds of debt."""
    return {
        "horizon": summary.steps,
        "seed": summary.seed,
        **asdict(outcome(summary, best)),
        "counted_debt": summary.target * summary.method.outcomes
        - float(summary.method.successes),  # without the forced first round
        "marks": [[mark.step, mark.successes, mark.cost, mark.largest_debt] for mark in summary.marks],
    }


COLUMNS = ("rate", "cost", "regret", "priced_regret", "debt")


def aggregate(results: Sequence[Numbers], **label: Any) -> Numbers:
    """One row from the runs of several seeds: means with 95% intervals, and the worst of what must not be bad."""
    row: Numbers = {
        **label,
        "feedback": FEEDBACK.get(label["method"], "success + cost"),
        "seeds": len(results),
    }
    for column in COLUMNS:
        estimate = statistics.mean([result[column] for result in results])
        row |= {column: estimate.value, f"{column}_low": estimate.low, f"{column}_high": estimate.high}
    row["largest_debt"] = max(result["largest_debt"] for result in results)
    row["worst_window"] = min(result["worst_window"] for result in results)
    return row


def pick(results: Sequence[Numbers], **wanted: object) -> list[Numbers]:
    """The results with these values, in the order of their seeds."""
    picked = [result for result in results if all(result[key] == value for key, value in wanted.items())]
    return sorted(picked, key=lambda result: int(result["seed"]))


def curve(results: Sequence[Numbers], target: float, optimum: float) -> dict[str, list[float]]:
    """Mean and spread over seeds at each mark: the rate so far, the debt, and the regret so far."""
    marks = np.array([result["marks"] for result in results], dtype=np.float64)
    steps, successes, costs = marks[0, :, 0], marks[:, :, 1], marks[:, :, 2]
    curves: dict[str, list[float]] = {"step": steps.tolist()}
    for name, values in (
        ("rate", successes / steps),
        ("debt", target * steps - successes),
        ("regret", costs - optimum * steps),
        ("cost", costs),
    ):
        low, high = np.quantile(values, [0.05, 0.95], axis=0)
        curves |= {name: values.mean(axis=0).tolist(), f"{name}_low": low.tolist(), f"{name}_high": high.tolist()}
    return curves
