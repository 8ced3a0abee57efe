"""The service without HTTP: selectors by name, asks and tells through group commit, overviews, history and certificates."""

import asyncio
import contextlib
import logging
import math
import re
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Final

from suffice.context.learner import ContextReport
from suffice.errors import InvalidArgument, SufficeError, quoted
from suffice.numbers import cost_told, success_units
from suffice.precompile import warmup
from suffice.promise.certificate import Certificate
from suffice.selector.records import OptionReport
from suffice.service.batch import REPLY_LIFETIME, Batch, QueuedAsk, QueuedTell, Settlement
from suffice.service.errors import Conflict, Gone, NoSuchSelector, NotAllowed, StoredPlan, TooMany
from suffice.service.group_commit import GroupCommitter
from suffice.service.overview import OverviewCache, certified
from suffice.service.plans import Plan
from suffice.service.records import (
    CANCELLED,
    EXPIRED,
    TOLD,
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

EXPIRE_EVERY: Final = 0.5  # seconds, as the next three
SAVE_EVERY: Final = 1.0
PRUNE_EVERY: Final = 600.0
SET_CLOCK_EVERY: Final = 60.0
EXPIRE_PAGE: Final = 1000  # decisions that expire in one step
LONGEST_STEP: Final = 0.01  # seconds, after which other tasks run
NAME_PART: Final = re.compile("[A-Za-z0-9._-]*")
MANY_GROUPS: Final = 50  # from here on a certificate is computed in a thread


class SelectorService:
    """Serves the selectors of a store. One for each server process."""

    def __init__(self, store: Store, limits: Limits | None = None, clock: Callable[[], float] | None = None) -> None:
        self.store, self.limits = store, limits or Limits()
        # Servers that share a store use its clock.
        self.clock: Callable[[], float] = clock or (lambda: time.time() + store.ahead)
        self.ready = False
        self._replicas = ReplicaCache(store, self.clock)
        self._committer = GroupCommitter(store, self.limits, self.clock, self._catch_up_after)
        self._tasks: set[asyncio.Task[None]] = set()
        self._unreadable: set[int] = set()  # selectors whose plans cannot be read
        self._overviews = OverviewCache()

    # --- start and stop

    async def start(self) -> None:
        """Open the store and start the periodic tasks."""
        await self.store.open()
        await self.set_clock()
        await asyncio.to_thread(warmup)
        for task in (
            self._every(EXPIRE_EVERY, self.expire_overdue),
            self._every(SAVE_EVERY, self._replicas.save_and_evict),
            self._every(PRUNE_EVERY, self.prune),
            self._every(SET_CLOCK_EVERY, self.set_clock),
        ):
            self._begin(task)
        self.ready = True

    async def stop(self) -> None:
        """Finish the queued requests, save what was learned and close the store."""
        self.ready = False
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._committer.drain()
        with contextlib.suppress(SufficeError):  # what was learned can be learned again from the log
            await self._replicas.save_all()
        await self.store.close()

    def _begin(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _every(self, seconds: float, do: Callable[[], Coroutine[object, object, object]]) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await do()
            except SufficeError as error:
                log.warning("%s: %s", do.__name__, error)
            except Exception:
                log.exception("%s failed", do.__name__)

    def _catch_up_after(self, batch: Batch) -> None:
        for number in batch.behind:
            if self._replicas.is_due(number):
                self._begin(self._replicas.catch_up(number))

    async def expire_overdue(self) -> int:
        """Settle overdue decisions as failures; returns how many."""
        count = 0
        while True:
            overdue = await self.store.overdue(self.clock(), EXPIRE_PAGE, self._unreadable)
            settling = []
            for number in dict.fromkeys(selector for selector, _ in overdue):
                try:
                    replica = await self._replicas.numbered(number)
                except StoredPlan as error:
                    self._unreadable.add(number)
                    log.error("its decisions do not expire until its plan can be read: %s", error)
                    continue
                failures = [Settlement(identity, 0, None) for selector, identity in overdue if selector == number]
                settling.append(self._settle(replica, failures, EXPIRED))
            results = await asyncio.gather(*settling)
            expired = sum(result.result == "expired" for of_selector in results for result in of_selector)
            count += expired
            if len(overdue) < EXPIRE_PAGE or not expired:
                return count

    async def set_clock(self) -> None:
        """Read the clock of the store; if the clock went back, due times follow."""
        await self.store.set_clock(self.clock)

    async def prune(self) -> None:
        """Delete replies that have reached the end of their lifetime."""
        await self.store.prune(self.clock() - REPLY_LIFETIME)

    # --- selectors

    async def put(self, name: str, plan: Plan, *, confirm: bool = False) -> tuple[Overview, bool]:
        """The selector of this name, and True if it is new. Raises Conflict if it has another plan.

        `confirm`: do not make a selector; raise NotAllowed if there is none.
        """
        plan.check(self.limits)
        row = await self.store.selector(name)
        is_new = False
        if confirm and (row is None or row.archived is not None):
            raise NotAllowed(f"selector {name!r} is not there, and to make it takes a key with the scope manage")
        if row is None:
            await asyncio.to_thread(plan.selector)  # raises if the plan is bad, before anything is stored
            row, is_new = await self.store.add(name, plan.canonical, self.clock(), self.limits.selectors)
        stored = row
        if not is_new and not await asyncio.to_thread(lambda: read_plan(stored).same(plan)):
            raise Conflict(
                f"selector {name!r} exists with another plan; send its own plan, or make another selector with this one"
            )
        if row.archived is not None:
            await self.store.archive(name, None)
        self._replicas.forget(name)
        return await self.overview(name), is_new

    async def _stored(self, name: str) -> SelectorRow:
        """The selector of this name, as the store has it now."""
        row = await self.store.selector(name)
        if row is None:
            raise NoSuchSelector(f"there is no selector {name!r}; make one with PUT /v1/selectors/{name}")
        return row

    async def archive(self, name: str) -> Overview:
        """Archive a selector: it refuses asks and still takes outcomes."""
        row = await self._stored(name)
        if row.archived is None:
            await self.store.archive(name, self.clock())
        self._replicas.forget(name)
        return await self.overview(name)

    async def play_safe(self, name: str, on: bool) -> Overview:
        """Issue the safe option whatever happens, until it is switched off. Other servers follow within a second."""
        row = await self._stored(name)
        if on != (row.safe_since is not None):
            await self.store.play_safe(name, self.clock() if on else None)
        self._replicas.forget(name)
        return await self.overview(name)

    async def overview(self, name: str) -> Overview:
        """The overview of a selector."""
        row = await self._replicas.row(name)
        await self._replicas.of(row)  # the price needs what was learned
        return (await self._overviews_of([row]))[0]

    async def list_selectors(
        self, after: str = "", limit: int = 100, archived: bool = False, contains: str = ""
    ) -> tuple[list[Overview], str | None]:
        """A page of overviews by name, and the name after which the next page begins; None if this is the last.

        `contains`: only names that contain this text, in upper or lower case.
        """
        if NAME_PART.fullmatch(contains) is None:
            return [], None
        # Names are lower case, so all stores find the same.
        rows = await self.store.selectors(after, limit + 1, archived=archived, contains=contains.lower())
        more = rows[limit - 1].name if len(rows) > limit else None
        return await self._overviews_of(rows[:limit], skip_unreadable=True), more

    async def _overviews_of(self, rows: Sequence[SelectorRow], *, skip_unreadable: bool = False) -> list[Overview]:
        by_selector: dict[int, dict[AccountKey, Shards]] = {row.number: {} for row in rows}
        for account, shards in (await self.store.shards(list(by_selector))).items():
            by_selector[account[0]][account] = shards
        overviews, began = [], time.perf_counter()
        for row in rows:
            try:
                overviews.append(await self._overview_of(row, by_selector[row.number]))
            except StoredPlan as error:
                if not skip_unreadable:
                    raise
                log.error("left out of the list: %s", error)
            if time.perf_counter() - began > LONGEST_STEP:
                await asyncio.sleep(0)
                began = time.perf_counter()
        return overviews

    async def _overview_of(self, row: SelectorRow, counts: Mapping[AccountKey, Shards]) -> Overview:
        summary, replica = await self._replicas.summary(row), self._replicas.loaded(row)
        if len(counts) > MANY_GROUPS:
            return await asyncio.to_thread(self._overviews.build, row, summary, replica, counts)
        return self._overviews.get(row, summary, replica, counts)

    async def plan(self, name: str) -> Plan:
        """The plan of a selector."""
        return (await self._replica(name)).plan

    async def _replica(self, name: str) -> Replica:
        return await self._replicas.of(await self._replicas.row(name))

    # --- ask and tell

    async def ask(
        self, name: str, wanted: AskRequest, key: str | None = None, digest: str = ""
    ) -> list[IssuedDecision]:
        """Decide; returns once the decisions are durable. A repeated `key` with the same `digest` gets the same decisions."""
        row = await self._replicas.row(name)
        if row.archived is not None:
            raise Gone(
                f"selector {name!r} was archived, so nothing can be asked of it; PUT its plan again to bring it back"
            )
        replica = self._replicas.loaded(row) or await self._replicas.of(row)
        self._check_ask(replica, wanted, key)
        allowed = None if wanted.available is None else replica.allowed(wanted.available)
        done = asyncio.get_running_loop().create_future()
        request = QueuedAsk(replica, wanted, allowed, key, digest, wanted.count or 1, done, row.safe_since is not None)
        self._committer.put(request)
        return await request.done

    def _check_ask(self, replica: Replica, wanted: AskRequest, key: str | None) -> None:
        limits = self.limits
        if wanted.count is not None and not 1 <= wanted.count <= limits.list_length:
            raise InvalidArgument(f"count must be a number from 1 to {limits.list_length:,}, got {wanted.count}")
        if wanted.contexts is not None and len(wanted.contexts) != (wanted.count or 1):
            raise InvalidArgument(
                f"contexts must hold one for each of the {wanted.count or 1} decisions, got {len(wanted.contexts)}"
            )
        for argument, text in (("group", wanted.group), ("Idempotency-Key", key)):
            if text is not None:
                _check_text(argument, text)
        if wanted.group and wanted.group not in replica.groups and len(replica.groups) >= limits.groups:
            raise TooMany(f"a selector may have at most {limits.groups:,} groups, and {replica.name!r} has them")

    async def tell(self, name: str, outcomes: Sequence[Outcome]) -> list[TellResult]:
        """Settle decisions; returns a result for each outcome once they are durable."""
        if len(outcomes) > self.limits.list_length:
            raise InvalidArgument(
                f"outcomes must be at most {self.limits.list_length:,} at once, got {len(outcomes):,}"
            )
        settlements = [
            Settlement(decision, success_units(success), None if cost is None else cost_told(cost))
            for decision, success, cost in outcomes
        ]
        return await self._settle(await self._replica(name), settlements)

    async def cancel(self, name: str, decision: int) -> TellResult:
        """Count an outstanding decision as one that was never carried out."""
        return (await self._settle(await self._replica(name), [Settlement(decision, 0, None)], CANCELLED))[0]

    async def _settle(self, replica: Replica, outcomes: list[Settlement], how: int = TOLD) -> list[TellResult]:
        request = QueuedTell(replica, outcomes, len(outcomes), asyncio.get_running_loop().create_future(), how)
        self._committer.put(request)
        return await request.done

    # --- reports

    async def certificate(self, name: str, group: str | None = None) -> Certificate:
        """The certificate of a selector, or of one of its groups."""
        row = await self._replicas.row(name)
        if group is None:
            return (await self._overviews_of([row]))[0].certificate
        summary = await self._replicas.summary(row)
        counts = await self.store.shards([row.number])
        if len(counts) > MANY_GROUPS:
            return await asyncio.to_thread(certified, summary, row.number, counts, self._overviews.groups, group)
        return certified(summary, row.number, counts, self._overviews.groups, group)

    async def options(self, name: str, most: int | None = None) -> list[OptionReport]:
        """A row for each arm, or for the `most` played ones, as far as this process has learned."""
        replica = await self._current_replica(name)
        with replica.lock:
            return replica.selector.options(most)

    async def context_report(self, name: str) -> ContextReport:
        """How the model of a selector does."""
        replica = await self._current_replica(name)
        if replica.plan.model is None:
            raise InvalidArgument(
                f'selector {name!r} has no model that looks at contexts: its plan needs "model": "auto"'
            )
        with replica.lock:
            return replica.selector.context_report()

    async def history(
        self, name: str, bins: int, since: float = -math.inf, width: float | None = None
    ) -> tuple[list[Bin], float]:
        """The history of a selector (see `History.bins`), and the least width of a bin."""
        replica = await self._current_replica(name)
        bounds = (await self.certificate(name)).bounds_after
        with replica.lock:
            history = replica.history
            return history.bins(bins, bounds, replica.promise.rate, since, width), history.width

    async def options_of(self, name: str, arms: Iterable[int]) -> dict[int, object]:
        """The options of these arms, as JSON has them."""
        replica = await self._replica(name)
        return {arm: replica.option(arm) for arm in arms}

    async def decisions(self, name: str, after: int = -1, limit: int = 1000) -> list[DecisionRow]:
        """Decisions with an id above `after`, in order."""
        return await self.store.rows((await self._replicas.row(name)).number, after, limit)

    async def recent(self, name: str, limit: int = 100) -> list[DecisionRow]:
        """The latest decisions, newest first."""
        return await self.store.recent((await self._replicas.row(name)).number, limit)

    async def _current_replica(self, name: str) -> Replica:
        replica = await self._replica(name)
        if self.store.shared:
            await self._replicas.catch_up(replica.number)
        return replica


def _check_text(argument: str, text: str) -> None:
    """Refuse text that a database cannot store."""
    if "\0" in text or (not text.isascii() and text.encode(errors="ignore").decode() != text):
        raise InvalidArgument(f"{argument} must be text without NUL characters and lone surrogates, got {quoted(text)}")
