"""Many clients on many servers: exact counts, no deadlock, and the promise holds; and servers that start at once."""

import asyncio
from pathlib import Path

import pytest

from tests.support.journal import PLANS
from tests.support.load import NEVER, Storm, broken, fetch, verify
from tests.support.postgres import Postgres
from tests.support.servers import Server, Wire, all_ready, servers


@pytest.mark.parametrize(("decisions", "largest"), [(3_000, 30), pytest.param(200_000, 100, marks=pytest.mark.long)])
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
        given, told = len(journal.issued), sum(verdict.told for verdict in verdicts)
        assert decisions <= given == sum(verdict.decisions for verdict in verdicts)
        acknowledged = {place for place, times in journal.counted.items() if times}
        assert told == len(acknowledged)
        skipped = sum(verdict.skipped for verdict in verdicts)
        assert len(journal.acknowledged) == given - len(storm.never) == told + skipped
        assert 0.2 * NEVER < len(storm.never) / given < 5 * NEVER
        assert journal.statuses["tell", 409] > 0
        assert {status for _, status in journal.statuses} <= {200, 409}
        for server in some:
            wire = Wire(server.port)
            for name in PLANS:
                told_of = sum(verdict.outcomes for verdict in verdicts if verdict.name == name)
                certificate = (await wire.call("GET", f"/v1/selectors/{name}/certificate")).body
                assert broken(certificate) is None, certificate["text"]
                assert certificate["outcomes"] >= told_of  # decisions that were never told may have expired since
            wire.close()
        assert [server.stop() for server in some] == [0] * len(some)
        await verify(url, storm, some)
        await asyncio.sleep(1.0)  # the database updates its statistics with a delay
        deadlocks = await fetch(url, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        assert deadlocks[0][0] == 0

    with servers(url, tmp_path, 4) as some:
        asyncio.run(run(some))
