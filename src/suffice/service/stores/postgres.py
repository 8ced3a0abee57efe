"""A store in PostgreSQL, for any number of server processes.

- Each process writes the counts of its own shard, so no process waits for another's counts; the sums count.
- Asks of one selector are serialised over all processes by an advisory lock, so each ask reads every decision that is
  outstanding. The lock is held briefly: the transaction commits without waiting for the disk, and the store waits for the
  disk afterwards, together with the tells. PostgreSQL writes its log in order, so all that an ask has read is on disk by
  then too; nothing is acknowledged before.
- Tells of different processes run in parallel. They lock their decisions in order, so there are no deadlocks.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

import asyncpg

from suffice.service.errors import StoreDown
from suffice.service.records import DecisionRow, Reply, SelectorRow
from suffice.service.stores import postgres_sql as sql
from suffice.service.stores.base import AccountKey, Changes, DecisionKey, Shards, Store, Work, accounts_of, check_room
from suffice.service.stores.postgres_connection import (
    CONNECTION_LOST,
    FAILURES,
    SETTINGS,
    Connection,
    describe,
    opened,
    settings_for,
    translating_errors,
)
from suffice.service.stores.schema import CREATE, VERSION, Value, check_version
from suffice.service.stores.tables import ADD, LAST, NAMED, Made, Tables, counts_of

# Namespaces of advisory locks, from "su" as a number.
STARTING: Final = 0x7375
SHARDS: Final = STARTING + 1
ASKING: Final = STARTING + 2
ADDING: Final = STARTING + 3
READERS: Final = 4


class PostgresStore(Tables, Store):
    """Tables in the schema `suffice` of a PostgreSQL database."""

    shared = True
    selectors_query = sql.SELECTORS

    def __init__(self, url: str) -> None:
        self.url = url
        self._pool: asyncpg.Pool | None = None
        self._settings = SETTINGS
        self._writer: Connection | None = None
        self._shard = -1

    # --- open and close

    async def open(self, *, keys_only: bool = False) -> None:
        async with translating_errors():
            async with opened(self.url, timeout=10) as connection:
                await self._create_tables(connection)
                self._settings = await settings_for(connection)
            self._pool = await asyncpg.create_pool(
                self.url, min_size=0, max_size=READERS, server_settings=self._settings, timeout=10, command_timeout=60
            )
            if not keys_only:
                await self._connect_writer()

    async def _create_tables(self, connection: asyncpg.Connection) -> None:
        async with connection.transaction():
            # Processes that start at the same time wait here, however long that takes.
            await connection.execute("SET LOCAL lock_timeout = 0")
            await connection.execute("SET LOCAL statement_timeout = 0")
            await connection.execute("SELECT pg_advisory_xact_lock($1)", STARTING)
            if await connection.fetchval("SELECT to_regnamespace($1)", sql.SCHEMA) is None:
                await connection.execute(f"CREATE SCHEMA {sql.SCHEMA}")
            if await connection.fetchval("SELECT to_regclass('schema_version')") is None:
                await connection.execute("CREATE TABLE schema_version (version INTEGER NOT NULL)")
            version = await connection.fetchval("SELECT version FROM schema_version")
            if version is not None:
                check_version(version, "the database")
                return
            for statement in CREATE:
                await connection.execute(statement)
            await connection.execute("INSERT INTO schema_version VALUES ($1)", VERSION)

    async def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            with contextlib.suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                await writer.connection.close(timeout=5)
        pool, self._pool = self._pool, None
        if pool is not None:
            try:
                await asyncio.wait_for(pool.close(), 5)
            except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                pool.terminate()

    async def _connect_writer(self) -> Connection:
        """The connection that writes. It holds the lock on a shard; a new connection may take another shard."""
        if self._writer is not None and not self._writer.connection.is_closed():
            return self._writer
        connection = await asyncpg.connect(self.url, server_settings=self._settings, timeout=10, command_timeout=60)
        try:
            shard = 0
            while not await connection.fetchval("SELECT pg_try_advisory_lock($1, $2)", SHARDS, shard):
                shard += 1
            self._writer, self._shard = await Connection.ready(connection, sql.WRITER), shard
        except BaseException:
            connection.terminate()
            raise
        return self._writer

    # --- decisions

    async def transact(self, work: Work) -> None:
        async with translating_errors():
            writer = await self._connect_writer()
            flushed = False
            try:
                if work.asks:
                    await self._ask(writer, work)
                if work.tells:
                    try:
                        flushed = await self._tell(writer, work)
                    except FAILURES as error:
                        if not work.asks_committed or not writer.free():
                            raise
                        work.fail_tells(StoreDown(describe(error)))  # the asks are committed and can be answered
                if work.asks and not flushed:
                    # On the same connection: another may lead to a restarted database that lost the asks.
                    await writer.fetch(sql.FLUSH)
            except BaseException:  # the state of the connection is unknown
                writer.connection.terminate()
                self._writer = None
                raise

    async def _ask(self, writer: Connection, work: Work) -> None:
        async with writer.connection.transaction():
            # Visible to other processes at the commit, and on disk by the commit that follows in `transact`.
            await writer.connection.execute("SET LOCAL synchronous_commit = off")
            await writer.fetch(sql.LOCK_SELECTORS, ASKING, sorted({selector for selector, _ in work.asks}))
            counts = counts_of(await writer.fetch(sql.COUNTERS, *sql.columns(work.asks)))
            replies = {}
            if work.keys:
                for values in await writer.fetch(sql.REPLIES, *sql.columns(work.keys)):
                    replies[(values[0], values[1])] = Reply(*values)
            await self._write(writer, work.ask(self._shard, counts, replies))
        work.asks_committed = True

    async def _tell(self, writer: Connection, work: Work) -> bool:
        """Settle the tells; True if anything was written, so that the commit has waited for the disk."""
        async with writer.connection.transaction():
            locked = await writer.fetch(sql.LOCK_DECISIONS, *sql.columns(work.tells))
            rows = {(values[0], values[1]): DecisionRow(*values) for values in locked}
            counts = counts_of(await writer.fetch(sql.COUNTERS, *sql.columns(accounts_of(work, rows.values()))))
            changes = work.tell(self._shard, counts, rows)
            await self._write(writer, changes)
        return bool(changes)

    async def _write(self, writer: Connection, changes: Changes) -> None:
        for statement, columns in sql.write_statements(changes, self._shard):
            await writer.fetch(statement, *columns)

    async def events(self, selector: int, seen: Mapping[int, int], limit: int) -> list[DecisionRow]:
        return await self._fetch(DecisionRow, sql.EVENTS, selector, list(seen), list(seen.values()), limit)

    async def set_clock(self, clock: Callable[[], float]) -> None:
        (now,) = await self._fetch(float, "SELECT extract(epoch FROM clock_timestamp())")
        self.ahead = now - time.time()
        await self._change(sql.CLAMP_TIMES, clock())

    async def overdue(self, now: float, limit: int, skip: Collection[int] = ()) -> list[DecisionKey]:
        return await self._fetch(lambda selector, identity: (selector, identity), sql.OVERDUE, now, limit, list(skip))

    async def shards(self, selectors: Collection[int]) -> dict[AccountKey, Shards]:
        return counts_of(await self._fetch(lambda *row: row, sql.ALL_COUNTERS, list(selectors)))

    async def _fetch(self, make: Callable[..., Made], query: str, *values: Value | Sequence[int]) -> list[Made]:
        """Run a query; once more if the pool's connection turns out to be lost."""
        async with translating_errors():
            try:
                rows = await self._readers.fetch(query, *values)
            except CONNECTION_LOST:
                await self._readers.expire_connections()  # the cause has probably ended the others too
                rows = await self._readers.fetch(query, *values)
            return [make(*row) for row in rows]

    async def _change(self, query: str, *values: Value) -> int:
        async with translating_errors():
            status = await self._readers.execute(query, *values)
            return int(status.split()[-1])  # such as UPDATE 1

    @property
    def _readers(self) -> asyncpg.Pool:
        if self._pool is None:
            raise StoreDown("the database is not open")
        return self._pool

    # --- selectors

    async def add(self, name: str, plan: str, at: float, most: int) -> tuple[SelectorRow, bool]:
        async with translating_errors(), self._connection_for_add() as adder, adder.connection.transaction():
            await adder.fetch(sql.LOCK_ADDING, ADDING)
            for row in await adder.fetch(NAMED, name):
                return SelectorRow(*row), False
            ((count, last),) = await adder.fetch(LAST)
            check_room(count, most)
            await adder.fetch(ADD, last + 1, name, plan, at)
            return SelectorRow(last + 1, name, plan, at), True

    @asynccontextmanager
    async def _connection_for_add(self) -> AsyncIterator[Connection]:
        """A connection of the pool, prepared to add; another if the first one turns out to be lost."""
        for last_try in (False, True):
            async with self._readers.acquire() as connection:
                try:
                    adder = await Connection.ready(connection, sql.ADDER)
                except CONNECTION_LOST:
                    if last_try:
                        raise
                    continue  # release the lost one first: the pool may have no other
                yield adder
                return
