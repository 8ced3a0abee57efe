"""Counts that server processes keep apart, added up: what is true of all, and what one process has to add to its own.

Theory, section 6: what drives decisions is a sum. What is not: maxima, of which the largest counts, and the running
shortfall of the safe option, of which the sum of all is an upper bound; a process goes on from its own. Each field of an
account says which of these it is (`merge_of`). The limits are the promise's, and no shard keeps them.
"""

import json
from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from suffice.promise.account import MAX, SUM, Account, grow, merge_of
from suffice.promise.group_certificate import add_counts
from suffice.service.records import Shard
from suffice.service.stores.base import Shards

RUNNING: Final = ("shortfall", "worst_shortfall")
ADDED: Final = tuple(name for name, how in merge_of.items() if how == SUM)
LARGEST: Final = tuple(name for name, how in merge_of.items() if how == MAX)
COUNTS: Final = (*ADDED, *LARGEST, *RUNNING)
_counts: Final = attrgetter("counts")


def merge_accounts(rules: Account, parts: Iterable[Account]) -> Account:
    """The counts of all, under the rules of an account that was told nothing, which it becomes."""
    grow(add_counts(rules, parts, (*ADDED, *RUNNING), LARGEST))
    return rules


def visible_counts(rules: Account, own: Shard, shards: Shards, number: int) -> Account:
    """What the process with this shard counts on: the sum of all, but its own running maxima. The rules become it."""
    found = merge_accounts(rules, map(_counts, {**shards, number: own}.values()))
    for name in RUNNING:
        setattr(found, name, getattr(own.counts, name))
    return found


def shard_delta(own: Account, before: Account, after: Account) -> Account:
    """What the own counts become when the sum seen moved from `before` to `after`."""
    result = Account()
    for name in ADDED:
        setattr(result, name, getattr(own, name) + getattr(after, name) - getattr(before, name))
    for name in LARGEST:
        setattr(result, name, max(getattr(own, name), getattr(after, name)))
    for name in RUNNING:
        setattr(result, name, getattr(after, name))
    return result


def merge_shards(shards: Shards, rules: Account | None = None) -> Shard:
    """All of it; with the limits of these rules, if there are any."""
    return Shard(
        counts=merge_accounts(rules or Account(), map(_counts, shards.values())),
        asked=sum(shard.asked for shard in shards.values()),
        cost=sum(shard.cost for shard in shards.values()),
        events=sum(shard.events for shard in shards.values()),
    )


def write(shard: Shard) -> str:
    """A shard as stores keep it."""
    found: dict[str, float] = {"asked": shard.asked, "cost": shard.cost, "events": shard.events}
    for name in COUNTS:
        value = getattr(shard.counts, name)
        if value:
            found[name] = value
    return json.dumps(found)


def read(text: str) -> Shard:
    """A shard from what `write` wrote."""
    found = json.loads(text)
    asked, cost, events = found.pop("asked"), found.pop("cost"), found.pop("events")
    return Shard(counts=Account(**found), asked=asked, cost=cost, events=events)
