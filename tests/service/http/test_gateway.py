"""The gateway: origins, keys, proxies, bodies, the headers of every response, and the logs."""

import asyncio
import io
import json
import logging
import time
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from suffice.service.http import logs
from suffice.service.http.gateway import Gateway, required_scopes
from suffice.service.http.keys import Keyring, new_key
from suffice.service.http.settings import Settings
from suffice.service.records import Key

LOCAL = "http://127.0.0.1:8470"
KEYS = {scope: new_key(scope, (scope,), time.time(), None, ()) for scope in ("use", "manage", "read")}


class FakeStore:
    async def keys(self) -> list[Key]:
        return [made.key for made in KEYS.values()]


async def echo(request: Request) -> Response:
    body = await request.body()
    return JSONResponse(
        {"size": len(body), "client": request.client and request.client.host, "scheme": request.url.scheme}
    )


async def fail(request: Request) -> Response:
    raise RuntimeError("the password is swordfish")


async def fail_late(request: Request) -> Response:
    async def parts() -> AsyncIterator[bytes]:
        yield b"first"
        raise RuntimeError("too late for a problem")

    return StreamingResponse(parts())


ROUTES = [
    Route("/v1/selectors/{name}/ask", echo, methods=["POST"]),
    Route("/v1/selectors/{name}", echo, methods=["PUT", "DELETE", "GET"]),
    Route("/v1/fail", fail),
    Route("/v1/late", fail_late),
    Route("/healthz", echo),
    Route("/metrics", echo),
    Route("/docs", echo),
]


class Caller:
    """Calls an app behind a gateway, in this process."""

    def __init__(self, **given: Any) -> None:
        self.app = Starlette(routes=ROUTES)
        keyring = Keyring(FakeStore())
        self.app.add_middleware(
            Gateway, settings=Settings(**given), keyring=keyring, service=SimpleNamespace(ready=True)
        )

    def __call__(
        self,
        method: str,
        path: str,
        *,
        client: tuple[str, int] | None = ("127.0.0.1", 5),
        base: str = LOCAL,
        **more: Any,
    ) -> httpx.Response:
        async def run() -> httpx.Response:
            transport = httpx.ASGITransport(_coming_from(self.app, client), raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url=base) as caller:
                return await caller.request(method, path, **more)

        return asyncio.run(run())


def _coming_from(app: Any, client: tuple[str, int] | None) -> Any:
    async def placed(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "client": client}, receive, send)

    return placed


def bearer(scope: str) -> dict[str, str]:
    return {"authorization": f"Bearer {KEYS[scope].text}"}


def refused(response: httpx.Response, status: int, detail: str) -> None:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert body["status"] == status
    assert detail in body["detail"]
    assert body["request_id"] == response.headers["x-request-id"]
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """What is logged, as JSON."""
    names = ("suffice", "uvicorn", "asyncio")
    before = {name: (logging.getLogger(name).handlers, logging.getLogger(name).level) for name in names}
    out = io.StringIO()
    logs.setup("debug", "json", out)
    yield out
    for name, (handlers, level) in before.items():
        logger = logging.getLogger(name)
        logger.handlers, logger.level, logger.propagate = handlers, level, True


def lines(out: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


# --- open, on loopback


def test_an_open_server_answers_this_machine_without_keys() -> None:
    call = Caller()
    assert call("POST", "/v1/selectors/a/ask").status_code == 200
    assert call("PUT", "/v1/selectors/a", json={}).json()["size"] == 2
    for base in (
        "http://localhost",
        "http://[::1]:99",
        "http://127.9.9.9",
        "http://suffice.localhost",
        "http://LOCALHOST",
    ):
        assert call("GET", "/v1/selectors/a", base=base).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", ""])
def test_an_open_server_refuses_other_host_names(host: str) -> None:
    refused(Caller()("GET", "/v1/selectors/a", headers={"host": host}), 421, "answers only to localhost")
    assert Caller()("GET", "/healthz", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["[::", "a b", "a/../b", "user@localhost", "localhost:http", "localhost:99999999", "é"]
)
@pytest.mark.parametrize("given", [{}, {"host": "0.0.0.0"}])
def test_malformed_hosts_are_refused(host: str, given: dict[str, Any]) -> None:
    call = Caller(**given)
    for path in ("/v1/selectors/a", "/healthz", "/nowhere"):
        refused(call("GET", path, headers=[(b"host", host.encode())]), 400, "the header Host must be")


def test_an_open_server_refuses_other_machines() -> None:
    call = Caller()
    refused(call("GET", "/v1/selectors/a", client=("10.0.0.7", 1)), 403, "answers only this machine")
    assert call("GET", "/v1/selectors/a", client=("::ffff:127.0.0.1", 1)).status_code == 200
    assert call("GET", "/v1/selectors/a", client=None, base="http://any.name").status_code == 200  # a unix socket


@pytest.mark.parametrize("name", ["X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "X-Real-IP", "Via"])
def test_an_open_server_refuses_proxies(name: str) -> None:
    said = "reached through a proxy but runs open: create keys and set trusted_proxies"
    refused(Caller()("POST", "/v1/selectors/a/ask", headers={name: "1.2.3.4"}), 403, said)
    refused(Caller()("GET", "/docs", headers={name: "1.2.3.4"}), 403, said)


def test_web_pages_cannot_use_an_open_server() -> None:
    call = Caller()
    # A browser sends a simple request without a preflight; a JSON body makes a request not simple.
    plain = {"content-type": "text/plain"}
    refused(call("POST", "/v1/selectors/a/ask", content="{}", headers=plain), 415, "must be JSON")
    # A request without a body needs no preflight either, but it carries the origin.
    for origin in ("http://evil.example", "null", "http://127.0.0.1:3000", "http://evil.example/127.0.0.1:8470"):
        response = call("POST", "/v1/selectors/a/ask", headers={"origin": origin})
        refused(response, 403, "takes nothing from web pages of other sites")
        assert "access-control-allow-origin" not in response.headers
    assert (
        call("POST", "/v1/selectors/a/ask", headers={"origin": LOCAL}).status_code == 200
    )  # the page of the server itself
    asked = {"origin": "http://evil.example", "access-control-request-method": "PUT"}
    response = call("OPTIONS", "/v1/selectors/a", headers=asked)
    assert response.status_code >= 400
    assert "access-control-allow-origin" not in response.headers


# --- with keys


SCOPES = [
    ("POST", "/v1/selectors/a/ask", "use"),
    ("PUT", "/v1/selectors/a", "manage to make a selector, or use to confirm one that is there"),  # see `routes`
    ("DELETE", "/v1/selectors/a", "manage"),
    ("GET", "/v1/selectors/a", "read"),
    ("GET", "/metrics", "read"),
]


@pytest.mark.parametrize(("method", "path", "scope"), SCOPES)
@pytest.mark.parametrize("held", ["use", "manage", "read"])
def test_each_route_wants_its_scope(method: str, path: str, scope: str, held: str) -> None:
    response = Caller(host="0.0.0.0")(method, path, headers=bearer(held), client=("10.0.0.7", 1))
    if held in scope:
        assert response.status_code == 200
        return
    refused(response, 403, f"this needs a key with the scope {scope}; the key {KEYS[held].key.id} may only")
    assert (
        response.headers["www-authenticate"]
        == f'Bearer realm="suffice", error="insufficient_scope", scope="{scope.split()[0]}"'
    )


@pytest.mark.parametrize(("method", "path", "scope"), SCOPES)
def test_without_a_key_only_open_paths_answer(method: str, path: str, scope: str) -> None:
    call = Caller(keys="required")
    response = call(method, path)
    refused(response, 401, "this server wants a key")
    assert response.headers["www-authenticate"] == 'Bearer realm="suffice"'
    wrong = {"authorization": bearer(scope.split()[0])["authorization"][:-4] + "AAAA"}
    refused(call(method, path, headers=wrong), 401, "the key is not known here")
    assert call("GET", "/healthz").status_code == 200
    assert call("GET", "/docs").status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "//v1/selectors"), ("GET", "/V1/selectors"), ("GET", "/docsx"), ("GET", "/healthz/"), ("GET", "/v1/../docs"),
        ("PATCH", "/v1/selectors/a"), ("OPTIONS", "/v1/selectors/a"), ("TRACE", "/v1"), ("POST", "/v1/selectors/ask/"),
    ],
)  # fmt: skip
def test_unknown_paths_need_a_scope(method: str, path: str) -> None:
    assert required_scopes(method, path) != ()


def test_allowed_hosts() -> None:
    call = Caller(allowed_hosts=("box.lan",))
    assert call("GET", "/v1/selectors/a", base="http://box.lan:8470").status_code == 200
    refused(call("GET", "/v1/selectors/a", base="http://other.lan"), 421, "allowed_hosts")
    call = Caller(host="0.0.0.0", allowed_hosts=("api.example", "*.b.example"))
    for host, status in (
        ("api.example", 200), ("API.example:443", 200), ("x.b.example", 200), ("b.example", 421), ("evil.example", 421),
        ("api.example.evil", 421), ("127.0.0.1", 421),
    ):  # fmt: skip
        headers = bearer("read") | {"host": host}
        assert call("GET", "/v1/selectors/a", headers=headers).status_code == status, host


# --- proxies


def seen(proxies: tuple[str, ...], client: tuple[str, int] | None, **forwarded: str) -> tuple[str, str]:
    headers = bearer("read") | {"x-forwarded-" + name: value for name, value in forwarded.items()}
    call = Caller(trusted_proxies=proxies, uds=None if client else "/run/suffice.sock")
    body = call("GET", "/v1/selectors/a", headers=headers, client=client).json()
    return body["client"], body["scheme"]


def test_only_trusted_proxies_set_the_address() -> None:
    inner = ("10.0.0.0/8",)
    assert seen(inner, ("10.0.0.1", 1), **{"for": "1.2.3.4", "proto": "https"}) == ("1.2.3.4", "https")
    assert seen(inner, ("8.8.8.8", 1), **{"for": "1.2.3.4", "proto": "https"}) == ("8.8.8.8", "http")
    # The addresses that a client sends come before those that proxies add.
    assert seen(inner, ("10.0.0.1", 1), **{"for": "6.6.6.6, 1.2.3.4, 10.0.0.2"}) == ("1.2.3.4", "http")
    assert seen(inner, ("10.0.0.1", 1), **{"for": "[2001:db8::1]:443"}) == ("2001:db8::1", "http")
    assert seen(inner, ("10.0.0.1", 1), **{"for": "1.2.3.4:5678"}) == ("1.2.3.4", "http")
    assert seen(inner, ("10.0.0.1", 1), **{"for": "nonsense", "proto": "gopher"}) == ("10.0.0.1", "http")
    assert seen(("unix",), None, **{"for": "1.2.3.4"}) == ("1.2.3.4", "http")


def test_under_a_path_of_a_proxy() -> None:
    call = Caller(keys="required", root_path="/suffice")
    for path in ("/v1/selectors/a", "/suffice/v1/selectors/a", "/suffice/metrics", "/suffixed"):
        assert call("GET", path).status_code == 401
    # Starlette, unlike FastAPI, does not strip the root path.
    assert call("GET", "/suffice/healthz").status_code == 404
    assert call("GET", "/healthz").status_code == 200


# --- bodies


def chunks(size: int, count: int) -> AsyncIterator[bytes]:
    async def run() -> AsyncIterator[bytes]:
        for _ in range(count):
            yield b" " * size

    return run()


JSON = {"content-type": "application/json"}


def test_bodies_of_the_right_size() -> None:
    call = Caller(max_body=2048)
    assert call("PUT", "/v1/selectors/a", content=b" " * 2048, headers=JSON).json()["size"] == 2048
    assert call("PUT", "/v1/selectors/a", content=chunks(512, 4), headers=JSON).json()["size"] == 2048


def test_bodies_that_are_too_large() -> None:
    call = Caller(max_body=2048)
    refused(call("PUT", "/v1/selectors/a", content=b" " * 2049, headers=JSON), 413, "at most 2,048 bytes")
    refused(call("PUT", "/v1/selectors/a", content=chunks(512, 5), headers=JSON), 413, "at most 2,048 bytes")
    for length in ("9" * 5000, "-1", "1e3"):
        response = call("PUT", "/v1/selectors/a", content=b"{}", headers=JSON | {"content-length": length})
        assert response.status_code in (400, 413)


def test_the_largest_bodies_are_not_read_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("suffice.service.http.request_body.MOST_DISCARDED", 10_000)
    response = Caller(max_body=2048)("PUT", "/v1/selectors/a", content=chunks(1000, 1000), headers=JSON)
    refused(response, 413, "at most 2,048 bytes")
    assert response.headers["connection"] == "close"


def test_expect_100_continue_is_refused_at_once() -> None:
    headers = JSON | {"expect": "100-continue"}
    response = Caller(max_body=2048)("PUT", "/v1/selectors/a", content=b" " * 4096, headers=headers)
    refused(response, 413, "at most 2,048 bytes")
    assert response.headers["connection"] == "close"


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonp", "text/json"]
)
def test_bodies_must_be_json(kind: str) -> None:
    call = Caller()
    refused(call("PUT", "/v1/selectors/a", content=b"{}", headers={"content-type": kind}), 415, "must be JSON")
    assert call("POST", "/v1/selectors/a/ask", headers={"content-type": kind}).status_code == 200  # it has no body
    for json_type in ("application/json; charset=utf-8", "Application/JSON", "application/merge-patch+json"):
        assert call("PUT", "/v1/selectors/a", content=b"{}", headers={"content-type": json_type}).status_code == 200


def test_bodies_must_not_be_compressed() -> None:
    headers = JSON | {"content-encoding": "gzip"}
    refused(Caller()("PUT", "/v1/selectors/a", content=b"{}", headers=headers), 415, "compressed")


# --- responses


def test_every_response_has_the_security_headers() -> None:
    for method, path in (("GET", "/v1/selectors/a"), ("GET", "/nowhere"), ("GET", "/v1/fail"), ("POST", "/healthz")):
        headers = Caller()(method, path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]


@pytest.mark.parametrize(("given", "kept"), [("abc-1.2_3", True), ("x" * 64, True), ("x" * 65, False), ("a b", False)])
def test_request_ids(given: str, kept: bool) -> None:
    call = Caller()
    found = call("GET", "/v1/selectors/a", headers={"x-request-id": given}).headers["x-request-id"]
    assert (found == given) is kept
    assert len({call("GET", "/healthz").headers["x-request-id"] for _ in range(10)}) == 10


def test_a_failure_is_logged_and_not_revealed(logged: io.StringIO) -> None:
    response = Caller()("GET", "/v1/fail")
    refused(response, 500, "its log says more under this request_id")
    assert "swordfish" not in response.text
    failure = next(line for line in lines(logged) if line["event"] == "failed")
    assert failure["request_id"] == response.json()["request_id"]
    assert "RuntimeError: the password is swordfish" in failure["traceback"]
    assert (failure["level"], failure["path"]) == ("error", "/v1/fail")


def raw(app: Any, scope: dict[str, Any], *incoming: Any) -> list[Any]:
    """The messages that an app sends in response to these."""
    messages, sent = iter(incoming), []

    async def receive() -> Any:
        message = next(messages, None)
        return message if message is not None else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), *scope.pop("headers", [])]
    asyncio.run(
        app({"type": "http", "headers": headers, "client": ("127.0.0.1", 1), "state": {}, **scope}, receive, send)
    )
    return sent


def test_a_failure_after_the_response_has_begun(logged: io.StringIO) -> None:
    sent = raw(Caller().app, {"method": "GET", "path": "/v1/late"}, {"type": "http.request"})
    assert [message.get("body") for message in sent] == [
        None,
        b"first",
    ]  # without an end: the server closes the connection
    assert [line["event"] for line in lines(logged)] == ["failed", "request"]


def test_a_client_that_disconnects_within_its_body(logged: io.StringIO) -> None:
    headers = [(b"content-length", b"10"), (b"content-type", b"application/json")]
    scope = {"method": "PUT", "path": "/v1/selectors/a", "headers": headers}
    part = {"type": "http.request", "body": b"{", "more_body": True}
    assert raw(Caller().app, scope, part, {"type": "http.disconnect"}) == []
    assert lines(logged)[-1]["status"] == 499


# --- logs


def test_a_request_is_one_line_without_secrets(logged: io.StringIO) -> None:
    call = Caller(host="0.0.0.0")
    call("GET", "/v1/selectors/a?token=hunter2", headers=bearer("read"), client=("10.0.0.7", 1))
    (line,) = lines(logged)
    assert line.pop("time").endswith("Z")
    assert line.pop("ms") >= 0
    assert line.pop("request_id")
    assert line == {
        "level": "info", "event": "request", "method": "GET", "path": "/v1/selectors/a", "status": 200,
        "key": KEYS["read"].key.id, "client": "10.0.0.7",
    }  # fmt: skip
    call("GET", f"/v1/{KEYS['use'].text}", headers={"authorization": "Basic aHVudGVyMg=="})
    text = logged.getvalue()
    for secret in ("hunter2", "aHVudGVyMg", KEYS["read"].text, KEYS["use"].text[-43:]):
        assert secret not in text


def test_probes_are_logged_only_when_debugging(logged: io.StringIO) -> None:
    Caller()("GET", "/healthz")
    assert lines(logged)[-1]["level"] == "debug"


def test_without_an_access_log_failures_are_logged(logged: io.StringIO) -> None:
    call = Caller(access_log=False)
    call("GET", "/v1/selectors/a")
    assert logged.getvalue() == ""
    call("GET", "/v1/fail")
    assert [line["event"] for line in lines(logged)] == ["failed", "request"]


@pytest.mark.parametrize("form", ["json", "text"])
def test_log_lines_cannot_be_forged(logged: io.StringIO, form: str) -> None:
    logs.setup("debug", form, logged)
    logs.request(logs.Answered("id", "GET", '/a"\n\x1b[2Jforged\u2028', 200, 1.0, "", "10.0.0.1"), logging.INFO)
    logs.events.info("said", extra={"what": "a\r\nforged postgresql://ada:lovelace@db/x"})
    out = logged.getvalue()
    assert out.count("\n") == 2
    assert "\x1b" not in out
    assert "\r" not in out
    assert "lovelace" not in out
    assert "forged" in out


def test_masking() -> None:
    for text in (
        "postgresql://ada:lovelace@db/x", "at postgres://:lovelace@db", "host=db password=lovelace user=ada",
        "postgresql://db/x?user=ada&password=lovelace", "postgresql://ada:p@ss:lovelace@db/x",
        "Bearer suffice_01234567_" + "lovelace" * 5 + "abc",
    ):  # fmt: skip
        assert "lovelace" not in logs.masked(text)
    assert logs.masked("http://127.0.0.1:8470/docs and me@db") == "http://127.0.0.1:8470/docs and me@db"
