"""A small reverse proxy that serves a server below a path, as nginx does, with or without the path in what it passes on."""

import http.client
import threading
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Proxy:
    """A proxy that listens while its context is entered. `astray`: requests for paths outside of its own."""

    def __init__(self, port: int, path: str, *, cut: bool) -> None:
        self.astray: list[str] = []
        handler = type("Handler", (_Handler,), {"port": port, "path_above": path, "cut": cut, "astray": self.astray})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}{path}/"

    def __enter__(self) -> "Proxy":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    port: int
    path_above: str
    cut: bool
    astray: list[str]

    def _pass_on(self) -> None:
        self.close_connection = True
        if not self.path.startswith(f"{self.path_above}/"):
            if self.path != "/favicon.ico":
                self.astray.append(self.path)
            self.send_error(404)
            return
        path = self.path.removeprefix(self.path_above) if self.cut else self.path
        body = self.rfile.read(int(self.headers.get("content-length", 0))) or None
        headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        # The client may disconnect, and the server may be killed.
        with (
            suppress(OSError, http.client.HTTPException),
            closing(http.client.HTTPConnection("127.0.0.1", self.port)) as line,
        ):
            line.request(self.command, path, body, headers)
            with line.getresponse() as answer:
                self._pass_back(answer)

    def _pass_back(self, answer: http.client.HTTPResponse) -> None:
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("connection", "close")
        self.end_headers()
        while part := answer.read1(65536):
            self.wfile.write(part)
            self.wfile.flush()

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _pass_on

    def log_message(self, *_: Any) -> None:
        """Log nothing."""
