"""In-process replica of a selector: it proposes options and learns from outcomes; the counts live in the store.

It decides by the library's own verbs, on accounts that are made from what the store has counted, and learns after that is
written. So every choice and every count goes through the code that the library proves and tests.
"""

import json
import logging
import threading
from typing import Any, Final, NamedTuple

from suffice.context.learner import ContextLearner, DecisionRecord
from suffice.errors import SufficeError
from suffice.kernels.rows import copy_of
from suffice.promise.account import SAFE, Account, reserve
from suffice.promise.rules import Promise
from suffice.selector.detached import Choice, Detached
from suffice.selector.selector import Selector
from suffice.service.count_shards import shard_delta, visible_counts
from suffice.service.history import History
from suffice.service.plans import Plan, arm_of, option_json
from suffice.service.records import AMENDED, EXPIRED, AskRequest, DecisionRow, Shard
from suffice.service.stores.base import Shards

log = logging.getLogger("suffice.service")

PRICED: Final = 4096  # options whose JSON is kept at hand


class PlanSummary(NamedTuple):
    """What is known of a selector without anything that was learned."""

    promise: Promise
    bounds: str
    chooser: str
    model: str | None
    safe_cost: float

    @staticmethod
    def of(plan: Plan, selector: Selector | None = None) -> "PlanSummary":
        """The outline of a plan, or of a selector that was made from it."""
        made = selector or plan.selector()
        return PlanSummary(made.promise, made.bounds, made.chooser, plan.model, made.menu.safe_cost)


class Replica:
    """A selector as one process knows it. Whoever uses it holds `lock`."""

    def __init__(self, number: int, name: str, plan: Plan) -> None:
        self.number, self.name, self.plan = number, name, plan
        self.menu = plan.menu()
        self.selector = plan.selector()
        self.detached = Detached(self.selector)
        self.promise: Promise = self.selector.promise
        self.rules = self.selector.new_account()  # of accounts that were told nothing
        self.lock = threading.RLock()
        self.chart = History()
        self.groups: set[str] = set()  # that decisions were asked for
        self.seen: dict[int, int] = {}  # by shard: the last event learned from
        self.saved = 0  # events learned from when it was saved last
        self.saved_at = 0.0
        self.saved_in = 0.0  # seconds that it took
        self.used_at = 0.0
        self._options: dict[int, Any] = {}
        self._warned = False

    @property
    def learned(self) -> int:
        """How many events it has learned from."""
        return sum(self.seen.values())

    def option(self, arm: int) -> Any:
        """An option in JSON's terms."""
        if arm not in self._options:
            if len(self._options) >= PRICED:
                self._options.clear()
            self._options[arm] = option_json(self.menu, arm)
        return self._options[arm]

    def allowed(self, available: list[Any]) -> Any:
        """The arms that may be played, as the selector wants them."""
        return self.selector.allowed([self.menu.option(arm_of(self.menu, option)) for option in available])

    def decide(self, account: Account, wanted: AskRequest, allowed: Any, context: Any) -> tuple[Choice, str | None]:
        """A choice, counted as outstanding, and the note that its outcome will need."""
        choice, written = self.detached.decide(account, wanted.group or "", allowed, context), None
        if not wanted.audit:
            account.unaudited += 1
            return choice, None
        if context is not None and isinstance(self.detached.learner, ContextLearner):
            kept = {"context": context}
            if choice.note is not None:  # it was looked at: the limits had left a choice
                _, said, price, who = choice.note
                kept |= {"said": said, "price": price, "who": who, "proposed": not choice.fair}
            written = json.dumps(kept)
        reserve(account, choice.role)
        return choice, written

    def price(self, group: str, account: Account) -> float:
        """The price now paid for one success."""
        return self.detached.standing(account, group).price

    def spent(self, row: DecisionRow) -> float:
        """What settling this decision adds to the cost: a known cost was booked when it expired."""
        known = self.menu.known_cost(row.arm) or 0.0
        return (known if row.cost is None else row.cost) - (known if row.state == AMENDED else 0.0)

    # --- learning

    def learn(self, row: DecisionRow, *, again: bool = False) -> None:
        """Take in a decision that was settled, once: the events of each shard come in order.

        `again`: from the log, so that its context is news too.
        """
        if row.shard is None or row.seq is None or row.seq <= self.seen.get(row.shard, 0):
            return
        self.seen[row.shard] = row.seq
        self.groups.update([row.group] if row.group else [])
        try:
            self._learn(row, again)
        except Exception:  # it is written and counted, and whoever told it hears so
            log.exception("selector %s: learning from decision %d failed", self.name, row.id)

    def _learn(self, row: DecisionRow, again: bool) -> None:
        late, units = row.state == AMENDED, row.units or 0
        self.chart.add(
            row.told_at or row.asked_at, outcomes=int(not late), units=units, cost=self.spent(row), price=row.price,
            arm=None if late else row.arm, lost=self._lost(row),
        )  # fmt: skip
        note, fair = None, True
        learner = self.detached.learner
        if row.record is not None and isinstance(learner, ContextLearner):
            written = json.loads(row.record)
            note, fair = self._note_of(learner, written, again), not written.get("proposed")
        self.detached.learn(
            row.group, row.arm, units, row.cost, late=late, lost=row.state == EXPIRED, fair=fair, note=note
        )
        self._log_warning()

    def _lost(self, row: DecisionRow) -> int:
        """What a row changes in the count of safe plays whose outcome nobody told."""
        change = {EXPIRED: 1, AMENDED: -1}.get(row.state, 0)
        return change if self.menu.kind_of(row.arm) == SAFE else 0

    def _note_of(self, learner: ContextLearner, written: dict[str, Any], again: bool) -> DecisionRecord | None:
        try:
            seen = learner.model.read(written["context"])
        except SufficeError:  # it was of another shape in the process that was asked
            return None
        if again:
            learner.model.note(seen)
        if "who" not in written:
            return None
        return DecisionRecord(seen, written["said"], written["price"], written["who"])

    def _log_warning(self) -> None:
        if self.selector.warning and not self._warned:
            self._warned = True
            log.warning("selector %s: %s", self.name, self.selector.warning)

    # --- saving

    def state(self) -> dict[str, Any]:
        """All that was learned, in JSON's terms."""
        with self.lock:
            return {"seen": list(self.seen.items()), "chart": self.chart.state(), "learned": self.detached.state()}

    @staticmethod
    def from_state(number: int, name: str, plan: Plan, text: str) -> "Replica":
        """The replica that `state` wrote down; one that knows nothing if it cannot be read, which costs money and no more."""
        try:
            found = json.loads(text)
            replica = Replica(number, name, plan)
            replica.detached.restore(found["learned"])
            replica.chart = History.from_state(found["chart"])
            replica.seen = {int(shard): int(seq) for shard, seq in found["seen"]}
        except (SufficeError, ValueError, KeyError, TypeError, AttributeError, IndexError, ArithmeticError) as error:
            log.warning("selector %s: what was learned cannot be read, so it is learned anew (%s)", name, error)
            return Replica(number, name, plan)
        replica.saved = replica.learned
        return replica


class AccountSession:
    """One account of a replica, or of a group of it, inside a transaction: a copy of what all shards have counted."""

    __slots__ = ("_asked_before", "_before", "account", "asked", "cost", "events", "own", "replica")

    def __init__(self, replica: Replica, number: int, shards: Shards) -> None:
        self.replica = replica
        self.own = own = shards.get(number) or Shard()
        self._before = visible_counts(copy_of(replica.rules), own, shards, number)
        self.account = copy_of(self._before)
        self._asked_before = 0
        for shard in shards.values():
            self._asked_before += shard.asked
        self.asked, self.cost, self.events = self._asked_before, own.cost, own.events

    def shard(self) -> Shard:
        """What the own shard becomes."""
        counts = shard_delta(self.own.counts, self._before, self.account)
        return Shard(counts, self.own.asked + self.asked - self._asked_before, self.cost, self.events)
