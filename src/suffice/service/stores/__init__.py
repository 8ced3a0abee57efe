"""Stores: memory, an SQLite file, PostgreSQL. They share one interface, `base.Store`."""

from suffice.errors import InvalidArgument
from suffice.service.stores.base import Store


def open_store(url: str) -> Store:
    """The store at an address, not yet opened: memory:, sqlite:///file.db (or just file.db), postgresql://..."""
    if url == "memory:":
        from suffice.service.stores.memory import MemoryStore

        return MemoryStore()
    if url.startswith("sqlite:///") or (url.endswith((".db", ".sqlite", ".sqlite3")) and "://" not in url):
        from suffice.service.stores.sqlite import SqliteStore

        return SqliteStore(url.removeprefix("sqlite:///"))
    if url.startswith(("postgresql://", "postgres://")):
        from suffice.service.stores.postgres import PostgresStore

        return PostgresStore(url)
    raise InvalidArgument(
        "store must be memory:, sqlite:///FILE or postgresql://USER@HOST/DATABASE, got "
        + (url.split("://")[0] + "://..." if "://" in url else repr(url))
    )
