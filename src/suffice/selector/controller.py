"""What all controllers share: ask and tell around accounts, thread-safe, with late and lost outcomes.

`Selector` adds a menu and a way to choose between the limits; `ThresholdSelector` adds a range. A usual ask or tell takes the
fast path: one call of an engine. Whatever is unusual (an overdue decision, an amendment, an option that is not available, an
interrupt) takes the slow path here, under the lock, step by step.
"""

import copy
import math
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from suffice.errors import AlreadyTold, InvalidArgument, UnknownDecision, quoted
from suffice.kernels.rows import Mask
from suffice.learning.base import Columns, Learner, Proposal
from suffice.learning.prices import new_pricing
from suffice.learning.records import Pricing
from suffice.menu.menu import Menu
from suffice.numbers import cost_told, flag, positive, success_units
from suffice.promise.record import SAFE, SKIP, Account
from suffice.promise.rules import Promise
from suffice.selector.checks import check_callable, outcome_of, seconds
from suffice.selector.choosing import choose
from suffice.selector.costs import Costs
from suffice.selector.engines import Engine, engine_for
from suffice.selector.entries import REMEMBERED, Entry
from suffice.selector.events import LOOK_EVERY, Event, Watch, announce, counts_of
from suffice.selector.failures import Failures
from suffice.selector.first_round import FirstRound
from suffice.selector.identity import Identity
from suffice.selector.records import UNAUDITED, Decision
from suffice.selector.reentrancy import SlowPath, guard, is_nested
from suffice.selector.state import engine_state, restore_engine
from suffice.selector.verbs import Position
from suffice.state_files import write_state


class Controller(ABC):
    """Ask what to do, tell how it went.

    One lock guards all state, so any number of threads may ask and tell; a signal handler may read and save. A fork or a
    copy (pickle, `copy.deepcopy`) is a second controller with the same history: from then on each keeps its own promise
    over the outcomes that it is told.
    """

    _engine: Engine
    _learner: Learner
    _prices = "straight"  # how the price of a success follows the debt

    def __init__(
        self, promise: Promise, menu: Menu | None, *, expire_after: float | None,
        on_event: Callable[[Event], object] | None, clock: Callable[[], float],
    ) -> None:  # fmt: skip
        self._promise = promise
        check_callable("on_event", on_event, "takes an Event", optional=True)
        check_callable("clock", clock, "returns seconds")
        self._on_event, self.watch = on_event, Watch(menu, promise)
        self._expire_after = None if expire_after is None else float(positive("expire_after", expire_after))
        self._clock = clock
        self._identity = Identity()
        self._groups: dict[str, int] = {}  # the row of each group's account
        self.failures = Failures()
        self.costs = Costs(menu, self.failures)
        self._playing_safe = False
        self._first_round = FirstRound(menu.n_arms if menu is not None else 0)
        self._make_locks()

    def _make_locks(self) -> None:
        self.lock = threading.RLock()
        self._changing, self._reading = SlowPath(self, reads=False), SlowPath(self, reads=True)

    def _begin(self) -> None:
        """Start with a new account. The constructor of each kind of controller ends with this."""
        self._engine = engine_for(self._learner, self.lock, self.failures.learning_failed)
        self._engine.expire_after = math.inf if self._expire_after is None else self._expire_after
        self._engine.add_row(self.new_account(), self.new_pricing())
        self.open_fast_path()
        guard(self)

    # --- what each kind of controller adds

    # The attributes that a copy makes anew.
    _derived: ClassVar[frozenset[str]] = frozenset({"lock", "_changing", "_reading"})

    @abstractmethod
    def _option(self, arm: int, price: float) -> object:
        """The option that an arm plays at this price."""

    @abstractmethod
    def allowed(self, available: object) -> Mask | None:
        """Check `available` and turn it into a mask over the arms; None allows all."""

    # --- shared with accounts outside this controller: see `detached`

    @property
    def promise(self) -> Promise:
        """The rules of the promise."""
        return self._promise

    @property
    def engine(self) -> Engine:
        """The accounts and the outstanding decisions, under `lock`."""
        return self._engine

    @property
    def learner(self) -> Learner:
        """The estimates of the options."""
        return self._learner

    def new_account(self) -> Account:
        """An account without outcomes."""
        return self._promise.open()

    def new_pricing(self, group: str = "") -> Pricing:
        """The prices of an account without outcomes. Those of a group start with the hint of the whole."""
        return new_pricing(self._promise, curved=self._prices == "curve", grouped=group != "")

    # --- the fast path

    def close_fast_path(self) -> None:
        """Send asks and tells to the slow path, through the lock."""
        self._engine.close()

    def open_fast_path(self) -> None:
        """Allow the fast path again. A copy stays closed until its next decision, which needs a key of its own."""
        if self._first_round.over and not self._identity.copied and not self._playing_safe:
            self._engine.open()

    def mark_copied(self) -> None:
        """From here on the decisions of this controller are not those of the original."""
        self._identity.copied = True

    # --- ask

    def _now(self) -> float:
        """The time by the clock; 0 where no decision expires."""
        return 0.0 if self._expire_after is None else seconds(self._clock)

    def _ask_slow(self, row: int, allowed: Mask | None, audit: bool, now: float, insist: bool = False) -> Decision:
        with self.lock, self._changing:
            self._expire_overdue(now)
            decision = self._decide(row, allowed, audit, now, insist)
        self._look_after(decision.id)
        return decision

    def _look_after(self, identity: int) -> None:
        """Look for events every LOOK_EVERY decisions; with many groups less often, because a look goes over all accounts."""
        if identity % LOOK_EVERY == 0 and identity > 0 and identity % self._engine.rows() < LOOK_EVERY:
            self.look()

    def look(self) -> None:
        """Look for events now, and announce them."""
        with self.lock, self._reading:
            events = self.watch.look(counts_of(self._engine), self._columns(), self.costs.take_above_safe())
        announce(events, self._on_event)

    def _columns(self) -> Columns | None:
        """The record of each option, if there are options."""
        return self._learner.columns()

    def _decide(
        self, row: int, allowed: Mask | None, audit: bool, now: float, insist: bool, features: object = None
    ) -> Decision:
        engine = self._engine
        first_arm = self._first_round.take(allowed) if audit else None
        position = engine.position(row)
        if self._playing_safe:
            position = position._replace(limit=SAFE)
        choice = choose(
            self.propose, self._learner, self._promise.target, position, allowed, insist, features, first_arm
        )
        if self._identity.copied:
            self._identity.renew(engine.next_id)
        arm, role, price = choice.arm, choice.role, choice.price
        if audit:
            entry = Entry(
                row, arm, role, self._promise.target, choice.expects, 0, price, now, first_arm is None, choice.unbiased,
                choice.note,
            )  # fmt: skip
            identity = engine.issue(entry)
            if role == SKIP:
                self._learn(entry, 0, None, late=False, lost=False)
        else:
            engine.count_unaudited(row)
            identity = UNAUDITED
        return Decision(identity, arm, self._option(arm, price), role, price, self._identity.key)

    def propose(self, position: Position, allowed: Mask | None, features: object) -> Proposal:
        """The learner's arm at this price, in this context if there is one.

        If the learner fails, the optimist's arm; if that fails too, the safe option, which costs most.
        """
        price = max(0.0, position.price)
        try:
            return self._learner.propose(price, allowed, features)
        except Exception as error:
            self.failures.chooser_failed(error)
        unbiased = self._learner.unbiased_if_failed
        try:
            return Proposal(self._learner.optimistic(price, allowed), unbiased)
        except Exception:
            return Proposal(
                self._learner.head.arms - 1 if allowed is None else int(np.flatnonzero(allowed)[-1]), unbiased
            )

    # --- tell

    def tell(self, decision: Decision | int, success: float, cost: float | None = None) -> None:
        """Count the outcome of a decision: a bool, or any number from 0 to 1. The cost only where the menu does not know it.

        An outcome for a decision that has expired amends it. Telling twice changes nothing and raises `AlreadyTold`.
        """
        units = success_units(success)
        spent = None if cost is None else cost_told(cost)
        if units == 0 and isinstance(decision, Decision) and decision.is_skip and self._identity.id_of(decision) >= 0:
            return  # it was settled when it was asked
        with self.lock, self._changing:
            identity, entry, late = self._locate(decision)
            if entry.role == SKIP and units == 0:
                return
            self.costs.check(entry.arm, spent)
            self._settle(identity, entry, units, spent, late=late)
        if self.failures.warning:
            self.failures.warn()

    def tell_many(self, outcomes: Iterable[Sequence[object]]) -> None:
        """Tell many outcomes, each (decision, success) or (decision, success, cost): all, or none if one is bad."""
        if not isinstance(outcomes, Iterable):
            raise InvalidArgument(f"outcomes must be a sequence of (decision, success), got {quoted(outcomes)}")
        checked = [outcome_of(item) for item in outcomes]
        with self.lock, self._changing:
            located: dict[int, tuple[Entry, bool, int, float | None]] = {}
            for decision, units, spent in checked:
                identity, entry, late = self._locate(decision)
                if entry.role == SKIP and units == 0:
                    continue
                if identity in located:
                    raise AlreadyTold(f"decision {identity} appears twice in the same call; nothing was counted")
                self.costs.check(entry.arm, spent)
                located[identity] = entry, late, units, spent
            for identity, (entry, late, units, spent) in located.items():
                self._settle(identity, entry, units, spent, late=late)
        self.failures.warn()

    def _locate(self, decision: object) -> tuple[int, Entry, bool]:
        """The id and the entry of a decision that is outstanding or has expired (True); raises if it was settled before."""
        identity, engine = self._identity.id_of(decision), self._engine
        entry = engine.entry(identity)
        if entry is not None:
            return identity, entry, False
        entry = engine.expired_entry(identity)
        if entry is not None:
            return identity, entry, True
        if 0 <= identity < engine.next_id:
            given_up = sum(engine.sum_of(name) for name in ("expired", "safe_lost", "skipped"))
            late = " or expired too long ago to amend" if given_up > REMEMBERED else ""
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
        """Learn from an outcome that is counted. The count remains, whatever fails here."""
        try:
            self._spend(entry.row, self.costs.booked(entry.arm, cost, late=late))
            learned = self.costs.learned(entry.arm, cost, late=late)
            if not lost or entry.role != SAFE:  # a lost safe play has no outcome yet
                fresh = not late or entry.role == SAFE
                self._engine.learn(entry, units, learned, fresh=fresh, lost=lost)
        except Exception as error:
            self.failures.learning_failed(entry.arm, error)

    def _spend(self, row: int, cost: float) -> None:
        pricing = self._engine.pricing(row)
        pricing.spent += cost
        self._engine.put_pricing(row, pricing)

    def expire(self, decision: Decision | int) -> None:
        """Give up a decision: it counts as a failure, until a late outcome amends it.

        A play of the safe option counts as neither a failure nor a success; the certificate says how many there are.
        """
        with self.lock, self._changing:
            identity, entry, late = self._locate(decision)
            if entry.role == SKIP:
                return  # it was settled when it was asked
            if late:
                raise AlreadyTold(f"decision {identity} has expired before; expiring it again changes nothing")
            self._expire(identity, entry)

    def cancel(self, decision: Decision | int) -> None:
        """Take back a decision that was never carried out, while it is outstanding: it counts as neither.

        Never cancel a decision because it failed, or may have: the certificate says how many were cancelled.
        """
        with self.lock, self._changing:
            identity, entry, late = self._locate(decision)
            if late:
                what = "was a skip" if entry.role == SKIP else "has expired"
                raise AlreadyTold(f"decision {identity} {what}, so it cannot be cancelled; nothing was changed")
            self._engine.cancel(identity, entry)

    def play_safe(self, on: bool = True) -> None:
        """Play the safe option whatever happens, until it is switched off: for emergencies."""
        wanted = flag("on", on)
        with self.lock, self._changing:
            self._playing_safe = wanted
            self.close_fast_path()  # opened again where it may be

    @property
    def playing_safe(self) -> bool:
        """Whether `play_safe` is on."""
        return self._playing_safe

    def _expire_overdue(self, now: float) -> None:
        if self._expire_after is None:
            return
        engine = self._engine
        engine.set_time(now)
        for identity in engine.overdue(now):
            entry = engine.entry(identity)
            if entry is not None:
                self._expire(identity, entry)
        engine.update_due()

    def _expire_unless_nested(self) -> None:
        """Give up what is overdue, unless this call interrupts a change of this same controller."""
        if not is_nested(self.lock):
            self._expire_overdue(self._now())

    # --- saving

    def state(self) -> dict[str, Any]:
        """The whole state of this controller, in JSON's terms."""
        with self.lock, self._reading:
            return {
                "kind": type(self).__name__,
                **self._own_state(),
                "promise": self._promise.state(),
                "expire_after": self._expire_after,
                "playing_safe": self._playing_safe,
                "keys": self._identity.state(),
                **engine_state(self._engine, [None, *self._groups], self._learner),
                "learner": self._learner.state(),
            }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file. A crash in the middle leaves the file as it was before."""
        write_state(path, self.state())

    @abstractmethod
    def _own_state(self) -> dict[str, object]:
        """What a kind of controller adds to the state."""

    def restore(self, state: dict[str, Any]) -> None:
        """Replace the state of a new controller by one that was saved."""
        self._identity = Identity.from_state(state["keys"])
        self._playing_safe = flag("playing_safe", state["playing_safe"])
        fresh = [self.new_pricing(account["name"] or "") for account in state["accounts"]]
        restore_engine(self._promise, self._engine, self._learner, state, fresh)
        self.watch.begin(counts_of(self._engine))

    # --- copies

    def __getstate__(self) -> dict[str, object]:
        with self.lock, self._reading:
            # The values are pickled after the lock is released, so they are copied under it.
            values = {name: value for name, value in self.__dict__.items() if name not in self._derived}
            own = {name: values.pop(name) for name in ("_clock", "_on_event")}  # the user's, which a copy shares
            return {**copy.deepcopy(values), **own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.mark_copied()
        self._make_locks()
        self._set_up()
        guard(self)

    def _set_up(self) -> None:
        """Derive the attributes that no copy holds."""
        self._engine.attach(self.lock, self.failures.learning_failed)

    def __deepcopy__(self, memo: dict[int, object]) -> "Controller":
        twin = type(self).__new__(type(self))
        twin.__setstate__(self.__getstate__())
        return twin
