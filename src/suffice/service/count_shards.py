"""Sums of counts that server processes write separately, one shard each.

Theory, section 6: decisions depend on sums over all shards. Maxima combine to the largest. The running shortfall of the safe
option has no exact sum, so a process goes on from its own, and the sum over shards is an upper bound. `merge_of` says how each
field of an account combines. Limits belong to the promise and are in no shard.
"""

import json
from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from suffice.promise.account import grow
from suffice.promise.group_certificate import add_counts
from suffice.promise.record import MAX, SUM, Account, merge_of
from suffice.service.records import Shard
from suffice.service.stores.base import Shards

RUNNING: Final = ("shortfall", "worst_shortfall")
ADDED: Final = tuple(name for name, how in merge_of.items() if how == SUM)
LARGEST: Final = tuple(name for name, how in merge_of.items() if how == MAX)
COUNTS: Final = (*ADDED, *LARGEST, *RUNNING)
TOTALS: Final = ("asked", "cost", "events", "tells", "settled")
_counts: Final = attrgetter("counts")


def merge_accounts(empty: Account, parts: Iterable[Account]) -> Account:
    """Add the counts of all parts to an empty account, which has the limits."""
    grow(add_counts(empty, parts, (*ADDED, *RUNNING), LARGEST))
    return empty


def visible_counts(empty: Account, shard: Shard, shards: Shards, number: int) -> Account:
    """The account on which the process with shard `number` decides: the sum of all shards, with its own running maxima."""
    account = merge_accounts(empty, map(_counts, {**shards, number: shard}.values()))
    for name in RUNNING:
        setattr(account, name, getattr(shard.counts, name))
    return account


def shard_delta(stored: Account, before: Account, after: Account) -> Account:
    """The new counts of a shard when the visible counts moved from `before` to `after`."""
    result = Account()
    for name in ADDED:
        setattr(result, name, getattr(stored, name) + getattr(after, name) - getattr(before, name))
    for name in LARGEST:
        setattr(result, name, max(getattr(stored, name), getattr(after, name)))
    for name in RUNNING:
        setattr(result, name, getattr(after, name))
    return result


def merge_shards(shards: Shards, empty: Account | None = None) -> Shard:
    """The sum of all shards, with the limits of the empty account if one is given."""
    return Shard(
        counts=merge_accounts(empty or Account(), map(_counts, shards.values())),
        asked=sum(shard.asked for shard in shards.values()),
        cost=sum(shard.cost for shard in shards.values()),
        events=sum(shard.events for shard in shards.values()),
        tells=sum(shard.tells for shard in shards.values()),
        settled=sum(shard.settled for shard in shards.values()),
    )


def write(shard: Shard) -> str:
    """A shard as JSON; counts of 0 are left out."""
    values: dict[str, float] = {name: getattr(shard, name) for name in TOTALS}
    for name in COUNTS:
        value = getattr(shard.counts, name)
        if value:
            values[name] = value
    return json.dumps(values)


def read(text: str) -> Shard:
    """A shard from the JSON of `write`."""
    values = json.loads(text)
    totals = {name: values.pop(name) for name in TOTALS}
    return Shard(counts=Account(**values), **totals)
