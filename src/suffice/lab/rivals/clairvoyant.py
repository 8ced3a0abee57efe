"""The clairvoyant mix: the optimum itself, drawn afresh in every step."""

from typing import Any

from suffice.best_mix import optimum
from suffice.lab.rivals.base import PRIMARY, TRUTH, Rival, Target, own_rng
from suffice.lab.rivals.best_fixed import truth_of
from suffice.lab.rivals.weights import draw
from suffice.menu.menu import Menu


class ClairvoyantMix(Rival):
    """Draws an arm from the cheapest mix that succeeds as often as the target, by the truth.

    A yardstick, not a method: it knows the stream's truth. Its expected cost is the optimum, and its debt walks at
    random: nobody who is never behind can do quite as well.

    Args:
        menu: the stream's menu.
        target: the success rate to hold.
        stream: a stream with `truth()`.
        seed: of the method's own randomness.

    >>> from suffice.lab.streams import LabelRanks
    >>> stream = LabelRanks.cifar100()
    >>> ClairvoyantMix(stream.menu, 0.95, stream).weights.round(3).tolist()
    [0.0, 0.0, 0.676, 0.324, 0.0, 0.0]
    """

    name = "clairvoyant mix"
    source = "the paper's benchmark"
    read = PRIMARY
    feedback = TRUTH
    guarantee = "the target and the least cost in expectation; none on a path"

    def __init__(self, menu: Menu, target: Target, stream: Any, *, seed: int = 0) -> None:
        super().__init__(menu, target)
        self.weights = optimum(*truth_of(menu, stream), self._owed_share).weights
        self._rng = own_rng(seed)

    def _choose(self) -> int:
        return draw(self._rng, self.weights)
