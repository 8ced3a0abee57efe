"""Servers as processes that tests start, stop and kill, and minimal HTTP connections to them."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATIENCE = 120.0  # seconds until a test fails for lack of an answer; the machine may be slow


class NoAnswer(Exception):
    """There was no complete answer, so the request may or may not have been executed."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and a body."""

    status: int
    body: Any

    @property
    def detail(self) -> str:
        """The sentence of an error."""
        return str(self.body.get("detail")) if isinstance(self.body, dict) else str(self.body)


class Wire:
    """A connection to one port, opened again when it was lost."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def call(self, method: str, path: str, body: Any = None, key: str | None = None) -> Answer:
        """Send a request; raises NoAnswer if there is no answer."""
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(data)}\r\n"
        head += "content-type: application/json\r\n" if data else ""
        head += f"idempotency-key: {key}\r\n" if key else ""
        try:
            async with asyncio.timeout(PATIENCE):
                if self._streams is None:
                    self._streams = await asyncio.open_connection("127.0.0.1", self._port)
                self._streams[1].write(head.encode() + b"\r\n" + data)
                return await self._answer(self._streams[0])
        except (OSError, EOFError, TimeoutError) as error:
            self.close()
            raise NoAnswer(f"{method} {path}: {type(error).__name__}") from error
        except BaseException:
            self.close()
            raise

    async def _answer(self, reader: asyncio.StreamReader) -> Answer:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
        headers = dict(line.split(": ", 1) for line in head[1:] if line)
        text = await reader.readexactly(int(headers["content-length"]))
        if headers.get("connection") == "close":
            self.close()
        body = json.loads(text) if "json" in headers.get("content-type", "") else text.decode()
        return Answer(int(head[0].split()[1]), body)

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            with suppress(RuntimeError):  # the event loop may be closed
                self._streams[1].close()
            self._streams = None


class Server:
    """`suffice serve` in a process of its own, at an address that stays the same when it is started again."""

    def __init__(self, store: str, folder: Path, **settings: str) -> None:
        self.store, self.port = store, free_port()
        self.settings = {"access_log": "false", "log_format": "json", **settings}
        self.log = folder / f"server-{self.port}.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; it answers 503 until it is ready."""
        command = [sys.executable, "-m", "suffice", "serve", "--store", self.store, "--port", str(self.port)]
        settings = {f"SUFFICE_{name.upper()}": value for name, value in self.settings.items()}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.log.parent, env={**os.environ, **settings}
            )  # fmt: skip

    async def ready(self) -> None:
        """Wait until it is ready."""
        wire, until = Wire(self.port), time.monotonic() + PATIENCE
        while True:
            assert self.process is not None
            assert self.process.poll() is None, f"the server ended by itself:\n{self.said()}"
            with suppress(NoAnswer):
                if (await wire.call("GET", "/readyz")).status == 200:
                    wire.close()
                    return
            assert time.monotonic() < until, f"the server does not become ready:\n{self.said()}"
            await asyncio.sleep(0.05)

    def kill(self) -> None:
        """Kill it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def stop(self) -> int:
        """Stop it in order; returns its exit code."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(PATIENCE)

    def said(self, most: int = 4000) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-most:] if self.log.exists() else ""

    def failures(self) -> list[str]:
        """The errors and tracebacks in its log."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return [line for line in lines if '"level": "error"' in line or "Traceback" in line]


@contextmanager
def servers(store: str, folder: Path, count: int = 1) -> Iterator[list[Server]]:
    """Servers on one store, started together and killed afterwards."""
    some = [Server(store, folder) for _ in range(count)]
    try:
        for server in some:
            server.start()
        yield some
    finally:
        for server in some:
            server.kill()


async def all_ready(some: list[Server]) -> None:
    """Wait until all of them are ready."""
    await asyncio.gather(*(server.ready() for server in some))


def free_port() -> int:
    """A port that is not in use."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
