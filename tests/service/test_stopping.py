"""A server that stalls anywhere inside a transaction does not block other servers for long."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit, urlunsplit

import asyncpg
import pytest

from suffice.service.errors import StoreDown
from suffice.service.records import TOLD, Reply, Shard
from suffice.service.stores import open_store, postgres_connection
from suffice.service.stores import postgres as postgres_store
from suffice.service.stores.base import Changes
from suffice.testing.stores import ROW, ScriptedWork, ask_rows
from tests.support.postgres import Postgres

SOON = {"lock_timeout": "500ms", "idle_in_transaction_session_timeout": "500ms"}
PATIENCE = 30.0  # seconds; it takes one or two


class StallingProxy:
    """A proxy to PostgreSQL that stops passing on what the client sends, from some piece on."""

    def __init__(self, real: Path, path: Path, *, messages: bool) -> None:
        self.real = real
        self.messages = messages  # pieces are messages of the protocol; otherwise what the client wrote at once
        self.left = -1  # pieces to pass on; negative: all
        self.stalled = threading.Event()
        self._sockets = [socket.socket(socket.AF_UNIX)]
        self._sockets[0].bind(str(path))
        self._sockets[0].listen()
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def hang_up(self) -> None:
        while any(thread.is_alive() for thread in self._threads):  # one more connection may just have been accepted
            for each in list(self._sockets):
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
            for thread in list(self._threads):
                thread.join(0.1)
        for each in self._sockets:
            each.close()

    def _start(self, do: Callable[..., None], *values: socket.socket) -> None:
        self._threads.append(threading.Thread(target=do, args=values, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, server = self._sockets[0].accept()[0], socket.socket(socket.AF_UNIX)
                self._sockets += [client, server]
                server.connect(str(self.real))
                self._start(self._forward, client, server)
                self._start(self._return, server, client)

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        with client.makefile("rb") as file, suppress(OSError):
            server.sendall(message(file, kind=0))  # the first message has no type
            while piece := message(file) if self.messages else file.read1(1 << 20):
                if self.left == 0:
                    self.stalled.set()
                    return
                self.left -= 1
                server.sendall(piece)

    def _return(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while piece := server.recv(1 << 16):
                client.sendall(piece)
            client.shutdown(socket.SHUT_RDWR)


def message(file: BufferedReader, kind: int = 1) -> bytes:
    head = file.read(kind + 4)
    return head and head + file.read(int.from_bytes(head[kind:]) - 4)


@asynccontextmanager
async def stalling(url: str, folder: Path, *, messages: bool) -> AsyncIterator[tuple[Any, StallingProxy]]:
    """A store that is connected through a stalling proxy."""
    parts = urlsplit(url)
    name = next(Path(parse_qs(parts.query)["host"][0]).glob(".s.PGSQL.*[0-9]"))
    folder.mkdir()
    proxy = StallingProxy(name, folder / name.name, messages=messages)
    store = open_store(urlunsplit(parts._replace(query=f"host={folder}")))
    await store.open()
    try:
        yield store, proxy
    finally:
        proxy.hang_up()
        await store.close()


def every_statement(selector: int, identity: int) -> ScriptedWork:
    """An ask, a reply and a tell: work for which `transact` runs all of its statements."""
    row = replace(ROW, selector=selector, id=identity, group="")
    work = ask_rows(row, shards={(selector, ""): Shard()}, replies=[Reply(selector, "key", "digest", "[]", 1.0)])
    work.keys, work.tells = {(selector, "key")}, [(selector, identity)]
    work.on_tell = lambda shard, decisions: Changes(settled=[replace(row, state=TOLD, shard=shard, seq=identity + 1)])
    return work


async def stalls_at(
    place: int, url: str, folder: Path, messages: bool, do: Callable[[Any, int, int], Coroutine[Any, Any, None]]
) -> bool:
    """Whether the proxy stalled before the work was done. If so, another server can soon do the same work."""
    async with stalling(url, folder / f"{place}", messages=messages) as (store, proxy):
        proxy.left = place
        doing = asyncio.create_task(do(store, place, 0))
        while not (doing.done() or proxy.stalled.is_set()):
            await asyncio.sleep(0.01)
        if not proxy.stalled.is_set():
            try:
                await doing
            except StoreDown:  # on a busy machine the server's timeout may strike first
                return True
            return False
        other = open_store(url)
        await other.open()
        async with asyncio.timeout(PATIENCE):
            while True:
                with suppress(StoreDown):
                    await do(other, place, 1)
                    break
        await other.close()
        proxy.hang_up()  # it may have stalled where it holds no lock, so that no timeout ends it
        with suppress(StoreDown):
            await doing
        return True


@pytest.mark.parametrize(
    ("call", "messages"),
    [("transact", False), ("transact", True), ("add", False)],
    ids=["between statements", "within statements", "adding a selector"],
)
def test_a_stalled_server_does_not_block_the_others(
    call: str, messages: bool, postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def do(store: Any, place: int, identity: int) -> None:
        if call == "add":
            await store.add(f"{place} {identity}", "{}", 1.0, 1000)
        else:
            await store.transact(every_statement(place, identity))

    async def run() -> None:
        url = postgres.database()
        at_once = 1 if call == "add" else 10  # additions block one another; transactions of other selectors do not
        while all(stalled) and len(stalled) < 100:
            places = range(len(stalled), len(stalled) + at_once)
            stalled.extend(await asyncio.gather(*(stalls_at(place, url, tmp_path, messages, do) for place in places)))

    async def soon(connection: asyncpg.Connection) -> dict[str, str]:
        return {**await postgres_connection.settings_for(connection), **SOON}

    stalled: list[bool] = []
    # Not while tables are created, which takes long on a slow machine and is not tested here.
    monkeypatch.setattr(postgres_store, "settings_for", soon)
    # Only a stall within a statement needs the limit of whole transactions, which PostgreSQL has from version 17 on.
    monkeypatch.setitem(postgres_connection.SINCE_17, "transaction_timeout", "800ms" if messages else "0")
    asyncio.run(run())
    assert sum(stalled) >= (4 if call == "add" else 14) * (2 if messages else 1)
    assert not all(stalled)
