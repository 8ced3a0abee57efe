"""What a replay of a decision log comes to, and what the three kinds share: intervals, answers, limits."""

import math
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from suffice.best_mix import optimum
from suffice.errors import Infeasible
from suffice.kernels.rows import Floats as Floats
from suffice.lab.run import Comparison
from suffice.lab.verdict import Estimate
from suffice.promise.divergence import kl_lower, kl_upper

DOUBT: Final = 0.05  # of an interval, at all times together

PAST: Final = (
    "The past is not the future: this is about the requests in this log, and about others only if they are alike."
)
ALWAYS: Final = (
    "The promise of suffice depends on none of this: it is kept on every sequence of requests, whatever this log says."
)
UNKNOWN: Final = "The outcome of what was not chosen is unknown; nothing here can replace trying it."


@dataclass(frozen=True, slots=True)
class Answer:
    """What would have held the target, by one way of reading the log: one choice, or a mix of two."""

    by: str
    mix: dict[str, float]  # empty if nothing does
    cost: float | None
    why: str | None = None  # there is no answer


@dataclass(frozen=True, slots=True)
class Place:
    """A threshold: the least and the most that its success rate on this log can have been, and 95% sure for others alike."""

    threshold: float
    used: int
    at_least: float
    at_most: float
    sure_at_least: float
    sure_at_most: float
    blind: Estimate | None  # its success rate if thresholds were chosen without a look at the request
    cost: float | None


@dataclass(frozen=True, slots=True)
class Choice:
    """An option: how often it was chosen, how it did, and the same weighted by inverse propensities."""

    option: str
    chosen: int
    success: Estimate
    cost: float | None
    weighted: Estimate | None = None
    weighted_cost: float | None = None


@dataclass(frozen=True, slots=True)
class Replay:
    """What a decision log has to say about a target, and what it cannot say."""

    kind: str
    target: float
    rows: int
    success: float | None  # how often what was chosen succeeded
    cost: float | None  # what was chosen cost on average
    answers: tuple[Answer, ...]
    limits: tuple[str, ...]
    places: tuple[Place, ...] = ()
    choices: tuple[Choice, ...] = ()
    notes: tuple[str, ...] = ()
    low: float | None = None  # the range of a score log
    high: float | None = None
    played: Comparison | None = field(default=None, repr=False)  # a score log through the selectors


def sure(mean: float, count: int, doubt: float = DOUBT) -> tuple[float, float]:
    """95% sure, at all times together: the KL mixture.

    >>> [round(end, 3) for end in sure(0.9, 100)]
    [0.745, 0.978]
    """
    level = math.log((count + 1) / doubt) / count
    return max(0.0, kl_lower(mean, level)), kl_upper(mean, level)


def named_answer(by: str, names: Any, success: Floats, paid: Floats | None, target: float) -> Answer:
    """The cheapest mix; without costs, the choice with the best rate if that is enough."""
    if paid is None:
        best = int(success.argmax())
        if success[best] >= target:
            return Answer(by, {str(names[best]): 1.0}, None)
        return Answer(by, {}, None, f"none holds it: the best is {names[best]} at {success[best]:.4g}")
    return answer(by, names, success, paid, target)


def answer(by: str, names: Any, success: Floats, paid: Floats, target: float) -> Answer:
    """The cheapest mix that holds the target if these rates and costs are right."""
    try:
        best = optimum(success, paid, target)
    except Infeasible:
        top = int(success.argmax())
        return Answer(by, {}, None, f"no mix holds it: the best is {name_of(names[top])} at {success[top]:.4g}")
    return Answer(
        by, {name_of(names[arm]): float(best.weights[arm]) for arm in np.flatnonzero(best.weights)}, best.cost
    )


def name_of(name: Any) -> str:
    """A threshold or an option as a name; twelve digits keep thresholds apart that are nearly the same."""
    return name if isinstance(name, str) else f"{name:.12g}"
