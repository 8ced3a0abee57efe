"""Many clients on many servers: exact counts, no deadlock, the promise held; servers that start at once, or must not."""

import asyncio
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from suffice.service.errors import StoreInUse, StoreTooNew, StoreTooOld
from suffice.service.stores import open_store
from suffice.service.stores.schema import REFUSED, VERSION
from tests.support.journal import PLANS
from tests.support.load import NEVER, Storm, fetch, verify
from tests.support.postgres import Postgres
from tests.support.servers import PATIENCE, Server, Wire, all_ready, servers


@pytest.mark.parametrize(("decisions", "largest"), [(6_000, 30), pytest.param(200_000, 100, marks=pytest.mark.long)])
def test_four_servers_and_64_clients(postgres: Postgres, tmp_path: Path, decisions: int, largest: int) -> None:
    url = postgres.database()

    async def run(some: list[Server]) -> None:
        storm = Storm([server.port for server in some], seed=decisions, clients=64, largest=largest)
        await all_ready(some)
        await storm.prepare()
        await storm.run(decisions)
        verdicts = await verify(url, storm, some)
        journal = storm.journal
        print(f"seed {decisions}: {journal}", *verdicts, sep="\n  ")
        given, told = len(journal.given), sum(verdict.outcomes - verdict.expired for verdict in verdicts)
        assert decisions <= given == sum(verdict.decisions for verdict in verdicts)
        assert told == len(journal.heard) == given - len(storm.never)
        assert 0.2 * NEVER < len(storm.never) / given < 5 * NEVER
        assert journal.statuses["tell", 409] > 0
        assert {status for _, status in journal.statuses} <= {200, 409}
        for server in some:  # each on its own says the same of the whole
            wire = Wire(server.port)
            for name in PLANS:
                told_of = sum(verdict.outcomes for verdict in verdicts if verdict.name == name)
                certificate = (await wire.call("GET", f"/v1/selectors/{name}/certificate")).body
                assert certificate["holds"]
                assert certificate["consistent"]
                assert certificate["outcomes"] >= told_of  # what was never told may have expired since
                assert certificate["breaches"] == 0
            wire.close()
        assert [server.stop() for server in some] == [0] * len(some)
        await verify(url, storm, some)
        await asyncio.sleep(1.0)  # its statistics come a little later
        deadlocks = await fetch(url, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        assert deadlocks[0][0] == 0

    with servers(url, tmp_path, 4) as some:
        asyncio.run(run(some))


# --- beginning


@pytest.mark.parametrize("count", [2, pytest.param(8, marks=pytest.mark.long)])
def test_servers_that_start_at_once_on_an_empty_database(postgres: Postgres, tmp_path: Path, count: int) -> None:
    url = postgres.database()

    async def run(some: list[Server]) -> None:
        await all_ready(some)
        wires = [Wire(server.port) for server in some]
        made = await asyncio.gather(*(wire.call("PUT", "/v1/selectors/plain", PLANS["plain"]) for wire in wires))
        assert sorted(answer.status for answer in made) == [200] * (count - 1) + [201]
        ids = [(await wire.call("POST", "/v1/selectors/plain/ask")).body["decision"] for wire in wires]
        assert ids == list(range(count))
        for wire in wires:
            wire.close()
        assert [dict(row) for row in await fetch(url, "SELECT version FROM suffice.schema_version")] == [
            {"version": VERSION}
        ]

    with servers(url, tmp_path, count) as some:
        asyncio.run(run(some))


def test_eight_stores_that_migrate_at_once(postgres: Postgres) -> None:
    url = postgres.database()

    async def run() -> None:
        stores = [open_store(url) for _ in range(8)]
        await asyncio.gather(*(store.open() for store in stores))
        made = await asyncio.gather(*(store.add("plain", "{}", 1.0, 10) for store in stores))
        assert sorted(new for _, new in made) == [False] * 7 + [True]
        assert {kept.number for kept, _ in made} == {1}
        await asyncio.gather(*(store.close() for store in stores))

    asyncio.run(run())


def served(store: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """A server that is expected not to start."""
    return subprocess.run(
        [sys.executable, "-m", "suffice", "serve", "--store", store, "--port", "0"],
        cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


def test_a_newer_database_is_refused(postgres: Postgres, tmp_path: Path) -> None:
    url = postgres.database()

    async def run() -> None:
        store = open_store(url)
        await store.open()
        await store.close()
        await fetch(url, "UPDATE suffice.schema_version SET version = 99")
        with pytest.raises(StoreTooNew, match=r"the database was written by a later suffice \(schema 99"):
            await open_store(url).open()
        assert (await fetch(url, "SELECT version FROM suffice.schema_version"))[0][0] == 99

    asyncio.run(run())
    refused = served(url, tmp_path)
    assert refused.returncode not in (0, 124)
    assert "upgrade suffice" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_newer_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "suffice.db"

    async def run() -> None:
        store = open_store(f"sqlite:///{path}")
        await store.open()
        await store.close()
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA user_version = 99")
        with pytest.raises(StoreTooNew, match="was written by a later suffice"):
            await open_store(f"sqlite:///{path}").open()

    asyncio.run(run())
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (99,)


def test_a_file_of_an_earlier_version_is_refused_in_a_sentence_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "suffice.db"

    async def run() -> None:
        store = open_store(f"sqlite:///{path}")
        await store.open()
        await store.close()
        with closing(sqlite3.connect(path)) as db:
            db.execute(f"PRAGMA user_version = {REFUSED}")
        with pytest.raises(StoreTooOld, match="was written by an earlier suffice"):
            await open_store(f"sqlite:///{path}").open()

    asyncio.run(run())
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (REFUSED,)
    refused = served(f"sqlite:///{path}", tmp_path)
    assert refused.returncode not in (0, 124)
    assert "start with a new store" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_second_server_on_a_file_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'suffice.db'}"

    async def run(some: list[Server]) -> None:
        await all_ready(some)
        refused = await asyncio.to_thread(served, url, tmp_path)
        assert refused.returncode not in (0, 124)
        assert f"is in use by another server (process {some[0].process and some[0].process.pid})" in refused.stderr
        assert "Traceback" not in refused.stderr
        with pytest.raises(StoreInUse):
            await open_store(url).open()
        wire = Wire(some[0].port)  # the first one does not mind
        assert (await wire.call("PUT", "/v1/selectors/plain", PLANS["plain"])).status == 201
        wire.close()

    with servers(url, tmp_path) as some:
        asyncio.run(run(some))
