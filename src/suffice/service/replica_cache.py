"""The replicas of one server process: made when they are needed, kept up with other processes, saved now and then."""

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

PAGE: Final = 2000  # events learned from in one go
FRESH: Final = 1.0  # seconds for which it is not asked again whether a selector was archived by another process
SAVE_EVERY: Final = 5000  # events; so many may have to be learned again after a crash
SAVE_AFTER: Final = 30.0  # seconds
SELDOM: Final = 50.0  # times as long as saving takes, at least, until it is saved again
SHORT: Final = 2000  # characters: a plan that is read in no time
LOADED: Final = 10_000  # replicas that are kept in memory, and the arms of all of them; of more, those least used go
ARMS: Final = 1_000_000
FOLLOW_EVERY: Final = 0.2  # seconds


class ReplicaCache:
    """Replicas by the number of their selector, and what is known of names."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock
        self._replicas: dict[int, Replica] = {}
        self._kept: dict[str, tuple[SelectorRow, float]] = {}
        self._changes = 0  # of selectors, made by this process
        self._names: dict[int, str] = {}
        self._outlines: dict[int, PlanSummary] = {}
        self._loading: dict[int, asyncio.Lock] = {}
        self._following: dict[int, asyncio.Lock] = {}
        self._followed: dict[int, float] = {}

    # --- names

    async def kept(self, name: str) -> SelectorRow:
        """The selector of this name, as the store has it or had it just now."""
        now = asyncio.get_running_loop().time()
        found = self._kept.get(name)
        if found is not None and (now - found[1] < FRESH or not self._store.shared):
            return found[0]
        changes = self._changes
        kept = await self._store.selector(name)
        if kept is None:
            self._kept.pop(name, None)
            raise NoSuchSelector(f"there is no selector {name!r}; make one with PUT /v1/selectors/{name}")
        if changes == self._changes:  # else it may have been archived while the store was asked
            self._kept[name] = (kept, now)
        self._names[kept.number] = name
        return kept

    def forget(self, name: str) -> None:
        """Look a name up again when it is needed: it has changed."""
        self._changes += 1
        self._kept.pop(name, None)

    # --- replicas

    def at_hand(self, kept: SelectorRow) -> Replica | None:
        """The replica, if it is loaded."""
        replica = self._replicas.get(kept.number)
        if replica is not None:
            replica.used_at = self._clock()
        return replica

    async def outline(self, kept: SelectorRow) -> PlanSummary:
        """What is known of a selector though nothing that was learned is loaded."""
        found = self._outlines.get(kept.number)
        if found is None:
            replica = self._replicas.get(kept.number)
            if replica is not None:
                found = PlanSummary.of(replica.plan, replica.selector)
            elif len(kept.plan) < SHORT:
                found = PlanSummary.of(read_plan(kept))
            else:  # it may take a while
                found = await asyncio.to_thread(lambda: PlanSummary.of(read_plan(kept)))
            self._outlines[kept.number] = found
        return found

    async def of(self, kept: SelectorRow) -> Replica:
        """The replica of a selector, made from what was saved and what happened since."""
        replica = self.at_hand(kept)
        if replica is not None:
            return replica
        async with self._loading.setdefault(kept.number, asyncio.Lock()):
            replica = self.at_hand(kept)
            if replica is None:
                replica = await self._load(kept)
                self._replicas[kept.number] = replica
                self._names[kept.number] = kept.name
        self._loading.pop(kept.number, None)
        replica.used_at = self._clock()
        return replica

    async def _load(self, kept: SelectorRow) -> Replica:
        text = await self._store.snapshot(kept.number)

        def make() -> Replica:
            plan = read_plan(kept)
            if text is None:
                return Replica(kept.number, kept.name, plan)
            return Replica.from_state(kept.number, kept.name, plan, text)

        replica = await asyncio.to_thread(make)
        replica.groups = await self._store.groups(kept.number)
        replica.saved_at = self._clock()
        await self._catch_up(replica)
        return replica

    async def numbered(self, number: int) -> Replica:
        """The replica of the selector with this number."""
        if number in self._replicas:
            return self._replicas[number]
        if number not in self._names:
            after = ""
            while page := await self._store.selectors(after, 1000, archived=True):
                self._names.update({kept.number: kept.name for kept in page})
                after = page[-1].name
        return await self.of(await self.kept(self._names[number]))

    # --- keeping up with other processes

    def wants(self, number: int) -> bool:
        """Whether it is time to follow a selector again."""
        now = asyncio.get_running_loop().time()
        if now - self._followed.get(number, 0.0) < FOLLOW_EVERY:
            return False
        self._followed[number] = now
        return True

    async def follow(self, number: int) -> None:
        """Learn what was settled elsewhere: by another process, or by a replica of this one that has been let go."""
        replica = self._replicas.get(number)
        if replica is None:
            return
        async with self._following.setdefault(number, asyncio.Lock()):
            try:
                await self._catch_up(replica)
            except SufficeError as error:
                log.warning("selector %s: what other processes were told could not be read (%s)", replica.name, error)

    async def _catch_up(self, replica: Replica) -> None:
        while True:
            events = await self._store.events(replica.number, dict(replica.seen), PAGE)
            with replica.lock:
                for row in events:
                    replica.learn(row, again=True)
            if len(events) < PAGE:
                return
            await asyncio.sleep(0)

    # --- saving

    async def tend(self) -> None:
        """Save what has learned much since, and let go of what nobody uses."""
        now = self._clock()
        for replica in list(self._replicas.values()):
            new = replica.learned - replica.saved
            since = abs(now - replica.saved_at)
            if since < SELDOM * replica.saved_in:  # what is large is not saved all the time
                continue
            if new >= SAVE_EVERY or (new and since > SAVE_AFTER):
                await self._save(replica)
        arms = sum(replica.menu.n_arms for replica in self._replicas.values())
        if len(self._replicas) <= LOADED and arms <= ARMS:
            return
        for replica in sorted(self._replicas.values(), key=lambda one: one.used_at):
            if len(self._replicas) <= LOADED and arms <= ARMS:
                return
            await self._save(replica)
            if replica.learned == replica.saved and self._replicas.pop(replica.number, None) is not None:
                arms -= replica.menu.n_arms

    async def save_all(self) -> None:
        """Save everything that was learned."""
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
        replica.saved, replica.saved_at, replica.saved_in = learned, self._clock(), time.monotonic() - began


def read_plan(kept: SelectorRow) -> Plan:
    """The plan that a selector was made from."""
    try:
        return Plan.parse(kept.plan)
    except SufficeError as error:
        raise StoredPlan(
            f"the plan of selector {kept.name!r} in the store cannot be read, as after a downgrade: {error}"
        ) from error
