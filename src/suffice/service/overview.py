"""Where a selector stands, from the counts of all its shards."""

import json
from collections.abc import Mapping
from typing import Final

from suffice.errors import InvalidArgument, quoted
from suffice.promise.certificate import Certificate
from suffice.promise.group_certificate import GroupCertificate, combine
from suffice.promise.rules import Promise
from suffice.service.count_shards import merge_shards
from suffice.service.records import Overview, SelectorRow, Shard
from suffice.service.replica import PlanSummary, Replica
from suffice.service.stores.base import AccountKey, Shards

REMEMBERED: Final = 1000  # standings
GROUPS: Final = 20_000  # certificates of groups
LONG: Final = 10_000  # characters of a plan that is too long to be remembered with them


class GroupCertificates:
    """Certificates of groups, so that a selector with thousands of them takes time only for those that moved."""

    def __init__(self) -> None:
        self._known: dict[AccountKey, tuple[Shards, Certificate]] = {}

    def get(self, promise: Promise, whose: AccountKey, shards: Shards) -> Certificate:
        """The certificate of a group: as before, where its counts have not changed. Threads may do this at once."""
        known = self._known.get(whose)
        if known is not None and known[0] == shards:
            return known[1]
        found = _of(promise, merge_shards(shards, promise.open()), 0)
        if len(self._known) >= GROUPS:
            self._known.clear()
        self._known[whose] = (shards, found)
        return found


def certified(
    promise: Promise,
    number: int,
    shards: Mapping[AccountKey, Shards],
    groups: GroupCertificates,
    group: str | None = None,
) -> Certificate:
    """The certificate of a selector and all its groups, or of one group."""
    if group is not None:
        if not group or (number, group) not in shards:
            raise InvalidArgument(f"group must be one that has been asked for, got {quoted(group)}")
        return groups.get(promise, (number, group), shards[(number, group)])
    parts = {one[1]: groups.get(promise, one, found) for one, found in shards.items() if one[0] == number and one[1]}
    # Ids are the selector's own, so those of its groups are counted beside it too.
    elsewhere = sum(
        one.asked for whose, found in shards.items() if whose[0] == number and whose[1] for one in found.values()
    )
    own = _of(promise, merge_shards(shards.get((number, ""), {}), promise.open()), elsewhere)
    if not parts:
        return own
    return combine(own, parts)


def _of(promise: Promise, shard: Shard, elsewhere: int) -> Certificate:
    return Certificate.make(promise, shard.counts, shard.asked - elsewhere - shard.counts.outcomes)


class OverviewCache:
    """Where selectors stood, so that a list of many, looked at again and again, takes time only for those that moved."""

    def __init__(self) -> None:
        self.groups = GroupCertificates()
        self._known: dict[int, tuple[SelectorRow, int | None, Mapping[AccountKey, Shards], Overview]] = {}

    def get(
        self, kept: SelectorRow, outline: PlanSummary, replica: Replica | None, shards: Mapping[AccountKey, Shards]
    ) -> Overview:
        """A selector and where it stands: as before, where neither its counts nor anything else of it has changed."""
        known = self._known.get(kept.number)
        # Of other processes, too: that moves the price, and no count.
        learned = None if replica is None else replica.learned
        if known is not None and known[:3] == (kept, learned, shards):
            return known[3]
        found = self.anew(kept, outline, replica, shards)
        if len(kept.plan) < LONG:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[kept.number] = (kept, learned, shards, found)
        return found

    def anew(
        self, kept: SelectorRow, outline: PlanSummary, replica: Replica | None, shards: Mapping[AccountKey, Shards]
    ) -> Overview:
        """The same of one that has too many groups to be remembered as a whole.

        Without its price where nothing that was learned is at hand.
        """
        certificate = certified(outline.promise, kept.number, shards, self.groups)
        every = [one for found in shards.values() for one in found.values()]
        main = merge_shards(shards.get((kept.number, ""), {}), outline.promise.open())
        price = None
        grouped = (
            isinstance(certificate, GroupCertificate) and "" not in certificate.groups
        )  # then each group has its own
        if replica is not None and not grouped:
            with replica.lock:
                price = replica.price("", main.counts)
        return Overview(
            name=kept.name,
            created=kept.created,
            archived=kept.archived,
            plan=json.loads(kept.plan),
            certificate=certificate,
            cost=max(0.0, sum(one.cost for one in every)),
            price=price,
            asks=main.asked + sum(one.counts.unaudited for one in every),
            tells=main.events - sum(one.counts.expired for one in every),
            bounds=outline.bounds,
            chooser=outline.chooser,
            model=outline.model,
            safe_cost=outline.safe_cost,
        )
