"""The only module that imports Numba. A function's compiled twin is made from the function itself and those it calls.

Plain functions do not change and can be called beside their twins; both return the same numbers: no fast-math, no
contraction, the same libm. Numba is imported when the first twin is made, not before.
"""

import contextlib
import functools
import importlib.util
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args, get_type_hints

import numpy as np

from suffice.errors import ReentrantCall

if TYPE_CHECKING:
    from pathlib import Path

    from numba.core.dispatcher import Dispatcher
    from numba.core.types import Type

    Twin = Dispatcher[types.FunctionType]

OFF = "SUFFICE_NO_COMPILE"  # set to anything, this variable switches compiling off
# What compiled code is made from. A change in any of these files makes a new cache, so that no stale code runs.
SOURCES = ("numbers.py", "context", "fleet", "kernels", "learning", "promise", "selector")
READY = "ready"  # a file in the cache: the machine code of asks and tells is there

SHORT = 240  # bytes of bytecode, by measurement
INLINED = "inlined_when_compiled"
Function = Callable[..., object]
Kernel = TypeVar("Kernel", bound=Function)

_twins: "dict[Function, Twin]" = {}
_entries: dict[Function, Callable[..., Any]] = {}
_making: "dict[object, Twin]" = {}  # twins whose callees are not all in place yet
_compiling: int | None = None  # the thread that compiles
lock = threading.RLock()  # held while a thread compiles; a fork waits for it


def available() -> bool:
    """Whether functions can be compiled here: the extra `fast` is installed and not switched off."""
    return _installed() and not os.environ.get(OFF)


@functools.cache  # once: a search on the disk takes longer than a selector is made in
def _installed() -> bool:
    return importlib.util.find_spec("numba") is not None


def at_hand() -> bool:
    """Whether asks and tells are compiled already, by this process or an earlier one: then using that costs little."""
    return available() and (bool(_twins) or _ready())


@functools.cache  # once: what other processes compile later is not worth a look at the disk for each selector
def _ready() -> bool:
    with contextlib.suppress(OSError, RuntimeError):
        return (_cache() / READY).exists()
    return False


@functools.cache  # once: a selector is made in less time than a file is touched
def note_ready() -> None:
    """Record for later processes that asks and tells are in the cache."""
    with contextlib.suppress(OSError, RuntimeError):
        if _cache().exists():
            (_cache() / READY).touch()


def compiled(function: Function) -> Any:
    """The compiled twin of a function; the function itself where there is no compiler."""
    if not available():
        return function
    twin = _twins.get(function)
    if twin is None:
        with _alone():
            twin = _twins.get(function) or _make(function)
    return twin


def _callee(function: Function) -> "Twin":
    """The twin of a function that another twin calls, even if compiling has been switched off meanwhile."""
    return _twins.get(function) or _making.get(function) or _make(function)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Hold the lock to compile. Refuse a signal handler that interrupts its own thread while it compiles.

    Twins whose callees are missing would be compiled and stay broken, and LLVM is in the middle of a change.
    """
    global _compiling
    numba_lock = getattr(sys.modules.get("numba.core.compiler_lock"), "global_compiler_lock", None)
    if _compiling == threading.get_ident() or (numba_lock is not None and numba_lock.is_locked()):
        raise ReentrantCall(
            "a signal handler interrupted the compiler, which it needs: call suffice.warmup() before signals arrive"
        )
    with lock:
        _compiling = threading.get_ident()
        try:
            yield
        finally:
            _compiling = None


def inlined(function: Kernel) -> Kernel:
    """Mark a function that compiled code inlines where it is called: Numba's functions cannot return a record."""
    setattr(function, INLINED, True)
    return function


@functools.cache
def native(function: Function) -> Callable[..., Any]:
    """The machine code of a function without Numba's dispatch; it holds the interpreter lock while it runs.

    For functions that take less time than a dispatch on the types of arguments: these must be exactly as annotated.
    """
    with _alone():  # a second thread waits, and then finds the function made
        entry = _entries.get(function)
        if entry is None:
            kinds = tuple(_kind_of(hint) for hint in hints_of(function).values())
            entry = _entries[function] = _make(function, alone=False).compile(kinds)
    return entry


@functools.cache
def hints_of(function: Function) -> dict[str, object]:
    """The annotation of each argument of a function."""
    return {name: hint for name, hint in get_type_hints(function).items() if name != "return"}


def _kind_of(hint: object) -> "Type":
    """Numba's type for an annotation: a number, an array of numbers, or a tuple with named fields."""
    import numba

    types: Any = numba.types  # the stubs lack most of its names
    kind: Type
    if hint in (int, float, bool):
        kind = {int: types.int64, float: types.float64, bool: types.boolean}[cast("type", hint)]
    elif hint == Sequence[bool]:
        kind = types.Array(types.boolean, 1, "C")
    elif hasattr(hint, "_fields"):
        kind = types.NamedTuple([_kind_of(part) for part in get_type_hints(hint).values()], hint)
    else:
        _, dtype = get_args(hint)
        kind = types.Array(numba.from_dtype(np.dtype(get_args(dtype)[0])), 1, "C")
    return kind


def signatures() -> dict[str, int]:
    """How many signatures each function has in this process, by name. More than one each wastes time on compiling."""
    return {f"{function.__module__}.{function.__qualname__}": len(twin.signatures) for function, twin in _twins.items()}


def _make(given: Function, *, alone: bool = True) -> "Twin":
    function = cast("types.FunctionType", given)
    if not _twins and not _making:
        _announce_first_time()
    names: dict[str, object] = dict(function.__globals__)
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
                stand_in = getattr(called, "in_numba", None)  # where compiled code needs another function
                names[name] = _callee(called) if stand_in is None else stand_in()
        if outermost:
            # Only now: a twin that another thread calls before its callees are in place stays broken.
            _twins.update({key: made for key, made in _making.items() if isinstance(key, types.FunctionType)})
    finally:
        if outermost:
            _making.clear()
    return twin


def _decorated(copy: types.FunctionType, alone: bool) -> "Twin":
    import numba

    # A short function costs more to compile by itself than to inline wherever it is called.
    inline = "always" if hasattr(copy, INLINED) or (alone and len(copy.__code__.co_code) < SHORT) else "never"
    decorate = functools.partial(numba.njit, error_model="numpy", nogil=alone, inline=inline)
    # Numba reads the cache's folder when it decorates; restored, the setting of other libraries is kept.
    settings: Any = numba.config
    before = settings.CACHE_DIR
    try:
        settings.CACHE_DIR = str(_cache())
        twin = decorate(cache=True)(copy)
    except RuntimeError:  # no home folder, or none that can be written: then each process compiles for itself
        twin = decorate()(copy)
    finally:
        settings.CACHE_DIR = before
    return _without_literals(twin)


def _without_literals(twin: Any) -> "Twin":
    """Treat a literal number in a call like any number: else the function is compiled again for each literal."""
    from numba.core import types as numba_types

    unliteral: Any = numba_types.unliteral
    find = twin.get_call_template
    twin.get_call_template = lambda args, kws: find(
        tuple(unliteral(kind) for kind in args), {name: unliteral(kind) for name, kind in kws.items()}
    )
    result: Twin = twin
    return result


@functools.cache  # once, not for each function
def _digest() -> str:
    """Sixteen digits that change whenever a source changes."""
    from pathlib import Path  # loading it takes longer than a first ask

    places = [Path(__file__).parent.parent / name for name in SOURCES]
    files = [file for place in places for file in (sorted(place.rglob("*.py")) if place.is_dir() else [place])]
    return importlib.util.source_hash(b"".join(file.read_bytes() for file in files)).hex()


def _cache() -> "Path":
    """The folder for these sources, in the user's cache."""
    from pathlib import Path

    root = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "suffice" / _digest()


def _announce_first_time() -> None:
    if sys.stderr is None or not sys.stderr.isatty():
        return
    with contextlib.suppress(OSError, RuntimeError):  # without a cache it is not only the first time
        if not _cache().exists():
            print("suffice: compiling asks and tells, some ten seconds, only the first time", file=sys.stderr)
