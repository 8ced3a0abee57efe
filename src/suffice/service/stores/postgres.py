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
from typing import Any, Final

import asyncpg

from suffice.service.errors import StoreDown
from suffice.service.records import DecisionRow, Reply, SelectorRow
from suffice.service.stores import postgres_sql as sql
from suffice.service.stores.base import AccountKey, Shards, Work, check_room, whose
from suffice.service.stores.postgres_connection import (
    LOST,
    SETTINGS,
    TROUBLE,
    Connection,
    opened,
    said_of,
    settings_for,
    speaking,
)
from suffice.service.stores.schema import VERSION, check_version, steps_from
from suffice.service.stores.tables import ADD, LAST, NAMED, Got, Tables, by_whose

# The spaces of advisory locks: "su" as a number, and one more for each use.
STARTING: Final = 0x7375
SHARDS: Final = STARTING + 1
ASKING: Final = STARTING + 2
ADDING: Final = STARTING + 3
READERS: Final = 4


class PostgresStore(Tables):
    """Tables in the schema `suffice` of a database."""

    shared = True
    selectors_query = sql.SELECTORS

    def __init__(self, url: str) -> None:
        self.url = url
        self._pool: asyncpg.Pool | None = None
        self._settings = SETTINGS
        self._line: Connection | None = None
        self._shard = -1

    # --- open and close

    async def open(self, *, keys_only: bool = False) -> None:
        async with speaking():
            async with opened(self.url, timeout=10) as connection:
                await self._migrate(connection)
                self._settings = await settings_for(connection)
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
            for statement in steps_from(version):
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

    async def _writer(self) -> Connection:
        """The line that writes. It holds the lock on our shard: if it is lost, so is the shard."""
        if self._line is not None and not self._line.connection.is_closed():
            return self._line
        connection = await asyncpg.connect(self.url, server_settings=self._settings, timeout=10, command_timeout=60)
        try:
            shard = 0
            while not await connection.fetchval("SELECT pg_try_advisory_lock($1, $2)", SHARDS, shard):
                shard += 1
            self._line, self._shard = await Connection.ready(connection, sql.WRITER), shard
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
            except BaseException:  # nobody knows what state it is in
                line.connection.terminate()
                self._line = None
                raise

    async def _ask(self, line: Connection, work: Work) -> None:
        async with line.connection.transaction():
            # Seen by all at once, on disk by the time of the commit that follows in `transact`.
            await line.connection.execute("SET LOCAL synchronous_commit = off")
            await line.fetch(sql.TURNS, ASKING, sorted({selector for selector, _ in work.asks}))
            found = by_whose(await line.fetch(sql.COUNTERS, *sql.columns(work.asks)))
            replies = {}
            if work.keys:
                for values in await line.fetch(sql.REPLIES, *sql.columns(work.keys)):
                    replies[(values[0], values[1])] = Reply(*values)
            await self._write(line, work.ask(self._shard, found, replies))
        work.asked = True

    async def _tell(self, line: Connection, work: Work) -> bool:
        """Whether anything was written: only then has the commit waited for the disk."""
        async with line.connection.transaction():
            locked = await line.fetch(sql.LOCK, *sql.columns(work.tells))
            rows = {(values[0], values[1]): DecisionRow(*values) for values in locked}
            found = by_whose(await line.fetch(sql.COUNTERS, *sql.columns(whose(work, rows.values()))))
            changes = work.tell(self._shard, found, rows)
            await self._write(line, changes)
        return bool(changes)

    async def _write(self, line: Connection, changes: Any) -> None:
        for statement, columns in sql.written(changes, self._shard):
            await line.fetch(statement, *columns)

    async def events(self, selector: int, seen: Mapping[int, int], limit: int) -> list[DecisionRow]:
        return await self._fetch(DecisionRow, sql.EVENTS, selector, list(seen), list(seen.values()), limit)

    async def set_clock(self, clock: Callable[[], float]) -> None:
        (there,) = await self._fetch(float, "SELECT extract(epoch FROM clock_timestamp())")
        self.ahead = there - time.time()
        await self._change(sql.TURN_BACK, clock())

    async def overdue(self, now: float, limit: int, skip: Collection[int] = ()) -> list[tuple[int, int]]:
        return await self._fetch(lambda *pair: pair, sql.OVERDUE, now, limit, list(skip))

    async def shards(self, selectors: Collection[int], *, groups: bool = True) -> dict[AccountKey, Shards]:
        return by_whose(
            await self._fetch(lambda *row: row, sql.ALL_COUNTERS if groups else sql.OWN_COUNTERS, list(selectors))
        )

    async def _fetch(self, make: Callable[..., Got], query: str, *values: Any) -> list[Got]:
        """Look something up; once more if the connection that the pool had was no longer one."""
        async with speaking():
            try:
                found = await self._readers.fetch(query, *values)
            except LOST:
                await self._readers.expire_connections()  # what ended this one has ended others, too
                found = await self._readers.fetch(query, *values)
            return [make(*one) for one in found]

    async def _change(self, query: str, *values: Any) -> int:
        async with speaking():
            done = await self._readers.execute(query, *values)
            return int(done.split()[-1])  # such as UPDATE 1

    @property
    def _readers(self) -> asyncpg.Pool:
        if self._pool is None:
            raise StoreDown("the database is not open")
        return self._pool

    # --- selectors

    async def add(self, name: str, plan: str, at: float, most: int) -> tuple[SelectorRow, bool]:
        async with speaking(), self._adder() as line, line.connection.transaction():
            await line.fetch(sql.TURN, ADDING)
            for found in await line.fetch(NAMED, name):
                return SelectorRow(*found), False
            ((count, last),) = await line.fetch(LAST)
            check_room(count, most)
            await line.fetch(ADD, last + 1, name, plan, at)
            return SelectorRow(last + 1, name, plan, at), True

    @asynccontextmanager
    async def _adder(self) -> AsyncIterator[Connection]:
        """One of the readers, ready to add; another if the connection that the pool had was no longer one."""
        for again in (True, False):
            async with self._readers.acquire() as connection:
                try:
                    line = await Connection.ready(connection, sql.ADDER)
                except LOST:
                    if again:
                        continue  # let go of first: others may be waiting for one, too
                    raise
                yield line
                return
