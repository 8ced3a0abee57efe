"""The real service in this process, for tests of the client: it records requests, and fails on demand."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, TypeVar

import httpx

from suffice.service.http.app import make_app
from suffice.service.http.decision_ids import to_id
from suffice.service.http.settings import Settings
from suffice.service.selectors import SelectorService
from suffice.service.stores import open_store

Got = TypeVar("Got")


class Late:
    """Do what is requested, and lose the answer."""


class LocalService:
    """Answers requests. The next requests meet `trouble`, one each: a status, a response, an error, or `Late`.

    While it is set, `override` may answer any request instead.
    """

    def __init__(self) -> None:
        self.key: str | None = None
        self.down = False
        self.trouble: list[int | httpx.Response | Exception | type[Late]] = []
        self.override: Callable[[httpx.Request], httpx.Response | None] | None = None
        self.requests: list[httpx.Request] = []
        self._loop = asyncio.new_event_loop()  # in a thread, so that clients of both kinds can call it
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._service = SelectorService(open_store("memory:"))
        app = make_app(self._service, Settings(access_log=False))
        self._http = httpx.AsyncClient(transport=httpx.ASGITransport(app, client=("127.0.0.1", 1)))
        self._run(self._service.start())

    def close(self) -> None:
        """Stop it."""
        self._run(self._service.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Got]) -> Got:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if self.down:
            raise httpx.ConnectError("connection refused", request=request)
        trouble = self.trouble.pop(0) if self.trouble else None
        if isinstance(trouble, int):
            return problem(trouble, f"trouble {trouble}")
        if isinstance(trouble, httpx.Response):
            return trouble
        if isinstance(trouble, Exception):
            raise trouble
        response = (self.override(request) if self.override else None) or self._answer(request)
        if trouble is Late:
            raise httpx.ReadTimeout("too late", request=request)
        return response

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
            return problem(401, "the key is not known")
        path = "/v1" + request.url.raw_path.decode().partition("/v1")[2]
        headers = {name: value for name, value in request.headers.items() if name not in ("host", "authorization")}
        return self.call(request.method, path.replace("limit=100", "limit=2"), request.content, headers)

    def call(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> httpx.Response:
        """An answer of the service, with a field of a later version."""
        answer = self._run(self._http.request(method, f"http://localhost{path}", content=body, headers=headers))
        return httpx.Response(answer.status_code, json=answer.json() | {"a field of a later version": 1})

    def paths(self) -> list[str]:
        """What was requested, in order."""
        return [f"{request.method} {request.url.path.removeprefix('/v1/selectors')}" for request in self.requests]

    def known(self, name: str) -> SimpleNamespace:
        """The overview of a selector."""
        return SimpleNamespace(**self.call("GET", f"/v1/selectors/{name}").json())

    def told(self, name: str) -> list[str]:
        """The decisions that were told, in order."""
        rows = self._run(self._service.decisions(name, limit=10_000))
        return [
            to_id(row.id) for row in sorted((row for row in rows if row.seq is not None), key=lambda row: row.seq or 0)
        ]


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> httpx.Response:
    """An error, as RFC 9457 has it."""
    said = {"type": "about:blank", "title": "Trouble", "status": status, "detail": detail, "request_id": "abc"}
    return httpx.Response(status, json=said, headers=headers)
