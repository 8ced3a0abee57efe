"""One store into another, as it is at one instant: from SQLite to PostgreSQL, back, or to a second file as a backup."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import asyncpg

from suffice.errors import InvalidArgument
from suffice.service.errors import Conflict, StoreDown
from suffice.service.stores import open_store
from suffice.service.stores.base import Store
from suffice.service.stores.postgres import PostgresStore
from suffice.service.stores.postgres_line import SETTINGS, speaking
from suffice.service.stores.schema import TABLES, VERSION, check_version
from suffice.service.stores.sqlite import SqliteStore

PAGE: Final = 5000
Progress = Callable[[str, int, int], None]  # a table, rows copied, rows in all
Page = tuple[str, int, list[tuple[Any, ...]]]  # a table, its rows in all, some of them


async def copy(source: str, target: str, progress: Progress | None = None) -> dict[str, int]:
    """Copy everything, all or nothing, and say how many rows of each table. The target must be empty.

    The source may be in use: it is read as it is at one instant. What happens there later is not in the copy, so stop
    the server first if the copy is to take its place.
    """
    old, new = open_store(source), open_store(target)
    if not isinstance(old, SqliteStore | PostgresStore) or not isinstance(new, SqliteStore | PostgresStore):
        raise InvalidArgument(
            "a store in memory cannot be copied from outside: give an SQLite file or a PostgreSQL address"
        )
    if isinstance(old, SqliteStore) and not old.path.is_file():
        raise InvalidArgument(f"there is no file {old.path}")
    version = _sqlite_version(old) if isinstance(old, SqliteStore) else await _postgres_version(old)
    if version != VERSION:
        check_version(version, source.split("@")[-1])
        raise Conflict(
            f"{source.split('@')[-1]} was written by an older suffice: start a server of this version on it first"
        )
    await new.open()
    try:
        await _check_empty(new, target)
        pages = _sqlite_pages(old) if isinstance(old, SqliteStore) else _postgres_pages(old)
        if isinstance(new, SqliteStore):
            return await _into_sqlite(new, pages, progress)
        return await _into_postgres(new, pages, progress)
    finally:
        await new.close()


def _sqlite_version(store: SqliteStore) -> int:
    db = sqlite3.connect(store.path)
    try:
        return int(db.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.Error as error:
        raise StoreDown(f"{store.path} could not be read: {error}") from error
    finally:
        db.close()


async def _postgres_version(store: PostgresStore) -> int:
    async with speaking():
        connection = await asyncpg.connect(store.url, server_settings=SETTINGS, timeout=10)
        try:
            if await connection.fetchval("SELECT to_regclass('schema_version')") is None:
                raise Conflict("there is nothing of suffice in the database to be copied")
            return int(await connection.fetchval("SELECT COALESCE(MAX(version), 0) FROM schema_version"))
        finally:
            await connection.close()


async def _check_empty(store: Store, url: str) -> None:
    if await store.selectors("", 1, archived=True) or await store.keys():
        raise Conflict(f"{url.split('@')[-1]} holds selectors or keys already: copy into an empty store")


async def _sqlite_pages(store: SqliteStore) -> AsyncIterator[Page]:
    with sqlite3.connect(store.path, isolation_level=None) as db:
        db.execute("BEGIN")  # one instant
        for table, columns in TABLES.items():
            count = db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
            found = db.execute(f"SELECT {', '.join(columns)} FROM {table}")
            while page := found.fetchmany(PAGE):
                yield table, count, page
    db.close()


async def _postgres_pages(store: PostgresStore) -> AsyncIterator[Page]:
    connection = await asyncpg.connect(store.url, server_settings=SETTINGS)
    try:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            await connection.execute("SET LOCAL statement_timeout = 0")
            for table, columns in TABLES.items():
                count = await connection.fetchval(f"SELECT COUNT(*) FROM {table}")
                page: list[tuple[Any, ...]] = []
                async for values in connection.cursor(f"SELECT {', '.join(columns)} FROM {table}", prefetch=PAGE):
                    page.append(tuple(values))
                    if len(page) == PAGE:
                        yield table, count, page
                        page = []
                if page:
                    yield table, count, page
    finally:
        await connection.close()


async def _into_sqlite(store: SqliteStore, pages: AsyncIterator[Page], progress: Progress | None) -> dict[str, int]:
    db = sqlite3.connect(store.path, isolation_level=None)
    try:
        db.execute("BEGIN IMMEDIATE")
        copied = dict.fromkeys(TABLES, 0)
        async for table, count, rows in pages:
            marks = ", ".join("?" * len(TABLES[table]))
            db.executemany(f"INSERT INTO {table} ({', '.join(TABLES[table])}) VALUES ({marks})", rows)
            _note(copied, table, count, len(rows), progress)
        db.execute("COMMIT")
    finally:
        db.close()
    return copied


async def _into_postgres(store: PostgresStore, pages: AsyncIterator[Page], progress: Progress | None) -> dict[str, int]:
    connection = await asyncpg.connect(store.url, server_settings=SETTINGS)
    try:
        async with connection.transaction():
            await connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            copied = dict.fromkeys(TABLES, 0)
            async for table, count, rows in pages:
                await connection.copy_records_to_table(table, records=rows, columns=list(TABLES[table]))
                _note(copied, table, count, len(rows), progress)
    finally:
        await connection.close()
    return copied


def _note(copied: dict[str, int], table: str, count: int, rows: int, progress: Progress | None) -> None:
    copied[table] += rows
    if progress is not None:
        progress(table, copied[table], count)
