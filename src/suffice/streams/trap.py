"""The three-arm trap: a cheap option that always works, until for a while it does not (the paper's counterexample)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.menu import Menu
from suffice.streams.base import Windows


class Trap:
    """Nothing, a trap of cost 0.05, and everything of cost 1. The trap fails in steps first <= t < last."""

    def __init__(self, first: int = 800, last: int = 1300, cost: float = 0.05) -> None:
        self.menu = Menu({"trap": cost}, everything="safe", nothing="nothing")
        self.first, self.last = first, last
        self.cost = cost

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> NDArray[np.float64]:
        step = np.arange(start, start + count)
        return np.where((step >= self.first) & (step < self.last), 0.0, 1.0)

    def windows(self) -> Windows:
        # The latent is 1 where the trap works; nothing never does, everything always.
        low, high = np.array([2.0, 0.5, -1.0]), np.array([2.0, 1.5, 2.0])
        return Windows(low, high, np.array([0.0, self.cost, 1.0]))

    def judge(self, latent: Any, arm: int, dual: float) -> tuple[float, float]:
        return (0.0, float(latent), 1.0)[arm], (0.0, self.cost, 1.0)[arm]
