"""A store that is gone with the process: for trying things out, for tests, and for those who can bear to begin anew."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from itertools import islice
from typing import Final

from suffice.service.records import EXPIRED, DecisionRow, Key, Reply, SelectorRow, Shard
from suffice.service.stores.base import AccountKey, Changes, Shards, Store, Work, check_room, whose

REMEMBERED: Final = 100_000  # settled decisions, of all selectors; so the memory it takes has an end
SHARD: Final = 0
FAR: Final = 60.0  # seconds: a clock that is ahead by less is no matter
MOST_TEXT: Final = 64 << 20  # of answers, in characters


class MemoryStore(Store):
    """Dicts. Of what is settled the last 100,000 decisions are remembered, and as many answers."""

    def __init__(self, url: str = "memory:", remembered: int = REMEMBERED) -> None:
        self.url, self._remembered = url, remembered
        self._selectors: dict[str, SelectorRow] = {}
        self._rows: dict[int, dict[int, DecisionRow]] = {}  # by selector and id, in the order of asking
        self._settled: OrderedDict[tuple[int, int], None] = OrderedDict()
        self._due: OrderedDict[tuple[int, int], float] = OrderedDict()
        self._shards: dict[AccountKey, Shard] = {}
        self._groups: dict[int, set[str]] = {}
        self._replies: OrderedDict[tuple[int, str], Reply] = OrderedDict()
        self._text = 0  # characters of them
        self._snapshots: dict[int, tuple[int, str]] = {}
        self._keys: dict[str, Key] = {}

    async def open(self, *, keys_only: bool = False) -> None:
        """Nothing to be done."""

    async def close(self) -> None:
        """Nothing to be done."""

    async def ping(self) -> None:
        """It is there."""

    # --- decisions

    async def transact(self, work: Work) -> None:
        if work.asks:
            replies = {key: self._replies[key] for key in work.keys if key in self._replies}
            self._write(work.ask(SHARD, self._found(work.asks), replies))
        if work.tells:
            found = {one: self._rows.get(one[0], {}).get(one[1]) for one in work.tells}
            rows = {one: row for one, row in found.items() if row is not None}  # replaced when settled, never changed
            self._write(work.tell(SHARD, self._found(whose(work, rows.values())), rows))

    def _found(self, wanted: Collection[AccountKey]) -> dict[AccountKey, Shards]:
        return {one: {SHARD: self._shards[one]} for one in wanted if one in self._shards}

    def _write(self, changes: Changes) -> None:
        for row in changes.asked:
            self._rows.setdefault(row.selector, {})[row.id] = row
            if row.due is not None:
                self._due[(row.selector, row.id)] = row.due
        for row in changes.settled:
            place = (row.selector, row.id)
            self._rows[row.selector][row.id] = row
            self._due.pop(place, None)
            self._settled[place] = None
            self._settled.move_to_end(place)
        while len(self._settled) > self._remembered:
            selector, identity = self._settled.popitem(last=False)[0]
            del self._rows[selector][identity]
        for one, shard in changes.shards.items():
            self._shards[one] = shard
            self._groups.setdefault(one[0], set()).add(one[1])
        for reply in changes.replies:
            earlier = self._replies.pop((reply.selector, reply.key), None)
            self._text -= 0 if earlier is None else len(earlier.text)
            self._replies[(reply.selector, reply.key)] = reply
            self._text += len(reply.text)
        while len(self._replies) > self._remembered or self._text > MOST_TEXT:
            self._text -= len(self._replies.popitem(last=False)[1].text)

    async def rows(self, selector: int, after: int, limit: int) -> list[DecisionRow]:
        rows = self._rows.get(selector, {}).values()
        return list(islice((row for row in rows if row.id > after), limit))

    async def recent(self, selector: int, limit: int) -> list[DecisionRow]:
        return list(islice(reversed(self._rows.get(selector, {}).values()), limit))

    async def events(self, selector: int, seen: Mapping[int, int], limit: int) -> list[DecisionRow]:
        after = seen.get(SHARD, 0)
        rows = [one for row in self._rows.get(selector, {}).values() for one in _events(row)]
        return sorted((one for one in rows if (one.seq or 0) > after), key=lambda one: one.seq or 0)[:limit]

    async def groups(self, selector: int) -> set[str]:
        return self._groups.get(selector, set()) - {""}

    async def set_clock(self, clock: Callable[[], float]) -> None:
        now = clock()
        for selector, identity in self._due:
            row = self._rows[selector][identity]
            if row.due is not None and row.asked_at > now + FAR:
                row.due, row.asked_at = now + (row.due - row.asked_at), now
                self._due[(selector, identity)] = row.due

    async def overdue(self, now: float, limit: int, skip: Collection[int] = ()) -> list[tuple[int, int]]:
        return list(islice((one for one, due in self._due.items() if due < now and one[0] not in skip), limit))

    async def shards(self, selectors: Collection[int], *, groups: bool = True) -> dict[AccountKey, Shards]:
        wanted = [(one, group) for one in selectors for group in (self._groups.get(one, ()) if groups else ("",))]
        return self._found(wanted)

    # --- selectors

    async def selector(self, name: str) -> SelectorRow | None:
        return self._selectors.get(name)

    async def selectors(self, after: str, limit: int, *, archived: bool, contains: str = "") -> list[SelectorRow]:
        found = (one for one in self._selectors.values() if archived or not one.archived)
        names = sorted(one.name for one in found if one.name > after and contains in one.name)
        return [self._selectors[name] for name in names[:limit]]

    async def add(self, name: str, plan: str, at: float, most: int) -> tuple[SelectorRow, bool]:
        if name in self._selectors:
            return self._selectors[name], False
        check_room(len(self._selectors), most)
        kept = self._selectors[name] = SelectorRow(len(self._selectors) + 1, name, plan, at)
        return kept, True

    async def archive(self, name: str, at: float | None) -> SelectorRow | None:
        if name not in self._selectors:
            return None
        self._selectors[name] = replace(self._selectors[name], archived=at)
        return self._selectors[name]

    # --- what was learned

    async def snapshot(self, selector: int) -> str | None:
        return self._snapshots[selector][1] if selector in self._snapshots else None

    async def save(self, selector: int, events: int, text: str) -> None:
        if events >= self._snapshots.get(selector, (0, ""))[0]:
            self._snapshots[selector] = (events, text)

    async def prune(self, before: float) -> None:
        for key in [key for key, reply in self._replies.items() if reply.at < before]:
            self._text -= len(self._replies.pop(key).text)

    # --- keys

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
    """What happened to a decision: its outcome, and that it was given up before if so."""
    if row.expired_shard is None:
        return [row]
    gave = replace(
        row, state=EXPIRED, units=0, cost=None, told_at=row.expired_at, shard=row.expired_shard, seq=row.expired_seq,
        expired_shard=None, expired_seq=None, expired_at=None,
    )  # fmt: skip
    return [gave, row]
