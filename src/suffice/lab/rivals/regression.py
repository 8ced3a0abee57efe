"""Ridge regression per arm on the features of a context, for contextual rivals.

It uses the library's features, so that a comparison is about rules and not about features.
"""

import numpy as np

from suffice.context.features import Features
from suffice.context.spline_knots import WeightMap
from suffice.kernels.rows import Floats
from suffice.menu.menu import Menu


class Regression:
    """Per arm: the expected success and cost in a context, and the standard deviation of the expected success.

    Every weight has a prior of mean 0 and variance 1, so the expected success of an untried arm is 0; outcomes have variance
    1 around their mean. The boundary arms, and costs in the menu, are known and not learned.

    >>> regression = Regression(Menu({"a": 0.1, "all": 1.0}, safe="all", skip="none"))
    >>> for _ in range(200):
    ...     vector = regression.vector({"size": 0.5})
    ...     regression.add(1, {"size": 0.5}, success=1.0, cost=0.1)
    >>> success, cost = regression.means(vector)
    >>> success.round(2).tolist(), cost.tolist()
    ([0.0, 1.0, 1.0], [0.0, 0.1, 1.0])
    """

    def __init__(self, menu: Menu) -> None:
        self.menu, self.features = menu, Features()
        self._inside, self._first = menu.interior, menu.interior.start
        self._success = np.zeros(menu.n_arms)
        self._success[-1] = float(menu.safe_success)
        self._cost = np.array([menu.known_cost(arm) or 0.0 for arm in range(menu.n_arms)])
        self._learns_cost = menu.costs is None
        self._reset()

    def _reset(self) -> None:
        count, width = self.menu.n_arms - 1 - self._first, self.features.width
        self._weights = np.zeros((count, width))
        self._prices = np.zeros((count if self._learns_cost else 0, width))
        self._spreads = np.tile(np.eye(width), (count, 1, 1))

    def vector(self, context: object) -> Floats:
        """The features of the context of a decision; to be called once per decision, since features learn from it.

        Where the context changes the meaning of features, the weights are transformed to the new meaning.
        """
        row = self.features.row(context)
        if not self.features.observed:
            self._reset()  # the first context defines the fields
        change = self.features.observe(row)
        if change is not None:
            self._transform(change)
        return self.features.vector(row)

    def _transform(self, change: WeightMap) -> None:
        """Transform the weights to features of a new meaning."""
        matrix, shares = change.matrix, np.abs(change.matrix)
        self._weights, self._prices = self._weights @ matrix.T, self._prices @ matrix.T
        # A weight that is a mean of old ones gets their variance, not the smaller variance of their mean; a new one gets
        # that of the prior.
        variances = np.diagonal(self._spreads, axis1=1, axis2=2) @ shares.T + np.maximum(1.0 - shares.sum(axis=1), 0.0)
        self._spreads = matrix @ self._spreads @ matrix.T
        places = np.arange(len(matrix))
        self._spreads[:, places, places] += change.fresh * variances

    def means(self, vector: Floats) -> tuple[Floats, Floats]:
        """The expected success, from 0 to 1, and cost of every arm."""
        success = self._success.copy()
        success[self._inside] = np.clip(self._weights @ vector, 0.0, 1.0)
        if not self._learns_cost:
            return success, self._cost
        cost = self._cost.copy()
        cost[self._inside] = np.clip(self._prices @ vector, 0.0, self.menu.safe_cost)
        return success, cost

    def deviations(self, vector: Floats) -> Floats:
        """The standard deviation of every arm's mean; 0 for the boundary arms."""
        deviations = np.zeros(self.menu.n_arms)
        deviations[self._inside] = np.sqrt(np.maximum((self._spreads @ vector) @ vector, 0.0))
        return deviations

    def add(self, arm: int, context: object, success: float, cost: float) -> None:
        """Learn from an outcome and the context of its decision: a rank-one update of one arm."""
        if self.menu.is_boundary(arm):
            return
        vector = self.features.vector(self.features.row(context))  # features may have changed since it was asked
        place = arm - self._first
        spread = self._spreads[place]
        along = spread @ vector
        share = 1.0 / (1.0 + float(along @ vector))
        spread -= share * along[:, None] * along
        weights = self._weights[place]
        weights += share * (success - float(weights @ vector)) * along
        if self._learns_cost:
            prices = self._prices[place]
            prices += share * (cost - float(prices @ vector)) * along
