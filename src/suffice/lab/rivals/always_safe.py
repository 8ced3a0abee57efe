"""Always the safe option: the cost of a team that takes no risk."""

import numpy as np

from suffice.kernels.rows import Floats
from suffice.lab.rivals.base import NONE, PRIMARY, Rival
from suffice.numbers import ONE_SUCCESS
from suffice.selector.world import Block, World


class AlwaysSafe(Rival):
    """Plays the safe option in every step.

    >>> from suffice import Menu
    >>> AlwaysSafe(Menu({"small": 0.1}, safe="a person"), 0.9).ask().option
    'a person'
    """

    name = "always safe"
    source = "common practice"
    read = PRIMARY
    feedback = NONE
    guarantee = "succeeds as often as the safe option does"

    def _choose(self) -> int:
        return self.menu.n_arms - 1

    def can_run(self, stream: object) -> bool:
        """Whether `run` can play this stream."""
        return type(self) is AlwaysSafe

    def run(self, world: World, latents: Floats, block: Block) -> None:
        """All steps at once, since there is no choice to make."""
        last = self.menu.n_arms - 1
        if len(world.units):
            rows = latents.astype(np.int64)
            units, block.costs[:] = world.units[rows, last], world.charges[rows, last]
        else:
            units = ONE_SUCCESS * ((world.low[last] <= latents) & (latents <= world.high[last]))
            block.costs[:] = world.costs[last]
        block.arms[:], block.successes[:] = last, units / ONE_SUCCESS
        self.outcomes += latents.size
        self._issued += latents.size
        self._units += int(units.sum())
        self.cost += float(block.costs.sum())
