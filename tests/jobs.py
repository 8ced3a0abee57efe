"""Work for stores that writes what it is told to."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from suffice.service.records import Reply, Row
from suffice.service.stores.base import Changes, Shards, Whose


@dataclass
class Job:
    """Work that writes what it is told to, and remembers what it was shown."""

    asks: set[Whose] = field(default_factory=set)
    keys: set[tuple[int, str]] = field(default_factory=set)
    tells: list[tuple[int, int]] = field(default_factory=list)
    on_ask: Callable[[int, Mapping[Whose, Shards]], Changes] | None = None
    on_tell: Callable[[int, Mapping[tuple[int, int], Row]], Changes] | None = None
    shard: int = -1
    found: Mapping[Whose, Shards] = field(default_factory=dict)
    replies: Mapping[tuple[int, str], Reply] = field(default_factory=dict)
    rows: Mapping[tuple[int, int], Row] = field(default_factory=dict)
    asked: bool = False
    spared: Exception | None = None

    def ask(self, shard: int, found: Mapping[Whose, Shards], replies: Mapping[tuple[int, str], Reply]) -> Changes:
        """Remember, and write what is to be written."""
        self.shard, self.found, self.replies = shard, found, replies
        return self.on_ask(shard, found) if self.on_ask else Changes()

    def tell(self, shard: int, found: Mapping[Whose, Shards], rows: Mapping[tuple[int, int], Row]) -> Changes:
        """Remember, and write what is to be written."""
        self.shard, self.found, self.rows = shard, found, rows
        return self.on_tell(shard, rows) if self.on_tell else Changes()

    def spare(self, error: Exception) -> None:
        """Remember."""
        self.spared = error


def asked(*rows: Row, **more: Any) -> Job:
    whose = {(row.selector, "") for row in rows} | {(row.selector, row.group) for row in rows}
    return Job(asks=whose, on_ask=lambda shard, found: Changes(asked=list(rows), **more))


def settled(*rows: Row) -> Job:
    return Job(
        tells=sorted((row.selector, row.id) for row in rows),
        on_tell=lambda shard, found: Changes(settled=[replace(row, by=shard) for row in rows]),
    )


ODD = Row(1, 0, "Łódź ✓", 3, math.pi, 1.5e9 + 1e-6, due=1.5e9 + 60.25, note='{"context": {"a": "\\u0000"}}')
