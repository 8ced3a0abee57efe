"""Ride-hailing: whom to ask for a ride. Every request has its own drivers, so what an option costs varies with it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.errors import InvalidArgument, quoted
from suffice.lab.streams.base import Floats, Table
from suffice.lab.streams.compiled_forms import ByTable, with_ends
from suffice.menu.menu import Menu
from suffice.numbers import positive_int

FEWEST, MOST = 20, 40  # drivers within reach of a request
REACH = 6.0  # kilometres


class Pool(NamedTuple):
    """Simulated requests, one per row, and the drivers within reach of each, one per column, best match first.

    Where a row has fewer drivers than columns, the places left over are not `there` and match nothing.
    """

    there: NDArray[np.bool_]
    distance: Floats
    rating: Floats
    score: Floats  # the probability that the driver accepts
    accepts: NDArray[np.bool_]

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

    def probe(self, probed: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Per request: whether a probed driver accepts, and the share of `MOST` drivers that were probed."""
        success: Floats = (self.accepts & probed).max(axis=1).astype(np.float64)
        return success, (probed & self.there).sum(axis=1) / MOST


class _Requests(ByTable):
    """A pool of requests of which each step draws one. The safe option sends a car besides, which is sure to come."""

    menu: Menu

    def _fill(self, columns: Sequence[tuple[Floats, Floats]]) -> None:
        """The table, from the successes and costs of the interior options."""
        self._table = Table(*(with_ends(np.stack(part, axis=1)) for part in zip(*columns, strict=True)))

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> NDArray[np.int64]:
        """One request of the pool per step."""
        return rng.integers(len(self._table.costs), size=count)


class Rides(_Requests):
    """Probe the fewest drivers whose scores sum to at least the threshold, best first; it works where one accepts.

    A driver's score is the probability to accept. Where all drivers together do not reach the threshold, all are probed.
    The safe option is all drivers and a dedicated car, at a cost of 1; the others cost the drivers probed out of 40.

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
    about = "probe drivers until their scores sum to a threshold; costs vary (the paper's)"

    def __init__(self, high: float = 4.0, step: float = 0.25, *, requests: int = 2000, seed: int = 1) -> None:
        self.menu = Menu.thresholds(0, high, step=step)
        if not self.menu.options:
            raise InvalidArgument(f"step must be below high, got {quoted(step)} and {quoted(high)}")
        pool = Pool.simulated(requests, seed)
        before = np.cumsum(pool.score, axis=1) - pool.score  # what the drivers ahead of each sum to
        self._fill([pool.probe(pool.there & (before < threshold)) for threshold in self.menu.options])


class RidesGrid(_Requests):
    """Two thresholds at once: probe all drivers that are near enough and rated well enough.

    The most permissive pair is the safe option, which sends a dedicated car besides.

    Args:
        distances: the largest distance to probe at, in kilometres, rising.
        ratings: the least rating to probe, falling.
        requests, seed: how many requests are simulated, and which.

    >>> stream = RidesGrid(requests=500)
    >>> stream.menu.option(1), stream.menu.safe
    ({'distance': 1.0, 'rating': 4.6}, {'distance': 6.0, 'rating': 0.0})
    """

    name = "rides-grid"
    about = "probe drivers by largest distance and least rating, two thresholds at once (the paper's)"

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
        self._fill([
            pool.probe(pool.there & (pool.distance <= option["distance"]) & (pool.rating >= option["rating"]))
            for option in self.menu.options
        ])  # fmt: skip

    @classmethod
    def named(cls, *, requests: int = 2000, seed: int = 1) -> "RidesGrid":
        """Six distances by six ratings."""
        return cls(requests=requests, seed=seed)


def _ordered(name: str, values: Any, direction: int) -> list[float]:
    """An axis from least to most permissive."""
    try:
        axis = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name} must be numbers, got {quoted(values)}") from None
    if axis.ndim != 1 or axis.size == 0 or not np.isfinite(axis).all() or (np.diff(axis) * direction <= 0).any():
        way = "rise" if direction > 0 else "fall"
        raise InvalidArgument(f"{name} must be finite numbers that {way}, got {quoted(values)}")
    return [float(value) for value in axis]
