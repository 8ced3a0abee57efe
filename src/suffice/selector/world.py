"""What a compiled run takes and gives: a world known beforehand, and what happened in it."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.rows import Floats


class World(NamedTuple):
    """How every arm would do, in the terms of `selector.runs`."""

    low: Floats
    high: Floats
    costs: Floats
    units: Floats
    charges: Floats


@dataclass(slots=True)
class Block:
    """Some steps of a run."""

    arms: NDArray[np.int64]
    successes: Floats
    costs: Floats
    prices: Floats

    @staticmethod
    def empty(count: int) -> "Block":
        return Block(np.zeros(count, dtype=np.int64), np.zeros(count), np.zeros(count), np.zeros(count))

    @property
    def columns(self) -> tuple[NDArray[np.int64], Floats, Floats, Floats]:
        """What a kernel writes to, in its order."""
        return self.arms, self.successes, self.costs, self.prices
