"""Threshold logs: a success would also be one at any larger threshold, and a failure also one at any smaller threshold."""

from bisect import bisect_left
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from suffice.kernels.rows import Floats, Ints
from suffice.lab.replay_files import Decisions
from suffice.lab.replay_records import ALWAYS, PAST, UNKNOWN, Answer, Replay, ThresholdBounds, answer, name_of, sure


class _Pooled(NamedTuple):
    """The outcomes of every threshold that was used, from the smallest to the largest."""

    values: Floats
    counts: Ints
    at_least: Floats
    at_most: Floats
    means: Floats | None  # of costs


def replay_thresholds(log: Decisions, goal: Fraction) -> Replay:
    """What would have held the target, as far as the log bounds the outcomes of other thresholds."""
    pooled, target = _pool(log), float(goal)
    success, cost = log.columns["success"], log.columns.get("cost")
    # The bounds grow with the threshold, the 95% bounds too, so bisection finds the first that holds the target.
    firsts = {
        "bounds": int(np.searchsorted(pooled.at_least, target - 1e-12)),
        "95% bounds": bisect_left(pooled.at_least.tolist(), target, key=lambda rate: sure(rate, log.rows)[0]),
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
        thresholds=tuple(_bounds(pooled, spot, log.rows) for spot in spots),
        notes=tuple(_notes(pooled, len(spots))),
    )


def _pool(log: Decisions) -> _Pooled:
    success, cost = log.columns["success"], log.columns.get("cost")
    values, index, counts = np.unique(log.columns["threshold"], return_inverse=True, return_counts=True)
    worked = np.bincount(index, weights=success, minlength=values.size)
    failed = counts - worked
    return _Pooled(
        values,
        counts,
        at_least=np.clip(np.cumsum(worked) / log.rows, 0.0, 1.0),
        at_most=np.clip(1.0 - np.cumsum(failed[::-1])[::-1] / log.rows, 0.0, 1.0),
        means=None if cost is None else np.bincount(index, weights=cost, minlength=values.size) / counts,
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


def _limits(*, costs: bool) -> tuple[str, ...]:
    return (
        UNKNOWN,
        "The bounds hold however thresholds were chosen, if a larger one succeeds wherever a smaller one does.",
        "The width of the bounds is what the log leaves open: they close where small thresholds succeeded or large ones "
        "failed.",
        *(("A mean cost is that of the requests for which a threshold was used.",) if costs else ()),
        PAST,
        ALWAYS,
    )


def _notes(pooled: _Pooled, shown: int) -> Iterator[str]:
    if pooled.means is None:
        yield "There is no column cost: the cost of a threshold is taken to be the threshold."
    if shown < pooled.values.size:
        yield f"{pooled.values.size:,} thresholds were used, of which {shown} are shown."


def _bounds(pooled: _Pooled, spot: int, rows: int) -> ThresholdBounds:
    at_least, at_most = float(pooled.at_least[spot]), float(pooled.at_most[spot])
    return ThresholdBounds(
        threshold=float(pooled.values[spot]),
        used=int(pooled.counts[spot]),
        at_least=at_least,
        at_most=at_most,
        sure_at_least=sure(at_least, rows)[0],
        sure_at_most=sure(at_most, rows)[1],
        cost=None if pooled.means is None else float(pooled.means[spot]),
    )


def _short(by: str, at_least: Floats, rows: int, values: Floats) -> str:
    known = float(at_least[-1]) if by == "bounds" else sure(float(at_least[-1]), rows)[0]
    return f"no threshold is known to: even {values[-1]:.6g}, the largest used, only to {known:.4g}"


def _shown_spots(count: int, answers: list[int], most: int = 12) -> list[int]:
    if count <= 2 * most:
        return list(range(count))
    return sorted({*np.linspace(0, count - 1, most).round().astype(int).tolist(), *answers})
