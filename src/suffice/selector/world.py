"""The input and the output of a compiled run: a world that is known beforehand, and its steps."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.rows import Floats


class World(NamedTuple):
    """The success and the cost of every arm in every step; see `selector.runs`."""

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
        """The columns in the order in which a kernel takes them."""
        return self.arms, self.successes, self.costs, self.prices
