"""The ledger: which decisions are out, which came back, which were given up. No locks, no choices."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
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


def _rows(entries: dict[int, Entry]) -> list[list[Any]]:
    return [[identity, entry.arm, entry.asked, entry.counted] for identity, entry in entries.items()]


def _entry(row: list[Any], arms: int, kind: Callable[[int], int]) -> Entry:
    _, arm, asked, counted = row
    if type(arm) is not int or not 0 <= arm < arms:
        raise StateError(f"an arm must be a whole number from 0 to {arms - 1}, got {shown(arm)}")
    return Entry(arm, kind(arm), float(asked), flag("counted", counted))


class Ledger:
    """Issues ids in order, settles each decision once, and keeps the promise's counts."""

    __slots__ = ("counts", "expired", "key", "next_id", "not_everything", "not_nothing", "pending", "promise")

    def __init__(self, promise: Promise, key: str) -> None:
        self.promise = promise
        self.key = key
        self.counts = Counts()
        self.next_id = 0
        self.pending: dict[int, Entry] = {}  # in the order of asking
        self.expired: dict[int, Entry] = {}  # in the order of expiring
        self.not_everything = 0  # pending and counted, other than everything
        self.not_nothing = 0

    def issue(self, arm: int, kind: int, asked: float, *, counted: bool) -> int:
        """Note a decision as outstanding and return its id."""
        if counted:
            # Theory 4: D counts what a decision other than everything did not know when it was asked; D' mirrors it.
            counts = self.counts
            if kind != EVERYTHING and self.not_everything > counts.missing:
                counts.missing = self.not_everything
            if kind != NOTHING and self.not_nothing > counts.missing_mirror:
                counts.missing_mirror = self.not_nothing
        self._add(self.next_id, Entry(arm, kind, asked, counted))
        self.next_id += 1
        return self.next_id - 1

    def _add(self, identity: int, entry: Entry) -> None:
        self.pending[identity] = entry
        self.not_everything += entry.counted and entry.kind != EVERYTHING
        self.not_nothing += entry.counted and entry.kind != NOTHING

    def identify(self, decision: Any) -> int:
        """The id of a decision of this ledger, pending or expired; raises if there is nothing left to tell."""
        if isinstance(decision, Decision):
            if decision.selector != self.key:
                raise ForeignDecision(f"decision {decision.id} was asked of another selector")
            identity = decision.id
        elif isinstance(decision, bool) or not hasattr(decision, "__index__"):
            raise InvalidArgument(f"decision must be a Decision or its id, got {shown(decision)}")
        else:
            identity = int(decision)
        if identity in self.pending or identity in self.expired:
            return identity
        if identity == UNAUDITED and isinstance(decision, Decision):
            raise InvalidArgument("decision was asked with audit=False, so its outcome is not counted")
        if 0 <= identity < self.next_id:
            raise AlreadyTold(f"decision {identity} was settled before; telling it again changes nothing")
        raise UnknownDecision(f"decision {identity} was never asked of this selector")

    def entry(self, identity: int) -> Entry:
        """What is known of an identified decision."""
        return self.pending[identity] if identity in self.pending else self.expired[identity]

    def settle(self, identity: int, units: int) -> bool:
        """Count the outcome of an identified decision. True if it had expired and is now amended."""
        if identity in self.expired:
            entry = self.expired.pop(identity)
            if entry.counted:
                self.promise.amend(self.counts, units, arm=entry.kind)
            return True
        entry = self._take(identity)
        if entry.counted:
            self.promise.record(self.counts, units, arm=entry.kind)
        return False

    def give_up(self, identity: int) -> Entry:
        """Count a pending decision as a failure because no outcome came; a late one may still amend it."""
        entry = self._take(identity)
        if entry.counted:
            self.promise.record(self.counts, 0, arm=entry.kind, expired=True)
        self.expired[identity] = entry
        if len(self.expired) > REMEMBERED:
            del self.expired[next(iter(self.expired))]
        return entry

    def overdue(self, before: float) -> list[int]:
        """Pending decisions asked before this time, oldest first. Stops at the first that was not."""
        found = []
        for identity, entry in self.pending.items():
            if entry.asked >= before:
                break
            found.append(identity)
        return found

    def state(self) -> dict[str, Any]:
        """The ledger in JSON's terms."""
        return {
            "key": self.key,
            "next_id": self.next_id,
            "counts": asdict(self.counts),
            "pending": _rows(self.pending),
            "expired": _rows(self.expired),
        }

    @staticmethod
    def from_state(promise: Promise, state: dict[str, Any], arms: int, kind: Callable[[int], int]) -> "Ledger":
        """The ledger that `state` wrote down; raises StateError if the numbers contradict each other."""
        ledger = Ledger(promise, str(state["key"]))
        ledger.next_id = state["next_id"]
        ledger.counts = Counts(**state["counts"])
        for row in state["pending"]:
            ledger._add(row[0], _entry(row, arms, kind))
        for row in state["expired"]:
            ledger.expired[row[0]] = _entry(row, arms, kind)
        ledger._check()
        return ledger

    def _check(self) -> None:
        numbers = [self.next_id, *asdict(self.counts).values()]
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise StateError("the counts must be whole numbers of at least 0")
        counts = self.counts
        identities = [*self.pending, *self.expired]
        if (
            len(set(identities)) != len(identities)
            or not all(type(identity) is int and 0 <= identity < self.next_id for identity in identities)
            or counts.successes > counts.told * WHOLE
            or counts.told + len(self.pending) > self.next_id
            or counts.everything_successes > counts.everything_plays * WHOLE
            or counts.expired > counts.told
        ):
            raise StateError("the counts contradict each other")

    def _take(self, identity: int) -> Entry:
        entry = self.pending.pop(identity)
        self.not_everything -= entry.counted and entry.kind != EVERYTHING
        self.not_nothing -= entry.counted and entry.kind != NOTHING
        return entry
