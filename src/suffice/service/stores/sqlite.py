"""A store in one SQLite file, for one server process.

One writer commits many requests at a time. Each commit is forced to disk (WAL, synchronous=FULL) before any request in it is
answered. Nothing is cached beside the file, so a transaction that fails needs no further cleanup.
"""

import asyncio
import contextlib
import os
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Final

from suffice.service.count_shards import write
from suffice.service.errors import StoreDown, StoreInUse
from suffice.service.records import DecisionRow, Reply, SelectorRow
from suffice.service.stores import schema
from suffice.service.stores.base import (
    AccountKey,
    Changes,
    DecisionKey,
    Replies,
    ReplyKey,
    Shards,
    Store,
    Work,
    accounts_of,
    check_room,
)
from suffice.service.stores.locking import FileLock
from suffice.service.stores.schema import Value
from suffice.service.stores.tables import ADD, LAST, NAMED, Made, Tables, counts_of

SHARD: Final = 0
BUSY_TIMEOUT: Final = 10.0  # seconds to wait for another process, such as a backup or `suffice keys`
MOST_VALUES: Final = 500  # in one query

COUNTERS: Final = "SELECT selector, group_name, shard, counts FROM counters WHERE selector = ?"
COUNTERS_OF: Final = COUNTERS + " AND group_name = ?"
INSERT: Final = f"INSERT INTO decisions ({schema.ROW}) VALUES ({', '.join('?' * len(schema.TABLES['decisions']))})"
UPDATE: Final = (
    f"UPDATE decisions SET {', '.join(f'{column} = ?' for column in schema.SETTLED[:-2])} WHERE selector = ? AND id = ?"
)


class SqliteStore(Tables, Store):
    """Tables in an SQLite file."""

    selectors_query = f"""SELECT {schema.SELECTOR} FROM selectors WHERE name > $1 AND ($2 OR archived IS NULL)
        AND instr(name, $3) ORDER BY name LIMIT $4"""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.url = f"sqlite:///{path}"
        real = self.path.resolve()  # links to a file share its lock
        self._lock = FileLock(real.with_name(real.name + ".lock"))
        self._writing: ThreadPoolExecutor | None = None
        self._reading: ThreadPoolExecutor | None = None
        self._write: sqlite3.Connection | None = None
        self._read: sqlite3.Connection | None = None

    # --- open and close

    async def open(self, *, keys_only: bool = False) -> None:
        if not self.path.parent.is_dir():
            raise StoreDown(f"{self.path} cannot be made: there is no folder {self.path.parent}")
        try:
            taken = keys_only or self._lock.take()
        except OSError as error:
            raise StoreDown(f"{self.path} cannot be used: its lock file cannot be made, {error.strerror}") from error
        if not taken:
            raise StoreInUse(
                f"{self.path} is in use by another server{self._lock.holder()}: an SQLite file is for one server process; "
                "stop the other one, or use PostgreSQL to run several"
            )
        self._writing, self._reading = ThreadPoolExecutor(1, "sqlite-write"), ThreadPoolExecutor(1, "sqlite-read")
        try:
            self._write = await self._in(self._writing, self._connect)
            await self._transaction(self._create, "BEGIN EXCLUSIVE")  # other processes that start now wait here
            self._read = await self._in(self._reading, self._connect)
        except BaseException:
            await self.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))  # it may hold personal data
        except FileExistsError:
            pass
        except OSError as error:
            raise StoreDown(f"{self.path} cannot be made: {error.strerror}") from error
        connection = sqlite3.connect(self.path, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")  # macOS: through the disk's own cache
        return connection

    def _create(self, writer: sqlite3.Connection) -> None:
        version = writer.execute("PRAGMA user_version").fetchone()[0]
        if version:
            schema.check_version(version, str(self.path))
            return
        for statement in schema.CREATE:
            writer.execute(statement)
        writer.execute(f"PRAGMA user_version = {schema.VERSION}")

    async def close(self) -> None:
        for pool, connection in ((self._reading, self._read), (self._writing, self._write)):
            if pool is not None:
                if connection is not None:
                    with contextlib.suppress(sqlite3.Error):
                        await asyncio.get_running_loop().run_in_executor(pool, connection.close)
                pool.shutdown()
        self._reading = self._writing = self._read = self._write = None
        self._lock.release()

    async def _in(self, pool: ThreadPoolExecutor | None, run: Callable[[], Made]) -> Made:
        if pool is None:
            raise StoreDown(f"{self.path} is not open")
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, run)
        except sqlite3.Error as error:
            raise StoreDown(f"{self.path} could not be used, and nothing was changed: {error}") from error

    async def _query(self, query: Callable[[sqlite3.Connection], Made]) -> Made:
        def run() -> Made:
            if self._read is None:
                raise StoreDown(f"{self.path} is not open")
            return query(self._read)

        return await self._in(self._reading, run)

    async def _transaction(self, change: Callable[[sqlite3.Connection], Made], begin: str = "BEGIN IMMEDIATE") -> Made:
        """Run a change in a transaction; roll back if it raises."""

        def run() -> Made:
            writer = self._write
            if writer is None:
                raise StoreDown(f"{self.path} is not open")
            writer.execute(begin)
            try:
                result = change(writer)
                writer.execute("COMMIT")
            except BaseException:
                if writer.in_transaction:
                    writer.execute("ROLLBACK")
                raise
            return result

        return await self._in(self._writing, run)

    async def _fetch(self, make: Callable[..., Made], query: str, *values: Value | Sequence[int]) -> list[Made]:
        return await self._query(lambda db: [make(*row) for row in db.execute(_marked(query), values)])

    async def _change(self, query: str, *values: Value) -> int:
        return await self._transaction(lambda writer: writer.execute(_marked(query), values).rowcount)

    # --- decisions

    async def transact(self, work: Work) -> None:
        def apply_work(writer: sqlite3.Connection) -> None:
            if work.asks:
                counts = counts_of(_each(writer, COUNTERS_OF, work.asks))
                _write(writer, work.ask(SHARD, counts, _replies(writer, work.keys) if work.keys else {}))
            if work.tells:
                rows = _rows(writer, work.tells)
                counts = counts_of(_each(writer, COUNTERS_OF, accounts_of(work, rows.values())))
                _write(writer, work.tell(SHARD, counts, rows))

        await self._transaction(apply_work)

    async def events(self, selector: int, seen: Mapping[int, int], limit: int) -> list[DecisionRow]:
        query = f"""SELECT {schema.ROW} FROM decisions WHERE selector = ? AND shard = ? AND seq > ?
            UNION ALL SELECT {schema.EXPIRY} FROM decisions WHERE selector = ? AND expired_shard = ? AND expired_seq > ?
            ORDER BY seq LIMIT ?"""
        events: list[DecisionRow] = []
        # This process writes one shard; a copy of a PostgreSQL store has more.
        shards = "SELECT shard FROM counters WHERE selector = ? AND group_name = ''"
        for shard in await self._fetch(int, shards, selector):
            after = (selector, shard, seen.get(shard, 0))
            events += await self._fetch(DecisionRow, query, *after, *after, limit)
        return events

    async def set_clock(self, clock: Callable[[], float]) -> None:
        query = """UPDATE decisions SET due = :now + (due - asked_at), asked_at = :now
            WHERE state = 0 AND due IS NOT NULL AND due > :now AND asked_at > :now + 60"""
        await self._transaction(lambda writer: writer.execute(query, {"now": clock()}))

    async def overdue(self, now: float, limit: int, skip: Collection[int] = ()) -> list[DecisionKey]:
        query = f"""SELECT selector, id FROM decisions WHERE state = 0 AND due IS NOT NULL AND due < ?
            AND selector NOT IN ({", ".join("?" * len(skip))}) ORDER BY due LIMIT ?"""
        return await self._fetch(lambda selector, identity: (selector, identity), query, now, *skip, limit)

    async def shards(self, selectors: Collection[int]) -> dict[AccountKey, Shards]:
        return await self._query(lambda db: counts_of(_each(db, COUNTERS, [(number,) for number in selectors])))

    # --- selectors

    async def add(self, name: str, plan: str, at: float, most: int) -> tuple[SelectorRow, bool]:
        def add(writer: sqlite3.Connection) -> tuple[SelectorRow, bool]:
            row = writer.execute(_marked(NAMED), (name,)).fetchone()
            if row is not None:
                return SelectorRow(*row), False
            count, last = writer.execute(LAST).fetchone()
            check_room(count, most)
            writer.execute(_marked(ADD), (last + 1, name, plan, at))
            return SelectorRow(last + 1, name, plan, at), True

        return await self._transaction(add)


@lru_cache
def _marked(query: str) -> str:
    """A query with SQLite's question marks for values."""
    return re.sub(r"\$[0-9]+", "?", query)


def _each(
    db: sqlite3.Connection, query: str, values: Iterable[tuple[Value, ...]]
) -> Iterator[tuple[int, str, int, str]]:
    """The rows of a query, run for one tuple of values after another."""
    return chain.from_iterable(db.execute(query, each) for each in values)


def _replies(db: sqlite3.Connection, keys: Iterable[ReplyKey]) -> Replies:
    query = "SELECT digest, answer, at FROM replies WHERE selector = ? AND idempotency_key = ?"
    return {key: Reply(*key, *row) for key in keys for row in db.execute(query, key)}


def _rows(db: sqlite3.Connection, wanted: list[DecisionKey]) -> dict[DecisionKey, DecisionRow]:
    rows = {}
    for selector in dict.fromkeys(key[0] for key in wanted):
        ids = [identity for number, identity in wanted if number == selector]
        for start in range(0, len(ids), MOST_VALUES):
            some = ids[start : start + MOST_VALUES]
            marks = ", ".join("?" * len(some))
            query = f"SELECT {schema.ROW} FROM decisions WHERE selector = ? AND id IN ({marks})"
            for values in db.execute(query, (selector, *some)):
                rows[(values[0], values[1])] = DecisionRow(*values)
    return rows


def _write(db: sqlite3.Connection, changes: Changes) -> None:
    db.executemany(INSERT, map(schema.row_values, changes.asked))
    db.executemany(UPDATE, map(schema.settled_values, changes.settled))
    db.executemany(
        """INSERT INTO counters (selector, group_name, shard, counts) VALUES (?, ?, 0, ?)
            ON CONFLICT (selector, group_name, shard) DO UPDATE SET counts = excluded.counts""",
        [(*key, write(shard)) for key, shard in changes.shards.items()],
    )
    db.executemany(
        """INSERT INTO replies (selector, idempotency_key, digest, answer, at) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (selector, idempotency_key) DO UPDATE
            SET digest = excluded.digest, answer = excluded.answer, at = excluded.at""",
        map(schema.reply_values, changes.replies),
    )
