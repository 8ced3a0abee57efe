"""When a controller's state may change: the fast path takes no lock; handlers may interrupt; a process may fork."""

import contextlib
import os
import threading
import weakref
from typing import TYPE_CHECKING, Protocol

from suffice.errors import ReentrantCall
from suffice.kernels import compiler

if TYPE_CHECKING:
    from suffice.selector.controller import Controller


class Lock(Protocol):
    """The lock of a controller, of the compiler, or of this module."""

    def acquire(self) -> bool: ...

    def release(self) -> None: ...


class SlowPath:
    """Closes the fast path while the state changes in several steps. Enter it only under the lock.

    The thread that holds the lock may run a signal handler or a finalizer in the middle of its work. A handler may read; a
    change is refused, because the interrupted work would overwrite it.
    """

    __slots__ = ("_controller", "_reads")

    def __init__(self, controller: "Controller", *, reads: bool) -> None:
        self._controller, self._reads = controller, reads

    def __enter__(self) -> None:
        if not self._reads and is_nested(self._controller.lock):
            raise ReentrantCall(
                "ask and tell must not be called from a signal handler or a finalizer that interrupts the same selector"
            )
        self._controller.close_fast_path()

    def __exit__(self, *_: object) -> None:
        if not is_nested(self._controller.lock):
            self._controller.open_fast_path()


def is_nested(lock: threading.RLock) -> bool:
    """Whether the thread that holds the lock holds it twice."""
    count = getattr(lock, "_recursion_count", None)
    return bool(count() > 1 if count is not None else "count=1 " not in repr(lock))


# A fork copies memory as it is at that instant. All controllers are locked while it happens, so that no controller of the
# child is half changed, and none of its locks stays closed.
_controllers: "weakref.WeakSet[Controller]" = weakref.WeakSet()
_controllers_lock = threading.RLock()
_held: list[Lock] = []


def guard(controller: "Controller") -> None:
    """Lock this controller during every fork from now on."""
    with _controllers_lock:
        _controllers.add(controller)


def _hold(lock: Lock) -> None:
    _held.append(lock)  # first: an interrupt between the two lines must not leave a lock that is held and not listed
    lock.acquire()


def _before_fork() -> None:
    _hold(_controllers_lock)
    for controller in list(_controllers):
        _hold(controller.lock)
    _hold(compiler.lock)  # last: a thread that holds a controller may wait for the compiler, never the reverse


def _after_fork_in_child() -> None:
    try:
        for controller in list(_controllers):
            controller.mark_copied()
            controller.close_fast_path()  # until an ask on the slow path gives its decisions a new key
    finally:
        _after_fork()


def _after_fork() -> None:
    try:
        _release()
    finally:
        _release()  # what an interrupt has left


def _release() -> None:
    while _held:
        with contextlib.suppress(RuntimeError):  # not held: an interrupt came before the acquire, or before the pop
            _held[-1].release()
        _held.pop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
