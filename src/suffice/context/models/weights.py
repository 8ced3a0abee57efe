"""The weights of the logistic model, as arrays with a row per slot: made, grown, converted and read back."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from suffice.context.logistic import OWN, SHARED
from suffice.context.spline_knots import WeightMap
from suffice.errors import StateError
from suffice.kernels.rows import Floats


class Weights(NamedTuple):
    """Weights for success and for costs, the noise of costs, and how many costs were seen. No cost rows if costs are known."""

    means: Floats
    covariances: Floats
    cost_means: Floats
    cost_covariances: Floats
    noise: Floats
    costs_seen: Floats

    @property
    def width(self) -> int:
        """How many features the weights are for."""
        return int(self.means.shape[-1])

    def converted(self, change: WeightMap, variances: Floats) -> "Weights":
        """Weights for features of a new meaning, given the prior variances of the new features."""
        prior = np.full(len(self.means), OWN)
        prior[:1] = SHARED
        means, covariances = _converted(change, self.means, self.covariances, prior[:, None] * variances)
        prior = np.ones(len(self.cost_means))
        cost_means, cost_covariances = _converted(
            change, self.cost_means, self.cost_covariances, prior[:, None] * variances
        )
        return Weights(means, covariances, cost_means, cost_covariances, self.noise, self.costs_seen)

    def restored(self, state: Mapping[str, Any], rows: int) -> "Weights":
        """So many saved rows, of the shape that these have."""
        return Weights(**{name: _numbers(state, name, rows, array) for name, array in self._asdict().items()})


def prior_weights(rows: int, variances: Floats, cost_noise: float | None) -> Weights:
    """Weights before any outcome, without shared ones; `cost_noise` is the prior variance of a cost, if costs are learned."""
    width, cost_rows, prior = len(variances), 0 if cost_noise is None else rows, np.diag(variances)
    return Weights(
        means=np.zeros((rows, width)),
        covariances=np.tile(OWN * prior, (rows, 1, 1)),
        cost_means=np.zeros((cost_rows, width)),
        cost_covariances=np.tile(prior, (cost_rows, 1, 1)),
        noise=np.full(cost_rows, cost_noise or 0.0),
        costs_seen=np.zeros(cost_rows),
    )


def _converted(change: WeightMap, means: Floats, covariances: Floats, prior: Floats) -> tuple[Floats, Floats]:
    shares, diagonal = np.abs(change.matrix), np.arange(len(change.matrix))
    total = shares.sum(axis=1)
    moved = change.matrix @ covariances @ change.matrix.T
    # Interpolated weights lack variance. A new weight gets its prior variance, another one the mean of its neighbours'.
    between = _each(shares, np.diagonal(covariances, axis1=1, axis2=2)) / np.maximum(total, 1e-300)
    moved[:, diagonal, diagonal] += change.fresh * np.where(total > 0.0, between, prior)
    return _each(change.matrix, means), np.ascontiguousarray(moved)


def _each(matrix: Floats, rows: Floats) -> Floats:
    """A matrix times each row separately: in one product, the last bits depend on the number of rows on some machines."""
    return np.asarray((matrix @ rows[:, :, None])[:, :, 0])


def _numbers(state: Mapping[str, Any], name: str, rows: int, like: Floats) -> Floats:
    if not len(like):
        return like
    numbers, shape = np.array(state[name], dtype=np.float64), (rows, *like.shape[1:])
    if numbers.shape != shape or not np.isfinite(numbers).all():
        raise StateError(f"{name} must hold finite numbers of shape {shape}, got shape {numbers.shape}")
    return numbers
