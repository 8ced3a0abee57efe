"""Who may change a controller's state, and when: quick ways that take no lock, handlers that interrupt, and forks."""

import contextlib
import os
import threading
import weakref
from typing import TYPE_CHECKING, Any

from suffice.errors import ReentrantCall
from suffice.kernels import compiler

if TYPE_CHECKING:
    from suffice.selector.controller import Controller


class Careful:
    """Closes the quick ways while somebody works on the state in several steps. Only under the lock.

    A signal handler, or a finalizer, may be run by the very thread that holds the lock, in the middle of its work. It
    may look; if it wants to change something, it is refused, for what it changed would be written over.
    """

    __slots__ = ("_controller", "_reads")

    def __init__(self, controller: "Controller", *, reads: bool) -> None:
        self._controller, self._reads = controller, reads

    def __enter__(self) -> None:
        if not self._reads and self._controller.nested():
            raise ReentrantCall(
                "ask and tell must not be called from a signal handler or a finalizer that interrupts the same selector"
            )
        self._controller.close_quick_ways()

    def __exit__(self, *_: object) -> None:
        if not self._controller.nested():
            self._controller.open_quick_ways()


# A fork copies memory as it is at that instant. All controllers are locked while it happens, so that the child never
# starts from one that is half changed, nor with a lock that nobody will open.
_controllers: "weakref.WeakSet[Any]" = weakref.WeakSet()
_controllers_lock = threading.RLock()
_held: list[Any] = []


def guard(controller: "Controller") -> None:
    """Keep this controller whole through every fork from now on."""
    with _controllers_lock:
        _controllers.add(controller)


def _hold(lock: Any) -> None:
    _held.append(lock)  # first: an interrupt between the two lines must not leave a lock that nobody knows of
    lock.acquire()


def _before_fork() -> None:
    _hold(_controllers_lock)
    for controller in list(_controllers):
        _hold(controller.lock)
    _hold(compiler.lock)  # last: who holds a controller may be waiting for a compiler, and nobody the other way round


def _after_fork_in_child() -> None:
    try:
        for controller in list(_controllers):
            controller.mark_copied()
            controller.close_quick_ways()  # until it is asked the careful way, which marks what it issues from here on
    finally:
        _after_fork()


def _after_fork() -> None:
    try:
        _release()
    finally:
        _release()  # what is left if an interrupt struck


def _release() -> None:
    while _held:
        with contextlib.suppress(
            RuntimeError
        ):  # it is not ours: an interrupt kept us from acquiring it, or from this pop
            _held[-1].release()
        _held.pop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
