"""A pseudo-terminal: the real program as a user of a terminal sees it, who may press Ctrl-C."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from dataclasses import dataclass

TIMEOUT = 120.0  # seconds
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x1b]*\x1b\\")


@dataclass(frozen=True, slots=True)
class Session:
    """The exit code, and all that was written to the terminal."""

    code: int
    raw: str

    @property
    def text(self) -> str:
        """Without colours and the like."""
        return CONTROL.sub("", self.raw).replace("\r\n", "\n")


def run_in_terminal(*arguments: str, stop_at: str | None = None, **more: str) -> Session:
    """Run `suffice` in a terminal; press Ctrl-C as soon as `stop_at` appears there."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 80, 0, 0))
    left_out = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "CI")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    process = subprocess.Popen(
        [sys.executable, "-m", "suffice", *arguments], stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True, preexec_fn=_control_terminal, env={**environment, "TERM": "xterm-256color", **more},
    )  # fmt: skip
    os.close(theirs)
    data, until = b"", time.monotonic() + TIMEOUT
    try:
        while time.monotonic() < until:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    part = os.read(ours, 65536)
                except OSError:  # the other end is closed
                    break
                if not part:
                    break
                data += part
            if stop_at is not None and stop_at in CONTROL.sub("", data.decode(errors="replace")):
                os.write(ours, b"\x03")
                stop_at = None
        return Session(process.wait(TIMEOUT), data.decode(errors="replace"))
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _control_terminal() -> None:
    """Make the terminal the controlling one of the new session, so that Ctrl-C reaches the program."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
