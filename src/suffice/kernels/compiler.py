"""The one door to Numba. A function's compiled twin is made from the function itself and the functions it calls.

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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

import numpy as np

PACKAGE = Path(__file__).parent.parent
OFF = "SUFFICE_NO_COMPILE"  # set to anything, this variable switches compiling off
# What compiled code is made from. A change in any of it makes a new cache, so that no stale code is ever run.
SOURCES = ("numbers.py", "context", "fleet", "kernels", "learning", "promise", "selector")
READY = "ready"  # a file beside the machine code of asks and tells

SHORT = 240  # bytes of bytecode, by measurement
INLINED = "inlined_when_compiled"
Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_twins: dict[Callable[..., Any], Any] = {}
_entries: dict[Callable[..., Any], Any] = {}
_making: dict[Callable[..., Any], Any] = {}  # twins whose callees are not all in place yet
lock = threading.RLock()  # held by whoever compiles; a fork waits for it


def available() -> bool:
    """Whether functions can be compiled here: the extra `fast` is installed and not switched off."""
    return importlib.util.find_spec("numba") is not None and not os.environ.get(OFF)


def at_hand() -> bool:
    """Whether asks and tells are compiled already, by this process or an earlier one: then using that costs little."""
    return available() and (bool(_twins) or _ready())


@functools.cache  # once: what another process compiles later is not worth looking for at every creation
def _ready() -> bool:
    with contextlib.suppress(OSError, RuntimeError):
        return (_cache() / READY).exists()
    return False


@functools.cache  # once: a selector is made in less time than a file is touched
def note_ready() -> None:
    """Leave word for later processes that asks and tells are in the cache."""
    with contextlib.suppress(OSError, RuntimeError):
        if _cache().exists():
            (_cache() / READY).touch()


def compiled(function: Callable[..., Any]) -> Any:
    """The compiled twin of a function; the function itself where there is no compiler."""
    if not available():
        return function
    twin = _twins.get(function)
    if twin is None:
        with lock:
            twin = _twins.get(function) or _making.get(function) or _make(function)
    return twin


def inlined(function: Kernel) -> Kernel:
    """Marks a function that compiled code writes out where it is called: Numba's functions cannot return a record."""
    setattr(function, INLINED, True)
    return function


@functools.cache
def native(function: Callable[..., Any]) -> Any:
    """The bare machine code of a function, which holds the interpreter while it runs.

    For functions that take less time than Numba's look at the arguments' types: they must be exactly as annotated.
    """
    with lock:  # whoever comes second waits, and finds it made
        made = _entries.get(function)
        if made is None:
            kinds = tuple(_kind_of(one) for one in hints_of(function).values())
            made = _entries[function] = _make(function, alone=False).compile(kinds)
    return made


@functools.cache
def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """What each argument of a function is annotated as."""
    return {name: one for name, one in get_type_hints(function).items() if name != "return"}


def _kind_of(hint: Any) -> Any:
    """How compiled code takes what is annotated so: numbers, arrays of numbers, and tuples with named fields."""
    import numba

    types: Any = numba.types
    if hint in (int, float, bool):
        return {int: types.int64, float: types.float64, bool: types.boolean}[hint]
    if hint == Sequence[bool]:
        return types.Array(types.boolean, 1, "C")
    if hasattr(hint, "_fields"):
        return types.NamedTuple([_kind_of(one) for one in get_type_hints(hint).values()], hint)
    _, dtype = get_args(hint)
    return types.Array(numba.from_dtype(np.dtype(get_args(dtype)[0])), 1, "C")


def signatures() -> dict[str, int]:
    """How many signatures each function was compiled for in this process, by name: one each, or time is wasted."""
    return {f"{one.__module__}.{one.__qualname__}": len(twin.signatures) for one, twin in _twins.items()}


def _make(function: Callable[..., Any], *, alone: bool = True) -> Any:
    if not _twins and not _making:
        _say_once()
    names: dict[str, Any] = dict(function.__globals__)
    copy = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    copy.__dict__.update(function.__dict__)
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    twin = _decorated(copy, alone)
    outermost = not _making
    _making[function if alone else twin] = twin
    try:
        for name in function.__code__.co_names:
            called = function.__globals__.get(name)
            if isinstance(called, types.FunctionType) and called.__module__.startswith("suffice"):
                stand_in = getattr(called, "in_numba", None)  # what has a form of its own in compiled code
                names[name] = compiled(called) if stand_in is None else stand_in()
        if outermost:
            # Only now: a twin that another thread calls before its callees are in place is spoilt for good.
            _twins.update({key: made for key, made in _making.items() if key is not made})
    finally:
        if outermost:
            _making.clear()
    return twin


def _decorated(copy: types.FunctionType, alone: bool) -> Any:
    import numba

    # A short function costs more to compile by itself than to be written out wherever it is called.
    inline = "always" if hasattr(copy, INLINED) or (alone and len(copy.__code__.co_code) < SHORT) else "never"
    decorate = functools.partial(numba.njit, error_model="numpy", nogil=alone, inline=inline)
    # Numba decides where to cache when it decorates; other libraries keep the place that they chose.
    settings: Any = numba.config
    before = settings.CACHE_DIR
    try:
        settings.CACHE_DIR = str(_cache())
        twin = decorate(cache=True)(copy)
    except RuntimeError:  # nobody's home, or nowhere to write: then each process compiles for itself
        twin = decorate()(copy)
    finally:
        settings.CACHE_DIR = before
    return _without_literals(twin)


def _without_literals(twin: Any) -> Any:
    """Have a number that is written out in a call pass for any number: else each one has the function compiled again."""
    from numba.core import types as numba_types

    unliteral: Any = numba_types.unliteral
    find = twin.get_call_template
    twin.get_call_template = lambda args, kws: find(
        tuple(unliteral(one) for one in args), {name: unliteral(one) for name, one in kws.items()}
    )
    return twin


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
            print("suffice: compiling asks and tells, some ten seconds, only the first time", file=sys.stderr)
