"""Conformal PI control: the threshold follows the outcomes, and an integrator that saturates pulls it back."""

import math

from suffice.errors import InvalidArgument, quoted
from suffice.lab.rivals.base import PRIMARY, SUCCESS, Rival, Target, above_zero
from suffice.lab.rivals.option_scale import OptionScale
from suffice.menu.menu import Menu
from suffice.numbers import as_fraction


class ConformalPI(Rival):
    """threshold = highest option + step·debt + gain·tan(debt·ln(t+1)/(saturation·(t+1))), infinite beyond ±π/2.

    Angelopoulos, Candès & Tibshirani 2023, with the P and the I term; the debt is the sum of failure − (1 − target).
    Their D term forecasts the score, and their step grows with the range of recent scores; the success alone shows
    neither: there is no forecast and the step is fixed. With gain 0 it is P control, which is `ScalarACI`.

    Args:
        menu: a chain, such as top_k or thresholds.
        target: the success rate to hold.
        step: how far one outcome moves the P term, in widths of the range.
        gain: the factor of the integrator, in widths of the range.
        saturation: the larger, the later the integrator saturates.

    >>> rival = ConformalPI(Menu.thresholds(0, 10, step=1), 0.75, step=0.2)
    >>> rival.tell(rival.ask(), success=True, cost=1)
    >>> round(rival.threshold, 3), rival.integral(-4.0, 0), rival.integral(1e9, 1)
    (9.327, -0.0, inf)
    """

    name = "conformal PI"
    source = "Angelopoulos, Candès & Tibshirani 2023"
    read = PRIMARY
    feedback = SUCCESS
    guarantee = "|debt| below π/2·saturation·(t+1)/ln(t+1) + 1 on every path: the rate converges, slowly"

    def __init__(
        self, menu: Menu, target: Target, *, step: float = 0.05, gain: float = 1.0, saturation: float = 5.0
    ) -> None:
        super().__init__(menu, target)
        self._scale = OptionScale(menu)
        self._step = above_zero("step", step) * self._scale.width
        self._gain = float(as_fraction("gain", gain)) * self._scale.width
        if self._gain < 0.0:
            raise InvalidArgument(f"gain must be at least 0, got {quoted(gain)}")
        self._saturation = above_zero("saturation", saturation)

    @property
    def threshold(self) -> float:
        """The threshold, which may be infinite."""
        return self._scale.high + self._step * self.debt + self.integral(self.debt, self.outcomes)

    def integral(self, debt: float, outcomes: int) -> float:
        """The integrator after so many outcomes."""
        angle = debt * math.log(outcomes + 1.0) / (self._saturation * (outcomes + 1.0))
        if self._gain == 0.0:
            return 0.0
        if abs(angle) >= math.pi / 2.0:
            return math.copysign(math.inf, angle)
        return self._gain * math.tan(angle)

    def _choose(self) -> int:
        return self._scale.arm_at(self.threshold)
