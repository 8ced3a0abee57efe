"""A pseudo-terminal: the real program as somebody sees it who sits before it, and who may press Ctrl-C."""

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
from pathlib import Path

PATIENCE = 120.0  # seconds until a test gives up
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x1b]*\x1b\\")


@dataclass(frozen=True, slots=True)
class Seen:
    """How it ended, and all that was written to the terminal."""

    code: int
    raw: str

    @property
    def text(self) -> str:
        """Without colours and the like."""
        return CONTROL.sub("", self.raw).replace("\r\n", "\n")


def sit(*arguments: str, stop_at: str | None = None, columns: int = 80, cwd: Path | None = None, **more: str) -> Seen:
    """Run `suffice` in a terminal; Ctrl-C is pressed as soon as `stop_at` is to be read there."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    left_out = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "CI")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    process = subprocess.Popen(
        [sys.executable, "-m", "suffice", *arguments], stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd,
        start_new_session=True, preexec_fn=_own_terminal, env={**environment, "TERM": "xterm-256color", **more},
    )  # fmt: skip
    os.close(theirs)
    data, until = b"", time.monotonic() + PATIENCE
    try:
        while time.monotonic() < until:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    part = os.read(ours, 65536)
                except OSError:  # nobody holds the other end any more
                    break
                if not part:
                    break
                data += part
            if stop_at is not None and stop_at in CONTROL.sub("", data.decode(errors="replace")):
                os.write(ours, b"\x03")
                stop_at = None
        return Seen(process.wait(PATIENCE), data.decode(errors="replace"))
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _own_terminal() -> None:
    """Ctrl-C goes to who has the terminal: in a session of its own, that is the program."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
