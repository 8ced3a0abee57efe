"""Adaptive conformal inference on the threshold itself: up after a failure, down after a success."""

from suffice.lab.rivals.base import PRIMARY, SUCCESS, Rival, Target, above_zero
from suffice.lab.rivals.option_scale import OptionScale
from suffice.menu.menu import Menu


class ScalarACI(Rival):
    """threshold ← threshold + step·(target − success), never clipped; it plays the smallest option at or above it.

    The update of Gibbs & Candès 2021 on the threshold in the place of its level, as in Angelopoulos, Barber & Bates
    2024 with a fixed step; also conformal P control with a fixed learning rate. It is a function of the counts,
    threshold = highest option + step·debt, so the identity behind its guarantee holds exactly.

    Args:
        menu: a chain, such as top_k or thresholds.
        target: the success rate to hold.
        step: how far one outcome moves the threshold, in widths of the range.

    >>> rival = ScalarACI(Menu.thresholds(0, 10, step=1, safe_cost=1, skip=True), 0.75, step=0.2)
    >>> rival.tell(rival.ask(), success=True, cost=1)
    >>> rival.threshold, rival.ask().option
    (9.5, 10.0)
    """

    name = "scalar ACI"
    source = "Gibbs & Candès 2021; Angelopoulos, Barber & Bates 2024"
    read = PRIMARY
    feedback = SUCCESS
    guarantee = "|debt| at most (range + step)/step on every path, where low fails and high succeeds"

    def __init__(self, menu: Menu, target: Target, *, step: float = 0.05) -> None:
        super().__init__(menu, target)
        self._scale = OptionScale(menu)
        self._step = above_zero("step", step) * self._scale.width

    @property
    def threshold(self) -> float:
        """The threshold, which may lie beyond the options."""
        return self._scale.high + self._step * self.debt

    def _choose(self) -> int:
        return self._scale.arm_at(self.threshold)
