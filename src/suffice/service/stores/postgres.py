"""A store in PostgreSQL, for any number of server processes.

- Each process counts in a shard of its own, so that none waits for another's counts; the sums are what is true.
- Asks of one selector take turns, in all processes: each sees all those before it, so that nothing is outstanding that an
  asker does not know of. That turn is short: the transaction is committed without waiting for the disk, and only then is
  the disk waited for, together with the tells. PostgreSQL writes its log in order, so whatever was seen is on disk by
  then too, and nothing is acknowledged before.
- Tells of any number of processes go side by side. They lock their decisions in order, so that they never wait in a circle.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

import asyncpg

from suffice.service.errors import StoreDown
from suffice.service.records import Kept, Key, Reply, Row
from suffice.service.shards import read
from suffice.service.stores import postgres_sql as sql
from suffice.service.stores.base import Shards, Store, Whose, Work, too_many, whose
from suffice.service.stores.postgres_line import LOST, SETTINGS, TROUBLE, Line, said_of, settings_for, speaking
from suffice.service.stores.schema import VERSION, check_version, kept_of, key_of, key_values, row_of, steps_from

Got = TypeVar("Got")

# The spaces of advisory locks: "su" as a number, and one more for each use.
STARTING: Final = 0x7375
SHARDS: Final = STARTING + 1
ASKING: Final = STARTING + 2
ADDING: Final = STARTING + 3
READERS: Final = 4


class PostgresStore(Store):
    """Tables in the schema `suffice` of a database."""

    shared = True

    def __init__(self, url: str) -> None:
        self.url = url
        self._pool: asyncpg.Pool | None = None
        self._settings = SETTINGS
        self._line: Line | None = None
        self._shard = -1

    # --- open and close

    async def open(self, *, keys_only: bool = False) -> None:
        async with speaking():
            connection = await asyncpg.connect(self.url, server_settings=SETTINGS, timeout=10)
            try:
                await self._migrate(connection)
                self._settings = await settings_for(connection)
            finally:
                await connection.close()
            self._pool = await asyncpg.create_pool(
                self.url, min_size=0, max_size=READERS, server_settings=self._settings, timeout=10, command_timeout=60
            )
            if not keys_only:
                await self._writer()

    async def _migrate(self, connection: asyncpg.Connection) -> None:
        async with connection.transaction():
            # Whoever starts at the same time waits, and a step may take long.
            await connection.execute("SET LOCAL lock_timeout = 0")
            await connection.execute("SET LOCAL statement_timeout = 0")
            await connection.execute("SELECT pg_advisory_xact_lock($1)", STARTING)
            if await connection.fetchval("SELECT to_regnamespace($1)", sql.SCHEMA) is None:
                await connection.execute(f"CREATE SCHEMA {sql.SCHEMA}")
            if await connection.fetchval("SELECT to_regclass('schema_version')") is None:
                await connection.execute("CREATE TABLE schema_version (version INTEGER NOT NULL)")
            version = await connection.fetchval("SELECT COALESCE(MAX(version), 0) FROM schema_version")
            check_version(version, "the database")
            for step in steps_from(version):
                for statement in step:
                    await connection.execute(statement)
            if version < VERSION:
                await connection.execute("DELETE FROM schema_version")
                await connection.execute("INSERT INTO schema_version VALUES ($1)", VERSION)

    async def close(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            with contextlib.suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                await line.connection.close(timeout=5)
        pool, self._pool = self._pool, None
        if pool is not None:
            try:
                await asyncio.wait_for(pool.close(), 5)
            except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                pool.terminate()

    async def ping(self) -> None:
        await self._fetch(lambda one: one, "SELECT 1")

    async def _writer(self) -> Line:
        """The line that writes. It holds the lock on our shard: if it is lost, so is the shard."""
        if self._line is not None and not self._line.connection.is_closed():
            return self._line
        connection = await asyncpg.connect(self.url, server_settings=self._settings, timeout=10, command_timeout=60)
        try:
            shard = 0
            while not await connection.fetchval("SELECT pg_try_advisory_lock($1, $2)", SHARDS, shard):
                shard += 1
            self._line, self._shard = await Line.ready(connection, sql.WRITER), shard
        except BaseException:
            connection.terminate()
            raise
        return self._line

    # --- decisions

    async def transact(self, work: Work) -> None:
        async with speaking():
            line = await self._writer()
            flushed = False
            try:
                if work.asks:
                    await self._ask(line, work)
                if work.tells:
                    try:
                        flushed = await self._tell(line, work)
                    except TROUBLE as error:
                        if not work.asked or not line.free():
                            raise
                        # The asks are committed: they must not be lost for others to wait for, because tells failed.
                        work.spare(StoreDown(said_of(error)))
                if work.asks and not flushed:
                    # On the line that committed them: behind another there may be a database that never had them.
                    await line.fetch(sql.FLUSH)
            except BaseException:
                self._drop(line)
                raise

    def _drop(self, line: Line) -> None:
        """Nobody knows what state it is in."""
        line.connection.terminate()
        self._line = None

    async def _ask(self, line: Line, work: Work) -> None:
        async with line.connection.transaction():
            # Seen by all at once, on disk by the time of the commit that follows in `transact`.
            await line.connection.execute("SET LOCAL synchronous_commit = off")
            await line.fetch(sql.TURNS, ASKING, sorted({selector for selector, _ in work.asks}))
            found = await self._found(line, work.asks)
            replies = {}
            if work.keys:
                numbers, keys = zip(*work.keys, strict=True)
                for values in await line.fetch(sql.REPLIES, list(numbers), list(keys)):
                    replies[(values[0], values[1])] = Reply(*values)
            await self._write(line, work.ask(self._shard, found, replies))
        work.asked = True

    async def _tell(self, line: Line, work: Work) -> bool:
        """Whether anything was written: only then has the commit waited for the disk."""
        async with line.connection.transaction():
            numbers, ids = zip(*work.tells, strict=True)
            locked = await line.fetch(sql.LOCK, list(numbers), list(ids))
            rows = {(values[0], values[1]): row_of(values) for values in locked}
            found = await self._found(line, whose(work, rows.values()))
            changes = work.tell(self._shard, found, rows)
            await self._write(line, changes)
        return bool(changes)

    async def _found(self, line: Line, wanted: Collection[Whose]) -> dict[Whose, Shards]:
        numbers, groups = zip(*wanted, strict=True)
        result: dict[Whose, Shards] = {}
        for number, group, shard, text in await line.fetch(sql.COUNTERS, list(numbers), list(groups)):
            result.setdefault((number, group), {})[shard] = read(text)
        return result

    async def _write(self, line: Line, changes: Any) -> None:
        for statement, columns in sql.written(changes, self._shard):
            await line.fetch(statement, *columns)

    async def rows(self, selector: int, after: int, limit: int) -> list[Row]:
        return await self._fetch(row_of, sql.ROWS, selector, after, limit)

    async def recent(self, selector: int, limit: int) -> list[Row]:
        return await self._fetch(row_of, sql.RECENT, selector, limit)

    async def events(self, selector: int, seen: Mapping[int, int], limit: int) -> list[Row]:
        return await self._fetch(row_of, sql.EVENTS, selector, list(seen), list(seen.values()), limit)

    async def groups(self, selector: int) -> set[str]:
        return set(await self._fetch(lambda one: str(one[0]), sql.GROUPS, selector))

    async def set_clock(self, clock: Callable[[], float]) -> None:
        (there,) = await self._fetch(lambda one: float(one[0]), "SELECT extract(epoch FROM clock_timestamp())")
        self.ahead = there - time.time()
        await self._change(sql.TURN_BACK, clock())

    async def overdue(self, now: float, limit: int, skip: Collection[int] = ()) -> list[tuple[int, int]]:
        return await self._fetch(lambda found: (found[0], found[1]), sql.OVERDUE, now, limit, list(skip))

    async def shards(self, selectors: Collection[int], *, groups: bool = True) -> dict[Whose, Shards]:
        result: dict[Whose, Shards] = {}
        found = await self._fetch(tuple, sql.ALL_COUNTERS if groups else sql.OWN_COUNTERS, list(selectors))
        for number, group, shard, text in found:
            result.setdefault((number, group), {})[shard] = read(text)
        return result

    async def _fetch(self, make: Callable[[Any], Got], query: str, *values: Any) -> list[Got]:
        """Look something up; once more if the connection that the pool had was no longer one."""
        async with speaking():
            try:
                found = await self._readers.fetch(query, *values)
            except LOST:
                found = await self._readers.fetch(query, *values)
            return [make(one) for one in found]

    async def _change(self, query: str, *values: Any) -> list[Any]:
        async with speaking():
            return list(await self._readers.fetch(query, *values))

    @property
    def _readers(self) -> asyncpg.Pool:
        if self._pool is None:
            raise StoreDown("the database is not open")
        return self._pool

    # --- selectors

    async def selector(self, name: str) -> Kept | None:
        return next(iter(await self._fetch(kept_of, sql.SELECTOR, name)), None)

    async def selectors(self, after: str, limit: int, *, archived: bool, contains: str = "") -> list[Kept]:
        return await self._fetch(kept_of, sql.SELECTORS, after, archived, contains, limit)

    async def add(self, name: str, plan: str, at: float, most: int) -> tuple[Kept, bool]:
        async with speaking(), self._adder() as line, line.connection.transaction():
            await line.fetch(sql.TURN, ADDING)
            for found in await line.fetch(sql.SELECTOR, name):
                return kept_of(found), False
            ((count, last),) = await line.fetch(sql.LAST)
            if count >= most:
                raise too_many(most)
            await line.fetch(sql.ADD, last + 1, name, plan, at)
            return Kept(last + 1, name, plan, at), True

    @asynccontextmanager
    async def _adder(self) -> AsyncIterator[Line]:
        """One of the readers, ready to add; another if the connection that the pool had was no longer one."""
        connection = await self._readers.acquire()
        try:
            try:
                line = await Line.ready(connection, sql.ADDER)
            except LOST:
                await self._readers.release(connection)  # first: others may be waiting for one, too
                connection = await self._readers.acquire()
                line = await Line.ready(connection, sql.ADDER)
            yield line
        finally:
            await self._readers.release(connection)

    async def archive(self, name: str, at: float | None) -> Kept | None:
        await self._change("UPDATE selectors SET archived = $2 WHERE name = $1", name, at)
        return await self.selector(name)

    # --- what was learned

    async def snapshot(self, selector: int) -> str | None:
        found = await self._fetch(lambda one: str(one[0]), "SELECT state FROM snapshots WHERE selector = $1", selector)
        return found[0] if found else None

    async def save(self, selector: int, events: int, text: str) -> None:
        await self._change(sql.SAVE, selector, events, text)

    async def prune(self, before: float) -> None:
        await self._change("DELETE FROM replies WHERE at < $1", before)

    # --- keys

    async def keys(self) -> list[Key]:
        return await self._fetch(key_of, sql.KEYS)

    async def add_key(self, key: Key) -> None:
        await self._change(sql.ADD_KEY, *key_values(key))

    async def revoke_key(self, identity: str, at: float) -> bool:
        return bool(await self._change(sql.REVOKE_KEY, identity, at))
