"""The contract of stores: memory, SQLite and PostgreSQL, each the real thing."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import pytest

from suffice.errors import InvalidArgument
from suffice.promise.account import Account
from suffice.service.errors import Conflict, StoreDown, StoreInUse, StoreTooNew, StoreTooOld, TooMany
from suffice.service.records import AMENDED, EXPIRED, PENDING, TOLD, DecisionRow, Key, Reply, Shard
from suffice.service.stores import open_store
from suffice.service.stores.base import AccountKey, Changes, Shards, Store
from suffice.service.stores.copying import copy
from suffice.service.stores.memory import MemoryStore
from suffice.service.stores.postgres import STARTING
from suffice.service.stores.postgres_connection import SETTINGS
from suffice.service.stores.schema import REFUSED, VERSION
from tests.support.jobs import ODD, Job, asked, settled
from tests.support.postgres import Postgres, running

Got = TypeVar("Got")


def run(url: str, do: Callable[[Store], Coroutine[Any, Any, Got]]) -> Got:
    """Open a store, do something, close it."""

    async def whole() -> Got:
        store = open_store(url)
        await store.open()
        try:
            return await do(store)
        finally:
            await store.close()

    return asyncio.run(whole())


class TestContract:
    """What every store does."""

    def test_a_selector_is_added_once(self, store_url: str) -> None:
        async def do(store: Store) -> None:
            assert await store.selector("b") is None
            first, made = await store.add("b", "{}", 1.0, 3)
            assert made
            again, made = await store.add("b", "{other}", 2.0, 3)
            assert not made
            assert again == first == await store.selector("b")
            assert again.plan == "{}"
            await store.add("a-1", "{}", 1.0, 3)
            await store.add("a.0", "{}", 1.0, 3)
            with pytest.raises(TooMany, match="at most 3"):
                await store.add("z", "{}", 1.0, 3)
            assert (await store.add("a.0", "{}", 1.0, 3))[1] is False

        run(store_url, do)

    def test_selectors_come_by_name_in_pages(self, store_url: str) -> None:
        async def do(store: Store) -> None:
            names = ["a", "a-b", "a.b", "a_b", "ab", "b0", "0"]
            for name in names:
                await store.add(name, "{}", 1.0, 100)
            await store.archive("ab", 5.0)
            got: list[str] = []
            while page := await store.selectors(got[-1] if got else "", 2, archived=False):
                got += [one.name for one in page]
            assert got == sorted(set(names) - {"ab"})
            assert [one.name for one in await store.selectors("", 100, archived=True)] == sorted(names)

        run(store_url, do)

    def test_selectors_are_found_by_a_part_of_their_name(self, store_url: str) -> None:
        async def do(store: Store) -> None:
            for name in ("search", "re-search", "re.search", "re_search", "sea", "arch"):
                await store.add(name, "{}", 1.0, 100)
            await store.archive("re.search", 5.0)

            async def found(text: str, after: str = "", limit: int = 9, archived: bool = False) -> list[str]:
                page = await store.selectors(after, limit, archived=archived, contains=text)
                return [one.name for one in page]

            assert await found("search") == ["re-search", "re_search", "search"]
            assert await found("search", archived=True) == ["re-search", "re.search", "re_search", "search"]
            assert await found("search", after="re-search", limit=1) == ["re_search"]
            assert await found("") == ["arch", "re-search", "re_search", "sea", "search"]
            assert await found("_") == ["re_search"]  # not any character, as in LIKE
            for nowhere in ("%", "s%h", "s*h", "re.s", "\\", "[s]", "searchs", "' OR '"):
                assert await found(nowhere) == []

        run(store_url, do)

    def test_archived_and_brought_back(self, store_url: str) -> None:
        async def do(store: Store) -> None:
            kept, _ = await store.add("a", "{}", 1.0, 9)
            assert await store.archive("a", 7.0) == replace(kept, archived=7.0)
            assert await store.archive("a", None) == kept
            assert await store.archive("none", 7.0) is None

        run(store_url, do)

    def test_what_is_asked_is_found_again_to_the_last_bit(self, store_url: str) -> None:
        async def do(store: Store) -> None:
            rows = [ODD, replace(ODD, id=1, group="", due=None, record=None, price=1e-300)]
            counts = Account(outcomes=10**12, successes=10**15 + 1, forgiven=10**8, most_outstanding=7)
            shards = {(1, ""): Shard(counts, 13, 0.1 + 0.2, 9), (1, ODD.group): Shard()}
            job = asked(*rows, shards=shards)
            await store.transact(job)
            assert await store.rows(1, -1, 10) == rows
            assert await store.rows(1, 0, 10) == rows[1:]
            assert await store.rows(1, -1, 1) == rows[:1]
            assert await store.recent(1, 1) == rows[1:]
            assert await store.rows(2, -1, 10) == []
            assert await store.shards([1]) == {one: {job.shard: shard} for one, shard in shards.items()}
            assert await store.shards([1], groups=False) == {(1, ""): {job.shard: shards[(1, "")]}}
            again = asked(ODD)
            again.on_ask = None
            await store.transact(again)
            assert again.found == await store.shards([1])

        run(store_url, do)

    def test_what_raises_leaves_nothing(self, store_url: str) -> None:
        def fail(shard: int, rows: Mapping[tuple[int, int], DecisionRow]) -> Changes:
            raise ZeroDivisionError

        async def do(store: Store) -> None:
            await store.transact(asked(ODD))
            job = settled(replace(ODD, state=TOLD, units=1))
            job.on_tell = fail
            with pytest.raises(ZeroDivisionError):
                await store.transact(job)
            assert await store.rows(1, -1, 10) == [ODD]
            await store.transact(settled(replace(ODD, state=TOLD, units=1, seq=1)))
            assert (await store.rows(1, -1, 10))[0].state == TOLD

        run(store_url, do)

    def test_tells_see_their_rows(self, store_url: str) -> None:
        async def do(store: Store) -> None:
            await store.transact(asked(ODD, replace(ODD, id=1, group=""), shards={(1, ODD.group): Shard(cost=2.0)}))
            job = Job(tells=[(1, 0), (1, 1), (1, 99), (2, 0)])
            await store.transact(job)
            assert job.rows == {(1, 0): ODD, (1, 1): replace(ODD, id=1, group="")}
            assert job.found[(1, ODD.group)][job.shard].cost == 2.0
            new = replace(ODD, state=TOLD, units=333_333_333, cost=0.1 + 0.2, told_at=2e9, seq=1)
            await store.transact(settled(new))
            assert await store.rows(1, -1, 1) == [replace(new, shard=job.shard)]

        run(store_url, do)

    def test_events_come_in_order_and_an_amended_expiry_twice(self, store_url: str) -> None:
        async def do(store: Store) -> None:
            rows = [replace(ODD, id=place, group="") for place in range(4)]
            shards = {(1, ""): Shard(events=5)}
            await store.transact(asked(*rows, shards=shards))
            late = replace(
                rows[0], state=AMENDED, units=10**9, cost=0.5, told_at=2e9, seq=5, expired_seq=1, expired_at=1.9e9
            )
            first = settled(replace(rows[3], state=TOLD, seq=3), replace(rows[1], state=EXPIRED, units=0, seq=2))
            await store.transact(first)
            by = first.shard
            await store.transact(settled(replace(late, expired_shard=by), replace(rows[2], state=TOLD, seq=4)))
            events = await store.events(1, {}, 100)
            assert [(row.id, row.seq, row.state) for row in events] == [
                (0, 1, EXPIRED), (1, 2, EXPIRED), (3, 3, TOLD), (2, 4, TOLD), (0, 5, AMENDED),
            ]  # fmt: skip
            assert (events[0].units, events[0].cost, events[0].told_at, events[0].expired_shard) == (
                0,
                None,
                1.9e9,
                None,
            )
            assert [row.seq for row in await store.events(1, {by: 3}, 100)] == [4, 5]
            assert [row.seq for row in await store.events(1, {}, 2)] == [1, 2]
            assert await store.events(2, {}, 100) == []

        run(store_url, do)

    def test_what_is_overdue_is_pending_and_was_due(self, store_url: str) -> None:
        async def do(store: Store) -> None:
            rows = [replace(ODD, id=place, due=due) for place, due in enumerate([5.0, 1.0, None, 3.0])]
            await store.transact(asked(*rows))
            await store.transact(settled(replace(rows[1], state=TOLD, seq=1)))
            assert sorted(await store.overdue(6.0, 10)) == [(1, 0), (1, 3)]
            assert await store.overdue(4.0, 10) == [(1, 3)]
            assert len(await store.overdue(6.0, 1)) == 1
            assert await store.overdue(3.0, 10) == []

        run(store_url, do)

    def test_answers_are_kept_until_they_are_pruned(self, store_url: str) -> None:
        async def do(store: Store) -> None:
            old, new = Reply(1, "k", "d", "[1]", 10.0), Reply(1, "k ~!", "d2", "[2]", 20.0)
            await store.transact(asked(ODD, replies=[old, new]))
            job = asked(ODD)
            job.on_ask, job.keys = None, {(1, "k"), (1, "k ~!"), (1, "x"), (2, "k")}
            await store.transact(job)
            assert job.replies == {(1, "k"): old, (1, "k ~!"): new}
            await store.prune(15.0)
            await store.transact(job)
            assert job.replies == {(1, "k ~!"): new}

        run(store_url, do)

    def test_a_snapshot_that_learned_less_replaces_none(self, store_url: str) -> None:
        async def do(store: Store) -> None:
            assert await store.snapshot(1) is None
            for events, text in ((5, "five"), (3, "three"), (5, "again"), (8, "eight")):
                await store.save(1, events, text)
                assert await store.snapshot(1) == {"three": "five"}.get(text, text)

        run(store_url, do)

    def test_keys(self, store_url: str) -> None:
        async def do(store: Store) -> None:
            key = Key("0a1b2c3d", "the gateway", "ff" * 32, ("read", "use"), 1.0, None, 9.5)
            await store.add_key(key)
            assert await store.keys() == [key]
            assert await store.revoke_key(key.id, 5.0)
            assert not await store.revoke_key(key.id, 6.0)
            assert not await store.revoke_key("none", 6.0)
            assert await store.keys() == [replace(key, revoked=5.0)]

        run(store_url, do)

    def test_many_at_once(self, store_url: str) -> None:
        """More than fit into one query."""

        async def do(store: Store) -> None:
            rows = [replace(ODD, id=place) for place in range(1501)]
            await store.transact(asked(*rows))
            job = settled(*(replace(row, state=TOLD, seq=row.id + 1) for row in rows))
            await store.transact(job)
            assert len(job.rows) == 1501
            assert all(row.state == TOLD for row in await store.rows(1, -1, 2000))

        run(store_url, do)

    def test_all_is_there_after_a_restart(self, store_url: str) -> None:
        if store_url == "memory:":
            pytest.skip("a store in memory is gone with the process")

        async def first(store: Store) -> None:
            await store.add("a", "{}", 1.0, 9)
            await store.transact(asked(ODD, shards={(1, ""): Shard(cost=1.0)}))
            await store.save(1, 1, "snapshot")

        async def second(store: Store) -> None:
            assert [one.name for one in await store.selectors("", 9, archived=False)] == ["a"]
            assert await store.rows(1, -1, 9) == [ODD]
            assert [one.cost for one in (await store.shards([1]))[(1, "")].values()] == [1.0]
            assert await store.snapshot(1) == "snapshot"

        run(store_url, first)
        run(store_url, second)

    def test_one_that_is_closed_says_so(self, store_url: str) -> None:
        if store_url == "memory:":
            pytest.skip("a store in memory has nothing to close")
        with pytest.raises(StoreDown, match="not open"):
            asyncio.run(open_store(store_url).ping())

    def test_groups_are_those_that_were_asked_for(self, store_url: str) -> None:
        async def do(store: Store) -> None:
            await store.transact(
                asked(ODD, shards={(1, ""): Shard(), (1, "a"): Shard(), (1, "b"): Shard(), (2, "c"): Shard()})
            )
            assert await store.groups(1) == {"a", "b"}
            assert await store.groups(3) == set()

        run(store_url, do)

    def test_a_clock_that_went_back_takes_with_it_what_waits(self, store_url: str) -> None:
        async def do(store: Store) -> None:
            rows = [replace(ODD, id=0, asked_at=1e9, due=1e9 + 60), replace(ODD, id=1, asked_at=100.0, due=160.0)]
            await store.transact(asked(*rows))
            await store.set_clock(lambda: 120.0)
            assert await store.rows(1, -1, 9) == [replace(rows[0], asked_at=120.0, due=180.0), rows[1]]
            assert await store.overdue(170.0, 9) == [(1, 1)]
            assert sorted(await store.overdue(181.0, 9)) == [(1, 0), (1, 1)]
            assert await store.overdue(181.0, 9, [1]) == []

        run(store_url, do)


# --- SQLite alone


def test_a_file_has_one_server_by_whatever_name(tmp_path: Path) -> None:
    (tmp_path / "other.db").symlink_to(tmp_path / "a.db")

    async def do(store: Store) -> None:
        with pytest.raises(StoreInUse):
            await open_store(str(tmp_path / "other.db")).open()

    run(str(tmp_path / "a.db"), do)


def test_where_no_file_can_be_made_one_sentence_says_so() -> None:
    with pytest.raises(StoreDown, match="cannot be"):
        run("/proc/a.db", lambda store: store.ping())


def test_a_second_process_on_a_file_is_refused(tmp_path: Path) -> None:
    url = str(tmp_path / "a.db")

    async def do(store: Store) -> None:
        with pytest.raises(StoreInUse, match=r"in use by another server \(process \d+\).*PostgreSQL"):
            await open_store(url).open()
        beside = open_store(url)
        await beside.open(keys_only=True)  # keys may be managed while a server runs
        await beside.add_key(Key("a", "n", "h", ("use",), 1.0))
        await beside.close()
        assert [key.id for key in await store.keys()] == ["a"]

    run(url, do)
    run(url, lambda store: store.ping())  # it was let go of


def test_a_commit_is_forced_to_disk(tmp_path: Path) -> None:
    async def do(store: Any) -> None:
        for connection in (store._write, store._read):
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL

    run(str(tmp_path / "a.db"), do)


def test_a_file_of_a_later_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    run(str(path), lambda store: store.ping())
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    db.close()
    with pytest.raises(StoreTooNew, match=r"written by a later suffice.*upgrade suffice"):
        run(str(path), lambda store: store.ping())


def test_a_file_whose_counts_had_another_shape_is_refused(tmp_path: Path) -> None:
    path, copied = tmp_path / "a.db", tmp_path / "copy.db"
    run(str(path), lambda store: store.ping())
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {REFUSED}")
    db.close()
    with pytest.raises(StoreTooOld, match=r"written by an earlier suffice.*start with a new store"):
        run(str(path), lambda store: store.ping())
    with pytest.raises(StoreTooOld, match="written by an earlier suffice"):
        asyncio.run(copy(str(path), str(copied)))
    assert not copied.exists()


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_text("not a database at all, but long enough to be looked at" * 100)
    with pytest.raises(StoreDown, match="not a database"):
        run(str(path), lambda store: store.ping())
    with pytest.raises(StoreDown, match="there is no folder"):
        run(str(tmp_path / "none" / "a.db"), lambda store: store.ping())


def test_a_file_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    run(str(path), lambda store: store.ping())
    assert path.stat().st_mode & 0o077 == 0


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    async def do(store: Any) -> None:
        await store.transact(asked(ODD))
        pages = store._write.execute("PRAGMA page_count").fetchone()[0]
        store._write.execute(f"PRAGMA max_page_count = {pages + 1}")
        many = [replace(ODD, id=place, record="x" * 2000) for place in range(1, 100)]
        with pytest.raises(StoreDown, match=r"nothing was changed.*full"):
            await store.transact(asked(*many))
        assert await store.rows(1, -1, 999) == [ODD]
        store._write.execute("PRAGMA max_page_count = 1000000")
        await store.transact(asked(*many))
        assert len(await store.rows(1, -1, 999)) == 100

    run(str(tmp_path / "a.db"), do)


# --- memory alone


def test_memory_has_an_end() -> None:
    async def do() -> None:
        store = MemoryStore(remembered=10)
        for place in range(50):
            row = replace(ODD, id=place)
            await store.transact(asked(row, replies=[Reply(1, str(place), "d", "[]", 1.0)]))
            await store.transact(settled(replace(row, state=TOLD, seq=place + 1)))
        await store.transact(asked(replace(ODD, id=50)))
        assert [row.id for row in await store.rows(1, -1, 99)] == [*range(40, 51)]
        assert len(store._replies) == 10
        assert len(store._due) == 1  # what is pending is never forgotten

    asyncio.run(do())


# --- PostgreSQL alone


async def _opened(url: str, count: int) -> list[Any]:
    stores = [open_store(url) for _ in range(count)]
    await asyncio.gather(*(store.open() for store in stores))
    return stores


async def _closed(stores: list[Any]) -> None:
    await asyncio.gather(*(store.close() for store in stores))


def test_servers_that_start_at_once_share_a_database(postgres: Postgres) -> None:
    async def do() -> None:
        stores = await _opened(postgres.database(), 6)
        assert sorted(store._shard for store in stores) == [*range(6)]
        free = stores[2]._shard
        await stores[2].close()
        (late,) = await _opened(stores[0].url, 1)
        await _closed([late, *stores])
        assert late._shard == free  # what was let go of is taken up

    asyncio.run(do())


def test_a_database_of_a_later_version_is_refused(postgres: Postgres) -> None:
    url = postgres.database()
    run(url, lambda store: store.ping())
    postgres.say(url, f"UPDATE suffice.schema_version SET version = {VERSION + 1};")
    with pytest.raises(StoreTooNew, match="upgrade suffice"):
        run(url, lambda store: store.ping())


def test_a_database_whose_counts_had_another_shape_is_refused(postgres: Postgres) -> None:
    url = postgres.database()
    run(url, lambda store: store.ping())
    postgres.say(url, f"UPDATE suffice.schema_version SET version = {REFUSED};")
    with pytest.raises(StoreTooOld, match="start with a new store"):
        run(url, lambda store: store.ping())


def test_asks_of_one_selector_take_turns(postgres: Postgres) -> None:
    """Each ask sees all those before it, in whatever process: a count that is read and written back loses none."""

    def one_more(shard: int, found: Mapping[AccountKey, Shards]) -> Changes:
        shards = found.get((1, ""), {})
        total = sum(one.events for one in shards.values())
        row = replace(ODD, id=total, group="")
        return Changes(asked=[row], shards={(1, ""): Shard(events=shards.get(shard, Shard()).events + 1)})

    async def do() -> None:
        stores = await _opened(postgres.database(), 4)

        async def many(store: Store) -> None:
            for _ in range(25):
                await store.transact(Job(asks={(1, "")}, on_ask=one_more))

        await asyncio.gather(*map(many, stores))
        assert [row.id for row in await stores[0].rows(1, -1, 999)] == [*range(100)]
        await _closed(stores)

    asyncio.run(do())


def test_what_is_asked_is_on_disk_though_nothing_was_told() -> None:
    """Tells of unknown decisions write nothing, so their commit waits for no disk: the asks must not rely on it."""
    with running() as own:
        url = own.database()
        own.say(url, "ALTER SYSTEM SET wal_writer_delay = '10s'")  # nobody else writes the log meanwhile
        own.say(url, "SELECT pg_reload_conf()")

        async def do() -> None:
            (store,) = await _opened(url, 1)
            for place in range(10):
                job = asked(replace(ODD, id=place, group=""), shards={(1, ""): Shard(events=place + 1)})
                job.tells = [(1, 10**6)]
                await store.transact(job)
            own.kill()
            await _closed([store])
            own.start()
            (store,) = await _opened(url, 1)
            assert [row.id for row in await store.rows(1, -1, 99)] == [*range(10)]
            await _closed([store])

        asyncio.run(do())


def test_tells_that_fail_take_no_asks_with_them(postgres: Postgres) -> None:
    def fail(shard: int, rows: Mapping[tuple[int, int], DecisionRow]) -> Changes:
        raise asyncpg.InterfaceError("cut")

    async def do() -> None:
        (store,) = await _opened(postgres.database(), 1)
        job = asked(ODD)
        job.tells, job.on_tell = [(1, 99)], fail
        await store.transact(job)
        assert isinstance(job.spared, StoreDown)
        assert await store.rows(1, -1, 9) == [ODD]
        only = Job(tells=[(1, 0)], on_tell=fail)
        with pytest.raises(StoreDown):
            await store.transact(only)
        assert only.spared is None
        await store.close()

    asyncio.run(do())


def test_asks_are_not_acknowledged_by_a_database_that_never_had_them() -> None:
    """Committed without waiting for the disk, they may be gone when the database dies before it wrote them."""
    with running() as server:

        def die(shard: int, rows: Mapping[tuple[int, int], DecisionRow]) -> Changes:
            server.kill()
            server.start()
            return Changes(settled=[replace(row, state=TOLD, shard=shard, seq=1) for row in rows.values()])

        async def do() -> None:
            (store,) = await _opened(server.database(), 1)
            await store.transact(asked(replace(ODD, group="")))
            job = asked(replace(ODD, id=1, group=""))
            job.tells, job.on_tell = [(1, 0)], die
            with pytest.raises(StoreDown):
                await store.transact(job)
            assert job.spared is None
            assert [row.id for row in await store.rows(1, -1, 9)] in ([0], [0, 1])
            await store.close()

        asyncio.run(do())


def test_selectors_are_added_whatever_became_of_connections(postgres: Postgres) -> None:
    async def do() -> None:
        (store,) = await _opened(postgres.database(), 1)
        await asyncio.gather(*(store.add(f"a{place}", "{}", 1.0, 100) for place in range(4)))
        end = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE application_name = 'suffice' AND datname = current_database()"""
        other = threading.Thread(target=postgres.say, args=(store.url, end))
        other.start()
        other.join()  # no turn of the loop: nobody here knows of it yet
        added = await asyncio.gather(*(store.add(f"b{place}", "{}", 1.0, 100) for place in range(8)))
        assert sorted(kept.number for kept, _ in added) == [*range(5, 13)]
        await store.close()

    asyncio.run(do())


def test_reads_bear_a_connection_that_was_ended(postgres: Postgres) -> None:
    async def do() -> None:
        stores = await _opened(postgres.database(), 2)
        await stores[0].transact(asked(ODD))
        end = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()"""
        for _ in range(20):
            ended = asyncio.ensure_future(stores[1]._change(end))
            looks = [asyncio.ensure_future(stores[0].rows(1, -1, 9)) for _ in range(6)]
            for got in await asyncio.gather(ended, *looks, return_exceptions=True):
                assert isinstance(got, int | list | StoreDown), got
        assert await stores[0].rows(1, -1, 9) == [ODD]
        await _closed(stores)

    asyncio.run(do())


def test_whoever_starts_waits_for_a_step_that_takes_long(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    url = postgres.database()
    monkeypatch.setitem(SETTINGS, "lock_timeout", "100ms")
    monkeypatch.setitem(SETTINGS, "statement_timeout", "200ms")

    async def do() -> None:
        other = await asyncpg.connect(url)
        await other.execute("SELECT pg_advisory_lock($1)", STARTING)  # as one that migrates
        starting = asyncio.ensure_future(_opened(url, 1))
        await asyncio.sleep(0.6)
        assert not starting.done()
        await other.close()
        await _closed(await starting)

    asyncio.run(do())


def test_a_role_that_may_not_make_a_schema_starts_where_there_is_one(postgres: Postgres) -> None:
    url = postgres.database()
    run(url, lambda store: store.ping())
    role = f"r{url.split('/')[3].split('?')[0]}"
    grants = f"""CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA suffice TO {role};
        GRANT ALL ON ALL TABLES IN SCHEMA suffice TO {role};"""
    postgres.say(url, grants)
    run(url.replace("//postgres:@", f"//{role}:@"), lambda store: store.ping())


def test_a_decision_is_settled_by_one_process_only(postgres: Postgres) -> None:
    def once(shard: int, rows: Mapping[tuple[int, int], DecisionRow]) -> Changes:
        free = [row for row in rows.values() if row.state == PENDING]
        return Changes(settled=[replace(row, state=TOLD, shard=shard, seq=row.id + 1) for row in free])

    async def do() -> None:
        stores = await _opened(postgres.database(), 4)
        await stores[0].transact(asked(*(replace(ODD, id=place, group="") for place in range(200))))
        won: list[int] = []

        async def many(store: Store) -> None:
            for start in range(0, 200, 20):
                job = Job(tells=[(1, place) for place in range(start, start + 20)], on_tell=once)
                await store.transact(job)
                won.extend(row.id for row in job.rows.values() if row.state == PENDING)

        await asyncio.gather(*map(many, stores))
        assert sorted(won) == [*range(200)]
        await _closed(stores)

    asyncio.run(do())


def test_a_lost_connection_is_made_again(postgres: Postgres) -> None:
    async def do() -> None:
        (store,) = await _opened(postgres.database(), 1)
        await store.transact(asked(ODD))
        await store._line.connection.execute("SET idle_session_timeout = '50ms'")
        await asyncio.sleep(0.3)
        new = replace(ODD, id=1)
        for _ in range(2):  # at worst the first finds out
            try:
                await store.transact(asked(new))
                break
            except StoreDown:
                pass
        assert await store.rows(1, -1, 9) == [ODD, new]
        await store.close()

    asyncio.run(do())


def test_what_is_acknowledged_is_on_disk_whatever_the_database_says(postgres: Postgres) -> None:
    url = postgres.database()
    postgres.say(url, f"ALTER DATABASE {url.split('/')[3].split('?')[0]} SET synchronous_commit = off;")

    async def do(store: Any) -> None:
        assert await store._line.connection.fetchval("SHOW synchronous_commit") == "on"
        for _ in range(2):  # the pool resets what was set later
            assert await store._fetch(str, "SHOW synchronous_commit") == ["on"]

    run(url, do)


def test_a_database_that_is_not_there_is_one_sentence() -> None:
    for password in ("hidden", "hid#den", "hid/den"):
        with pytest.raises(StoreDown, match="could not be used") as caught:
            run(f"postgresql://someone:{password}@127.0.0.1:1/none", lambda store: store.ping())
        assert "hid" not in str(caught.value)


# --- addresses and copies


def test_addresses() -> None:
    for wrong in ("mysql://u:secret@h/d", "skip", "", "sqlite:/x"):
        with pytest.raises(InvalidArgument, match="store must be") as caught:
            open_store(wrong)
        assert "secret" not in str(caught.value)


def test_a_store_is_copied_into_an_empty_one(tmp_path: Path, postgres: Postgres) -> None:
    first, second, third = str(tmp_path / "a.db"), postgres.database(), str(tmp_path / "b.db")

    async def fill(store: Store) -> None:
        await store.add("a", "{}", 1.0, 9)
        await store.add_key(Key("0a", "n", "h", ("use",), 1.0))
        rows = [replace(ODD, id=place) for place in range(5003)]
        await store.transact(asked(*rows, shards={(1, ""): Shard(cost=1.0)}, replies=[Reply(1, "k", "d", "[]", 1.0)]))
        await store.save(1, 1, "snapshot")

    async def look(store: Store) -> Any:
        rows = await store.rows(1, -1, 9999)
        return await store.selectors("", 9, archived=True), rows, await store.shards([1]), await store.keys()

    run(first, fill)
    seen: list[tuple[str, int, int]] = []
    copied = asyncio.run(copy(first, second, lambda *step: seen.append(step)))
    assert copied["decisions"] == 5003
    assert ("decisions", 5003, 5003) in seen
    assert asyncio.run(copy(second, third)) == copied
    assert run(first, look) == run(second, look) == run(third, look)
    with pytest.raises(Conflict, match="copy into an empty store"):
        asyncio.run(copy(first, second))
    db = sqlite3.connect(third)
    db.execute("PRAGMA user_version = 0")
    db.close()
    with pytest.raises(Conflict, match="older suffice"):
        asyncio.run(copy(third, str(tmp_path / "c.db")))
    with pytest.raises(Conflict, match="nothing of suffice"):
        asyncio.run(copy(postgres.database(), str(tmp_path / "c.db")))
    with pytest.raises(InvalidArgument, match="no file"):
        asyncio.run(copy(str(tmp_path / "none.db"), third))
    with pytest.raises(InvalidArgument, match="memory"):
        asyncio.run(copy("memory:", third))
