"""The experiments: every class with a name in the files of `lab/experiments/`, or in a user's file."""

from collections.abc import Iterable
from pathlib import Path

from suffice.errors import InvalidArgument, quoted
from suffice.lab.experiment import Experiment
from suffice.lab.streams.discover import classes_in, classes_of, run_file


def available() -> dict[str, type[Experiment]]:
    """All experiments of the package, by name, in the order of their places."""
    return _experiments(classes_of("suffice.lab.experiments"))


def from_file(path: str | Path) -> dict[str, type[Experiment]]:
    """The experiments in a user's Python file."""
    if not Path(path).is_file():
        raise InvalidArgument(f"only must name an experiment or a Python file, got {quoted(str(path))}")
    kinds = _experiments(classes_in(run_file(Path(path))))
    if not kinds:
        raise InvalidArgument(f"{path} must hold a subclass of suffice.lab.Experiment with a name")
    return kinds


def _experiments(kinds: Iterable[type]) -> dict[str, type[Experiment]]:
    found = {kind.name: kind for kind in kinds if issubclass(kind, Experiment)}
    return dict(sorted(found.items(), key=lambda item: (item[1].place, item[0])))
