"""scikit-learn's classifiers as models, one for each interior arm."""

import math
from typing import Any, Final

import numpy as np

from suffice.context.features import Features
from suffice.context.models.calibration import logistic
from suffice.context.models.probability_adapter import ProbabilityAdapter
from suffice.errors import InvalidArgument, quoted
from suffice.kernels.rows import Floats
from suffice.menu.menu import Menu
from suffice.numbers import positive_int

FITS: Final = (32, 64, 128, 256)  # outcomes after which the features are laid out anew; after the last they stay
CLASSES: Final = np.array([False, True])


class SklearnModel(ProbabilityAdapter):
    """A scikit-learn classifier with `partial_fit`, cloned for each interior arm.

    A classifier cannot follow when features change their meaning, and features find their knots and categories as
    contexts come in. So the first 256 outcomes are kept. After 32, 64, 128 and 256 the features are laid out for what has
    been seen, and fresh clones learn all outcomes kept; then the features stay as they are. Features that are frozen
    when they are passed are used from the beginning.

    Args:
        classifier: such as SGDClassifier(loss="log_loss", average=True) (its last steps alone are noisy), MultinomialNB()
            or MLPClassifier(); without predict_proba its decision_function is taken for log odds.
        features: how contexts become vectors, all between 0 and 1.
        batch: how many outcomes of an arm its classifier learns at a time. Larger is quicker.
        calibrate: whether the probabilities are corrected by what came of them.
    """

    def __init__(
        self, classifier: Any, features: Features | None = None, *, batch: int = 8, calibrate: bool = True
    ) -> None:
        super().__init__(calibrate=calibrate)
        if isinstance(classifier, type) or not is_sklearn(classifier):
            raise InvalidArgument(
                f"classifier must have partial_fit, and predict_proba or decision_function, got {quoted(classifier)}"
            )
        if features is not None and not isinstance(features, Features):
            raise InvalidArgument(f"features must be Features or left out, got {quoted(features)}")
        self.classifier, self.batch = classifier, positive_int("batch", batch)
        self.features = Features() if features is None else features

    def open(self, menu: Menu) -> None:
        """Predict the arms of this menu from now on."""
        super().open(menu)
        self._kept: list[tuple[Floats, int | None, bool]] = []
        self._noted = 0  # how many of those kept the features have been told of
        self._begin()

    def _begin(self) -> None:
        self._fitted: list[Any] = [None] * len(self.menu.options)
        self._waiting: list[list[tuple[Floats, bool]]] = [[] for _ in self.menu.options]
        self._labels: list[set[bool]] = [set() for _ in self.menu.options]

    def probabilities(self, context: Any) -> list[float]:
        """What each arm's classifier gives."""
        row = self.features.row(context)
        vector = self.features.vector(row)[np.newaxis, 1:]  # classifiers have an intercept of their own
        return [self._chance(place, vector) for place in range(len(self._fitted))]

    def probability(self, context: Any, place: int) -> float:
        """What one arm's classifier gives."""
        row = self.features.row(context)
        return self._chance(place, self.features.vector(row)[np.newaxis, 1:])

    def _chance(self, place: int, vector: Floats) -> float:
        if len(self._labels[place]) < 2:
            return math.nan  # of one class alone a classifier is certain after one outcome
        model = self._fitted[place]
        with np.errstate(all="ignore"):
            if hasattr(model, "predict_proba"):
                given = float(model.predict_proba(vector)[0, 1])
            else:
                given = logistic(float(np.clip(model.decision_function(vector)[0], -700.0, 700.0)))
        return given if math.isfinite(given) else math.nan

    def learn(self, context: Any, place: int | None, success: bool) -> None:
        """Keep the outcome, or learn from it once there is a batch of them."""
        row = self.features.row(context)
        if self.features.frozen:
            self.features.note(row)
        else:
            self._kept.append((row, place, success))
            if len(self._kept) in FITS:
                self._fit_anew()
                return
            if len(self._kept) < FITS[0]:
                return
        if place is not None:
            self._waiting[place].append((row, success))
            if len(self._waiting[place]) >= self.batch:
                self._fit(place)

    def _fit_anew(self) -> None:
        """Lay the features out for all that was kept, and have fresh clones learn it."""
        for row, _, _ in self._kept[self._noted :]:
            self.features.note(row)
        self._noted = len(self._kept)
        self._begin()
        for row, place, success in self._kept:
            if place is not None:
                self._waiting[place].append((row, success))
        for place, waiting in enumerate(self._waiting):
            if waiting:
                self._fit(place)
        if self._noted == FITS[-1]:
            self.features.freeze()
            self._kept = []

    def _fit(self, place: int) -> None:
        if self._fitted[place] is None:
            self._fitted[place] = self._clone(place)
        vectors = np.array([self.features.vector(row)[1:] for row, _ in self._waiting[place]])
        labels = np.array([success for _, success in self._waiting[place]])
        with np.errstate(all="ignore"):  # naive Bayes divides by the variance of a feature that never varies
            self._fitted[place].partial_fit(vectors, labels, classes=CLASSES)
        self._labels[place].update(labels.tolist())
        self._waiting[place] = []

    def _clone(self, place: int) -> Any:
        from sklearn.base import clone

        fresh = clone(self.classifier)
        if "random_state" in fresh.get_params() and fresh.get_params()["random_state"] is None:
            fresh.set_params(random_state=place)  # the same bytes twice
        return fresh


def is_sklearn(thing: Any) -> bool:
    """Whether something is a classifier that learns bit by bit in scikit-learn's way."""
    return callable(getattr(thing, "partial_fit", None)) and (
        hasattr(thing, "predict_proba") or hasattr(thing, "decision_function")
    )
