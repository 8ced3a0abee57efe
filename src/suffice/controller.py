"""What all controllers share: ask and tell around a promise, thread-safe, with late and lost outcomes.

`Selector` adds a menu and a way to choose between the rails; `ThresholdSelector` adds a range.
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

from suffice.book import OUT, TOLD, dual_of, rail_of
from suffice.certificate import Certificate
from suffice.checks import WHOLE, as_number, cost_told, flag, positive, success_units, whole
from suffice.errors import AlreadyTold, InvalidArgument, SufficeWarning, shown
from suffice.fence import Fence, guard
from suffice.ledger import Ledger
from suffice.promise import EVERYTHING, NOTHING, Promise
from suffice.records import UNAUDITED, Decision
from suffice.saving import write_state

log = logging.getLogger("suffice")
log.addHandler(logging.NullHandler())


class Controller(ABC):
    """Ask what to do, tell how it went.

    One lock guards all state, so any number of threads may ask and tell; a signal handler may look and save. A fork or a copy
    (pickle, `copy.deepcopy`) is a second controller with the same history: from then on each keeps its own promise over
    what it is told.
    """

    def __init__(
        self, promise: Promise, *, max_pending: int | None, expire_after: float | None, clock: Callable[[], float]
    ) -> None:
        self._promise = promise
        self._max_pending = None if max_pending is None else whole("max_pending", max_pending)
        self._expire_after = None if expire_after is None else float(positive("expire_after", expire_after))
        if not callable(clock):
            raise InvalidArgument(f"clock must be a function that returns seconds, got {shown(clock)}")
        self._clock = clock
        self._last_seen = -math.inf  # when the clock was last looked at
        self._ledger = Ledger(promise)
        self._warning: str | None = None
        self._cost = 0.0
        self._lock = threading.RLock()
        self._fence, self._look = Fence(self, looks=False), Fence(self, looks=True)
        guard(self)

    # --- what a kind of controller adds

    _derived: ClassVar[frozenset[str]] = frozenset({"_lock", "_fence", "_look"})  # what a copy makes anew, in `_set_up`

    def _set_up(self) -> None:
        """Make what follows from the rest of the state."""

    def _nested(self) -> bool:
        """Whether the thread that holds the lock holds it twice."""
        count = getattr(self._lock, "_recursion_count", None)
        return bool(count() > 1 if count is not None else "count=1 " not in repr(self._lock))

    def _close(self) -> None:
        """Close the ways that take no lock."""

    def _open(self) -> None:
        """Open them again."""

    def _dual(self, book: Any) -> float:
        """The price now paid for one success."""
        return dual_of(book)

    @abstractmethod
    def _choose(self, rail: int, dual: float, allowed: Any) -> tuple[int, Any]:
        """The arm and the option to play at this rail, or between the rails at this dual."""

    @abstractmethod
    def _kind(self, arm: int) -> int:
        """EVERYTHING or NOTHING for the boundary arms, PRICE for all others."""

    @abstractmethod
    def _arms(self) -> int:
        """How many arms there are."""

    def _allowed(self, available: Any) -> Any:
        """Check `available` and put it in the form that `_choose` takes."""
        if available is not None:
            raise InvalidArgument(f"available must be left out for a {type(self).__name__}, got {shown(available)}")

    def _check_cost(self, arm: int, cost: float | None) -> None:
        """Refuse an outcome whose cost is needed and missing."""

    def _learn(self, arm: int, success: float, cost: float | None, *, late: bool) -> None:
        """Take in an outcome that is already counted. Whatever fails here, the count stands."""
        self._cost += cost or 0.0

    def _opening(self, allowed: Any) -> tuple[int, Any] | None:
        """An arm of the first round, which is played before the promise begins; None once it is over."""

    # --- ask

    def ask(self, *, available: Iterable[Any] | None = None, audit: bool = True) -> Decision:
        """What to do now.

        Args:
            available: the interior options that can be played this once; the boundary options always can.
            audit: False for a decision whose outcome will not be told: it is never pending and never counted. Decide
                by a coin, before asking, which ones are audited.
        """
        allowed = self._allowed(available)
        flag("audit", audit)
        with self._lock, self._fence:
            now = self._give_up_overdue()
            return self._ask(allowed, audit, now)

    def ask_many(self, count: int, *, available: Iterable[Any] | None = None, audit: bool = True) -> list[Decision]:
        """So many decisions at once, as if asked one after the other before any outcome came."""
        count = whole("count", count, 0)
        allowed = self._allowed(available)
        flag("audit", audit)
        with self._lock, self._fence:
            now = self._give_up_overdue()
            at = self._at()
            return [self._ask(allowed, audit, now, at) for _ in range(count)]

    def _at(self) -> tuple[float, int]:
        """The dual and the rail: outcomes move them, and asks do not."""
        book = self._ledger.page()
        return self._dual(book), rail_of(book)

    def _ask(self, allowed: Any, audit: bool, now: float, at: tuple[float, int] | None = None) -> Decision:
        ledger, forced = self._ledger, False
        dual, rail = at or self._at()
        opening = self._opening(allowed) if audit else None
        if opening is not None:
            arm, option = opening
        else:
            if self._max_pending is not None and ledger.book[OUT] >= self._max_pending:
                # Theory 4: everything, not just any boundary arm, or nothings without end would break the bound.
                forced = rail == NOTHING and not self._promise.forgiving
                rail = EVERYTHING
            arm, option = self._choose(rail, dual, allowed)
        if not audit:
            ledger.skip()
            return Decision(UNAUDITED, arm, option, self._kind(arm), dual, ledger.key)
        kind = self._kind(arm)
        identity = ledger.issue(arm, kind, now, counted=opening is None, forced=forced)
        return Decision(identity, arm, option, kind, dual, ledger.key)

    # --- tell

    def tell(self, decision: Decision | int, success: float, cost: float | None = None) -> None:
        """How a decision went: a bool, or any number from 0 to 1. The cost only where it is not known beforehand.

        An outcome for a decision that has expired amends it. Telling twice changes nothing and raises `AlreadyTold`.
        """
        units = success_units(success)
        spent = None if cost is None else cost_told(cost)
        with self._lock, self._fence:
            holder, own = self._holder(decision)
            identity = holder._ledger.identify(own)
            holder._check_cost(holder._ledger.entry(identity)[0], spent)
            holder._settle(identity, units, spent)
        if self._warning:
            self._say_warning()

    def tell_many(self, outcomes: Iterable[tuple[Any, ...]]) -> None:
        """Tell many outcomes, each (decision, success) or (decision, success, cost): all, or none if one is bad."""
        if not isinstance(outcomes, Iterable):
            raise InvalidArgument(f"outcomes must be a sequence of (decision, success), got {shown(outcomes)}")
        checked = [_outcome(item) for item in outcomes]
        with self._lock, self._fence:
            settled: list[tuple[Controller, int, int, float | None]] = []
            seen: set[tuple[int, int]] = set()
            for decision, units, spent in checked:
                holder, own = self._holder(decision)
                identity = holder._ledger.identify(own)
                if (id(holder), identity) in seen:
                    raise AlreadyTold(f"decision {identity} stands twice in the same call; nothing of it was told")
                seen.add((id(holder), identity))
                holder._check_cost(holder._ledger.entry(identity)[0], spent)
                settled.append((holder, identity, units, spent))
            for holder, identity, units, spent in settled:
                holder._settle(identity, units, spent)
        self._say_warning()

    def _holder(self, decision: Any) -> "tuple[Controller, Any]":
        """Whose decision it is, and how that one calls it."""
        return self, decision

    def _settle(self, identity: int, units: int, cost: float | None) -> None:
        arm = self._ledger.entry(identity)[0]
        late = self._ledger.settle(identity, units)
        self._learn_safely(arm, units, cost, late=late)

    def _learn_safely(self, arm: int, units: int, cost: float | None, *, late: bool) -> None:
        try:
            self._learn(arm, units / WHOLE, cost, late=late)
        except Exception as error:
            log.exception("learning from an outcome of arm %d failed; the outcome is counted all the same", arm)
            self._warn_once(f"learning from an outcome failed, though it is counted: {type(error).__name__}: {error}")

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
        with self._lock, self._fence:
            holder, own = self._holder(decision)
            identity = holder._ledger.identify(own)
            if identity in holder._ledger.expired:
                raise AlreadyTold(f"decision {identity} has expired before; expiring it again changes nothing")
            holder._give_up(identity)

    def _give_up(self, identity: int) -> None:
        arm = self._ledger.give_up(identity)
        self._learn_safely(arm, 0, None, late=False)

    def _give_up_overdue(self) -> float:
        """Give up on what is overdue; the time, or 0 where nothing expires and nobody needs to look."""
        if self._expire_after is None:
            return 0.0
        now = self._clock()
        if isinstance(now, bool) or not isinstance(now, Real) or not math.isfinite(now):
            raise InvalidArgument(f"clock must return seconds, got {shown(now)}")
        if now < self._last_seen:
            self._ledger.turn_back(float(now))
        self._last_seen = float(now)
        for identity in self._ledger.overdue(now - self._expire_after):
            self._give_up(identity)
        return float(now)

    # --- where things stand

    @property
    def target(self) -> float:
        """The success rate to hold."""
        return float(self._promise.target)

    @property
    def dual(self) -> float:
        """The price now paid for one success."""
        with self._lock:
            return self._dual(self._ledger.page())

    @property
    def debt(self) -> float:
        """Successes owed: target·told − successes; negative when ahead."""
        with self._lock:
            return float(self._promise.debt(self._ledger.counts))

    @property
    def told(self) -> int:
        """Outcomes counted, expired decisions included."""
        return int(self._ledger.book[TOLD])

    @property
    def successes(self) -> float:
        """The sum of successes told."""
        with self._lock:
            return as_number(self._ledger.counts.successes)

    @property
    def pending(self) -> int:
        """Decisions whose outcome has not been told."""
        return self._ledger.outstanding()

    @property
    def rate(self) -> float | None:
        """The share of outcomes that succeeded; None before the first."""
        with self._lock:
            counts = self._ledger.counts
        return counts.successes / WHOLE / counts.told if counts.told else None

    @property
    def cost(self) -> float:
        """What was spent on all decisions settled so far, as far as it is known or was told."""
        return self._cost

    @property
    def mean_cost(self) -> float | None:
        """The cost per outcome; None before the first."""
        return self.cost / self.told if self.told else None

    def certificate(self) -> Certificate:
        """What is promised, whether it is so, and if not, why and what to do."""
        with self._lock, self._look:
            if not self._nested():  # else somebody was interrupted in the middle of a change
                self._give_up_overdue()
            return Certificate.make(self._promise, self._ledger.counts, self.pending)

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} target={self.target:g} told={self.told:,} successes={self.successes:,} "
            f"pending={self.pending:,}>"
        )

    # --- saving

    def state(self) -> dict[str, Any]:
        """Everything there is to this controller, in JSON's terms."""
        with self._lock, self._look:
            return {
                "kind": type(self).__name__,
                **self._state(),
                "promise": self._promise.state(),
                "cost": self.cost,
                "max_pending": self._max_pending,
                "expire_after": self._expire_after,
                **self._ledger.state(),
            }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file. A crash in the middle leaves the file as it was before."""
        write_state(path, self.state())

    @abstractmethod
    def _state(self) -> dict[str, Any]:
        """What a kind of controller adds to the state."""

    def _restore(self, state: dict[str, Any]) -> None:
        self._cost = cost_told(state["cost"])
        self._ledger = Ledger.from_state(self._promise, state, self._arms(), self._kind)

    # --- copies

    def __getstate__(self) -> dict[str, Any]:
        with self._lock, self._look:
            # The values are pickled after the lock is released, so they are copied under it.
            return {
                name: value if name == "_clock" else copy.deepcopy(value)
                for name, value in self.__dict__.items()
                if name not in self._derived
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._ledger.restored = True  # from here on its decisions are not those of the original
        self._lock = threading.RLock()
        self._fence, self._look = Fence(self, looks=False), Fence(self, looks=True)
        self._set_up()
        guard(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Controller":
        twin = type(self).__new__(type(self))
        twin.__setstate__(self.__getstate__())
        return twin


def _outcome(item: Any) -> tuple[Any, int, float | None]:
    if not isinstance(item, tuple | list) or len(item) not in (2, 3):
        raise InvalidArgument(f"outcomes must hold (decision, success) or (decision, success, cost), got {shown(item)}")
    cost = item[2] if len(item) == 3 else None
    return item[0], success_units(item[1]), None if cost is None else cost_told(cost)
