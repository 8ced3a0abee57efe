"""Queries that SQLite and PostgreSQL share.

Values are numbered in the order in which they stand, each once: PostgreSQL takes them so, and SQLite as question marks.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Final, TypeVar

from suffice.service.count_shards import read
from suffice.service.records import DecisionRow, Key, SelectorRow
from suffice.service.stores.base import AccountKey, Shards
from suffice.service.stores.schema import KEY, ROW, SELECTOR, Value, key_of, key_values

Made = TypeVar("Made")

NAMED: Final = f"SELECT {SELECTOR} FROM selectors WHERE name = $1"
LAST: Final = "SELECT COUNT(*), COALESCE(MAX(number), 0) FROM selectors"
ADD: Final = "INSERT INTO selectors (number, name, plan, created) VALUES ($1, $2, $3, $4)"
SAVE: Final = """INSERT INTO snapshots (selector, events, state) VALUES ($1, $2, $3)
    ON CONFLICT (selector) DO UPDATE SET events = excluded.events, state = excluded.state
    WHERE snapshots.events <= excluded.events"""


class Tables(ABC):
    """The methods of `Store` that need no more than a query or a statement."""

    selectors_query: ClassVar[str]  # by name; the two dialects compare and search names differently

    @abstractmethod
    async def _fetch(self, make: Callable[..., Made], query: str, *values: Value | Sequence[int]) -> list[Made]:
        """Run a query and make an object of each row."""

    @abstractmethod
    async def _change(self, query: str, *values: Value) -> int:
        """Run a statement and return the number of rows it changed."""

    async def ping(self) -> None:
        await self._fetch(int, "SELECT 1")

    # --- decisions

    async def rows(self, selector: int, after: int, limit: int) -> list[DecisionRow]:
        query = f"SELECT {ROW} FROM decisions WHERE selector = $1 AND id > $2 ORDER BY id LIMIT $3"
        return await self._fetch(DecisionRow, query, selector, after, limit)

    async def recent(self, selector: int, limit: int) -> list[DecisionRow]:
        query = f"SELECT {ROW} FROM decisions WHERE selector = $1 ORDER BY id DESC LIMIT $2"
        return await self._fetch(DecisionRow, query, selector, limit)

    # --- selectors

    async def selector(self, name: str) -> SelectorRow | None:
        return next(iter(await self._fetch(SelectorRow, NAMED, name)), None)

    async def selectors(self, after: str, limit: int, *, archived: bool, contains: str = "") -> list[SelectorRow]:
        return await self._fetch(SelectorRow, self.selectors_query, after, archived, contains, limit)

    async def archive(self, name: str, at: float | None) -> SelectorRow | None:
        await self._change("UPDATE selectors SET archived = $1 WHERE name = $2", at, name)
        return await self.selector(name)

    async def play_safe(self, name: str, since: float | None) -> SelectorRow | None:
        await self._change("UPDATE selectors SET safe_since = $1 WHERE name = $2", since, name)
        return await self.selector(name)

    # --- what was learned

    async def snapshot(self, selector: int) -> str | None:
        return next(iter(await self._fetch(str, "SELECT state FROM snapshots WHERE selector = $1", selector)), None)

    async def save(self, selector: int, events: int, text: str) -> None:
        await self._change(SAVE, selector, events, text)

    async def prune(self, before: float) -> None:
        await self._change("DELETE FROM replies WHERE at < $1", before)

    # --- access keys

    async def keys(self) -> list[Key]:
        return await self._fetch(key_of, f"SELECT {KEY} FROM access_keys ORDER BY created")

    async def add_key(self, key: Key) -> None:
        query = f"INSERT INTO access_keys ({KEY}) VALUES ($1, $2, $3, $4, $5, $6, $7)"
        await self._change(query, *key_values(key))

    async def revoke_key(self, identity: str, at: float) -> bool:
        query = "UPDATE access_keys SET revoked = $1 WHERE id = $2 AND revoked IS NULL"
        return await self._change(query, at, identity) > 0


def counts_of(rows: Iterable[tuple[int, str, int, str]]) -> dict[AccountKey, Shards]:
    """Counts by account, from rows of `counters`."""
    counts: dict[AccountKey, Shards] = {}
    for number, group, shard, text in rows:
        counts.setdefault((number, group), {})[shard] = read(text)
    return counts
