"""What a replay of a decision log comes to, and what both kinds of log share: intervals, answers, limits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from suffice.best_mix import optimum
from suffice.errors import Infeasible
from suffice.kernels.rows import Floats
from suffice.lab.verdict import Estimate
from suffice.promise.divergence import kl_lower, kl_upper

DOUBT: Final = 0.05  # of an interval, at all times together

PAST: Final = (
    "The past is not the future: this is about the requests in this log, and about others only if they are alike."
)
ALWAYS: Final = (
    "The promise of suffice depends on none of this: it is kept on every sequence of requests, whatever this log shows."
)
UNKNOWN: Final = "The outcome of what was not chosen is unknown; nothing here can replace trying it."


@dataclass(frozen=True, slots=True)
class Answer:
    """What would have held the target, by one way of reading the log: one choice, or a mix of two."""

    by: str
    mix: dict[str, float]  # empty if nothing does
    cost: float | None
    why: str | None = None  # why there is no answer


@dataclass(frozen=True, slots=True)
class ThresholdBounds:
    """The least and the most that the success rate of a threshold can have been on this log, and for requests like it."""

    threshold: float
    used: int
    at_least: float
    at_most: float
    sure_at_least: float  # 95% sure for other requests that are alike
    sure_at_most: float
    cost: float | None


@dataclass(frozen=True, slots=True)
class OptionRates:
    """How often an option was chosen, and how it did."""

    option: str
    chosen: int
    success: Estimate
    cost: float | None


@dataclass(frozen=True, slots=True)
class Replay:
    """What a decision log shows about a target, and what it cannot show."""

    kind: str
    target: float
    rows: int
    success: float  # how often what was chosen succeeded
    cost: float | None  # what was chosen cost on average
    answers: tuple[Answer, ...]
    limits: tuple[str, ...]
    thresholds: tuple[ThresholdBounds, ...] = ()
    options: tuple[OptionRates, ...] = ()
    notes: tuple[str, ...] = ()


def sure(mean: float, count: int) -> tuple[float, float]:
    """A 95% interval that holds at all times together: the KL mixture.

    >>> [round(end, 3) for end in sure(0.9, 100)]
    [0.745, 0.978]
    """
    level = math.log((count + 1) / DOUBT) / count
    return max(0.0, kl_lower(mean, level)), kl_upper(mean, level)


def best_mix(by: str, names: Sequence[str], success: Floats, paid: Floats | None, target: float) -> Answer:
    """The cheapest mix; without costs, the choice with the best rate if that is enough."""
    if paid is not None:
        return answer(by, names, success, paid, target)
    best = int(success.argmax())
    if success[best] >= target:
        return Answer(by, {names[best]: 1.0}, None)
    return Answer(by, {}, None, f"none holds it: the best is {names[best]} at {success[best]:.4g}")


def answer(by: str, names: Sequence[str] | Floats, success: Floats, paid: Floats, target: float) -> Answer:
    """The cheapest mix that holds the target if these rates and costs are right."""
    try:
        best = optimum(success, paid, target)
    except Infeasible:
        top = int(success.argmax())
        return Answer(by, {}, None, f"no mix holds it: the best is {name_of(names[top])} at {success[top]:.4g}")
    arms = np.flatnonzero(best.weights).tolist()
    return Answer(by, {name_of(names[arm]): float(best.weights[arm]) for arm in arms}, best.cost)


def name_of(name: str | float) -> str:
    """A threshold or an option as a name; twelve digits keep apart thresholds that are nearly the same."""
    return name if isinstance(name, str) else f"{name:.12g}"
