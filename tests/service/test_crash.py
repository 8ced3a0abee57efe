"""Kill -9 under load: a server on SQLite, servers on PostgreSQL, PostgreSQL itself. Nothing acknowledged is lost or doubled.

After each round independent code recomputes the counts from the log, checks the promise at every prefix, and waits until what
was learned agrees with the log. The seed is printed, but timing is random too.
"""

import asyncio
import random
from pathlib import Path

import pytest

from tests.support.journal import PLANS, SHAPES
from tests.support.load import Storm
from tests.support.postgres import Postgres, running
from tests.support.recount import Found, check, read, read_sqlite
from tests.support.servers import PATIENCE, NoAnswer, Server, Wire, all_ready, servers

LONG = pytest.param(50, marks=pytest.mark.long)


class Rounds:
    """Rounds of a storm on the same store, with a kill in each."""

    def __init__(self, some: list[Server], seed: int, clients: int = 12) -> None:
        self.servers, self.rng = some, random.Random(seed)
        self.storm = Storm([server.port for server in some], seed, clients=clients)
        self.folder, self.done = some[0].log.parent, 0
        print(f"seed {seed}, {len(some)} servers on {some[0].store}; logs in {self.folder}")

    async def begin(self) -> None:
        """Start the storm."""
        if not self.done:
            await all_ready(self.servers)
            await self.storm.prepare()
        self.done += 1
        self._task = asyncio.create_task(self.storm.run())
        await asyncio.sleep(self.rng.uniform(0.3, 1.5))

    async def end(self) -> None:
        """End the storm."""
        self.storm.stop.set()
        await self._task

    def verify(self, found: Found, *, last: bool = False) -> None:
        """Check the counts, the promise, all that was acknowledged, and the logs."""
        verdicts = check(found, SHAPES)
        self.storm.journal.check(found)
        for server in self.servers:
            assert not server.failures(), server.said()
        if self.done % 10 == 0 or last:
            print(f"round {self.done}: {self.storm.journal}", *verdicts, sep="\n  ")


async def caught_up(server: Server) -> None:
    """Wait until a server has learned from exactly what was told."""
    wire = Wire(server.port)
    for name in PLANS:
        path, until = f"/v1/selectors/{name}", asyncio.get_running_loop().time() + PATIENCE
        while True:  # decisions may expire between two requests
            told = (await wire.call("GET", f"{path}/certificate")).body
            plays = sum(arm["plays"] for arm in (await wire.call("GET", f"{path}/options")).body["options"])
            bins = (await wire.call("GET", f"{path}/history?bins=30")).body["bins"]
            if told["outcomes"] == plays == sum(one["outcomes"] for one in bins):
                break
            assert asyncio.get_running_loop().time() < until, f"{name}: {plays} plays learned of {told['outcomes']}"
            await asyncio.sleep(0.1)
    wire.close()


@pytest.mark.parametrize("rounds", [2, LONG])
def test_server_on_sqlite_is_killed(tmp_path: Path, rounds: int) -> None:
    path = tmp_path / "suffice.db"

    async def run(some: list[Server]) -> None:
        game = Rounds(some, seed=rounds + 1)
        for _ in range(rounds):
            await game.begin()
            some[0].kill()
            await game.end()
            game.verify(read_sqlite(path, copy=True))
            some[0].start()
            await some[0].ready()
            await caught_up(some[0])
        assert some[0].stop() == 0
        game.verify(read_sqlite(path), last=True)

    with servers(f"sqlite:///{path}", tmp_path) as some:
        asyncio.run(run(some))


@pytest.mark.parametrize("rounds", [2, LONG])
def test_servers_on_postgres_are_killed(postgres: Postgres, tmp_path: Path, rounds: int) -> None:
    url = postgres.database()

    async def run(some: list[Server]) -> None:
        game = Rounds(some, seed=rounds + 2)
        for _ in range(rounds):
            await game.begin()
            killed = game.rng.sample(some, game.rng.choice([1, 1, 2]))
            for server in killed:
                server.kill()
            await asyncio.sleep(0.3)
            await game.end()
            game.verify(await read(url))
            for server in killed:
                server.start()
            await all_ready(some)
            await asyncio.gather(*(caught_up(server) for server in some))
        assert [server.stop() for server in some] == [0, 0]
        game.verify(await read(url), last=True)

    with servers(url, tmp_path, 2) as some:
        asyncio.run(run(some))


@pytest.mark.postgres
@pytest.mark.parametrize("rounds", [2, LONG])
def test_postgres_itself_is_killed(tmp_path: Path, rounds: int) -> None:
    async def run(postgres: Postgres, url: str, some: list[Server]) -> None:
        game = Rounds(some, seed=rounds + 3)
        for number in range(rounds):
            await game.begin()
            game.storm.only_ask = number % 2 == 0  # then no commit of a tell forces the asks to disk
            await asyncio.sleep(0.2)
            await asyncio.to_thread(postgres.kill)
            game.storm.only_ask = False
            await asyncio.sleep(game.rng.uniform(0.1, 0.5))
            await asyncio.to_thread(postgres.start)
            await all_ready(some)  # they recover without a restart
            before = len(game.storm.journal.acknowledged)
            for _ in range(1200):
                if len(game.storm.journal.acknowledged) > before + 20 or game.storm.journal.wrong:
                    break
                await asyncio.sleep(0.05)
            await game.end()
            game.verify(await read(url))
            assert len(game.storm.journal.acknowledged) > before, f"no request succeeds any more:\n{some[0].said()}"
            await asyncio.gather(*(caught_up(server) for server in some))
        assert game.storm.journal.statuses["ask", 503] > 0
        assert [server.stop() for server in some] == [0, 0]
        game.verify(await read(url), last=True)

    with running() as postgres:
        url = postgres.database()
        postgres.say(url, "ALTER SYSTEM SET wal_writer_delay = '10s'")  # nor does the background writer
        postgres.say(url, "SELECT pg_reload_conf()")
        with servers(url, tmp_path, 2) as some:
            asyncio.run(run(postgres, url, some))


def test_a_server_that_is_stopped_finishes_its_requests(tmp_path: Path) -> None:
    path = tmp_path / "suffice.db"

    async def run(some: list[Server]) -> None:
        game = Rounds(some, seed=7)
        await game.begin()
        code = await asyncio.to_thread(some[0].stop)
        await game.end()
        assert code == 0, some[0].said()
        game.verify(read_sqlite(path))
        with pytest.raises(NoAnswer):
            await Wire(some[0].port).call("GET", "/healthz")

    with servers(f"sqlite:///{path}", tmp_path) as some:
        asyncio.run(run(some))
