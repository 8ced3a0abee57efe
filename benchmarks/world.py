"""The world that all contestants play in: seeded coins, one per arm, and costs that are known beforehand."""

import functools
import itertools
from collections.abc import Iterator

import numpy as np

import suffice

TARGET = 0.9
SEED = 20_260


class World:
    """Arm i succeeds with a probability that grows with i; arm 0 (a skip) never does, the last (the safe option) always.

    Between the ends the probability grows from 0.8 to 1, around the target, so that a selector that holds the target
    spends most of its time between the limits, where it has to choose, and little at them, where it does not.
    """

    def __init__(self, n: int, seed: int = SEED) -> None:
        rng = np.random.default_rng(seed)
        chances = np.linspace(0.8, 1.0, n)
        chances[0], chances[-1] = 0.0, 1.0
        self.costs = rng.uniform(0.0, 1.0, n - 2)
        # Lists, drawn beforehand: what the world costs is in every contestant's time, so it should be next to nothing.
        self.chances: list[float] = chances.tolist()
        draws: list[float] = rng.random(1 << 16).tolist()
        self._luck = itertools.cycle(draws)

    def luck(self, count: int) -> Iterator[float]:
        """So many draws: arm i succeeds at a step where chances[i] is above it."""
        return itertools.islice(self._luck, count)

    def judge(self, arm: int) -> bool:
        """Whether this arm succeeds now."""
        return next(self._luck) < self.chances[arm]


@functools.lru_cache(maxsize=1)  # the selectors of one size share their menu, as they would in use
def menu_of(n: int) -> suffice.Menu:
    """A menu of n arms in all with the world's costs, known."""
    return suffice.Menu(range(1, n - 1), safe=n - 1, skip=0, costs=World(n).costs, safe_cost=1.0)
