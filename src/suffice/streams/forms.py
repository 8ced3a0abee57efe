"""The two forms in which whole runs are compiled, and the judges that follow from them."""

from typing import Any

import numpy as np

from suffice.streams.base import Floats, Table, Windows


class ByWindows:
    """A stream that judges by its windows: an arm succeeds where the latent lies in them."""

    _windows: Windows

    def windows(self) -> Windows:
        """One window and one cost per arm."""
        return self._windows

    def judge(self, latent: Any, arm: int, dual: float) -> tuple[float, float]:
        """The success and the cost of an arm, given the step's latent."""
        low, high, costs = self._windows
        return float(low[arm] <= latent <= high[arm]), float(costs[arm])


class ByTable:
    """A stream that judges by its table: the latent is the row."""

    _table: Table

    def table(self) -> Table:
        """How every arm does in each kind of step."""
        return self._table

    def judge(self, latent: Any, arm: int, dual: float) -> tuple[float, float]:
        """The success and the cost of an arm, given the step's latent."""
        successes, costs = self._table
        return float(successes[latent, arm]), float(costs[latent, arm])

    def truth(self) -> tuple[Floats, Floats]:
        """The exact success probability and mean cost of every arm, where every row is as likely as any other."""
        return shares(self._table.successes.mean(axis=0)), self._table.costs.mean(axis=0)


def shares(probabilities: Floats) -> Floats:
    """Probabilities that rounding may have carried a little over their ends."""
    return np.clip(probabilities, 0.0, 1.0)
