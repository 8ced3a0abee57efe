"""Connections to PostgreSQL: their settings, prepared statements and errors."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Final, Self

import asyncpg
from asyncpg.prepared_stmt import PreparedStatement

from suffice.service.errors import StoreDown
from suffice.service.stores.postgres_sql import SCHEMA, Column
from suffice.service.stores.schema import Value

SETTINGS: Final = {
    "application_name": "suffice",
    "search_path": SCHEMA,
    "jit": "off",
    # A client that stalls inside a transaction must not block the others for long.
    "lock_timeout": "15s",
    "idle_in_transaction_session_timeout": "15s",
    "statement_timeout": "60s",
}
SINCE_17: Final = {"transaction_timeout": "60s"}  # also if the client stalls while it sends a statement


async def settings_for(connection: asyncpg.Connection) -> dict[str, str]:
    """The settings for this server."""
    settings = dict(SETTINGS)
    if connection.get_server_version().major >= 17:
        settings.update(SINCE_17)
    commit = await connection.fetchval("SHOW synchronous_commit")
    settings["synchronous_commit"] = "on" if commit == "off" else commit  # acknowledged means on disk
    return settings


class Connection:
    """A connection that prepares its statements before any transaction begins.

    asyncpg prepares and runs a statement in two steps. Between them the server counts the session as busy, so its timeout
    for idle transactions does not apply: a client that stalls there would hold its locks for ever.
    """

    def __init__(self, connection: asyncpg.Connection, prepared: Mapping[str, PreparedStatement]) -> None:
        self.connection = connection
        self._prepared = prepared

    @classmethod
    async def ready(cls, connection: asyncpg.Connection, statements: Iterable[str]) -> Self:
        return cls(connection, {statement: await connection.prepare(statement) for statement in statements})

    def free(self) -> bool:
        """Whether it is open and in no transaction."""
        return not (self.connection.is_closed() or self.connection.is_in_transaction())

    async def fetch(self, statement: str, *values: Value | Column) -> list[asyncpg.Record]:
        """Run one of the prepared statements."""
        rows: list[asyncpg.Record] = await self._prepared[statement].fetch(*values)
        return rows


@asynccontextmanager
async def opened(url: str, timeout: float = 60.0) -> AsyncIterator[asyncpg.Connection]:
    """A connection that is closed at the end."""
    connection = await asyncpg.connect(url, server_settings=SETTINGS, timeout=timeout)
    try:
        yield connection
    finally:
        await connection.close()


FAILURES: Final = (
    OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, ValueError,
)  # fmt: skip
CONNECTION_LOST: Final = (OSError, asyncpg.PostgresConnectionError, asyncpg.InterfaceError, asyncpg.InternalClientError)


@asynccontextmanager
async def translating_errors() -> AsyncIterator[None]:
    """Turn every failure of the database into StoreDown with one sentence."""
    try:
        yield
    except FAILURES as error:
        raise StoreDown(describe(error)) from error


def describe(error: BaseException) -> str:
    """An error in one sentence. An error about an address is not quoted: it may contain a password."""
    reason = str(error).split("\n")[0] or type(error).__name__
    reason = "its address cannot be read" if isinstance(error, ValueError) else reason
    return f"the database could not be used, and nothing was acknowledged: {reason}"
