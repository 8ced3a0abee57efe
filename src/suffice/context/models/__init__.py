"""Models that predict success from the context: our own, and adapters. Neither scikit-learn nor River is imported here."""

from typing import TypeGuard

from suffice.context.models.base import Model
from suffice.context.models.function import FunctionModel
from suffice.context.models.logistic import LogisticModel
from suffice.context.models.river import RiverModel, is_river
from suffice.context.models.sklearn import SklearnModel, is_sklearn
from suffice.errors import InvalidArgument, quoted

__all__ = ["FunctionModel", "LogisticModel", "Model", "RiverModel", "SklearnModel", "as_model"]


def as_model(thing: object) -> Model:
    """A model from the name "auto", from a classifier or a function by an adapter, or from a model itself.

    >>> as_model(lambda context: [0.5, 0.9]).__class__.__name__
    'FunctionModel'
    """
    if isinstance(thing, str) and thing in ("auto", LogisticModel.name):
        return LogisticModel()
    if not isinstance(thing, type | str):
        if is_model(thing):
            return thing
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


def is_model(thing: object) -> TypeGuard[Model]:
    """Whether an object has the methods of a model."""
    return all(callable(getattr(thing, method, None)) for method in ("predict", "update"))
