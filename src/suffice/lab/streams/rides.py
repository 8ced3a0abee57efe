"""Ride-hailing: which drivers to ask. Every request has its own drivers, so the cost of an option varies."""

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
        return Pool(*(np.take_along_axis(part, best, axis=1) for part in (there, score, accepts)))

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
        self.menu = Menu.thresholds(0, high, step=step, skip=True, safe_cost=1.0)
        if not self.menu.options:
            raise InvalidArgument(f"step must be below high, got {quoted(step)} and {quoted(high)}")
        pool = Pool.simulated(requests, seed)
        before = np.cumsum(pool.score, axis=1) - pool.score  # what the drivers ahead of each sum to
        columns = [pool.probe(pool.there & (before < threshold)) for threshold in self.menu.options]
        successes, costs = (with_ends(np.stack(part, axis=1)) for part in zip(*columns, strict=True))
        self._table = Table(successes, costs)
