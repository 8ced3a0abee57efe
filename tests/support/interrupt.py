"""Interrupts at a chosen line."""

import dis
import functools
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
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
        if event == "line" and frame.f_lasti not in sheltered(frame.f_code):
            self.left -= 1
            if self.left == 0:
                self.strike()
        return self.trace


class CallAt(InterruptAt):
    """Calls something at the n-th line executed inside suffice, as a signal handler would, and goes on."""

    def __init__(self, line: int, call: Callable[[], object]) -> None:
        super().__init__(line)
        self.call = call
        self.struck = self.refused = False

    def strike(self) -> None:
        sys.settrace(None)
        self.struck = True
        try:
            self.call()
        except suffice.ReentrantCall:
            self.refused = True


@functools.cache
def sheltered(code: CodeType) -> frozenset[int]:
    """Where Python runs no signal handler, though it says that a line begins: at `try:`, and where a with block ends.

    Python looks for signals after calls, at backward jumps and where a function begins, and at no instruction between the
    last line of a block and the call of `__exit__`: else no lock could ever be held safely.
    """
    steps = list(dis.get_instructions(code))
    found = {step.offset for step in steps if step.opname == "NOP"}
    for place, step in enumerate(steps[:-3]):
        ahead = steps[place : place + 4]
        if all(one.opname == "LOAD_CONST" and one.argval is None for one in ahead[:3]) and "CALL" in ahead[3].opname:
            # A value that is returned is put aside first.
            found.add(steps[place - 1].offset if steps[place - 1].opname == "SWAP" else step.offset)
    return frozenset(found)


def restore_interrupts_in_children() -> None:
    """Let Ctrl-C interrupt children of this process, also where the process itself ignores it.

    A shell starts its background jobs so that they ignore Ctrl-C, and children inherit that. With a handler in its place, a
    child gets the default. This handler does nothing, so the process itself still ignores Ctrl-C.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: None)
