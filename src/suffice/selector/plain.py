"""The plain engine: records as objects. Needs no compiler; the first ask is instant.

An interrupt (Ctrl-C, a signal handler that raises) may come between any two lines. So `_change` records a change before it
begins, with the account as it was, and one assignment marks it as done once the account has changed; only then the entries
follow. The next step that finds a recorded change takes it back if it was not done, and completes it if it was. An interrupted
ask may leave a decision outstanding that the caller never received, as one may be lost just after it.
"""

import math
import threading
from collections.abc import Callable
from operator import attrgetter
from typing import Final, NamedTuple

from suffice.kernels.rows import copy_of, values_of
from suffice.learning.arm_table import FIT_FIRST, catch_up, expected_debt, learn, propose
from suffice.learning.base import Learner
from suffice.learning.records import Pricing
from suffice.learning.table_learner import TableLearner
from suffice.learning.tables import PlainTable
from suffice.learning.thompson import fit
from suffice.promise.account import amend, cancel, limit, reserve, settle, skip
from suffice.promise.record import FIELDS, RESERVED, SAFE, SKIP, Account
from suffice.selector.entries import REMEMBERED, Entry
from suffice.selector.verbs import Position, decide, is_open, lesson_of, position_of, price_of, role_of

ISSUED, SETTLED, EXPIRED, AMENDED, SKIPPED, CANCELLED = range(6)
_values: Final = values_of(Account)
_reserved: Final = attrgetter(*RESERVED)
_tuple: Final = tuple.__new__  # Entry(...) would go through a Python function
DECLINED: Final = (-1, 0, 0.0)


class Change(NamedTuple):
    """A change of an account and its entries that is under way."""

    kind: int
    row: int
    before: tuple[int, ...]  # the fields of the account that the change may alter: all, or the RESERVED ones
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
        self._change: Change | None = None  # the change under way
        self._done = False  # whether it has changed the account
        self._closed, self._busy = True, False
        self.expire_after, self._due, self._seen_at = math.inf, math.inf, -math.inf
        self.attach(lock, failed)

    def attach(self, lock: threading.RLock, failed: Callable[[int, Exception], None]) -> None:
        """Take the lock of the controller, and the function to call when learning fails."""
        self._lock, self._failed = lock, failed

    def __getstate__(self) -> dict[str, object]:
        self._complete_done_change()  # the copy takes back a change that is not done
        return {name: value for name, value in self.__dict__.items() if name not in ("_lock", "_failed")}

    # --- the fast path

    def ask_fast(self, address: int, row: int, now: float) -> tuple[int, int, float]:
        """Decide, and record the decision as outstanding: its id, its arm and the price; DECLINED if the ask is unusual."""
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
                at_limit, arm = limit(account), -1
                price = price_of(account, self._pricings[row], self._pricings[0], row > 0, at_limit)
                if is_open(at_limit, head):
                    arm = propose(table, max(0.0, price))
                    if arm == FIT_FIRST:
                        fit(table)
                        arm = propose(table, max(0.0, price))
                arm = decide(at_limit, head, arm)
                role = role_of(head, arm)
                if role == SKIP:
                    return self._skip_fast(table, row, now, price), arm, price
                identity, target = self._next_id, account.target
                expects = expected_debt(table, arm, target)
                if self.expire_after < math.inf:
                    self._seen_at, self._due = now, min(self._due, now + self.expire_after)
                exempt = int(at_limit == role == SAFE)
                entry = _tuple(Entry, (row, arm, role, target, expects, exempt, price, now, True, True, None))
                self._done = False
                self._change = _tuple(Change, (ISSUED, row, _reserved(account), identity, entry))
                reserve(account, role, expects)
                self._done = True
                self._waiting[identity] = entry
                self._next_id = identity + 1
                self._change = None
                return identity, arm, price
            finally:
                self._busy = False

    def tell_fast(self, address: int, identity: int, units: int, cost: float) -> int:
        """Settle a decision and learn from it; a cost of NaN was not told. 0 if the tell is unusual, else 1."""
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
                row, arm = entry.row, entry.arm
                spent = table.arms[arm].known_cost if cost != cost else cost
                if not 0.0 <= spent <= table.head.safe_cost:  # or not known
                    return 0
                account, pricing = self._accounts[row], self._pricings[row]
                self._done = False
                self._change = _tuple(Change, (SETTLED, row, _values(account), identity, entry))
                settle(account, entry, units, False)
                self._done = True
                self._waiting.pop(identity, None)  # a handler that read the state may have done so
                self._change = None
                pricing.spent += spent
                self._learn_fast(table, entry, units, spent)
                return 1
            finally:
                self._busy = False

    def _skip_fast(self, table: PlainTable, row: int, now: float, price: float) -> int:
        """Settle a skip, which is sure to fail, and learn from it. Its id."""
        identity = self._next_id
        entry = Entry(row, 0, SKIP, self._accounts[row].target, price=price, asked_at=now)
        self._do(SKIPPED, identity, entry, skip)
        self._learn_fast(table, entry, 0, 0.0)
        return identity

    def _learn_fast(self, table: PlainTable, entry: Entry, units: int, spent: float) -> None:
        """Learn from an outcome that is counted."""
        row, arm, account, pricing = entry.row, entry.arm, self._accounts[entry.row], self._pricings[entry.row]
        try:
            lesson = lesson_of(pricing, arm, units, spent, entry.price, True, True, entry.unbiased)
            due = learn(table, self._pricings[0], pricing, account, lesson, row > 0)
            if due:
                catch_up(table, due, arm, pricing.now)
        except Exception as error:
            self._failed(arm, error)

    def note_skip(self, identity: int, row: int, now: float, price: float, left: int) -> None:
        """Do nothing: an ask remembers a skip itself."""

    def ask_in_context(self, row: int, now: float, context: object) -> tuple[int, int, float]:
        """Decline: asks with a context take the slow path."""
        return DECLINED

    def fit(self) -> None:
        """Do nothing: an ask fits the cells itself."""

    def catch_up(self, done: int) -> None:
        """Do nothing: a tell leaves no work due."""

    def close(self) -> None:
        """Close the fast path."""
        self._closed = True

    def open(self) -> None:
        """Open the fast path."""
        self._closed = self._busy = False

    def _do(self, kind: int, identity: int, entry: Entry, step: Callable[[Account], object]) -> None:
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
        """Update the entries after a change that was done. Twice is as good as once."""
        kind, identity, entry = change.kind, change.identity, change.entry
        if kind == ISSUED:
            self._waiting[identity] = entry
            self._next_id = identity + 1
        else:
            self._waiting.pop(identity, None)
            if kind == SKIPPED:
                self._next_id = max(self._next_id, identity + 1)
            if kind in (EXPIRED, SKIPPED):
                self._expired[identity] = entry
                if len(self._expired) > REMEMBERED:
                    del self._expired[next(iter(self._expired))]
            elif kind == AMENDED:
                self._expired.pop(identity, None)
        self._change = None

    def _recover(self) -> None:
        """Complete or take back a change that an interrupt left. A handler uses `_complete_done_change` instead."""
        change = self._change
        if change is None:
            return
        if self._done:
            self._finish(change)
        else:
            self._accounts[change.row] = _as_before(self._accounts[change.row], change.before)
            self._change = None

    def _complete_done_change(self) -> None:
        """Update the entries so that they can be read, also by a handler in the middle of a change."""
        change = self._change
        if change is not None and self._done:
            self._finish(change)

    # --- accounts

    def add_row(self, account: Account, pricing: Pricing) -> int:
        """Add an account, for a group."""
        self._pricings.append(pricing)
        self._accounts.append(account)  # last: an interrupt before this leaves a price without an account
        del self._pricings[len(self._accounts) - 1 : -1]
        return len(self._accounts) - 1

    def rows(self) -> int:
        """The number of accounts."""
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
        total: int = sum(getattr(account, name) for account in self._accounts)
        if change is not None and not self._done:
            total += getattr(self.account(change.row), name) - getattr(self._accounts[change.row], name)
        return total

    def row_with_most(self, name: str) -> int:
        """The row of the account with the largest count of this name."""
        return max(range(len(self._accounts)), key=lambda row: getattr(self._accounts[row], name))

    def position(self, row: int) -> Position:
        """What an account allows now, and its price."""
        return position_of(self.account(row), self._pricings[row], self._pricings[0], row > 0)

    def put_account(self, row: int, account: Account) -> None:
        """Replace an account."""
        self._accounts[row] = account

    def pricing(self, row: int) -> Pricing:
        """The prices of an account."""
        return self._pricings[row]

    def put_pricing(self, row: int, pricing: Pricing) -> None:
        """Replace the prices of an account."""
        self._pricings[row] = pricing

    # --- outstanding decisions

    @property
    def next_id(self) -> int:
        """The id of the next decision."""
        self._complete_done_change()
        return self._next_id

    @next_id.setter
    def next_id(self, value: int) -> None:
        self._next_id = value

    def entry(self, identity: int) -> Entry | None:
        """The entry of an outstanding decision; None if it is not outstanding."""
        self._complete_done_change()
        return self._waiting.get(identity)

    def expired_entry(self, identity: int) -> Entry | None:
        """The entry of a decision that has expired; None if it has not, or is too old to amend."""
        self._complete_done_change()
        return self._expired.get(identity)

    def pending(self) -> int:
        """The number of outstanding decisions."""
        self._complete_done_change()
        return len(self._waiting)

    def entries(self) -> list[tuple[int, Entry]]:
        """The outstanding decisions, in the order of asking."""
        self._complete_done_change()
        return list(self._waiting.items())

    def expired_entries(self) -> list[tuple[int, Entry]]:
        """The expired decisions that may be amended, in the order of expiring."""
        self._complete_done_change()
        return list(self._expired.items())

    def restore_entries(self, waiting: list[tuple[int, Entry]], expired: list[tuple[int, Entry]]) -> None:
        """Replace the outstanding and the expired decisions."""
        self._waiting, self._expired = dict(waiting), dict(expired)
        self._seen_at = max((entry.asked_at for _, entry in waiting), default=-math.inf)
        self.update_due()

    def set_time(self, now: float) -> None:
        """Note the time. If the clock went back, no outstanding decision can have been asked later than now."""
        self._complete_done_change()
        if now < self._seen_at:
            self._waiting = {
                key: entry._replace(asked_at=min(entry.asked_at, now)) for key, entry in self._waiting.items()
            }
        self._seen_at = now

    def overdue(self, now: float) -> list[int]:
        """The ids of the decisions that are overdue, oldest first."""
        self._complete_done_change()
        overdue = []
        for identity, entry in self._waiting.items():  # in the order of their times, so most calls look at one
            if now - self.expire_after <= entry.asked_at:
                break
            overdue.append(identity)
        return overdue

    def update_due(self) -> None:
        """Update the earliest time at which a decision will be overdue."""
        oldest = next(iter(self._waiting.values()), None)
        self._due = math.inf if oldest is None else oldest.asked_at + self.expire_after

    # --- the slow path

    def issue(self, entry: Entry) -> int:
        """Count a decision as outstanding, or as settled if it is a skip, and return its id."""
        self._recover()
        identity = self._next_id
        if entry.role == SKIP:
            self._do(SKIPPED, identity, entry._replace(note=None), skip)
            return identity
        self._due = min(self._due, entry.asked_at + self.expire_after)
        if entry.counted:
            entry = entry._replace(exempt=int(entry.role == limit(self._accounts[entry.row]) == SAFE))
            self._do(ISSUED, identity, entry, lambda account: reserve(account, entry.role, entry.expects))
        else:
            self._do(ISSUED, identity, entry, lambda account: None)
        return identity

    def count_unaudited(self, row: int) -> None:
        """Count a decision without audit."""
        self._recover()
        self._accounts[row].unaudited += 1

    def settle(self, identity: int, entry: Entry, units: int, *, expired: bool) -> None:
        """Count the outcome of an outstanding decision, or its expiry."""

        def step(account: Account) -> None:
            if entry.counted:
                settle(account, entry, units, expired)

        self._do(EXPIRED if expired else SETTLED, identity, entry, step)

    def cancel(self, identity: int, entry: Entry) -> None:
        """Count an outstanding decision as one that was never carried out."""
        self._do(CANCELLED, identity, entry, lambda account: cancel(account, entry) if entry.counted else None)

    def amend(self, identity: int, entry: Entry, units: int) -> None:
        """Count the outcome of an expired decision."""

        def step(account: Account) -> None:
            if entry.counted:
                amend(account, entry, units)

        self._do(AMENDED, identity, entry, step)

    def learn(self, entry: Entry, units: int, cost: float, *, fresh: bool, lost: bool) -> None:
        """Learn from an outcome that was just counted."""
        row, pricing, account = entry.row, self._pricings[entry.row], self._accounts[entry.row]
        lesson = lesson_of(pricing, entry.arm, units, cost, entry.price, entry.counted, fresh, entry.unbiased)
        self.learner.learn(self._pricings[0], pricing, account, lesson, grouped=row > 0, note=entry.note, lost=lost)


def _as_before(account: Account, before: tuple[int, ...]) -> Account:
    """An account without a change that was not done."""
    earlier = copy_of(account)
    for name, value in zip(FIELDS if len(before) == len(FIELDS) else RESERVED, before, strict=True):
        setattr(earlier, name, value)
    return earlier
