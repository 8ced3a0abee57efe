"""In-process replica of a selector: it proposes options and learns from outcomes; the counts live in the store.

A replica decides on accounts that are built from the store's counts, with the library's own functions, and learns after the
transaction is durable. So every choice and every count goes through the code that the library proves and tests.
"""

import json
import logging
import threading
from collections import Counter, deque
from collections.abc import Sequence
from typing import Final, NamedTuple, TypedDict

from suffice.context.learner import ContextLearner, DecisionRecord
from suffice.errors import SufficeError
from suffice.kernels.rows import Mask, copy_of
from suffice.promise.record import SAFE, Account
from suffice.promise.rules import Promise
from suffice.selector.detached import Detached
from suffice.selector.events import RECENT, Watch, counts_in
from suffice.selector.selector import Selector
from suffice.selector.verbs import Choice
from suffice.service.count_shards import shard_delta, visible_counts
from suffice.service.history import History
from suffice.service.plans import Plan, arm_of, option_json
from suffice.service.records import AMENDED, CANCELLED, EXPIRED, AskRequest, DecisionRow, Notice, Shard
from suffice.service.stores.base import Shards

log = logging.getLogger("suffice.service")

MOST_OPTIONS: Final = 4096  # options whose JSON is cached
MOST_WATCHES: Final = 1000  # groups whose counts are watched
NOTICES: Final = 20  # events that are kept


class ContextRecord(TypedDict, total=False):
    """What the store holds of a decision with a context. Only `context` is there if the limits left no choice."""

    context: object
    prediction: float | None  # the success that the model expected
    price: float
    player: int  # as in `DecisionRecord`
    from_model: bool


class PlanSummary(NamedTuple):
    """What is known of a selector before anything that it learned is loaded."""

    promise: Promise
    bounds: str
    chooser: str
    model: str | None
    safe_cost: float
    expires: bool

    @staticmethod
    def of(plan: Plan, selector: Selector | None = None) -> "PlanSummary":
        """The summary of a plan; `selector` may be one that was made from it."""
        made = selector or plan.selector()
        bounds, chooser = str(made.learning.bounds), str(made.learning.chooser)  # a plan has names only
        expires = plan.expire_after is not None
        return PlanSummary(made.promise, bounds, chooser, plan.model, made.menu.safe_cost, expires)


class Replica:
    """A selector in this process. Callers hold `lock` while they use it."""

    def __init__(self, number: int, name: str, plan: Plan) -> None:
        self.number, self.name, self.plan = number, name, plan
        self.menu = plan.menu()
        self.selector = plan.selector()
        self.detached = Detached(self.selector)
        self.promise: Promise = self.selector.promise
        self.empty_account = self.selector.new_account()
        self.lock = threading.RLock()
        self.history = History()
        self.groups: set[str] = set()
        self.seen: dict[int, int] = {}  # by shard: the last event learned from
        self.saved = 0  # events learned from at the last save
        self.saved_at = 0.0
        self.save_seconds = 0.0  # duration of the last save
        self.used_at = 0.0
        self._options: dict[int, object] = {}
        self._warned = False
        self._watches: dict[str, Watch] = {}  # by group
        self.notices: deque[Notice] = deque(maxlen=NOTICES)
        self.noticed: Counter[str] = Counter()

    @property
    def learned(self) -> int:
        """The number of events learned from."""
        return sum(self.seen.values())

    def option(self, arm: int) -> object:
        """An option as JSON has it."""
        if arm not in self._options:
            if len(self._options) >= MOST_OPTIONS:
                self._options.clear()
            self._options[arm] = option_json(self.menu, arm)
        return self._options[arm]

    def allowed(self, available: Sequence[object]) -> Mask | None:
        """Which arms may be played if these options, given as JSON, are available."""
        return self.selector.allowed([self.menu.option(arm_of(self.menu, option)) for option in available])

    def decide(
        self, account: Account, wanted: AskRequest, allowed: Mask | None, context: object, *, playing_safe: bool
    ) -> tuple[Choice, str | None]:
        """A choice, and the record to store with the decision."""
        choice = self.detached.decide(
            account, wanted.group or "", allowed, context, insist=wanted.insist, playing_safe=playing_safe
        )
        if not wanted.audit:
            account.unaudited += 1
            return choice, None
        text = None
        if context is not None and isinstance(self.detached.learner, ContextLearner):
            record = ContextRecord(context=context)
            if choice.note is not None:  # the limits left a choice
                _, prediction, price, player = choice.note
                record |= {
                    "prediction": prediction,
                    "price": price,
                    "player": player,
                    "from_model": not choice.unbiased,
                }
            text = json.dumps(record)
        return choice, text

    def price(self, group: str, account: Account) -> float:
        """The current price of one success."""
        return self.detached.position(account, group).price

    def spent(self, row: DecisionRow) -> float:
        """What settling a decision adds to the cost: expiry has already added a known cost, and cancelling adds none."""
        if row.state == CANCELLED:
            return 0.0
        return self.selector.costs.booked(row.arm, row.cost, late=row.state == AMENDED)

    def look(self, group: str, account: Account, at: float) -> None:
        """Look for events in the counts of an account, log them, and keep the latest."""
        watch = self._watches.get(group)
        if watch is None:
            if len(self._watches) >= MOST_WATCHES:
                self._watches.clear()
            watch = self._watches[group] = Watch(self.menu, self.promise)
            if account.outcomes > RECENT:
                watch.begin(counts_in(account))  # this process has not seen its past, so that is not recent
        counts = counts_in(account)
        if not watch.is_due(counts):
            return
        for event in watch.look(counts, self.detached.learner.columns(), self.selector.costs.take_above_safe()):
            self.noticed[event.kind] += 1
            self.notices.append(Notice(at, event.kind, event.text, group or None))
            where = f", group {group!r}" if group else ""
            log.warning("selector %s%s: %s", self.name, where, event.text, extra={"event": event.kind})

    # --- learning

    def learn(self, row: DecisionRow, *, from_log: bool = False) -> None:
        """Learn from a settled decision, once. The events of each shard come in order.

        `from_log`: this process has not decided it, so its context is new to the model.
        """
        if row.shard is None or row.seq is None or row.seq <= self.seen.get(row.shard, 0):
            return
        self.seen[row.shard] = row.seq
        if row.state == CANCELLED:
            return
        self.groups.update([row.group] if row.group else [])
        try:
            self._learn(row, from_log)
        except Exception:  # the outcome is durable and counted, so the caller must not see a failure
            log.exception("selector %s: learning from decision %d failed", self.name, row.id)

    def _learn(self, row: DecisionRow, from_log: bool) -> None:
        late, units = row.state == AMENDED, row.units or 0
        safe = self.menu.kind_of(row.arm) == SAFE
        counted = row.state != EXPIRED if safe else not late  # a lost safe play has no outcome until it is told
        self.history.add(
            row.told_at or row.asked_at, outcomes=int(counted), units=units, cost=self.spent(row), price=row.price,
            arm=row.arm if counted else None,
        )  # fmt: skip
        note, unbiased = None, True
        learner = self.detached.learner
        if row.record is not None and isinstance(learner, ContextLearner):
            record: ContextRecord = json.loads(row.record)
            note, unbiased = self._note_of(learner, record, from_log), not record.get("from_model")
        self.detached.learn(
            row.group,
            row.arm,
            units,
            row.cost,
            row.price,
            late=late,
            lost=row.state == EXPIRED,
            unbiased=unbiased,
            note=note,
        )
        self._log_warning()

    def _note_of(self, learner: ContextLearner, record: ContextRecord, from_log: bool) -> DecisionRecord | None:
        try:
            model = learner.model
            features = learner.read(record["context"]) if from_log else model.read(record["context"])
        except SufficeError:  # contexts had another shape in the process that decided
            return None
        if "player" not in record:
            return None
        return DecisionRecord(features, record["prediction"], record["price"], record["player"])

    def _log_warning(self) -> None:
        if self.selector.failures.warning and not self._warned:
            self._warned = True
            log.warning("selector %s: %s", self.name, self.selector.failures.warning)

    # --- saving

    def state(self) -> dict[str, object]:
        """All that was learned, for JSON."""
        with self.lock:
            return {"seen": list(self.seen.items()), "history": self.history.state(), "learned": self.detached.state()}

    @staticmethod
    def from_state(number: int, name: str, plan: Plan, text: str) -> "Replica":
        """The replica of a saved state; an empty one if the state cannot be read, since the log has all that was learned."""
        try:
            state = json.loads(text)
            replica = Replica(number, name, plan)
            replica.detached.restore(state["learned"])
            replica.history = History.from_state(state["history"])
            replica.seen = {int(shard): int(seq) for shard, seq in state["seen"]}
        except (SufficeError, ValueError, KeyError, TypeError, AttributeError, IndexError, ArithmeticError) as error:
            log.warning(
                "selector %s: the snapshot cannot be read, so it is learned again from the log (%s)", name, error
            )
            return Replica(number, name, plan)
        replica.saved = replica.learned
        return replica


class AccountSession:
    """An account of a replica, or of a group of it, inside a transaction: a copy of what all shards have counted."""

    __slots__ = (
        "_asked_before",
        "_before",
        "_settled_before",
        "account",
        "asked",
        "cost",
        "events",
        "number",
        "replica",
        "settled",
        "stored",
        "tells",
    )

    def __init__(self, replica: Replica, number: int, shards: Shards) -> None:
        self.replica, self.number = replica, number
        self.stored = stored = shards.get(number) or Shard()
        self._before = visible_counts(copy_of(replica.empty_account), stored, shards, number)
        self.account = copy_of(self._before)
        self._asked_before = self._settled_before = 0
        for shard in shards.values():
            self._asked_before += shard.asked
            self._settled_before += shard.settled
        self.asked, self.settled = self._asked_before, self._settled_before
        self.cost, self.events, self.tells = stored.cost, stored.events, stored.tells

    def shard(self) -> Shard:
        """The new counts of this process."""
        counts = shard_delta(self.stored.counts, self._before, self.account)
        stored = self.stored
        return Shard(
            counts, stored.asked + self.asked - self._asked_before, self.cost, self.events, self.tells,
            stored.settled + self.settled - self._settled_before,
        )  # fmt: skip
