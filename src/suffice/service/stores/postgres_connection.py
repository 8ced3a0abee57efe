"""How PostgreSQL is spoken to: who stops in the middle of a sentence must not keep the others waiting."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, Self

import asyncpg

from suffice.service.errors import StoreDown
from suffice.service.stores.postgres_sql import SCHEMA

SETTINGS: Final = {
    "application_name": "suffice",
    "search_path": SCHEMA,
    "jit": "off",
    # A process that stops in the middle of a transaction must not keep the others waiting.
    "lock_timeout": "15s",
    "idle_in_transaction_session_timeout": "15s",
    "statement_timeout": "60s",
}
SINCE_17: Final = {"transaction_timeout": "60s"}  # also where it stopped between two parts of one statement


async def settings_for(connection: asyncpg.Connection) -> dict[str, str]:
    """What suits this server."""
    settings = dict(SETTINGS)
    if connection.get_server_version().major >= 17:
        settings.update(SINCE_17)
    kept = await connection.fetchval("SHOW synchronous_commit")
    settings["synchronous_commit"] = "on" if kept == "off" else kept  # what is acknowledged must be on disk
    return settings


class Connection:
    """A connection whose statements were prepared before any transaction began.

    asyncpg prepares a statement and runs it in two steps. Between them the server takes a session for busy: it is not idle
    in its transaction, and a process that stops just there would hold its locks for ever.
    """

    def __init__(self, connection: asyncpg.Connection, prepared: Mapping[str, Any]) -> None:
        self.connection = connection
        self._prepared = prepared

    @classmethod
    async def ready(cls, connection: asyncpg.Connection, statements: Iterable[str]) -> Self:
        return cls(connection, {one: await connection.prepare(one) for one in statements})

    def free(self) -> bool:
        """Whether it is there, and in no transaction."""
        return not (self.connection.is_closed() or self.connection.is_in_transaction())

    async def fetch(self, statement: str, *values: Any) -> list[Any]:
        """Run one of the statements."""
        found: list[Any] = await self._prepared[statement].fetch(*values)
        return found


@asynccontextmanager
async def opened(url: str, **more: Any) -> AsyncIterator[asyncpg.Connection]:
    """A connection of its own, closed at the end."""
    connection = await asyncpg.connect(url, server_settings=SETTINGS, **more)
    try:
        yield connection
    finally:
        await connection.close()


TROUBLE: Final = (
    OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, ValueError,
)  # fmt: skip
LOST: Final = (OSError, asyncpg.PostgresConnectionError, asyncpg.InterfaceError, asyncpg.InternalClientError)


@asynccontextmanager
async def speaking() -> AsyncIterator[None]:
    """Whatever goes wrong with the database becomes one sentence."""
    try:
        yield
    except TROUBLE as error:
        raise StoreDown(said_of(error)) from error


def said_of(error: BaseException) -> str:
    """What went wrong, in one sentence. What is wrong with an address is not quoted: it may hold a password."""
    said = str(error).split("\n")[0] or type(error).__name__
    said = "its address cannot be read" if isinstance(error, ValueError) else said
    return f"the database could not be used, and nothing was acknowledged: {said}"
