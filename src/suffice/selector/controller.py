"""What all controllers share: ask and tell around accounts, thread-safe, with late and lost outcomes.

`Selector` adds a menu and a way to choose between the limits; `ThresholdSelector` adds a range. An ask or a tell goes the
quick way, one call of an engine; what is not usual (a clock that ran out, an amendment, an option that is not available, an
interrupt) goes the careful way here, under the lock, step by step.
"""

import copy
import logging
import math
import os
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any, ClassVar

from suffice.errors import AlreadyTold, InvalidArgument, SufficeWarning, UnknownDecision, quoted
from suffice.learning.base import Learner, Proposal
from suffice.learning.prices import new_pricing
from suffice.learning.records import Pricing
from suffice.numbers import ONE_SUCCESS, as_number, cost_told, flag, positive, positive_int, success_units
from suffice.promise.account import CARRIED, Account
from suffice.promise.certificate import Certificate
from suffice.promise.rules import Promise
from suffice.selector.engines import Engine
from suffice.selector.entries import REMEMBERED, Entry
from suffice.selector.identity import Identity
from suffice.selector.plain import PlainEngine
from suffice.selector.records import UNAUDITED, Decision
from suffice.selector.reentrancy import Careful, guard
from suffice.selector.state import account_state, check_accounts, entries_from, entry_rows, restore_accounts
from suffice.selector.verbs import Standing, decide, is_open, role_of
from suffice.state_files import write_state

log = logging.getLogger("suffice")
log.addHandler(logging.NullHandler())


class Controller(ABC):
    """Ask what to do, tell how it went.

    One lock guards all state, so any number of threads may ask and tell; a signal handler may read and save. A fork or a
    copy (pickle, `copy.deepcopy`) is a second controller with the same history: from then on each keeps its own promise
    over what it is told.
    """

    _engine: Engine
    _learner: Learner
    _prices = "straight"  # how the price of a success follows the debt

    def __init__(
        self, promise: Promise, *, max_pending: int | None, expire_after: float | None, clock: Callable[[], float]
    ) -> None:
        self._promise = promise
        self._max_pending = None if max_pending is None else positive_int("max_pending", max_pending)
        self._expire_after = None if expire_after is None else float(positive("expire_after", expire_after))
        if not callable(clock):
            raise InvalidArgument(f"clock must be a function that returns seconds, got {quoted(clock)}")
        self._clock = clock
        self._identity = Identity()
        self._groups: dict[str, int] = {}  # the row of each group's account
        self._warning: str | None = None
        self._chooser_failed = False
        self._make_locks()

    def _make_locks(self) -> None:
        self.lock = threading.RLock()
        self._changing, self._reading = Careful(self, reads=False), Careful(self, reads=True)

    def _begin(self) -> None:
        """Begin with an account that was told nothing."""
        self._engine = self._new_engine()
        self._engine.expire_after = math.inf if self._expire_after is None else self._expire_after
        self._engine.add_row(self.new_account(), self.new_pricing())
        self.open_quick_ways()
        guard(self)

    # --- what a kind of controller adds

    _derived: ClassVar[frozenset[str]] = frozenset({"lock", "_changing", "_reading"})  # what a copy makes anew

    def _new_engine(self) -> Engine:
        """An engine for the learner there is."""
        return PlainEngine(self._learner, self.lock, self._note_failure)

    @abstractmethod
    def _option(self, arm: int, price: float) -> Any:
        """What an arm stands for, at this price."""

    def allowed(self, available: Any) -> Any:
        """Check `available` and put it in the form that a learner takes."""
        if available is not None:
            raise InvalidArgument(f"available must be left out for a {type(self).__name__}, got {quoted(available)}")

    def check_cost(self, arm: int, cost: float | None) -> None:
        """Refuse an outcome whose cost is needed and missing."""

    def _cost_learned(self, entry: Entry, cost: float | None, *, late: bool) -> float:
        """Add to what was spent; the cost to learn from, NaN where nobody told it."""
        self._spend(entry.row, cost or 0.0)
        return math.nan

    def _first_round(self, allowed: Any) -> int | None:
        """An arm of the first round, which is played before the promise begins; None once it is over."""
        return None

    # --- what is shared with accounts that are kept elsewhere

    @property
    def promise(self) -> Promise:
        """The rules of the promise."""
        return self._promise

    @property
    def learner(self) -> Learner:
        """What is learned of the options."""
        return self._learner

    def new_account(self) -> Account:
        """An account that was told nothing."""
        return self._promise.open(self._max_pending)

    def new_pricing(self, group: str = "") -> Pricing:
        """The prices of an account that was told nothing. Those of a group begin with the hint of all."""
        return new_pricing(self._promise, curved=self._prices == "curve", grouped=group != "")

    # --- the quick ways, and who may use them

    def nested(self) -> bool:
        """Whether the thread that holds the lock holds it twice."""
        count = getattr(self.lock, "_recursion_count", None)
        return bool(count() > 1 if count is not None else "count=1 " not in repr(self.lock))

    def close_quick_ways(self) -> None:
        """Close them: asks and tells go the careful way, through the lock."""
        self._engine.close()

    def open_quick_ways(self) -> None:
        """Open them again, but for a copy, whose next decision needs a key of its own."""
        if not self._identity.copied:
            self._engine.open()

    def mark_copied(self) -> None:
        """From here on its decisions are not those of the original."""
        self._identity.copied = True

    # --- ask

    def ask(self, *, available: Iterable[Any] | None = None, audit: bool = True) -> Decision:
        """What to do now.

        Args:
            available: the interior options that can be played this once; the boundary options always can.
            audit: False for a decision whose outcome will not be told: it is never pending and never counted. Decide
                by a coin, before asking, which ones are audited.
        """
        allowed = self.allowed(available)
        flag("audit", audit)
        return self._ask_carefully(0, allowed, audit, self._now())

    def ask_many(self, count: int, *, available: Iterable[Any] | None = None, audit: bool = True) -> list[Decision]:
        """So many decisions at once, as if asked one after the other before any outcome came."""
        count = positive_int("count", count, 0)
        allowed = self.allowed(available)
        flag("audit", audit)
        now = self._now()
        return [self._ask_carefully(0, allowed, audit, now) for _ in range(count)]

    def _now(self) -> float:
        """The time by the clock; 0 where nothing expires and nobody needs to look."""
        if self._expire_after is None:
            return 0.0
        now = self._clock()
        if type(now) is float and -math.inf < now < math.inf:
            return now
        if isinstance(now, bool) or not isinstance(now, Real) or not math.isfinite(now):
            raise InvalidArgument(f"clock must return seconds, got {quoted(now)}")
        return float(now)

    def _ask_carefully(self, row: int, allowed: Any, audit: bool, now: float) -> Decision:
        with self.lock, self._changing:
            self._expire_overdue(now)
            return self._decide_carefully(row, allowed, audit, now)

    def _decide_carefully(self, row: int, allowed: Any, audit: bool, now: float, seen: Any = None) -> Decision:
        if self._identity.copied:
            self._identity.renew(self._engine.next_id)
        engine, head = self._engine, self._learner.head
        stands: Standing = engine.standing(row)
        opening = self._first_round(allowed) if audit else None
        if opening is not None:
            proposal = Proposal(opening)
        elif is_open(stands.limit, head):
            proposal = self.propose(stands, allowed, seen)
        else:
            proposal = Proposal(-1)
        arm = proposal.arm if opening is not None else decide(stands.limit, head, proposal.arm)
        role = role_of(head, arm)
        option = self._option(arm, stands.price)
        if not audit:
            engine.count_unaudited(row)
            return Decision(UNAUDITED, arm, option, role, stands.price, self._identity.key)
        entry = Entry(row, arm, role, self._promise.target, now, opening is None, proposal.fair, proposal.note)
        identity = engine.issue(entry)
        return Decision(identity, arm, option, role, stands.price, self._identity.key)

    def propose(self, stands: Standing, allowed: Any, seen: Any) -> Proposal:
        """The learner's arm, also for an account that is kept elsewhere, in a context that was read, if there is one.

        The optimist's if it has none to offer, or else the safe option, which costs most.
        """
        price = max(0.0, stands.price)
        try:
            return self._learner.propose(price, allowed, seen)
        except Exception as error:
            if not self._chooser_failed:
                log.exception("the chooser failed; another plays in its place, now and whenever it fails again")
                self._warn_once(f"the chooser failed, so the optimist plays: {type(error).__name__}: {error}")
            self._chooser_failed = True
        fair = self._learner.fair_if_failed
        try:
            return Proposal(self._learner.optimistic(price, allowed), fair)
        except Exception:
            return Proposal(self._learner.head.arms - 1, fair)

    # --- tell

    def tell(self, decision: Decision | int, success: float, cost: float | None = None) -> None:
        """How a decision went: a bool, or any number from 0 to 1. The cost only where it is not known beforehand.

        An outcome for a decision that has expired amends it. Telling twice changes nothing and raises `AlreadyTold`.
        """
        units = success_units(success)
        spent = None if cost is None else cost_told(cost)
        with self.lock, self._changing:
            identity, entry, late = self._find(decision)
            self.check_cost(entry.arm, spent)
            self._settle(identity, entry, units, spent, late=late)
        if self._warning:
            self._say_warning()

    def tell_many(self, outcomes: Iterable[tuple[Any, ...]]) -> None:
        """Tell many outcomes, each (decision, success) or (decision, success, cost): all, or none if one is bad."""
        if not isinstance(outcomes, Iterable):
            raise InvalidArgument(f"outcomes must be a sequence of (decision, success), got {quoted(outcomes)}")
        checked = [_outcome(item) for item in outcomes]
        with self.lock, self._changing:
            found, seen = [], set()
            for decision, units, spent in checked:
                identity, entry, late = self._find(decision)
                if identity in seen:
                    raise AlreadyTold(f"decision {identity} stands twice in the same call; nothing of it was told")
                seen.add(identity)
                self.check_cost(entry.arm, spent)
                found.append((identity, entry, units, spent, late))
            for identity, entry, units, spent, late in found:
                self._settle(identity, entry, units, spent, late=late)
        self._say_warning()

    def _find(self, decision: Any) -> tuple[int, Entry, bool]:
        """A decision that waits for its outcome, or has expired (True); raises if there is nothing left to tell."""
        identity, engine = self._identity.id_of(decision), self._engine
        entry = engine.entry(identity)
        if entry is not None:
            return identity, entry, False
        entry = engine.expired_entry(identity)
        if entry is not None:
            return identity, entry, True
        if 0 <= identity < engine.next_id:
            late = " or given up too long ago to amend" if engine.sum_of("expired") > REMEMBERED else ""
            raise AlreadyTold(f"decision {identity} was settled before{late}; telling it again changes nothing")
        raise UnknownDecision(f"decision {quoted(identity)} was never asked of this selector")

    def _settle(self, identity: int, entry: Entry, units: int, cost: float | None, *, late: bool) -> None:
        if late:
            self._engine.amend(identity, entry, units)
        else:
            self._engine.settle(identity, entry, units, expired=False)
        self._learn(entry, units, cost, late=late, lost=False)

    def _expire(self, identity: int, entry: Entry) -> None:
        self._engine.settle(identity, entry, 0, expired=True)
        self._learn(entry, 0, None, late=False, lost=True)

    def _learn(self, entry: Entry, units: int, cost: float | None, *, late: bool, lost: bool) -> None:
        """Learn from an outcome that is counted. Whatever fails here, the count stands."""
        try:
            learned = self._cost_learned(entry, cost, late=late)
            self._engine.learn(entry, units, learned, fresh=not late, lost=lost)
        except Exception as error:
            self._note_failure(entry.arm, error)

    def _note_failure(self, arm: int, error: Exception) -> None:
        log.error("learning from an outcome of arm %d failed; it is counted all the same", arm, exc_info=error)
        self._warn_once(f"learning from an outcome failed, though it is counted: {type(error).__name__}: {error}")

    def _spend(self, row: int, cost: float) -> None:
        pricing = self._engine.pricing(row)
        pricing.spent += cost
        self._engine.put_pricing(row, pricing)

    def _warn_once(self, message: str) -> None:
        """Keep the first warning of this controller, to be said when its state is settled and the lock open."""
        if self._warning is None:
            self._warning = message

    def _say_warning(self) -> None:
        """Only ever after a tell: a warning that is turned into an error must not cost the caller a decision."""
        if self._warning:
            message, self._warning = self._warning, ""  # not None: once is enough
            warnings.warn(message, SufficeWarning, stacklevel=3)

    def expire(self, decision: Decision | int) -> None:
        """Give up on a decision: it counts as a failure, until a late outcome amends it."""
        with self.lock, self._changing:
            identity, entry, late = self._find(decision)
            if late:
                raise AlreadyTold(f"decision {identity} has expired before; expiring it again changes nothing")
            self._expire(identity, entry)

    def _expire_overdue(self, now: float) -> None:
        if self._expire_after is None:
            return
        engine = self._engine
        engine.take_time(now)
        for identity in engine.overdue(now):
            entry = engine.entry(identity)
            if entry is not None:
                self._expire(identity, entry)
        engine.note_due()

    # --- where things stand

    @property
    def target(self) -> float:
        """The success rate to hold."""
        return self._promise.rate

    @property
    def price(self) -> float:
        """The price now paid for one success."""
        with self.lock:
            return self._engine.standing(0).price

    @property
    def debt(self) -> float:
        """Successes owed: target·told − successes; negative when ahead. Of all groups together."""
        with self.lock:
            carried = self._engine.sum_of("forgiven_carried") * CARRIED
            return (self._engine.sum_of("owed") - self._engine.sum_of("successes") - carried) / ONE_SUCCESS

    @property
    def outcomes(self) -> int:
        """Outcomes counted, expired decisions included; those of all groups."""
        with self.lock:
            return self._engine.sum_of("outcomes")

    @property
    def successes(self) -> float:
        """The sum of successes told."""
        return as_number(self._units())

    @property
    def pending(self) -> int:
        """Decisions whose outcome has not been told."""
        with self.lock:
            return self._engine.pending()

    @property
    def rate(self) -> float | None:
        """The share of outcomes that succeeded; None before the first."""
        with self.lock:
            told, units = self.outcomes, self._units()
        return units / ONE_SUCCESS / told if told else None

    def _units(self) -> int:
        """Successes, in billionths."""
        with self.lock:
            carried = self._engine.sum_of("carried") + self._engine.sum_of("forgiven_carried")
            return self._engine.sum_of("successes") + carried * CARRIED

    @property
    def cost(self) -> float:
        """What was spent on all decisions settled so far, as far as it is known or was told."""
        with self.lock:
            spent = sum(self._engine.pricing(row).spent for row in range(self._engine.rows()))
        return max(0.0, spent)  # amendments subtract what they add again, up to rounding

    @property
    def mean_cost(self) -> float | None:
        """The cost per outcome; None before the first."""
        told = self.outcomes
        return self.cost / told if told else None

    def certificate(self) -> Certificate:
        """What is promised, whether it is so, and if not, why and what to do."""
        with self.lock, self._reading:
            self._expire_if_alone()
            return Certificate.make(self._promise, self._engine.account(0), self.pending)

    def _expire_if_alone(self) -> None:
        """Give up what is overdue, unless somebody was interrupted in the middle of a change."""
        if not self.nested():
            self._expire_overdue(self._now())

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} target={self.target:g} outcomes={self.outcomes:,} successes={self.successes:,} "
            f"pending={self.pending:,}>"
        )

    # --- saving

    def state(self) -> dict[str, Any]:
        """Everything there is to this controller, in JSON's terms."""
        with self.lock, self._reading:
            engine = self._engine
            return {
                "kind": type(self).__name__,
                **self._own_state(),
                "promise": self._promise.state(),
                "max_pending": self._max_pending,
                "expire_after": self._expire_after,
                "keys": self._identity.state(),
                "next_id": engine.next_id,
                "accounts": [
                    {"name": name, **account_state(engine.account(row), engine.pricing(row))}
                    for name, row in [(None, 0), *self._groups.items()]
                ],
                "outstanding": entry_rows(engine.entries(), self._learner),
                "expired": entry_rows(engine.expired_entries(), self._learner),
                "learner": self._learner.state(),
            }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file. A crash in the middle leaves the file as it was before."""
        write_state(path, self.state())

    @abstractmethod
    def _own_state(self) -> dict[str, Any]:
        """What a kind of controller adds to the state."""

    def _restore(self, state: dict[str, Any]) -> None:
        engine, learner, target = self._engine, self._learner, self._promise.target
        self._identity = Identity.from_state(state["keys"])
        engine.next_id = positive_int("next_id", state["next_id"], 0)
        fresh = [self.new_pricing(one["name"] or "") for one in state["accounts"]]
        restore_accounts(self._promise, engine, state, fresh)
        learner.restore(state["learner"], engine.pricing(0).now)
        rows = engine.rows()
        waiting = entries_from(state["outstanding"], learner.head, learner, target, rows)
        expired = entries_from(state["expired"], learner.head, learner, target, rows)
        check_accounts(self._promise, engine, waiting, expired)
        engine.restore_entries(waiting, expired)
        engine.close()

    # --- copies

    def __getstate__(self) -> dict[str, Any]:
        with self.lock, self._reading:
            # The values are pickled after the lock is released, so they are copied under it.
            kept = {name: value for name, value in self.__dict__.items() if name not in self._derived}
            return {
                name: value if name == "_clock" else copy.deepcopy(value) for name, value in self._parts(kept).items()
            }

    def _parts(self, kept: dict[str, Any]) -> dict[str, Any]:
        """What a copy is made of: what belongs together is copied together."""
        together = {name: kept.pop(name) for name in ("_engine", "_learner")}
        return {**kept, "_together": together}

    def __setstate__(self, state: dict[str, Any]) -> None:
        together = state.pop("_together")
        self.__dict__.update(state)
        self.__dict__.update(together)
        self._identity.copied = True  # from here on its decisions are not those of the original
        self._make_locks()
        self._set_up()
        guard(self)

    def _set_up(self) -> None:
        """Make what follows from the rest of the state."""
        self._engine.attach(self.lock, self._note_failure)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Controller":
        twin = type(self).__new__(type(self))
        twin.__setstate__(self.__getstate__())
        return twin


def _outcome(item: Any) -> tuple[Any, int, float | None]:
    if not isinstance(item, tuple | list) or len(item) not in (2, 3):
        raise InvalidArgument(
            f"outcomes must hold (decision, success) or (decision, success, cost), got {quoted(item)}"
        )
    cost = item[2] if len(item) == 3 else None
    return item[0], success_units(item[1]), None if cost is None else cost_told(cost)
