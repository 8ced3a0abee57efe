"""Counts that server processes keep apart, added up: what is true of all, and what one process has to add to its own.

Theory, section 6: what drives decisions is a sum. What is not: `missing` and `forgiven` are maxima, so the largest counts.
`excess` is a running maximum of each process; the sum of all is an upper bound, and a process goes on from its own.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, fields, replace
from typing import Final

from suffice.promise import Counts
from suffice.service.records import Shard
from suffice.service.stores.base import Shards

LARGEST: Final = frozenset({"missing", "missing_mirror", "forgiven"})
RUNNING: Final = frozenset({"excess", "worst_excess"})
SKIPPED: Final = frozenset({"settled"})  # of one ledger only
ADDED: Final = tuple(
    one.name
    for one in fields(Counts)
    if one.name not in LARGEST and one.name not in RUNNING and one.name not in SKIPPED
)


def summed(parts: Iterable[Counts]) -> Counts:
    """The counts of all. In sums of one part nothing changes."""
    some = list(parts)
    if len(some) == 1:
        return replace(some[0], settled=-1)
    total = Counts()
    for name in (*ADDED, *RUNNING):
        setattr(total, name, sum(getattr(part, name) for part in some))
    for name in LARGEST:
        setattr(total, name, max((getattr(part, name) for part in some), default=0))
    return total


def seen_by(own: Shard, shards: Shards, number: int) -> Counts:
    """What the process with this shard counts on: the sum of all, but its own running maxima."""
    others = [shard.counts for one, shard in shards.items() if one != number]
    if not others:
        return replace(own.counts, settled=-1)
    total = summed([own.counts, *others])
    total.excess, total.worst_excess = own.counts.excess, own.counts.worst_excess
    return total


def moved(own: Counts, before: Counts, after: Counts) -> Counts:
    """What the own counts become when the sum seen moved from `before` to `after`."""
    result = Counts()
    for name in ADDED:
        setattr(result, name, getattr(own, name) + getattr(after, name) - getattr(before, name))
    for name in LARGEST:
        setattr(result, name, max(getattr(own, name), getattr(after, name)))
    for name in RUNNING:
        setattr(result, name, getattr(after, name))
    return result


def total(shards: Shards) -> Shard:
    """All of it."""
    return Shard(
        counts=summed(shard.counts for shard in shards.values()),
        cost=sum(shard.cost for shard in shards.values()),
        events=sum(shard.events for shard in shards.values()),
    )


def write(shard: Shard) -> str:
    """A shard as stores keep it."""
    counts = {name: value for name, value in asdict(shard.counts).items() if name not in SKIPPED and value}
    return json.dumps({"cost": shard.cost, "events": shard.events, **counts})


def read(text: str) -> Shard:
    """A shard from what `write` wrote."""
    found = json.loads(text)
    cost, events = found.pop("cost"), found.pop("events")
    return Shard(counts=Counts(**found), cost=cost, events=events)
