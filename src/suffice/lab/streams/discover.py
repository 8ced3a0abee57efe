"""Finding streams: those in this package, and those in a file of your own. There is no list to maintain."""

import importlib
import importlib.util
import os
import pkgutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from suffice.errors import InvalidArgument, quoted
from suffice.simulator import Stream

NEEDED = ("draw", "outcome")
Kind = type[Any]  # a class with a `name`


def available() -> dict[str, Kind]:
    """Every stream of this package by its name.

    >>> available()["trap"](first=10, last=20).menu.n_arms
    3
    """
    return dict(sorted(by_name("stream", classes_of("suffice.lab.streams")).items()))


def maker(kind: Kind) -> Callable[..., Stream]:
    """What makes a stream from settings: its `from_settings`, or else its constructor."""
    made: Callable[..., Stream] = getattr(kind, "from_settings", kind)
    return made


def classes_of(package: str) -> list[Kind]:
    """The classes with a name in all modules of a package."""
    modules = pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}.")
    return [kind for module in modules for kind in _stream_classes(importlib.import_module(module.name))]


def by_name(what: str, kinds: Iterable[Kind], where: str = "") -> dict[str, Kind]:
    """Classes by their names, of which no two may be the same."""
    kinds_by_name: dict[str, Kind] = {}
    for kind in kinds:
        if kinds_by_name.setdefault(kind.name, kind) is not kind:
            raise InvalidArgument(f"name must be one {what}'s alone, got {kind.name!r} twice{where}")
    return kinds_by_name


def from_file(path: str | os.PathLike[str]) -> dict[str, Kind]:
    """Every stream in a Python file of your own, by its name: each class that has a `name`. The file is run.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mine.py"
    >>> _ = path.write_text('''
    ... import suffice
    ...
    ... class Coins:
    ...     name = "coins"
    ...     menu = suffice.Menu({"half": 0.5, "all": 1.0}, safe="all")
    ...
    ...     def draw(self, rng, count):
    ...         return rng.random(count)
    ...
    ...     def outcome(self, latent, arm, price):
    ...         return (latent < 0.5, 0.5) if arm == 0 else (True, 1.0)
    ... ''')
    >>> list(from_file(path))
    ['coins']
    """
    if not isinstance(path, str | os.PathLike) or Path(path).suffix != ".py" or not Path(path).is_file():
        raise InvalidArgument(f"path must name a Python file, got {quoted(path)}")
    kinds = _stream_classes(_run(Path(path)))
    for kind in kinds:
        missing = [method for method in NEEDED if not callable(getattr(kind, method, None))]
        if missing:
            raise InvalidArgument(
                f"class {kind.__name__} must have {', '.join(missing)}, got none in {quoted(str(path))}"
            )
    if not kinds:
        raise InvalidArgument(f"path must hold a class with a `name`, a text, got {quoted(str(path))} without")
    return by_name("stream", kinds, f" in {quoted(str(path))}")


def _stream_classes(module: ModuleType) -> list[Kind]:
    """The classes with a name that are defined in a module, not imported by it."""
    kinds = [
        thing for thing in vars(module).values() if isinstance(thing, type) and thing.__module__ == module.__name__
    ]
    unique = dict.fromkeys(kinds)  # an alias is no second stream
    return [
        kind for kind in unique if isinstance(getattr(kind, "name", None), str) and not kind.__name__.startswith("_")
    ]


def _run(path: Path) -> ModuleType:
    name = f"suffice_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InvalidArgument(f"path must name a Python file, got {quoted(str(path))}")
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(name)
    sys.modules[name] = module  # dataclasses and pickle find the module of a class there
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # a user's file may raise anything
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        why = f"{type(error).__name__}: {error}".splitlines()[0][:100]
        raise InvalidArgument(f"path must name a file that runs, got {quoted(str(path))}: {why}") from error
    return module
