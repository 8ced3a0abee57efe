"""scikit-learn's classifiers as models, one for each interior arm."""

import math
from typing import Any, Final, Protocol, TypeGuard

import numpy as np

from suffice.context.features import Features
from suffice.context.models.calibration import logistic
from suffice.context.models.probability_adapter import ProbabilityAdapter
from suffice.errors import InvalidArgument, quoted
from suffice.kernels.rows import Floats, Mask
from suffice.menu.menu import Menu

FITS: Final = (32, 64, 128, 256)  # outcomes after which the features are laid out again; after the last they are frozen
BATCH: Final = 8  # outcomes of an arm that its classifier learns at a time
CLASSES: Final = np.array([False, True])


class SklearnClassifier(Protocol):
    """What is used of a classifier, besides `predict_proba` or `decision_function`."""

    def partial_fit(self, X: Floats, y: Mask, classes: Mask | None = None) -> object: ...

    def get_params(self) -> dict[str, Any]: ...

    def set_params(self, **params: object) -> object: ...


class SklearnModel(ProbabilityAdapter):
    """A scikit-learn classifier with `partial_fit`, cloned for each interior arm.

    A classifier cannot follow when features change their meaning, and features find their knots and categories while
    contexts arrive. So the first 256 outcomes are kept. After 32, 64, 128 and 256 the features are laid out for the
    contexts seen, and fresh clones learn all outcomes kept; then the features are frozen.

    Args:
        classifier: such as SGDClassifier(loss="log_loss", average=True) (without averaging it is noisy), MultinomialNB() or
            MLPClassifier(); without predict_proba its decision_function is taken as log-odds.
        calibrate: whether the probabilities are corrected from their outcomes.
    """

    def __init__(self, classifier: SklearnClassifier, *, calibrate: bool = True) -> None:
        super().__init__(calibrate=calibrate)
        if isinstance(classifier, type) or not is_sklearn(classifier):
            raise InvalidArgument(
                f"classifier must have partial_fit, and predict_proba or decision_function, got {quoted(classifier)}"
            )
        self.classifier, self.features = classifier, Features()

    def open(self, menu: Menu) -> None:
        """Start with this menu."""
        super().open(menu)
        self._kept: list[tuple[Floats, int | None, bool]] = []  # row, place, success
        self._observed = 0  # how many of those kept the features have observed
        self._start_classifiers()

    def _start_classifiers(self) -> None:
        count = len(self.menu.options)
        self._fitted: list[SklearnClassifier | None] = [None] * count
        self._waiting: list[list[tuple[Floats, bool]]] = [[] for _ in range(count)]
        self._labels: list[set[bool]] = [set() for _ in range(count)]

    def probabilities(self, context: object) -> list[float]:
        """The probability from each arm's classifier."""
        vector = self._vector(self.features.row(context))
        return [self._chance(place, vector) for place in range(len(self._fitted))]

    def probability(self, context: object, place: int) -> float:
        """The probability from one arm's classifier."""
        return self._chance(place, self._vector(self.features.row(context)))

    def _vector(self, row: Floats) -> Floats:
        return self.features.vector(row)[np.newaxis, 1:]  # classifiers have an intercept of their own

    def _chance(self, place: int, vector: Floats) -> float:
        model = self._fitted[place]
        if model is None or len(self._labels[place]) < 2:
            return math.nan  # after outcomes of one class alone, a classifier predicts certainty
        with np.errstate(all="ignore"):
            if hasattr(model, "predict_proba"):
                given = float(model.predict_proba(vector)[0, 1])
            elif hasattr(model, "decision_function"):
                given = logistic(float(np.clip(model.decision_function(vector)[0], -700.0, 700.0)))
        return given if math.isfinite(given) else math.nan

    def learn(self, context: object, place: int | None, success: bool) -> None:
        """Keep the outcome, or learn from it once there is a batch."""
        row = self.features.row(context)
        if self.features.frozen:
            self.features.observe(row)
        else:
            self._kept.append((row, place, success))
            if len(self._kept) in FITS:
                self._fit_again()
                return
            if len(self._kept) < FITS[0]:
                return
        if place is not None:
            self._waiting[place].append((row, success))
            if len(self._waiting[place]) >= BATCH:
                self._fit(place)

    def _fit_again(self) -> None:
        """Lay the features out for all outcomes kept, and train fresh clones with these."""
        for row, _, _ in self._kept[self._observed :]:
            self.features.observe(row)
        self._observed = len(self._kept)
        self._start_classifiers()
        for row, place, success in self._kept:
            if place is not None:
                self._waiting[place].append((row, success))
        for arm, waiting in enumerate(self._waiting):
            if waiting:
                self._fit(arm)
        if self._observed == FITS[-1]:
            self.features.freeze()
            self._kept = []

    def _fit(self, place: int) -> None:
        model = self._fitted[place]
        if model is None:
            model = self._fitted[place] = self._clone(place)
        vectors = np.concatenate([self._vector(row) for row, _ in self._waiting[place]])
        labels = np.array([success for _, success in self._waiting[place]])
        with np.errstate(all="ignore"):  # naive Bayes divides by the variance of a constant feature
            model.partial_fit(vectors, labels, classes=CLASSES)
        self._labels[place].update(labels.tolist())
        self._waiting[place] = []

    def _clone(self, place: int) -> SklearnClassifier:
        from sklearn.base import clone

        fresh: SklearnClassifier = clone(self.classifier)
        if "random_state" in fresh.get_params() and fresh.get_params()["random_state"] is None:
            fresh.set_params(random_state=place)  # runs must be repeatable
        return fresh


def is_sklearn(thing: object) -> TypeGuard[SklearnClassifier]:
    """Whether an object is a classifier that learns incrementally, as scikit-learn defines it."""
    return callable(getattr(thing, "partial_fit", None)) and (
        hasattr(thing, "predict_proba") or hasattr(thing, "decision_function")
    )
