"""The two forms in which whole runs are compiled, what follows from them, and what many streams make theirs of."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.lab.streams.base import Floats, Table, Windows
from suffice.menu.menu import Menu


class ByWindows:
    """A stream that judges by its windows: an arm succeeds where the latent lies in them."""

    _windows: Windows

    def windows(self) -> Windows:
        """One window and one cost per arm."""
        return self._windows

    def judge(self, latent: Any, arm: int, price: float) -> tuple[float, float]:
        """The success and the cost of an arm, given the step's latent."""
        low, high, costs = self._windows
        return float(low[arm] <= latent <= high[arm]), float(costs[arm])


class ByTable:
    """A stream that judges by its table: the latent is the row."""

    _table: Table

    def table(self) -> Table:
        """How every arm does in each kind of step."""
        return self._table

    def judge(self, latent: Any, arm: int, price: float) -> tuple[float, float]:
        """The success and the cost of an arm, given the step's latent."""
        successes, costs = self._table
        return float(successes[latent, arm]), float(costs[latent, arm])

    def truth(self) -> tuple[Floats, Floats]:
        """The exact success probability and mean cost of every arm, where every row is as likely as any other."""
        return shares(self._table.successes.mean(axis=0)), self._table.costs.mean(axis=0)


class ByFrequency(ByTable):
    """A table of which each row has a frequency of its own, and in which no cost varies."""

    frequency: Floats

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> NDArray[np.int64]:
        """One row of the table per step."""
        return rng.choice(self.frequency.size, size=count, p=self.frequency)

    def truth(self) -> tuple[Floats, Floats]:
        """The exact success probability and cost of every arm."""
        return sure(self.frequency @ self._table.successes), self._table.costs[0].copy()


def shares(probabilities: Floats) -> Floats:
    """Probabilities that rounding may have carried a little over their ends."""
    return np.clip(probabilities, 0.0, 1.0)


def sure(probabilities: Floats) -> Floats:
    """The same for all arms, where the safe option always succeeds, whatever the frequencies sum to."""
    success = shares(probabilities)
    success[..., -1] = 1.0
    return success


def with_ends(inner: ArrayLike) -> Floats:
    """Successes, or costs in prices of the safe option: columns of interior options between the skip's 0 and its 1."""
    return np.pad(np.asarray(inner, dtype=np.float64), ((0, 0), (1, 1)), constant_values=(0.0, 1.0))


def known_costs(menu: Menu) -> Floats:
    """What every arm is known to cost."""
    return np.array([menu.known_cost(arm) for arm in range(menu.n_arms)], dtype=np.float64)


def table_of(menu: Menu, inner: ArrayLike) -> Table:
    """How all arms do, by how the interior options do in each kind of step, at the costs that the menu knows."""
    successes = with_ends(inner)
    return Table(successes, np.tile(known_costs(menu), (len(successes), 1)))
