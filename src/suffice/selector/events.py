"""Events: what a person should know about a selector, in a sentence each: what happened, what it costs, what to change.

A watch looks at the counts every LOOK_EVERY decisions, so that no decision waits for it.
"""

import logging
import math
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from suffice.errors import quoted
from suffice.kernels.rows import Floats
from suffice.learning.base import Columns
from suffice.menu.menu import Menu
from suffice.numbers import ONE_SUCCESS
from suffice.promise.rules import Promise
from suffice.promise.wording import count, percent
from suffice.selector.engines import Engine

log = logging.getLogger("suffice")

LOOK_EVERY: Final = 50
RECENT: Final = 200  # decisions
FORCED_SHARE: Final = 0.05  # of the recent ones: more forced plays of the safe option than this are an event
NEVER_REPORTED: Final = 100  # decisions: none of the first was reported
UNREPORTED_SAFE: Final = 20  # plays of the safe option without an outcome

KINDS: Final = (
    "forced", "feedback_stopped", "safe_unreported", "safe_failed", "option_changed", "memory_reset", "cost_above_safe"
)  # fmt: skip


SUMMED: Final = (
    "outcomes", "skipped", "expired", "pending", "outstanding", "forced", "forced_by_waiting", "safe_plays", "safe_failures",
    "safe_lost", "cancelled",
)  # fmt: skip


class Event(NamedTuple):
    """Something that a person should know."""

    kind: str  # one of KINDS
    text: str
    decision: int  # so many decisions had been asked


class Counts(NamedTuple):
    """The counts that a watch looks at, summed over all accounts."""

    asked: int
    reported: int
    pending: int
    outstanding: int  # of those pending, the ones with a reserve
    forced: int
    forced_by_waiting: int
    safe_plays: int
    safe_failures: int
    safe_lost: int


class Watch:
    """Compares the counts with earlier ones."""

    def __init__(self, menu: Menu | None, promise: Promise) -> None:
        self._menu, self._promise = menu, promise
        self._earlier: deque[Counts] = deque([Counts(*[0] * len(Counts._fields))], maxlen=RECENT // LOOK_EVERY + 1)
        self._reported_at = 0  # how many decisions had been asked when an outcome was reported last
        self._usual = 0.0  # decisions between an ask and its tell, as far as is known
        self._on: set[str] = set()  # the kinds of events that still last
        self._plays: Floats | None = None
        self._successes: Floats | None = None
        self._above_safe: str | None = None  # the first cost that was above safe_cost; "" once it was announced

    def look(self, counts: Counts, columns: Columns | None) -> list[Event]:
        """What is new."""
        before = self._earlier[-1]
        if counts.asked - before.asked < LOOK_EVERY and len(self._earlier) > 1:
            return []
        self._note_reports(before, counts)
        found = {
            "forced": self._forced(counts, columns),
            "feedback_stopped": self._stopped(counts),
            "safe_unreported": self._unreported(counts),
            "safe_failed": self._failed(before, counts),
            "cost_above_safe": self._above_safe,
        }
        if self._above_safe:
            self._above_safe = ""
        events = [Event(kind, text, counts.asked) for kind, text in found.items() if text and kind not in self._on]
        lasting = ("forced", "feedback_stopped", "safe_unreported")
        self._on = {kind for kind in lasting if found[kind]}
        self._earlier.append(counts)
        return [*events, *(Event(*pair, counts.asked) for pair in self._memory(columns))]

    def note_cost(self, message: str) -> None:
        """Keep what is to be said about a cost above safe_cost, unless it was said before."""
        if self._above_safe is None:
            self._above_safe = message[0].upper() + message[1:] + "."

    # --- limits and feedback

    def _forced(self, counts: Counts, columns: Columns | None) -> str | None:
        first = self._earlier[0]
        forced, recent = counts.forced - first.forced, counts.asked - first.asked
        if forced <= FORCED_SHARE * RECENT:
            return None
        waiting = counts.forced_by_waiting - first.forced_by_waiting
        said = f"The safe option was forced in {forced:,} of the last {recent:,} decisions"
        extra = self._extra(columns)
        money = "" if extra is None else f", which cost about {forced * extra:.4g} more than other options would"
        if 2 * waiting > forced:
            number = in_flight_for(counts.pending, self._promise)
            return f"{said}, because {counts.pending:,} have no outcome yet{money}: in_flight={number} would end it."
        owed = f"{self._promise.max_debt / ONE_SUCCESS:.4g} successes may be owed"
        return f"{said}, because no more than {owed}{money}: {self._remedy(forced, columns)}"

    def _remedy(self, forced: int, columns: Columns | None) -> str:
        """What ends plays that the debt forced."""
        best = _best_rate(columns, self._menu)
        if best is None or best < self._promise.rate:
            return "no other option reaches the target by itself; a better option or a lower target would end it."
        needed = math.ceil(self._promise.max_debt / ONE_SUCCESS + forced * (1.0 - best) + self._promise.rate)
        return f"max_debt={needed} would have allowed other options."

    def _extra(self, columns: Columns | None) -> float | None:
        """What the safe option costs more than the other options that were played."""
        if columns is None or self._menu is None:
            return None
        arms = range(self._menu.n_arms)[self._menu.interior]
        plays = sum(float(columns.priced[arm]) for arm in arms)
        if plays <= 0.0:
            return None
        return self._menu.safe_cost - sum(float(columns.costs[arm]) for arm in arms) / plays

    def _note_reports(self, before: Counts, counts: Counts) -> None:
        if counts.reported > before.reported:
            self._reported_at = counts.asked
            self._usual = max(0.9 * self._usual, float(counts.pending))

    def _stopped(self, counts: Counts) -> str | None:
        silent = counts.asked - self._reported_at
        patience = NEVER_REPORTED if counts.reported == 0 else max(float(LOOK_EVERY), 2.0 * self._usual)
        if counts.pending == 0 or silent < patience:
            return None
        return (
            f"No outcome was reported during the last {silent:,} decisions; {counts.pending:,} have none. Look after the "
            f"feedback: once {self._promise.in_flight:,} and the surplus are used up, every decision is the safe option."
        )

    def _unreported(self, counts: Counts) -> str | None:
        silent = counts.pending - counts.outstanding + counts.safe_lost
        if counts.reported == 0 or silent < UNREPORTED_SAFE or 2 * silent < counts.forced:
            return None
        return (
            f"{count(silent, 'play')} of the safe option have no outcome: report them too, also when a person did it. Until "
            "then nothing shows that they succeeded."
        )

    def _failed(self, before: Counts, counts: Counts) -> str | None:
        """Said at the first failure, and whenever their number has doubled."""
        failures = counts.safe_failures
        if failures == before.safe_failures or failures.bit_length() == before.safe_failures.bit_length():
            return None
        allowed = percent(1.0 - self._promise.rate)
        return (
            f"The safe option failed in {failures:,} of {count(counts.safe_plays, 'play')}; the target allows {allowed}. The "
            "certificate says whether that endangers it."
        )

    # --- what was learned

    def _memory(self, columns: Columns | None) -> list[tuple[str, str]]:
        """Whether what was learned was dropped since, and which option changed most."""
        if columns is None or self._menu is None:
            return []
        plays, successes = columns.plays.copy(), columns.successes.copy()
        old_plays, old = self._plays, self._successes
        self._plays, self._successes = plays, successes
        if old_plays is None or old is None or plays.sum() >= old_plays.sum():
            return []
        found = [
            ("memory_reset", "The outcomes contradict what was learned, so it is learned again; that costs a while.")
        ]
        both = np.flatnonzero((old_plays > 0) & (plays > 0))
        if both.size:
            was, now = old[both] / old_plays[both], successes[both] / plays[both]
            most = int(np.abs(now - was).argmax())
            option, worse = self._menu.option(int(both[most])), now[most] < was[most]
            found.append((
                "option_changed",
                f"Option {quoted(option)} got {'worse' if worse else 'better'}: {percent(float(now[most]))} of the latest "
                f"{count(int(plays[both[most]]), 'outcome')} succeeded, {percent(float(was[most]))} before.",
            ))  # fmt: skip
        return found


def in_flight_for(waiting: int, promise: Promise) -> int:
    """The least `in_flight` with which so many outstanding decisions are seldom the reason for a forced safe play."""
    return max(0, math.ceil(waiting - promise.max_debt / promise.target))


def _best_rate(columns: Columns | None, menu: Menu | None) -> float | None:
    """The best success rate of an option other than the safe one."""
    if columns is None or menu is None:
        return None
    arms = [arm for arm in range(menu.n_arms)[menu.interior] if columns.plays[arm] > 0]
    return max((float(columns.successes[arm] / columns.plays[arm]) for arm in arms), default=None)


def announce(events: list[Event], on_event: Callable[[Event], object] | None) -> None:
    """Log events and pass them on. A callback that fails is logged: a decision must not be lost over it."""
    for event in events:
        log.warning("%s", event.text, extra={"event": event.kind})
        if on_event is not None:
            try:
                on_event(event)
            except Exception:
                log.exception("on_event failed on %r", event.kind)


def counts_of(engine: Engine) -> Counts:
    """The counts of all accounts of an engine."""
    total = {name: engine.sum_of(name) for name in SUMMED}
    reported = total["outcomes"] - total["skipped"] - total["expired"]
    asked = total["outcomes"] + total["pending"] + total["safe_lost"] + total["cancelled"]
    return Counts(
        asked, reported, total["pending"], total["outstanding"], total["forced"], total["forced_by_waiting"],
        total["safe_plays"], total["safe_failures"], total["safe_lost"],
    )  # fmt: skip
