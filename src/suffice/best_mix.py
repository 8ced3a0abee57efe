"""The exact benchmark: the least expected cost of any mix of arms that reaches a target, without and with contexts."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from suffice.errors import Infeasible, InvalidArgument
from suffice.kernels.rows import Floats, Ints, float_array
from suffice.numbers import between

CLOSE: Final = 1e-12  # a sum of successes this close to the target reaches it: rounding alone moves it by as much


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

    >>> result = optimum(success=[0, 0.6, 1], cost=[0, 0.2, 1], target=0.8)
    >>> round(result.cost, 6), result.weights.round(6).tolist(), round(result.price, 6)
    (0.6, [0.0, 0.5, 0.5], 2.0)
    """
    p, c = _numbers("success", success, "one number per arm", 1), _numbers("cost", cost, "one number per arm", 1)
    if p.shape != c.shape:
        raise InvalidArgument(f"success and cost must be equally long, got {p.size} and {c.size}")
    phi = _check(p, c, target)
    if p.max() < phi - CLOSE:
        raise Infeasible(f"target {phi:g} is out of reach: the best arm succeeds {p.max():g} of the time")
    mix = _cheapest(np.ones(1), p[None], c[None], phi)
    return replace(mix, weights=mix.weights[0])


def _check(p: Floats, c: Floats, target: float | Fraction) -> float:
    """The target as a float, once it and the arms are valid."""
    for name, wrong, rule in (
        ("success", (p < 0.0) | (p > 1.0), "lie between 0 and 1"),
        ("cost", c < 0.0, "be at least 0"),
    ):
        if wrong.any():
            first = (p if name == "success" else c)[wrong][0]
            raise InvalidArgument(f"{name} must {rule} for every arm, got {first:g}")
    return between("target", target, 0.0, 1.0)


def _numbers(name: str, values: object, form: str, axes: int) -> Floats:
    array = float_array(name, values, f"hold {form}")
    if array.ndim != axes or array.size == 0:
        raise InvalidArgument(f"{name} must hold {form}, got an array of shape {array.shape}")
    if not np.isfinite(array).all():
        raise InvalidArgument(f"{name} must be finite, got {array[~np.isfinite(array)][0]:g}")
    return array


# --- with contexts


def contextual_optimum(weights: ArrayLike, success: ArrayLike, cost: ArrayLike, target: float | Fraction) -> Optimum:
    """min Σₖ wₖ Σᵢ xₖᵢ·costₖᵢ subject to Σₖ wₖ Σᵢ xₖᵢ·successₖᵢ >= target over a mix xₖ of the arms for each context k.

    One price of a success applies to all contexts. The answer is closed in on from both sides: at the price at which the
    two ends cost the same, take the best arm of each context; this is the new end on its side of the target.

    Args:
        weights: how likely each context is.
        success, cost: a row per context, a column per arm.
        target: the share of successes over all contexts; one context may have fewer.

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
    phi, w = _check(p, c, target), w / w.sum()
    if w @ p.max(axis=1) < phi - CLOSE:
        raise Infeasible(
            f"target {phi:g} is out of reach: the best arm of each context succeeds {w @ p.max(axis=1):g} of the time"
        )
    return _cheapest(w, p, c, phi)


def _cheapest(w: Floats, p: Floats, c: Floats, phi: float) -> Optimum:
    """Close in on the target; each look is one pass over all arms, and a handful are needed for a million."""
    left, right = _best(c, -p), _best(-p, c)
    while True:
        low, high = _mean(w, p, left), _mean(w, p, right)
        if low > phi - CLOSE:
            return _pure(w, p, c, left, ahead=low > phi + CLOSE)
        if high < phi + CLOSE:
            return _pure(w, p, c, right)
        slope = (_mean(w, c, right) - _mean(w, c, left)) / (high - low)
        below = c - slope * p
        best: Ints = below.argmin(axis=1)
        # The ends lie on one line up to rounding, so a new end must be clearly below both of them.
        margin = 1e-13 * (_mean(w, c, left) + _mean(w, c, right) + slope)
        if _mean(w, below, best) >= min(_mean(w, below, left), _mean(w, below, right)) - margin:
            return _mixed(w, p, c, left, right, phi, slope)
        if _mean(w, p, best) >= phi:
            right = best
        else:
            left = best


def _best(first: Floats, second: Floats) -> Ints:
    """Each context's arm with the least `first`, ties to the least `second`."""
    arms: Ints = np.where(first == first.min(axis=1, keepdims=True), second, np.inf).argmin(axis=1)
    return arms


def _mean(w: Floats, values: Floats, arms: Ints) -> float:
    return float(w @ values[np.arange(w.size), arms])


def _pure(w: Floats, p: Floats, c: Floats, arms: Ints, *, ahead: bool = False) -> Optimum:
    """One arm in each context: they reach the target exactly, or the cheapest ones are `ahead` of it."""
    rows = np.arange(w.size)
    weights = np.zeros(c.shape)
    weights[rows, arms] = 1.0
    cost = _mean(w, c, arms)
    if ahead:
        return Optimum(cost, weights, 0.0, 0.0)
    gain = (p - p[rows, arms][:, None])[w > 0.0]
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = (c - c[rows, arms][:, None])[w > 0.0] / gain
    one_fewer = float(slopes[gain < 0.0].max(initial=0.0))
    after = slopes[gain > 0.0]
    return Optimum(cost, weights, max(0.0, float(after.min())) if after.size else one_fewer, one_fewer)


def _mixed(w: Floats, p: Floats, c: Floats, left: Ints, right: Ints, phi: float, slope: float) -> Optimum:
    """On the line between two ends: the arms of the right end in some contexts, and a mix in at most one."""
    rows, arms = np.arange(w.size), left.copy()
    gain = w * (p[rows, right] - p[rows, left])
    more = np.flatnonzero(gain > 0.0)
    reached = _mean(w, p, left) + np.cumsum(gain[more])
    last = min(int((reached < phi).sum()), more.size - 1)
    arms[more[:last]] = right[more[:last]]
    mixed = more[last]
    share = min(1.0, (phi - _mean(w, p, arms)) / gain[mixed])
    weights = np.zeros(c.shape)
    weights[rows, arms] = 1.0
    weights[mixed, arms[mixed]], weights[mixed, right[mixed]] = 1.0 - share, share
    return Optimum(float(w @ (weights * c).sum(axis=1)), weights, slope, slope)
