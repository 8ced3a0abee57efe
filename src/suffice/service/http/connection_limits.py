"""Connections that do not wait for ever: headers that come too slowly or are too long, clients that do not read, crowds.

uvicorn has no such limits of its own. The same class serves both of its parsers, httptools and h11.
"""

import asyncio
import json
import secrets
from typing import TYPE_CHECKING, Any, Final

from starlette.types import ASGIApp, Receive, Scope, Send

from suffice.service.http.problems import problem
from suffice.service.http.settings import Settings

MOST_HEADER: Final = 64 << 10  # bytes
MORE: Final = 100  # connections beyond the most that are told so; those beyond are closed without a word

if TYPE_CHECKING:
    _Base: Any = object
else:
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as _Base
    except ImportError:  # where httptools cannot be installed
        from uvicorn.protocols.http.h11_impl import H11Protocol as _Base


def protocol(settings: Settings) -> type[asyncio.Protocol]:
    """The class of a server's connections."""
    return type("Connection", (Connection,), {"settings": settings})


class Connection(_Base):  # type: ignore[misc]
    """A connection whose client has to hurry."""

    settings: Settings
    app: Any
    _timer: asyncio.TimerHandle | None = None  # until the header must be here
    _stuck: asyncio.TimerHandle | None = None  # until something must have been read
    _header = 0  # bytes that came since the last header or body

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        count, most = len(self.connections), self.settings.max_connections
        if count > most + MORE:
            transport.abort()
        elif count > most:
            self.app = crowded(self.app)
        self._timer = self.loop.call_later(self.settings.header_timeout, self._late)

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
        elif not in_body:  # a part of one, or what nobody asked for
            self._header += len(data)
            if self._header > MOST_HEADER:
                self._end(431, f"the header of a request must have at most {MOST_HEADER:,} bytes")
            elif self._timer is None and (before is None or before.response_complete):
                self._timer = self.loop.call_later(self.settings.header_timeout, self._late)

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

    def _late(self) -> None:
        self._timer = None
        self._end(408, f"the header of a request must be here within {self.settings.header_timeout:g} seconds")

    def _end(self, status: int, detail: str) -> None:
        """Say why, where an answer can stand, and close."""
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(_plain(status, detail))
            self.transport.close()
        else:
            self.transport.abort()


def crowded(app: ASGIApp) -> ASGIApp:
    """In place of an app: there are too many connections. Whether we are alive is answered all the same."""

    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith("/healthz"):
            await app(scope, receive, send)
            return
        said = "this server has as many connections as it takes: see the setting max_connections"
        await problem(503, said, headers={"retry-after": "1", "connection": "close"})(scope, receive, send)

    return refuse


def _plain(status: int, detail: str) -> bytes:
    """An answer to what never became a request."""
    phrase = {408: "Request Timeout", 431: "Request Header Fields Too Large"}[status]
    identity = secrets.token_hex(8)
    said = {"type": "about:blank", "title": phrase, "status": status, "detail": detail, "request_id": identity}
    body = json.dumps(said).encode()
    head = f"HTTP/1.1 {status} {phrase}\r\ncontent-type: application/problem+json\r\ncontent-length: {len(body)}\r\n"
    head += f"x-request-id: {identity}\r\n"
    return head.encode() + b"connection: close\r\nx-content-type-options: nosniff\r\n\r\n" + body
