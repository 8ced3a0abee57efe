"""Threshold logs: what succeeded would have at any larger threshold, and what failed would have failed at any smaller one."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.lab.replay_files import Decisions
from suffice.lab.replay_records import ALWAYS, PAST, UNKNOWN, Answer, Floats, Place, Replay, answer, name_of, sure
from suffice.lab.verdict import Estimate

MOST_BLIND: Final = 2_000  # thresholds; with more, each was used too seldom to have a rate of its own
CROSSED: Final = (
    "Some larger threshold succeeded less often than a smaller one, beyond chance: thresholds were not chosen blindly, or a "
    "larger one does not succeed wherever a smaller one does."
)


class _Pooled(NamedTuple):
    """What the log says of every threshold that was used, from the smallest to the largest."""

    values: Floats
    counts: NDArray[np.int64]
    at_least: Floats
    at_most: Floats
    blind: list[Estimate] | None
    means: Floats | None  # of costs


def thresholds(log: Decisions, goal: Fraction) -> Replay:
    """What would have held the target, as far as the outcomes of other thresholds can be told."""
    pooled, target = _pool(log), float(goal)
    success, cost = log.columns["success"], log.columns.get("cost")
    # The bounds grow with the threshold, and so do those that are 95% sure: the first to hold the target is found by halving.
    firsts = {
        "bounds": int(np.searchsorted(pooled.at_least, target - 1e-12)),
        "95% bounds": _first(
            pooled.values.size, lambda spot: sure(float(pooled.at_least[spot]), log.rows)[0] >= target
        ),
    }
    spots = _shown_spots(pooled.values.size, [spot for spot in firsts.values() if spot < pooled.values.size])
    return Replay(
        kind="threshold",
        target=target,
        rows=log.rows,
        success=float(success.mean()),
        cost=None if cost is None else float(cost.mean()),
        answers=tuple(_answers(pooled, firsts, log.rows, target)),
        limits=_limits(costs=cost is not None),
        places=tuple(_place(pooled, spot, log.rows) for spot in spots),
        notes=tuple(_notes(pooled, len(spots))),
    )


def _pool(log: Decisions) -> _Pooled:
    success, cost = log.columns["success"], log.columns.get("cost")
    values, place, counts = np.unique(log.columns["threshold"], return_inverse=True, return_counts=True)
    worked = np.bincount(place, weights=success, minlength=values.size)
    failed = counts - worked
    return _Pooled(
        values,
        counts,
        at_least=np.clip(np.cumsum(worked) / log.rows, 0.0, 1.0),
        at_most=np.clip(1.0 - np.cumsum(failed[::-1])[::-1] / log.rows, 0.0, 1.0),
        blind=_blind(np.clip(worked / counts, 0.0, 1.0), counts) if values.size <= MOST_BLIND else None,
        means=None if cost is None else np.bincount(place, weights=cost, minlength=values.size) / counts,
    )


def _answers(pooled: _Pooled, firsts: dict[str, int], rows: int, target: float) -> Iterator[Answer]:
    values = pooled.values
    paid = values if pooled.means is None else pooled.means
    for by, spot in firsts.items():
        if spot < values.size:
            yield Answer(f"one threshold, by its {by}", {name_of(values[spot]): 1.0}, float(paid[spot]))
        else:
            yield Answer(f"one threshold, by its {by}", {}, None, _short(by, pooled.at_least, rows, values))
    yield answer("a mix of two, by the lower bounds", values, pooled.at_least, paid, target)
    yield answer("a mix of two, at best (upper bounds)", values, pooled.at_most, paid, target)
    if pooled.blind is not None:
        low = np.array([one.low for one in pooled.blind])
        yield answer("a mix of two, if chosen blindly (95% sure)", values, low, paid, target)


def _limits(*, costs: bool) -> tuple[str, ...]:
    return (
        UNKNOWN,
        "The bounds hold however thresholds were chosen, if a larger one succeeds wherever a smaller one does.",
        "The rates where a threshold was used are those of other requests too only if thresholds were chosen blindly, "
        "without a look at the request; their intervals are 95% sure for each, at all times together.",
        "The width of the bounds is what the log does not know: they close where small thresholds succeeded or large ones "
        "failed. Recording the threshold that would have been just enough (a column score) would close them.",
        *(("A mean cost is that of the requests for which a threshold was used.",) if costs else ()),
        PAST,
        ALWAYS,
    )


def _notes(pooled: _Pooled, shown: int) -> Iterator[str]:
    if pooled.blind is not None and any(one.low > one.high for one in pooled.blind):
        yield CROSSED
    if pooled.means is None:
        yield "There is no column cost: a threshold is taken for its own cost."
    if shown < pooled.values.size:
        yield f"{pooled.values.size:,} thresholds were used, of which {shown} are shown."


def _place(pooled: _Pooled, spot: int, rows: int) -> Place:
    at_least, at_most = float(pooled.at_least[spot]), float(pooled.at_most[spot])
    return Place(
        threshold=float(pooled.values[spot]),
        used=int(pooled.counts[spot]),
        at_least=at_least,
        at_most=at_most,
        sure_at_least=sure(at_least, rows)[0],
        sure_at_most=sure(at_most, rows)[1],
        blind=None if pooled.blind is None else pooled.blind[spot],
        cost=None if pooled.means is None else float(pooled.means[spot]),
    )


def _blind(rates: Floats, counts: NDArray[np.int64]) -> list[Estimate]:
    """Rates where each threshold was used, with intervals that grow with the threshold as the rates must."""
    ends = np.array([sure(float(mean), int(count)) for mean, count in zip(rates, counts, strict=True)])
    low = np.maximum.accumulate(ends[:, 0])
    high = np.minimum.accumulate(ends[::-1, 1])[::-1]
    return [Estimate(*(float(number) for number in row)) for row in zip(rates, low, high, strict=True)]


def _first(count: int, holds: Callable[[int], bool]) -> int:
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
