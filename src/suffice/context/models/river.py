"""River's classifiers as models, one for each interior arm."""

import copy
import math
from typing import Any, Final

from suffice.context.models.probability_adapter import ProbabilityAdapter
from suffice.context.schema import Schema
from suffice.errors import InvalidArgument, quoted
from suffice.menu.menu import Menu
from suffice.numbers import flag

FURTHEST: Final = 1e100


class RiverModel(ProbabilityAdapter):
    """A River classifier, copied for each interior arm, what it has learned before included.

    It is given the fields of the context by name, without those that are missing; numbers as floats. A category such as
    task = "chat" is given as {"task is chat": 1.0}, since most of River's classifiers take numbers only.

    Args:
        model: a classifier with `learn_one` and `predict_proba_one`, or a pipeline that ends in one.
        text: give categories as they are, {"task": "chat"}: for trees, and for pipelines that know what to do with text.
        calibrate: whether the probabilities are corrected by what came of them.
    """

    def __init__(self, model: Any, *, text: bool = False, calibrate: bool = True) -> None:
        super().__init__(calibrate=calibrate)
        if isinstance(model, type) or not is_river(model):
            raise InvalidArgument(f"model must have learn_one and predict_proba_one, got {quoted(model)}")
        self.model, self.text = model, flag("text", text)
        self.schema = Schema()

    def open(self, menu: Menu) -> None:
        """Predict the arms of this menu from now on."""
        super().open(menu)
        self._models = [copy.deepcopy(self.model) for _ in menu.options]

    def probabilities(self, context: Any) -> list[float]:
        """What each arm's classifier gives."""
        fields = self._fields(context)
        return [_chance(model, fields) for model in self._models]

    def probability(self, context: Any, place: int) -> float:
        """What one arm's classifier gives."""
        return _chance(self._models[place], self._fields(context))

    def learn(self, context: Any, place: int | None, success: bool) -> None:
        """One step of the arm's classifier."""
        if place is not None:
            self._models[place].learn_one(self._fields(context), success)

    def _fields(self, context: Any) -> dict[str, Any]:
        values = {
            # Many of River's classifiers square a number, and Python's floats raise where that is too much for them.
            name: value if isinstance(value, str) else min(max(value, -FURTHEST), FURTHEST)
            for name, value in self.schema.values(context).items()
        }
        if self.text:
            return dict(values)
        return dict(
            (f"{name} is {value}", 1.0) if isinstance(value, str) else (name, value) for name, value in values.items()
        )


def is_river(thing: Any) -> bool:
    """Whether something can be learned from and asked in River's way."""
    return callable(getattr(thing, "learn_one", None)) and callable(getattr(thing, "predict_proba_one", None))


def _chance(model: Any, fields: dict[str, Any]) -> float:
    given = model.predict_proba_one(fields) or {}
    if True not in given and False not in given:
        return math.nan  # it has seen neither
    chance = float(given.get(True, 0.0))
    return min(max(chance, 0.0), 1.0) if math.isfinite(chance) else math.nan
