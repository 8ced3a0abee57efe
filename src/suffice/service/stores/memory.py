"""A store in memory, for trials and tests: everything is lost when the process ends."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from itertools import islice
from typing import Final

from suffice.service.records import EXPIRED, PENDING, DecisionRow, Key, Reply, SelectorRow, Shard
from suffice.service.stores.base import (
    AccountKey,
    Changes,
    DecisionKey,
    ReplyKey,
    Shards,
    Store,
    Work,
    accounts_of,
    check_room,
)

MOST_SETTLED: Final = 100_000  # settled decisions, and replies, that are held
MOST_REPLY_TEXT: Final = 64 << 20  # characters of all replies together
SHARD: Final = 0
CLOCK_TOLERANCE: Final = 60.0  # seconds: a clock that is ahead by less is left alone


class MemoryStore(Store):
    """Dictionaries. Of settled decisions and of replies only the last 100,000 are held."""

    def __init__(self, url: str = "memory:", most: int = MOST_SETTLED) -> None:
        self.url, self._most = url, most
        self._selectors: dict[str, SelectorRow] = {}
        self._rows: dict[int, dict[int, DecisionRow]] = {}  # by selector and id, in the order of asking
        self._settled: OrderedDict[DecisionKey, None] = OrderedDict()
        self._due: OrderedDict[DecisionKey, float] = OrderedDict()
        self._shards: dict[AccountKey, Shard] = {}
        self._groups: dict[int, set[str]] = {}
        self._replies: OrderedDict[ReplyKey, Reply] = OrderedDict()
        self._reply_text = 0  # characters
        self._snapshots: dict[int, tuple[int, str]] = {}
        self._keys: dict[str, Key] = {}

    async def open(self, *, keys_only: bool = False) -> None:
        """Nothing to do."""

    async def close(self) -> None:
        """Nothing to do."""

    async def ping(self) -> None:
        """Nothing to do."""

    # --- decisions

    async def transact(self, work: Work) -> None:
        if work.asks:
            replies = {key: self._replies[key] for key in work.keys if key in self._replies}
            self._write(work.ask(SHARD, self._counts(work.asks), replies))
        if work.tells:
            wanted = {key: self._rows.get(key[0], {}).get(key[1]) for key in work.tells}
            rows = {key: row for key, row in wanted.items() if row is not None}  # replaced when settled, never changed
            self._write(work.tell(SHARD, self._counts(accounts_of(work, rows.values())), rows))

    def _counts(self, accounts: Collection[AccountKey]) -> dict[AccountKey, Shards]:
        return {key: {SHARD: self._shards[key]} for key in accounts if key in self._shards}

    def _write(self, changes: Changes) -> None:
        for row in changes.asked:
            self._rows.setdefault(row.selector, {})[row.id] = row
            if row.state != PENDING:  # a skip
                self._settle(row)
            if row.due is not None:
                self._due[(row.selector, row.id)] = row.due
        for row in changes.settled:
            self._settle(row)
        for key, shard in changes.shards.items():
            self._shards[key] = shard
            self._groups.setdefault(key[0], set()).add(key[1])
        for reply in changes.replies:
            self._keep(reply)

    def _settle(self, row: DecisionRow) -> None:
        key = (row.selector, row.id)
        self._rows[row.selector][row.id] = row
        self._due.pop(key, None)
        self._settled[key] = None
        self._settled.move_to_end(key)
        if len(self._settled) > self._most:
            selector, identity = self._settled.popitem(last=False)[0]
            del self._rows[selector][identity]

    def _keep(self, reply: Reply) -> None:
        key = (reply.selector, reply.key)
        earlier = self._replies.pop(key, None)
        self._reply_text += len(reply.text) - (0 if earlier is None else len(earlier.text))
        self._replies[key] = reply
        while len(self._replies) > self._most or self._reply_text > MOST_REPLY_TEXT:
            self._reply_text -= len(self._replies.popitem(last=False)[1].text)

    async def rows(self, selector: int, after: int, limit: int) -> list[DecisionRow]:
        rows = self._rows.get(selector, {}).values()
        return list(islice((row for row in rows if row.id > after), limit))

    async def recent(self, selector: int, limit: int) -> list[DecisionRow]:
        return list(islice(reversed(self._rows.get(selector, {}).values()), limit))

    async def events(self, selector: int, seen: Mapping[int, int], limit: int) -> list[DecisionRow]:
        after = seen.get(SHARD, 0)
        events = [event for row in self._rows.get(selector, {}).values() for event in _events(row)]
        return sorted((row for row in events if (row.seq or 0) > after), key=lambda row: row.seq or 0)[:limit]

    async def set_clock(self, clock: Callable[[], float]) -> None:
        now = clock()
        for selector, identity in self._due:
            row = self._rows[selector][identity]
            if row.due is not None and row.asked_at > now + CLOCK_TOLERANCE:
                row.due, row.asked_at = now + (row.due - row.asked_at), now
                self._due[(selector, identity)] = row.due

    async def overdue(self, now: float, limit: int, skip: Collection[int] = ()) -> list[DecisionKey]:
        return list(islice((key for key, due in self._due.items() if due < now and key[0] not in skip), limit))

    async def shards(self, selectors: Collection[int]) -> dict[AccountKey, Shards]:
        return self._counts([(number, group) for number in selectors for group in self._groups.get(number, ())])

    # --- selectors

    async def selector(self, name: str) -> SelectorRow | None:
        return self._selectors.get(name)

    async def selectors(self, after: str, limit: int, *, archived: bool, contains: str = "") -> list[SelectorRow]:
        rows = (row for row in self._selectors.values() if archived or not row.archived)
        names = sorted(row.name for row in rows if row.name > after and contains in row.name)
        return [self._selectors[name] for name in names[:limit]]

    async def add(self, name: str, plan: str, at: float, most: int) -> tuple[SelectorRow, bool]:
        if name in self._selectors:
            return self._selectors[name], False
        check_room(len(self._selectors), most)
        row = self._selectors[name] = SelectorRow(len(self._selectors) + 1, name, plan, at)
        return row, True

    async def archive(self, name: str, at: float | None) -> SelectorRow | None:
        if name not in self._selectors:
            return None
        self._selectors[name] = replace(self._selectors[name], archived=at)
        return self._selectors[name]

    async def play_safe(self, name: str, since: float | None) -> SelectorRow | None:
        if name not in self._selectors:
            return None
        self._selectors[name] = replace(self._selectors[name], safe_since=since)
        return self._selectors[name]

    # --- what was learned

    async def snapshot(self, selector: int) -> str | None:
        return self._snapshots[selector][1] if selector in self._snapshots else None

    async def save(self, selector: int, events: int, text: str) -> None:
        if events >= self._snapshots.get(selector, (0, ""))[0]:
            self._snapshots[selector] = (events, text)

    async def prune(self, before: float) -> None:
        for key in [key for key, reply in self._replies.items() if reply.at < before]:
            self._reply_text -= len(self._replies.pop(key).text)

    # --- access keys

    async def keys(self) -> list[Key]:
        return list(self._keys.values())

    async def add_key(self, key: Key) -> None:
        self._keys[key.id] = key

    async def revoke_key(self, identity: str, at: float) -> bool:
        key = self._keys.get(identity)
        if key is None or key.revoked is not None:
            return False
        self._keys[identity] = replace(key, revoked=at)
        return True


def _events(row: DecisionRow) -> list[DecisionRow]:
    """The events of a decision: its outcome, preceded by its expiry if it was amended."""
    if row.expired_shard is None:
        return [row]
    expired = replace(
        row, state=EXPIRED, units=0, cost=None, told_at=row.expired_at, shard=row.expired_shard, seq=row.expired_seq,
        expired_shard=None, expired_seq=None, expired_at=None,
    )  # fmt: skip
    return [expired, row]
