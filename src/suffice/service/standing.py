"""Where a selector stands, from the counts of all its shards."""

import json
from collections.abc import Mapping
from typing import Final

from suffice.certificate import Certificate
from suffice.errors import InvalidArgument, shown
from suffice.promise import Promise
from suffice.service.mind import Mind, Outline
from suffice.service.records import Kept, Shard, Standing
from suffice.service.shards import total
from suffice.service.stores.base import Shards, Whose
from suffice.together import together

REMEMBERED: Final = 1000  # standings
LONG: Final = 10_000  # characters of a plan that is too long to be remembered with them


def certified(promise: Promise, number: int, shards: Mapping[Whose, Shards], group: str | None = None) -> Certificate:
    """The certificate of a selector and all its groups, or of one group."""
    sums = {whose[1]: total(found) for whose, found in shards.items() if whose[0] == number}
    parts = {name: one for name, one in sums.items() if name}
    if group is not None:
        if group not in parts:
            raise InvalidArgument(f"group must be one that has been asked for, got {shown(group)}")
        return _of(promise, parts[group], 0)
    # Ids are the selector's own, so those of its groups are counted beside it too.
    own = _of(promise, sums.get("", Shard()), sum(one.counts.next_id for one in parts.values()))
    if not parts:
        return own
    certificates = {name: _of(promise, one, 0) for name, one in parts.items()}
    return together({"": own, **certificates} if own.told or own.pending else certificates)


def _of(promise: Promise, shard: Shard, elsewhere: int) -> Certificate:
    counts = shard.counts
    return Certificate.make(promise, counts, counts.next_id - elsewhere - counts.told)


class Stood:
    """Where selectors stood, so that a list of many, looked at again and again, takes time only for those that moved."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Kept, int | None, Mapping[Whose, Shards], Standing]] = {}

    def get(self, kept: Kept, outline: Outline, mind: Mind | None, shards: Mapping[Whose, Shards]) -> Standing:
        """A selector and where it stands: as before, where neither its counts nor anything else of it has changed."""
        known = self._known.get(kept.number)
        learned = None if mind is None else mind.learned  # of other processes, too: that moves the dual, and no count
        if known is not None and known[:3] == (kept, learned, shards):
            return known[3]
        found = standing_of(kept, outline, mind, shards)
        if len(kept.plan) < LONG:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[kept.number] = (kept, learned, shards, found)
        return found


def standing_of(kept: Kept, outline: Outline, mind: Mind | None, shards: Mapping[Whose, Shards]) -> Standing:
    """A selector and where it stands; without its price where nothing that was learned is at hand."""
    sums = [total(found) for found in shards.values()]
    main = total(shards.get((kept.number, ""), {}))
    dual = None
    if mind is not None:
        with mind.lock:
            dual = mind.dual("", main.counts)
    return Standing(
        name=kept.name,
        created=kept.created,
        archived=kept.archived,
        plan=json.loads(kept.plan),
        certificate=certified(outline.promise, kept.number, shards),
        cost=max(0.0, sum(one.cost for one in sums)),
        dual=dual,
        asks=main.counts.next_id + sum(one.counts.unaudited for one in sums),
        tells=main.events - sum(one.counts.expired for one in sums),
        bounds=outline.bounds,
        chooser=outline.chooser,
        model=outline.model,
        everything_cost=outline.max_cost,
    )
