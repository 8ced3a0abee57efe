"""Weights given by their logarithms, and drawing by weights. No method of its own."""

import numpy as np

from suffice.kernels.rows import Floats as Floats


def normal(logs: Floats) -> Floats:
    """Weights that sum to 1.

    >>> normal(np.array([1000.0, 1000.0, -1000.0])).tolist()
    [0.5, 0.5, 0.0]
    """
    weights: Floats = np.exp(logs - logs.max())
    weights /= weights.sum()
    return weights


def mixed(logs: Floats, mixing: float) -> Floats:
    """The same, mixed with the uniform distribution."""
    return (1.0 - mixing) * normal(logs) + mixing / logs.size


def draw(rng: np.random.Generator, weights: Floats) -> int:
    """A place by its weight; never one whose weight is 0.

    >>> draw(np.random.default_rng(0), np.array([0.0, 1.0, 0.0]))
    1
    """
    sums = np.cumsum(weights)
    place = int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))
    return min(place, int(np.flatnonzero(weights)[-1]))
