"""The PostgreSQL store: several processes, connections that are cut, a database that is killed."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from suffice.service.errors import StoreDown, WrongStoreVersion
from suffice.service.records import PENDING, TOLD, Shard
from suffice.service.stores import open_store
from suffice.service.stores.base import Changes, Counts, Decisions
from suffice.testing.stores import ROW, ScriptedWork, ask_rows
from tests.support.postgres import Postgres, running
from tests.support.service import open_and_close, with_store


async def _opened(url: str, count: int = 1) -> list[Any]:
    stores = [open_store(url) for _ in range(count)]
    await asyncio.gather(*(store.open() for store in stores))
    return stores


async def _closed(stores: list[Any]) -> None:
    await asyncio.gather(*(store.close() for store in stores))


def on_stores(
    count: int,
) -> Callable[[Callable[[list[Any], Postgres], Coroutine[Any, Any, None]]], Callable[[Postgres], None]]:
    """A test with several stores on a new database, as several servers have."""

    def decorate(check: Callable[[list[Any], Postgres], Coroutine[Any, Any, None]]) -> Callable[[Postgres], None]:
        async def run(postgres: Postgres) -> None:
            stores = await _opened(postgres.database(), count)
            await check(stores, postgres)
            await _closed(stores)

        def test(postgres: Postgres) -> None:
            asyncio.run(run(postgres))

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return decorate


@pytest.fixture(scope="module")
def killable() -> Iterator[Postgres]:
    """A server of its own, which tests kill."""
    with running() as server:
        yield server


@on_stores(8)
async def test_servers_that_start_at_once_share_an_empty_database(stores: list[Any], postgres: Postgres) -> None:
    added = await asyncio.gather(*(store.add("plain", "{}", 1.0, 10) for store in stores))
    assert sorted(is_new for _, is_new in added) == [False] * 7 + [True]
    assert {row.number for row, _ in added} == {1}
    assert sorted(store._shard for store in stores) == [*range(8)]
    free = stores[2]._shard
    await stores[2].close()
    (late,) = await _opened(stores[0].url)
    await _closed([late, *stores])
    assert late._shard == free


def test_a_database_of_another_version_is_refused_and_left_as_it_is(postgres: Postgres) -> None:
    url = postgres.database()
    open_and_close(url)
    postgres.say(url, "UPDATE suffice.schema_version SET version = 99;")
    for _ in range(2):
        with pytest.raises(WrongStoreVersion, match=r"the database was written by another version .* version 99"):
            open_and_close(url)


@on_stores(4)
async def test_asks_of_one_selector_take_turns(stores: list[Any], postgres: Postgres) -> None:
    """Each ask reads all asks before it, of all processes: a count that is read and written back loses none."""

    def one_more(shard: int, counts: Counts) -> Changes:
        shards = counts.get((1, ""), {})
        total = sum(each.events for each in shards.values())
        row = replace(ROW, id=total, group="")
        return Changes(asked=[row], shards={(1, ""): Shard(events=shards.get(shard, Shard()).events + 1)})

    async def many(store: Any) -> None:
        for _ in range(25):
            await store.transact(ScriptedWork(asks={(1, "")}, on_ask=one_more))

    await asyncio.gather(*map(many, stores))
    assert [row.id for row in await stores[0].rows(1, -1, 999)] == [*range(100)]


@pytest.mark.postgres
def test_asks_are_on_disk_though_no_tell_was_written(killable: Postgres) -> None:
    """Tells of unknown decisions write nothing, so their commit does not wait for the disk."""
    url = killable.database()
    killable.say(url, "ALTER SYSTEM SET wal_writer_delay = '10s'")  # the server does not flush its log meanwhile
    killable.say(url, "SELECT pg_reload_conf()")

    async def check() -> None:
        (store,) = await _opened(url)
        for place in range(10):
            work = ask_rows(replace(ROW, id=place, group=""), shards={(1, ""): Shard(events=place + 1)})
            work.tells = [(1, 10**6)]
            await store.transact(work)
        killable.kill()
        await _closed([store])
        killable.start()
        (store,) = await _opened(url)
        assert [row.id for row in await store.rows(1, -1, 99)] == [*range(10)]
        await _closed([store])

    asyncio.run(check())


@on_stores(1)
async def test_tells_that_fail_do_not_fail_the_asks(stores: list[Any], postgres: Postgres) -> None:
    def fail(shard: int, decisions: Decisions) -> Changes:
        raise asyncpg.InterfaceError("cut")

    (store,) = stores
    work = ask_rows(ROW)
    work.tells, work.on_tell = [(1, 99)], fail
    await store.transact(work)
    assert isinstance(work.failure, StoreDown)
    assert await store.rows(1, -1, 9) == [ROW]
    only = ScriptedWork(tells=[(1, 0)], on_tell=fail)
    with pytest.raises(StoreDown):
        await store.transact(only)
    assert only.failure is None


@pytest.mark.postgres
def test_asks_that_a_restarted_database_lost_are_not_acknowledged(killable: Postgres) -> None:
    """They are committed without waiting for the disk, so they may be lost when the database is killed."""

    def die(shard: int, decisions: Decisions) -> Changes:
        killable.kill()
        killable.start()
        return Changes(settled=[replace(row, state=TOLD, shard=shard, seq=1) for row in decisions.values()])

    async def check() -> None:
        (store,) = await _opened(killable.database())
        await store.transact(ask_rows(replace(ROW, group="")))
        work = ask_rows(replace(ROW, id=1, group=""))
        work.tells, work.on_tell = [(1, 0)], die
        with pytest.raises(StoreDown):
            await store.transact(work)
        assert work.failure is None
        assert [row.id for row in await store.rows(1, -1, 9)] in ([0], [0, 1])
        await _closed([store])

    asyncio.run(check())


def test_a_role_without_create_starts_on_an_existing_schema(postgres: Postgres) -> None:
    url = postgres.database()
    open_and_close(url)
    role = f"r{url.split('/')[3].split('?')[0]}"
    grants = f"""CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA suffice TO {role};
        GRANT ALL ON ALL TABLES IN SCHEMA suffice TO {role};"""
    postgres.say(url, grants)
    with_store(url.replace("//postgres:@", f"//{role}:@"), lambda store: store.ping())


@on_stores(4)
async def test_a_decision_is_settled_by_one_process_only(stores: list[Any], postgres: Postgres) -> None:
    def once(shard: int, decisions: Decisions) -> Changes:
        free = [row for row in decisions.values() if row.state == PENDING]
        return Changes(settled=[replace(row, state=TOLD, shard=shard, seq=row.id + 1) for row in free])

    await stores[0].transact(ask_rows(*(replace(ROW, id=place, group="") for place in range(200))))
    won: list[int] = []

    async def many(store: Any) -> None:
        for start in range(0, 200, 20):
            work = ScriptedWork(tells=[(1, place) for place in range(start, start + 20)], on_tell=once)
            await store.transact(work)
            won.extend(row.id for row in work.decisions.values() if row.state == PENDING)

    await asyncio.gather(*map(many, stores))
    assert sorted(won) == [*range(200)]


def test_commits_wait_for_the_disk_where_the_database_default_is_not_to(postgres: Postgres) -> None:
    url = postgres.database()
    postgres.say(url, f"ALTER DATABASE {url.split('/')[3].split('?')[0]} SET synchronous_commit = off;")

    async def do(store: Any) -> None:
        assert await store._writer.connection.fetchval("SHOW synchronous_commit") == "on"
        for _ in range(2):  # the pool resets settings between uses
            assert await store._fetch(str, "SHOW synchronous_commit") == ["on"]

    with_store(url, do)


def test_an_unreachable_database_is_one_sentence_without_the_password() -> None:
    for password in ("hidden", "hid#den", "hid/den"):
        with pytest.raises(StoreDown, match="could not be used") as caught:
            with_store(f"postgresql://someone:{password}@127.0.0.1:1/none", lambda store: store.ping())
        assert "hid" not in str(caught.value)
