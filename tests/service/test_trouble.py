"""Full disks, cut connections, and races between requests of one transaction."""

import asyncio
import json
import resource
import sys
import threading
from pathlib import Path

import pytest

from suffice.service.batch import Settlement
from suffice.service.plans import Plan
from suffice.service.records import EXPIRED, AskRequest, Outcome
from suffice.service.selectors import SelectorService
from suffice.service.stores import open_store
from tests.support.journal import PLANS, SHAPES
from tests.support.load import Storm, fetch, until, verify
from tests.support.postgres import Postgres
from tests.support.recount import AMENDED, check, read
from tests.support.servers import Server, Wire, all_ready, servers

# --- no space


async def run_out_of_space(server: Server, path: Path) -> None:
    """Fill the disk under load: writes are refused, reads work, and all goes on once there is space."""
    assert server.process is not None
    process, url = server.process.pid, f"sqlite:///{path}"
    await server.ready()
    storm = Storm([server.port], seed=31, clients=12)
    await storm.prepare()
    journal, statuses = storm.journal, storm.journal.statuses
    storming = asyncio.create_task(storm.run())

    async def acknowledged(more: int = 0) -> bool:
        return len(journal.acknowledged) > more or bool(journal.wrong)

    async def refused() -> bool:
        return bool((statuses["ask", 503] and statuses["tell", 503]) or journal.wrong)

    await until(lambda: acknowledged(300), "no request succeeds")
    largest = path.with_name(f"{path.name}-wal").stat().st_size
    resource.prlimit(process, resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))
    await until(refused, "nothing was refused")
    wire = Wire(server.port)
    answer = await wire.call("POST", "/v1/selectors/plain/ask")
    assert answer.status == 503, answer
    assert "nothing was changed" in answer.detail
    assert (await wire.call("GET", "/v1/selectors/plain/certificate")).status == 200  # reading works
    wire.close()
    resource.prlimit(process, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    before = len(journal.acknowledged)
    await until(lambda: acknowledged(before + 50), f"it does not recover: {server.said()}")
    storm.stop.set()
    await storming
    await verify(url, storm, [server])
    assert server.stop() == 0
    await verify(url, storm, [server])


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs prlimit")
def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "suffice.db"
    with servers(f"sqlite:///{path}", tmp_path) as (server,):
        asyncio.run(run_out_of_space(server, path))


# --- cut connections


def test_connections_are_cut_inside_transactions(postgres: Postgres, tmp_path: Path) -> None:
    url = postgres.database()
    cut = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'suffice' AND datname = current_database() AND state <> 'idle'"""

    async def run(some: list[Server]) -> None:
        await all_ready(some)
        storm = Storm([server.port for server in some], seed=37, clients=16)
        await storm.prepare()
        storming = asyncio.create_task(storm.run(1500))
        cuts = 0
        while cuts < 25 and not storming.done():
            cuts += len(await fetch(url, cut))
            await asyncio.sleep(0.02)
        await storming
        assert cuts >= 5
        assert storm.journal.statuses["tell", 503] + storm.journal.statuses["ask", 503] > 0
        print(f"{cuts} cuts; {storm.journal}", *(await verify(url, storm, some)), sep="\n  ")

    with servers(url, tmp_path, 2) as some:
        asyncio.run(run(some))


def test_a_decision_that_expires_and_is_told_in_one_transaction_is_amended(store_url: str) -> None:
    async def run() -> None:
        if store_url.startswith("postgresql"):  # with two updates of a row, its plan decides which one is done
            name = (await fetch(store_url, "SELECT current_database()"))[0][0]
            for join in ("hashjoin", "mergejoin"):
                await fetch(store_url, f"ALTER DATABASE {name} SET enable_{join} = off")
        service = SelectorService(open_store(store_url))
        await service.start()
        await service.put("dutiful", Plan.parse(json.dumps({**PLANS["dutiful"], "expire_after": 3600.0})))
        ids = [one.decision for one in await service.ask("dutiful", AskRequest(count=40)) if one.decision is not None]
        replica = await service._replica("dutiful")
        expired, told = await asyncio.gather(  # both are in the same transaction, in this order
            service._settle(replica, [Settlement(identity, 0, None) for identity in ids], EXPIRED),
            service.tell("dutiful", [Outcome(identity, True, 0.5) for identity in ids]),
        )
        assert [one.result for one in expired] == ["expired"] * 40
        assert [one.result for one in told] == ["amended"] * 40
        again = await service.tell("dutiful", [Outcome(identity, False, 0.5) for identity in ids])
        assert [one.status for one in again] == [409] * 40
        assert [row.state for row in await service.decisions("dutiful")] == [AMENDED] * 40
        assert sum(arm.plays for arm in await service.options("dutiful")) == 40
        await service.stop()
        if store_url != "memory:":
            assert [verdict.amended for verdict in check(await read(store_url), SHAPES)] == [40]

    asyncio.run(run())


def test_saving_during_a_batch_changes_no_count(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'suffice.db'}"

    async def run() -> None:
        service = SelectorService(open_store(url))
        await service.start()
        await service.put("dutiful", Plan.parse(json.dumps(PLANS["dutiful"])))
        replica, done = await service._replica("dutiful"), threading.Event()

        def save() -> None:
            while not done.is_set():
                replica.state()

        saving = threading.Thread(target=save)
        saving.start()
        try:
            for _ in range(10):
                asked = await asyncio.gather(*(service.ask("dutiful", AskRequest()) for _ in range(20)))
                outcomes = [Outcome(one.decision, True) for some in asked for one in some if one.decision is not None]
                told = await asyncio.gather(*(service.tell("dutiful", [outcome]) for outcome in outcomes))
                assert {one.result for some in told for one in some} == {"counted"}
        finally:
            done.set()
            saving.join()
        await service.stop()
        assert [verdict.outcomes for verdict in check(await read(url), SHAPES)] == [200]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # switch threads as often as possible
    try:
        asyncio.run(run())
    finally:
        sys.setswitchinterval(interval)
