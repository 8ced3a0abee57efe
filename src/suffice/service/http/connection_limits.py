"""Limits on connections, which uvicorn lacks: slow or long headers, clients that do not read, too many connections.

The same class works with both of uvicorn's parsers, httptools and h11.
"""

import asyncio
import json
import secrets
from typing import TYPE_CHECKING, Any, Final

from starlette.types import ASGIApp, Receive, Scope, Send

from suffice.service.http.problems import problem
from suffice.service.http.settings import Settings

MOST_HEADER: Final = 64 << 10  # bytes
EXTRA: Final = 100  # connections beyond the limit that get a 503; any beyond these are closed without a response

if TYPE_CHECKING:
    _Base: Any = object
else:
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as _Base
    except ImportError:  # where httptools cannot be installed
        from uvicorn.protocols.http.h11_impl import H11Protocol as _Base


def protocol(settings: Settings) -> type[asyncio.Protocol]:
    """The class of the connections of a server with these settings."""
    return type("Connection", (Connection,), {"settings": settings})


class Connection(_Base):  # type: ignore[misc]
    """A connection that is closed when its client is too slow."""

    settings: Settings
    app: Any
    _timer: asyncio.TimerHandle | None = None  # closes a connection whose header is late
    _stuck: asyncio.TimerHandle | None = None  # closes a connection whose client does not read
    _header = 0  # bytes received since the last header or body

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        count, most = len(self.connections), self.settings.max_connections
        if count > most + EXTRA:
            transport.abort()
        elif count > most:
            self.app = refusing(self.app)
        self._timer = self.loop.call_later(self.settings.header_timeout, self._header_late)

    def connection_lost(self, exc: Exception | None) -> None:
        self._clear()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        in_body = before is not None and before.more_body and not before.response_complete
        super().data_received(data)
        if self.cycle is not before:  # a header is complete
            self._header = 0
            self._clear()
        elif not in_body:  # part of a header, or bytes that belong to no request
            self._header += len(data)
            if self._header > MOST_HEADER:
                self._end(431, f"the header of a request must have at most {MOST_HEADER:,} bytes")
            elif self._timer is None and (before is None or before.response_complete):
                self._timer = self.loop.call_later(self.settings.header_timeout, self._header_late)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._stuck is None:
            self._stuck = self.loop.call_later(self.settings.send_timeout, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    def _clear(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _header_late(self) -> None:
        self._timer = None
        self._end(408, f"the header of a request must arrive within {self.settings.header_timeout:g} seconds")

    def _end(self, status: int, detail: str) -> None:
        """Send the reason, if no other response is under way, and close."""
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(_plain_response(status, detail))
            self.transport.close()
        else:
            self.transport.abort()


def refusing(app: ASGIApp) -> ASGIApp:
    """An app that answers 503 because there are too many connections, except to the liveness probe."""

    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith("/healthz"):
            await app(scope, receive, send)
            return
        detail = "this server has reached its limit of connections: see the setting max_connections"
        await problem(503, detail, headers={"retry-after": "1", "connection": "close"})(scope, receive, send)

    return refuse


def _plain_response(status: int, detail: str) -> bytes:
    """A response to bytes that never became a request."""
    phrase = {408: "Request Timeout", 431: "Request Header Fields Too Large"}[status]
    identity = secrets.token_hex(8)
    problem_fields = {
        "type": "about:blank",
        "title": phrase,
        "status": status,
        "detail": detail,
        "request_id": identity,
    }
    body = json.dumps(problem_fields).encode()
    head = f"HTTP/1.1 {status} {phrase}\r\ncontent-type: application/problem+json\r\ncontent-length: {len(body)}\r\n"
    head += f"x-request-id: {identity}\r\n"
    return head.encode() + b"connection: close\r\nx-content-type-options: nosniff\r\n\r\n" + body
