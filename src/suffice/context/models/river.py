"""River's classifiers as models, one for each interior arm."""

import copy
import math
from collections.abc import Mapping
from typing import Final, Protocol, TypeGuard

from suffice.context.models.probability_adapter import ProbabilityAdapter
from suffice.context.schema import Schema
from suffice.errors import InvalidArgument, quoted
from suffice.menu.menu import Menu

FURTHEST: Final = 1e100


class RiverClassifier(Protocol):
    """What is used of a River classifier."""

    def learn_one(self, x: dict[str, float], y: bool) -> object: ...

    def predict_proba_one(self, x: dict[str, float]) -> Mapping[bool, float] | None: ...


class RiverModel(ProbabilityAdapter):
    """A River classifier, copied for each interior arm with everything it has learned before.

    It gets the fields of the context by name, without missing ones; numbers as floats. A category such as task = "chat"
    becomes {"task is chat": 1.0}, because most of River's classifiers take numbers only.

    Args:
        model: a classifier with `learn_one` and `predict_proba_one`, or a pipeline that ends in one.
        calibrate: whether the probabilities are corrected from their outcomes.
    """

    def __init__(self, model: RiverClassifier, *, calibrate: bool = True) -> None:
        super().__init__(calibrate=calibrate)
        if isinstance(model, type) or not is_river(model):
            raise InvalidArgument(f"model must have learn_one and predict_proba_one, got {quoted(model)}")
        self.model = model
        self.schema = Schema()

    def open(self, menu: Menu) -> None:
        """Start with this menu."""
        super().open(menu)
        self._models = [copy.deepcopy(self.model) for _ in menu.options]

    def probabilities(self, context: object) -> list[float]:
        """The probability from each arm's classifier."""
        fields = self._fields(context)
        return [_chance(model, fields) for model in self._models]

    def probability(self, context: object, place: int) -> float:
        """The probability from one arm's classifier."""
        return _chance(self._models[place], self._fields(context))

    def learn(self, context: object, place: int | None, success: bool) -> None:
        """Train the arm's classifier with one outcome."""
        if place is not None:
            self._models[place].learn_one(self._fields(context), success)

    def _fields(self, context: object) -> dict[str, float]:
        fields: dict[str, float] = {}
        for name, value in self.schema.values(context).items():
            if isinstance(value, str):
                fields[f"{name} is {value}"] = 1.0
            else:  # many of River's classifiers square a number, and Python's floats raise on overflow
                fields[name] = min(max(value, -FURTHEST), FURTHEST)
        return fields


def is_river(thing: object) -> TypeGuard[RiverClassifier]:
    """Whether an object has the methods of a River classifier."""
    return callable(getattr(thing, "learn_one", None)) and callable(getattr(thing, "predict_proba_one", None))


def _chance(model: RiverClassifier, fields: dict[str, float]) -> float:
    given = model.predict_proba_one(fields) or {}
    if True not in given and False not in given:
        return math.nan  # it was never trained
    chance = float(given.get(True, 0.0))
    return min(max(chance, 0.0), 1.0) if math.isfinite(chance) else math.nan
