"""What one server process makes of a selector: it proposes options and learns from outcomes, and keeps no counts.

It is the library's own selector, whose book is put before each decision to what the store has counted. So every choice and
every count goes through the code that the library proves and tests; here it is only led there and back.
"""

import json
import logging
import threading
from dataclasses import replace
from typing import Any, Final, NamedTuple

from suffice.book import EVERYTHING
from suffice.book import NEXT_ID as NEXT
from suffice.errors import InvalidArgument, SufficeError
from suffice.looking import Note
from suffice.menu import Menu
from suffice.promise import Counts, Promise
from suffice.records import Decision
from suffice.selecting import Selecting
from suffice.selector import Selector
from suffice.service.chart import Chart
from suffice.service.plans import Plan, arm_of, option_json
from suffice.service.records import AMENDED, EXPIRED, PENDING, Row, Shard
from suffice.service.shards import moved, seen_by
from suffice.service.stores.base import Shards

log = logging.getLogger("suffice.service")

# The store says what has expired. (Also, it keeps the compiled short way shut, which counts by itself.)
NEVER: Final = 1e12
PRICED: Final = 4096  # options whose JSON is kept at hand


class Outline(NamedTuple):
    """What is known of a selector without anything that was learned."""

    promise: Promise
    bounds: str
    chooser: str
    model: str | None
    max_cost: float

    @staticmethod
    def of(plan: Plan, selector: Selector | None = None) -> "Outline":
        """The outline of a plan, or of a selector that was made from it."""
        made = selector or plan.selector()
        return Outline(made._promise, made.bounds, made.chooser, plan.model, made.menu.max_cost)


class Mind:
    """A selector as one process knows it. Whoever uses it holds `lock`."""

    def __init__(self, number: int, name: str, plan: Plan, selector: Selector | None = None) -> None:
        self.number, self.name, self.plan = number, name, plan
        self.menu: Menu = plan.menu()
        self.selector = selector or plan.selector(expire_after=NEVER)
        self.promise: Promise = self.selector._promise
        self.lock = threading.RLock()
        self.chart = Chart()
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

    def holder(self, group: str) -> Selecting:
        """The selector itself, or a group of it."""
        return self.selector._group(group) if group else self.selector

    def option(self, arm: int) -> Any:
        """An option in JSON's terms."""
        if arm not in self._options:
            if len(self._options) >= PRICED:
                self._options.clear()
            self._options[arm] = option_json(self.menu, arm)
        return self._options[arm]

    def allowed(self, available: list[Any] | None) -> Any:
        """The arms that may be played, as the selector wants them."""
        if available is None:
            return None
        return self.selector._allowed([self.menu.option(arm_of(self.menu, option)) for option in available])

    def check_contexts(self, contexts: list[Any] | None) -> None:
        """Raise if one of them cannot be looked at."""
        looking = self.selector._looking
        if looking is None and contexts is not None and any(context is not None for context in contexts):
            raise InvalidArgument('context must be left out where no model looks at it: the plan needs "model": "auto"')
        if looking is not None:
            for context in contexts or ():
                looking.check(context)

    def dual(self, group: str, counts: Counts) -> float:
        """The price now paid for one success."""
        return float(self.holder(group)._learner.dual(self.promise.open(counts)))

    def spent(self, row: Row) -> float:
        """What settling this decision adds to the cost: a known cost was booked when it expired."""
        known = self.menu.known_cost(row.arm) or 0.0
        return (known if row.cost is None else row.cost) - (known if row.state == AMENDED else 0.0)

    # --- learning

    def learn(self, row: Row, *, again: bool = False) -> None:
        """Take in a decision that was settled, once: the events of each shard come in order.

        `again`: from the log, so that its context is news too.
        """
        if row.by is None or row.seq is None or row.seq <= self.seen.get(row.by, 0):
            return
        self.seen[row.by] = row.seq
        self.groups.update([row.group] if row.group else [])
        try:
            self._learn(row, again)
        except Exception:  # it is written and counted, and whoever told it hears so
            log.exception("selector %s: learning from decision %d failed", self.name, row.id)

    def _learn(self, row: Row, again: bool) -> None:
        late, units = row.state == AMENDED, row.units or 0
        self.chart.add(
            row.told or row.asked, told=int(not late), units=units, cost=self.spent(row), dual=row.dual,
            arm=None if late else row.arm, lost=self._lost(row),
        )  # fmt: skip
        holder = self.holder(row.group)
        holder._settled = row.id
        looking = holder._looking
        if row.note is not None and looking is not None:
            note = json.loads(row.note)
            if note.get("proposed"):
                holder._proposed.add(row.id)
            looking.recalled = self._recalled(looking, note, again)
            looking.given_up = row.state == EXPIRED
        holder._learn_safely(row.arm, units, row.cost, late=late)
        holder._proposed.discard(row.id)
        self._say_warning()

    def _lost(self, row: Row) -> int:
        """What a row changes in the count of plays of everything whose outcome nobody told."""
        change = {EXPIRED: 1, AMENDED: -1}.get(row.state, 0)
        return change if self.menu.kind_of(row.arm) == EVERYTHING else 0

    def _recalled(self, looking: Any, note: dict[str, Any], again: bool) -> Note | None:
        try:
            seen = looking.eye.read(note["context"])
        except SufficeError:  # it was of another shape in the process that was asked
            return None
        if again:
            looking.eye.note(seen)
        if "who" not in note:
            return None
        return Note(seen, note["said"], note["price"], note["who"])

    def _say_warning(self) -> None:
        if self.selector._warning and not self._warned:
            self._warned = True
            log.warning("selector %s: %s", self.name, self.selector._warning)

    # --- saving

    def state(self) -> dict[str, Any]:
        """All that was learned, in JSON's terms."""
        with self.lock:
            holders = (self.selector, *self.selector.groups.values())
            pages = [holder._ledger.page() for holder in holders]
            for holder, page in zip(holders, pages, strict=True):
                counts = Counts()
                counts.read(page)
                # Of the counts, only those that the learner looks at: the store has the truth.
                _put(holder, self.promise, Counts(told=counts.told, successes=counts.successes, next_id=counts.told))
            try:
                found = {
                    "seen": list(self.seen.items()),
                    "chart": self.chart.state(),
                    "selector": self.selector.state(),
                }
            finally:
                for holder, page in zip(holders, pages, strict=True):
                    holder._ledger.put(page)
            return found

    @staticmethod
    def from_state(number: int, name: str, plan: Plan, text: str) -> "Mind":
        """The mind that `state` wrote down; one that knows nothing if it cannot be read, which costs money and no more."""
        try:
            found = json.loads(text)
            mind = Mind(number, name, plan, Selector.from_state(found["selector"], menu=plan.menu()))
            mind.chart = Chart.from_state(found["chart"])
            mind.seen = {int(shard): int(seq) for shard, seq in found["seen"]}
        except (SufficeError, ValueError, KeyError, TypeError) as error:
            log.warning("selector %s: what was learned cannot be read, so it is learned anew (%s)", name, error)
            return Mind(number, name, plan)
        mind.saved = mind.learned
        return mind


class Sitting:
    """A mind at work on the counts of one selector, or of one group of it, inside a transaction."""

    def __init__(self, mind: Mind, group: str, number: int, shards: Shards) -> None:
        self._mind = mind
        self._own = shards.get(number) or Shard()
        self._before = seen_by(self._own, shards, number)
        self.cost, self.events = self._own.cost, self._own.events
        self._holder = mind.holder(group)
        self._looking = self._holder._looking
        _put(self._holder, mind.promise, self._before)

    def at(self) -> tuple[float, int] | None:
        """The dual and the rail, for asks one after the other; None where each has to look for itself."""
        return self._holder._at() if self._looking is None else None

    def ask(
        self, allowed: Any, audit: bool, context: Any, now: float, at: tuple[float, int] | None
    ) -> tuple[Decision, str | None]:
        """A decision, and the note that its outcome will need."""
        holder, looking = self._holder, self._looking
        if looking is not None:
            looking.see(context)
        decision = holder._ask(allowed, audit, now, at)
        if not audit:
            return decision, None
        own = holder._own_id(decision)
        holder._ledger.pending.pop(own, None)
        proposed = own in holder._proposed
        holder._proposed.discard(own)
        if context is None or looking is None:
            return decision, None
        kept = {"context": context}
        if looking.note is not None:  # it was looked at: the rails had left a choice
            said, price, who = looking.note.said, looking.note.price, looking.note.who
            kept |= {"said": said, "price": price, "who": who, "proposed": proposed}
        return decision, json.dumps(kept)

    def take_id(self) -> int:
        """The next id of the selector, for a decision of one of its groups."""
        ledger = self._holder._ledger
        identity = ledger.next_id
        book = ledger.page()
        book[NEXT] = identity + 1
        ledger.put(book)
        return identity

    def settle(self, row: Row, units: int) -> None:
        """Count an outcome."""
        ledger = self._holder._ledger
        entry = (row.arm, self._mind.menu.kind_of(row.arm), row.asked or 1.0, True)
        if row.state == PENDING:
            ledger.pending[row.id] = entry
        else:
            ledger.expired[row.id] = entry
        ledger.settle(row.id, units)

    def give_up(self, row: Row) -> None:
        """Count a decision that nobody told as a failure."""
        ledger = self._holder._ledger
        ledger.pending[row.id] = (row.arm, self._mind.menu.kind_of(row.arm), row.asked or 1.0, True)
        ledger.give_up(row.id)
        ledger.expired.pop(row.id, None)

    def page(self) -> Any:
        """Where the counts are, to go `back` to."""
        return self._holder._ledger.page()

    def back(self, page: Any) -> None:
        """Undo what was done since."""
        self._holder._ledger.put(page)

    def shard(self) -> Shard:
        """What the own shard becomes."""
        after = Counts()
        after.read(self._holder._ledger.page())
        return Shard(moved(self._own.counts, self._before, after), self.cost, self.events)

    def changed(self, shard: Shard) -> bool:
        """Whether there is anything to be written."""
        return shard.counts != replace(self._own.counts, settled=shard.counts.settled)


def _put(holder: Selecting, promise: Promise, counts: Counts) -> None:
    """Have a selector go on from these counts, with nothing out that it knows of."""
    ledger = holder._ledger
    ledger.pending.clear()
    ledger.expired.clear()
    ledger.book = promise.open(counts)  # a list: the short way is shut, so that no compiled code looks at it
    ledger.restored = False
