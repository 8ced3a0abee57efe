"""A file lock that the operating system releases when the process ends."""

import os
from pathlib import Path


class FileLock:
    """Held by one process at a time. The file itself stays behind and may be deleted."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    def take(self) -> bool:
        """Take the lock; False if another process holds it."""
        handle = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
        if not _lock(handle):
            os.close(handle)
            return False
        os.ftruncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        self._handle = handle
        return True

    def holder(self) -> str:
        """The process that holds it, in parentheses; empty if it cannot be read."""
        try:
            text = self._path.read_text().strip()
        except OSError:
            return ""
        return f" (process {text})" if text.isdigit() else ""

    def release(self) -> None:
        """Release the lock."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


try:
    import fcntl

    def _lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

except ImportError:  # Windows
    import msvcrt

    def _lock(handle: int) -> bool:
        try:
            os.lseek(handle, 1 << 20, os.SEEK_SET)  # beyond the text, which other processes read
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        os.lseek(handle, 0, os.SEEK_SET)
        return True
