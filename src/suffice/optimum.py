"""The exact benchmark: the least expected cost of any mix of arms that succeeds often enough."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.checks import exact
from suffice.errors import Infeasible, InvalidArgument, shown

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """The cheapest mix: at most two arms have a weight.

    `dual` is the shadow price of one more success (the right slope at a kink), `dual_ahead` of one fewer (the left).
    """

    cost: float
    weights: Floats = field(repr=False)
    dual: float
    dual_ahead: float


def optimum(success: ArrayLike, cost: ArrayLike, target: float | Fraction) -> Optimum:
    """min Σ xᵢ·costᵢ subject to Σ xᵢ·successᵢ >= target over all mixes x of the arms.

    The answer lies on the edge above `target` of the lower hull of the points (success, cost). The edge is closed in on
    from both sides: look along the line through the current two ends for a point below it, and let that be the new end
    on its side. Each look is one pass over the arms; a handful are needed for a million.

    >>> result = optimum(success=[0, 0.6, 1], cost=[0, 0.2, 1], target=0.8)
    >>> round(result.cost, 6), result.weights.round(6).tolist(), round(result.dual, 6)
    (0.6, [0.0, 0.5, 0.5], 2.0)
    """
    p, c = _arms("success", success), _arms("cost", cost)
    if p.shape != c.shape:
        raise InvalidArgument(f"success and cost must be equally long, got {p.size} and {c.size}")
    if not ((p >= 0.0) & (p <= 1.0)).all():
        raise InvalidArgument("success must lie between 0 and 1 for every arm")
    goal = exact("target", target)
    if not 0 <= goal <= 1:
        raise InvalidArgument(f"target must lie between 0 and 1, got {shown(target)}")
    phi = float(goal)
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


def _arms(name: str, values: Any) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name} must hold one number per arm, got {shown(values)}") from None
    if array.ndim != 1 or array.size == 0:
        raise InvalidArgument(f"{name} must hold one number per arm, got an array of shape {array.shape}")
    if not np.isfinite(array).all():
        raise InvalidArgument(f"{name} must be finite for every arm")
    return array
