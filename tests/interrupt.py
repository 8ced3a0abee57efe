"""Interrupts where one wants them."""

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
