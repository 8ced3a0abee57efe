"""What looks at the context and predicts success: our own model, and adapters. Neither sklearn nor river is imported."""

from typing import Any

from suffice.context.models.base import Model
from suffice.context.models.function import FunctionModel
from suffice.context.models.logistic import LogisticModel
from suffice.context.models.river import RiverModel, is_river
from suffice.context.models.sklearn import SklearnModel, is_sklearn
from suffice.errors import InvalidArgument, quoted

__all__ = ["FunctionModel", "LogisticModel", "Model", "RiverModel", "SklearnModel", "as_model"]


def as_model(thing: Any) -> Model:
    """Our own by its name, a model as it is, or the adapter that makes one of a classifier or a function.

    >>> as_model(lambda context: [0.5, 0.9]).__class__.__name__
    'FunctionModel'
    """
    if isinstance(thing, str) and thing in ("auto", LogisticModel.name):
        return LogisticModel()
    if not isinstance(thing, type | str):
        if all(callable(getattr(thing, method, None)) for method in ("predict", "update")):
            own: Model = thing
            return own
        if is_sklearn(thing):
            return SklearnModel(thing)
        if is_river(thing):
            return RiverModel(thing)
        if callable(thing):
            return FunctionModel(thing)
    raise InvalidArgument(
        f'model must be "auto", an object with predict and update, a scikit-learn classifier with partial_fit, a River '
        f"classifier, or a function from a context to probabilities, got {quoted(thing)}"
    )
