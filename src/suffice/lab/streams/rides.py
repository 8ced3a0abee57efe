"""Ride-hailing: which drivers to ask. Every request has its own drivers, so the cost of an option varies."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.kernels.rows import Mask
from suffice.lab.streams.base import ByTable, Floats, Table, with_ends
from suffice.menu.menu import Menu
from suffice.numbers import positive_int

FEWEST, MOST = 20, 40  # drivers within reach of a request
REACH = 6.0  # kilometres


class Pool(NamedTuple):
    """Simulated requests, one per row, and the drivers within reach of each, one per column, best match first.

    Where a row has fewer drivers than columns, the other places are not `there` and match nothing.
    """

    there: Mask
    distance: Floats
    rating: Floats
    score: Floats  # the probability that the driver accepts
    accepts: Mask

    @staticmethod
    def simulated(requests: int = 2000, seed: int = 1) -> "Pool":
        """Drivers spread evenly over a disc; the nearer and the better rated, the likelier they accept."""
        shape = (positive_int("requests", requests), MOST)
        rng = np.random.default_rng(positive_int("seed", seed, 0))
        there = np.arange(MOST) < rng.integers(FEWEST, MOST + 1, size=shape[0])[:, None]
        distance = REACH * np.sqrt(rng.random(shape))
        rating = 5.0 - 2.0 * rng.beta(2.0, 3.0, shape)
        score = np.where(there, 0.8 * np.exp(-distance / 2.0) * (rating / 5.0) ** 2, 0.0)
        accepts = rng.random(shape) < score
        best = np.argsort(-score, axis=1, kind="stable")
        return Pool(*(np.take_along_axis(part, best, axis=1) for part in (there, distance, rating, score, accepts)))

    def probe(self, probed: Mask) -> tuple[Floats, Floats]:
        """Per request: whether a probed driver accepts, and the share of `MOST` drivers that were probed."""
        success: Floats = (self.accepts & probed).max(axis=1).astype(np.float64)
        return success, (probed & self.there).sum(axis=1) / MOST


class Rides(ByTable):
    """Probe the fewest drivers whose scores sum to at least the threshold, best first; a step succeeds if one accepts.

    A driver's score is the probability to accept. Where all drivers together do not reach the threshold, all are probed.
    The safe option is all drivers and a dedicated car, which always comes, at a cost of 1; the others cost the drivers
    probed out of 40. Each step draws one of the requests.

    Args:
        high: the threshold from which on the car is sent.
        step: the width of the grid of thresholds.
        requests, seed: how many requests are simulated, and which.

    >>> import suffice
    >>> stream = Rides(requests=500)
    >>> success, cost = stream.truth()
    >>> bool(suffice.optimum(success, cost, target=0.9).cost < 0.5)
    True
    """

    name = "rides"
    description = "probe drivers until their scores sum to a threshold; costs vary (the paper's)"

    def __init__(self, high: float = 4.0, step: float = 0.25, *, requests: int = 2000, seed: int = 1) -> None:
        self.menu = Menu.thresholds(0, high, step=step)
        if not self.menu.options:
            raise InvalidArgument(f"step must be below high, got {quoted(step)} and {quoted(high)}")
        pool = Pool.simulated(requests, seed)
        before = np.cumsum(pool.score, axis=1) - pool.score  # what the drivers ahead of each sum to
        self._table = _table([pool.probe(pool.there & (before < threshold)) for threshold in self.menu.options])


class RidesGrid(ByTable):
    """Two thresholds at once: probe all drivers that are near enough and rated well enough.

    The most permissive pair is the safe option, which sends a dedicated car as well.

    Args:
        distances: the largest distance to probe at, in kilometres, rising.
        ratings: the least rating to probe, falling.
        requests, seed: how many requests are simulated, and which.

    >>> stream = RidesGrid(requests=500)
    >>> stream.menu.option(1), stream.menu.safe
    ({'distance': 1.0, 'rating': 4.6}, {'distance': 6.0, 'rating': 0.0})
    """

    name = "rides-grid"
    description = "probe drivers by largest distance and least rating, two thresholds at once (the paper's)"

    def __init__(
        self,
        distances: Sequence[float] = (1.0, 2.0, 3.0, 4.0, 5.0, REACH),
        ratings: Sequence[float] = (4.6, 4.4, 4.2, 4.0, 3.6, 0.0),
        *,
        requests: int = 2000,
        seed: int = 1,
    ) -> None:
        self.menu = Menu.grid(distance=_ordered("distances", distances, 1), rating=_ordered("ratings", ratings, -1))
        if not self.menu.options:
            raise InvalidArgument("distances and ratings must make at least two pairs, got one")
        pool = Pool.simulated(requests, seed)
        self._table = _table([
            pool.probe(pool.there & (pool.distance <= option["distance"]) & (pool.rating >= option["rating"]))
            for option in self.menu.options
        ])  # fmt: skip

    @classmethod
    def from_settings(cls, *, requests: int = 2000, seed: int = 1) -> "RidesGrid":
        """Six distances by six ratings."""
        return cls(requests=requests, seed=seed)


def _table(columns: Sequence[tuple[Floats, Floats]]) -> Table:
    """A row per request, from the successes and costs of the interior options."""
    successes, costs = (with_ends(np.stack(part, axis=1)) for part in zip(*columns, strict=True))
    return Table(successes, costs)


def _ordered(name: str, values: Sequence[float], direction: int) -> list[float]:
    """An axis from least to most permissive."""
    try:
        axis = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name} must be numbers, got {quoted(values)}") from None
    if axis.ndim != 1 or axis.size == 0 or not np.isfinite(axis).all() or (np.diff(axis) * direction <= 0).any():
        way = "rise" if direction > 0 else "fall"
        raise InvalidArgument(f"{name} must be finite numbers that {way}, got {quoted(values)}")
    return [float(value) for value in axis]
