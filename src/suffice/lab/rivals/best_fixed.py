"""The best fixed option: the cheapest single one that succeeds often enough, known beforehand."""

from typing import Any

import numpy as np

from suffice.errors import Infeasible, InvalidArgument, quoted
from suffice.lab.rivals.base import PRIMARY, TRUTH, Rival, Target
from suffice.lab.rivals.weights import Floats
from suffice.menu.menu import Menu


class BestFixed(Rival):
    """Plays the cheapest arm whose true success rate reaches the target, in every step: the best in hindsight.

    A yardstick, not a method: it knows the stream's truth. Mixing two options may be cheaper, see `ClairvoyantMix`.

    Args:
        menu: the stream's menu.
        target: the success rate to hold.
        stream: a stream with `truth()`.

    >>> from suffice.lab.streams import LabelRanks
    >>> stream = LabelRanks.cifar100()
    >>> BestFixed(stream.menu, 0.95, stream).ask().option
    20
    """

    name = "best fixed"
    source = "the benchmark of adversarial bandits"
    read = PRIMARY
    feedback = TRUTH
    guarantee = "the target in expectation"

    def __init__(self, menu: Menu, target: Target, stream: Any) -> None:
        super().__init__(menu, target)
        success, cost = truth_of(menu, stream)
        reach = success >= self.target
        if not reach.any():
            raise Infeasible(
                f"target {self.target:g} is out of reach: the best arm succeeds {success.max():g} of the time"
            )
        self._arm = int(np.lexsort((-success, np.where(reach, cost, np.inf)))[0])

    def _choose(self) -> int:
        return self._arm


def truth_of(menu: Menu, stream: Any) -> tuple[Floats, Floats]:
    """The success probability and mean cost of every arm, from a stream that knows them."""
    if not callable(getattr(stream, "truth", None)):
        raise InvalidArgument(f"stream must have truth(), as one of independent steps has, got {quoted(stream)}")
    success, cost = (np.asarray(part, dtype=np.float64) for part in stream.truth())
    if success.shape != (menu.n_arms,):
        raise InvalidArgument(f"stream must have the menu's {menu.n_arms} arms, got {success.size}")
    return success, cost
