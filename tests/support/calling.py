"""The service in this process: the app, and a client that calls it without a network."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import httpx

from suffice.service.http.app import make_app
from suffice.service.http.settings import Settings
from suffice.service.selectors import SelectorService
from suffice.service.stores import open_store

Got = TypeVar("Got")
PLAN: dict[str, Any] = {
    "menu": {
        "kind": "options",
        "options": {"small": 0.1, "large": 0.4, "a person": 1.0},
        "safe": "a person",
        "skip": "skip",
    },
    "target": 0.9,
}


class Api:
    """Calls routes, and checks the form of every answer."""

    def __init__(self, http: httpx.AsyncClient, service: SelectorService, app: Any) -> None:
        self.http, self.service, self.app = http, service, app

    async def call(self, method: str, path: str, body: Any = None, status: int = 200, **more: Any) -> Any:
        """The JSON of the answer, which must have this status."""
        if isinstance(body, bytes):
            more = {"content": body, **more, "headers": {"content-type": "application/json", **more.get("headers", {})}}
        elif body is not None:
            more["json"] = body
        answer = await self.http.request(method, path, **more)
        assert answer.status_code == status, answer.text
        if status >= 400:
            check_problem(answer)
        return answer.json()

    async def ask(self, name: str = "router", body: Any = None, status: int = 200, **more: Any) -> Any:
        return await self.call("POST", f"/v1/selectors/{name}/ask", body, status, **more)

    async def tell(self, body: Any, name: str = "router", status: int = 200) -> Any:
        return await self.call("POST", f"/v1/selectors/{name}/tell", body, status)

    async def put(self, name: str = "router", body: Any = PLAN, status: int = 201) -> Any:
        return await self.call("PUT", f"/v1/selectors/{name}", body, status)

    async def get(self, path: str = "", name: str = "router", status: int = 200) -> Any:
        return await self.call("GET", f"/v1/selectors/{name}{path}", status=status)


def check_problem(answer: httpx.Response) -> None:
    """Check that a problem is one sentence with the id of its request."""
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert set(body) - {"errors"} == {"type", "title", "status", "detail", "request_id"}
    assert (body["type"], body["status"]) == ("about:blank", answer.status_code)
    assert body["detail"]
    assert "\n" not in body["detail"]
    assert body["request_id"] == answer.headers["x-request-id"]
    assert ("errors" in body) == (answer.status_code == 422)
    assert ("retry-after" in answer.headers) == (answer.status_code == 503)


def serve(
    do: Callable[[Api], Coroutine[Any, Any, Got]],
    store: str = "memory:",
    clock: Callable[[], float] = time.time,
    **settings: Any,
) -> Got:
    """Run a coroutine against a service."""

    async def whole() -> Got:
        chosen = Settings(access_log=False, **settings)
        service = SelectorService(open_store(store), chosen.limits, clock)
        app = make_app(service, chosen)
        transport = httpx.ASGITransport(app, client=("127.0.0.1", 50_000))
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as http,
        ):
            return await do(Api(http, service, app))

    return asyncio.run(whole())


async def play(api: Api, count: int, name: str = "router", **wanted: Any) -> None:
    """Ask and tell; every tenth decision fails unless it is safe."""
    for step in range(count):
        asked = await api.ask(name, wanted)
        success = asked["safe"] or (not asked["skip"] and step % 10 > 0)
        await api.tell({"decision": asked["decision"], "success": success}, name)
