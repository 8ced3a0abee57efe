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
from suffice.learning.base import Columns
from suffice.menu.menu import Menu
from suffice.numbers import ONE_SUCCESS
from suffice.promise.account import asked, tracked_debt
from suffice.promise.record import Account
from suffice.promise.rules import Promise
from suffice.promise.wording import count, percent
from suffice.selector.engines import Engine

log = logging.getLogger("suffice")

LOOK_EVERY: Final = 50
RECENT: Final = 200  # decisions
FORCED_SHARE: Final = 0.05  # of the recent ones: more forced plays of the safe option than this are an event
NEVER_REPORTED: Final = 100  # decisions: none of the first was reported
UNREPORTED_SAFE: Final = 20  # plays of the safe option without an outcome

LEAST, MOST = 10, 200  # so many of the latest outcomes of an option are compared with those before
CHANGED: Final = 5.0  # the log-likelihood ratio from which on an option is said to have changed, at the first look

KINDS: Final = (
    "forced", "feedback_stopped", "safe_unreported", "safe_failed", "option_changed", "memory_reset", "cost_above_safe",
    "cancelled"
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
    cancelled: int
    waiting: int  # outstanding in the account that has most
    owed: int  # the debt of that account that its limits are compared with, in billionths


class Watch:
    """Compares the counts with earlier ones."""

    def __init__(self, menu: Menu | None, promise: Promise) -> None:
        self._menu, self._promise = menu, promise
        self._earlier: deque[Counts] = deque([Counts(*[0] * len(Counts._fields))], maxlen=RECENT // LOOK_EVERY)
        self._reported_at = 0  # how many decisions had been asked when an outcome was reported last
        self._usual = 0.0  # decisions between an ask and its tell, as far as is known
        self._on: set[str] = set()  # the kinds of events that still last
        self._named = 0  # the `in_flight` that an event has named
        self._rates = Rates()

    def begin(self, counts: Counts) -> None:
        """Begin with these counts: what happened before is not new."""
        self._earlier.clear()
        self._earlier.append(counts)
        self._reported_at = counts.asked

    def is_due(self, counts: Counts) -> bool:
        """Whether enough was asked since the last look."""
        return counts.asked - self._earlier[-1].asked >= LOOK_EVERY

    def look(self, counts: Counts, columns: Columns | None, above_safe: str | None) -> list[Event]:
        """What is new; `above_safe`: a sentence on costs above safe_cost, if there were any."""
        before = self._earlier[-1]
        if not self.is_due(counts) and len(self._earlier) > 1:
            return []
        self._note_reports(before, counts)
        found = {
            "forced": self._forced(before, counts, columns),
            "feedback_stopped": self._stopped(counts),
            "safe_unreported": self._unreported(counts),
            "safe_failed": self._failed(before, counts),
            "cost_above_safe": above_safe,
            "cancelled": self._cancelled(counts),
        }
        events = [Event(kind, text, counts.asked) for kind, text in found.items() if text and kind not in self._on]
        lasting = ("forced", "feedback_stopped", "safe_unreported", "cost_above_safe", "cancelled")
        self._on = {kind for kind in lasting if found[kind]}
        self._earlier.append(counts)
        if columns is not None and self._menu is not None:
            events += [Event(*pair, counts.asked) for pair in self._rates.look(columns, self._menu)]
        return events

    # --- limits and feedback

    def _forced(self, before: Counts, counts: Counts, columns: Columns | None) -> str | None:
        first = self._earlier[0]
        forced, recent = counts.forced - first.forced, counts.asked - first.asked
        if forced <= FORCED_SHARE * RECENT:
            return None
        waiting = counts.forced_by_waiting - first.forced_by_waiting
        said = f"The safe option was forced in {forced:,} of the last {recent:,} decisions"
        extra = self._extra(columns)
        money = "" if extra is None else f", which cost about {forced * extra:.4g} more than other options would have"
        if 2 * waiting > forced:
            number, stopped = in_flight_for(counts.waiting, counts.owed, self._promise), self._stopped(counts)
            settled = counts.pending <= before.pending
            if not stopped and (number > 1.2 * self._named or (settled and number > self._named)):
                self._on.discard("forced")  # more are outstanding than when it was named last
                self._named = number
            late = "if it is only late, " if stopped else ""
            return (
                f"{said}, because {counts.waiting:,} have no outcome yet{money}: {late}in_flight={number} would end it."
            )
        owed = f"{self._promise.max_debt / ONE_SUCCESS:.4g} successes may be owed"
        return f"{said}, because no more than {owed}{money}: {self._remedy(forced, counts, columns)}"

    def _remedy(self, forced: int, counts: Counts, columns: Columns | None) -> str:
        """What ends plays that the debt forced."""
        if self._unreported(counts):
            return "plays of the safe option have no outcome, so nothing shows that the debt is paid back. Report them."
        best = _best_rate(columns, self._menu)
        if best is None:
            return "no other option has been tried yet; a larger max_debt would allow it."
        if best < self._promise.rate:
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
            return (
                None if self._menu.costs is None or not arms else self._menu.safe_cost - float(self._menu.costs.min())
            )
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

    def _cancelled(self, counts: Counts) -> str | None:
        first = self._earlier[0]
        many, recent = counts.cancelled - first.cancelled, counts.asked - first.asked
        if many <= FORCED_SHARE * RECENT:
            return None
        return (
            f"{many:,} of the last {recent:,} decisions were cancelled. Cancel only what was never carried out: what failed "
            "must be told as a failure, or the certificate shows a rate that is not the true one."
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


class Rates:
    """The success rate of each option lately and before, and whether what was learned was dropped."""

    def __init__(self) -> None:
        self._seen = self._before = self._lately = np.zeros((2, 0))  # plays and successes of each arm
        self._looked_at = 0.0  # plays in all

    def look(self, columns: Columns, menu: Menu) -> list[tuple[str, str]]:
        """The kinds and sentences of what is new. A large menu is looked at less often: each look goes over all of it."""
        now = np.array([columns.plays, columns.successes])
        plays = float(now[0].sum())
        if self._seen.shape != now.shape:
            self._seen, self._before, self._lately = np.zeros_like(now), np.zeros_like(now), np.zeros_like(now)
        if self._looked_at <= plays < self._looked_at + now.shape[1] - LOOK_EVERY:
            return []
        found, dropped = [], plays < self._looked_at
        if dropped:
            found.append(
                (
                    "memory_reset",
                    "The outcomes contradict what was learned, so it is learned again; that costs a while.",
                )
            )
        else:
            self._lately += np.maximum(now - self._seen, 0.0)
            # A late outcome may amend a play that was counted before: then more succeeded lately than was played.
            over = np.maximum(self._lately[1] - self._lately[0], 0.0)
            self._lately[1] -= over
            self._before[1] = np.minimum(self._before[1] + over, self._before[0])
            found += self._changed(menu)
        self._seen, self._looked_at = now, plays
        return found

    def _changed(self, menu: Menu) -> list[tuple[str, str]]:
        """Options whose latest outcomes do not go with those before: a likelihood ratio, higher the more looks there were."""
        found = []
        for arm in np.flatnonzero(self._lately[0] >= LEAST).tolist():
            (many, won), (old, held) = self._lately[:, arm], self._before[:, arm]
            both = (won + held) / (many + old)
            evidence = _excess(won, many, both) + _excess(held, old, both)
            changed = old > 0 and evidence > CHANGED + math.log1p(old / LEAST) and menu.kind_of(arm) == 0
            if changed:
                worse = won / many < held / old
                found.append((
                    "option_changed",
                    f"Option {quoted(menu.option(arm))} got {'worse' if worse else 'better'}: {percent(won / many)} of its "
                    f"latest {count(round(many), 'outcome')} succeeded, {percent(held / old)} of those before.",
                ))  # fmt: skip
                self._before[:, arm] = 0.0
            if changed or many >= MOST:
                self._before[:, arm] += self._lately[:, arm]
                self._lately[:, arm] = 0.0
        return found


def _excess(won: float, many: float, rate: float) -> float:
    """The log-likelihood of so many successes at their own rate, less that at another rate."""
    terms = ((won, rate), (many - won, 1.0 - rate))
    return sum(number * math.log(number / many / share) for number, share in terms if number > 0.0 and share > 0.0)


def in_flight_for(waiting: int, owed: int, promise: Promise) -> int:
    """The least `in_flight` with which so many outstanding decisions seldom force a safe play, at about this debt."""
    return max(0, math.ceil(waiting + (min(owed, promise.max_debt) - promise.max_debt) / promise.target))


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


def counts_in(account: Account) -> Counts:
    """The counts of one account."""
    return Counts(
        asked(account), account.outcomes - account.skipped - account.expired, account.pending, account.outstanding,
        account.forced, account.forced_by_waiting, account.safe_plays, account.safe_failures, account.safe_lost,
        account.cancelled,
        account.pending, tracked_debt(account),
    )  # fmt: skip


def counts_of(engine: Engine) -> Counts:
    """The counts of all accounts of an engine; what waits and what is owed in the one in which most is outstanding."""
    fullest = engine.account(engine.row_with_most("pending"))
    if engine.rows() == 1:
        return counts_in(fullest)
    whole = Account()
    for name in SUMMED:
        setattr(whole, name, engine.sum_of(name))
    return counts_in(whole)._replace(waiting=fullest.pending, owed=tracked_debt(fullest))
