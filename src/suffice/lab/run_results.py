"""One run as a row of numbers, and rows of the same kind as one with intervals. A cost is never reported without its debt."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from suffice.best_mix import Optimum
from suffice.lab import statistics
from suffice.lab.paper_methods import FEEDBACK
from suffice.selector.selector import Selector
from suffice.simulator import Summary, summarize


def geometric(horizon: int, per_decade: int = 12) -> list[int]:
    """Steps spread evenly on a logarithmic axis, the last one included."""
    count = int(np.log10(horizon) * per_decade) + 1
    return sorted({round(step) for step in np.geomspace(1, horizon, count).tolist()} | {horizon})


def even(horizon: int, count: int = 200) -> list[int]:
    """Steps spread evenly, the last one included."""
    return sorted({round(step) for step in np.linspace(horizon / count, horizon, count).tolist()})


def midpoint(horizon: int) -> int:
    """The step after which the second half begins: mark it, and the outcome of the run says what that half cost."""
    return max(1, horizon // 2)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run came to. Without an optimum there is no regret, which may be below 0 for who looks at the context."""

    rate: float
    cost: float  # per step
    late_cost: float | None  # per step of the second half; None where its beginning was not marked
    regret: float | None
    priced_regret: float | None  # with what is owed at its price, or what is banked
    debt: float
    largest_debt: float
    worst_window: float


def outcome(summary: Summary, best: Optimum | None) -> Outcome:
    """A run against the optimum, where the steps are independent and alike and there is one."""
    regret = priced = None
    if best is not None:
        regret = summary.cost - best.cost * summary.steps
        # A success owed is worth the right slope, one banked the left (theory 8).
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
    method: Any, stream: Any, horizon: int, seed: int, best: Optimum, *, marks: Iterable[int] = (), window: int = 500
) -> dict[str, Any]:
    """Run a method and say how it did, against the optimum where the steps are independent and alike."""
    if isinstance(method, Selector):
        method.reseed(seed)  # else it would have the same luck in all worlds
    summary = summarize(method, stream, horizon, seed, marks=marks, window=window)
    return row(summary, best)


def row(summary: Summary, best: Optimum) -> dict[str, Any]:
    """A run in JSON's terms: rate, cost, regret and all kinds of debt."""
    told = summary.method.outcomes
    return {
        "horizon": summary.steps,
        "seed": summary.seed,
        **asdict(outcome(summary, best)),
        "counted_debt": summary.target * told - float(summary.method.successes),  # without a first round
        "marks": [[mark.step, mark.successes, mark.cost, mark.largest_debt] for mark in summary.marks],
    }


COLUMNS = ("rate", "cost", "regret", "priced_regret", "debt")


def aggregate(results: Sequence[dict[str, Any]], **label: Any) -> dict[str, Any]:
    """One row from the runs of several seeds: means with 95% intervals, and the worst of what must not be bad."""
    found: dict[str, Any] = {
        **label,
        "feedback": FEEDBACK.get(label["method"], "success + cost"),
        "seeds": len(results),
    }
    for column in COLUMNS:
        estimate = statistics.mean([result[column] for result in results])
        found |= {column: estimate.value, f"{column}_low": estimate.low, f"{column}_high": estimate.high}
    found["largest_debt"] = max(result["largest_debt"] for result in results)
    found["worst_window"] = min(result["worst_window"] for result in results)
    return found


def pick(results: Sequence[dict[str, Any]], **wanted: Any) -> list[dict[str, Any]]:
    """The results with these values, in the order of their seeds."""
    found = [result for result in results if all(result[key] == value for key, value in wanted.items())]
    return sorted(found, key=lambda result: int(result["seed"]))


def curve(results: Sequence[dict[str, Any]], target: float, optimum: float) -> dict[str, list[float]]:
    """Mean and spread over seeds at each mark: the rate so far, the debt, and the regret so far."""
    marks = np.array([result["marks"] for result in results], dtype=np.float64)
    steps, successes, costs = marks[0, :, 0], marks[:, :, 1], marks[:, :, 2]
    found: dict[str, list[float]] = {"step": steps.tolist()}
    for name, values in (
        ("rate", successes / steps),
        ("debt", target * steps - successes),
        ("regret", costs - optimum * steps),
        ("cost", costs),
    ):
        low, high = np.quantile(values, [0.05, 0.95], axis=0)
        found |= {name: values.mean(axis=0).tolist(), f"{name}_low": low.tolist(), f"{name}_high": high.tolist()}
    return found
