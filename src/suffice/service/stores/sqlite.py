"""A store in one SQLite file, for one server process. One writer, many requests to a commit, on disk before it is said.

The log is written ahead (WAL) and forced to disk at each commit (synchronous=FULL). Nothing is cached: what is in the
file is what there is, so a transaction that fails leaves nothing to be undone.
"""

import asyncio
import contextlib
import os
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

from suffice.service.count_shards import write
from suffice.service.errors import StoreDown, StoreInUse
from suffice.service.records import DecisionRow, Reply, SelectorRow
from suffice.service.stores import schema
from suffice.service.stores.base import AccountKey, Changes, Shards, Work, check_room, whose
from suffice.service.stores.locking import FileLock
from suffice.service.stores.tables import ADD, LAST, NAMED, Got, Tables, by_whose

SHARD: Final = 0
BUSY: Final = 10.0  # seconds to wait for another process: a backup, or one that manages keys
MANY: Final = 500  # values in one query

COUNTERS: Final = "SELECT selector, group_name, shard, counts FROM counters WHERE selector = ?"
COUNTERS_OF: Final = COUNTERS + " AND group_name = ?"
INSERT: Final = f"INSERT INTO decisions ({schema.ROW}) VALUES ({', '.join('?' * len(schema.TABLES['decisions']))})"
UPDATE: Final = (
    f"UPDATE decisions SET {', '.join(f'{one} = ?' for one in schema.SETTLED[:-2])} WHERE selector = ? AND id = ?"
)


class SqliteStore(Tables):
    """Tables in a file."""

    selectors_query = f"""SELECT {schema.SELECTOR} FROM selectors WHERE name > $1 AND ($2 OR archived IS NULL)
        AND instr(name, $3) ORDER BY name LIMIT $4"""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.url = f"sqlite:///{path}"
        real = self.path.resolve()  # a file may have many names
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
                f"{self.path} is in use by another server{self._lock.whose()}: an SQLite file is for one server process; "
                "stop the other one, or use PostgreSQL to run several"
            )
        self._writing, self._reading = ThreadPoolExecutor(1, "sqlite-write"), ThreadPoolExecutor(1, "sqlite-read")
        try:
            self._write = await self._in(self._writing, self._connect)
            await self._whole(self._migrate, "BEGIN EXCLUSIVE")  # whoever starts at the same time waits there
            self._read = await self._in(self._reading, self._connect)
        except BaseException:
            await self.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))  # it holds what users asked for
        except FileExistsError:
            pass
        except OSError as error:
            raise StoreDown(f"{self.path} cannot be made: {error.strerror}") from error
        connection = sqlite3.connect(self.path, timeout=BUSY, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        # Where the system distinguishes: to the disk, not just to its cache.
        connection.execute("PRAGMA fullfsync = ON")
        return connection

    def _migrate(self, writer: sqlite3.Connection) -> None:
        version = writer.execute("PRAGMA user_version").fetchone()[0]
        schema.check_version(version, str(self.path))
        for statement in schema.steps_from(version):
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

    async def _in(self, pool: ThreadPoolExecutor | None, do: Callable[..., Got], *given: Any) -> Got:
        if pool is None or None in given:
            raise StoreDown(f"{self.path} is not open")
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, do, *given)
        except sqlite3.Error as error:
            raise StoreDown(f"{self.path} could not be used, and nothing was changed: {error}") from error

    async def _look(self, query: Callable[[sqlite3.Connection], Got]) -> Got:
        return await self._in(self._reading, query, self._read)

    async def _whole(self, change: Callable[[sqlite3.Connection], Got], begin: str = "BEGIN IMMEDIATE") -> Got:
        """Change something as a whole, or not at all."""

        def run(writer: sqlite3.Connection) -> Got:
            writer.execute(begin)
            try:
                result = change(writer)
                writer.execute("COMMIT")
            except BaseException:
                if writer.in_transaction:
                    writer.execute("ROLLBACK")
                raise
            return result

        return await self._in(self._writing, run, self._write)

    async def _fetch(self, make: Callable[..., Got], query: str, *values: Any) -> list[Got]:
        return await self._look(lambda db: [make(*found) for found in db.execute(_marked(query), values)])

    async def _change(self, query: str, *values: Any) -> int:
        return await self._whole(lambda writer: writer.execute(_marked(query), values).rowcount)

    # --- decisions

    async def transact(self, work: Work) -> None:
        await self._whole(partial(self._transact, work))

    def _transact(self, work: Work, writer: sqlite3.Connection) -> None:
        if work.asks:
            replies = {}
            for one in work.keys:
                found = writer.execute(
                    "SELECT digest, answer, at FROM replies WHERE selector = ? AND idempotency_key = ?", one
                ).fetchone()
                if found is not None:
                    replies[one] = Reply(*one, *found)
            _write(writer, work.ask(SHARD, by_whose(_each(writer, COUNTERS_OF, work.asks)), replies))
        if work.tells:
            rows = _rows(writer, work.tells)
            _write(writer, work.tell(SHARD, by_whose(_each(writer, COUNTERS_OF, whose(work, rows.values()))), rows))

    async def events(self, selector: int, seen: Mapping[int, int], limit: int) -> list[DecisionRow]:
        query = f"""SELECT {schema.ROW} FROM decisions WHERE selector = ? AND shard = ? AND seq > ?
            UNION ALL SELECT {schema.GAVE} FROM decisions WHERE selector = ? AND expired_shard = ? AND expired_seq > ?
            ORDER BY seq LIMIT ?"""
        found: list[DecisionRow] = []
        # One shard is ours; a copy of a database has those of others.
        own = "SELECT shard FROM counters WHERE selector = ? AND group_name = ''"
        for shard in await self._fetch(int, own, selector):
            place = (selector, shard, seen.get(shard, 0))
            found += await self._fetch(DecisionRow, query, *place, *place, limit)
        return found

    async def set_clock(self, clock: Callable[[], float]) -> None:
        query = """UPDATE decisions SET due = :now + (due - asked_at), asked_at = :now
            WHERE state = 0 AND due IS NOT NULL AND due > :now AND asked_at > :now + 60"""
        await self._whole(lambda writer: writer.execute(query, {"now": clock()}))

    async def overdue(self, now: float, limit: int, skip: Collection[int] = ()) -> list[tuple[int, int]]:
        query = f"""SELECT selector, id FROM decisions WHERE state = 0 AND due IS NOT NULL AND due < ?
            AND selector NOT IN ({", ".join("?" * len(skip))}) ORDER BY due LIMIT ?"""
        return await self._fetch(lambda *pair: pair, query, now, *skip, limit)

    async def shards(self, selectors: Collection[int], *, groups: bool = True) -> dict[AccountKey, Shards]:
        query = COUNTERS + ("" if groups else " AND group_name = ''")
        return await self._look(lambda db: by_whose(_each(db, query, [(one,) for one in selectors])))

    # --- selectors

    async def add(self, name: str, plan: str, at: float, most: int) -> tuple[SelectorRow, bool]:
        def add(writer: sqlite3.Connection) -> tuple[SelectorRow, bool]:
            found = writer.execute(_marked(NAMED), (name,)).fetchone()
            if found is not None:
                return SelectorRow(*found), False
            count, last = writer.execute(LAST).fetchone()
            check_room(count, most)
            writer.execute(_marked(ADD), (last + 1, name, plan, at))
            return SelectorRow(last + 1, name, plan, at), True

        return await self._whole(add)


@lru_cache
def _marked(query: str) -> str:
    """A query with the marks that SQLite has for values."""
    return re.sub(r"\$[0-9]+", "?", query)


def _each(db: sqlite3.Connection, query: str, values: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    """What is found, for one after the other."""
    return chain.from_iterable(db.execute(query, one) for one in values)


def _rows(db: sqlite3.Connection, wanted: list[tuple[int, int]]) -> dict[tuple[int, int], DecisionRow]:
    found = {}
    for selector in dict.fromkeys(one[0] for one in wanted):
        ids = [identity for number, identity in wanted if number == selector]
        for start in range(0, len(ids), MANY):
            some = ids[start : start + MANY]
            marks = ", ".join("?" * len(some))
            query = f"SELECT {schema.ROW} FROM decisions WHERE selector = ? AND id IN ({marks})"
            for values in db.execute(query, (selector, *some)):
                found[(values[0], values[1])] = DecisionRow(*values)
    return found


def _write(db: sqlite3.Connection, changes: Changes) -> None:
    db.executemany(INSERT, map(schema.row_values, changes.asked))
    db.executemany(UPDATE, map(schema.settled_values, changes.settled))
    db.executemany(
        """INSERT INTO counters (selector, group_name, shard, counts) VALUES (?, ?, 0, ?)
            ON CONFLICT (selector, group_name, shard) DO UPDATE SET counts = excluded.counts""",
        [(*one, write(shard)) for one, shard in changes.shards.items()],
    )
    db.executemany(
        """INSERT INTO replies (selector, idempotency_key, digest, answer, at) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (selector, idempotency_key) DO UPDATE
            SET digest = excluded.digest, answer = excluded.answer, at = excluded.at""",
        map(schema.reply_values, changes.replies),
    )
