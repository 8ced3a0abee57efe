"""Kill -9 under load: the server on SQLite, servers on PostgreSQL, PostgreSQL itself. Nothing acknowledged is lost or doubled.

After each round the log is counted again by other means, the promise is checked at every prefix of it, and what was learned
must have caught up with it. Each round prints its seed; chance also lies in when the machine does what.
"""

import asyncio
import random
from pathlib import Path

import pytest

from tests.support.journal import PLANS, SHAPES
from tests.support.load import Storm
from tests.support.postgres import Postgres, running
from tests.support.recount import Found, check, read, read_sqlite
from tests.support.servers import PATIENCE, Server, Unheard, Wire, all_ready, servers

LONG = pytest.param(50, marks=pytest.mark.long)


class Rounds:
    """Storms with a strike in each, on the same store."""

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
        """Let the storm calm down."""
        self.storm.stop.set()
        await self._task

    def verify(self, found: Found, *, last: bool = False) -> None:
        """Counts, promise, and all that was acknowledged."""
        verdicts = check(found, SHAPES)
        self.storm.journal.check(found)
        for server in self.servers:
            assert not server.failures(), server.said()
        if self.done % 10 == 0 or last:
            print(f"round {self.done}: {self.storm.journal}", *verdicts, sep="\n  ")


async def caught_up(server: Server) -> None:
    """Wait until what a server has learned is what was told, no less and no more."""
    wire = Wire(server.port)
    for name in PLANS:
        path, until = f"/v1/selectors/{name}", asyncio.get_running_loop().time() + PATIENCE
        while True:  # what expires meanwhile comes between
            told = (await wire.call("GET", f"{path}/certificate")).body
            plays = sum(arm["plays"] for arm in (await wire.call("GET", f"{path}/options")).body["options"])
            bins = (await wire.call("GET", f"{path}/history?bins=30")).body["bins"]
            if told["outcomes"] == plays == sum(one["outcomes"] for one in bins):
                break
            assert asyncio.get_running_loop().time() < until, f"{name}: {plays} plays learned of {told['told']} told"
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
            struck = game.rng.sample(some, game.rng.choice([1, 1, 2]))
            for server in struck:
                server.kill()
            await asyncio.sleep(0.3)
            await game.end()
            game.verify(await read(url))
            for server in struck:
                server.start()
            await all_ready(some)
            await asyncio.gather(*(caught_up(server) for server in some))
        assert [server.stop() for server in some] == [0, 0]
        game.verify(await read(url), last=True)

    with servers(url, tmp_path, 2) as some:
        asyncio.run(run(some))


@pytest.mark.parametrize("rounds", [2, LONG])
def test_postgres_itself_is_killed(tmp_path: Path, rounds: int) -> None:
    async def run(postgres: Postgres, url: str, some: list[Server]) -> None:
        game = Rounds(some, seed=rounds + 3)
        for number in range(rounds):
            await game.begin()
            game.storm.only_ask = number % 2 == 0  # then no commit of a tell takes the asks before it to the disk
            await asyncio.sleep(0.2)
            await asyncio.to_thread(postgres.kill)
            game.storm.only_ask = False
            await asyncio.sleep(game.rng.uniform(0.1, 0.5))
            await asyncio.to_thread(postgres.start)
            await all_ready(some)  # by themselves: nobody started them again
            before = len(game.storm.journal.heard)
            for _ in range(1200):
                if len(game.storm.journal.heard) > before + 20 or game.storm.journal.wrong:
                    break
                await asyncio.sleep(0.05)
            await game.end()
            game.verify(await read(url))
            assert len(game.storm.journal.heard) > before, f"nothing goes through any more:\n{some[0].said()}"
            await asyncio.gather(*(caught_up(server) for server in some))
        assert game.storm.journal.statuses["ask", 503] > 0
        assert [server.stop() for server in some] == [0, 0]
        game.verify(await read(url), last=True)

    with running() as postgres:
        url = postgres.database()
        postgres.say(url, "ALTER SYSTEM SET wal_writer_delay = '10s'")  # nor does time
        postgres.say(url, "SELECT pg_reload_conf()")
        with servers(url, tmp_path, 2) as some:
            asyncio.run(run(postgres, url, some))


def test_a_server_that_is_stopped_finishes_what_it_began(tmp_path: Path) -> None:
    path = tmp_path / "suffice.db"

    async def run(some: list[Server]) -> None:
        game = Rounds(some, seed=7)
        await game.begin()
        code = await asyncio.to_thread(some[0].stop)
        await game.end()
        assert code == 0, some[0].said()
        game.verify(read_sqlite(path))
        with pytest.raises(Unheard):
            await Wire(some[0].port).call("GET", "/healthz")

    with servers(f"sqlite:///{path}", tmp_path) as some:
        asyncio.run(run(some))
