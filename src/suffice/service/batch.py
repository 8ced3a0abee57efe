"""One batch: asks decided and tells settled on what the store has found, nothing changed until the store has written it.

Each request keeps its own result or error: one that is wrong takes no other down with it.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from suffice.errors import SufficeError, UnknownDecision
from suffice.kernels.rows import copy_of
from suffice.numbers import ONE_SUCCESS
from suffice.promise.account import SAFE, SKIP, Account, amend, settle
from suffice.service.errors import Conflict, Gone, status_of
from suffice.service.records import (
    AMENDED,
    EXPIRED,
    PENDING,
    TOLD,
    AskRequest,
    DecisionRow,
    IssuedDecision,
    Reply,
    TellResult,
)
from suffice.service.replica import AccountSession, Replica
from suffice.service.stores.base import AccountKey, Changes, Shards

log = logging.getLogger("suffice.service")

SLICE: Final = 100  # outcomes learned from before others have their turn
KEPT: Final = 24 * 3600.0  # seconds that the answer to an ask with an idempotency key is kept


@dataclass(slots=True, eq=False)
class QueuedAsk:
    """A request for decisions."""

    replica: Replica
    wanted: AskRequest
    allowed: Any
    key: str | None
    digest: str
    size: int  # how many decisions it is about
    done: asyncio.Future[list[IssuedDecision]]
    result: list[IssuedDecision] | None = None
    error: Exception | None = None


@dataclass(slots=True, eq=False)
class QueuedTell:
    """Outcomes, checked: (decision, units, cost); or, with `expire`, decisions to be given up."""

    replica: Replica
    outcomes: list[tuple[int, int, float | None]]
    size: int
    done: asyncio.Future[list[TellResult]]
    expire: bool = False
    result: list[TellResult] | None = None
    error: Exception | None = None


@dataclass(slots=True)
class Batch:
    """A batch of requests, as stores take it."""

    requests: Sequence[QueuedAsk | QueuedTell]
    now: float
    asks: set[AccountKey] = field(default_factory=set)
    keys: set[tuple[int, str]] = field(default_factory=set)
    tells: list[tuple[int, int]] = field(default_factory=list)
    settled: list[tuple[Replica, DecisionRow]] = field(default_factory=list)
    replicas: set[Replica] = field(default_factory=set)
    behind: set[int] = field(default_factory=set)  # selectors of which other processes know more
    asked: bool = False
    _sessions: dict[AccountKey, AccountSession] = field(default_factory=dict)

    def __post_init__(self) -> None:
        told: set[tuple[int, int]] = set()
        for request in self.requests:
            number = request.replica.number
            self.replicas.add(request.replica)
            if isinstance(request, QueuedTell):
                told.update((number, decision) for decision, _, _ in request.outcomes)
                continue
            self.asks.add((number, ""))
            self.asks.add((number, request.wanted.group or ""))
            if request.key is not None:
                self.keys.add((number, request.key))
        self.tells = sorted(told)

    # --- asks

    def ask(self, shard: int, found: Mapping[AccountKey, Shards], replies: Mapping[tuple[int, str], Reply]) -> Changes:
        """Decide the asks."""
        changes, known = Changes(), dict(replies)
        with self._held():
            self._sessions = {}
            for request in self.requests:
                if isinstance(request, QueuedAsk):
                    self._answer(request, shard, found, known, changes)
            self._close(changes)
        return changes

    def _held(self) -> contextlib.ExitStack:
        """Hold all replicas until every request is answered: nobody learns or saves between two of them."""
        held = contextlib.ExitStack()
        for replica in self.replicas:
            held.enter_context(replica.lock)
        return held

    def _answer(
        self,
        request: QueuedAsk,
        shard: int,
        found: Mapping[AccountKey, Shards],
        known: dict[tuple[int, str], Reply],
        changes: Changes,
    ) -> None:
        request.result = request.error = None
        replica, key, before, group = request.replica, request.key, len(changes.asked), request.wanted.group or ""
        try:
            if group or request.wanted.contexts is not None:
                replica.detached.check(request.wanted.contexts, group or None)  # before there is a group for it
            main = self._session(replica, "", shard, found)
            own = self._session(replica, group, shard, found) if group else main
            earlier = None if key is None else known.get((replica.number, key))
            if earlier is not None and earlier.at > self.now - KEPT:
                request.result = _again(earlier, request)
                return
            account = copy_of(own.account)  # which takes the place of the session's if nothing fails
            request.result = self._decide(request, account, main.asked, changes.asked)
            if key is not None:
                reply = Reply(replica.number, key, request.digest, _text(request.result), self.now)
                known[(replica.number, key)] = reply
                changes.replies.append(reply)
            own.account = account
            for session in {main, own} if request.wanted.audit else ():
                session.asked += request.size
        except Exception as error:
            del changes.asked[before:]
            _failed(request, error)

    def _decide(
        self, request: QueuedAsk, account: Account, identity: int, rows: list[DecisionRow]
    ) -> list[IssuedDecision]:
        replica, wanted = request.replica, request.wanted
        after, result = replica.plan.expire_after, []
        due = None if after is None else self.now + after
        for context in wanted.contexts or [None] * request.size:
            choice, note = replica.decide(account, wanted, request.allowed, context)
            arm, role, price = choice.arm, choice.role, choice.price
            if wanted.audit:
                rows.append(DecisionRow(replica.number, identity, wanted.group or "", arm, price, self.now, due, note))
            asked = identity if wanted.audit else None
            result.append(IssuedDecision(asked, arm, replica.option(arm), price, role == SAFE, role == SKIP))
            identity += 1
        return result

    def _session(self, replica: Replica, group: str, shard: int, found: Mapping[AccountKey, Shards]) -> AccountSession:
        whose = (replica.number, group)
        session = self._sessions.get(whose)
        if session is None:
            shards = found.get(whose, {})
            session = self._sessions[whose] = AccountSession(replica, shard, shards)
            for number, one in shards.items():
                if not group and number != shard and one.events > replica.seen.get(number, 0):
                    self.behind.add(replica.number)
        return session

    def _close(self, changes: Changes) -> None:
        for (number, group), session in self._sessions.items():
            session.replica.detached.see(group, session.account)
            shard = session.shard()
            if shard != session.own:
                changes.shards[(number, group)] = shard

    # --- tells

    def tell(
        self, shard: int, found: Mapping[AccountKey, Shards], rows: Mapping[tuple[int, int], DecisionRow]
    ) -> Changes:
        """Settle the tells."""
        changes, now = Changes(), dict(rows)
        with self._held():
            self._sessions, self.settled = {}, []
            for request in self.requests:
                if isinstance(request, QueuedTell):
                    self._settle_all(request, shard, found, now, changes)
            self._close(changes)
        # A decision that expires and is amended in one go is written once, as it is in the end: PostgreSQL would take either.
        changes.settled = list({(row.selector, row.id): row for row in changes.settled}.values())
        return changes

    def _settle_all(
        self,
        request: QueuedTell,
        shard: int,
        found: Mapping[AccountKey, Shards],
        rows: dict[tuple[int, int], DecisionRow],
        changes: Changes,
    ) -> None:
        request.error, results = None, []
        for decision, units, cost in request.outcomes:
            row = rows.get((request.replica.number, decision))
            try:
                results.append(self._settle(request, row, decision, units, cost, shard, found, rows, changes))
            except SufficeError as error:
                results.append(TellResult(decision, status_of(error), detail=str(error)))
            except Exception as error:
                _failed(request, error)
                return
        request.result = results

    def _settle(
        self, request: QueuedTell, row: DecisionRow | None, decision: int, units: int, cost: float | None, shard: int,
        found: Mapping[AccountKey, Shards], rows: dict[tuple[int, int], DecisionRow], changes: Changes,
    ) -> TellResult:  # fmt: skip
        replica = request.replica
        if row is None:
            raise _missing(replica, decision, found.get((replica.number, ""), {}))
        if row.state in (TOLD, AMENDED) or (request.expire and row.state != PENDING):
            return _told_before(request, row, units, cost)
        if not request.expire:
            replica.selector.check_cost(row.arm, cost)
        main = self._session(replica, "", shard, found)
        own = self._session(replica, row.group, shard, found) if row.group else main
        late = row.state == EXPIRED
        new = DecisionRow(
            row.selector, row.id, row.group, row.arm, row.price, row.asked_at, row.due, row.record,
            state=EXPIRED if request.expire else AMENDED if late else TOLD, units=units, cost=cost, told_at=self.now,
            shard=shard, seq=main.events + 1, expired_shard=row.shard if late else None, expired_seq=row.seq if late else None,
            expired_at=row.told_at if late else None,
        )  # fmt: skip
        spent = replica.spent(new)
        role, account = replica.menu.kind_of(row.arm), own.account
        if late:  # from here on nothing fails: what is counted is written
            amend(account, role, account.target, units)
        else:
            settle(account, role, account.target, units, request.expire)
        main.events += 1
        own.cost += spent
        rows[(row.selector, row.id)] = new
        changes.settled.append(new)
        self.settled.append((replica, new))
        return TellResult(decision, 200, "amended" if late else "expired" if request.expire else "counted")

    # --- afterwards

    async def finish(self) -> None:
        """The store has written it: answer, and learn. (Who was answered gets its turn only when we wait.)"""
        for request in self.requests:
            if request.done.done():
                continue  # nobody waits any more
            if request.error is not None:
                request.done.set_exception(request.error)
            else:
                request.done.set_result(request.result)  # type: ignore[arg-type]
                if isinstance(request, QueuedAsk) and request.wanted.group and request.wanted.audit:
                    request.replica.groups.add(request.wanted.group)
        for place, (replica, row) in enumerate(self.settled, 1):
            with replica.lock:
                if row.shard is not None and row.seq == replica.seen.get(row.shard, 0) + 1:
                    replica.learn(row)
                else:  # this shard was another process's before, of which not all is known yet
                    self.behind.add(replica.number)
            if place % SLICE == 0:
                await asyncio.sleep(0)

    def spare(self, error: Exception) -> None:
        """The tells could not be written; the asks were."""
        self.settled = []
        for request in self.requests:
            if isinstance(request, QueuedTell):
                request.error = error

    def fail(self, error: Exception) -> None:
        """The store could not write it."""
        for request in self.requests:
            if not request.done.done():
                request.done.set_exception(error)


def _failed(request: QueuedAsk | QueuedTell, error: Exception) -> None:
    if not isinstance(error, SufficeError):
        log.exception("selector %s: a request failed", request.replica.name)
    request.error = error


def _missing(replica: Replica, decision: int, shards: Shards) -> SufficeError:
    if 0 <= decision < sum(shard.asked for shard in shards.values()):  # only where not all is kept
        return Gone(f"decision {decision} was settled too long ago to be remembered; nothing was changed")
    return UnknownDecision(f"decision {decision} was never asked of selector {replica.name!r}")


def _told_before(request: QueuedTell, row: DecisionRow, units: int, cost: float | None) -> TellResult:
    if request.expire or (row.units == units and row.cost == cost):
        return TellResult(row.id, 200, "unchanged")
    said = f"success {(row.units or 0) / ONE_SUCCESS:g}" + ("" if row.cost is None else f" and cost {row.cost:g}")
    raise Conflict(f"decision {row.id} was told {said} before; a different outcome changes nothing")


def _text(result: list[IssuedDecision]) -> str:
    return json.dumps([one._asdict() for one in result])


def _again(reply: Reply, request: QueuedAsk) -> list[IssuedDecision]:
    if reply.digest != request.digest:
        raise Conflict(f"idempotency key {reply.key!r} was used before with another body; use a new key for a new ask")
    return [IssuedDecision(**one) for one in json.loads(reply.text)]
