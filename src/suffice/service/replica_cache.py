"""The replicas of one server process: loaded on demand, updated with what other processes settled, saved from time to time."""

import asyncio
import json
import logging
import time
from collections.abc import Callable
from typing import Final

from suffice.errors import SufficeError
from suffice.service.errors import NoSuchSelector, StoredPlan
from suffice.service.plans import Plan
from suffice.service.records import SelectorRow
from suffice.service.replica import PlanSummary, Replica
from suffice.service.stores.base import Store

log = logging.getLogger("suffice.service")

PAGE: Final = 2000  # events read at a time
ROW_LIFETIME: Final = 1.0  # seconds until a selector's row is read again, since another process may have archived it
SAVE_EVERY: Final = 5000  # events, the most that have to be learned again after a crash
SAVE_AFTER: Final = 30.0  # seconds
SAVE_SHARE: Final = 50.0  # a save is followed by a pause of at least this many times its duration
SHORT_PLAN: Final = 2000  # characters: a longer plan is read in a thread
MOST_REPLICAS: Final = 10_000  # beyond it, or beyond so many arms in all, the least recently used replicas are unloaded
MOST_ARMS: Final = 1_000_000
CATCH_UP_EVERY: Final = 0.2  # seconds


class ReplicaCache:
    """Replicas by the number of their selector, and selectors by name."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock
        self._replicas: dict[int, Replica] = {}
        self._rows: dict[str, tuple[SelectorRow, float]] = {}  # with the time of reading
        self._changes = 0  # of selectors, made by this process
        self._names: dict[int, str] = {}
        self._summaries: dict[int, PlanSummary] = {}
        self._loading: dict[int, asyncio.Lock] = {}
        self._catching_up: dict[int, asyncio.Lock] = {}
        self._caught_up_at: dict[int, float] = {}

    # --- selectors by name

    async def row(self, name: str) -> SelectorRow:
        """The selector of this name, read from the store at most a second ago."""
        now = asyncio.get_running_loop().time()
        cached = self._rows.get(name)
        if cached is not None and (now - cached[1] < ROW_LIFETIME or not self._store.shared):
            return cached[0]
        changes = self._changes
        row = await self._store.selector(name)
        if row is None:
            self._rows.pop(name, None)
            raise NoSuchSelector(f"there is no selector {name!r}; make one with PUT /v1/selectors/{name}")
        if changes == self._changes:  # otherwise it may have been archived while the store was read
            self._rows[name] = (row, now)
        self._names[row.number] = name
        return row

    def forget(self, name: str) -> None:
        """Read a selector from the store again when it is next used: it has changed."""
        self._changes += 1
        self._rows.pop(name, None)

    # --- replicas

    def loaded(self, row: SelectorRow) -> Replica | None:
        """The replica of a selector, if it is loaded."""
        replica = self._replicas.get(row.number)
        if replica is not None:
            replica.used_at = self._clock()
        return replica

    async def summary(self, row: SelectorRow) -> PlanSummary:
        """The summary of a selector's plan, for which no replica has to be loaded."""
        summary = self._summaries.get(row.number)
        if summary is None:
            replica = self._replicas.get(row.number)
            if replica is not None:
                summary = PlanSummary.of(replica.plan, replica.selector)
            elif len(row.plan) < SHORT_PLAN:
                summary = PlanSummary.of(read_plan(row))
            else:
                summary = await asyncio.to_thread(lambda: PlanSummary.of(read_plan(row)))
            self._summaries[row.number] = summary
        return summary

    async def of(self, row: SelectorRow) -> Replica:
        """The replica of a selector, loaded from its snapshot and the events since."""
        replica = self.loaded(row)
        if replica is not None:
            return replica
        async with self._loading.setdefault(row.number, asyncio.Lock()):
            replica = self.loaded(row)
            if replica is None:
                replica = await self._load(row)
                self._replicas[row.number] = replica
                self._names[row.number] = row.name
        self._loading.pop(row.number, None)
        replica.used_at = self._clock()
        return replica

    async def _load(self, row: SelectorRow) -> Replica:
        text = await self._store.snapshot(row.number)

        def make() -> Replica:
            plan = read_plan(row)
            if text is None:
                return Replica(row.number, row.name, plan)
            return Replica.from_state(row.number, row.name, plan, text)

        replica = await asyncio.to_thread(make)
        replica.groups = {group for _, group in await self._store.shards([row.number]) if group}
        replica.saved_at = self._clock()
        await self._learn_events(replica)
        return replica

    async def numbered(self, number: int) -> Replica:
        """The replica of the selector with this number."""
        if number in self._replicas:
            return self._replicas[number]
        if number not in self._names:
            after = ""
            while page := await self._store.selectors(after, 1000, archived=True):
                self._names.update({row.number: row.name for row in page})
                after = page[-1].name
        return await self.of(await self.row(self._names[number]))

    # --- catching up with other processes

    def is_due(self, number: int) -> bool:
        """Whether a replica may catch up again; if so, notes that it does."""
        now = asyncio.get_running_loop().time()
        if now - self._caught_up_at.get(number, 0.0) < CATCH_UP_EVERY:
            return False
        self._caught_up_at[number] = now
        return True

    async def catch_up(self, number: int) -> None:
        """Learn from decisions that another process settled, or an earlier replica of this one that was unloaded."""
        replica = self._replicas.get(number)
        if replica is None:
            return
        async with self._catching_up.setdefault(number, asyncio.Lock()):
            try:
                await self._learn_events(replica)
            except SufficeError as error:
                log.warning("selector %s: the events of other processes could not be read (%s)", replica.name, error)

    async def _learn_events(self, replica: Replica) -> None:
        while True:
            events = await self._store.events(replica.number, dict(replica.seen), PAGE)
            with replica.lock:
                for row in events:
                    replica.learn(row, from_log=True)
            if len(events) < PAGE:
                return
            await asyncio.sleep(0)

    # --- saving

    async def save_and_evict(self) -> None:
        """Save replicas that have learned much since their last save, and unload the least recently used ones."""
        now = self._clock()
        for replica in list(self._replicas.values()):
            events, seconds = replica.learned - replica.saved, abs(now - replica.saved_at)
            if seconds < SAVE_SHARE * replica.save_seconds:
                continue
            if events >= SAVE_EVERY or (events and seconds > SAVE_AFTER):
                await self._save(replica)
        arms = sum(replica.menu.n_arms for replica in self._replicas.values())
        if len(self._replicas) > MOST_REPLICAS or arms > MOST_ARMS:
            await self._evict(arms)

    async def _evict(self, arms: int) -> None:
        for replica in sorted(self._replicas.values(), key=lambda replica: replica.used_at):
            if len(self._replicas) <= MOST_REPLICAS and arms <= MOST_ARMS:
                return
            await self._save(replica)
            if replica.learned == replica.saved and self._replicas.pop(replica.number, None) is not None:
                arms -= replica.menu.n_arms

    async def save_all(self) -> None:
        """Save every replica that has learned since its last save."""
        for replica in list(self._replicas.values()):
            if replica.learned != replica.saved:
                await self._save(replica)

    async def _save(self, replica: Replica) -> None:
        def written() -> tuple[int, str]:
            with replica.lock:
                learned, state = replica.learned, replica.state()
            return learned, json.dumps(state, allow_nan=False)

        began = time.monotonic()
        learned, text = await asyncio.to_thread(written)
        await self._store.save(replica.number, learned, text)
        replica.saved, replica.saved_at, replica.save_seconds = learned, self._clock(), time.monotonic() - began


def read_plan(row: SelectorRow) -> Plan:
    """The plan of a selector."""
    try:
        return Plan.parse(row.plan)
    except SufficeError as error:
        raise StoredPlan(
            f"the plan of selector {row.name!r} in the store cannot be read, as after a downgrade: {error}"
        ) from error
