"""What the snippets of these pages are given: `url`, the address of a real `suffice serve`, started once."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def service_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server on a port of its own, with an SQLite file; asked to stop when all is done."""
    folder = tmp_path_factory.mktemp("service")
    settings = {name: value for name, value in os.environ.items() if not name.startswith("SUFFICE_")}
    log = folder / "log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            [sys.executable, "-m", "suffice", "serve", "--port", "0", "--log-format", "json"],
            stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=folder, env=settings,
        )  # fmt: skip
    try:
        yield _address(server, log)
    finally:
        server.terminate()
        server.wait(60)


def _address(server: "subprocess.Popen[bytes]", log: Path) -> str:
    """Where the server says that it is. The first start on a machine compiles, which takes a while."""
    while server.poll() is None:
        for line in log.read_text().splitlines(keepends=True):
            if '"event": "started"' in line and line.endswith("\n"):
                return str(json.loads(line)["address"])
        try:
            server.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError(f"the server ended by itself:\n{log.read_text()}")


@pytest.fixture(autouse=True)
def names(doctest_namespace: dict[str, Any], service_url: str) -> None:
    """The names that snippets may use without saying where they come from."""
    doctest_namespace["url"] = service_url
