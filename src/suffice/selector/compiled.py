"""The compiled engine: records as rows of arrays, and every change one call of compiled code."""

import contextlib
import math
import sys
import threading
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from suffice.errors import ReentrantCall
from suffice.kernels.compiler import available, native, note_ready
from suffice.kernels.rows import Rows, address_of, from_rows, to_rows, values_of
from suffice.learning.base import Learner
from suffice.learning.records import Pricing
from suffice.learning.tables import CompiledTable
from suffice.learning.thompson import fit
from suffice.promise.record import SKIP, Account
from suffice.selector import compiled_calls as calls
from suffice.selector.compiled_calls import DUE, ELSEWHERE, EMPTY, MOVING, TOLD, Header, Slot
from suffice.selector.entries import REMEMBERED, Entry
from suffice.selector.plain import DECLINED
from suffice.selector.verbs import Position, lesson_of

SLOTS: Final = 64  # to begin with
ROWS: Final = 4
NO_FEATURES: Final = np.zeros(1)  # never written to: decisions have no features where there is no model


def has_global_lock() -> bool:
    """Whether a call of compiled code blocks all other threads, as it does with a global interpreter lock."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


class CompiledEngine:
    """Accounts, prices and outstanding decisions as arrays; see `engines`."""

    def __init__(self, learner: Learner, table: CompiledTable) -> None:
        self.learner, self.table = learner, table
        self._notes: dict[int, object] = {}  # of a model, by the id of the decision
        self._overflow: dict[int, Entry] = {}  # outstanding decisions without a slot
        self._expired: dict[int, Entry] = {}
        self._arrays: dict[int, Rows] = {}  # those that the header points at, by address
        self._header = to_rows(Header, [Header(due=math.inf, seen_at=-math.inf, expire_after=math.inf)])
        self._rows = 0
        self._use_slots(_empty_slots(SLOTS))
        self._header["accounts"] = self._keep(np.zeros(ROWS, dtype=calls.ACCOUNT))
        self._header["pricings"] = self._keep(np.zeros(ROWS, dtype=calls.PRICING))
        self._set_up()

    def _set_up(self) -> None:
        """Look up the machine code and the address of the header."""
        self.address = address_of(self._header)
        self._header["table"] = self.table.address
        self.ask_fast, self.tell_fast = native(calls.try_ask), native(calls.try_tell)
        note_ready()

    def attach(self, lock: threading.RLock, failed: Callable[[int, Exception], None]) -> None:
        """Do nothing: each change is one call of compiled code, which needs no lock and does not fail."""

    def _call(self, function: Callable[..., Any], *given: Any) -> Any:
        return native(function)(self.address, *given)

    def _keep(self, array: Rows) -> int:
        """Keep an array alive while the header may point at it, and return its address."""
        address = address_of(array)
        self._arrays[address] = array
        return address

    def _use_slots(self, slots: Rows) -> None:
        self._header["slots"], self._header["mask"] = self._keep(slots), len(slots) - 1
        self._header["features"] = self._keep(NO_FEATURES)

    def _array(self, name: str) -> Rows:
        return self._arrays[int(self._header[name][0])]

    def _drop_unused_arrays(self) -> None:
        """Release the arrays that the header no longer points at."""
        used = {int(self._header[name][0]) for name in POINTERS}
        self._arrays = {address: array for address, array in self._arrays.items() if address in used}

    # --- the fast path: `ask_fast` and `tell_fast` are machine code

    def ask_in_context(self, row: int, now: float, context: object) -> tuple[int, int, float]:
        """Decline: there is no model."""
        return DECLINED

    def fit(self) -> None:
        """Refit the cells, after an ask found that due."""
        self.table.call(fit)

    def catch_up(self, done: int) -> None:
        """Do the work that a tell left due; a later tell does it if a signal handler interrupted the compiler."""
        arm, due = divmod(done - TOLD, DUE)
        with contextlib.suppress(ReentrantCall):  # the outcome is counted, so the tell must not fail
            self.table.catch_up(due, arm, float(self._array("pricings")["now"][0]))

    def close(self) -> None:
        """Close the fast path."""
        self._header["locked"] = 1

    def open(self) -> None:
        """Open the fast path, where its calls block all other threads."""
        if has_global_lock():
            self._header["locked"] = 0

    # --- accounts

    def add_row(self, account: Account, pricing: Pricing) -> int:
        """Add an account, for a group."""
        row = self._rows
        if row == len(self._array("accounts")):
            grown = [self._keep(np.concatenate([old, np.zeros_like(old)])) for old in map(self._array, ACCOUNTS)]
            self._call(calls.move_rows_at, *grown, row)
            self._drop_unused_arrays()
        self._array("pricings")[row] = values_of(Pricing)(pricing)
        self._array("accounts")[row] = values_of(Account)(account)
        self._rows = row + 1
        return row

    def rows(self) -> int:
        """The number of accounts."""
        return self._rows

    def account(self, row: int) -> Account:
        """A copy of an account, as it is at one instant."""
        return Account(*self._array("accounts")[row].item())

    def sum_of(self, name: str) -> int:
        """The sum of one count over all accounts, as a whole number without a limit."""
        return sum(self._array("accounts")[name][: self._rows].tolist())

    def row_with_most(self, name: str) -> int:
        """The row of the account with the largest count of this name."""
        return int(self._array("accounts")[name][: self._rows].argmax())

    def position(self, row: int) -> Position:
        """What an account allows now, and its price."""
        return Position(*self._call(calls.position_at, row))

    def put_account(self, row: int, account: Account) -> None:
        """Replace an account."""
        self._array("accounts")[row] = values_of(Account)(account)

    def pricing(self, row: int) -> Pricing:
        """A copy of the prices of an account."""
        return Pricing(*self._array("pricings")[row].item())

    def put_pricing(self, row: int, pricing: Pricing) -> None:
        """Replace the prices of an account."""
        self._array("pricings")[row] = values_of(Pricing)(pricing)

    # --- outstanding decisions

    @property
    def next_id(self) -> int:
        """The id of the next decision."""
        return int(self._header["next_id"][0])

    @next_id.setter
    def next_id(self, value: int) -> None:
        self._header["next_id"] = value

    @property
    def expire_after(self) -> float:
        """Seconds after which a decision is overdue."""
        return float(self._header["expire_after"][0])

    @expire_after.setter
    def expire_after(self, value: float) -> None:
        self._header["expire_after"] = value

    def entry(self, identity: int) -> Entry | None:
        """The entry of an outstanding decision; None if it is not outstanding."""
        if identity < 0 or identity == int(self._header["settled"][0]):
            return None
        return self._overflow.get(identity) or self._slotted(identity)

    def _slotted(self, identity: int) -> Entry | None:
        slot = Slot(*self._array("slots")[identity & int(self._header["mask"][0])].item())
        if slot.id not in (identity, MOVING - identity):
            return None
        return self._entry_of(slot, identity)

    def _entry_of(self, slot: Slot, identity: int) -> Entry:
        return Entry(
            slot.row, slot.arm, slot.role, slot.target, slot.expects, slot.exempt, slot.price, slot.asked_at,
            bool(slot.counted), bool(slot.unbiased), self._note_of(slot, identity),
        )  # fmt: skip

    def _note_of(self, slot: Slot, identity: int) -> object:
        """The model's note of a decision."""
        return self._notes.get(identity) if slot.noted == ELSEWHERE else None

    def expired_entry(self, identity: int) -> Entry | None:
        """The entry of a decision that has expired; None if it has not, or is too old to amend."""
        settled = identity == int(self._header["settled"][0]) and not int(self._header["lost"][0])
        gone = settled or self.entry(identity) is not None
        return None if gone else self._expired.get(identity)

    def pending(self) -> int:
        """The number of outstanding decisions."""
        taken = int(np.count_nonzero(self._array("slots")["id"] != EMPTY))
        if not self._overflow:
            return taken
        return len(self.entries())

    def entries(self) -> list[tuple[int, Entry]]:
        """The outstanding decisions, in the order of asking."""
        slots = self._array("slots")
        entries = dict(self._overflow)
        for slot in from_rows(Slot, slots[slots["id"] != EMPTY]):
            identity = slot.id if slot.id >= 0 else MOVING - slot.id
            entries.setdefault(identity, self._entry_of(slot, identity))
        entries.pop(int(self._header["settled"][0]), None)
        return sorted(entries.items())

    def expired_entries(self) -> list[tuple[int, Entry]]:
        """The expired decisions that may be amended, in the order of expiring."""
        return [(key, entry) for key, entry in self._expired.items() if self.expired_entry(key) is not None]

    def restore_entries(self, waiting: list[tuple[int, Entry]], expired: list[tuple[int, Entry]]) -> None:
        """Replace the outstanding and the expired decisions."""
        self._overflow, self._expired = dict(waiting), dict(expired)
        # Where the clock has gone back since, decisions are moved back with it: see `set_time`.
        self._header["seen_at"] = max((entry.asked_at for _, entry in waiting), default=-math.inf)
        self.update_due()

    def set_time(self, now: float) -> None:
        """Note the time. If the clock went back, no outstanding decision can have been asked later than now."""
        if now < float(self._header["seen_at"][0]):
            slots = self._array("slots")
            slots["asked_at"] = np.minimum(slots["asked_at"], now)
            self._overflow = {
                key: entry._replace(asked_at=min(entry.asked_at, now)) for key, entry in self._overflow.items()
            }
        self._header["seen_at"] = now

    def overdue(self, now: float) -> list[int]:
        """The ids of the decisions that are overdue, oldest first."""
        before = now - self.expire_after
        slots = self._array("slots")
        overdue = slots["id"][(slots["id"] != EMPTY) & (slots["asked_at"] < before)].tolist()
        overdue = [key if key >= 0 else MOVING - key for key in overdue]
        overdue += [key for key, entry in self._overflow.items() if entry.asked_at < before]
        return sorted(key for key in {*overdue} if self.entry(key) is not None)

    def update_due(self) -> None:
        """Update the earliest time at which a decision will be overdue."""
        slots = self._array("slots")
        asked = slots["asked_at"][slots["id"] != EMPTY]
        oldest = min(
            [*asked.min(initial=math.inf, keepdims=True), *(entry.asked_at for entry in self._overflow.values())]
        )
        self._header["due"] = oldest + self.expire_after

    # --- the slow path

    def issue(self, entry: Entry) -> int:
        """Count a decision as outstanding, or as settled if it is a skip, and return its id."""
        if entry.role != SKIP:
            self._free_next_slot()
        given = entry.row, entry.arm, entry.role, entry.expects, entry.price, entry.asked_at
        identity = int(self._call(calls.issue_at, *given, entry.counted, entry.unbiased, entry.note is not None))
        if entry.role == SKIP:
            self._remember(identity, entry._replace(note=None))
            return identity
        if entry.note is not None:
            self._notes[identity] = entry.note  # not before: after an interrupt, another decision would get this id
        return identity

    def _free_next_slot(self) -> None:
        """Free the slot of the next decision: add slots if most are taken, else move the decision in it to the overflow."""
        while True:
            slots = self._array("slots")
            place = self.next_id & int(self._header["mask"][0])
            if slots["id"][place] == EMPTY:
                return
            if np.count_nonzero(slots["id"] != EMPTY) > len(slots) // 2:
                self._grow_slots(2 * len(slots))  # an older decision may be in the way there, too
            else:
                self._move_out(slots, place)

    def _grow_slots(self, count: int) -> None:
        more, fields = _empty_slots(count), int(self._header["fields"][0])
        features = np.zeros(max(1, count * fields))
        self._call(calls.move_slots_at, self._keep(more), count - 1, self._keep(features))
        self._drop_unused_arrays()

    def _move_out(self, slots: Rows, place: int) -> None:
        """Move the decision in a slot to the overflow."""
        slot = Slot(*slots[place].item())
        identity = slot.id if slot.id >= 0 else MOVING - slot.id
        # An interrupting tell must not find the decision here.
        slots["id"][place] = MOVING - identity
        if identity != int(self._header["settled"][0]):
            self._overflow[identity] = self._entry_of(slot, identity)
        slots["id"][place] = EMPTY

    def _close_slot(self, identity: int) -> None:
        """Have the fast path decline a decision: only the slow path also reads the other places where it is recorded."""
        slots, place = self._array("slots"), identity & int(self._header["mask"][0])
        if slots["id"][place] == identity:
            slots["id"][place] = MOVING - identity

    def count_unaudited(self, row: int) -> None:
        """Count a decision without audit."""
        self._array("accounts")["unaudited"][row] += 1

    def settle(self, identity: int, entry: Entry, units: int, *, expired: bool) -> None:
        """Count the outcome of an outstanding decision, or its expiry."""
        self._clear_settled()
        if expired:
            self._close_slot(identity)
            self._remember(identity, entry)  # while it has a slot, it counts as outstanding
        given = (entry.row, entry.role, entry.target, entry.expects, entry.exempt, units, expired, entry.counted)
        self._call(calls.settle_at, identity, *given)
        self._overflow.pop(identity, None)
        if not expired:
            self._notes.pop(identity, None)

    def cancel(self, identity: int, entry: Entry) -> None:
        """Count an outstanding decision as one that was never carried out."""
        self._clear_settled()
        given = (entry.row, entry.role, entry.target, entry.expects, entry.exempt, entry.counted)
        self._call(calls.cancel_at, identity, *given)
        self._overflow.pop(identity, None)
        self._notes.pop(identity, None)

    def amend(self, identity: int, entry: Entry, units: int) -> None:
        """Count the outcome of an expired decision."""
        self._clear_settled()
        self._call(calls.amend_at, identity, entry.row, entry.role, entry.target, units, entry.counted)
        self._drop(identity)

    def note_skip(self, identity: int, row: int, now: float, price: float, left: int) -> None:
        """Remember a skip that the fast path settled, and do the work that it left due."""
        target = int(self._array("accounts")["target"][row])
        by_model, due = divmod(left, DUE)
        self._remember(identity, Entry(row, 0, SKIP, target, price=price, asked_at=now, unbiased=not by_model))
        if due:
            self.catch_up(TOLD + due)

    def _remember(self, identity: int, entry: Entry) -> None:
        """Keep an expired decision or a skip, so that a late success can amend it."""
        self._expired[identity] = entry
        if len(self._expired) > REMEMBERED:
            self._drop(next(iter(self._expired)))

    def _drop(self, identity: int) -> None:
        self._expired.pop(identity, None)
        self._notes.pop(identity, None)

    def _clear_settled(self) -> None:
        """Remove the records that an interrupt may have left of the decision that was settled last."""
        settled = int(self._header["settled"][0])
        self._overflow.pop(settled, None)
        if not int(self._header["lost"][0]):
            self._drop(settled)

    def learn(self, entry: Entry, units: int, cost: float, *, fresh: bool, lost: bool) -> None:
        """Learn from an outcome that was just counted."""
        row, arm = entry.row, entry.arm
        main, pricing = self.pricing(0), self.pricing(row)
        own = main if row == 0 else pricing
        lesson = lesson_of(own, arm, units, cost, entry.price, entry.counted, fresh, entry.unbiased)
        self.learner.learn(main, own, self.account(row), lesson, grouped=row > 0, note=entry.note, lost=lost)
        self.put_pricing(0, main)
        if row:
            self.put_pricing(row, pricing)

    # --- copies

    def __getstate__(self) -> dict[str, object]:
        state = self.__dict__.copy()
        state["_arrays"] = {name: self._array(name) for name in POINTERS}
        for name in ("ask_fast", "tell_fast", "address"):
            state.pop(name, None)  # a copy made where compiling is switched off has none
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        arrays = state.pop("_arrays")
        self.__dict__.update(state)
        self._arrays = {}
        for name, array in arrays.items():
            self._header[name] = self._keep(array)
        self._header["locked"] = 1
        if available():
            self._set_up()


ACCOUNTS: Final = ("accounts", "pricings")
POINTERS: Final = ("accounts", "pricings", "slots", "features")


def _empty_slots(count: int) -> Rows:
    slots = np.zeros(count, dtype=calls.SLOT)
    slots["id"] = EMPTY
    return slots
