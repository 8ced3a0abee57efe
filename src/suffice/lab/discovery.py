"""The experiments: every class with a name in the files of `lab/experiments/`, or in a user's file."""

import importlib.util
from collections.abc import Iterable
from pathlib import Path

from suffice.errors import InvalidArgument, quoted
from suffice.lab.experiment import Experiment
from suffice.lab.streams.discover import classes_of


def available() -> dict[str, type[Experiment]]:
    """All experiments of the package, by name, in the order of their places."""
    return _experiments(classes_of("suffice.lab.experiments"))


def from_file(path: str | Path) -> dict[str, type[Experiment]]:
    """The experiments in a user's Python file."""
    place = Path(path)
    spec = importlib.util.spec_from_file_location(f"suffice_experiment_{place.stem}", place)
    if not place.is_file() or spec is None or spec.loader is None:
        raise InvalidArgument(f"only must name an experiment or a Python file, got {quoted(str(path))}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kinds = _experiments(thing for thing in vars(module).values() if isinstance(thing, type) and hasattr(thing, "name"))
    if not kinds:
        raise InvalidArgument(f"{path} must hold a subclass of suffice.lab.Experiment with a name")
    return kinds


def _experiments(kinds: Iterable[type]) -> dict[str, type[Experiment]]:
    found = {kind.name: kind for kind in kinds if issubclass(kind, Experiment)}
    return dict(sorted(found.items(), key=lambda item: (item[1].place, item[0])))
