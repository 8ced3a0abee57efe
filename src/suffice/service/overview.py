"""Overviews and certificates of selectors, from the counts of all shards."""

import json
from typing import Final, NamedTuple

from suffice.errors import InvalidArgument, quoted
from suffice.promise.certificate import Certificate
from suffice.promise.group_certificate import GroupCertificate, combine
from suffice.promise.rules import Promise
from suffice.service.count_shards import merge_shards
from suffice.service.records import Overview, SelectorRow
from suffice.service.replica import PlanSummary, Replica
from suffice.service.stores.base import AccountKey, Counts, Shards

REMEMBERED: Final = 1000  # overviews that are cached
GROUPS: Final = 20_000  # certificates of groups that are cached
LONG: Final = 10_000  # characters: a selector with a longer plan is not cached


class GroupCertificates:
    """A cache of the certificates of groups: only those whose counts have changed are computed again."""

    def __init__(self) -> None:
        self._known: dict[AccountKey, tuple[Shards, Certificate]] = {}

    def get(self, promise: Promise, expires: bool, account: AccountKey, shards: Shards) -> Certificate:
        """The certificate of a group. Safe to call from several threads."""
        known = self._known.get(account)
        if known is not None and known[0] == shards:
            return known[1]
        certificate = Certificate.make(promise, merge_shards(shards, promise.open()).counts, expires=expires)
        if len(self._known) >= GROUPS:
            self._known.clear()
        self._known[account] = (shards, certificate)
        return certificate


def certified(
    summary: PlanSummary, number: int, counts: Counts, groups: GroupCertificates, group: str | None = None
) -> Certificate:
    """The certificate of a selector with all its groups, or of one group."""
    promise, expires = summary.promise, summary.expires
    if group is not None:
        if not group or (number, group) not in counts:
            raise InvalidArgument(f"group must be one that has been asked for, got {quoted(group)}")
        return groups.get(promise, expires, (number, group), counts[(number, group)])
    of_groups = {account: shards for account, shards in counts.items() if account[0] == number and account[1]}
    own = Certificate.make(promise, merge_shards(counts.get((number, ""), {}), promise.open()).counts, expires=expires)
    if not of_groups:
        return own
    return combine(
        own, {account[1]: groups.get(promise, expires, account, shards) for account, shards in of_groups.items()}
    )


class _Cached(NamedTuple):
    row: SelectorRow
    learned: int | None  # events; what other processes told moves the price and no count
    counts: Counts
    overview: Overview


class OverviewCache:
    """A cache of overviews: only those of selectors that have changed are computed again."""

    def __init__(self) -> None:
        self.groups = GroupCertificates()
        self._known: dict[int, _Cached] = {}

    def get(self, row: SelectorRow, summary: PlanSummary, replica: Replica | None, counts: Counts) -> Overview:
        """The overview of a selector, cached while nothing of it changes."""
        known = self._known.get(row.number)
        learned = None if replica is None else replica.learned
        if known is not None and known[:3] == (row, learned, counts):
            return known.overview
        overview = self.build(row, summary, replica, counts)
        if len(row.plan) < LONG:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[row.number] = _Cached(row, learned, counts, overview)
        return overview

    def build(self, row: SelectorRow, summary: PlanSummary, replica: Replica | None, counts: Counts) -> Overview:
        """The overview of a selector; without its price if no replica is loaded, or if each group has a price."""
        certificate = certified(summary, row.number, counts, self.groups)
        shards = [shard for account in counts.values() for shard in account.values()]
        main = merge_shards(counts.get((row.number, ""), {}), summary.promise.open())
        only_groups = isinstance(certificate, GroupCertificate) and "" not in certificate.groups
        price, safe_cost = None, summary.safe_cost
        if replica is not None:
            with replica.lock:
                price = None if only_groups else replica.price("", main.counts)
                told = replica.detached.learner.mean_cost(replica.menu.n_arms - 1)
            safe_cost = summary.safe_cost if told is None else told
        return Overview(
            name=row.name,
            created=row.created,
            archived=row.archived,
            plan=json.loads(row.plan),
            certificate=certificate,
            cost=max(0.0, sum(shard.cost for shard in shards)),
            price=price,
            asks=main.asked + sum(shard.counts.unaudited for shard in shards),
            tells=main.tells,
            # What was settled, and neither told nor skipped nor cancelled. `expired` leaves out safe plays.
            expiries=main.events - main.tells - certificate.skipped - certificate.cancelled,
            bounds=summary.bounds,
            chooser=summary.chooser,
            model=summary.model,
            safe_cost=safe_cost,
            playing_safe=row.safe_since is not None,
            events=() if replica is None else tuple(replica.notices),
            noticed={} if replica is None else dict(replica.noticed),
        )
