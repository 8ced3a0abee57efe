"""The compiled engine: records as rows of arrays, and every change one call of compiled code."""

import math
import threading
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from suffice.kernels.compiler import available, native, note_ready
from suffice.kernels.rows import Rows, address_of, from_rows, to_rows, values_of
from suffice.learning.base import Learner
from suffice.learning.records import Pricing
from suffice.learning.tables import CompiledTable
from suffice.learning.thompson import fit
from suffice.promise.account import Account
from suffice.selector import compiled_calls as calls
from suffice.selector.compiled_calls import DUE, ELSEWHERE, EMPTY, MOVING, TOLD, Header, Slot
from suffice.selector.entries import REMEMBERED, Entry
from suffice.selector.plain import DECLINED
from suffice.selector.verbs import Standing, lesson_of

SLOTS: Final = 64  # to begin with
ROWS: Final = 4


class CompiledEngine:
    """Accounts, prices and slots as arrays; see `engines`."""

    def __init__(self, learner: Learner, table: CompiledTable) -> None:
        self.learner, self.table = learner, table
        self._notes: dict[int, Any] = {}  # what a model keeps of decisions, by id
        self._overflow: dict[int, Entry] = {}  # what waits and has no slot, or had to leave it
        self._expired: dict[int, Entry] = {}
        self._arrays: dict[int, Rows] = {}  # all that the header points at, by address
        self._header = to_rows(Header, [Header(due=math.inf, seen_at=-math.inf, expire_after=math.inf)])
        self._rows = 0
        self._use_slots(_empty_slots(SLOTS))
        self._header["accounts"] = self._keep(np.zeros(ROWS, dtype=calls.ACCOUNT))
        self._header["pricings"] = self._keep(np.zeros(ROWS, dtype=calls.PRICING))
        self._set_up()

    def _set_up(self) -> None:
        """Find the machine code and the places of the arrays."""
        self.address = address_of(self._header)
        self._header["table"] = self.table.address
        self.ask_quickly, self.tell_quickly = native(calls.try_ask), native(calls.try_tell)
        note_ready()

    def attach(self, lock: threading.RLock, failed: Callable[[int, Exception], None]) -> None:
        """Nothing: each change is one call of compiled code, which needs no lock and does not fail."""

    def _call(self, function: Callable[..., Any], *given: Any) -> Any:
        return native(function)(self.address, *given)

    def _keep(self, array: Rows) -> int:
        """Keep an array alive as long as the header may point at it; its address."""
        address = address_of(array)
        self._arrays[address] = array
        return address

    def _use_slots(self, slots: Rows) -> None:
        self._header["slots"], self._header["mask"] = self._keep(slots), len(slots) - 1
        self._header["features"] = self._keep(np.zeros(1))

    def _array(self, name: str) -> Rows:
        return self._arrays[int(self._header[name][0])]

    def _forget_arrays(self) -> None:
        """Let go of what the header no longer points at."""
        used = {int(self._header[name][0]) for name in POINTED}
        self._arrays = {address: array for address, array in self._arrays.items() if address in used}

    # --- the quick ways: `ask_quickly` and `tell_quickly` are machine code

    def ask_in_context(self, row: int, now: float, context: Any) -> tuple[int, int, float]:
        """Declined: no model looks at contexts."""
        return DECLINED

    def fit(self) -> None:
        """Fit the cells anew, which an ask found due."""
        self.table.call(fit)

    def catch_up(self, done: int) -> None:
        """Do what a tell left to be done."""
        arm, due = divmod(done - TOLD, DUE)
        self.table.catch_up(due, arm, float(self._array("pricings")["now"][0]))

    def close(self) -> None:
        """Close the quick ways."""
        self._header["locked"] = 1

    def open(self) -> None:
        """Open them again."""
        self._header["locked"] = 0

    # --- accounts

    def add_row(self, account: Account, pricing: Pricing) -> int:
        """Another account, for a group."""
        row = self._rows
        if row == len(self._array("accounts")):
            grown = [self._keep(np.concatenate([old, np.zeros_like(old)])) for old in map(self._array, ACCOUNTS)]
            self._call(calls.move_rows_at, *grown, row)
            self._forget_arrays()
        self._array("pricings")[row] = values_of(Pricing)(pricing)
        self._array("accounts")[row] = values_of(Account)(account)
        self._rows = row + 1
        return row

    def rows(self) -> int:
        """How many accounts there are."""
        return self._rows

    def account(self, row: int) -> Account:
        """A copy of an account, as it is at one instant."""
        return Account(*self._array("accounts")[row].item())

    def sum_of(self, name: str) -> int:
        """The sum of one count over all accounts: of any length, which no column of an array is."""
        return sum(self._array("accounts")[name][: self._rows].tolist())

    def standing(self, row: int) -> Standing:
        """Where an account stands: what may be played, and the price."""
        return Standing(*self._call(calls.standing_at, row))

    def put_account(self, row: int, account: Account) -> None:
        """Put an account in another's place."""
        self._array("accounts")[row] = values_of(Account)(account)

    def pricing(self, row: int) -> Pricing:
        """A copy of the prices of an account."""
        return Pricing(*self._array("pricings")[row].item())

    def put_pricing(self, row: int, pricing: Pricing) -> None:
        """Change the prices of an account."""
        self._array("pricings")[row] = values_of(Pricing)(pricing)

    # --- what is outstanding

    @property
    def next_id(self) -> int:
        """The first id that was not yet issued."""
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
        """What is kept of a decision that is outstanding."""
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
            slot.row, slot.arm, slot.role, slot.target, slot.asked_at, bool(slot.counted), bool(slot.fair),
            self._note_of(slot, identity),
        )  # fmt: skip

    def _note_of(self, slot: Slot, identity: int) -> Any:
        """What a model keeps of a decision."""
        return self._notes.get(identity) if slot.noted == ELSEWHERE else None

    def expired_entry(self, identity: int) -> Entry | None:
        """What is kept of a decision that has expired."""
        settled = identity == int(self._header["settled"][0]) and not int(self._header["lost"][0])
        gone = settled or self.entry(identity) is not None
        return None if gone else self._expired.get(identity)

    def pending(self) -> int:
        """How many decisions are outstanding."""
        taken = int(np.count_nonzero(self._array("slots")["id"] != EMPTY))
        if not self._overflow:
            return taken
        return len(self.entries())

    def entries(self) -> list[tuple[int, Entry]]:
        """What is outstanding, in the order of asking."""
        slots = self._array("slots")
        found = dict(self._overflow)
        for slot in from_rows(Slot, slots[slots["id"] != EMPTY]):
            identity = slot.id if slot.id >= 0 else MOVING - slot.id
            found.setdefault(identity, self._entry_of(slot, identity))
        found.pop(int(self._header["settled"][0]), None)
        return sorted(found.items())

    def expired_entries(self) -> list[tuple[int, Entry]]:
        """What has expired and may be amended, in the order of expiring."""
        return [(one, entry) for one, entry in self._expired.items() if self.expired_entry(one) is not None]

    def restore_entries(self, waiting: list[tuple[int, Entry]], expired: list[tuple[int, Entry]]) -> None:
        """Take over what was outstanding and expired."""
        self._overflow, self._expired = dict(waiting), dict(expired)
        self.note_due()

    def take_time(self, now: float) -> None:
        """The clock was looked at. If it went back, nothing that is out can have been asked later than now."""
        if now < float(self._header["seen_at"][0]):
            slots = self._array("slots")
            slots["asked_at"] = np.minimum(slots["asked_at"], now)
            self._overflow = {
                one: entry._replace(asked_at=min(entry.asked_at, now)) for one, entry in self._overflow.items()
            }
        self._header["seen_at"] = now

    def overdue(self, now: float) -> list[int]:
        """What is outstanding for too long, oldest first."""
        before = now - self.expire_after
        slots = self._array("slots")
        late = slots["id"][(slots["id"] != EMPTY) & (slots["asked_at"] < before)].tolist()
        late = [one if one >= 0 else MOVING - one for one in late]
        late += [one for one, entry in self._overflow.items() if entry.asked_at < before]
        return sorted(one for one in {*late} if self.entry(one) is not None)

    def note_due(self) -> None:
        """When the next decision will be overdue, at the earliest."""
        slots = self._array("slots")
        asked = slots["asked_at"][slots["id"] != EMPTY]
        oldest = min([*asked.min(initial=math.inf, keepdims=True), *(one.asked_at for one in self._overflow.values())])
        self._header["due"] = oldest + self.expire_after

    # --- the careful way

    def issue(self, entry: Entry) -> int:
        """Count a decision as outstanding and return its id."""
        self._make_room()
        given = (entry.row, entry.arm, entry.role, entry.asked_at, entry.counted, entry.fair, entry.note is not None)
        identity = int(self._call(calls.issue_at, *given))
        if entry.note is not None:
            self._notes[identity] = entry.note  # not before: an id that is not issued yet may become somebody else's
        return identity

    def _make_room(self) -> None:
        """Empty the slot of the next decision: by more slots while most are taken, or by moving an old decision elsewhere."""
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
        self._forget_arrays()

    def _move_out(self, slots: Rows, place: int) -> None:
        """Have the decision in a slot wait elsewhere."""
        slot = Slot(*slots[place].item())
        identity = slot.id if slot.id >= 0 else MOVING - slot.id
        # A tell that comes between takes the slot for somebody else's.
        slots["id"][place] = MOVING - identity
        if identity != int(self._header["settled"][0]):
            self._overflow[identity] = self._entry_of(slot, identity)
        slots["id"][place] = EMPTY

    def _close_slot(self, identity: int) -> None:
        """Have the quick way decline a decision: only the careful way looks where else it is written down."""
        slots, place = self._array("slots"), identity & int(self._header["mask"][0])
        if slots["id"][place] == identity:
            slots["id"][place] = MOVING - identity

    def count_unaudited(self, row: int) -> None:
        """Note a decision that will not be judged."""
        self._array("accounts")["unaudited"][row] += 1

    def settle(self, identity: int, entry: Entry, units: int, *, expired: bool) -> None:
        """Count the outcome of a decision that is outstanding, or give it up."""
        self._clear_settled()
        if expired:
            self._close_slot(identity)
            self._expired[identity] = entry  # as long as it has a slot, it counts as outstanding
            if len(self._expired) > REMEMBERED:
                self._drop(next(iter(self._expired)))
        self._call(calls.settle_at, identity, entry.row, entry.role, entry.target, units, expired, entry.counted)
        self._overflow.pop(identity, None)
        if not expired:
            self._notes.pop(identity, None)

    def amend(self, identity: int, entry: Entry, units: int) -> None:
        """Count the outcome of a decision that had expired."""
        self._clear_settled()
        self._call(calls.amend_at, identity, entry.row, entry.role, entry.target, units, entry.counted)
        self._drop(identity)

    def _drop(self, identity: int) -> None:
        self._expired.pop(identity, None)
        self._notes.pop(identity, None)

    def _clear_settled(self) -> None:
        """Remove what an interrupt may have left behind of the decision that was settled last."""
        settled = int(self._header["settled"][0])
        self._overflow.pop(settled, None)
        if not int(self._header["lost"][0]):
            self._drop(settled)

    def learn(self, entry: Entry, units: int, cost: float, *, fresh: bool, lost: bool) -> None:
        """Learn from an outcome that was counted just now."""
        row, arm = entry.row, entry.arm
        main, pricing = self.pricing(0), self.pricing(row)
        lesson = lesson_of(self.account(row), arm, units, cost, entry.counted, fresh, entry.fair)
        own = main if row == 0 else pricing
        self.learner.learn(main, own, lesson, grouped=row > 0, note=entry.note, lost=lost)
        self.put_pricing(0, main)
        if row:
            self.put_pricing(row, pricing)

    # --- copies

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state["_arrays"] = {name: self._array(name) for name in POINTED}
        del state["ask_quickly"], state["tell_quickly"], state["address"]
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
POINTED: Final = ("accounts", "pricings", "slots", "features")


def _empty_slots(count: int) -> Rows:
    slots = np.zeros(count, dtype=calls.SLOT)
    slots["id"] = EMPTY
    return slots
