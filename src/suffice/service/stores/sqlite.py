"""A store in one SQLite file, for one server process. One writer, many requests to a commit, on disk before it is said.

The log is written ahead (WAL) and forced to disk at each commit (synchronous=FULL). Nothing is cached: what is in the
file is what there is, so a transaction that fails leaves nothing to be undone.
"""

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from suffice.service.errors import StoreDown, StoreInUse
from suffice.service.records import Kept, Key, Reply, Row
from suffice.service.shards import read, write
from suffice.service.stores.base import Changes, Shards, Store, Whose, Work, too_many, whose
from suffice.service.stores.locking import FileLock
from suffice.service.stores.schema import (
    GAVE,
    KEY,
    ROW,
    SELECTOR,
    VERSION,
    check_version,
    kept_of,
    key_of,
    key_values,
    row_of,
    steps_from,
    values_of,
)

Got = TypeVar("Got")
SHARD: Final = 0
BUSY: Final = 10.0  # seconds to wait for another process: a backup, or one that manages keys
MANY: Final = 500  # values in one query


class SqliteStore(Store):
    """Tables in a file."""

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
            await self._in(self._writing, self._migrate)
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

    def _migrate(self) -> None:
        writer = self._writer
        writer.execute("BEGIN EXCLUSIVE")  # whoever starts at the same time waits here
        try:
            version = writer.execute("PRAGMA user_version").fetchone()[0]
            check_version(version, str(self.path))
            for step in steps_from(version):
                for statement in step:
                    writer.execute(statement)
            writer.execute(f"PRAGMA user_version = {VERSION}")
            writer.execute("COMMIT")
        except BaseException:
            writer.execute("ROLLBACK")
            raise

    async def close(self) -> None:
        for pool, connection in ((self._reading, self._read), (self._writing, self._write)):
            if pool is not None:
                if connection is not None:
                    with contextlib.suppress(sqlite3.Error):
                        await asyncio.get_running_loop().run_in_executor(pool, connection.close)
                pool.shutdown()
        self._reading = self._writing = self._read = self._write = None
        self._lock.release()

    async def ping(self) -> None:
        await self._look(lambda db: db.execute("SELECT 1").fetchone())

    @property
    def _writer(self) -> sqlite3.Connection:
        if self._write is None:
            raise StoreDown(f"{self.path} is not open")
        return self._write

    async def _in(self, pool: ThreadPoolExecutor | None, do: Callable[[], Got]) -> Got:
        if pool is None:
            raise StoreDown(f"{self.path} is not open")
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, do)
        except sqlite3.Error as error:
            raise StoreDown(f"{self.path} could not be used, and nothing was changed: {error}") from error

    async def _look(self, query: Callable[[sqlite3.Connection], Got]) -> Got:
        def look() -> Got:
            if self._read is None:
                raise StoreDown(f"{self.path} is not open")
            return query(self._read)

        return await self._in(self._reading, look)

    async def _change(self, change: Callable[[sqlite3.Connection], Got]) -> Got:
        """Change something as a whole, or not at all."""

        def run() -> Got:
            writer = self._writer
            writer.execute("BEGIN IMMEDIATE")
            try:
                result = change(writer)
                writer.execute("COMMIT")
            except BaseException:
                if writer.in_transaction:
                    writer.execute("ROLLBACK")
                raise
            return result

        return await self._in(self._writing, run)

    # --- decisions

    async def transact(self, work: Work) -> None:
        await self._change(lambda writer: self._transact(writer, work))

    def _transact(self, writer: sqlite3.Connection, work: Work) -> None:
        if work.asks:
            replies = {}
            for one in work.keys:
                found = writer.execute(
                    "SELECT digest, answer, at FROM replies WHERE selector = ? AND idempotency_key = ?", one
                ).fetchone()
                if found is not None:
                    replies[one] = Reply(*one, *found)
            _write(writer, work.ask(SHARD, _found(writer, work.asks), replies))
        if work.tells:
            rows = _rows(writer, work.tells)
            _write(writer, work.tell(SHARD, _found(writer, whose(work, rows.values())), rows))

    async def rows(self, selector: int, after: int, limit: int) -> list[Row]:
        query = f"SELECT {ROW} FROM decisions WHERE selector = ? AND id > ? ORDER BY id LIMIT ?"
        return await self._all(row_of, query, selector, after, limit)

    async def recent(self, selector: int, limit: int) -> list[Row]:
        query = f"SELECT {ROW} FROM decisions WHERE selector = ? ORDER BY id DESC LIMIT ?"
        return await self._all(row_of, query, selector, limit)

    async def events(self, selector: int, seen: Mapping[int, int], limit: int) -> list[Row]:
        query = f"""SELECT {ROW} FROM decisions WHERE selector = :selector AND shard = :shard AND seq > :after
            UNION ALL SELECT {GAVE} FROM decisions WHERE selector = :selector AND gave_shard = :shard AND gave_seq > :after
            ORDER BY seq LIMIT :limit"""

        def look(db: sqlite3.Connection) -> list[Row]:
            # One shard is ours; a copy of a database has those of others.
            shards = db.execute("SELECT shard FROM counters WHERE selector = ? AND grp = ''", (selector,)).fetchall()
            found: list[Row] = []
            for (shard,) in shards:
                values = {"selector": selector, "shard": shard, "after": seen.get(shard, 0), "limit": limit}
                found += [row_of(values) for values in db.execute(query, values)]
            return found

        return await self._look(look)

    async def groups(self, selector: int) -> set[str]:
        query = "SELECT DISTINCT grp FROM counters WHERE selector = ? AND grp <> ''"
        return set(await self._all(lambda one: str(one[0]), query, selector))

    async def set_clock(self, clock: Callable[[], float]) -> None:
        query = """UPDATE decisions SET due = :now + (due - asked), asked = :now
            WHERE state = 0 AND due IS NOT NULL AND due > :now AND asked > :now + 60"""
        await self._change(lambda writer: writer.execute(query, {"now": clock()}))

    async def overdue(self, now: float, limit: int, skip: Collection[int] = ()) -> list[tuple[int, int]]:
        query = f"""SELECT selector, id FROM decisions WHERE state = 0 AND due IS NOT NULL AND due < ?
            AND selector NOT IN ({", ".join("?" * len(skip))}) ORDER BY due LIMIT ?"""
        return await self._all(lambda found: (found[0], found[1]), query, now, *skip, limit)

    async def shards(self, selectors: Collection[int], *, groups: bool = True) -> dict[Whose, Shards]:
        def look(db: sqlite3.Connection) -> dict[Whose, Shards]:
            result: dict[Whose, Shards] = {}
            for one in selectors:
                query = "SELECT selector, grp, shard, counts FROM counters WHERE selector = ?"
                for number, group, shard, text in db.execute(query + ("" if groups else " AND grp = ''"), (one,)):
                    result.setdefault((number, group), {})[shard] = read(text)
            return result

        return await self._look(look)

    async def _all(self, make: Callable[[Any], Got], query: str, *values: Any) -> list[Got]:
        return await self._look(lambda db: [make(found) for found in db.execute(query, values)])

    # --- selectors

    async def selector(self, name: str) -> Kept | None:
        return next(iter(await self._all(kept_of, f"SELECT {SELECTOR} FROM selectors WHERE name = ?", name)), None)

    async def selectors(self, after: str, limit: int, *, archived: bool, contains: str = "") -> list[Kept]:
        query = f"""SELECT {SELECTOR} FROM selectors WHERE name > ? AND (? OR archived IS NULL) AND instr(name, ?)
            ORDER BY name LIMIT ?"""
        return await self._all(kept_of, query, after, archived, contains, limit)

    async def add(self, name: str, plan: str, at: float, most: int) -> tuple[Kept, bool]:
        def add(writer: sqlite3.Connection) -> tuple[Kept, bool]:
            found = writer.execute(f"SELECT {SELECTOR} FROM selectors WHERE name = ?", (name,)).fetchone()
            if found is not None:
                return kept_of(found), False
            count, last = writer.execute("SELECT COUNT(*), COALESCE(MAX(number), 0) FROM selectors").fetchone()
            if count >= most:
                raise too_many(most)
            kept = Kept(last + 1, name, plan, at)
            writer.execute(
                f"INSERT INTO selectors ({SELECTOR}) VALUES (?, ?, ?, ?, NULL)", (kept.number, name, plan, at)
            )
            return kept, True

        return await self._change(add)

    async def archive(self, name: str, at: float | None) -> Kept | None:
        await self._change(
            lambda writer: writer.execute("UPDATE selectors SET archived = ? WHERE name = ?", (at, name))
        )
        return await self.selector(name)

    # --- what was learned

    async def snapshot(self, selector: int) -> str | None:
        found = await self._all(lambda one: str(one[0]), "SELECT state FROM snapshots WHERE selector = ?", selector)
        return found[0] if found else None

    async def save(self, selector: int, events: int, text: str) -> None:
        query = """INSERT INTO snapshots (selector, events, state) VALUES (?, ?, ?)
            ON CONFLICT (selector) DO UPDATE SET events = excluded.events, state = excluded.state
            WHERE snapshots.events <= excluded.events"""
        await self._change(lambda writer: writer.execute(query, (selector, events, text)))

    async def prune(self, before: float) -> None:
        await self._change(lambda writer: writer.execute("DELETE FROM replies WHERE at < ?", (before,)))

    # --- keys

    async def keys(self) -> list[Key]:
        return await self._all(key_of, f"SELECT {KEY} FROM access_keys ORDER BY created")

    async def add_key(self, key: Key) -> None:
        query = f"INSERT INTO access_keys ({KEY}) VALUES (?, ?, ?, ?, ?, ?, ?)"
        await self._change(lambda writer: writer.execute(query, key_values(key)))

    async def revoke_key(self, identity: str, at: float) -> bool:
        query = "UPDATE access_keys SET revoked = ? WHERE id = ? AND revoked IS NULL"
        return await self._change(lambda writer: writer.execute(query, (at, identity)).rowcount > 0)


def _found(db: sqlite3.Connection, wanted: Collection[Whose]) -> dict[Whose, Shards]:
    result: dict[Whose, Shards] = {}
    for one in wanted:
        for shard, text in db.execute("SELECT shard, counts FROM counters WHERE selector = ? AND grp = ?", one):
            result.setdefault(one, {})[shard] = read(text)
    return result


def _rows(db: sqlite3.Connection, wanted: list[tuple[int, int]]) -> dict[tuple[int, int], Row]:
    found = {}
    for selector in dict.fromkeys(one[0] for one in wanted):
        ids = [identity for number, identity in wanted if number == selector]
        for start in range(0, len(ids), MANY):
            some = ids[start : start + MANY]
            marks = ", ".join("?" * len(some))
            query = f"SELECT {ROW} FROM decisions WHERE selector = ? AND id IN ({marks})"
            for values in db.execute(query, (selector, *some)):
                found[(values[0], values[1])] = row_of(values)
    return found


def _write(db: sqlite3.Connection, changes: Changes) -> None:
    marks = ", ".join("?" * len(ROW.split(",")))
    db.executemany(f"INSERT INTO decisions ({ROW}) VALUES ({marks})", map(values_of, changes.asked))
    db.executemany(
        """UPDATE decisions SET state = ?, units = ?, cost = ?, told = ?, shard = ?, seq = ?, gave_shard = ?,
            gave_seq = ?, gave_at = ?
            WHERE selector = ? AND id = ?""",
        [(*values_of(row)[8:], row.selector, row.id) for row in changes.settled],
    )
    db.executemany(
        """INSERT INTO counters (selector, grp, shard, counts) VALUES (?, ?, 0, ?)
            ON CONFLICT (selector, grp, shard) DO UPDATE SET counts = excluded.counts""",
        [(*one, write(shard)) for one, shard in changes.shards.items()],
    )
    db.executemany(
        """INSERT INTO replies (selector, idempotency_key, digest, answer, at) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (selector, idempotency_key) DO UPDATE
            SET digest = excluded.digest, answer = excluded.answer, at = excluded.at""",
        [(one.selector, one.key, one.digest, one.text, one.at) for one in changes.replies],
    )
