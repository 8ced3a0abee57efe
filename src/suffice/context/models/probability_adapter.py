"""What the adapters for other people's models share: counts, calibration, and how unsure a mean is."""

import math
from typing import Any

import numpy as np

from suffice.context.models.calibration import Calibration
from suffice.errors import InvalidArgument
from suffice.kernels.rows import Floats
from suffice.learning.rng import WORDS, seed_state, uniform
from suffice.menu.menu import Menu
from suffice.numbers import flag


class ProbabilityAdapter:
    """A model whose interior arms each have a probability of success from somewhere else, or none yet.

    A kind of it says where from: `probability(context, place)` and `learn(context, place, success)`, where the place of an
    interior arm is its number among them (None: a boundary arm, from which only the context can be learned). An arm
    without a probability (NaN) is predicted by its own rate of success.

    The deviation is that of a rate after as many outcomes as the arm had, which is too small where the arm was never
    tried in such contexts: no classifier says how unsure it is.
    """

    def __init__(self, *, calibrate: bool = True) -> None:
        self.calibrate = flag("calibrate", calibrate)
        self._menu: Menu | None = None

    def open(self, menu: Menu) -> None:
        """Predict the arms of this menu from now on."""
        self._menu = menu
        count = len(menu.options)
        self._plays, self._successes = np.zeros(count), np.zeros(count)
        self._calibrations = [Calibration() for _ in range(count)]
        self._random = [0.0] * WORDS
        seed_state(self._random, 0, 1)

    def forget(self) -> None:
        """Begin anew, with clones that have learned nothing."""
        self.open(self.menu)

    @property
    def menu(self) -> Menu:
        """The menu whose arms are predicted."""
        if self._menu is None:
            raise InvalidArgument("open(menu) must be called before a model is asked or told anything")
        return self._menu

    def probabilities(self, context: Any) -> list[float]:
        """The probability of success of each interior arm, NaN where there is none yet."""
        return [self.probability(context, place) for place in range(len(self._plays))]

    def probability(self, context: Any, place: int) -> float:
        """The probability of success of one interior arm, NaN where there is none yet."""
        raise NotImplementedError

    def learn(self, context: Any, place: int | None, success: bool) -> None:
        """Learn from an outcome."""

    def predict(self, context: Any) -> tuple[Floats, Floats]:
        """The mean success of each arm in this context, and the deviation of that mean."""
        menu = self.menu
        means, deviations = np.zeros(menu.n_arms), np.zeros(menu.n_arms)
        means[-1] = float(menu.safe_success)
        rates = (self._successes + 1.0) / (self._plays + 2.0)
        for place, given in enumerate(self.probabilities(context)):
            if not math.isnan(given):
                rates[place] = self._calibrations[place].apply(given) if self.calibrate else given
        means[menu.interior] = rates
        # A mean of 0 after one failure is not certain: a success and a failure are added.
        cautious = (rates * self._plays + 1.0) / (self._plays + 2.0)
        deviations[menu.interior] = np.sqrt(cautious * (1.0 - cautious) / (self._plays + 1.0))
        return means, deviations

    def update(self, context: Any, arm: int, success: float, cost: float | None) -> None:
        """Learn from an outcome and the context that its decision was asked with."""
        place = None if self.menu.is_boundary(arm) else arm - int(self.menu.has_skip)
        if place is not None:
            # Calibrated on outcomes that the model has not learned from: of what it has learned it is too sure.
            given = self.probability(context, place) if self.calibrate else math.nan
            if not math.isnan(given):
                self._calibrations[place].update(given, success)
            self._plays[place] += 1.0
            self._successes[place] += success
        self.learn(context, place, self._label(success))

    def _label(self, success: float) -> bool:
        """A success as classifiers know it; one of 0.25 is True in a quarter of all cases."""
        return success >= 1.0 or (success > 0.0 and uniform(self._random, 0) < success)
