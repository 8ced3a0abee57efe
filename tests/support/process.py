"""`suffice serve` as a process of its own, with a log of events that tests wait for."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

PATIENCE = 120.0  # seconds; a machine may be slow
PLAN = {"menu": {"kind": "top_k", "ks": [5, 10, 20], "classes": 100}, "target": 0.9}
BARE = {name: value for name, value in os.environ.items() if not name.startswith("SUFFICE_")}


class Process:
    """A server, its log and where it listens."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.log = folder / f"{time.monotonic_ns()}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "suffice", "serve", "--log-format", "json", *flags],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder,
                env={**BARE, "SUFFICE_PORT": "0", "SUFFICE_NO_COMPILE": "1"},
            )  # fmt: skip

    def events(self, name: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"] == name]

    def wait(self, name: str) -> dict[str, Any]:
        """The first event of this name."""
        until = time.monotonic() + PATIENCE
        while not (found := self.events(name)):
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < until, self.log.read_text()
            time.sleep(0.02)
        return found[0]

    @property
    def address(self) -> str:
        return str(self.wait("started")["address"])

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def client(self, **more: Any) -> httpx.Client:
        return httpx.Client(base_url=self.address, timeout=PATIENCE, **more)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(PATIENCE)

    def ended(self) -> tuple[int, str]:
        """The exit code and the whole output of a server that could not start."""
        return self.process.wait(PATIENCE), self.log.read_text()


@contextmanager
def serving(folder: Path, *flags: str) -> Iterator[Process]:
    server = Process(folder, *flags)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()
