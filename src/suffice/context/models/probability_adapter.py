"""What the adapters share: success rates per option, calibration, and the uncertainty of a prediction."""

import math

import numpy as np

from suffice.context.models.calibration import Calibration
from suffice.errors import InvalidArgument
from suffice.kernels.rows import Floats
from suffice.learning.rng import WORDS, seed_state, uniform
from suffice.menu.menu import Menu
from suffice.numbers import flag


class ProbabilityAdapter:
    """A model whose subclasses give a probability of success for each interior arm, or none yet.

    A subclass defines `probability(context, place)` and `learn(context, place, success)`; `place` numbers the interior arms
    (None: a boundary arm, whose outcomes teach only what contexts look like). An arm without a probability (NaN) is predicted
    by its success rate.

    The deviation is that of a rate after as many outcomes as the arm has had. It is too small where the arm was never tried
    in similar contexts: classifiers do not report their uncertainty.
    """

    def __init__(self, *, calibrate: bool = True) -> None:
        self.calibrate = flag("calibrate", calibrate)
        self._menu: Menu | None = None

    def open(self, menu: Menu) -> None:
        """Start with this menu."""
        self._menu = menu
        count = len(menu.options)
        self._plays, self._successes = np.zeros(count), np.zeros(count)
        self._calibrations = [Calibration() for _ in range(count)]
        self._random = [0.0] * WORDS
        seed_state(self._random, 0, 1)

    def forget(self) -> None:
        """Start again, with untrained copies."""
        self.open(self.menu)

    @property
    def menu(self) -> Menu:
        """The menu whose arms are predicted."""
        if self._menu is None:
            raise InvalidArgument("open(menu) must be called before predict or update")
        return self._menu

    def probabilities(self, context: object) -> list[float]:
        """The probability of success of each interior arm, NaN where there is none yet."""
        return [self.probability(context, place) for place in range(len(self._plays))]

    def probability(self, context: object, place: int) -> float:
        """The probability of success of one interior arm, NaN where there is none yet."""
        raise NotImplementedError

    def learn(self, context: object, place: int | None, success: bool) -> None:
        """Learn from an outcome."""

    def predict(self, context: object) -> tuple[Floats, Floats]:
        """The mean success of each arm in this context, and the standard deviation of that mean."""
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

    def update(self, context: object, arm: int, success: float, cost: float | None) -> None:
        """Learn from an outcome and the context of its decision."""
        place = None if self.menu.is_boundary(arm) else arm - int(self.menu.has_skip)
        if place is not None:
            # Calibrate before the model learns from the outcome: on outcomes it has learned from, it is overconfident.
            given = self.probability(context, place) if self.calibrate else math.nan
            if not math.isnan(given):
                self._calibrations[place].update(given, success)
            self._plays[place] += 1.0
            self._successes[place] += success
        self.learn(context, place, self._label(success))

    def _label(self, success: float) -> bool:
        """A success as a class label; one of 0.25 is True in a quarter of all cases."""
        return success >= 1.0 or (success > 0.0 and uniform(self._random, 0) < success)
