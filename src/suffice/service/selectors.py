"""The service without HTTP: selectors by name, asks and tells through the writer, and looks at where they stand."""

import asyncio
import contextlib
import logging
import math
import re
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Final

from suffice.context.learner import ContextReport
from suffice.errors import InvalidArgument, SufficeError, quoted
from suffice.numbers import cost_told, success_units
from suffice.precompile import warmup
from suffice.promise.certificate import Certificate
from suffice.selector.records import OptionReport
from suffice.service.batch import KEPT, Batch, QueuedAsk, QueuedTell
from suffice.service.errors import Conflict, Gone, NoSuchSelector, NotAllowed, StoredPlan, TooMany, status_of
from suffice.service.group_commit import GroupCommitter
from suffice.service.overview import OverviewCache, certified
from suffice.service.plans import Plan
from suffice.service.records import (
    AskRequest,
    Bin,
    DecisionRow,
    IssuedDecision,
    Limits,
    Outcome,
    Overview,
    SelectorRow,
    TellResult,
)
from suffice.service.replica import Replica
from suffice.service.replica_cache import ReplicaCache, read_plan
from suffice.service.stores.base import AccountKey, Shards, Store

log = logging.getLogger("suffice.service")

SWEEP: Final = 0.5  # seconds between looks for what is overdue
SWEPT: Final = 1000  # decisions given up in one go
TEND: Final = 1.0  # seconds between looks for what is to be saved
PRUNE: Final = 600.0
CLOCK: Final = 60.0
BREATH: Final = 0.01  # seconds after which others have their turn
WITHIN: Final = re.compile("[A-Za-z0-9._-]*")  # what may stand in names, and its capitals
MANY: Final = 50  # groups, beyond which a certificate is made beside the others' requests


class SelectorService:
    """Keeps selectors in a store. One per server process."""

    def __init__(self, store: Store, limits: Limits | None = None, clock: Callable[[], float] | None = None) -> None:
        self.store, self.limits = store, limits or Limits()
        # Servers that share a store go by its clock: their own may differ.
        self.clock: Callable[[], float] = clock or (lambda: time.time() + store.ahead)
        self.ready = False
        self._replicas = ReplicaCache(store, self.clock)
        self._writer = GroupCommitter(store, self.limits.queue, self.clock, self._after)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._unreadable: set[int] = set()  # selectors whose plans cannot be read
        self._stood = OverviewCache()

    # --- from start to stop

    async def start(self) -> None:
        """Open the store and begin to look after what is in it."""
        await self.store.open()
        await self.set_clock()
        await asyncio.to_thread(warmup)
        for loop in (
            self._every(SWEEP, self.sweep),
            self._every(TEND, self._replicas.tend),
            self._every(PRUNE, self.prune),
            self._every(CLOCK, self.set_clock),
        ):
            self._begin(loop)
        self.ready = True

    async def stop(self) -> None:
        """Finish what was begun, save what was learned, let go of the store."""
        self.ready = False
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._writer.drain()
        with contextlib.suppress(SufficeError):  # what was learned can be learned again from the log
            await self._replicas.save_all()
        await self.store.close()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _every(self, seconds: float, do: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await do()
            except SufficeError as error:
                log.warning("%s: %s", do.__name__, error)
            except Exception:
                log.exception("%s failed", do.__name__)

    def _after(self, batch: Batch) -> None:
        for number in batch.behind:
            if self._replicas.wants(number):
                self._begin(self._replicas.follow(number))

    async def sweep(self) -> int:
        """Give up what is overdue; how many decisions that were."""
        count = 0
        while True:
            found = await self.store.overdue(self.clock(), SWEPT, self._unreadable)
            waits = []
            for number in dict.fromkeys(selector for selector, _ in found):
                try:
                    replica = await self._replicas.numbered(number)
                except StoredPlan as error:
                    self._unreadable.add(number)  # the others go on
                    log.error("nothing of it expires until it can be read: %s", error)
                    continue
                ids = [identity for selector, identity in found if selector == number]
                waits.append(self._tell(replica, [(identity, 0, None) for identity in ids], expire=True))
            results = await asyncio.gather(*waits)
            done = sum(one.result == "expired" for told in results for one in told)
            count += done
            if len(found) < SWEPT or not done:
                return count

    async def set_clock(self) -> None:
        """Go by the clock of the store; and if ours went back, so does what waits for it."""
        await self.store.set_clock(self.clock)

    async def prune(self) -> None:
        """Forget answers that are too old."""
        await self.store.prune(self.clock() - KEPT)

    # --- selectors

    async def put(self, name: str, plan: Plan, *, confirm: bool = False) -> tuple[Overview, bool]:
        """The selector of this name, made if there is none: then True. Conflict if it has another plan.

        `confirm`: only see that it is there and has this plan.
        """
        plan.check(self.limits)
        kept = await self.store.selector(name)
        made = False
        if confirm and (kept is None or kept.archived is not None):
            raise NotAllowed(f"selector {name!r} is not there, and to make it takes a key with the scope manage")
        if kept is None:
            await asyncio.to_thread(plan.selector)  # whatever is wrong with it is to be said before it is kept
            kept, made = await self.store.add(name, plan.canonical, self.clock(), self.limits.selectors)
        there = kept
        if not made and not await asyncio.to_thread(lambda: read_plan(there).same(plan)):
            raise Conflict(
                f"selector {name!r} exists with another plan; send its own plan, or make another selector with this one"
            )
        if kept.archived is not None:
            kept = await self.store.archive(name, None) or kept
        self._replicas.forget(name)
        return await self.overview(name), made

    async def archive(self, name: str) -> Overview:
        """Archive a selector: it answers no more asks, and still takes outcomes."""
        kept = await self.store.selector(name)
        if kept is None:
            raise NoSuchSelector(f"there is no selector {name!r}; make one with PUT /v1/selectors/{name}")
        if kept.archived is None:
            await self.store.archive(name, self.clock())
        self._replicas.forget(name)
        return await self.overview(name)

    async def overview(self, name: str) -> Overview:
        """A selector and where it stands."""
        kept = await self._replicas.kept(name)
        await self._replicas.of(kept)  # only what is loaded knows the price
        return (await self._stand([kept]))[0]

    async def list_selectors(
        self, after: str = "", limit: int = 100, archived: bool = False, contains: str = ""
    ) -> tuple[list[Overview], str | None]:
        """Selectors by name, and where they stand; and the name after which there are more, None if there are none.

        `contains`: those whose names contain a text, in capitals or not.
        """
        if WITHIN.fullmatch(contains) is None:
            return [], None  # no name has such a character, and not every store could be asked for it
        # Names have no capitals, so it is enough to do without them here: all stores then mean the same.
        found = await self.store.selectors(after, limit + 1, archived=archived, contains=contains.lower())
        more = found[limit - 1].name if len(found) > limit else None
        return await self._stand(found[:limit], many=True), more

    async def _stand(self, some: Sequence[SelectorRow], *, many: bool = False) -> list[Overview]:
        own: dict[int, dict[AccountKey, Shards]] = {kept.number: {} for kept in some}
        for whose, found in (await self.store.shards(list(own))).items():
            own[whose[0]][whose] = found
        result, began = [], time.perf_counter()
        for kept in some:
            try:
                outline = await self._replicas.outline(kept)
            except StoredPlan as error:
                if not many:
                    raise
                log.error("left out of the list: %s", error)
                continue
            parts, replica = own[kept.number], self._replicas.at_hand(kept)
            if len(parts) > MANY:
                result.append(await asyncio.to_thread(self._stood.anew, kept, outline, replica, parts))
            else:
                result.append(self._stood.get(kept, outline, replica, parts))
            if time.perf_counter() - began > BREATH:
                await asyncio.sleep(0)
                began = time.perf_counter()
        return result

    async def plan(self, name: str) -> Plan:
        """What the selector was made from."""
        return (await self._replica(name)).plan

    async def _replica(self, name: str) -> Replica:
        return await self._replicas.of(await self._replicas.kept(name))

    # --- ask and tell

    async def ask(
        self, name: str, wanted: AskRequest, key: str | None = None, digest: str = ""
    ) -> list[IssuedDecision]:
        """Decisions, on disk."""
        kept = await self._replicas.kept(name)
        if kept.archived is not None:
            raise Gone(
                f"selector {name!r} was archived, so nothing can be asked of it; PUT its plan again to bring it back"
            )
        replica = self._replicas.at_hand(kept) or await self._replicas.of(kept)
        if wanted.count is not None and not 1 <= wanted.count <= self.limits.list_length:
            raise InvalidArgument(f"count must be a number from 1 to {self.limits.list_length:,}, got {wanted.count}")
        if wanted.contexts is not None and len(wanted.contexts) != (wanted.count or 1):
            raise InvalidArgument(
                f"contexts must hold one for each of the {wanted.count or 1} decisions, got {len(wanted.contexts)}"
            )
        for what, text in (("group", wanted.group), ("Idempotency-Key", key)):
            if text is not None:
                _check_text(what, text)
        if wanted.group and wanted.group not in replica.groups and len(replica.groups) >= self.limits.groups:
            raise TooMany(f"a selector may have at most {self.limits.groups:,} groups, and {name!r} has them")
        allowed = None if wanted.available is None else replica.allowed(wanted.available)
        done = asyncio.get_running_loop().create_future()
        request = QueuedAsk(replica, wanted, allowed, key, digest, wanted.count or 1, done)
        self._writer.put(request)
        return await request.done

    async def tell(self, name: str, outcomes: Sequence[Outcome]) -> list[TellResult]:
        """What became of each outcome, on disk."""
        replica = await self._replica(name)
        if len(outcomes) > self.limits.list_length:
            raise InvalidArgument(
                f"outcomes must be at most {self.limits.list_length:,} at once, got {len(outcomes):,}"
            )
        results: list[TellResult | None] = [None] * len(outcomes)
        good: list[tuple[int, int, float | None]] = []
        places = []
        for place, outcome in enumerate(outcomes):
            try:
                units = success_units(outcome.success)
                cost = None if outcome.cost is None else cost_told(outcome.cost)
            except SufficeError as error:
                results[place] = TellResult(outcome.decision, status_of(error), detail=str(error))
                continue
            good.append((outcome.decision, units, cost))
            places.append(place)
        told = await self._tell(replica, good) if good else []
        for place, one in zip(places, told, strict=True):
            results[place] = one
        return [one for one in results if one is not None]

    async def _tell(
        self, replica: Replica, outcomes: list[tuple[int, int, float | None]], expire: bool = False
    ) -> list[TellResult]:
        request = QueuedTell(replica, outcomes, len(outcomes), asyncio.get_running_loop().create_future(), expire)
        self._writer.put(request)
        return await request.done

    # --- looks

    async def certificate(self, name: str, group: str | None = None) -> Certificate:
        """What is promised, whether it is so, and if not, why and what to do."""
        kept = await self._replicas.kept(name)
        if group is None:
            return (await self._stand([kept]))[0].certificate
        promise = (await self._replicas.outline(kept)).promise
        shards = await self.store.shards([kept.number])
        if len(shards) > MANY:  # at first none of them is remembered
            return await asyncio.to_thread(certified, promise, kept.number, shards, self._stood.groups, group)
        return certified(promise, kept.number, shards, self._stood.groups, group)

    async def options(self, name: str, most: int | None = None) -> list[OptionReport]:
        """A row per arm, or for the `most` played ones, as far as this process has learned."""
        replica = await self._followed(name)
        with replica.lock:
            return replica.selector.options(most)

    async def context_report(self, name: str) -> ContextReport:
        """What is made of contexts."""
        replica = await self._followed(name)
        if replica.plan.model is None:
            raise InvalidArgument(
                f'selector {name!r} has no model that looks at contexts: its plan needs "model": "auto"'
            )
        with replica.lock:
            return replica.selector.context_report()

    async def history(
        self, name: str, bins: int, since: float = -math.inf, width: float | None = None
    ) -> tuple[list[Bin], float]:
        """What happened over time, in at most so many bins or in bins this wide, what was promised; and the finest width."""
        replica = await self._followed(name)
        bounds = (await self.certificate(name)).bounds_after
        with replica.lock:
            return replica.chart.bins(bins, bounds, replica.promise.rate, since, width), replica.chart.width

    async def options_of(self, name: str, arms: Iterable[int]) -> dict[int, Any]:
        """The options of these arms, in JSON's terms."""
        replica = await self._replica(name)
        return {arm: replica.option(arm) for arm in arms}

    async def decisions(self, name: str, after: int = -1, limit: int = 1000) -> list[DecisionRow]:
        """Decisions with a larger id, in order."""
        return await self.store.rows((await self._replicas.kept(name)).number, after, limit)

    async def recent(self, name: str, limit: int = 100) -> list[DecisionRow]:
        """The decisions asked last, the newest first."""
        return await self.store.recent((await self._replicas.kept(name)).number, limit)

    async def _followed(self, name: str) -> Replica:
        replica = await self._replica(name)
        if self.store.shared:
            await self._replicas.follow(replica.number)
        return replica


def _check_text(what: str, text: str) -> None:
    """Refuse what a database cannot hold."""
    if "\0" in text or (not text.isascii() and text.encode(errors="ignore").decode() != text):
        raise InvalidArgument(f"{what} must be text without NUL characters and lone surrogates, got {quoted(text)}")
