"""Work for stores that writes what it is told to."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from suffice.service.records import DecisionRow, Reply
from suffice.service.stores.base import AccountKey, Changes, Shards


@dataclass
class Job:
    """Work that writes what it is told to, and remembers what it was shown."""

    asks: set[AccountKey] = field(default_factory=set)
    keys: set[tuple[int, str]] = field(default_factory=set)
    tells: list[tuple[int, int]] = field(default_factory=list)
    on_ask: Callable[[int, Mapping[AccountKey, Shards]], Changes] | None = None
    on_tell: Callable[[int, Mapping[tuple[int, int], DecisionRow]], Changes] | None = None
    shard: int = -1
    found: Mapping[AccountKey, Shards] = field(default_factory=dict)
    replies: Mapping[tuple[int, str], Reply] = field(default_factory=dict)
    rows: Mapping[tuple[int, int], DecisionRow] = field(default_factory=dict)
    asked: bool = False
    spared: Exception | None = None

    def ask(self, shard: int, found: Mapping[AccountKey, Shards], replies: Mapping[tuple[int, str], Reply]) -> Changes:
        """Remember, and write what is to be written."""
        self.shard, self.found, self.replies = shard, found, replies
        return self.on_ask(shard, found) if self.on_ask else Changes()

    def tell(
        self, shard: int, found: Mapping[AccountKey, Shards], rows: Mapping[tuple[int, int], DecisionRow]
    ) -> Changes:
        """Remember, and write what is to be written."""
        self.shard, self.found, self.rows = shard, found, rows
        return self.on_tell(shard, rows) if self.on_tell else Changes()

    def spare(self, error: Exception) -> None:
        """Remember."""
        self.spared = error


def asked(*rows: DecisionRow, **more: Any) -> Job:
    whose = {(row.selector, "") for row in rows} | {(row.selector, row.group) for row in rows}
    return Job(asks=whose, on_ask=lambda shard, found: Changes(asked=list(rows), **more))


def settled(*rows: DecisionRow) -> Job:
    return Job(
        tells=sorted((row.selector, row.id) for row in rows),
        on_tell=lambda shard, found: Changes(settled=[replace(row, shard=shard) for row in rows]),
    )


ODD = DecisionRow(1, 0, "Łódź ✓", 3, math.pi, 1.5e9 + 1e-6, due=1.5e9 + 60.25, record='{"context": {"a": "\\u0000"}}')
