"""Stores: the contract on memory, SQLite and PostgreSQL, each the real thing, and what is special to each."""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from suffice.errors import InvalidArgument
from suffice.service.errors import Conflict, StoreDown, StoreInUse, WrongStoreVersion
from suffice.service.records import TOLD, Key, Reply, Shard
from suffice.service.stores import open_store
from suffice.service.stores.base import Store
from suffice.service.stores.copying import copy
from suffice.service.stores.memory import MemoryStore
from suffice.service.stores.schema import VERSION
from suffice.service.stores.sqlite import SqliteStore
from suffice.testing.stores import ROW, StoreContract, ask_rows, settle_rows
from tests.support.postgres import Postgres
from tests.support.service import open_and_close, with_store


class TestMemory(StoreContract):
    durable = False

    def make_store(self, folder: Path) -> Store:
        return MemoryStore()


class TestSqlite(StoreContract):
    def make_store(self, folder: Path) -> Store:
        return SqliteStore(folder / "suffice.db")


class TestPostgres(StoreContract):
    @pytest.fixture(autouse=True)
    def _database(self, postgres: Postgres) -> None:
        self.url = postgres.database()

    def make_store(self, folder: Path) -> Store:
        return open_store(self.url)


# --- SQLite


def test_links_to_a_file_share_its_lock(tmp_path: Path) -> None:
    (tmp_path / "other.db").symlink_to(tmp_path / "a.db")

    async def do(store: Store) -> None:
        with pytest.raises(StoreInUse):
            await open_store(str(tmp_path / "other.db")).open()

    with_store(str(tmp_path / "a.db"), do)


def test_a_second_process_on_a_file_is_refused(tmp_path: Path) -> None:
    url = str(tmp_path / "a.db")

    async def do(store: Store) -> None:
        with pytest.raises(StoreInUse, match=r"in use by another server \(process \d+\).*PostgreSQL"):
            await open_store(url).open()
        beside = open_store(url)
        await beside.open(keys_only=True)  # keys may be managed while a server runs
        await beside.add_key(Key("a", "n", "h", ("use",), 1.0))
        await beside.close()
        assert [key.id for key in await store.keys()] == ["a"]

    with_store(url, do)
    open_and_close(url)  # the lock was released


def test_a_commit_is_forced_to_disk(tmp_path: Path) -> None:
    async def do(store: Any) -> None:
        for connection in (store._write, store._read):
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL

    with_store(str(tmp_path / "a.db"), do)


def test_a_file_of_another_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    version = VERSION + 1
    path, copied = tmp_path / "a.db", tmp_path / "copy.db"
    open_and_close(str(path))
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(WrongStoreVersion, match=r"another version of suffice.*start with a new store"):
        open_and_close(str(path))
    with pytest.raises(WrongStoreVersion, match="another version of suffice"):
        asyncio.run(copy(str(path), str(copied)))
    assert not copied.exists()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (version,)


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_text("not a database at all, but long enough to be looked at" * 100)
    with pytest.raises(StoreDown, match="not a database"):
        open_and_close(str(path))
    with pytest.raises(StoreDown, match="there is no folder"):
        with_store(str(tmp_path / "none" / "a.db"), lambda store: store.ping())


def test_a_file_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    open_and_close(str(path))
    assert path.stat().st_mode & 0o077 == 0


# --- memory


def test_memory_forgets_the_oldest_settled_decisions_and_replies() -> None:
    async def do() -> None:
        store = MemoryStore(most=10)
        for place in range(50):
            row = replace(ROW, id=place)
            await store.transact(ask_rows(row, replies=[Reply(1, str(place), "d", "[]", 1.0)]))
            await store.transact(settle_rows(replace(row, state=TOLD, seq=place + 1)))
        await store.transact(ask_rows(replace(ROW, id=50)))
        assert [row.id for row in await store.rows(1, -1, 99)] == [*range(40, 51)]
        assert len(store._replies) == 10
        assert len(store._due) == 1  # pending decisions are never forgotten

    asyncio.run(do())


# --- addresses and copies


def test_addresses() -> None:
    for wrong in ("mysql://u:secret@h/d", "skip", "", "sqlite:/x"):
        with pytest.raises(InvalidArgument, match="store must be") as caught:
            open_store(wrong)
        assert "secret" not in str(caught.value)


def test_a_store_is_copied_into_an_empty_one(tmp_path: Path, postgres: Postgres) -> None:
    first, second, third = str(tmp_path / "a.db"), postgres.database(), str(tmp_path / "b.db")

    async def fill(store: Store) -> None:
        await store.add("a", "{}", 1.0, 9)
        await store.add_key(Key("0a", "n", "h", ("use",), 1.0))
        rows = [replace(ROW, id=place) for place in range(5003)]
        await store.transact(
            ask_rows(*rows, shards={(1, ""): Shard(cost=1.0)}, replies=[Reply(1, "k", "d", "[]", 1.0)])
        )
        await store.save(1, 1, "snapshot")

    async def look(store: Store) -> Any:
        rows = await store.rows(1, -1, 9999)
        return await store.selectors("", 9, archived=True), rows, await store.shards([1]), await store.keys()

    with_store(first, fill)
    seen: list[tuple[str, int, int]] = []
    copied = asyncio.run(copy(first, second, lambda *step: seen.append(step)))
    assert copied["decisions"] == 5003
    assert ("decisions", 5003, 5003) in seen
    assert asyncio.run(copy(second, third)) == copied
    assert with_store(first, look) == with_store(second, look) == with_store(third, look)
    with pytest.raises(Conflict, match="copy into an empty store"):
        asyncio.run(copy(first, second))
    (tmp_path / "empty.db").touch()
    for empty in (str(tmp_path / "empty.db"), postgres.database()):
        with pytest.raises(Conflict, match="nothing of suffice"):
            asyncio.run(copy(empty, str(tmp_path / "c.db")))
    with pytest.raises(InvalidArgument, match="no file"):
        asyncio.run(copy(str(tmp_path / "none.db"), third))
    with pytest.raises(InvalidArgument, match="memory"):
        asyncio.run(copy("memory:", third))
