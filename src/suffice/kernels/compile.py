"""One door to Numba. A function's compiled twin is made from the function itself and the functions it calls.

The plain functions stay what they are and can be called beside their twins; both give the same numbers: no fast-math, no
contraction, the same libm underneath. Nothing here imports Numba before a twin is asked for.
"""

import contextlib
import functools
import hashlib
import importlib.util
import os
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent.parent
# What compiled code is made from. A change in any of it makes a new cache, so that no stale code is ever run.
OFF = "SUFFICE_NO_COMPILE"  # set to anything, this variable switches compiling off
SOURCES = ("book.py", "checks.py", "kl.py", "kernels")

_twins: dict[Callable[..., Any], Any] = {}
_entries: dict[Callable[..., Any], Any] = {}
_making: dict[Callable[..., Any], Any] = {}  # twins whose callees are not all in place yet
_lock = threading.RLock()


def available() -> bool:
    """Whether functions can be compiled here: the extra `fast` is installed and not switched off."""
    return importlib.util.find_spec("numba") is not None and not os.environ.get(OFF)


def warm() -> bool:
    """Whether this process has compiled anything yet: then calling a kernel is cheaper than not to."""
    return bool(_twins) and available()


def fast(function: Callable[..., Any]) -> Any:
    """The compiled twin of a function; the function itself where there is no compiler."""
    if not available():
        return function
    twin = _twins.get(function)
    if twin is None:
        with _lock:
            twin = _twins.get(function) or _making.get(function) or _make(function)
    return twin


def twin_of(function: Callable[..., Any]) -> Any:
    """The same for who has made sure once that there is a compiler, in a tenth of the time."""
    return _twins.get(function) or fast(function)


def entry(function: Callable[..., Any], *kinds: str) -> Any:
    """The bare machine code of a function for arguments of these kinds, which holds the interpreter while it runs.

    For functions that take less time than Numba's look at the arguments' types: they must be exactly these.
    """
    made = _entries.get(function)
    if made is None:
        with _lock:
            made = _entries.get(function) or _make(function, alone=False).compile(f"({', '.join(kinds)},)")
            _entries[function] = made
    return made


def _make(function: Callable[..., Any], *, alone: bool = True) -> Any:
    if not _twins and not _making:
        _say_once()
    names: dict[str, Any] = dict(function.__globals__)
    copy = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    twin = _decorated(copy, alone)
    outermost = not _making
    _making[function if alone else twin] = twin
    try:
        for name in function.__code__.co_names:
            called = function.__globals__.get(name)
            if isinstance(called, types.FunctionType) and called.__module__.startswith("suffice"):
                names[name] = fast(called)
        if outermost:
            # Only now: a twin that another thread calls before its callees are in place is spoilt for good.
            _twins.update({key: made for key, made in _making.items() if key is not made})
    finally:
        if outermost:
            _making.clear()
    return twin


def _decorated(copy: types.FunctionType, alone: bool) -> Any:
    import numba

    compiled = functools.partial(numba.njit, error_model="numpy", nogil=alone)
    # Numba decides where to cache when it decorates; other libraries keep the place that they chose.
    settings: Any = numba.config
    before = settings.CACHE_DIR
    try:
        settings.CACHE_DIR = str(_cache())
        return compiled(cache=True)(copy)
    except RuntimeError:  # nobody's home, or nowhere to write: then each process compiles for itself
        return compiled()(copy)
    finally:
        settings.CACHE_DIR = before


@functools.cache  # once, not for each function
def _digest() -> str:
    """The state of the sources, in sixteen digits."""
    digest = hashlib.sha256()
    for name in SOURCES:
        place = PACKAGE / name
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _cache() -> Path:
    """A folder for this state of the sources, in the user's cache."""
    root = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "suffice" / _digest()


def _say_once() -> None:
    if sys.stderr is None or not sys.stderr.isatty():
        return
    with contextlib.suppress(OSError, RuntimeError):  # where nothing can be kept, it is not only the first time
        if not _cache().exists():
            print("suffice: compiling, some thirty seconds, only the first time", file=sys.stderr)
