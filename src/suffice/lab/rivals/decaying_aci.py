"""Adaptive conformal inference with decaying steps: the threshold converges where the world is stationary."""

from suffice.lab.rivals.base import PRIMARY, SUCCESS, Rival, Target, above_zero
from suffice.lab.rivals.option_scale import OptionScale
from suffice.menu.menu import Menu
from suffice.numbers import between


class DecayingACI(Rival):
    """threshold ← threshold + step·t^−(½+ε)·(target − success), never clipped; plays the smallest option at or above it.

    Angelopoulos, Barber & Bates 2024. The guarantee weakens with the steps: the sum of target − success over t outcomes
    is at most of the order t^(½+ε).

    Args:
        menu: a chain, such as top_k or thresholds.
        target: the success rate to hold.
        step: how far the first outcome moves the threshold, in widths of the range.
        decay: ε, from 0 to ½.

    >>> rival = DecayingACI(Menu.thresholds(0, 10, step=1, safe_cost=1, skip=True), 0.75, step=0.2)
    >>> for _ in range(2):
    ...     rival.tell(rival.ask(), success=True, cost=1)
    >>> round(rival.threshold, 3)  # 10 − 0.5 − 0.5/2^0.6
    9.17
    """

    name = "decaying ACI"
    source = "Angelopoulos, Barber & Bates 2024"
    read = PRIMARY
    feedback = SUCCESS
    guarantee = "|debt| of the order t^(½+ε) on every path; converges on independent steps"

    def __init__(self, menu: Menu, target: Target, *, step: float = 1.0, decay: float = 0.1) -> None:
        super().__init__(menu, target)
        self._scale = OptionScale(menu)
        self._step = above_zero("step", step) * self._scale.width
        self._decay = between("decay", decay, 0.0, 0.5)
        self.threshold = self._scale.high

    def _choose(self) -> int:
        return self._scale.arm_at(self.threshold)

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        self.threshold += self._step * self.outcomes ** -(0.5 + self._decay) * (self.target - success)
