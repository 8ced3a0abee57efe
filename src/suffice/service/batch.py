"""One batch: asks and tells of many requests, decided and settled on what the store has read, in one transaction.

Nothing is answered or learned until the store has written the batch; only the counts that prices look at are noted before, and
the next batch notes them again. Each request has its own result or error: a bad request does not affect the others.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from suffice.errors import SufficeError, UnknownDecision
from suffice.kernels.rows import Mask, copy_of
from suffice.numbers import ONE_SUCCESS
from suffice.promise.account import amend, cancel, reserve, settle, skip
from suffice.promise.record import SAFE, SKIP, Account, Reservation
from suffice.selector.events import LOOK_EVERY
from suffice.service.errors import Conflict, Gone, TooMany, status_of
from suffice.service.records import (
    AMENDED,
    CANCELLED,
    EXPIRED,
    PENDING,
    SKIPPED,
    STATES,
    TOLD,
    AskRequest,
    DecisionRow,
    IssuedDecision,
    Reply,
    TellResult,
)
from suffice.service.replica import AccountSession, Replica
from suffice.service.stores.base import (
    AccountKey,
    Changes,
    Counts,
    DecisionKey,
    Decisions,
    Replies,
    ReplyKey,
)

log = logging.getLogger("suffice.service")

RESULTS: Final = {TOLD: "counted", EXPIRED: "expired", CANCELLED: "cancelled"}
LEARN_SLICE: Final = 100  # outcomes learned from before other tasks run
REPLY_LIFETIME: Final = 24 * 3600.0  # seconds that the reply to an ask with an idempotency key is held


class Settlement(NamedTuple):
    """An outcome, checked. The success is in billionths."""

    decision: int
    units: int
    cost: float | None


@dataclass(slots=True, eq=False)
class QueuedAsk:
    """A request for decisions."""

    replica: Replica
    wanted: AskRequest
    allowed: Mask | None  # by arm; None: all
    key: str | None
    digest: str
    size: int  # decisions
    done: asyncio.Future[list[IssuedDecision]]
    playing_safe: bool = False
    result: list[IssuedDecision] | None = None
    error: Exception | None = None


@dataclass(slots=True, eq=False)
class QueuedTell:
    """A request to settle decisions: as TOLD, as EXPIRED (failures whose outcome is unknown), or as CANCELLED."""

    replica: Replica
    outcomes: list[Settlement]
    size: int  # outcomes
    done: asyncio.Future[list[TellResult]]
    how: int = TOLD
    result: list[TellResult] | None = None
    error: Exception | None = None


class Transaction:
    """The accounts that a transaction has used so far, and its changes."""

    def __init__(self, shard: int, counts: Counts) -> None:
        self.changes = Changes()
        self.behind: set[int] = set()
        self._shard, self._counts = shard, counts
        self._sessions: dict[AccountKey, AccountSession] = {}

    def session(self, replica: Replica, group: str) -> AccountSession:
        """The account of a selector or of a group, opened once."""
        key = (replica.number, group)
        session = self._sessions.get(key)
        if session is None:
            shards = self._counts.get(key, {})
            session = self._sessions[key] = AccountSession(replica, self._shard, shards)
            for number, shard in shards.items() if not group else ():
                if number != self._shard and shard.events > replica.seen.get(number, 0):
                    self.behind.add(replica.number)
        return session

    def missing(self, replica: Replica, decision: int) -> SufficeError:
        """The error for a decision that the store does not have."""
        shards = self._counts.get((replica.number, ""), {})
        if 0 <= decision < sum(shard.asked for shard in shards.values()):  # the memory store forgets old decisions
            return Gone("the decision was settled too long ago to be remembered; nothing was changed")
        return UnknownDecision(f"the decision was never asked of selector {replica.name!r}")

    def finish(self) -> Changes:
        """All changes, the new counts of this process included."""
        for (number, group), session in self._sessions.items():
            session.replica.detached.see(group, session.account)
            shard = session.shard()
            if shard != session.stored:
                self.changes.shards[(number, group)] = shard
        return self.changes


@dataclass(slots=True)
class Batch:
    """A batch of requests, as `Work` for a store."""

    requests: Sequence[QueuedAsk | QueuedTell]
    now: float
    most: int  # decisions of a selector that may be outstanding
    asks: set[AccountKey] = field(default_factory=set)
    keys: set[ReplyKey] = field(default_factory=set)
    tells: list[DecisionKey] = field(default_factory=list)
    asks_committed: bool = False
    behind: set[int] = field(default_factory=set)  # selectors of which the store has events that are not learned yet
    _settled: list[tuple[Replica, DecisionRow]] = field(default_factory=list)
    _skipped: list[tuple[Replica, DecisionRow]] = field(default_factory=list)
    _decided: list[tuple[Replica, str, Account]] = field(default_factory=list)
    _replicas: set[Replica] = field(default_factory=set)

    def __post_init__(self) -> None:
        tells: set[DecisionKey] = set()
        for request in self.requests:
            number = request.replica.number
            self._replicas.add(request.replica)
            if isinstance(request, QueuedTell):
                tells.update((number, outcome.decision) for outcome in request.outcomes)
                continue
            self.asks.add((number, ""))
            self.asks.add((number, request.wanted.group or ""))
            if request.key is not None:
                self.keys.add((number, request.key))
        self.tells = sorted(tells)

    def _locked(self) -> contextlib.ExitStack:
        """Hold the locks of all replicas, so that no task learns or saves between two requests."""
        locks = contextlib.ExitStack()
        for replica in self._replicas:
            locks.enter_context(replica.lock)
        return locks

    # --- asks

    def ask(self, shard: int, counts: Counts, replies: Replies) -> Changes:
        """Decide the asks."""
        transaction, known = Transaction(shard, counts), dict(replies)
        with self._locked():
            self._skipped, self._decided = [], []
            for request in self.requests:
                if isinstance(request, QueuedAsk):
                    self._answer(request, transaction, known)
            changes = transaction.finish()
        self.behind |= transaction.behind
        return changes

    def _answer(self, request: QueuedAsk, transaction: Transaction, replies: dict[ReplyKey, Reply]) -> None:
        request.result = request.error = None
        replica, key, group = request.replica, request.key, request.wanted.group or ""
        changes = transaction.changes
        before = len(changes.asked)
        try:
            if group or request.wanted.contexts is not None:
                replica.detached.check(request.wanted.contexts, group or None)  # before the group gets an account
            main = transaction.session(replica, "")
            session = transaction.session(replica, group) if group else main
            earlier = None if key is None else replies.get((replica.number, key))
            if earlier is not None and earlier.at > self.now - REPLY_LIFETIME:
                request.result = _repeated(earlier, request)
                return
            if request.wanted.audit and main.asked - main.settled + request.size > self.most:
                raise _no_room(request, main, self.most)
            account = copy_of(session.account)  # replaces it if nothing fails
            request.result = self._decide(request, account, main, changes.asked)
            if key is not None:
                reply = Reply(replica.number, key, request.digest, _reply_text(request.result), self.now)
                replies[(replica.number, key)] = reply
                changes.replies.append(reply)
            session.account = account
            if session.asked % LOOK_EVERY + request.size >= LOOK_EVERY:
                self._decided.append((replica, group, account))
            for row in changes.asked[before:]:
                if row.state == SKIPPED:
                    main.events += 1
                    main.settled += 1
                    self._skipped.append((replica, row))
            for each in {main, session} if request.wanted.audit else ():
                each.asked += request.size
        except Exception as error:
            del changes.asked[before:]
            _fail(request, error)

    def _decide(
        self, request: QueuedAsk, account: Account, main: AccountSession, rows: list[DecisionRow]
    ) -> list[IssuedDecision]:
        replica, wanted = request.replica, request.wanted
        after, result = replica.plan.expire_after, []
        due = None if after is None else self.now + after
        identity, event = main.asked, main.events
        for context in wanted.contexts or [None] * request.size:
            choice, record = replica.decide(
                account, wanted, request.allowed, context, playing_safe=request.playing_safe
            )
            arm, role, price = choice.arm, choice.role, choice.price
            if wanted.audit:
                row = DecisionRow(
                    replica.number, identity, wanted.group or "", arm, price, choice.expects, 0, self.now, due, record
                )
                if role == SKIP:  # it is sure to fail, so it is settled now
                    skip(account)
                    event += 1
                    row = replace(
                        row, due=None, expects=0, state=SKIPPED, units=0, told_at=self.now, shard=main.number, seq=event
                    )
                else:
                    row.exempt = reserve(account, role, choice.expects)
                rows.append(row)
            decision = identity if wanted.audit else None
            result.append(IssuedDecision(decision, arm, replica.option(arm), price, role == SAFE, role == SKIP))
            identity += 1
        return result

    # --- tells

    def tell(self, shard: int, counts: Counts, decisions: Decisions) -> Changes:
        """Settle the tells."""
        transaction, rows = Transaction(shard, counts), dict(decisions)
        with self._locked():
            self._settled = []
            for request in self.requests:
                if isinstance(request, QueuedTell):
                    self._settle_all(request, transaction, rows)
            changes = transaction.finish()
        self.behind |= transaction.behind
        # A decision that expires and is amended in the same batch is written once, in its last state.
        changes.settled = list({(row.selector, row.id): row for row in changes.settled}.values())
        return changes

    def _settle_all(self, request: QueuedTell, transaction: Transaction, rows: dict[DecisionKey, DecisionRow]) -> None:
        request.error, results = None, []
        for outcome in request.outcomes:
            try:
                results.append(self._settle(request, outcome, transaction, rows))
            except SufficeError as error:
                results.append(TellResult(outcome.decision, status_of(error), detail=str(error)))
            except Exception as error:
                _fail(request, error)
                return
        request.result = results

    def _settle(
        self,
        request: QueuedTell,
        outcome: Settlement,
        transaction: Transaction,
        rows: dict[DecisionKey, DecisionRow],
    ) -> TellResult:
        replica, how = request.replica, request.how
        row = rows.get((replica.number, outcome.decision))
        if row is None:
            raise transaction.missing(replica, outcome.decision)
        if row.state in (TOLD, AMENDED, CANCELLED) or (how != TOLD and row.state != PENDING):
            return _already_settled(row, outcome, how)
        if row.state == SKIPPED and outcome.units == 0:
            return TellResult(row.id, 200, "unchanged")
        if how == TOLD:
            replica.selector.costs.check(row.arm, outcome.cost)
        main = transaction.session(replica, "")
        session = transaction.session(replica, row.group) if row.group else main
        late = row.state in (EXPIRED, SKIPPED)
        settled = DecisionRow(
            row.selector, row.id, row.group, row.arm, row.price, row.expects, row.exempt, row.asked_at, row.due, row.record,
            state=AMENDED if late else how, units=outcome.units, cost=outcome.cost, told_at=self.now,
            shard=main.number, seq=main.events + 1, expired_shard=row.shard if late else None,
            expired_seq=row.seq if late else None, expired_at=row.told_at if late else None,
        )  # fmt: skip
        spent = replica.spent(settled)
        account = session.account
        played = Reservation(replica.menu.kind_of(row.arm), account.target, row.expects, row.exempt)
        if late:  # nothing below raises: what is counted here is written
            amend(account, played, outcome.units)
        elif how == CANCELLED:
            cancel(account, played)
        else:
            settle(account, played, outcome.units, how == EXPIRED)
        main.events += 1
        main.tells += int(how == TOLD)
        main.settled += int(not late)
        session.cost += spent
        rows[(row.selector, row.id)] = settled
        transaction.changes.settled.append(settled)
        self._settled.append((replica, settled))
        return TellResult(row.id, 200, "amended" if late else RESULTS[how])

    # --- after the transaction

    async def finish(self) -> None:
        """Answer the requests, then learn from their outcomes. Waiting requests resume at the first await."""
        for request in self.requests:
            if request.done.done():
                continue  # cancelled
            if request.error is not None:
                request.done.set_exception(request.error)
            else:
                request.done.set_result(request.result)  # type: ignore[arg-type]
                if isinstance(request, QueuedAsk) and request.wanted.group and request.wanted.audit:
                    request.replica.groups.add(request.wanted.group)
        if self._decided:
            self._announce()
        for place, (replica, row) in enumerate([*self._skipped, *self._settled], 1):
            with replica.lock:
                if row.shard is not None and row.seq == replica.seen.get(row.shard, 0) + 1:
                    replica.learn(row)
                else:  # another process used this shard before, and not all of its events are learned yet
                    self.behind.add(replica.number)
            if place % LEARN_SLICE == 0:
                await asyncio.sleep(0)

    def _announce(self) -> None:
        """Announce the events that the counts of this batch show."""
        for replica, group, account in self._decided:
            with replica.lock:
                replica.look(group, account, self.now)

    def fail_tells(self, error: Exception) -> None:
        """Fail the tells: the store wrote the asks only."""
        self._settled = []
        for request in self.requests:
            if isinstance(request, QueuedTell):
                request.error = error

    def fail(self, error: Exception) -> None:
        """Fail every request that has no answer yet."""
        for request in self.requests:
            if not request.done.done():
                request.done.set_exception(error)


def _no_room(request: QueuedAsk, main: AccountSession, most: int) -> TooMany:
    """The error for an ask beyond the most decisions that may be outstanding: the store must hold each of them."""
    return TooMany(
        f"selector {request.replica.name!r} has {main.asked - main.settled:,} decisions outstanding, of at most {most:,} on "
        "this server: tell their outcomes, or set expire_after in its plan, so that they expire"
    )


def _fail(request: QueuedAsk | QueuedTell, error: Exception) -> None:
    if not isinstance(error, SufficeError):
        log.exception("selector %s: a request failed", request.replica.name)
    request.error = error


def _already_settled(row: DecisionRow, outcome: Settlement, how: int) -> TellResult:
    same = row.units == outcome.units and row.cost == outcome.cost
    if how == EXPIRED or row.state == how == CANCELLED or (how == TOLD and row.state != CANCELLED and same):
        return TellResult(row.id, 200, "unchanged")
    if row.state == CANCELLED:
        raise Conflict("the decision was cancelled, so it has no outcome; nothing was changed")
    if how == CANCELLED:
        raise Conflict(f"the decision is {STATES[row.state]} already, so it cannot be cancelled; nothing was changed")
    told = f"success {(row.units or 0) / ONE_SUCCESS:g}" + ("" if row.cost is None else f" and cost {row.cost:g}")
    raise Conflict(f"the decision already has the outcome {told}; the new one was ignored")


def _reply_text(result: list[IssuedDecision]) -> str:
    return json.dumps([decision._asdict() for decision in result])


def _repeated(reply: Reply, request: QueuedAsk) -> list[IssuedDecision]:
    if reply.digest != request.digest:
        raise Conflict(f"idempotency key {reply.key!r} was used before with another body; use a new key for a new ask")
    return [IssuedDecision(**values) for values in json.loads(reply.text)]
