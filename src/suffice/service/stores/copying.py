"""One store into another, as it is at one instant: from SQLite to PostgreSQL, back, or to a second file as a backup."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from typing import Any, Final

from suffice.errors import InvalidArgument
from suffice.service.errors import Conflict, StoreDown
from suffice.service.stores import open_store
from suffice.service.stores.base import Store
from suffice.service.stores.postgres import PostgresStore
from suffice.service.stores.postgres_connection import opened, speaking
from suffice.service.stores.schema import TABLES, VERSION, check_version
from suffice.service.stores.sqlite import SqliteStore

PAGE: Final = 5000
Progress = Callable[[str, int, int], None]  # a table, rows copied, rows in all
Rows = list[tuple[Any, ...]]
Page = tuple[str, int, Rows]  # a table, its rows in all, some of them


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
        copied = dict.fromkeys(TABLES, 0)

        async def noted() -> AsyncIterator[tuple[str, Rows]]:
            async for table, count, rows in pages:
                yield table, rows
                copied[table] += len(rows)
                if progress is not None:
                    progress(table, copied[table], count)

        if isinstance(new, SqliteStore):
            await _into_sqlite(new, noted())
        else:
            await _into_postgres(new, noted())
        return copied
    finally:
        await new.close()


def _sqlite_version(store: SqliteStore) -> int:
    try:
        with closing(sqlite3.connect(store.path)) as db:
            return int(db.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.Error as error:
        raise StoreDown(f"{store.path} could not be read: {error}") from error


async def _postgres_version(store: PostgresStore) -> int:
    async with speaking(), opened(store.url, timeout=10) as connection:
        if await connection.fetchval("SELECT to_regclass('schema_version')") is None:
            raise Conflict("there is nothing of suffice in the database to be copied")
        return int(await connection.fetchval("SELECT COALESCE(MAX(version), 0) FROM schema_version"))


async def _check_empty(store: Store, url: str) -> None:
    if await store.selectors("", 1, archived=True) or await store.keys():
        raise Conflict(f"{url.split('@')[-1]} holds selectors or keys already: copy into an empty store")


async def _sqlite_pages(store: SqliteStore) -> AsyncIterator[Page]:
    with closing(sqlite3.connect(store.path, isolation_level=None)) as db:
        db.execute("BEGIN")  # one instant
        for table, columns in TABLES.items():
            count = db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
            found = db.execute(f"SELECT {', '.join(columns)} FROM {table}")
            while page := found.fetchmany(PAGE):
                yield table, count, page


async def _postgres_pages(store: PostgresStore) -> AsyncIterator[Page]:
    async with (
        opened(store.url) as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        await connection.execute("SET LOCAL statement_timeout = 0")
        for table, columns in TABLES.items():
            count = await connection.fetchval(f"SELECT COUNT(*) FROM {table}")
            found = await connection.cursor(f"SELECT {', '.join(columns)} FROM {table}")
            while page := await found.fetch(PAGE):
                yield table, count, [tuple(values) for values in page]


async def _into_sqlite(store: SqliteStore, pages: AsyncIterator[tuple[str, Rows]]) -> None:
    with closing(sqlite3.connect(store.path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        async for table, rows in pages:
            marks = ", ".join("?" * len(TABLES[table]))
            db.executemany(f"INSERT INTO {table} ({', '.join(TABLES[table])}) VALUES ({marks})", rows)
        db.execute("COMMIT")


async def _into_postgres(store: PostgresStore, pages: AsyncIterator[tuple[str, Rows]]) -> None:
    async with opened(store.url) as connection, connection.transaction():
        await connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        async for table, rows in pages:
            await connection.copy_records_to_table(table, records=rows, columns=list(TABLES[table]))
