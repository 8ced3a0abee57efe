"""What streams have in common: the two forms in which whole runs are compiled, and kinds of contexts."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from suffice.kernels.rows import Floats as Floats
from suffice.kernels.rows import Ints as Ints
from suffice.menu.menu import Menu
from suffice.simulator import Stream as Stream
from suffice.simulator import Table as Table
from suffice.simulator import Windows as Windows
from suffice.simulator import drawn as drawn


class Cases(NamedTuple):
    """A stream with finitely many kinds of contexts: how likely each is, and the outcomes of every arm in it.

    `weights` has a number per kind; `success`, the exact probability, and `cost`, the mean, have a row per kind and a
    column per arm. The cost of knowing the context is part of `cost`. `contextual_optimum` takes the three.
    """

    weights: Floats
    success: Floats
    cost: Floats


def truth_of(stream: Stream) -> tuple[Floats, Floats]:
    """The exact success probability and mean cost of every arm, of a stream with `truth`."""
    truth: tuple[Floats, Floats] = stream.truth()  # type: ignore[attr-defined]
    return truth


class ByWindows:
    """A stream whose outcomes follow from its windows: an arm succeeds where the latent lies in its window."""

    _windows: Windows

    def windows(self) -> Windows:
        """One window and one cost per arm."""
        return self._windows

    def outcome(self, latent: float, arm: int, price: float) -> tuple[float, float]:
        """The success and the cost of an arm, given the step's latent."""
        low, high, costs = self._windows
        return float(low[arm] <= latent <= high[arm]), float(costs[arm])


class ByTable:
    """A stream whose outcomes follow from its table: the latent is the row. Rows are drawn by their frequencies."""

    _table: Table
    frequency: Floats | None = None  # of each row; None where all rows are equally frequent

    def table(self) -> Table:
        """The outcomes of every arm in each kind of step."""
        return self._table

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Ints:
        """One row of the table per step."""
        if self.frequency is None:
            return rng.integers(len(self._table.costs), size=count)
        return rng.choice(self.frequency.size, size=count, p=self.frequency)

    def outcome(self, latent: int, arm: int, price: float) -> tuple[float, float]:
        """The success and the cost of an arm, given the step's latent."""
        successes, costs = self._table
        return float(successes[latent, arm]), float(costs[latent, arm])

    def truth(self) -> tuple[Floats, Floats]:
        """The exact success probability and mean cost of every arm."""
        successes, costs = self._table
        if self.frequency is None:
            return clipped(successes.mean(axis=0)), costs.mean(axis=0)
        return safe_clipped(self.frequency @ successes), costs[0].copy()  # of these streams no cost varies


def clipped(probabilities: Floats) -> Floats:
    """Probabilities without the rounding errors that carry them beyond 0 and 1."""
    return np.clip(probabilities, 0.0, 1.0)


def safe_clipped(probabilities: Floats) -> Floats:
    """Like `clipped`, for all arms of a menu whose safe option always succeeds, whatever the frequencies sum to."""
    success = clipped(probabilities)
    success[..., -1] = 1.0
    return success


def with_ends(inner: ArrayLike) -> Floats:
    """Successes, or costs in prices of the safe option: columns of interior options between the skip's 0 and its 1."""
    return np.pad(np.asarray(inner, dtype=np.float64), ((0, 0), (1, 1)), constant_values=(0.0, 1.0))


def known_costs(menu: Menu) -> Floats:
    """The known cost of every arm."""
    return np.array([menu.known_cost(arm) for arm in range(menu.n_arms)], dtype=np.float64)


def table_of(menu: Menu, inner: ArrayLike) -> Table:
    """The outcomes of all arms, from those of the interior options in each kind of step, at the menu's costs."""
    successes = with_ends(inner)
    return Table(successes, np.tile(known_costs(menu), (len(successes), 1)))
