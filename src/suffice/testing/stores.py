"""The contract of stores: what every store of the service must do, as tests for pytest.

A subclass makes the store; pytest runs its tests with a new folder each. See docs/extending.md, "A store".
"""

import asyncio
import math
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from suffice.promise.record import Account
from suffice.service.errors import StoreDown, TooMany
from suffice.service.records import AMENDED, EXPIRED, TOLD, DecisionRow, Key, Reply, SelectorRow, Shard
from suffice.service.stores.base import AccountKey, Changes, Counts, DecisionKey, Decisions, Replies, ReplyKey, Store

# A decision with values that are easily damaged on their way through a database.
ROW = DecisionRow(
    1, 0, "Łódź ✓", 3, math.pi, -50_000_000, 0, 1.5e9 + 1e-6, due=1.5e9 + 60.25, record='{"context": {"a": "\\u0000"}}'
)


@dataclass
class ScriptedWork:
    """Work for a store that writes given changes and records what the store has read for it."""

    asks: set[AccountKey] = field(default_factory=set)
    keys: set[ReplyKey] = field(default_factory=set)
    tells: list[DecisionKey] = field(default_factory=list)
    on_ask: Callable[[int, Counts], Changes] = lambda shard, counts: Changes()
    on_tell: Callable[[int, Decisions], Changes] = lambda shard, decisions: Changes()
    asks_committed: bool = False
    shard: int = -1
    counts: Counts = field(default_factory=dict)
    replies: Replies = field(default_factory=dict)
    decisions: Decisions = field(default_factory=dict)
    failure: Exception | None = None

    def ask(self, shard: int, counts: Counts, replies: Replies) -> Changes:
        """The changes of `on_ask`."""
        self.shard, self.counts, self.replies = shard, counts, replies
        return self.on_ask(shard, counts)

    def tell(self, shard: int, counts: Counts, decisions: Decisions) -> Changes:
        """The changes of `on_tell`."""
        self.shard, self.counts, self.decisions = shard, counts, decisions
        return self.on_tell(shard, decisions)

    def fail_tells(self, error: Exception) -> None:
        """Record the error."""
        self.failure = error


def ask_rows(
    *rows: DecisionRow, shards: dict[AccountKey, Shard] | None = None, replies: list[Reply] | None = None
) -> ScriptedWork:
    """Work that adds decisions, and with them counts and replies."""
    accounts = {(row.selector, "") for row in rows} | {(row.selector, row.group) for row in rows}
    changes = Changes(asked=list(rows), shards=shards or {}, replies=replies or [])
    return ScriptedWork(asks=accounts, on_ask=lambda shard, counts: changes)


def settle_rows(*rows: DecisionRow) -> ScriptedWork:
    """Work that settles decisions, given as they are to be, in the store's own shard."""
    return ScriptedWork(
        tells=sorted((row.selector, row.id) for row in rows),
        on_tell=lambda shard, decisions: Changes(settled=[replace(row, shard=shard) for row in rows]),
    )


def with_store(
    check: Callable[[Any, Store], Coroutine[object, object, None]],
) -> Callable[["StoreContract", Path], None]:
    """Run an asynchronous test on a new store, opened before and closed after it."""

    def test(self: "StoreContract", tmp_path: Path) -> None:
        self.run(tmp_path, lambda store: check(self, store))

    test.__name__, test.__doc__ = check.__name__, check.__doc__
    return test


class StoreContract:
    """Tests of a store. A subclass says how it is made: each folder has a store of its own, empty at first.

    `durable` is False for a store whose contents end with the object.
    """

    durable = True

    def make_store(self, folder: Path) -> Store:
        """The store of this folder, not yet opened."""
        raise NotImplementedError

    def run(self, folder: Path, do: Callable[[Store], Coroutine[object, object, None]]) -> None:
        """Open the store of a folder, do something with it and close it."""

        async def opened() -> None:
            store = self.make_store(folder)
            await store.open()
            try:
                await do(store)
            finally:
                await store.close()

        asyncio.run(opened())

    # --- selectors

    @with_store
    async def test_a_selector_is_added_once(self, store: Store) -> None:
        assert await store.selector("b") is None
        first, is_new = await store.add("b", "{}", 1.0, 3)
        assert is_new
        again, is_new = await store.add("b", "{other}", 2.0, 3)
        assert not is_new
        assert again == first == await store.selector("b") == SelectorRow(first.number, "b", "{}", 1.0)
        await store.add("a-1", "{}", 1.0, 3)
        await store.add("a.0", "{}", 1.0, 3)
        with pytest.raises(TooMany, match="at most 3"):
            await store.add("z", "{}", 1.0, 3)
        assert (await store.add("a.0", "{}", 1.0, 3))[1] is False

    @with_store
    async def test_selectors_come_by_name_in_pages(self, store: Store) -> None:
        names = ["a", "a-b", "a.b", "a_b", "ab", "b0", "0"]
        for name in names:
            await store.add(name, "{}", 1.0, 100)
        await store.archive("ab", 5.0)
        listed: list[str] = []
        while page := await store.selectors(listed[-1] if listed else "", 2, archived=False):
            listed += [row.name for row in page]
        assert listed == sorted(set(names) - {"ab"})
        assert [row.name for row in await store.selectors("", 100, archived=True)] == sorted(names)

    @with_store
    async def test_selectors_are_found_by_a_part_of_their_name(self, store: Store) -> None:
        for name in ("search", "re-search", "re.search", "re_search", "sea", "arch"):
            await store.add(name, "{}", 1.0, 100)
        await store.archive("re.search", 5.0)

        async def names(text: str, after: str = "", limit: int = 9, archived: bool = False) -> list[str]:
            return [row.name for row in await store.selectors(after, limit, archived=archived, contains=text)]

        assert await names("search") == ["re-search", "re_search", "search"]
        assert await names("search", archived=True) == ["re-search", "re.search", "re_search", "search"]
        assert await names("search", after="re-search", limit=1) == ["re_search"]
        assert await names("") == ["arch", "re-search", "re_search", "sea", "search"]
        assert await names("_") == ["re_search"]  # no wildcard, as in LIKE
        for absent in ("%", "s%h", "s*h", "re.s", "\\", "[s]", "searchs", "' OR '"):
            assert await names(absent) == []

    @with_store
    async def test_a_selector_is_archived_and_restored(self, store: Store) -> None:
        row, _ = await store.add("a", "{}", 1.0, 9)
        assert await store.archive("a", 7.0) == replace(row, archived=7.0)
        assert await store.archive("a", None) == row
        assert await store.archive("none", 7.0) is None

    @with_store
    async def test_playing_safe_is_noted_and_ends(self, store: Store) -> None:
        row, _ = await store.add("a", "{}", 1.0, 10)
        assert row.safe_since is None
        assert await store.play_safe("a", 7.0) == replace(row, safe_since=7.0)
        assert await store.selector("a") == replace(row, safe_since=7.0)
        assert await store.selectors("", 10, archived=False) == [replace(row, safe_since=7.0)]
        assert await store.play_safe("a", None) == row
        assert await store.play_safe("b", 7.0) is None

    # --- decisions

    @with_store
    async def test_decisions_and_counts_are_read_as_they_were_written(self, store: Store) -> None:
        rows = [ROW, replace(ROW, id=1, group="", due=None, record=None, price=1e-300)]
        counts = Account(outcomes=10**12, successes=10**15 + 1, forgiven=10**8, most_outstanding=7)
        shards = {(1, ""): Shard(counts, 13, 0.1 + 0.2, 9), (1, ROW.group): Shard(), (1, "b"): Shard()}
        work = ask_rows(*rows, shards={**shards, (2, "c"): Shard()})
        await store.transact(work)
        assert await store.rows(1, -1, 10) == rows
        assert await store.rows(1, 0, 10) == rows[1:]
        assert await store.rows(1, -1, 1) == rows[:1]
        assert await store.recent(1, 1) == rows[1:]
        assert await store.rows(2, -1, 10) == []
        assert await store.shards([1]) == {account: {work.shard: shard} for account, shard in shards.items()}
        assert await store.shards([3]) == {}
        again = ScriptedWork(asks={(1, ""), (1, ROW.group)})
        await store.transact(again)
        assert again.counts == {account: {work.shard: shards[account]} for account in again.asks}

    @with_store
    async def test_a_transaction_that_raises_writes_nothing(self, store: Store) -> None:
        def fail(shard: int, decisions: Decisions) -> Changes:
            raise ZeroDivisionError

        await store.transact(ask_rows(ROW))
        with pytest.raises(ZeroDivisionError):
            await store.transact(ScriptedWork(tells=[(1, 0)], on_tell=fail))
        assert await store.rows(1, -1, 10) == [ROW]
        await store.transact(settle_rows(replace(ROW, state=TOLD, units=1, seq=1)))
        assert (await store.rows(1, -1, 10))[0].state == TOLD

    @with_store
    async def test_tells_read_their_decisions_and_counts(self, store: Store) -> None:
        other = replace(ROW, id=1, group="")
        await store.transact(ask_rows(ROW, other, shards={(1, ROW.group): Shard(cost=2.0)}))
        work = ScriptedWork(tells=[(1, 0), (1, 1), (1, 99), (2, 0)])
        await store.transact(work)
        assert work.decisions == {(1, 0): ROW, (1, 1): other}
        assert work.counts[(1, ROW.group)][work.shard].cost == 2.0
        told = replace(ROW, state=TOLD, units=333_333_333, cost=0.1 + 0.2, told_at=2e9, seq=1)
        await store.transact(settle_rows(told))
        assert await store.rows(1, -1, 1) == [replace(told, shard=work.shard)]

    @with_store
    async def test_events_come_in_order_and_an_amended_expiry_twice(self, store: Store) -> None:
        rows = [replace(ROW, id=place, group="") for place in range(4)]
        await store.transact(ask_rows(*rows, shards={(1, ""): Shard(events=5)}))
        late = replace(
            rows[0], state=AMENDED, units=10**9, cost=0.5, told_at=2e9, seq=5, expired_seq=1, expired_at=1.9e9
        )
        first = settle_rows(replace(rows[3], state=TOLD, seq=3), replace(rows[1], state=EXPIRED, units=0, seq=2))
        await store.transact(first)
        shard = first.shard
        await store.transact(settle_rows(replace(late, expired_shard=shard), replace(rows[2], state=TOLD, seq=4)))
        events = await store.events(1, {}, 100)
        assert [(row.id, row.seq, row.state) for row in events] == [
            (0, 1, EXPIRED), (1, 2, EXPIRED), (3, 3, TOLD), (2, 4, TOLD), (0, 5, AMENDED),
        ]  # fmt: skip
        expiry = events[0]
        assert (expiry.units, expiry.cost, expiry.told_at, expiry.expired_shard) == (0, None, 1.9e9, None)
        assert [row.seq for row in await store.events(1, {shard: 3}, 100)] == [4, 5]
        assert [row.seq for row in await store.events(1, {}, 2)] == [1, 2]
        assert await store.events(2, {}, 100) == []

    @with_store
    async def test_overdue_decisions_are_pending_and_were_due(self, store: Store) -> None:
        rows = [replace(ROW, id=place, due=due) for place, due in enumerate([5.0, 1.0, None, 3.0])]
        await store.transact(ask_rows(*rows))
        await store.transact(settle_rows(replace(rows[1], state=TOLD, seq=1)))
        assert sorted(await store.overdue(6.0, 10)) == [(1, 0), (1, 3)]
        assert await store.overdue(4.0, 10) == [(1, 3)]
        assert len(await store.overdue(6.0, 1)) == 1
        assert await store.overdue(3.0, 10) == []
        assert await store.overdue(6.0, 10, [1]) == []

    @with_store
    async def test_when_the_clock_goes_back_due_times_follow(self, store: Store) -> None:
        rows = [replace(ROW, id=0, asked_at=1e9, due=1e9 + 60), replace(ROW, id=1, asked_at=100.0, due=160.0)]
        await store.transact(ask_rows(*rows))
        await store.set_clock(lambda: 120.0)
        assert await store.rows(1, -1, 9) == [replace(rows[0], asked_at=120.0, due=180.0), rows[1]]
        assert await store.overdue(170.0, 9) == [(1, 1)]
        assert sorted(await store.overdue(181.0, 9)) == [(1, 0), (1, 1)]

    @with_store
    async def test_one_transaction_settles_many_decisions(self, store: Store) -> None:
        """More than fit into one query of SQLite."""
        rows = [replace(ROW, id=place) for place in range(1501)]
        await store.transact(ask_rows(*rows))
        work = settle_rows(*(replace(row, state=TOLD, seq=row.id + 1) for row in rows))
        await store.transact(work)
        assert len(work.decisions) == 1501
        assert all(row.state == TOLD for row in await store.rows(1, -1, 2000))

    # --- replies, snapshots, access keys

    @with_store
    async def test_replies_are_held_until_they_are_pruned(self, store: Store) -> None:
        old, new = Reply(1, "k", "d", "[1]", 10.0), Reply(1, "k ~!", "d2", "[2]", 20.0)
        await store.transact(ask_rows(ROW, replies=[old, new]))
        work = ScriptedWork(asks={(1, "")}, keys={(1, "k"), (1, "k ~!"), (1, "x"), (2, "k")})
        await store.transact(work)
        assert work.replies == {(1, "k"): old, (1, "k ~!"): new}
        await store.prune(15.0)
        await store.transact(work)
        assert work.replies == {(1, "k ~!"): new}

    @with_store
    async def test_a_snapshot_of_fewer_events_replaces_none(self, store: Store) -> None:
        assert await store.snapshot(1) is None
        for events, text in ((5, "five"), (3, "three"), (5, "again"), (8, "eight")):
            await store.save(1, events, text)
            assert await store.snapshot(1) == {"three": "five"}.get(text, text)

    @with_store
    async def test_access_keys(self, store: Store) -> None:
        key = Key("0a1b2c3d", "the gateway", "ff" * 32, ("read", "use"), 1.0, None, 9.5)
        await store.add_key(key)
        assert await store.keys() == [key]
        assert await store.revoke_key(key.id, 5.0)
        assert not await store.revoke_key(key.id, 6.0)
        assert not await store.revoke_key("none", 6.0)
        assert await store.keys() == [replace(key, revoked=5.0)]

    # --- closing

    def test_everything_is_there_after_a_restart(self, tmp_path: Path) -> None:
        async def write(store: Store) -> None:
            await store.add("a", "{}", 1.0, 9)
            await store.transact(ask_rows(ROW, shards={(1, ""): Shard(cost=1.0)}))
            await store.save(1, 1, "snapshot")

        async def read(store: Store) -> None:
            assert [row.name for row in await store.selectors("", 9, archived=False)] == ["a"]
            assert await store.rows(1, -1, 9) == [ROW]
            assert [shard.cost for shard in (await store.shards([1]))[(1, "")].values()] == [1.0]
            assert await store.snapshot(1) == "snapshot"

        if self.durable:
            self.run(tmp_path, write)
            self.run(tmp_path, read)

    def test_a_store_that_is_not_open_says_so(self, tmp_path: Path) -> None:
        if self.durable:
            with pytest.raises(StoreDown, match="not open"):
                asyncio.run(self.make_store(tmp_path).ping())
