"""Recomputes the counts and the promise from a store's log of decisions, with plain SQL and sums.

It uses no code of the service, and compares the service's counts with its log.
"""

import heapq
import json
import math
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import asyncpg

WHOLE = 10**9  # a success, in the units of the log
PENDING, TOLD, EXPIRED, AMENDED, SKIPPED, CANCELLED = range(6)
COLUMNS = (
    "selector, id, group_name, arm, expects, exempt, asked_at, due, state, units, cost, told_at, shard, seq, "
    "expired_shard, expired_seq"
)
DECISIONS = f"SELECT {COLUMNS} FROM {{}}decisions ORDER BY selector, id"
COUNTERS = "SELECT selector, group_name, shard, counts FROM {}counters"
SELECTORS = "SELECT number, name FROM {}selectors"


@dataclass(frozen=True)
class Shape:
    """What recounting needs of a plan: its target and limits, the cost of each arm, and whether there is a skip option."""

    target: Fraction
    costs: tuple[float | None, ...]  # by arm; None where costs are told
    has_skip: bool = True
    max_debt: int = 5
    in_flight: int = 200

    def bound(self, most_outstanding: int) -> Fraction:
        """The most that may be owed, with so many decisions with a reserve outstanding at once (theory 11)."""
        return self.max_debt + self.target * min(max(most_outstanding - 1, 0), self.in_flight)

    @property
    def safe(self) -> int:
        return len(self.costs) - 1

    @property
    def skip(self) -> int:
        return 0 if self.has_skip else -1


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table of decisions."""

    selector: int
    id: int
    group: str
    arm: int
    expects: int
    exempt: int
    asked_at: float
    due: float | None
    state: int
    units: int | None
    cost: float | None
    told_at: float | None
    shard: int | None
    seq: int | None
    expired_shard: int | None
    expired_seq: int | None


@dataclass(frozen=True)
class Found:
    """A store at one instant."""

    names: dict[int, str]
    lines: dict[str, list[Line]]  # by the name of the selector, by id
    counters: dict[tuple[str, str], dict[int, dict[str, Any]]]  # by name and group, then by shard

    def line(self, name: str, identity: int) -> Line | None:
        """A decision; `check` ensures that ids are places in the list."""
        lines = self.lines.get(name, [])
        return lines[identity] if 0 <= identity < len(lines) else None


@dataclass(frozen=True)
class Verdict:
    """The numbers of a selector or one of its groups, if the check passes."""

    name: str
    group: str
    decisions: int
    outcomes: int
    told: int
    skipped: int
    expired: int
    amended: int
    pending: int
    d: int
    proved: int
    debt: float
    largest_debt: float
    bound: float

    def __str__(self) -> str:
        return (
            f"{self.name}/{self.group or '-'}: {self.decisions} decisions, {self.told} told, {self.skipped} skipped, "
            f"{self.expired} expired, {self.amended} amended, {self.pending} pending, D={self.d} "
            f"(the log proves {self.proved}), debt now {self.debt:.2f}, largest {self.largest_debt:.2f} of {self.bound:.2f}"
        )


# --- reading


async def read(url: str) -> Found:
    """Read a store at one instant. Servers may be running."""
    if url.startswith("sqlite:///"):
        return read_sqlite(Path(url.removeprefix("sqlite:///")))
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            return _found(*[await connection.fetch(one.format("suffice.")) for one in (SELECTORS, DECISIONS, COUNTERS)])
    finally:
        await connection.close()


def read_sqlite(path: Path, *, copy: bool = False) -> Found:
    """Read a file. `copy`: read a copy, so that the next server finds the write-ahead log as the crash left it."""
    if copy:
        with tempfile.TemporaryDirectory() as folder:
            for file in path.parent.glob(f"{path.name}*"):
                if not file.name.endswith("-shm"):
                    shutil.copy(file, folder)
            return read_sqlite(Path(folder) / path.name)
    with closing(sqlite3.connect(path, timeout=30.0, isolation_level=None)) as db:
        db.execute("BEGIN")
        return _found(*[db.execute(one.format("")).fetchall() for one in (SELECTORS, DECISIONS, COUNTERS)])


def _found(selectors: Iterable[Any], decisions: Iterable[Any], counters: Iterable[Any]) -> Found:
    found = Found(dict(selectors), {}, {})
    for values in decisions:
        line = Line(*values)
        found.lines.setdefault(found.names[line.selector], []).append(line)
    for number, group, shard, text in counters:
        found.counters.setdefault((found.names[number], group), {})[shard] = json.loads(text)
    return found


# --- comparing


def check(found: Found, shapes: Mapping[str, Shape]) -> list[Verdict]:
    """Raise AssertionError if the counts differ from the log, or if the promise is broken at any prefix of the log."""
    verdicts = []
    for name, lines in found.lines.items():
        shape = shapes[name]
        assert [line.id for line in lines] == list(range(len(lines))), f"{name}: ids with gaps or twice"
        check_events(name, lines, found.counters.get((name, ""), {}))
        groups = {line.group for line in lines} | {group for one, group in found.counters if one == name}
        for group in sorted(groups | {""}):
            own = [line for line in lines if line.group == group]
            counted = summed(found.counters.get((name, group), {}))
            expected = recount(own, shape)
            expected["asked"] = len(lines) if not group else len(own)
            if not group:
                expected["tells"] = sum(line.state in (TOLD, AMENDED) for line in lines)
                expected["settled"] = sum(line.state != PENDING for line in lines)
            for what, value in expected.items():
                count = counted.get(what, 0)
                near = isinstance(value, float) and math.isclose(count, value, rel_tol=1e-9, abs_tol=1e-6)
                assert near or count == value, f"{name}/{group or '-'}: {what} is {count}, and {value} in the log"
            if own:
                alone = len(found.counters.get((name, ""), {})) <= 1
                verdicts.append(check_promise(name, group, lines, shape, counted, alone))
    for name, group in found.counters:
        assert name in found.lines or not summed(found.counters[name, group]).get("asked"), f"{name}: counts, no log"
    return verdicts


def summed(shards: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """The counters of all shards together: sums, and maxima of what was outstanding at once."""
    total: dict[str, Any] = {}
    for shard in shards.values():
        for what, value in shard.items():
            largest = what in ("most_outstanding", "most_pending", "forgiven")
            total[what] = max(total.get(what, 0), value) if largest else total.get(what, 0) + value
    return total


def recount(lines: Iterable[Line], shape: Shape) -> dict[str, Any]:
    """The counters that follow from the log."""
    lines = list(lines)
    settled = [line for line in lines if line.state not in (PENDING, CANCELLED)]
    pending = [line for line in lines if line.state == PENDING]
    amended = [line for line in lines if line.state == AMENDED]
    safe = [line for line in settled if line.arm == shape.safe]
    judged = [line for line in safe if line.state != EXPIRED]
    lost = len(safe) - len(judged)
    reserved = [line for line in pending if not line.exempt]
    skip = [line for line in lines if line.arm == shape.skip]
    for line in settled:
        check_settled(line, shape)
    for line in pending:
        assert {line.units, line.told_at, line.shard, line.seq} == {None}, f"an outcome of a pending decision: {line}"
        assert line.arm != shape.skip, f"a skip that is not settled: {line}"
    assert all(line.arm == shape.safe for line in lines if line.exempt), "only safe plays reserve nothing"
    target = math.ceil(shape.target * WHOLE)
    return {
        "outcomes": len(settled) - lost,
        "owed": target * (len(settled) - lost),
        "successes": sum(line.units or 0 for line in settled),
        "skipped": len(skip),
        "cancelled": sum(line.state == CANCELLED for line in lines),
        "expired": sum(line.state in (EXPIRED, AMENDED) for line in settled if line.arm not in (shape.safe, shape.skip)),
        "amended": sum((line.units or 0) > 0 for line in amended),
        "forced": sum(line.exempt for line in lines),
        "safe_plays": len(judged),
        "safe_shortage": sum(WHOLE - (line.units or 0) for line in judged),
        "safe_failures": sum((line.units or 0) < target for line in judged),
        "safe_lost": lost,
        "skip_successes": sum(line.units or 0 for line in skip),
        "violations": 0,
        "insisted": 0,
        "uncovered": 0,
        "pending": len(pending),
        "outstanding": len(reserved),
        "reserved": target * len(reserved),
        "expected": sum(line.expects for line in pending),
        "cost": math.fsum(
            (shape.costs[line.arm] or 0.0 if line.cost is None else line.cost) for line in settled
        ),
    }  # fmt: skip


def check_settled(line: Line, shape: Shape) -> None:
    """The fields of a decision that is settled."""
    assert (line.state == EXPIRED) <= (line.units == 0 and line.cost is None), (
        f"an outcome of an expired decision: {line}"
    )
    assert (line.state == SKIPPED) <= (line.arm == shape.skip and line.units == 0 and line.told_at == line.asked_at), (
        f"what was settled when it was asked is no failed skip: {line}"
    )
    assert (line.state == AMENDED) == (line.expired_seq is not None), f"state and expiry disagree: {line}"
    assert None not in (line.units, line.told_at, line.shard, line.seq), f"no outcome of a settled decision: {line}"
    assert 0 <= (line.units or 0) <= WHOLE, f"a success out of range: {line}"


def check_events(name: str, lines: Iterable[Line], shards: Mapping[int, Mapping[str, Any]]) -> None:
    """The events of each shard are numbered from 1 to its counter, without gaps or repetition."""
    events: dict[int, list[int]] = {}
    for line in lines:
        for shard, seq in ((line.shard, line.seq), (line.expired_shard, line.expired_seq)):
            if shard is not None and seq is not None:
                events.setdefault(shard, []).append(seq)
    assert set(events) <= set(shards), f"{name}: events of shards {sorted(events)}, counters of {sorted(shards)}"
    for shard, counter in shards.items():
        seqs = sorted(events.get(shard, []))
        assert len(seqs) == counter["events"], (
            f"{name}: shard {shard} counted {counter['events']} of {len(seqs)} events"
        )
        assert seqs == list(range(1, len(seqs) + 1)), f"{name}: the events of shard {shard} have gaps, or are twice"


# --- the promise


def check_promise(
    name: str, group: str, lines: list[Line], shape: Shape, counted: Mapping[str, Any], alone: bool
) -> Verdict:
    """Check that the debt after every outcome is at most the bound of theory 11, and that D is no less than the log proves.

    `alone`: there is one shard, so the numbers of its events are their order in time.
    """
    own = [line for line in lines if line.group == group]
    d, proved = max(1, counted.get("most_outstanding", 0)), proved_by(own, lines, shape, alone)
    assert d >= proved, f"{name}/{group or '-'}: D is {d}, and the log proves {proved}"
    assert d == max(1, proved) or not alone or any(line.due is not None for line in own), (
        f"{name}: D is {d}, not {proved}"
    )
    debt, largest, bound = Fraction(0), Fraction(-(10**12)), shape.bound(d)
    order = []
    for line in own:
        order += [(key if not alone else key[2:], change) for key, change in changes(line, shape)]
    order.sort(key=lambda item: item[0])
    for place, (_, owed) in enumerate(order):
        debt += owed
        largest = max(largest, debt)
        assert debt <= bound, (
            f"{name}/{group or '-'}: after {place + 1} outcomes the debt is {float(debt)}, above {float(bound)}, with D={d}"
        )
    states = Counter(line.state for line in own)
    return Verdict(
        name, group, len(own), counted.get("outcomes", 0), states[TOLD] + states[AMENDED], states[SKIPPED],
        states[EXPIRED], states[AMENDED], states[PENDING], d, proved, float(debt), float(largest) if order else 0.0,
        float(bound),
    )  # fmt: skip


Change = tuple[tuple[float, int, int], Fraction]


def changes(line: Line, shape: Shape) -> Iterator[Change]:
    """The changes of the debt by a decision, with their order: (seconds, shard, number in the shard).

    What an ask has read was settled in a transaction that began earlier on this machine's clock. So every prefix in this
    order contains all that its decisions were asked with, and the promise holds for such sets. The log does not say when an
    amended decision expired; it was due before that. A lost play of the safe option changes nothing until it is told.
    """
    if line.state in (PENDING, CANCELLED):
        return
    at = (line.told_at or 0.0, line.shard or 0, line.seq or 0)
    gained = Fraction(line.units or 0, WHOLE)
    if line.arm == shape.safe:
        if line.state != EXPIRED:
            yield at, shape.target - gained
    elif line.state == AMENDED:
        yield (line.due or line.asked_at, line.expired_shard or 0, line.expired_seq or 0), shape.target
        yield at, -gained
    else:
        yield at, shape.target - gained


def proved_by(own: list[Line], lines: list[Line], shape: Shape, alone: bool) -> int:
    """1 + the most decisions with a reserve that were certainly outstanding when such a decision, or a skip, was asked.

    With one process its clock decides: a batch first asks and then settles, at the same time. With several, a decision had
    been asked by the time that any later one was settled; what was settled after that was outstanding.
    """
    asked_by: dict[int, float] = {}
    soonest = math.inf
    for line in reversed(lines):
        soonest = min(soonest, math.inf if line.told_at is None else line.told_at)
        asked_by[line.id] = line.asked_at if alone else soonest
    out: list[float] = []
    most = 0
    for line in own:
        if line.exempt:
            continue
        while out and (out[0] < asked_by[line.id] or (out[0] == asked_by[line.id] and not alone)):
            heapq.heappop(out)
        most = max(most, len(out) + 1)
        if line.arm == shape.skip:  # it is outstanding for an instant
            continue
        settled = line.due if line.state == AMENDED else line.told_at
        heapq.heappush(out, math.inf if settled is None else settled)
    return most
