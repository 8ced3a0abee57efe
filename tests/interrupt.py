"""Interrupts where one wants them."""

import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import suffice

INSIDE = str(Path(suffice.__file__).parent)  # not just the name: a clone may lie in a folder called suffice


class InterruptAt:
    """Raises KeyboardInterrupt at the n-th line executed inside suffice."""

    def __init__(self, line: int) -> None:
        self.left = line

    def strike(self) -> None:
        raise KeyboardInterrupt

    def __enter__(self) -> None:
        self.before = sys.gettrace()
        sys.settrace(self.trace)

    def __exit__(self, *_: object) -> None:
        sys.settrace(self.before)

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not frame.f_code.co_filename.startswith(INSIDE):
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                self.strike()
        return self.trace


def let_children_hear() -> None:
    """Children of this process start with Ctrl-C as a terminal has it, also where the process was told to ignore it.

    A shell tells its background jobs so, and a program that is started ignoring a signal goes on ignoring it; for a handler,
    the child gets the default. This one does nothing: the process itself stays as deaf as it was told to be.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: None)
