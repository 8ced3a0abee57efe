"""The outermost middleware: who may call, how large and how fast a body may be, and the headers of every response.

It is one plain ASGI middleware that checks in one fixed order (see `_refusal`). That is cheap, and does not buffer streams.
"""

import logging
import re
import secrets
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Protocol

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from suffice.service.errors import ServiceError
from suffice.service.http import logs, request_body
from suffice.service.http.keys import MANAGE, READ, USE, Forbidden, Keyring, Unauthorised
from suffice.service.http.problems import problem
from suffice.service.http.proxies import FORWARDED, Proxies, host_name, is_host, is_local, is_local_name
from suffice.service.http.settings import Settings
from suffice.service.records import Key

if TYPE_CHECKING:
    from fastapi import FastAPI

    from suffice.service.selectors import SelectorService

Headers = dict[bytes, bytes]


class HasReady(Protocol):
    """A service that can say whether it takes requests."""

    ready: bool


PROBES: Final = frozenset({"/healthz", "/readyz"})  # probes have no key, and may use any host name
OPEN: Final = PROBES | {"/", "/docs", "/openapi.json", "/favicon.ico"}
STATIC: Final = ("/static/", "/docs/")
QUIET: Final = PROBES | {"/metrics"}  # requested all the time: logged only at level debug
UNSAFE: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})

STORE: Final = "the store cannot be reached"  # without its address, which a client need not know

CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", CSP.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
NO_STORE: Final = (b"cache-control", b"no-store")

_REQUEST_ID: Final = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_JSON: Final = re.compile(rb"application/([a-z0-9.-]+\+)?json\s*(;.*)?", re.IGNORECASE)


def install(app: "FastAPI", service: "SelectorService", settings: Settings) -> None:
    """Put the gateway around an app: last, so that it is outside of every other middleware."""
    keyring = app.state.keyring = Keyring(service.store, service.clock)
    app.add_middleware(Gateway, settings=settings, keyring=keyring, service=service)


@lru_cache(4096)
def required_scopes(method: str, path: str) -> tuple[str, ...]:
    """The scopes of which a request needs one; none for paths that are open to everyone. Unknown paths are not open.

    A key with the scope use may also confirm that a selector exists, by PUT of its plan; `routes_write` lets it make none.

    >>> required_scopes("GET", "/v1/selectors"), required_scopes("POST", "/v1/selectors/ads/ask")
    (('read',), ('use',))
    >>> required_scopes("PUT", "/v1/selectors/ads")
    ('manage', 'use')
    """
    if path in OPEN or path.startswith(STATIC):
        return ()
    if method in ("GET", "HEAD"):
        return (READ,)
    if method == "POST" and path.endswith(("/ask", "/tell", "/cancel")):
        return (USE,)
    return (MANAGE, USE) if method == "PUT" else (MANAGE,)


class Gateway:
    """Passes requests on to an app, or refuses them; logs them; adds headers to every response."""

    def __init__(self, app: ASGIApp, *, settings: Settings, keyring: Keyring, service: HasReady) -> None:
        self.app = app
        self.settings, self.keyring, self.service = settings, keyring, service
        self._open = settings.open
        self._proxies = Proxies(settings.trusted_proxies) if settings.trusted_proxies else None
        self._is_allowed = lru_cache(1024)(self._find_host)
        self._is_own = lru_cache(64)(lambda host: is_local_name(host_name(host)) or self._find_host(host))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] != "websocket":  # no route is one: without an answer it is refused
                await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0
        headers: Headers = dict(scope["headers"])
        request_id = _request_id(headers.get(b"x-request-id"))
        logs.request_id.set(request_id.decode())
        path = self._path(scope) if self.settings.root_path else scope["path"]
        scope["state"] = state = scope.get("state", {})
        if self._proxies is not None:
            scope = self._proxies.rewrite(scope, headers)
        added = [*SECURITY, (b"x-request-id", request_id)]
        if not path.startswith(STATIC):
            added.append(NO_STORE)

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": _joined(message.get("headers", ()), added)}
            await send(message)

        try:
            await self._handle(scope, path, headers, receive, send_with_headers)
        except request_body.ClientDisconnected:
            status = 499  # nginx's code for a client that disconnected
        except Exception:
            logs.events.exception("failed", extra={"method": scope["method"], "path": _logged_path(scope)})
            if status == 0:
                detail = "the server failed to answer; its log says more under this request_id"
                await problem(500, detail)(scope, receive, send_with_headers)
        finally:
            if self.settings.access_log or status >= 500:
                self._log(scope, path, status, began, state.get("key"))

    async def _handle(self, scope: Scope, path: str, headers: Headers, receive: Receive, send: Send) -> None:
        """Check the request, read its body, and pass it on; or refuse it."""
        has_body = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
        refusal = await self._refusal(scope, path, headers, has_body)
        if refusal is None and has_body:
            try:
                body = await request_body.read(receive, self.settings.max_body, self.settings.body_timeout)
                receive = request_body.replaying(body, receive)
            except request_body.TooLarge:
                refusal = self._too_large()
            except request_body.TooSlow:
                detail = f"the body must arrive within {self.settings.body_timeout:g} seconds"
                refusal = problem(408, detail, headers={"connection": "close"})
        if refusal is None:
            await self.app(scope, receive, send)
            return
        if (
            has_body
            and refusal.status_code != 408
            and (b"expect" in headers or not await request_body.discard(receive))
        ):
            refusal.headers["connection"] = "close"
        await refusal(scope, receive, send)

    async def _refusal(self, scope: Scope, path: str, headers: Headers, has_body: bool) -> Response | None:
        """Why a request is refused, or None. The checks that need no lookup come first."""
        host = headers.get(b"host", b"").decode("latin-1")
        if not is_host(host):
            return problem(400, "the header Host must be a name or an address, and perhaps a port")
        if path not in PROBES and (refusal := self._refuse_origin(scope, headers, host)) is not None:
            return refusal
        scopes = required_scopes(scope["method"], path)
        if scopes:
            if not self._open and (refusal := await self._refuse_key(scope, headers, scopes)) is not None:
                return refusal
            if not self.service.ready:
                return problem(503, "this server is still warming up", headers={"retry-after": "1"})
        return self._refuse_body(scope["method"], headers) if has_body else None

    async def _refuse_key(self, scope: Scope, headers: Headers, scopes: tuple[str, ...]) -> Response | None:
        header = headers.get(b"authorization", b"").decode("latin-1")
        try:
            scope["state"]["key"] = await self.keyring.authorise(header, *scopes)
        except (Unauthorised, Forbidden) as error:
            return problem(error.status, str(error), headers={"www-authenticate": error.challenge})
        except ServiceError as error:
            logs.events.warning("keys could not be looked up", extra={"error": str(error)})
            return problem(503, STORE, headers={"retry-after": "1"})  # the client is not authorised to see more
        return None

    # --- where a request comes from

    def _refuse_origin(self, scope: Scope, headers: Headers, host: str) -> Response | None:
        """An open server answers this machine only, not web pages of other sites, other host names or proxies."""
        client = scope.get("client")
        if not self._open:
            if self.settings.allowed_hosts and not self._is_allowed(host):
                return problem(421, "this server does not answer for this host: see the setting allowed_hosts")
            return None
        if not FORWARDED.isdisjoint(headers):
            return problem(
                403, "this server was reached through a proxy but runs open: create keys and set trusted_proxies"
            )
        if client is None:  # a unix socket, which neither browsers nor other machines can reach
            return None
        if not is_local(client[0]):
            return problem(
                403, "this server runs open and answers only this machine: create keys and set keys = required"
            )
        if not self._is_own(host):
            return problem(421, "this server runs open and answers only to localhost: see the setting allowed_hosts")
        if scope["method"] in UNSAFE and (origin := headers.get(b"origin")) is not None:
            text = origin.decode("latin-1").lower()
            if text.partition("://")[2] != host.lower():
                return problem(403, "this server runs open and takes nothing from web pages of other sites")
        return None

    def _find_host(self, header: str) -> bool:
        name = host_name(header)
        return any(
            name.endswith(allowed[1:]) if allowed.startswith("*.") else name == allowed.strip("[]")
            for allowed in self.settings.allowed_hosts
        )

    # --- the body

    def _refuse_body(self, method: str, headers: Headers) -> Response | None:
        media = headers.get(b"content-type", b"")
        if media != b"application/json" and method in UNSAFE and method != "DELETE" and not _JSON.fullmatch(media):
            return problem(415, "the body must be JSON, with the header Content-Type: application/json")
        if b"content-encoding" in headers and headers[b"content-encoding"].lower() != b"identity":
            return problem(415, "the body must not be compressed")
        length = headers.get(b"content-length", b"0")
        if not length.isdigit():
            return problem(400, "Content-Length must be a whole number")
        return self._too_large() if len(length) > 18 or int(length) > self.settings.max_body else None

    def _too_large(self) -> Response:
        return problem(413, f"the body must have at most {self.settings.max_body:,} bytes")

    def _path(self, scope: Scope) -> str:
        """The path without the prefix under which a proxy shows this server."""
        path: str = scope["path"]
        root = self.settings.root_path
        return path[len(root) :] if root and path.startswith(root + "/") else path

    def _log(self, scope: Scope, path: str, status: int, began: float, key: Key | None) -> None:
        client = scope.get("client")
        level = logging.ERROR if status >= 500 and status != 503 else logging.DEBUG if path in QUIET else logging.INFO
        ms = 1e3 * (time.perf_counter() - began)
        key_id, address = "" if key is None else key.id, client[0] if client else ""
        answered = logs.Answered(
            logs.request_id.get(), scope["method"], _logged_path(scope), status, ms, key_id, address
        )
        logs.request(answered, level)


def _request_id(given: bytes | None) -> bytes:
    if given is not None and _REQUEST_ID.fullmatch(given):
        return given
    return secrets.token_hex(8).encode()


def _logged_path(scope: Scope) -> str:
    """The path as it was sent, without the query, cut to 200 bytes."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw[:200].partition(b"?")[0].decode("latin-1")


def _joined(own: list[tuple[bytes, bytes]], added: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of a response; its own win over the added ones of the same name."""
    if len(own) == 2 and own[0][0] == b"content-length" and own[1][0] == b"content-type":  # as most responses have
        return own + added
    names = {name.lower() for name, _ in own}
    return [*own, *(pair for pair in added if pair[0] not in names)]
