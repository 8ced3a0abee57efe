"""Where a selector stands, from the counts of all its shards."""

import json
from collections.abc import Mapping
from typing import Final

from suffice.certificate import Certificate
from suffice.errors import InvalidArgument, shown
from suffice.promise import Counts, Promise
from suffice.service.mind import Mind, Outline
from suffice.service.records import Kept, Standing
from suffice.service.shards import total
from suffice.service.stores.base import Shards, Whose
from suffice.together import Together, of_all

REMEMBERED: Final = 1000  # standings
GROUPS: Final = 20_000  # certificates of groups
LONG: Final = 10_000  # characters of a plan that is too long to be remembered with them


class Groups:
    """Certificates of groups, so that a selector with thousands of them takes time only for those that moved."""

    def __init__(self) -> None:
        self._known: dict[Whose, tuple[Shards, Certificate]] = {}

    def get(self, promise: Promise, whose: Whose, shards: Shards) -> Certificate:
        """The certificate of a group: as before, where its counts have not changed. Threads may do this at once."""
        known = self._known.get(whose)
        if known is not None and known[0] == shards:
            return known[1]
        found = _of(promise, total(shards).counts, 0)
        if len(self._known) >= GROUPS:
            self._known.clear()
        self._known[whose] = (shards, found)
        return found


def certified(
    promise: Promise, number: int, shards: Mapping[Whose, Shards], groups: Groups, group: str | None = None
) -> Certificate:
    """The certificate of a selector and all its groups, or of one group."""
    if group is not None:
        if not group or (number, group) not in shards:
            raise InvalidArgument(f"group must be one that has been asked for, got {shown(group)}")
        return groups.get(promise, (number, group), shards[(number, group)])
    parts = {one[1]: groups.get(promise, one, found) for one, found in shards.items() if one[0] == number and one[1]}
    # Ids are the selector's own, so those of its groups are counted beside it too.
    elsewhere = sum(part.counts.next_id for part in parts.values())
    own = _of(promise, total(shards.get((number, ""), {})).counts, elsewhere)
    if not parts:
        return own
    return of_all(own, parts)


def _of(promise: Promise, counts: Counts, elsewhere: int) -> Certificate:
    return Certificate.make(promise, counts, counts.next_id - elsewhere - counts.told)


class Stood:
    """Where selectors stood, so that a list of many, looked at again and again, takes time only for those that moved."""

    def __init__(self) -> None:
        self.groups = Groups()
        self._known: dict[int, tuple[Kept, int | None, Mapping[Whose, Shards], Standing]] = {}

    def get(self, kept: Kept, outline: Outline, mind: Mind | None, shards: Mapping[Whose, Shards]) -> Standing:
        """A selector and where it stands: as before, where neither its counts nor anything else of it has changed."""
        known = self._known.get(kept.number)
        learned = None if mind is None else mind.learned  # of other processes, too: that moves the dual, and no count
        if known is not None and known[:3] == (kept, learned, shards):
            return known[3]
        found = self.anew(kept, outline, mind, shards)
        if len(kept.plan) < LONG:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[kept.number] = (kept, learned, shards, found)
        return found

    def anew(self, kept: Kept, outline: Outline, mind: Mind | None, shards: Mapping[Whose, Shards]) -> Standing:
        """The same of one that has too many groups to be remembered as a whole."""
        return standing_of(kept, outline, mind, shards, certified(outline.promise, kept.number, shards, self.groups))


def standing_of(
    kept: Kept, outline: Outline, mind: Mind | None, shards: Mapping[Whose, Shards], certificate: Certificate
) -> Standing:
    """A selector and where it stands; without its price where nothing that was learned is at hand."""
    every = [one for found in shards.values() for one in found.values()]
    main = total(shards.get((kept.number, ""), {}))
    dual = None
    grouped = isinstance(certificate, Together) and "" not in certificate.groups  # then each group has its own
    if mind is not None and not grouped:
        with mind.lock:
            dual = mind.dual("", main.counts)
    return Standing(
        name=kept.name,
        created=kept.created,
        archived=kept.archived,
        plan=json.loads(kept.plan),
        certificate=certificate,
        cost=max(0.0, sum(one.cost for one in every)),
        dual=dual,
        asks=main.counts.next_id + sum(one.counts.unaudited for one in every),
        tells=main.events - sum(one.counts.expired for one in every),
        bounds=outline.bounds,
        chooser=outline.chooser,
        model=outline.model,
        everything_cost=outline.max_cost,
    )
