"""The minds of one server process: made when they are needed, kept up with other processes, saved now and then."""

import asyncio
import json
import logging
import time
from collections.abc import Callable
from typing import Final

from suffice.errors import SufficeError
from suffice.service.errors import NoSuchSelector, StoredPlan
from suffice.service.mind import Mind, Outline
from suffice.service.plans import Plan
from suffice.service.records import Kept
from suffice.service.stores.base import Store

log = logging.getLogger("suffice.service")

PAGE: Final = 2000  # events learned from in one go
FRESH: Final = 1.0  # seconds for which it is not asked again whether a selector was archived by another process
SAVE_EVERY: Final = 5000  # events; so many may have to be learned again after a crash
SAVE_AFTER: Final = 30.0  # seconds
SELDOM: Final = 50.0  # times as long as saving takes, at least, until it is saved again
SHORT: Final = 2000  # characters: a plan that is read in no time
LOADED: Final = 10_000  # minds that are kept in memory, and the arms of all of them; of more, those least used go
ARMS: Final = 1_000_000
FOLLOW_EVERY: Final = 0.2  # seconds


class Minds:
    """Minds by the number of their selector, and what is known of names."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock
        self._minds: dict[int, Mind] = {}
        self._kept: dict[str, tuple[Kept, float]] = {}
        self._changes = 0  # of selectors, made by this process
        self._names: dict[int, str] = {}
        self._outlines: dict[int, Outline] = {}
        self._loading: dict[int, asyncio.Lock] = {}
        self._following: dict[int, asyncio.Lock] = {}
        self._followed: dict[int, float] = {}

    # --- names

    async def kept(self, name: str) -> Kept:
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

    # --- minds

    def at_hand(self, kept: Kept) -> Mind | None:
        """The mind, if it is loaded."""
        mind = self._minds.get(kept.number)
        if mind is not None:
            mind.used_at = self._clock()
        return mind

    async def outline(self, kept: Kept) -> Outline:
        """What is known of a selector though nothing that was learned is loaded."""
        found = self._outlines.get(kept.number)
        if found is None:
            mind = self._minds.get(kept.number)
            if mind is not None:
                found = Outline.of(mind.plan, mind.selector)
            elif len(kept.plan) < SHORT:
                found = Outline.of(read_plan(kept))
            else:  # it may take a while
                found = await asyncio.to_thread(lambda: Outline.of(read_plan(kept)))
            self._outlines[kept.number] = found
        return found

    async def of(self, kept: Kept) -> Mind:
        """The mind of a selector, made from what was saved and what happened since."""
        mind = self.at_hand(kept)
        if mind is not None:
            return mind
        async with self._loading.setdefault(kept.number, asyncio.Lock()):
            mind = self.at_hand(kept)
            if mind is None:
                mind = await self._load(kept)
                self._minds[kept.number] = mind
                self._names[kept.number] = kept.name
        self._loading.pop(kept.number, None)
        mind.used_at = self._clock()
        return mind

    async def _load(self, kept: Kept) -> Mind:
        text = await self._store.snapshot(kept.number)

        def make() -> Mind:
            plan = read_plan(kept)
            if text is None:
                return Mind(kept.number, kept.name, plan)
            return Mind.from_state(kept.number, kept.name, plan, text)

        mind = await asyncio.to_thread(make)
        mind.groups = await self._store.groups(kept.number)
        mind.saved_at = self._clock()
        await self._catch_up(mind)
        return mind

    async def numbered(self, number: int) -> Mind:
        """The mind of the selector with this number."""
        if number in self._minds:
            return self._minds[number]
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
        """Learn what was settled elsewhere: by another process, or by a mind of this one that has been let go."""
        mind = self._minds.get(number)
        if mind is None:
            return
        async with self._following.setdefault(number, asyncio.Lock()):
            try:
                await self._catch_up(mind)
            except SufficeError as error:
                log.warning("selector %s: what other processes were told could not be read (%s)", mind.name, error)

    async def _catch_up(self, mind: Mind) -> None:
        while True:
            events = await self._store.events(mind.number, dict(mind.seen), PAGE)
            with mind.lock:
                for row in events:
                    mind.learn(row, again=True)
            if len(events) < PAGE:
                return
            await asyncio.sleep(0)

    # --- saving

    async def tend(self) -> None:
        """Save what has learned much since, and let go of what nobody uses."""
        now = self._clock()
        for mind in list(self._minds.values()):
            new = mind.learned - mind.saved
            since = abs(now - mind.saved_at)
            if since < SELDOM * mind.saved_in:  # what is large is not saved all the time
                continue
            if new >= SAVE_EVERY or (new and since > SAVE_AFTER):
                await self._save(mind)
        arms = sum(mind.menu.arms for mind in self._minds.values())
        if len(self._minds) <= LOADED and arms <= ARMS:
            return
        for mind in sorted(self._minds.values(), key=lambda one: one.used_at):
            if len(self._minds) <= LOADED and arms <= ARMS:
                return
            await self._save(mind)
            if mind.learned == mind.saved and self._minds.pop(mind.number, None) is not None:
                arms -= mind.menu.arms

    async def save_all(self) -> None:
        """Save everything that was learned."""
        for mind in list(self._minds.values()):
            if mind.learned != mind.saved:
                await self._save(mind)

    async def _save(self, mind: Mind) -> None:
        def written() -> tuple[int, str]:
            with mind.lock:
                learned, state = mind.learned, mind.state()
            return learned, json.dumps(state, allow_nan=False)

        began = time.monotonic()
        learned, text = await asyncio.to_thread(written)
        await self._store.save(mind.number, learned, text)
        mind.saved, mind.saved_at, mind.saved_in = learned, self._clock(), time.monotonic() - began


def read_plan(kept: Kept) -> Plan:
    """The plan that a selector was made from."""
    try:
        return Plan.parse(kept.plan)
    except SufficeError as error:
        raise StoredPlan(
            f"the plan of selector {kept.name!r} in the store cannot be read, as after a downgrade: {error}"
        ) from error
