"""Conformal PID control: PI control around a forecast of the score, for those who are shown every score."""

import math
from collections import deque
from collections.abc import Callable

from suffice.errors import InvalidArgument, quoted
from suffice.lab.rivals.base import LABEL, Target
from suffice.lab.rivals.conformal_pi import ConformalPI
from suffice.menu.menu import Menu
from suffice.numbers import positive_int


def smooth(forecast: float, score: float) -> float:
    """Exponential smoothing: the forecast moves a tenth of the way to the score."""
    return forecast + 0.1 * (score - forecast)


class ConformalPID(ConformalPI):
    """threshold = forecast + P + I: a forecast of the score (D), what `ConformalPI` adds to its start, and steps by range.

    Angelopoulos, Candès & Tibshirani 2023. The score of a step is the least option that covers its label. I is that of
    `ConformalPI`; P moves by step·(target − success) times the range of the last `window` scores, as in their code. They
    forecast with the Theta model, fitted anew in every step; here the forecast is a function of the last one and of the
    score since, by default exponential smoothing, which is what the Theta model has beside its trend. The guarantee is
    the integrator's and holds whatever is forecast.

    Args:
        menu: a chain whose options are growing numbers.
        target: the success rate to hold.
        step: how far one outcome moves the P term, in ranges of the last scores.
        gain: the factor of the integrator, in widths of the range.
        saturation: the larger, the later the integrator saturates.
        start: the first forecast; the highest option if left out.
        forecast: from the last forecast and the score of the step to the next forecast.
        window: how many scores P takes the range of.

    >>> rival = ConformalPID(Menu.thresholds(0, 10, step=1), 0.75, gain=0, forecast=lambda forecast, score: score)
    >>> for need in (4, 2):
    ...     decision = rival.ask()
    ...     rival.hear(need)
    ...     rival.tell(decision, success=need <= decision.option, cost=1)
    >>> rival.threshold  # a step of 0.05·10·¼ down in the first, and none in the second: one score has no range
    1.875
    """

    name = "conformal PID"
    feedback = LABEL

    def __init__(
        self,
        menu: Menu,
        target: Target,
        *,
        step: float = 0.05,
        gain: float = 1.0,
        saturation: float = 5.0,
        start: float | None = None,
        forecast: Callable[[float, float], float] = smooth,
        window: int = 100,
    ) -> None:
        super().__init__(menu, target, step=step, gain=gain, saturation=saturation, start=start)
        self._need_numbers()
        if not callable(forecast):
            raise InvalidArgument(
                f"forecast must be a function of the last forecast and the score, got {quoted(forecast)}"
            )
        self._forecasts = forecast
        self._recent: deque[float] = deque(maxlen=positive_int("window", window))
        self._tracked = 0.0  # P
        self.forecast = self._first

    def _state(self) -> float:
        return self.forecast + self._tracked + self.integral(self.debt, self.outcomes)

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        needed = self._needed()
        share = (max(self._recent) - min(self._recent)) / self.width if self._recent else 1.0
        self._tracked += self._step * share * (self.target - success)
        self._recent.append(needed)
        forecast = float(self._forecasts(self.forecast, needed))
        if not math.isfinite(forecast):
            raise InvalidArgument(f"forecast must be finite, got {quoted(forecast)} after a score of {needed:g}")
        self.forecast = forecast
