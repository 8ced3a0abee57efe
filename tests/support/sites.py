"""A service for browser tests: a process, called without an event loop, and filled with decisions."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from suffice.service.http.decision_ids import to_number
from tests.support.servers import PATIENCE, Server

ROUTER: dict[str, Any] = {
    "menu": {
        "kind": "options",
        "options": {"small": 0.1, "large": 0.4, "a person": 1.0},
        "safe": "a person",
        "skip": "skip",
    },
    "target": 0.9,
}
MANY: dict[str, Any] = {
    "menu": {"kind": "top_k", "ks": list(range(1, 19_999)), "classes": 20_000, "skip": True},
    "target": 0.9,
}
HOSTILE = "<img src=x onerror=alert(1)>"
LONG = "a-name-that-says-everything-known-of-it.production.eu-west-1.v2"

Judge = Callable[[dict[str, Any]], float]


def honest(asked: dict[str, Any]) -> float:
    """The safe option succeeds, a skip fails, and the others succeed four times out of five."""
    if asked["safe"] or asked["skip"]:
        return float(asked["safe"])
    return float(to_number(asked["decision"]) % 5 != 0)


def failing(asked: dict[str, Any]) -> float:
    """Every option fails, the safe one too."""
    return 0.0


class Site(Server):
    """A server, its API and its page."""

    def __init__(self, folder: Path, store: str = "memory:", **settings: str) -> None:
        super().__init__(store, folder, **{"no_compile": "1", **settings})
        self.origin = f"http://127.0.0.1:{self.port}"
        self.url = self.origin + "/"
        self.http = httpx.Client(base_url=self.origin, timeout=PATIENCE)

    def up(self) -> "Site":
        """Start it, and wait until it is ready."""
        self.start()
        until = time.monotonic() + PATIENCE
        while True:
            assert self.process is not None
            assert self.process.poll() is None, f"the server ended by itself:\n{self.said()}"
            with suppress(httpx.TransportError):
                if self.http.get("/readyz").status_code == 200:
                    return self
            assert time.monotonic() < until, f"the server does not become ready:\n{self.said()}"
            time.sleep(0.05)

    # --- its API

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The answer to a call that must succeed."""
        answer = self.http.request(method, f"/v1/selectors{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def make(self, name: str, plan: dict[str, Any] | None = None, **changes: Any) -> str:
        """Make a selector; its name."""
        self.call("PUT", f"/{name}", {**(plan or ROUTER), **changes})
        return name

    def ask(self, name: str, count: int = 1, **more: Any) -> list[dict[str, Any]]:
        """Ask for some decisions at once."""
        found: list[dict[str, Any]] = self.call("POST", f"/{name}/ask", {"count": count, **more})["decisions"]
        return found

    def tell(self, name: str, asked: list[dict[str, Any]], judge: Judge = honest) -> None:
        """Tell how they went."""
        told = [{"decision": one["decision"], "success": judge(one)} for one in asked]
        results = self.call("POST", f"/{name}/tell", told)["results"]
        assert {one["status"] for one in results} == {200}, results

    def flow(self, name: str, count: int, judge: Judge = honest, at_once: int = 10, **more: Any) -> None:
        """Ask and tell, some decisions at a time."""
        for begin in range(0, count, at_once):
            self.tell(name, self.ask(name, min(at_once, count - begin), **more), judge)

    def known(self, name: str) -> dict[str, Any]:
        """The overview of a selector."""
        found: dict[str, Any] = self.call("GET", f"/{name}")
        return found

    def key(self, *scopes: str) -> str:
        """A new key."""
        flags = [flag for scope in scopes for flag in ("--scope", scope)]
        command = [sys.executable, "-m", "suffice", "keys", "create", "test", *flags, "--store", self.store]
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=self.log.parent).stdout.strip()


@contextmanager
def serving(folder: Path, store: str = "memory:", **settings: str) -> Iterator[Site]:
    """A site that is ready; afterwards it is stopped, and its log must hold no failures."""
    one = Site(folder, store, **settings)
    try:
        yield one.up()
        assert one.failures() == []
    finally:
        one.kill()
        one.http.close()


# --- selectors that are in trouble


def fail_until(site: Site, name: str, status: str) -> None:
    """Tell failures, one at a time, until a selector is in this state."""
    for _ in range(200):
        if site.known(name)["status"] == status:
            return
        site.flow(name, 1, failing)
    raise AssertionError(f"{name} does not become {status}: {site.known(name)}")


def lose_all(site: Site, name: str) -> str:
    """A selector none of whose outcomes are told: of 20 decisions the first expired, and 19 forced safe plays were lost."""
    site.make(name, expire_after=0.2, max_debt=1, in_flight=0)
    site.ask(name, 20)
    until = time.monotonic() + 30
    while site.known(name)["pending"]:
        assert time.monotonic() < until
        time.sleep(0.1)
    return name
