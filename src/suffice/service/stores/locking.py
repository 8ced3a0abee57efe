"""A lock on a file that ends with the process that holds it, however that ends."""

import os
from pathlib import Path


class FileLock:
    """Held by one process at a time. The file stays behind, and means nothing by itself."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    def take(self) -> bool:
        """Take the lock; False if another process has it."""
        handle = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
        if not _lock(handle):
            os.close(handle)
            return False
        os.ftruncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        self._handle = handle
        return True

    def whose(self) -> str:
        """Who has it, in words, if that can be read."""
        try:
            text = self._path.read_text().strip()
        except OSError:
            return ""
        return f" (process {text})" if text.isdigit() else ""

    def release(self) -> None:
        """Let go of it."""
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
            os.lseek(handle, 1 << 20, os.SEEK_SET)  # beyond what is written, so that it can still be read
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        os.lseek(handle, 0, os.SEEK_SET)
        return True
