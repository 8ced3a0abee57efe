"""The ledger: which decisions are out, which came back, which were given up. No locks, no choices.

An interrupt (Ctrl-C, a signal handler that raises) may strike between any two lines. So every change is made on a copy
of the counts, which also says what the next id is and which decision was settled last, and takes effect by one
assignment: before it nothing has happened, after it all has, and what is left to do is to sweep up.
"""

import math
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from suffice.checks import WHOLE, flag
from suffice.errors import AlreadyTold, ForeignDecision, InvalidArgument, StateError, UnknownDecision, shown
from suffice.promise import EVERYTHING, NOTHING, Counts, Promise
from suffice.records import UNAUDITED, Decision

# Expired decisions are remembered so that a late outcome can amend them. The oldest are let go beyond this many.
REMEMBERED: Final = 100_000


@dataclass(slots=True)
class Entry:
    """A decision that is out, or was given up."""

    arm: int
    kind: int  # EVERYTHING, NOTHING or PRICE
    asked: float  # when, by the controller's clock
    counted: bool  # False in the paper's first round


@dataclass(slots=True)
class Book(Counts):
    """The counts, with what must change in the same instant."""

    next_id: int = 0  # the first id not yet issued
    settled: int = -1  # the decision settled last: no longer out, though its entry may still wait to be swept up
    out: int = 0  # decisions outstanding, other than everything (and of a first round)
    out_mirror: int = 0  # the same, other than nothing


class Ledger:
    """Issues ids in order, settles each decision once, and keeps the promise's counts."""

    __slots__ = ("counts", "expired", "keys", "pending", "promise", "restored")

    def __init__(self, promise: Promise) -> None:
        self.promise = promise
        self.counts = Book()
        self.pending: dict[int, Entry] = {}  # in the order of asking
        self.expired: dict[int, Entry] = {}  # in the order of expiring
        self.keys: list[tuple[int, str]] = [(0, secrets.token_hex(8))]  # (first id, key): a key per run of ids
        self.restored = False

    # --- out

    @property
    def key(self) -> str:
        """What marks the decisions that are issued now."""
        return self.keys[-1][1]

    def issue(self, arm: int, kind: int, asked: float, *, counted: bool, forced: bool = False) -> int:
        """Note a decision as outstanding and return its id."""
        if self.restored:
            # Another copy of this ledger may issue the same ids from here on; its decisions must not pass for ours.
            self.keys.append((self.counts.next_id, secrets.token_hex(8)))
            self.restored = False
        identity = self.counts.next_id
        book = replace(self.counts, next_id=identity + 1, forced=self.counts.forced + forced)
        if counted:
            # Theory 4: D counts what a decision other than everything did not know when it was asked; D' mirrors it.
            if kind != EVERYTHING:
                book.missing = max(book.missing, book.out)
                book.out += 1
            if kind != NOTHING:
                book.missing_mirror = max(book.missing_mirror, book.out_mirror)
                book.out_mirror += 1
        self.pending[identity] = Entry(arm, kind, asked, counted)
        self.counts = book
        return identity

    def outstanding(self) -> int:
        """How many decisions are out."""
        return len(self.pending) - sum(not self._valid(identity) for identity in self._unswept())

    def _valid(self, identity: int) -> bool:
        return identity != self.counts.settled and identity < self.counts.next_id

    def _unswept(self) -> list[int]:
        """Entries that an interrupt may have left behind: settled already, or not yet issued."""
        return [identity for identity in (self.counts.settled, self.counts.next_id) if identity in self.pending]

    def identify(self, decision: Any) -> int:
        """The id of a decision of this ledger, pending or expired; raises if there is nothing left to tell."""
        identity = self._own(decision) if isinstance(decision, Decision) else _id(decision)
        if self._valid(identity) and (identity in self.pending or identity in self.expired):
            return identity
        if 0 <= identity < self.counts.next_id:
            late = " or given up too long ago to amend" if self.counts.expired > REMEMBERED else ""
            raise AlreadyTold(f"decision {identity} was settled before{late}; telling it again changes nothing")
        raise UnknownDecision(f"decision {shown(identity)} was never asked of this selector")

    def _own(self, decision: Decision) -> int:
        key = next((key for first, key in reversed(self.keys) if first <= decision.id), self.key)
        if decision.selector != key:
            raise ForeignDecision(
                f"decision {decision.id} was asked of another selector, or of another copy of this one"
            )
        if decision.id == UNAUDITED:
            raise InvalidArgument("decision was asked with audit=False, so its outcome is not counted")
        return decision.id

    def entry(self, identity: int) -> Entry:
        """What is known of an identified decision."""
        return self.pending[identity] if identity in self.pending else self.expired[identity]

    def overdue(self, before: float) -> list[int]:
        """Pending decisions asked before this time, oldest first. Stops at the first that was not."""
        found = []
        for identity, entry in self.pending.items():
            if entry.asked >= before:
                break
            if self._valid(identity):
                found.append(identity)
        return found

    def turn_back(self, now: float) -> None:
        """The clock went back: nothing that is out can have been asked later than now."""
        for entry in self.pending.values():
            entry.asked = min(entry.asked, now)

    # --- back

    def settle(self, identity: int, units: int) -> bool:
        """Count the outcome of an identified decision. True if it had expired and is now amended."""
        late = identity in self.expired
        entry = self.entry(identity)
        book = self._settling(identity, entry, out=not late)
        if entry.counted and late:
            self.promise.amend(book, units, arm=entry.kind)
        elif entry.counted:
            self.promise.record(book, units, arm=entry.kind)
        self.counts = book
        (self.expired if late else self.pending).pop(identity, None)
        return late

    def give_up(self, identity: int) -> Entry:
        """Count a pending decision as a failure because no outcome came; a late one may still amend it."""
        entry = self.pending[identity]
        book = self._settling(identity, entry, out=True)
        if entry.counted:
            self.promise.record(book, 0, arm=entry.kind, expired=True)
        self.counts = book
        del self.pending[identity]
        self.expired[identity] = entry
        book.settled = -1  # it may yet be amended
        if len(self.expired) > REMEMBERED:
            del self.expired[next(iter(self.expired))]
        return entry

    def _settling(self, identity: int, entry: Entry, *, out: bool) -> Book:
        """A copy of the counts in which this decision is no longer out."""
        # What an interrupt may have left behind.
        self.pending.pop(self.counts.settled, None)
        self.expired.pop(self.counts.settled, None)
        book = replace(self.counts, settled=identity)
        if out and entry.counted:
            book.out -= entry.kind != EVERYTHING
            book.out_mirror -= entry.kind != NOTHING
        return book

    # --- saving

    def state(self) -> dict[str, Any]:
        """The ledger in JSON's terms."""
        return {
            "keys": [list(pair) for pair in self.keys],
            "counts": asdict(self.counts),
            "pending": self._rows(self.pending),
            "expired": self._rows(self.expired),
        }

    def _rows(self, entries: dict[int, Entry]) -> list[list[Any]]:
        return [
            [identity, entry.arm, entry.asked, entry.counted]
            for identity, entry in entries.items()
            if self._valid(identity)
        ]

    @staticmethod
    def from_state(promise: Promise, state: dict[str, Any], arms: int, kind: Callable[[int], int]) -> "Ledger":
        """The ledger that `state` wrote down; raises StateError if the numbers contradict each other."""
        ledger = Ledger(promise)
        ledger.counts = Book(**state["counts"])
        ledger.pending = {row[0]: _entry(row, arms, kind) for row in state["pending"]}
        ledger.expired = {row[0]: _entry(row, arms, kind) for row in state["expired"]}
        ledger.keys = [(int(first), str(key)) for first, key in state["keys"]]
        ledger.restored = True
        ledger._check(len(state["pending"]) + len(state["expired"]))
        return ledger

    def _check(self, rows: int) -> None:
        counts = self.counts
        numbers = [counts.settled + 1, *asdict(replace(counts, settled=0)).values()]
        if not all(type(number) is int and 0 <= number < 10**100 for number in numbers) or counts.told > 10**18:
            raise StateError("the counts must be whole numbers of at least 0, and not astronomical")
        identities = [*self.pending, *self.expired]
        counted = [entry.kind for entry in self.pending.values() if entry.counted]
        if (
            len(set(identities)) != rows
            or not all(type(identity) is int and 0 <= identity < counts.next_id for identity in identities)
            or not self.keys
            or counts.successes > counts.told * WHOLE
            or counts.told + len(self.pending) > counts.next_id
            or counts.everything_successes > counts.everything_plays * WHOLE
            or counts.expired > counts.told
            or counts.out != sum(kind != EVERYTHING for kind in counted)
            or counts.out_mirror != sum(kind != NOTHING for kind in counted)
        ):
            raise StateError("the counts contradict each other")


def _id(decision: Any) -> int:
    try:
        if isinstance(decision, bool):
            raise TypeError
        return decision.__index__() if not isinstance(decision, int) else decision
    except (AttributeError, TypeError):
        raise InvalidArgument(f"decision must be a Decision or its id, got {shown(decision)}") from None


def _entry(row: list[Any], arms: int, kind: Callable[[int], int]) -> Entry:
    _, arm, asked, counted = row
    if type(arm) is not int or not 0 <= arm < arms:
        raise StateError(f"an arm must be a whole number from 0 to {arms - 1}, got {shown(arm)}")
    if not math.isfinite(asked):
        raise StateError(f"the time of an ask must be finite, got {shown(asked)}")
    return Entry(arm, kind(arm), float(asked), flag("counted", counted))
