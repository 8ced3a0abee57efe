"""Finding rivals: every class with a name in the files of this package. There is no list to maintain."""

import importlib
import inspect
import pkgutil

from suffice.errors import InvalidArgument
from suffice.rivals.base import Rival


def found() -> dict[str, type[Rival]]:
    """Every rival of this package by its name.

    >>> found()["scalar ACI"].feedback
    'success'
    """
    package = importlib.import_module("suffice.rivals")
    rivals: dict[str, type[Rival]] = {}
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if kind.__module__ != module.name or not issubclass(kind, Rival) or not hasattr(kind, "name"):
                continue  # merely imported there, or what some have in common
            if rivals.setdefault(kind.name, kind) is not kind:
                raise InvalidArgument(f"name must be one rival's alone, got {kind.name!r} twice")
    return dict(sorted(rivals.items(), key=lambda item: item[0].lower()))
