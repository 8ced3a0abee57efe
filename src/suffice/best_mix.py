"""The exact benchmark: the least expected cost of any mix of arms that succeeds often enough, without and with contexts."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.errors import Infeasible, InvalidArgument, quoted
from suffice.kernels.rows import Floats
from suffice.numbers import as_fraction

CLOSE: Final = 1e-12  # a sum of successes this close to the target meets it: the sum itself is not known better


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """The cheapest mix: at most two arms have a weight; with contexts, a row of weights per context, and at most one is mixed.

    `price` is the shadow price of one more success (the right slope at a kink), `price_ahead` of one fewer (the left).
    """

    cost: float
    weights: Floats = field(repr=False)
    price: float
    price_ahead: float


def optimum(success: ArrayLike, cost: ArrayLike, target: float | Fraction) -> Optimum:
    """min Σ xᵢ·costᵢ subject to Σ xᵢ·successᵢ >= target over all mixes x of the arms.

    The answer lies on the edge above `target` of the lower hull of the points (success, cost). The edge is closed in on
    from both sides: look along the line through the current two ends for a point below it, and let that be the new end
    on its side. Each look is one pass over the arms; a handful are needed for a million.

    >>> result = optimum(success=[0, 0.6, 1], cost=[0, 0.2, 1], target=0.8)
    >>> round(result.cost, 6), result.weights.round(6).tolist(), round(result.price, 6)
    (0.6, [0.0, 0.5, 0.5], 2.0)
    """
    p, c = _numbers("success", success, "one number per arm", 1), _numbers("cost", cost, "one number per arm", 1)
    if p.shape != c.shape:
        raise InvalidArgument(f"success and cost must be equally long, got {p.size} and {c.size}")
    phi = _goal(p, target)
    if p.max() < phi:
        raise Infeasible(f"target {phi:g} is out of reach: the best arm succeeds {p.max():g} of the time")
    left = _best(c, -p)  # the cheapest arm, and of those the most successful
    if p[left] > phi:
        return Optimum(float(c[left]), _weights(p.size, {left: 1.0}), 0.0, 0.0)
    if p[left] == phi:
        return _corner(p, c, left)
    right = _best(np.where(p >= phi, -p, np.inf), c)  # the most successful, and of those the cheapest
    while True:
        slope = (c[right] - c[left]) / (p[right] - p[left])
        below = c - slope * p
        # The ends themselves lie on the line up to rounding, so a new end must be clearly below both of them.
        margin = 1e-13 * (abs(c[left]) + abs(c[right]) + abs(slope))
        found = int(below.argmin())
        if below[found] >= min(below[left], below[right]) - margin:
            break
        if p[found] >= phi:
            right = found
        else:
            left = found
    if p[right] <= phi:
        return _corner(p, c, right)
    share = (phi - p[left]) / (p[right] - p[left])
    weights = _weights(p.size, {left: 1.0 - share, right: share})
    return Optimum(float(c[left] + share * (c[right] - c[left])), weights, float(slope), float(slope))


def _weights(arms: int, shares: dict[int, float]) -> Floats:
    weights = np.zeros(arms)
    for arm, share in shares.items():
        weights[arm] = share
    return weights


def _corner(p: Floats, c: Floats, arm: int) -> Optimum:
    """The arm at a corner of the hull that succeeds exactly as often as it must."""
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = (c - c[arm]) / (p - p[arm])
    after, before = slopes[p > p[arm]], slopes[p < p[arm]]
    ahead = max(0.0, float(before.max())) if before.size else 0.0
    behind = max(0.0, float(after.min())) if after.size else ahead
    return Optimum(float(c[arm]), _weights(p.size, {arm: 1.0}), behind, ahead)


def _best(first: Floats, second: Floats) -> int:
    """The arm with the least `first`, ties to the least `second`."""
    ties = np.flatnonzero(first == first.min())
    return int(ties[second[ties].argmin()])


def _goal(p: Floats, target: float | Fraction) -> float:
    if not ((p >= 0.0) & (p <= 1.0)).all():
        raise InvalidArgument("success must lie between 0 and 1 for every arm")
    goal = as_fraction("target", target)
    if not 0 <= goal <= 1:
        raise InvalidArgument(f"target must lie between 0 and 1, got {quoted(target)}")
    return float(goal)


def _numbers(name: str, values: Any, what: str, axes: int) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name} must hold {what}, got {quoted(values)}") from None
    if array.ndim != axes or array.size == 0:
        raise InvalidArgument(f"{name} must hold {what}, got an array of shape {array.shape}")
    if not np.isfinite(array).all():
        raise InvalidArgument(f"{name} must be finite{' for every arm' if name != 'weights' else ''}")
    return array


# --- with contexts


class _Edges(NamedTuple):
    """Edges of the lower hulls of all contexts: whose, to which arm, how many successes more, and at which price each."""

    context: NDArray[np.int64]
    end: NDArray[np.int64]
    width: Floats
    slope: Floats


def contextual_optimum(weights: ArrayLike, success: ArrayLike, cost: ArrayLike, target: float | Fraction) -> Optimum:
    """min Σₖ wₖ Σᵢ xₖᵢ·costₖᵢ subject to Σₖ wₖ Σᵢ xₖᵢ·successₖᵢ >= target over a mix xₖ of the arms for each context k.

    One price rules all contexts: begin with the cheapest arm in each, and buy successes where they are cheapest. What
    is for sale are the edges of the contexts' lower hulls, so they are sorted by slope and bought in this order.

    Args:
        weights: how likely each context is.
        success, cost: a row per context, a column per arm.
        target: the share of successes over all contexts; a context of its own may have fewer.

    >>> result = contextual_optimum(
    ...     [0.5, 0.5], success=[[0, 0.9, 1], [0, 0.5, 1]], cost=[[0, 0.1, 1], [0, 0.1, 1]], target=0.8
    ... )
    >>> round(result.cost, 6), result.weights.round(6).tolist(), round(result.price, 6)
    (0.28, [[0.0, 1.0, 0.0], [0.0, 0.6, 0.4]], 1.8)
    """
    per_arm = "one row per context and one number per arm"
    w = _numbers("weights", weights, "one number per context", 1)
    p, c = _numbers("success", success, per_arm, 2), _numbers("cost", cost, per_arm, 2)
    if p.shape != c.shape or len(p) != w.size:
        raise InvalidArgument(
            f"success and cost must have a row for each of the {w.size} weights and equally many columns, "
            f"got {p.shape} and {c.shape}"
        )
    if (w < 0.0).any() or abs(w.sum() - 1.0) > 1e-9:
        raise InvalidArgument(f"weights must be at least 0 and sum to 1, got a sum of {w.sum():g}")
    phi, w = _goal(p, target), w / w.sum()
    if w @ p.max(axis=1) < phi - CLOSE:
        raise Infeasible(
            f"target {phi:g} is out of reach: the best arm of each context succeeds {w @ p.max(axis=1):g} of the time"
        )
    arms, edges = _hulls(w, p, c)
    reached = w @ p[np.arange(w.size), arms] + np.append(0.0, np.cumsum(edges.width))
    if phi < reached[0] - CLOSE:
        return _mixed(w, c, arms, 0.0, 0.0)
    bought = min(int((reached < phi - CLOSE).sum()), edges.width.size)  # the last of them perhaps in part
    slopes = np.append(0.0, edges.slope)
    last = bought - 1
    for edge in range(last):  # an edge begins where the one before it in its context ends
        arms[edges.context[edge]] = edges.end[edge]
    if bought and reached[bought] > phi + CLOSE:
        share = (phi - reached[last]) / edges.width[last]
        return _mixed(w, c, arms, slopes[bought], slopes[bought], (edges.context[last], edges.end[last], share))
    if bought:
        arms[edges.context[last]] = edges.end[last]
    return _mixed(w, c, arms, slopes[min(bought + 1, edges.width.size)], slopes[bought])


def _hulls(w: Floats, p: Floats, c: Floats) -> tuple[NDArray[np.int64], _Edges]:
    """Each context's cheapest arm, and all edges from there on, by slope: every round finds the next one of each context."""
    rows = np.arange(w.size)
    cheapest = c == c.min(axis=1, keepdims=True)
    first: NDArray[np.int64] = np.where(cheapest, p, -np.inf).argmax(axis=1)
    arms, steepest = first.copy(), np.zeros(w.size)
    found = [_Edges(rows[:0], rows[:0], np.zeros(0), np.zeros(0))]
    while True:
        more, dearer = p - p[rows, arms][:, None], c - c[rows, arms][:, None]
        slopes = np.where(more > 0.0, dearer / np.where(more > 0.0, more, 1.0), np.inf)
        ends = slopes.argmin(axis=1)
        going = np.flatnonzero((w > 0.0) & (slopes[rows, ends] < np.inf))
        if not going.size:
            break
        ends = ends[going]
        # Slopes of a hull rise; where rounding has it otherwise, the order of the edges must not suffer.
        steepest[going] = np.maximum(steepest[going], slopes[going, ends])
        found.append(_Edges(going, ends, w[going] * more[going, ends], steepest[going]))
        arms[going] = ends
    edges = _Edges(*(np.concatenate(parts) for parts in zip(*found, strict=True)))
    order = np.argsort(edges.slope, kind="stable")
    return first, _Edges(edges.context[order], edges.end[order], edges.width[order], edges.slope[order])


def _mixed(
    w: Floats,
    c: Floats,
    arms: NDArray[np.int64],
    price: float,
    ahead: float,
    part: tuple[int, int, float] | None = None,
) -> Optimum:
    """The optimum that plays one arm in each context, but in one of them another for part of the time."""
    rows = np.arange(w.size)
    weights = np.zeros(c.shape)
    weights[rows, arms] = 1.0
    if part is not None:
        context, end, share = part
        weights[context, arms[context]], weights[context, end] = 1.0 - share, share
    return Optimum(float(w @ (weights * c).sum(axis=1)), weights, float(price), float(ahead))
