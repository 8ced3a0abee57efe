"""What a stream is: a world that judges the arm played in each step and shows nothing else."""

from typing import Any, Protocol

import numpy as np

from suffice.menu import Menu


class Stream(Protocol):
    """Where outcomes come from.

    `draw` fixes the world for so many steps before anything is played, so that methods can be compared on the same one.
    `judge` says how an arm does in one step; a hostile stream may look at the dual.
    """

    menu: Menu

    def draw(self, rng: np.random.Generator, count: int) -> Any:
        """One latent per step, in something that can be indexed."""
        ...

    def judge(self, latent: Any, arm: int, dual: float) -> tuple[float, float]:
        """The success and the cost of an arm, given the step's latent."""
        ...
