"""Decisions that wait for their outcome, and the two engines' common shape."""

import threading
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

from suffice.learning.base import Learner
from suffice.learning.records import Pricing
from suffice.promise.account import Account
from suffice.selector.verbs import Standing

# Expired decisions are remembered so that a late outcome can amend them. The oldest are let go beyond this many.
REMEMBERED: Final = 100_000


class Entry(NamedTuple):
    """What is kept of a decision until its outcome is told."""

    row: int  # the account that it belongs to: 0 is the selector's own, the others are its groups'
    arm: int
    role: int  # SAFE, SKIP or FREE
    target: int
    asked_at: float = 0.0  # by the selector's clock; 0 where nothing expires
    counted: bool = True  # False in the paper's first round
    fair: bool = True  # False where a context, or a chooser of the user's own, had a part in the choice
    note: Any = None  # what a model keeps of the context


class Engine(Protocol):
    """Keeps accounts, prices and what is outstanding, and takes the steps of a decision. Plain or compiled.

    `ask_quickly` and `tell_quickly` are the quick ways: one call each, which happens whole or not at all. They decline what is
    not usual; then the selector goes the careful way, under its lock, by the other methods. Each of these changes what it
    changes at once, so that an interrupt between any two lines leaves nothing half done.
    """

    @property
    def learner(self) -> Learner: ...

    address: int  # the first thing that the quick ways take
    expire_after: float
    next_id: int

    @property
    def ask_quickly(self) -> Callable[[int, int, float], tuple[int, int, float]]: ...

    @property
    def tell_quickly(self) -> Callable[[int, int, int, float], int]: ...

    def ask_in_context(self, row: int, now: float, context: Any) -> tuple[int, int, float]: ...

    def fit(self) -> None: ...

    def catch_up(self, done: int) -> None: ...

    def close(self) -> None: ...

    def open(self) -> None: ...

    def attach(self, lock: threading.RLock, failed: Callable[[int, Exception], None]) -> None: ...

    # --- accounts

    def add_row(self, account: Account, pricing: Pricing) -> int: ...

    def rows(self) -> int: ...

    def account(self, row: int) -> Account: ...

    def sum_of(self, name: str) -> int: ...

    def put_account(self, row: int, account: Account) -> None: ...

    def standing(self, row: int) -> Standing: ...

    def pricing(self, row: int) -> Pricing: ...

    def put_pricing(self, row: int, pricing: Pricing) -> None: ...

    # --- what is outstanding

    def entry(self, identity: int) -> Entry | None: ...

    def expired_entry(self, identity: int) -> Entry | None: ...

    def pending(self) -> int: ...

    def entries(self) -> list[tuple[int, Entry]]: ...

    def expired_entries(self) -> list[tuple[int, Entry]]: ...

    def restore_entries(self, waiting: list[tuple[int, Entry]], expired: list[tuple[int, Entry]]) -> None: ...

    def take_time(self, now: float) -> None: ...

    def overdue(self, now: float) -> list[int]: ...

    def note_due(self) -> None: ...

    # --- the careful way

    def issue(self, entry: Entry) -> int: ...

    def count_unaudited(self, row: int) -> None: ...

    def settle(self, identity: int, entry: Entry, units: int, *, expired: bool) -> None: ...

    def amend(self, identity: int, entry: Entry, units: int) -> None: ...

    def learn(self, entry: Entry, units: int, cost: float, *, fresh: bool, lost: bool) -> None: ...
