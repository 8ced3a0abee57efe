"""The interface of stores. A store reads and writes; the batch (`Work`) decides what a transaction changes.

The log of decisions is the truth. The counts are sums over it, one shard for each server process, written in the same
transaction. What was learned is computed from the log, with a snapshot now and then.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from suffice.service.errors import TooMany
from suffice.service.records import DecisionRow, Key, Reply, SelectorRow, Shard

AccountKey = tuple[int, str]  # a selector's number and a group; "" is the selector's own account
DecisionKey = tuple[int, int]  # a selector's number and the id of a decision
ReplyKey = tuple[int, str]  # a selector's number and an idempotency key
Shards = dict[int, Shard]  # by the number of the server process
Counts = Mapping[AccountKey, Shards]
Decisions = Mapping[DecisionKey, DecisionRow]
Replies = Mapping[ReplyKey, Reply]


@dataclass(slots=True)
class Changes:
    """What a transaction writes."""

    asked: list[DecisionRow] = field(default_factory=list)
    settled: list[DecisionRow] = field(default_factory=list)  # each decision at most once
    shards: dict[AccountKey, Shard] = field(default_factory=dict)  # of this process
    replies: list[Reply] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.asked or self.settled or self.shards or self.replies)


class Work(Protocol):
    """Asks and tells that one call of `Store.transact` executes.

    `ask` and `tell` receive what the store has read and return what it has to write. They may be called again if the store
    repeats a transaction.
    """

    asks: set[AccountKey]  # accounts whose counts the asks need; for a group, the selector's own too
    keys: set[ReplyKey]  # idempotency keys whose replies the asks need
    tells: list[DecisionKey]  # decisions to settle, sorted and without repetition
    asks_committed: bool  # set by a store that commits the asks before the tells

    def ask(self, shard: int, counts: Counts, replies: Replies) -> Changes:
        """Decide the asks."""

    def tell(self, shard: int, counts: Counts, decisions: Decisions) -> Changes:
        """Settle the tells."""

    def fail_tells(self, error: Exception) -> None:
        """Note that the store wrote the asks but could not write the tells."""


class Store(ABC):
    """Holds selectors, decisions, counts, replies, snapshots and access keys.

    After `transact` has returned, its changes are durable. If it raises, nothing was acknowledged and the caller may try
    again. Asks of one selector are serialised: no other transaction, in any process, asks of that selector in between.
    """

    url: str
    shared = False  # whether several processes may have it open at once
    ahead = 0.0  # seconds by which the store's clock is ahead of this process's clock

    @abstractmethod
    async def open(self, *, keys_only: bool = False) -> None:
        """Connect and create missing tables. `keys_only`: beside a running server, to manage access keys."""

    @abstractmethod
    async def close(self) -> None:
        """Disconnect."""

    @abstractmethod
    async def ping(self) -> None:
        """Raise StoreDown if the store cannot be reached."""

    # --- decisions

    @abstractmethod
    async def transact(self, work: Work) -> None:
        """Execute the work: all of it, or none."""

    @abstractmethod
    async def rows(self, selector: int, after: int, limit: int) -> list[DecisionRow]:
        """Decisions with an id above `after`, in order."""

    @abstractmethod
    async def recent(self, selector: int, limit: int) -> list[DecisionRow]:
        """The latest decisions, newest first."""

    @abstractmethod
    async def events(self, selector: int, seen: Mapping[int, int], limit: int) -> list[DecisionRow]:
        """Decisions settled after the event number that `seen` has for their shard, in order within each shard.

        A decision that expired and was amended later comes twice: as it was when it expired, and as it is now.
        """

    @abstractmethod
    async def set_clock(self, clock: Callable[[], float]) -> None:
        """Update `ahead`; decisions asked more than a minute in the future are moved to now, and their due time with them."""

    @abstractmethod
    async def overdue(self, now: float, limit: int, skip: Collection[int] = ()) -> list[DecisionKey]:
        """Pending decisions that were due before now, except those of the selectors in `skip`."""

    @abstractmethod
    async def shards(self, selectors: Collection[int]) -> dict[AccountKey, Shards]:
        """All counts of these selectors and their groups."""

    # --- selectors

    @abstractmethod
    async def selector(self, name: str) -> SelectorRow | None:
        """The selector with this name."""

    @abstractmethod
    async def selectors(self, after: str, limit: int, *, archived: bool, contains: str = "") -> list[SelectorRow]:
        """Selectors by name, those whose names contain a text; archived ones only on request."""

    @abstractmethod
    async def add(self, name: str, plan: str, at: float, most: int) -> tuple[SelectorRow, bool]:
        """The selector with this name, and True if it is new. Raises TooMany if there are already `most`."""

    @abstractmethod
    async def archive(self, name: str, at: float | None) -> SelectorRow | None:
        """Archive a selector, or restore it if `at` is None."""

    @abstractmethod
    async def play_safe(self, name: str, since: float | None) -> SelectorRow | None:
        """Note since when every decision of a selector is the safe option; None: no longer."""

    # --- what was learned

    @abstractmethod
    async def snapshot(self, selector: int) -> str | None:
        """The last saved snapshot."""

    @abstractmethod
    async def save(self, selector: int, events: int, text: str) -> None:
        """Save a snapshot made from so many events, unless the store has one made from more."""

    @abstractmethod
    async def prune(self, before: float) -> None:
        """Delete replies older than `before`."""

    # --- access keys

    @abstractmethod
    async def keys(self) -> list[Key]:
        """All access keys, revoked ones included."""

    @abstractmethod
    async def add_key(self, key: Key) -> None:
        """Add an access key."""

    @abstractmethod
    async def revoke_key(self, identity: str, at: float) -> bool:
        """Revoke an access key; False if there is none or it was already revoked."""


def accounts_of(work: Work, decisions: Iterable[DecisionRow]) -> set[AccountKey]:
    """The accounts whose counts are needed to settle these: each decision's group and its selector."""
    return {(selector, "") for selector, _ in work.tells} | {(row.selector, row.group) for row in decisions}


def check_room(count: int, most: int) -> None:
    """Refuse one more selector if there are already `most`."""
    if count >= most:
        raise TooMany(f"there may be at most {most:,} selectors, archived ones included, and there are (max_selectors)")
