"""The ledger: which decisions are out, which came back, which were given up. No locks, no choices.

An interrupt (Ctrl-C, a signal handler that raises) may strike between any two lines. So every change to the book is made
on a copy that is then put in its place, or by one call of compiled code. The book itself says which decision was settled
last and what the next id is: an outcome that it knows is never counted again, and an id that it does not know was never
issued. An ask that is interrupted may leave a decision outstanding that nobody holds, as one may be lost just after it.
"""

import math
import secrets
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import asdict
from typing import Any, Final

from suffice.book import (
    EVERYTHING,
    EXPIRED,
    NEXT_ID,
    NOTHING,
    SETTLED,
    UNAUDITED,
    amend_of,
    ask_of,
    back_of,
    record_of,
)
from suffice.checks import WHOLE, flag
from suffice.errors import AlreadyTold, ForeignDecision, InvalidArgument, StateError, UnknownDecision, shown
from suffice.pending import Entry
from suffice.promise import Counts, Promise
from suffice.records import UNAUDITED as NO_ID
from suffice.records import Decision

# Expired decisions are remembered so that a late outcome can amend them. The oldest are let go beyond this many.
REMEMBERED: Final = 100_000
MOST_COUNTED: Final = 10**15  # beyond some 2^53, doubles no longer count


class Ledger:
    """Issues ids in order, settles each decision once, and keeps the promise's book."""

    __slots__ = ("book", "expired", "key", "keys", "pending", "promise", "restored")

    def __init__(self, promise: Promise) -> None:
        self.promise = promise
        self.book: Any = promise.open()
        self.pending: MutableMapping[int, Entry] = {}  # in the order of asking
        self.expired: dict[int, Entry] = {}  # in the order of expiring
        self.key = secrets.token_hex(8)  # what marks the decisions that are issued now
        self.keys: list[tuple[int, str]] = [(0, self.key)]  # (first id, key): a key per run of ids
        self.restored = False

    @property
    def counts(self) -> Counts:
        """The counts of the book as they are at one instant."""
        counts = Counts()
        counts.read(self.page())
        return counts

    def page(self) -> list[Any]:
        """The book at one instant, as a list: Python reads and writes one several times as fast as an array."""
        copied: list[Any] = self.book.copy() if isinstance(self.book, list) else self.book.tolist()
        return copied

    @property
    def next_id(self) -> int:
        """The first id that was not yet issued."""
        return int(self.book[NEXT_ID])

    # --- out

    def renew(self) -> None:
        """A key of its own for a ledger that was copied or restored.

        Another copy of it may issue the same ids from here on; its decisions must not pass for ours.
        """
        self.key = secrets.token_hex(8)
        self.keys.append((self.next_id, self.key))
        self.restored = False

    def issue(self, arm: int, kind: int, asked: float, *, counted: bool, forced: bool = False) -> int:
        """Note a decision as outstanding and return its id."""
        if self.restored:
            self.renew()
        book = self.page()
        identity = int(book[NEXT_ID])
        book[NEXT_ID] = identity + 1
        if counted:
            ask_of(book, kind, forced)
        self.pending[identity] = (arm, kind, asked, counted)
        self.put(book)
        return identity

    def put(self, book: Any) -> None:
        """Put a changed copy in the book's place, at once."""
        if isinstance(self.book, list):
            self.book = book
        else:
            self.book[:] = book  # an array is part of a larger one, which compiled code works on

    def skip(self) -> None:
        """Note a decision that will not be judged."""
        self.book[UNAUDITED] += 1

    def outstanding(self) -> int:
        """How many decisions are out."""
        # An interrupt may have left entries behind: settled already, or not yet issued.
        return len(self.pending) - (int(self.book[SETTLED]) in self.pending) - (self.next_id in self.pending)

    def _valid(self, identity: int) -> bool:
        return identity != int(self.book[SETTLED]) and identity < self.next_id

    def identify(self, decision: Any) -> int:
        """The id of a decision of this ledger, pending or expired; raises if there is nothing left to tell."""
        identity = self._own(decision) if isinstance(decision, Decision) else _id(decision)
        if self._valid(identity) and (identity in self.pending or identity in self.expired):
            return identity
        if 0 <= identity < self.next_id:
            late = " or given up too long ago to amend" if self.book[EXPIRED] > REMEMBERED else ""
            raise AlreadyTold(f"decision {identity} was settled before{late}; telling it again changes nothing")
        raise UnknownDecision(f"decision {shown(identity)} was never asked of this selector")

    def _own(self, decision: Decision) -> int:
        key = next((key for first, key in reversed(self.keys) if first <= decision.id), self.key)
        if decision.selector != key:
            raise ForeignDecision(
                f"decision {decision.id} was asked of another selector, or of another copy of this one"
            )
        if decision.id == NO_ID:
            raise InvalidArgument("decision was asked with audit=False, so its outcome is not counted")
        return decision.id

    def entry(self, identity: int) -> Entry:
        """What is known of an identified decision."""
        return self.pending[identity] if identity in self.pending else self.expired[identity]

    def overdue(self, before: float) -> list[int]:
        """Pending decisions asked before this time, oldest first. Stops at the first that was not."""
        found = []
        for identity, (_, _, asked, _) in self.pending.items():
            if asked >= before:
                break
            if self._valid(identity):
                found.append(identity)
        return found

    def turn_back(self, now: float) -> None:
        """The clock went back: nothing that is out can have been asked later than now."""
        for identity, (arm, kind, asked, counted) in list(self.pending.items()):
            self.pending[identity] = (arm, kind, min(asked, now), counted)

    # --- back

    def settle(self, identity: int, units: int) -> bool:
        """Count the outcome of an identified decision. True if it had expired and is now amended."""
        late = identity in self.expired
        _, kind, _, counted = self.entry(identity)
        book = self.settling(identity)
        if counted and late:
            amend_of(book, kind, units)
        elif counted:
            back_of(book, kind)
            record_of(book, kind, units, False)
        self.put(book)
        (self.expired if late else self.pending).pop(identity, None)
        return late

    def give_up(self, identity: int) -> int:
        """Count a pending decision as a failure because no outcome came; a late one may still amend it. Its arm."""
        entry = self.pending[identity]
        arm, kind, _, counted = entry
        book = self.settling(identity)
        if counted:
            back_of(book, kind)
            record_of(book, kind, 0, True)
        self.put(book)
        del self.pending[identity]
        self.expired[identity] = entry
        self.book[SETTLED] = -1  # it may yet be amended
        if len(self.expired) > REMEMBERED:
            del self.expired[next(iter(self.expired))]
        return arm

    def settling(self, identity: int) -> Any:
        """A copy of the book in which this decision is the one settled last."""
        # What an interrupt may have left behind.
        self.pending.pop(int(self.book[SETTLED]), None)
        self.expired.pop(int(self.book[SETTLED]), None)
        book = self.page()
        book[SETTLED] = identity
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

    def _rows(self, entries: Mapping[int, Entry]) -> list[list[Any]]:
        return [
            [identity, arm, asked, counted]
            for identity, (arm, _, asked, counted) in entries.items()
            if self._valid(identity)
        ]

    @staticmethod
    def from_state(promise: Promise, state: dict[str, Any], arms: int, kind: Callable[[int], int]) -> "Ledger":
        """The ledger that `state` wrote down; raises StateError if the numbers contradict each other."""
        ledger = Ledger(promise)
        ledger.pending.update({row[0]: _entry(row, arms, kind) for row in state["pending"]})
        ledger.expired = {row[0]: _entry(row, arms, kind) for row in state["expired"]}
        ledger.keys = [(int(first), str(key)) for first, key in state["keys"]]
        ledger.key = ledger.keys[-1][1]
        ledger.restored = True
        counts = Counts(**state["counts"])
        ledger._check(counts, len(state["pending"]) + len(state["expired"]))
        ledger.book = promise.open(counts)
        return ledger

    def _check(self, counts: Counts, rows: int) -> None:
        for name, value in {**asdict(counts), "settled": counts.settled + 1}.items():
            most = MOST_COUNTED * (WHOLE if name == "successes" else 1)
            if type(value) is not type(getattr(Counts(), name)) or not 0 <= value <= most:
                raise StateError(f"{name} must be a number of at least 0 and not astronomical, got {shown(value)}")
        identities = [*self.pending, *self.expired]
        kinds = [kind for _, kind, _, counted in self.pending.values() if counted]
        if (
            len(set(identities)) != rows
            or not all(type(identity) is int and 0 <= identity < counts.next_id for identity in identities)
            or not self.keys
            or counts.successes > counts.told * WHOLE
            or counts.told + len(self.pending) > counts.next_id
            or counts.everything_successes > counts.everything_plays
            or counts.expired > counts.told
            or counts.out != sum(kind != EVERYTHING for kind in kinds)
            or counts.out_mirror != sum(kind != NOTHING for kind in kinds)
        ):
            raise StateError("the counts contradict each other")


def _id(decision: Any) -> int:
    try:
        if isinstance(decision, bool):
            raise TypeError
        return int(decision.__index__()) if not isinstance(decision, int) else decision
    except (AttributeError, TypeError):
        raise InvalidArgument(f"decision must be a Decision or its id, got {shown(decision)}") from None


def _entry(row: list[Any], arms: int, kind: Callable[[int], int]) -> Entry:
    _, arm, asked, counted = row
    if type(arm) is not int or not 0 <= arm < arms:
        raise StateError(f"an arm must be a whole number from 0 to {arms - 1}, got {shown(arm)}")
    if not math.isfinite(asked):
        raise StateError(f"the time of an ask must be finite, got {shown(asked)}")
    return arm, kind(arm), float(asked), flag("counted", counted)
