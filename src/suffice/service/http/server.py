"""The server: binds, starts, says where it is, and stops without losing anything. What it answers is decided elsewhere."""

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
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from fastapi import FastAPI

from suffice.errors import InvalidArgument, SufficeError, quoted
from suffice.service.http import logs
from suffice.service.http.configuration import load
from suffice.service.http.connection_limits import protocol
from suffice.service.http.keys import SCOPES, alive
from suffice.service.http.settings import Settings
from suffice.service.selectors import SelectorService
from suffice.service.stores import open_store
from suffice.version import VERSION

if TYPE_CHECKING:
    from types import FrameType

PATIENCE: Final = 1.0  # seconds for which the first connection waits for a start that may still fail


class CannotListen(SufficeError):
    """The address is taken, or not ours."""


def serve(settings: Settings) -> None:
    """Serve until told to stop."""
    logs.setup(settings.log_level, settings.log_format)
    if not settings.open:
        asyncio.run(_demand_keys(settings))
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
    _more_files(settings.max_connections)
    app, service = build(settings)
    # What was made so far stays, and a request leaves few cycles behind: look for them less often than Python does.
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    config = uvicorn.Config(
        app, http=protocol(settings), ws="none", lifespan="off", log_config=None, access_log=False, proxy_headers=False,
        server_header=False, backlog=2048, timeout_keep_alive=math.ceil(settings.idle_timeout),
        timeout_graceful_shutdown=math.ceil(settings.shutdown_timeout),
    )  # fmt: skip
    Service(config, app, service, ready, parent).run([sock])


def build(settings: Settings) -> tuple[FastAPI, SelectorService]:
    """The app and what it stands on."""
    from suffice.service.http.app import make_app

    service = SelectorService(open_store(settings.store), settings.limits)
    return make_app(service, settings), service


def app() -> FastAPI:
    """For a server of your own: `uvicorn --factory suffice.service.http.server:app`. Settings from environment and file.

    Set SUFFICE_HOST to where that server listens: beyond loopback, keys are required.
    """
    settings = load().settings
    logs.setup(settings.log_level, settings.log_format)
    return build(settings)[0]


class Service(uvicorn.Server):
    """uvicorn's server, with a keeper behind it: started first, stopped last."""

    def __init__(
        self,
        config: uvicorn.Config,
        app: FastAPI,
        service: SelectorService,
        ready: Callable[[], None],
        parent: int | None,
    ) -> None:
        super().__init__(config)
        self._app, self._keeper, self._ready, self._parent = app, service, ready, parent
        self._starting: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the keeper; while it warms up, connections are taken and told so."""
        self._starting = asyncio.create_task(self._keeper.start())
        await asyncio.wait({self._starting}, timeout=PATIENCE)
        self._look()
        await super().startup(sockets)

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second."""
        self._look()
        if self._parent is not None and os.getppid() != self._parent:
            self.should_exit = True
        return await super().on_tick(counter)

    def _look(self) -> None:
        """Once the keeper has started, say so; if it could not, raise why."""
        if self._starting is not None and self._starting.done():
            started, self._starting = self._starting, None
            started.result()
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """No new connections, an end to every answer, and then the keeper."""
        logs.events.info("stopping")
        self._app.state.closing.set()  # event streams end
        await super().shutdown(sockets)
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        await self._keeper.stop()
        logs.events.info("stopped")

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn does, but a stop that was asked for is no failure: the signal is not raised again."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        ours = (signal.SIGINT, signal.SIGTERM) if self._parent is None else (signal.SIGTERM,)
        before = {one: signal.signal(one, self.handle_exit) for one in ours}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def handle_exit(self, sig: int, frame: "FrameType | None") -> None:
        """First: finish what was begun. Again: do not wait for requests. Once more: the end."""
        if self.should_exit:
            self.force_exit = True
            signal.signal(sig, signal.SIG_DFL)
        self.should_exit = True


# --- before it starts


async def _demand_keys(settings: Settings) -> None:
    """Who can be reached by others asks for keys: there must be one."""
    if settings.store == "memory:":
        raise InvalidArgument("store must not be memory: where keys are required, it keeps none; use sqlite:///FILE")
    store = open_store(settings.store)
    await store.open(keys_only=True)
    try:
        found = await store.keys()
    finally:
        await store.close()
    if not any(alive(key, time.time()) for key in found):
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
        if os.name == "posix":  # where it means: also while old connections are still being forgotten
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
            path.unlink()  # left behind by one that was killed
        sock.bind(str(path))
        path.chmod(0o660)  # the user and the group: a proxy belongs to the group
        sock.listen(2048)
    except OSError as error:
        sock.close()
        raise CannotListen(f"cannot listen on the unix socket {path}: {error.strerror or error}") from None
    return sock


def _more_files(connections: int) -> None:
    """Let this process have as many files open as it takes connections."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # not on Windows; not everybody may
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = connections + 512
        if soft < wanted:
            resource.setrlimit(
                resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard)
            )


# --- when it has started


def announce(settings: Settings, sock: socket.socket) -> None:
    """Say where it listens, what it keeps where, and who may come."""
    address = address_of(settings, sock)
    said: dict[str, Any] = {
        "address": address, "store": logs.masked(settings.store),
        "keys": "not required: only this machine gets here" if settings.open else "required",
    }  # fmt: skip
    if settings.docs and settings.uds is None:
        said["docs"] = f"{address}{settings.root_path}/docs"
    if not sys.stderr.isatty():
        logs.events.info("started", extra={**said, "version": VERSION, "pid": os.getpid()})
        return
    said["stop"] = "Ctrl-C"
    lines = [f"suffice {VERSION} is ready", *(f"  {name:<9}{value}" for name, value in said.items())]
    sys.stderr.write("\n".join(lines) + "\n")


def address_of(settings: Settings, sock: socket.socket) -> str:
    """Where it can be reached, with the port that it really has."""
    if settings.uds is not None:
        return f"unix:{settings.uds}"
    host = settings.host.strip("[]")
    return f"http://{f'[{host}]' if ':' in host else host}:{sock.getsockname()[1]}"
