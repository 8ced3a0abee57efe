"""Wherever a server stops in the middle of a transaction, PostgreSQL gives its turn to the others after a while."""

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
from tests.support.jobs import ODD, Job, asked
from tests.support.postgres import Postgres

SOON = {"lock_timeout": "500ms", "idle_in_transaction_session_timeout": "500ms"}
PATIENCE = 30.0  # seconds; it takes one or two


class Stalling:
    """A line to PostgreSQL on which, from some piece on, nothing more is sent, as if who speaks had been stopped."""

    def __init__(self, real: Path, path: Path, *, messages: bool) -> None:
        self.real = real
        self.messages = messages  # pieces are the messages of the protocol, else whatever was written at once
        self.left = -1  # pieces still to be passed on; negative: all
        self.stalled = threading.Event()
        self._sockets = [socket.socket(socket.AF_UNIX)]
        self._sockets[0].bind(str(path))
        self._sockets[0].listen()
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def hang_up(self) -> None:
        while any(thread.is_alive() for thread in self._threads):  # one more may just have been accepted
            for one in list(self._sockets):
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
            for thread in list(self._threads):
                thread.join(0.1)
        for one in self._sockets:
            one.close()

    def _start(self, do: Callable[..., None], *values: socket.socket) -> None:
        self._threads.append(threading.Thread(target=do, args=values, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                here, there = self._sockets[0].accept()[0], socket.socket(socket.AF_UNIX)
                self._sockets += [here, there]
                there.connect(str(self.real))
                self._start(self._ask, here, there)
                self._start(self._answer, there, here)

    def _ask(self, here: socket.socket, there: socket.socket) -> None:
        with here.makefile("rb") as file, suppress(OSError):
            there.sendall(message(file, kind=0))  # the first has no letter
            while piece := message(file) if self.messages else file.read1(1 << 20):
                if self.left == 0:
                    self.stalled.set()
                    return
                self.left -= 1
                there.sendall(piece)

    def _answer(self, there: socket.socket, here: socket.socket) -> None:
        with suppress(OSError):
            while piece := there.recv(1 << 16):
                here.sendall(piece)
            here.shutdown(socket.SHUT_RDWR)


def message(file: BufferedReader, kind: int = 1) -> bytes:
    head = file.read(kind + 4)
    return head and head + file.read(int.from_bytes(head[kind:]) - 4)


@asynccontextmanager
async def stalling(url: str, folder: Path, *, messages: bool) -> AsyncIterator[tuple[Any, Stalling]]:
    """A store whose words go through a line that can be stalled."""
    parts = urlsplit(url)
    name = next(Path(parse_qs(parts.query)["host"][0]).glob(".s.PGSQL.*[0-9]"))
    folder.mkdir()
    line = Stalling(name, folder / name.name, messages=messages)
    store = open_store(urlunsplit(parts._replace(query=f"host={folder}")))
    await store.open()
    try:
        yield store, line
    finally:
        line.hang_up()
        await store.close()


def whole(selector: int, identity: int) -> Job:
    """An ask, an answer to be kept and a tell: all that is ever said in `transact`."""
    row = replace(ODD, selector=selector, id=identity, group="")
    job = asked(row, shards={(selector, ""): Shard()}, replies=[Reply(selector, "key", "digest", "[]", 1.0)])
    job.keys, job.tells = {(selector, "key")}, [(selector, identity)]
    job.on_tell = lambda shard, rows: Changes(settled=[replace(row, state=TOLD, shard=shard, seq=identity + 1)])
    return job


async def stopped_at(
    place: int, url: str, folder: Path, messages: bool, do: Callable[[Any, int, int], Coroutine[Any, Any, None]]
) -> bool:
    """Whether it was stopped before its end. If so, the same must be possible for another before long."""
    async with stalling(url, folder / f"{place}", messages=messages) as (store, line):
        line.left = place
        doing = asyncio.create_task(do(store, place, 0))
        while not (doing.done() or line.stalled.is_set()):
            await asyncio.sleep(0.01)
        if not line.stalled.is_set():
            try:
                await doing
            except StoreDown:  # on a busy machine it may come too late: who is slow is taken for stopped
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
        line.hang_up()  # it may stand where it holds nothing up: nobody would end it
        with suppress(StoreDown):
            await doing
        return True


@pytest.mark.parametrize(
    ("job", "messages"),
    [("transact", False), ("transact", True), ("add", False)],
    ids=["between statements", "within statements", "who adds a selector"],
)
def test_who_stops_gives_its_turn_away(
    job: str, messages: bool, postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def do(store: Any, place: int, identity: int) -> None:
        if job == "add":
            await store.add(f"{place} {identity}", "{}", 1.0, 1000)
        else:
            await store.transact(whole(place, identity))

    async def run() -> None:
        url = postgres.database()
        at_once = 1 if job == "add" else 10  # those who add wait for one another, the others only for clocks
        while all(stops) and len(stops) < 100:
            places = range(len(stops), len(stops) + at_once)
            stops.extend(await asyncio.gather(*(stopped_at(place, url, tmp_path, messages, do) for place in places)))

    async def soon(connection: asyncpg.Connection) -> dict[str, str]:
        return {**await postgres_connection.settings_for(connection), **SOON}

    stops: list[bool] = []
    # Not for opening: it makes the tables in a transaction too, which is not what is stopped here, and a machine may be slow.
    monkeypatch.setattr(postgres_store, "settings_for", soon)
    # Before version 17 there was no limit to a whole transaction: between statements none is needed.
    monkeypatch.setitem(postgres_connection.SINCE_17, "transaction_timeout", "800ms" if messages else "0")
    asyncio.run(run())
    assert sum(stops) >= (4 if job == "add" else 14) * (2 if messages else 1)
    assert not all(stops)
