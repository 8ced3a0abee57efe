"""What a store must do. Stores keep and find; what a decision is, and what an outcome changes, is decided in `work`.

The log of decisions is the truth. The counts are sums over it that are kept beside it, a shard for each server process, in
the same transaction; what was learned is a fold of it, with a snapshot now and then.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from suffice.service.errors import TooMany
from suffice.service.records import DecisionRow, Key, Reply, SelectorRow, Shard

AccountKey = tuple[int, str]  # a selector's number and a group of it; "" is the selector itself
Shards = dict[int, Shard]


@dataclass(slots=True)
class Changes:
    """What a transaction writes: new decisions, settled ones (each once), the counts of our own shard, answers to be kept."""

    asked: list[DecisionRow] = field(default_factory=list)
    settled: list[DecisionRow] = field(default_factory=list)
    shards: dict[AccountKey, Shard] = field(default_factory=dict)
    replies: list[Reply] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.asked or self.settled or self.shards or self.replies)


class Work(Protocol):
    """Some asks and some tells that are done in one go.

    `ask` and `tell` change nothing but themselves: they are told what the store has found, and say what is to be written.
    """

    asks: set[AccountKey]  # whose counts the asks need; for a group, the selector's too
    keys: set[tuple[int, str]]  # idempotency keys to be looked up
    tells: list[tuple[int, int]]  # decisions (selector, id) to be settled, in order and without repetition
    asked: bool  # set by a store where the asks are written before the tells, and are not lost with them

    def ask(self, shard: int, found: Mapping[AccountKey, Shards], replies: Mapping[tuple[int, str], Reply]) -> Changes:
        """Decide the asks."""

    def tell(
        self, shard: int, found: Mapping[AccountKey, Shards], rows: Mapping[tuple[int, int], DecisionRow]
    ) -> Changes:
        """Settle the tells."""

    def spare(self, error: Exception) -> None:
        """The tells could not be written; the asks were."""


class Store(ABC):
    """Keeps selectors, decisions, counts, answers, snapshots and keys.

    After `transact` has returned, what it wrote is there for good; if it raises, nothing was written as far as is known, and
    trying again is safe. Asks of one selector see one another: no other transaction asks of it in between, in any process.
    """

    url: str
    shared = False  # whether several processes may have it open
    ahead = 0.0  # seconds by which its clock is ahead of ours: servers that share a store share its clock

    @abstractmethod
    async def open(self, *, keys_only: bool = False) -> None:
        """Make ready: migrate, and refuse what cannot be shared. `keys_only`: beside a server, to manage its keys."""

    @abstractmethod
    async def close(self) -> None:
        """Let go. Whatever was acknowledged stays."""

    @abstractmethod
    async def ping(self) -> None:
        """Raise StoreDown if the store cannot be reached."""

    # --- decisions

    @abstractmethod
    async def transact(self, work: Work) -> None:
        """Do all of it, or nothing."""

    @abstractmethod
    async def rows(self, selector: int, after: int, limit: int) -> list[DecisionRow]:
        """Decisions with a larger id, in order."""

    @abstractmethod
    async def recent(self, selector: int, limit: int) -> list[DecisionRow]:
        """The decisions asked last, the newest first."""

    @abstractmethod
    async def events(self, selector: int, seen: Mapping[int, int], limit: int) -> list[DecisionRow]:
        """What was settled later in its shard than `seen` says, each shard's in order.

        A decision that was given up and amended since comes twice: as it was when it expired, and as it is.
        """

    @abstractmethod
    async def groups(self, selector: int) -> set[str]:
        """The groups that a selector has been asked for."""

    @abstractmethod
    async def set_clock(self, clock: Callable[[], float]) -> None:
        """See what time it is there; and what was asked when the clock was far ahead is due as long from now."""

    @abstractmethod
    async def overdue(self, now: float, limit: int, skip: Collection[int] = ()) -> list[tuple[int, int]]:
        """Pending decisions (selector, id) that were due before now, those of some selectors left out."""

    @abstractmethod
    async def shards(self, selectors: Collection[int], *, groups: bool = True) -> dict[AccountKey, Shards]:
        """All counts of these selectors, of their groups too or not."""

    # --- selectors

    @abstractmethod
    async def selector(self, name: str) -> SelectorRow | None:
        """The selector of this name."""

    @abstractmethod
    async def selectors(self, after: str, limit: int, *, archived: bool, contains: str = "") -> list[SelectorRow]:
        """Selectors by name, those whose names contain a text; the archived ones too, or not."""

    @abstractmethod
    async def add(self, name: str, plan: str, at: float, most: int) -> tuple[SelectorRow, bool]:
        """The selector of this name, made if there is none: then True. TooMany if there are `most` already."""

    @abstractmethod
    async def archive(self, name: str, at: float | None) -> SelectorRow | None:
        """Archive a selector, or bring it back (None)."""

    # --- what was learned

    @abstractmethod
    async def snapshot(self, selector: int) -> str | None:
        """What was last saved of what was learned."""

    @abstractmethod
    async def save(self, selector: int, events: int, text: str) -> None:
        """Save what was learned from so many events, unless one is there that learned from more."""

    @abstractmethod
    async def prune(self, before: float) -> None:
        """Forget answers that were given before."""

    # --- keys

    @abstractmethod
    async def keys(self) -> list[Key]:
        """All keys, revoked ones too."""

    @abstractmethod
    async def add_key(self, key: Key) -> None:
        """Keep a key."""

    @abstractmethod
    async def revoke_key(self, identity: str, at: float) -> bool:
        """Revoke a key; False if there is none, or it was revoked before."""


def whose(work: Work, rows: Iterable[DecisionRow]) -> set[AccountKey]:
    """Whose counts it takes to settle these: each one's group and its selector."""
    return {(selector, "") for selector, _ in work.tells} | {(row.selector, row.group) for row in rows}


def check_room(count: int, most: int) -> None:
    """Refuse one more selector where there are as many as there may be."""
    if count >= most:
        raise TooMany(f"there may be at most {most:,} selectors, archived ones included, and there are (max_selectors)")
