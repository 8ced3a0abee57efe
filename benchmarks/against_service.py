"""The service of a version: `suffice serve` as a process of its own, and some connections that keep it busy.

What is timed is the CPU of the server's process. The client sends a request on every connection before it reads the answers,
so that the server has as much to do at once as it would have with that many clients.
"""

import functools
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from benchmarks.against_cases import Player
from benchmarks.against_names import in_plan
from benchmarks.service_load import POST, PUT, request

PLAN: Final = {
    "menu": {"kind": "top_k", "ks": [5, 10, 20, 50], "classes": 100, in_plan("skip"): True}, "target": 0.9
}  # fmt: skip
CONNECTIONS: Final = 16
PATIENCE: Final = 120.0


class Serving:
    """A server and connections to it."""

    def __init__(self, store: str) -> None:
        self._folder = tempfile.TemporaryDirectory()
        address = "memory:" if store == "memory" else f"sqlite:///{Path(self._folder.name) / 'suffice.db'}"
        port = _free_port()
        settings = {"SUFFICE_ACCESS_LOG": "false", "SUFFICE_LOG_LEVEL": "error"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "suffice", "serve", "--store", address, "--port", str(port)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self._folder.name,
            env={**os.environ, **settings},
        )  # fmt: skip
        self._tasks = Path(f"/proc/{self._process.pid}/task")
        self._wait(port)
        self.lines = [Line(port) for _ in range(CONNECTIONS)]
        self.lines[0].send(request(PUT, "/v1/selectors/router", PLAN))
        self.lines[0].receive()

    def _wait(self, port: int) -> None:
        until = time.monotonic() + PATIENCE
        while True:
            with suppress(OSError, RuntimeError):
                line = Line(port)
                line.send(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n")
                line.receive()
                line.close()
                return
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the server does not become ready, exit code {self._process.poll()}")
            time.sleep(0.05)

    def cpu(self) -> float:
        """Seconds of CPU that the server has used, all threads together."""
        total = 0.0
        for task in self._tasks.iterdir():
            with suppress(OSError):
                total += int((task / "schedstat").read_text().split()[0]) * 1e-9
        return total

    def all(self, bodies: list[Any], path: str) -> list[Any]:
        """A request on each connection, then the answers."""
        for line, body in zip(self.lines, bodies, strict=True):
            line.send(request(POST, path, body))
        return [line.receive() for line in self.lines]

    def stop(self) -> None:
        """End it."""
        for line in self.lines:
            line.close()
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()


class Line:
    """A connection that stays open."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""

    def send(self, data: bytes) -> None:
        """Send a request."""
        self._socket.sendall(data)

    def receive(self) -> Any:
        """The answer's body; an error if it is none of success."""
        while (head := self._buffer.find(b"\r\n\r\n")) < 0:
            self._more()
        place = self._buffer.lower().find(b"content-length: ", 0, head) + 16
        end = head + 4 + int(self._buffer[place : self._buffer.find(b"\r", place)])
        while len(self._buffer) < end:
            self._more()
        status, body = self._buffer[9:12], self._buffer[head + 4 : end]
        self._buffer = self._buffer[end:]
        if status not in (b"200", b"201"):
            raise RuntimeError(f"{status.decode()}: {body[:200].decode(errors='replace')}")
        return json.loads(body) if body.startswith(b"{") else body

    def _more(self) -> None:
        data = self._socket.recv(65_536)
        if not data:
            raise RuntimeError("the server hung up")
        self._buffer += data

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


class Client(Player):
    """Steps of one request, or one pair of them, on every connection."""

    def __init__(self, store: str, tells: bool) -> None:
        super().__init__(self._run, unit=CONNECTIONS)
        self._serving, self._tells = Serving(store), tells
        self._run(20)

    def _run(self, count: int) -> None:
        for place in range(count):
            answers = self._serving.all([{}] * CONNECTIONS, "/v1/selectors/router/ask")
            if self._tells:
                outcomes = [{"decision": one["decision"], "success": place % 10 > 0} for one in answers]
                self._serving.all(outcomes, "/v1/selectors/router/tell")

    def timed(self, count: int) -> float:
        """CPU of the server."""
        before = self._serving.cpu()
        self._run(count)
        return self._serving.cpu() - before

    def close(self) -> None:
        """Stop the server."""
        self._serving.stop()


def asking(store: str) -> Callable[[], Player]:
    """Asks alone."""
    return functools.partial(Client, store, False)


def pairing(store: str) -> Callable[[], Player]:
    """Each decision is told."""
    return functools.partial(Client, store, True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
