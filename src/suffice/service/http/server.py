"""The server: it binds a socket, starts the service, announces its address, and stops without losing anything."""

import asyncio
import contextlib
import errno
import gc
import math
import os
import signal
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Final

import uvicorn
from fastapi import FastAPI

from suffice.errors import InvalidArgument, SufficeError, quoted
from suffice.service.http import logs
from suffice.service.http.app import make_app
from suffice.service.http.connection_limits import protocol
from suffice.service.http.keys import SCOPES, is_valid
from suffice.service.http.settings import Settings
from suffice.service.selectors import SelectorService
from suffice.service.stores import open_store
from suffice.version import VERSION

START_WAIT: Final = 1.0  # seconds for which the first connection waits, so that a start that fails soon accepts none


class CannotListen(SufficeError):
    """The address is in use, or is not one of this machine."""


def serve(settings: Settings) -> None:
    """Serve until a signal stops it."""
    logs.setup(settings.log_level, settings.log_format)
    if not settings.open:
        asyncio.run(_require_keys(settings))
    sock = bind(settings)
    try:
        if settings.workers > 1:
            from suffice.service.http.workers import supervise

            supervise(settings, sock, lambda: announce(settings, sock))
        else:
            run(settings, sock, lambda: announce(settings, sock))
    finally:
        sock.close()
        if settings.uds is not None:
            settings.uds.unlink(missing_ok=True)


def run(settings: Settings, sock: socket.socket, ready: Callable[[], None], parent: int | None = None) -> None:
    """Serve on a socket, in this process. `ready` is called once; `parent`: stop when this process is gone."""
    _raise_file_limit(settings.max_connections)
    app, service = build(settings)
    # The objects made so far stay, and a request leaves few cycles behind: collect less often than Python does.
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    config = uvicorn.Config(
        app, http=protocol(settings), ws="none", lifespan="off", log_config=None, access_log=False, proxy_headers=False,
        server_header=False, backlog=2048, timeout_keep_alive=math.ceil(settings.idle_timeout),
        timeout_graceful_shutdown=math.ceil(settings.shutdown_timeout),
    )  # fmt: skip
    Server(config, app, service, ready, parent).run([sock])


def build(settings: Settings) -> tuple[FastAPI, SelectorService]:
    """The app and its service."""
    service = SelectorService(open_store(settings.store), settings.limits)
    return make_app(service, settings), service


class Server(uvicorn.Server):
    """uvicorn's server with a service, which starts before it and stops after it."""

    def __init__(
        self,
        config: uvicorn.Config,
        app: FastAPI,
        service: SelectorService,
        ready: Callable[[], None],
        parent: int | None,
    ) -> None:
        super().__init__(config)
        self._app, self._service, self._ready, self._parent = app, service, ready, parent
        self._starting: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the service; while it warms up, requests are answered with 503."""
        self._starting = asyncio.create_task(self._service.start())
        await asyncio.wait({self._starting}, timeout=START_WAIT)
        self._check_start()
        await super().startup(sockets)

    async def on_tick(self, counter: int) -> bool:
        """uvicorn calls this ten times a second."""
        self._check_start()
        if self._parent is not None and os.getppid() != self._parent:
            self.should_exit = True
        return await super().on_tick(counter)

    def _check_start(self) -> None:
        """Call `ready` once the service has started; raise if it could not."""
        if self._starting is not None and self._starting.done():
            started, self._starting = self._starting, None
            started.result()
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more connections, finish every response, and then stop the service."""
        logs.events.info("stopping")
        self._app.state.closing.set()  # event streams end
        await super().shutdown(sockets)
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        await self._service.stop()
        logs.events.info("stopped")

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Like uvicorn's, but it does not raise the signal again: a requested stop is no failure."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        handled = (signal.SIGINT, signal.SIGTERM) if self._parent is None else (signal.SIGTERM,)
        before = {number: signal.signal(number, self.handle_exit) for number in handled}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal finishes running requests, the second does not wait for them, the third kills the process."""
        if self.should_exit:
            self.force_exit = True
            signal.signal(sig, signal.SIG_DFL)
        self.should_exit = True


# --- before it starts


async def _require_keys(settings: Settings) -> None:
    """Refuse to start without a key where keys are required."""
    if settings.store == "memory:":
        raise InvalidArgument("store must not be memory: where keys are required, it keeps none; use sqlite:///FILE")
    store = open_store(settings.store)
    await store.open(keys_only=True)
    try:
        keys = await store.keys()
    finally:
        await store.close()
    if not any(is_valid(key, time.time()) for key in keys):
        reason = "behind a proxy" if settings.trusted_proxies else f"on {settings.host}"
        reason = "by the setting keys" if settings.keys == "required" else reason
        scopes = " ".join(f"--scope {scope}" for scope in SCOPES)
        where = "" if logs.masked(settings.store) != settings.store else f" --store {settings.store}"
        raise SufficeError(
            f"keys are required {reason}, and there are none yet: create one with `suffice keys create NAME {scopes}{where}`"
        )


def bind(settings: Settings) -> socket.socket:
    """The socket to listen on."""
    if settings.uds is not None:
        return _bind_unix(settings.uds)
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            settings.host.strip("[]"), settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise CannotListen(f"host must be an address of this machine, got {quoted(settings.host)}: {error}") from None
    sock = socket.socket(family, kind)
    try:
        if (
            os.name == "posix"
        ):  # there it allows a restart while old connections time out; on Windows it shares the port
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(2048)
    except OSError as error:
        sock.close()
        raise CannotListen(_why(error, settings)) from None
    sock.set_inheritable(True)
    return sock


def _why(error: OSError, settings: Settings) -> str:
    place = f"port {settings.port} of {settings.host}"
    if error.errno == errno.EADDRINUSE:
        return f"{place} is taken: stop what listens there, or set another port (--port 0 takes any that is free)"
    if error.errno == errno.EACCES:
        return f"{place} is not for this user: set a port above 1023"
    return f"cannot listen on {place}: {error.strerror}"


def _bind_unix(path: Path) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.exists() and stat.S_ISSOCK(path.stat().st_mode):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
                if other.connect_ex(str(path)) == 0:
                    raise OSError(errno.EADDRINUSE, "another server listens there")
            path.unlink()  # a server that was killed left it behind
        sock.bind(str(path))
        path.chmod(0o660)  # the user and the group: a proxy belongs to the group
        sock.listen(2048)
    except OSError as error:
        sock.close()
        raise CannotListen(f"cannot listen on the unix socket {path}: {error.strerror or error}") from None
    return sock


def _raise_file_limit(connections: int) -> None:
    """Allow this process as many open files as it accepts connections, and some more."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # Windows has no limit; a user may lack the right
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = connections + 512
        if soft < wanted:
            resource.setrlimit(
                resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard)
            )


# --- when it has started


def announce(settings: Settings, sock: socket.socket) -> None:
    """Log the address, the store and whether keys are required; on a terminal, print them."""
    address = address_of(settings, sock)
    facts = {
        "address": address, "store": logs.masked(settings.store),
        "keys": "not required: only this machine gets here" if settings.open else "required",
    }  # fmt: skip
    if settings.docs and settings.uds is None:
        facts["docs"] = f"{address}{settings.root_path}/docs"
    if not sys.stderr.isatty():
        logs.events.info("started", extra={**facts, "version": VERSION, "pid": os.getpid()})
        return
    facts["stop"] = "Ctrl-C"
    lines = [f"suffice {VERSION} is ready", *(f"  {name:<9}{value}" for name, value in facts.items())]
    sys.stderr.write("\n".join(lines) + "\n")


def address_of(settings: Settings, sock: socket.socket) -> str:
    """The address of the server, with the port that it listens on."""
    if settings.uds is not None:
        return f"unix:{settings.uds}"
    host = settings.host.strip("[]")
    return f"http://{f'[{host}]' if ':' in host else host}:{sock.getsockname()[1]}"
