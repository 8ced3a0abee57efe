"""Decision logs, played again as far as they can be: only the outcome of what was chosen is known.

A score log knows every outcome, so its answer is exact. A threshold log bounds the outcomes it does not hold, because a
larger threshold succeeds wherever a smaller one did. An option log holds rates of what was chosen, and no more.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from suffice.checks import exact, rate
from suffice.errors import Infeasible, InvalidArgument, shown
from suffice.kl import kl_lower, kl_upper
from suffice.lab.replay_files import Decisions
from suffice.lab.run import Comparison, Progress, compare, methods
from suffice.lab.verdict import Estimate
from suffice.optimum import optimum
from suffice.streams import Needs

Floats = NDArray[np.float64]
DOUBT: Final = 0.05  # of an interval, at all times together
MOST_BLIND: Final = 2_000  # thresholds; with more, each was used too seldom to have a rate of its own
CELLS: Final = 20  # the menu's grid for a score log

PAST: Final = (
    "The past is not the future: this is about the requests in this log, and about others only if they are alike."
)
ALWAYS: Final = (
    "The promise of suffice depends on none of this: it is kept on every sequence of requests, whatever this log says."
)
CROSSED: Final = (
    "Some larger threshold succeeded less often than a smaller one, beyond chance: thresholds were not chosen blindly, or a "
    "larger one does not succeed wherever a smaller one does."
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


def replay(
    log: Decisions, target: float, *, low: float | None = None, high: float | None = None, step: float | None = None,
    slack: float | None = None, window: int = 500, progress: Progress | None = None,
) -> Replay:  # fmt: skip
    """What would have held the target on this log.

    Args:
        log: the decisions.
        target: the success rate to hold.
        low, high: for a score log, a threshold that never suffices and one that always does.
        step: for a score log, the width of the selector's grid; a twentieth of the range if left out.
        slack: for a score log, as for `Selector`.
        window: for a score log, the length of the worst window.
        progress: called with a method and the number of its steps done.

    >>> from suffice.lab.replay_files import decisions
    >>> found = replay(decisions({"option": ["a"] * 50 + ["b"] * 50, "success": [1, 0] * 25 + [1] * 50,
    ...     "cost": [1] * 50 + [3] * 50}), target=0.8)
    >>> {option: round(share, 6) for option, share in found.answers[0].mix.items()}, round(found.answers[0].cost, 6)
    ({'a': 0.4, 'b': 0.6}, 2.2)
    """
    goal = rate("target", target)
    if log.kind == "score":
        return _scores(log, goal, low, high, step, slack, window, progress)
    given = {"low": low, "high": high, "step": step, "slack": slack}
    for name, value in given.items():
        if value is not None:
            raise InvalidArgument(f"{name} must be left out unless the log has scores, got {shown(value)}")
    return _thresholds(log, goal) if log.kind == "threshold" else _options(log, goal)


def sure(mean: float, count: int, doubt: float = DOUBT) -> tuple[float, float]:
    """95% sure, at all times together: the KL mixture.

    >>> [round(end, 3) for end in sure(0.9, 100)]
    [0.745, 0.978]
    """
    level = math.log((count + 1) / doubt) / count
    return max(0.0, kl_lower(mean, level)), kl_upper(mean, level)


# --- score logs: every outcome is known


class Scores(Needs):
    """The scores of a log in their order, as needs; then again from the first."""

    def __init__(self, scores: Floats, low: float, high: float, step: float | Fraction) -> None:
        super().__init__(low, high, step)  # type: ignore[arg-type]  # a Fraction is read exactly
        self.scores = scores

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Floats:
        """One score per step."""
        return self.scores[(start + np.arange(count)) % self.scores.size]

    def truth(self) -> tuple[Floats, Floats]:
        """How often every arm suffices on the log, and what it costs."""
        ranks = np.searchsorted(np.sort(self.scores), np.array(self.menu.options), side="right")
        return np.concatenate([[0.0], ranks / self.scores.size, [1.0]]), self.windows().costs.copy()


def _scores(
    log: Decisions, goal: Fraction, low: float | None, high: float | None, step: float | None, slack: float | None,
    window: int, progress: Progress | None,
) -> Replay:  # fmt: skip
    scores = log.columns["score"]
    bottom, top = _range(scores, low, high)
    stream = Scores(scores, bottom, top, (exact("high", top) - exact("low", bottom)) / CELLS if step is None else step)
    target = float(goal)
    makers = methods(stream, target, log.rows, ["threshold", "suffice"], slack=slack)
    played = compare(stream, target, log.rows, makers, window=window, progress=progress)
    ordered = np.sort(scores)
    enough = float(ordered[math.ceil(goal * log.rows) - 1])
    values, counts = np.unique(ordered, return_counts=True)
    success = np.concatenate([[0.0], np.cumsum(counts) / log.rows])
    success[-1] = 1.0
    spots = np.concatenate([[bottom], values])
    return Replay(
        kind="score",
        target=target,
        rows=log.rows,
        success=None,
        cost=None,
        answers=(
            Answer("one threshold", {f"{enough:.6g}": 1.0}, (enough - bottom) / (top - bottom)),
            _answer("any mix of two", spots, success, (spots - bottom) / (top - bottom), target),
        ),
        limits=(
            "Exact for this log, in hindsight: nobody knew these thresholds before the last row. The replays did not use them.",
            "It assumes that a threshold works just where it is at least the score, and that its use changes no score.",
            PAST,
            ALWAYS,
        ),
        notes=(
            f"A threshold costs its place between {bottom:.6g}, which never suffices, and {top:.6g}, which always does; "
            "set them with --low and --high. The optimum of the replay is over its grid.",
        ),
        low=bottom,
        high=top,
        played=played,
    )


def _range(scores: Floats, low: float | None, high: float | None) -> tuple[float, float]:
    least, most = float(scores.min()), float(scores.max())
    top = most if high is None else float(exact("high", high))
    width = (most - least) or abs(most) or 1.0
    bottom = (0.0 if least > 0.0 else least - 0.01 * width) if low is None else float(exact("low", low))
    if top < most:
        raise InvalidArgument(f"high must be at least the largest score {most:g}, to always succeed, got {shown(high)}")
    if bottom >= least:
        raise InvalidArgument(f"low must be below the smallest score {least:g}, to never succeed, got {shown(low)}")
    return bottom, top


# --- threshold logs: what succeeded would have at any larger threshold, what failed at any smaller one


def _thresholds(log: Decisions, goal: Fraction) -> Replay:
    used, success = log.columns["threshold"], log.columns["success"]
    cost = log.columns.get("cost")
    values, place, counts = np.unique(used, return_inverse=True, return_counts=True)
    worked = np.bincount(place, weights=success, minlength=values.size)
    at_least = np.clip(np.cumsum(worked) / log.rows, 0.0, 1.0)
    at_most = np.clip(1.0 - np.cumsum((counts - worked)[::-1])[::-1] / log.rows, 0.0, 1.0)
    means = None if cost is None else np.bincount(place, weights=cost, minlength=values.size) / counts
    target = float(goal)
    blind = _blind(worked / counts, counts) if values.size <= MOST_BLIND else None
    paid = values if means is None else means
    # The bounds grow with the threshold, and so do those that are 95% sure: the first to hold the target is found by halving.
    firsts = {
        "bounds": int(np.searchsorted(at_least, target - 1e-12)),
        "95% bounds": _first(values.size, lambda spot: sure(float(at_least[spot]), log.rows)[0] >= target),
    }
    answers = [
        Answer(f"one threshold, by its {by}", {f"{values[spot]:.6g}": 1.0}, float(paid[spot]))
        if spot < values.size
        else Answer(f"one threshold, by its {by}", {}, None, _short(by, at_least, log.rows, values))
        for by, spot in firsts.items()
    ]
    answers += [
        _answer(f"a mix of two, {by}", values, bound, paid, target)
        for by, bound in (("by the lower bounds", at_least), ("at best (upper bounds)", at_most))
    ]
    if blind is not None:
        answers.append(
            _answer(
                "a mix of two, if chosen blindly (95% sure)", values, np.array([one.low for one in blind]), paid, target
            )
        )
    spots = _shown_spots(values.size, [spot for spot in firsts.values() if spot < values.size])
    return Replay(
        kind="threshold",
        target=target,
        rows=log.rows,
        success=float(success.mean()),
        cost=None if cost is None else float(cost.mean()),
        answers=tuple(answers),
        limits=(
            UNKNOWN,
            "The bounds hold however thresholds were chosen, if a larger one succeeds wherever a smaller one does.",
            "The rates where a threshold was used are those of other requests too only if thresholds were chosen blindly, "
            "without a look at the request; their intervals are 95% sure for each, at all times together.",
            "The width of the bounds is what the log does not know: they close where small thresholds failed or large ones "
            "succeeded. Trying thresholds on both sides of the one you want would help.",
            *(() if cost is None else ("A mean cost is that of the requests for which a threshold was used.",)),
            PAST,
            ALWAYS,
        ),
        places=tuple(
            Place(
                float(values[spot]),
                int(counts[spot]),
                float(at_least[spot]),
                float(at_most[spot]),
                sure(float(at_least[spot]), log.rows)[0],
                sure(float(at_most[spot]), log.rows)[1],
                None if blind is None else blind[spot],
                None if means is None else float(means[spot]),
            )
            for spot in spots
        ),
        notes=(
            *((CROSSED,) if blind is not None and any(one.low > one.high for one in blind) else ()),
            *(() if cost is not None else ("There is no column cost: a threshold is taken for its own cost.",)),
            *(
                (f"{values.size:,} thresholds were used, of which {len(spots)} are shown.",)
                if len(spots) < values.size
                else ()
            ),
        ),
    )


def _blind(rates: Floats, counts: NDArray[np.int64]) -> list[Estimate]:
    """Rates where each threshold was used, with intervals that grow with the threshold as the rates must."""
    ends = np.array([sure(float(mean), int(count)) for mean, count in zip(rates, counts, strict=True)])
    low = np.maximum.accumulate(ends[:, 0])
    high = np.minimum.accumulate(ends[::-1, 1])[::-1]
    return [Estimate(*(float(number) for number in row)) for row in zip(rates, low, high, strict=True)]


def _first(count: int, holds: Any) -> int:
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _short(by: str, at_least: Floats, rows: int, values: Floats) -> str:
    known = float(at_least[-1]) if by == "bounds" else sure(float(at_least[-1]), rows)[0]
    return f"no threshold is known to: even {values[-1]:.6g}, the largest used, only to {known:.4g}"


def _shown_spots(count: int, answers: list[int], most: int = 12) -> list[int]:
    if count <= 2 * most:
        return list(range(count))
    return sorted({*np.linspace(0, count - 1, most).round().astype(int).tolist(), *answers})


# --- option logs: rates of what was chosen


def _options(log: Decisions, goal: Fraction) -> Replay:
    if log.chosen is None:
        raise InvalidArgument("log must say which option each row chose")
    success, cost, propensity = (log.columns.get(name) for name in ("success", "cost", "propensity"))
    if success is None:
        raise InvalidArgument("log must say whether each row succeeded")
    count = len(log.options)

    def sums(weights: Floats | None) -> Floats:
        return np.bincount(log.chosen, weights=weights, minlength=count).astype(np.float64)  # type: ignore[arg-type]

    plays, worked = sums(None), sums(success)
    means = None if cost is None else sums(cost) / plays
    rates = [_interval(float(worked[arm] / plays[arm]), int(plays[arm])) for arm in range(count)]
    target, names = float(goal), list(log.options)
    weighted: list[Estimate] | None = None
    weighted_costs: Floats | None = None
    notes: list[str] = []
    if propensity is not None:
        weighted, misfits = _weighted(log.chosen, success, propensity, count)
        notes += [
            f"The propensities of {names[arm]!r} do not fit how often it was chosen: do not trust its weighted numbers."
            for arm in misfits[:5]
        ]
        weighted_costs = None if cost is None else sums(cost / propensity) / sums(1.0 / propensity)
    if cost is None:
        notes.append("There is no column cost, so which is cheapest is not known: the answers name the best rates.")
    answers = [
        _named(by, names, np.array([getattr(one, end) for one in found]), paid, target)
        for found, paid, kind in ((rates, means, ""), (weighted, weighted_costs, "weighted "))
        if found is not None
        for by, end in ((f"{kind}estimates", "value"), (f"{kind}lower bounds, cautious", "low"))
    ]
    return Replay(
        kind="option",
        target=target,
        rows=log.rows,
        success=float(success.mean()),
        cost=None if cost is None else float(cost.mean()),
        answers=tuple(answers),
        limits=_option_limits(propensity is not None),
        choices=tuple(
            Choice(
                names[arm],
                int(plays[arm]),
                rates[arm],
                None if means is None else float(means[arm]),
                None if weighted is None else weighted[arm],
                None if weighted_costs is None else float(weighted_costs[arm]),
            )
            for arm in range(count)
        ),
        notes=tuple(notes),
    )


def _option_limits(weighted: bool) -> tuple[str, ...]:
    looked = (
        "If options were chosen by somebody who looked at the request, hard requests may have gone to some options more "
        "than to others, and their rates are confounded: "
    )
    return (
        UNKNOWN,
        looked + "the weighted numbers correct that if the propensities are those with which a coin really decided."
        if weighted
        else looked
        + "a column propensity, the probability with which a coin chose this option for this request, would help.",
        "An interval is 95% sure for its option, at all times together; costs are plain averages.",
        PAST,
        ALWAYS,
    )


def _interval(mean: float, count: int) -> Estimate:
    return Estimate(mean, *sure(mean, count))


def _weighted(
    chosen: NDArray[np.int64], success: Floats, propensity: Floats, count: int
) -> tuple[list[Estimate], list[int]]:
    """Rates by inverse propensity, and the options whose propensities do not add up.

    With q the least propensity of an option, q/propensity where it was chosen and succeeded, 0 elsewhere, lies in [0, 1] and
    has mean q·rate: the KL mixture bounds that, and so the rate. Failures bound it from above. The estimate itself is
    normalised by the weights, which is steadier.
    """
    rows = chosen.size
    least = np.ones(count)
    np.minimum.at(least, chosen, propensity)
    good = np.bincount(chosen, weights=success / propensity, minlength=count)
    bad = np.bincount(chosen, weights=(1.0 - success) / propensity, minlength=count)
    estimates, misfits = [], []
    for arm in range(count):
        q, value = float(least[arm]), float(good[arm] / (good[arm] + bad[arm]))
        works, fails = (sure(min(1.0, q * float(part[arm]) / rows), rows, DOUBT / 2)[0] / q for part in (good, bad))
        estimates.append(Estimate(value, min(value, works), max(value, 1.0 - min(1.0, fails))))
        ends = sure(min(1.0, q * float(good[arm] + bad[arm]) / rows), rows, 0.01)
        if not ends[0] <= q <= ends[1]:
            misfits.append(arm)
    return estimates, misfits


# --- answers


def _named(by: str, names: Any, success: Floats, paid: Floats | None, target: float) -> Answer:
    """The cheapest mix; without costs, the choice with the best rate if that is enough."""
    if paid is None:
        best = int(success.argmax())
        if success[best] >= target:
            return Answer(by, {str(names[best]): 1.0}, None)
        return Answer(by, {}, None, f"none holds it: the best is {names[best]} at {success[best]:.4g}")
    return _answer(by, names, success, paid, target)


def _answer(by: str, names: Any, success: Floats, paid: Floats, target: float) -> Answer:
    try:
        best = optimum(success, paid, target)
    except Infeasible:
        top = int(success.argmax())
        return Answer(by, {}, None, f"no mix holds it: the best is {_name(names[top])} at {success[top]:.4g}")
    return Answer(by, {_name(names[arm]): float(best.weights[arm]) for arm in np.flatnonzero(best.weights)}, best.cost)


def _name(name: Any) -> str:
    return name if isinstance(name, str) else f"{name:.6g}"
