"""The plain engine: records as objects. Needs no compiler; the first ask is instant.

An interrupt (Ctrl-C, a signal handler that raises) may strike between any two lines. So a change is noted before it begins,
with the account as it is, and by one assignment as done once the account is changed; only then the entries follow. Whoever
finds a note takes back a change that was not done, and ends one that was. An ask that is interrupted may leave a decision
outstanding that nobody holds, as one may be lost just after it.
"""

import math
import threading
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final, NamedTuple

from suffice.kernels.rows import copy_of, values_of
from suffice.learning.arm_table import FIT_FIRST, catch_up, learn, propose
from suffice.learning.base import Learner
from suffice.learning.records import Pricing
from suffice.learning.table_learner import TableLearner
from suffice.learning.tables import PlainTable
from suffice.learning.thompson import fit
from suffice.promise.account import FIELDS, RESERVED, Account, amend, limit, reserve, settle
from suffice.selector.entries import REMEMBERED, Entry
from suffice.selector.verbs import Standing, decide, is_open, lesson_of, price_of, role_of, standing

ISSUED, SETTLED, EXPIRED, AMENDED = range(4)
_values: Final = values_of(Account)
_reserved: Final = attrgetter(*RESERVED)
_tuple: Final = tuple.__new__  # Entry(...) would go through a Python function
DECLINED: Final = (-1, 0, 0.0)


class Change(NamedTuple):
    """What is being done to an account and its entries."""

    kind: int
    row: int
    before: tuple[int, ...]  # what the change may alter of the account: all of it, or what is RESERVED
    identity: int
    entry: Entry


class PlainEngine:
    """Accounts, prices and entries as objects; see `engines`."""

    address = 0  # of a header, which only compiled code has

    def __init__(self, learner: Learner, lock: threading.RLock, failed: Callable[[int, Exception], None]) -> None:
        self.learner = learner
        self._accounts: list[Account] = []
        self._pricings: list[Pricing] = []
        self._waiting: dict[int, Entry] = {}  # in the order of asking
        self._expired: dict[int, Entry] = {}  # in the order of expiring
        self._next_id = 0
        self._change: Change | None = None  # what is being done
        self._done = False  # whether the account is changed
        self._closed, self._busy = True, False
        self.expire_after, self._due, self._seen_at = math.inf, math.inf, -math.inf
        self.attach(lock, failed)

    def attach(self, lock: threading.RLock, failed: Callable[[int, Exception], None]) -> None:
        """Take the lock of the controller that this belongs to, and whom to tell that learning failed."""
        self._lock, self._failed = lock, failed

    def __getstate__(self) -> dict[str, Any]:
        self._look()  # a change that is not done goes along, and is taken back there
        return {name: value for name, value in self.__dict__.items() if name not in ("_lock", "_failed")}

    # --- the quick ways

    def ask_quickly(self, address: int, row: int, now: float) -> tuple[int, int, float]:
        """Decide, and note the decision as outstanding: its id, its arm and the price; DECLINED if it is not usual."""
        with self._lock:
            learner = self.learner
            table = learner.table if type(learner) is TableLearner else None
            if self._closed or self._busy or type(table) is not PlainTable or not self._seen_at <= now < self._due:
                return DECLINED
            try:
                self._busy = True
                if self._change is not None:
                    self._recover()
                head, account = table.head, self._accounts[row]
                at_limit, price = limit(account), price_of(account, self._pricings[row], self._pricings[0], row > 0)
                arm = -1
                if is_open(at_limit, head):
                    arm = propose(table, max(0.0, price))
                    if arm == FIT_FIRST:
                        fit(table)
                        arm = propose(table, max(0.0, price))
                arm = decide(at_limit, head, arm)
                role = role_of(head, arm)
                identity = self._next_id
                entry = _tuple(Entry, (row, arm, role, account.target, now, True, True, None))
                if self.expire_after < math.inf:
                    self._seen_at, self._due = now, min(self._due, now + self.expire_after)
                self._done = False
                self._change = _tuple(Change, (ISSUED, row, _reserved(account), identity, entry))
                reserve(account, role)
                self._done = True
                self._waiting[identity] = entry
                self._next_id = identity + 1
                self._change = None
                return identity, arm, price
            finally:
                self._busy = False

    def tell_quickly(self, address: int, identity: int, units: int, cost: float) -> int:
        """Settle a decision and learn from it; NaN is a cost that nobody told. 0 if it is not usual, else 1."""
        with self._lock:
            learner = self.learner
            table = learner.table if type(learner) is TableLearner else None
            if self._closed or self._busy or type(table) is not PlainTable:
                return 0
            try:
                self._busy = True
                if self._change is not None:
                    self._recover()
                entry = self._waiting.get(identity)
                if entry is None or not entry.counted:
                    return 0
                row, arm, role, target, _, _, fair, _ = entry
                spent = table.arms[arm].known_cost if cost != cost else cost
                if not 0.0 <= spent <= table.head.safe_cost:  # or not known
                    return 0
                account, pricing = self._accounts[row], self._pricings[row]
                self._done = False
                self._change = _tuple(Change, (SETTLED, row, _values(account), identity, entry))
                settle(account, role, target, units, False)
                self._done = True
                self._waiting.pop(identity, None)  # a handler that looked may have done so
                self._change = None
                pricing.spent += spent
                try:
                    lesson = lesson_of(account, arm, units, spent, True, True, fair)
                    due = learn(table, self._pricings[0], pricing, lesson, row > 0)
                    if due:
                        catch_up(table, due, arm, pricing.now)
                except Exception as error:
                    self._failed(arm, error)
                return 1
            finally:
                self._busy = False

    def ask_in_context(self, row: int, now: float, context: Any) -> tuple[int, int, float]:
        """Declined: contexts are looked at step by step."""
        return DECLINED

    def fit(self) -> None:
        """Nothing: what has to be fitted before an ask is fitted by it."""

    def catch_up(self, done: int) -> None:
        """Nothing: a tell leaves nothing to be done."""

    def close(self) -> None:
        """Close the quick ways."""
        self._closed = True

    def open(self) -> None:
        """Open them again."""
        self._closed = self._busy = False

    def _do(self, kind: int, identity: int, entry: Entry, step: Callable[[Account], None]) -> None:
        """Change the account of an entry by a step, and then the entries, as a whole."""
        self._recover()
        account = self._accounts[entry.row]
        before = _reserved(account) if kind == ISSUED else _values(account)
        self._done = False
        self._change = change = Change(kind, entry.row, before, identity, entry)
        step(account)
        self._done = True
        self._finish(change)

    def _finish(self, change: Change) -> None:
        """Have the entries follow a change that was done. Doing it twice changes nothing."""
        kind, identity, entry = change.kind, change.identity, change.entry
        if kind == ISSUED:
            self._waiting[identity] = entry
            self._next_id = identity + 1
        else:
            self._waiting.pop(identity, None)
            if kind == EXPIRED:
                self._expired[identity] = entry
                if len(self._expired) > REMEMBERED:
                    del self._expired[next(iter(self._expired))]
            elif kind == AMENDED:
                self._expired.pop(identity, None)
        self._change = None

    def _recover(self) -> None:
        """End what an interrupt has left, or take it back. Not from a handler that interrupts: see `_look`."""
        change = self._change
        if change is None:
            return
        if self._done:
            self._finish(change)
        else:
            self._accounts[change.row] = _as_before(self._accounts[change.row], change.before)
            self._change = None

    def _look(self) -> None:
        """Make the entries ready to be read, also from a handler in the middle of a change."""
        change = self._change
        if change is not None and self._done:
            self._finish(change)

    # --- accounts

    def add_row(self, account: Account, pricing: Pricing) -> int:
        """Another account, for a group."""
        self._pricings.append(pricing)
        self._accounts.append(account)  # last: an interrupt before this leaves a price without an account
        del self._pricings[len(self._accounts) - 1 : -1]
        return len(self._accounts) - 1

    def rows(self) -> int:
        """How many accounts there are."""
        return len(self._accounts)

    def account(self, row: int) -> Account:
        """A copy of an account, as it is at one instant."""
        change = self._change
        if change is not None and not self._done and change.row == row:
            return _as_before(self._accounts[row], change.before)
        return copy_of(self._accounts[row])

    def sum_of(self, name: str) -> int:
        """The sum of one count over all accounts."""
        change = self._change
        found: int = sum(getattr(account, name) for account in self._accounts)
        if change is not None and not self._done:
            found += getattr(self.account(change.row), name) - getattr(self._accounts[change.row], name)
        return found

    def standing(self, row: int) -> Standing:
        """Where an account stands: what may be played, and the price."""
        return standing(self.account(row), self._pricings[row], self._pricings[0], row > 0)

    def put_account(self, row: int, account: Account) -> None:
        """Put an account in another's place."""
        self._accounts[row] = account

    def pricing(self, row: int) -> Pricing:
        """The prices of an account."""
        return self._pricings[row]

    def put_pricing(self, row: int, pricing: Pricing) -> None:
        """Change the prices of an account."""
        self._pricings[row] = pricing

    # --- what is outstanding

    @property
    def next_id(self) -> int:
        """The first id that was not yet issued."""
        self._look()
        return self._next_id

    @next_id.setter
    def next_id(self, value: int) -> None:
        self._next_id = value

    def entry(self, identity: int) -> Entry | None:
        """What is kept of a decision that is outstanding."""
        self._look()
        return self._waiting.get(identity)

    def expired_entry(self, identity: int) -> Entry | None:
        """What is kept of a decision that has expired."""
        self._look()
        return self._expired.get(identity)

    def pending(self) -> int:
        """How many decisions are outstanding."""
        self._look()
        return len(self._waiting)

    def entries(self) -> list[tuple[int, Entry]]:
        """What is outstanding, in the order of asking."""
        self._look()
        return list(self._waiting.items())

    def expired_entries(self) -> list[tuple[int, Entry]]:
        """What has expired and may be amended, in the order of expiring."""
        self._look()
        return list(self._expired.items())

    def restore_entries(self, waiting: list[tuple[int, Entry]], expired: list[tuple[int, Entry]]) -> None:
        """Take over what was outstanding and expired."""
        self._waiting, self._expired = dict(waiting), dict(expired)
        self.note_due()

    def take_time(self, now: float) -> None:
        """The clock was looked at. If it went back, nothing that is out can have been asked later than now."""
        self._look()
        if now < self._seen_at:
            self._waiting = {
                one: entry._replace(asked_at=min(entry.asked_at, now)) for one, entry in self._waiting.items()
            }
        self._seen_at = now

    def overdue(self, now: float) -> list[int]:
        """What is outstanding for too long, oldest first."""
        found = []
        for identity, entry in self.entries():
            if now - self.expire_after <= entry.asked_at:
                break
            found.append(identity)
        return found

    def note_due(self) -> None:
        """When the next decision will be overdue, at the earliest."""
        oldest = next(iter(self._waiting.values()), None)
        self._due = math.inf if oldest is None else oldest.asked_at + self.expire_after

    # --- the careful way

    def issue(self, entry: Entry) -> int:
        """Count a decision as outstanding and return its id."""
        self._recover()
        identity = self._next_id
        self._due = min(self._due, entry.asked_at + self.expire_after)
        self._do(ISSUED, identity, entry, lambda account: reserve(account, entry.role) if entry.counted else None)
        return identity

    def count_unaudited(self, row: int) -> None:
        """Note a decision that will not be judged."""
        self._recover()
        self._accounts[row].unaudited += 1

    def settle(self, identity: int, entry: Entry, units: int, *, expired: bool) -> None:
        """Count the outcome of a decision that is outstanding, or give it up."""

        def step(account: Account) -> None:
            if entry.counted:
                settle(account, entry.role, entry.target, units, expired)

        self._do(EXPIRED if expired else SETTLED, identity, entry, step)

    def amend(self, identity: int, entry: Entry, units: int) -> None:
        """Count the outcome of a decision that had expired."""

        def step(account: Account) -> None:
            if entry.counted:
                amend(account, entry.role, entry.target, units)

        self._do(AMENDED, identity, entry, step)

    def learn(self, entry: Entry, units: int, cost: float, *, fresh: bool, lost: bool) -> None:
        """Learn from an outcome that was counted just now."""
        row = entry.row
        lesson = lesson_of(self._accounts[row], entry.arm, units, cost, entry.counted, fresh, entry.fair)
        self.learner.learn(self._pricings[0], self._pricings[row], lesson, grouped=row > 0, note=entry.note, lost=lost)


def _as_before(account: Account, before: tuple[int, ...]) -> Account:
    """An account without a change that was not done."""
    earlier = copy_of(account)
    for name, value in zip(FIELDS if len(before) == len(FIELDS) else RESERVED, before, strict=True):
        setattr(earlier, name, value)
    return earlier
