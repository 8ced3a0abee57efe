"""Copies one store into another: a move between SQLite and PostgreSQL, or a backup."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from typing import Final, NamedTuple

from suffice.errors import InvalidArgument
from suffice.service.errors import Conflict, StoreDown
from suffice.service.stores import open_store
from suffice.service.stores.base import Store
from suffice.service.stores.postgres import PostgresStore
from suffice.service.stores.postgres_connection import opened, translating_errors
from suffice.service.stores.schema import TABLES, Value, check_version
from suffice.service.stores.sqlite import SqliteStore

PAGE: Final = 5000
Progress = Callable[[str, int, int], None]  # table, rows copied so far, rows in all
Rows = list[tuple[Value, ...]]


class Page(NamedTuple):
    """Some rows of a table."""

    table: str
    in_all: int  # rows of the table
    rows: Rows


async def copy(source: str, target: str, progress: Progress | None = None) -> dict[str, int]:
    """Copy a store into an empty one, all or nothing; returns the number of rows of each table.

    The source may be in use: the copy holds its state at one instant. Stop the server first if the copy is to replace it.
    """
    old, new = open_store(source), open_store(target)
    if not isinstance(old, SqliteStore | PostgresStore) or not isinstance(new, SqliteStore | PostgresStore):
        raise InvalidArgument(
            "a store in memory cannot be copied from outside: give an SQLite file or a PostgreSQL address"
        )
    if isinstance(old, SqliteStore) and not old.path.is_file():
        raise InvalidArgument(f"there is no file {old.path}")
    check_version(await _version(old), source.split("@")[-1])
    await new.open()
    try:
        await _check_empty(new, target)
        pages = _sqlite_pages(old) if isinstance(old, SqliteStore) else _postgres_pages(old)
        copied = dict.fromkeys(TABLES, 0)

        async def counted() -> AsyncIterator[Page]:
            async for page in pages:
                yield page
                copied[page.table] += len(page.rows)
                if progress is not None:
                    progress(page.table, copied[page.table], page.in_all)

        if isinstance(new, SqliteStore):
            await _into_sqlite(new, counted())
        else:
            await _into_postgres(new, counted())
        return copied
    finally:
        await new.close()


async def _version(store: SqliteStore | PostgresStore) -> int:
    """The version of the store's tables."""
    if isinstance(store, SqliteStore):
        try:
            with closing(sqlite3.connect(store.path)) as db:
                version = int(db.execute("PRAGMA user_version").fetchone()[0])
        except sqlite3.Error as error:
            raise StoreDown(f"{store.path} could not be read: {error}") from error
    else:
        async with translating_errors(), opened(store.url, timeout=10) as connection:
            created = await connection.fetchval("SELECT to_regclass('schema_version')") is not None
            version = await connection.fetchval("SELECT version FROM schema_version") if created else 0
    if not version:
        raise Conflict(f"there is nothing of suffice to copy in {store.url.split('@')[-1]}")
    return version


async def _check_empty(store: Store, url: str) -> None:
    if await store.selectors("", 1, archived=True) or await store.keys():
        raise Conflict(f"{url.split('@')[-1]} holds selectors or keys already: copy into an empty store")


async def _sqlite_pages(store: SqliteStore) -> AsyncIterator[Page]:
    with closing(sqlite3.connect(store.path, isolation_level=None)) as db:
        db.execute("BEGIN")  # a read transaction holds one instant
        for table, columns in TABLES.items():
            count = db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
            cursor = db.execute(f"SELECT {', '.join(columns)} FROM {table}")
            while page := cursor.fetchmany(PAGE):
                yield Page(table, count, page)


async def _postgres_pages(store: PostgresStore) -> AsyncIterator[Page]:
    async with (
        opened(store.url) as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        await connection.execute("SET LOCAL statement_timeout = 0")
        for table, columns in TABLES.items():
            count = await connection.fetchval(f"SELECT COUNT(*) FROM {table}")
            cursor = await connection.cursor(f"SELECT {', '.join(columns)} FROM {table}")
            while page := await cursor.fetch(PAGE):
                yield Page(table, count, [tuple(values) for values in page])


async def _into_sqlite(store: SqliteStore, pages: AsyncIterator[Page]) -> None:
    with closing(sqlite3.connect(store.path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        async for page in pages:
            columns = TABLES[page.table]
            marks = ", ".join("?" * len(columns))
            db.executemany(f"INSERT INTO {page.table} ({', '.join(columns)}) VALUES ({marks})", page.rows)
        db.execute("COMMIT")


async def _into_postgres(store: PostgresStore, pages: AsyncIterator[Page]) -> None:
    async with opened(store.url) as connection, connection.transaction():
        await connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        async for page in pages:
            await connection.copy_records_to_table(page.table, records=page.rows, columns=list(TABLES[page.table]))
