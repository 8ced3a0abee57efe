"""Where requests come in: who may, how much, how fast, and what every answer carries. One pass, one order, see `_refusal`.

It is one plain ASGI middleware: cheap, and it leaves streams alone.
"""

import logging
import re
import secrets
import time
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from suffice.service.errors import ServiceError
from suffice.service.http import logs, request_body
from suffice.service.http.keys import MANAGE, READ, USE, Forbidden, Keyring, Unauthorised
from suffice.service.http.problems import problem
from suffice.service.http.proxies import FORWARDED, Proxies, host_name, is_host, is_local, is_local_name
from suffice.service.http.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

    from suffice.service.selectors import SelectorService

Headers = dict[bytes, bytes]

PROBES: Final = frozenset({"/healthz", "/readyz"})  # asked by machines that know no key and call us by any name
OPEN: Final = PROBES | {"/", "/docs", "/openapi.json", "/favicon.ico", "/robots.txt"}
STATIC: Final = ("/static/", "/docs/")
QUIET: Final = PROBES | {"/metrics"}  # asked all the time: logged only at level debug
UNSAFE: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})

STORE: Final = "the store cannot be reached"  # for those who may not know where it is

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
PREFLIGHT: Final = {
    "access-control-allow-methods": "GET, HEAD, POST, PUT, DELETE",
    "access-control-allow-headers": "authorization, content-type, idempotency-key, x-request-id, last-event-id",
    "access-control-max-age": "600",
}
EXPOSED: Final = (b"access-control-expose-headers", b"x-request-id, retry-after, location")

_IDENTITY: Final = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_JSON: Final = re.compile(rb"application/([a-z0-9.-]+\+)?json\s*(;.*)?", re.IGNORECASE)


def install(app: "FastAPI", service: "SelectorService", settings: Settings) -> None:
    """Put the edge around an app: last, so that it is outside of everything else."""
    keyring = app.state.keyring = Keyring(service.store, service.clock)
    app.add_middleware(Gateway, settings=settings, keyring=keyring, ready=lambda: service.ready)


@lru_cache(4096)
def required_scopes(method: str, path: str) -> tuple[str, ...]:
    """The scopes of which a request needs one; none where no key is asked for. What is not known to be open is closed.

    Who may use a selector may also confirm that it is there, by PUT of its plan: making it is another matter (`routes`).

    >>> required_scopes("GET", "/v1/selectors"), required_scopes("POST", "/v1/selectors/ads/ask")
    (('read',), ('use',))
    >>> required_scopes("PUT", "/v1/selectors/ads")
    ('manage', 'use')
    """
    if path in OPEN or path.startswith(STATIC):
        return ()
    if method in ("GET", "HEAD"):
        return (READ,)
    if method == "POST" and path.endswith(("/ask", "/tell")):
        return (USE,)
    return (MANAGE, USE) if method == "PUT" else (MANAGE,)


class Gateway:
    """Lets requests in to an app, or says why not; logs them; dresses every answer."""

    def __init__(
        self, app: ASGIApp, *, settings: Settings, keyring: Keyring, ready: Callable[[], bool] = lambda: True
    ) -> None:
        self.app = app
        self.settings, self.keyring, self.ready = settings, keyring, ready
        self._open = settings.open
        self._proxies = Proxies(settings.trusted_proxies) if settings.trusted_proxies else None
        self._fits = lru_cache(1024)(self._find_host)
        self._ours = lru_cache(64)(lambda host: is_local_name(host_name(host)) or self._find_host(host))
        self._log_all = settings.access_log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] != "websocket":  # there are none; left unanswered, they are refused
                await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0
        headers: Headers = dict(scope["headers"])
        identity = _identity(headers.get(b"x-request-id"))
        logs.request_id.set(identity.decode())
        path = self._path(scope) if self.settings.root_path else scope["path"]
        scope["state"] = state = scope.get("state", {})
        if self._proxies is not None:
            scope = self._proxies.rewrite(scope, headers)
        dress = self._dress(identity, path, headers)

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": _joined(message.get("headers", ()), dress)}
            await send(message)

        try:
            await self._pass(scope, path, headers, receive, answer)
        except request_body.ClientDisconnected:
            status = 499  # as nginx calls it: the client went away
        except Exception:
            logs.events.exception("failed", extra={"method": scope["method"], "path": _logged(scope)})
            if status == 0:
                said = "the server failed to answer; its log says more under this request_id"
                await problem(500, said)(scope, receive, answer)
        finally:
            if self._log_all or status >= 500:
                self._log(scope, path, status, began, state)

    async def _pass(self, scope: Scope, path: str, headers: Headers, receive: Receive, answer: Send) -> None:
        """Check, take the body in, and let it through; or answer why not."""
        bodied = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
        refusal = await self._refusal(scope, path, headers, bodied)
        if refusal is None and bodied:
            try:
                body = await request_body.read(receive, self.settings.max_body, self.settings.body_timeout)
                receive = request_body.given(receive, body)
            except request_body.TooLarge:
                refusal = self._too_large()
            except request_body.TooSlow:
                said = f"the body must be here within {self.settings.body_timeout:g} seconds"
                refusal = problem(408, said, headers={"connection": "close"})
        if refusal is None:
            await self.app(scope, receive, answer)
            return
        if bodied and refusal.status_code != 408 and (b"expect" in headers or not await request_body.discard(receive)):
            refusal.headers["connection"] = "close"
        await refusal(scope, receive, answer)

    async def _refusal(self, scope: Scope, path: str, headers: Headers, bodied: bool) -> Response | None:
        """Why a request is not let in. The cheap and the severe first: nothing is looked up for those."""
        host = headers.get(b"host", b"").decode("latin-1")
        if not is_host(host):
            return problem(400, "the header Host must be a name or an address, and perhaps a port")
        if path not in PROBES and (refusal := self._refuse_way(scope, headers, host)) is not None:
            return refusal
        if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers and self.settings.cors_origins:
            return self._preflight(headers)
        scopes = required_scopes(scope["method"], path)
        if scopes:
            try:
                if not self._open:
                    header = headers.get(b"authorization", b"").decode("latin-1")
                    scope["state"]["key"] = await self.keyring.authorise(header, *scopes)
            except (Unauthorised, Forbidden) as error:
                return problem(error.status, str(error), headers={"www-authenticate": error.challenge})
            except ServiceError as error:  # the store cannot say which keys there are
                logs.events.warning("keys could not be looked up", extra={"error": str(error)})
                return problem(503, STORE, headers={"retry-after": "1"})  # nobody knows yet who asks
            if not self.ready():
                return problem(503, "this server is still warming up", headers={"retry-after": "1"})
        return self._refuse_body(scope["method"], headers) if bodied else None

    # --- the way it came

    def _refuse_way(self, scope: Scope, headers: Headers, host: str) -> Response | None:
        """An open server is for this machine only, whatever web pages, name servers and proxies try."""
        client = scope.get("client")
        if not self._open:
            if self.settings.allowed_hosts and not self._fits(host):
                return problem(421, "this server does not answer for this host: see the setting allowed_hosts")
            return None
        if not FORWARDED.isdisjoint(headers):
            return problem(
                403, "this server was reached through a proxy but runs open: create keys and set trusted_proxies"
            )
        if client is None:  # a unix socket: neither browsers nor other machines get there
            return None
        if not is_local(client[0]):
            return problem(
                403, "this server runs open and answers only this machine: create keys and set keys = required"
            )
        if not self._ours(host):
            return problem(421, "this server runs open and answers only to localhost: see the setting allowed_hosts")
        if scope["method"] in UNSAFE and (origin := headers.get(b"origin")) is not None:
            text = origin.decode("latin-1").lower()
            if text.partition("://")[2] != host.lower() and text not in self.settings.cors_origins:
                return problem(
                    403, "this server runs open and takes nothing from web pages: see the setting cors_origins"
                )
        return None

    def _find_host(self, header: str) -> bool:
        name = host_name(header)
        return any(
            name.endswith(allowed[1:]) if allowed.startswith("*.") else name == allowed.strip("[]")
            for allowed in self.settings.allowed_hosts
        )

    def _preflight(self, headers: Headers) -> Response:
        if headers.get(b"origin", b"").decode("latin-1").lower() not in self.settings.cors_origins:
            return problem(403, "web pages of this origin may not call: see the setting cors_origins")
        return Response(status_code=204, headers=PREFLIGHT)

    # --- the body

    def _refuse_body(self, method: str, headers: Headers) -> Response | None:
        kind = headers.get(b"content-type", b"")
        if kind != b"application/json" and method in UNSAFE and method != "DELETE" and not _JSON.fullmatch(kind):
            return problem(415, "the body must be JSON, with the header Content-Type: application/json")
        if b"content-encoding" in headers and headers[b"content-encoding"].lower() != b"identity":
            return problem(415, "the body must not be compressed")
        length = headers.get(b"content-length", b"0")
        if not length.isdigit():
            return problem(400, "Content-Length must be a whole number")
        return self._too_large() if len(length) > 18 or int(length) > self.settings.max_body else None

    def _too_large(self) -> Response:
        return problem(413, f"the body must have at most {self.settings.max_body:,} bytes")

    # --- what every answer carries

    def _dress(self, identity: bytes, path: str, headers: Headers) -> list[tuple[bytes, bytes]]:
        dress = [*SECURITY, (b"x-request-id", identity)]
        if not path.startswith(STATIC):
            dress.append(NO_STORE)
        if self.settings.cors_origins:
            dress.append((b"vary", b"Origin"))
            origin = headers.get(b"origin", b"")
            if origin.decode("latin-1").lower() in self.settings.cors_origins:
                dress += [(b"access-control-allow-origin", origin), EXPOSED]
        return dress

    def _path(self, scope: Scope) -> str:
        """The path as routes know it."""
        path: str = scope["path"]
        root = self.settings.root_path
        return path[len(root) :] if root and path.startswith(root + "/") else path

    def _log(self, scope: Scope, path: str, status: int, began: float, state: dict[str, object]) -> None:
        key, client = state.get("key"), scope.get("client")
        level = logging.ERROR if status >= 500 and status != 503 else logging.DEBUG if path in QUIET else logging.INFO
        logs.request(
            logs.request_id.get(), scope["method"], _logged(scope), status, 1e3 * (time.perf_counter() - began),
            getattr(key, "id", ""), client[0] if client else "", level,
        )  # fmt: skip


def _identity(inbound: bytes | None) -> bytes:
    if inbound is not None and _IDENTITY.fullmatch(inbound):
        return inbound
    return secrets.token_hex(8).encode()


def _logged(scope: Scope) -> str:
    """The path as it was sent, without what was asked of it, and not endless."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw[:200].partition(b"?")[0].decode("latin-1")


def _joined(own: list[tuple[bytes, bytes]], dress: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """What an answer says of itself comes first."""
    if len(own) == 2 and own[0][0] == b"content-length" and own[1][0] == b"content-type":  # as most are
        return own + dress
    said = {name.lower() for name, _ in own}
    return [*own, *(pair for pair in dress if pair[0] not in said)]
