"""What is measured, as a process of its own: `python -m benchmarks.service_server bare`, or a store's address.

`bare` is one Starlette route that reads JSON and answers with JSON, on the settings of uvicorn that the service has. Says on
which port it listens once it is ready, and ends with its parent.
"""

import argparse
import os
import socket
import sys
from typing import Any, Final

import uvicorn

ANSWER: Final = {"decision": "d-1e240", "arm": 5, "option": 100, "price": 9.999999, "safe": True, "skip": False}


def listening() -> socket.socket:
    """A socket on a port that is free."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen(2048)
    return sock


def say_port(sock: socket.socket) -> None:
    """Tell the parent where to connect."""
    print(sock.getsockname()[1], flush=True)


class Bare(uvicorn.Server):
    """uvicorn's server, which says when it is ready and stops when its parent is gone."""

    parent = os.getppid()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        for sock in sockets or ():
            say_port(sock)

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second."""
        return os.getppid() != self.parent or await super().on_tick(counter)


def bare() -> None:
    """Serve the bare route."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def answer(request: Request) -> JSONResponse:
        await request.json()
        return JSONResponse(ANSWER)

    app = Starlette(routes=[Route("/v1/selectors/{name}/ask", answer, methods=["POST"])])
    config = uvicorn.Config(
        app, ws="none", lifespan="off", log_config=None, access_log=False, proxy_headers=False, server_header=False,
        backlog=2048, timeout_keep_alive=75,
    )  # fmt: skip
    Bare(config).run([listening()])


def ours(store: str, *, singly: bool, quiet: bool) -> None:
    """Serve as `suffice serve` does. `singly`: a commit for each request; `quiet`: no line in the log for each."""
    from suffice.service import group_commit
    from suffice.service.http import logs, server
    from suffice.service.http.settings import Settings

    settings = Settings(store=store, access_log=not quiet, max_selectors=20_000)
    logs.setup(settings.log_level, settings.log_format)
    if singly:
        change: Any = setattr  # what is final for everybody else
        change(group_commit, "LARGEST", 1)
    sock = listening()
    server.run(settings, sock, lambda: say_port(sock), parent=os.getppid())


def main() -> int:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service_server")
    parser.add_argument("what", help="bare, or the address of a store")
    parser.add_argument("--singly", action="store_true", help="a commit for each request")
    parser.add_argument("--quiet", action="store_true", help="no line in the log for each request")
    given = parser.parse_args()
    if given.what == "bare":
        bare()
    else:
        ours(given.what, singly=given.singly, quiet=given.quiet)
    return 0


if __name__ == "__main__":
    sys.exit(main())
