"""Which experiments there are: every class with a name in the files of `lab/experiments/`, or in a file of your own."""

import importlib
import importlib.util
import inspect
import pkgutil
from pathlib import Path

from suffice.errors import InvalidArgument, quoted
from suffice.lab import experiments as package
from suffice.lab.experiment import Experiment


def available() -> dict[str, type[Experiment]]:
    """All experiments of the package, by name, in the order of the report."""
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    kinds: dict[str, type[Experiment]] = {}
    for name in names:
        kinds.update(_classes(importlib.import_module(f"{package.__name__}.{name}")))
    return dict(sorted(kinds.items(), key=lambda item: (item[1].place, item[0])))


def from_file(path: str | Path) -> dict[str, type[Experiment]]:
    """The experiments in a Python file of one's own."""
    place = Path(path)
    if not place.is_file():
        raise InvalidArgument(f"only must name an experiment or a Python file, got {quoted(str(path))}")
    spec = importlib.util.spec_from_file_location(f"suffice_experiment_{place.stem}", place)
    if spec is None or spec.loader is None:
        raise InvalidArgument(f"only must name a Python file, got {quoted(str(path))}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kinds = _classes(module)
    if not kinds:
        raise InvalidArgument(f"{path} must hold a subclass of suffice.lab.Experiment with a name")
    return kinds


def _classes(module: object) -> dict[str, type[Experiment]]:
    kinds = [
        kind
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, Experiment) and kind.__module__ == module.__name__ and hasattr(kind, "name")  # type: ignore[attr-defined]
    ]
    return {kind.name: kind for kind in sorted(kinds, key=lambda kind: kind.name)}
