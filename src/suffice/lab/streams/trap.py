"""The three-arm trap: a cheap option that always works, until for a while it does not (the paper's counterexample)."""

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.lab.streams.base import ByWindows, Ints, Table, Windows
from suffice.menu.menu import Menu
from suffice.numbers import positive_int


class Trap(ByWindows):
    """A skip, a trap of cost 0.05, and a safe option of cost 1. The trap fails in steps first <= t < last.

    >>> Trap(first=2, last=4).draw(np.random.default_rng(0), 6).tolist()
    [1, 1, 0, 0, 1, 1]
    """

    name = "trap"
    description = "a cheap option that always works, until for a while it does not (the paper's)"

    def __init__(self, first: int = 800, last: int = 1300, cost: float = 0.05) -> None:
        self.first, self.last = positive_int("first", first, 0), positive_int("last", last, 0)
        if self.first > self.last:
            raise InvalidArgument(f"first must be at most last, got {quoted(first)} and {quoted(last)}")
        self.menu = Menu({"trap": cost}, safe="safe", skip="skip", safe_cost=1.0)
        self.cost = float(cost)
        # The latent is 1 where the trap works; the skip never does, the safe option always.
        low, high = np.array([2.0, 0.5, -1.0]), np.array([2.0, 1.5, 2.0])
        self._windows = Windows(low, high, np.array([0.0, self.cost, 1.0]))

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Ints:
        """1 for each step in which the trap works, else 0."""
        step = np.arange(start, start + count)
        return np.where((step >= self.first) & (step < self.last), 0, 1)

    def table(self) -> Table:
        """The steps in which the trap fails, and those in which it works."""
        return Table(np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]), np.tile(self._windows.costs, (2, 1)))
