"""An account transcribed from its definition: a list of all decisions, from which every number is worked out anew.

It keeps no sums and shares no code with suffice. Targets, successes and limits are fractions of a success; what is rounded
is rounded where docs/promise.md says so: limits to whole billionths, inwards by a 2^40th part.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

SAFE, FREE, SKIP = 1, 0, -1
ONE = 10**9
INWARDS = 1 - Fraction(1, 2**40)
NONE = Fraction(0)


@dataclass(eq=False)
class Decision:
    """What one decision was, and became. Times are the numbers of the changes that did it; 0: it was not done."""

    role: int
    expects: int
    forced: bool  # a limit called for the safe option when it was asked
    due: bool  # a skip was due when it was asked
    asked_at: int
    success: Fraction | None = None
    told_at: int = 0
    expired_at: int = 0
    cancelled_at: int = 0  # never carried out: neither a failure nor a success
    waited: bool = False  # what was reported alone would have allowed another option

    @property
    def exempt(self) -> bool:
        """A safe play that a limit forced: nothing is reserved for it."""
        return self.forced and self.role == SAFE

    @property
    def insisted(self) -> bool:
        return self.forced and self.role != SAFE

    @property
    def open(self) -> bool:
        return self.role != SKIP and not self.closed_at

    @property
    def closed_at(self) -> int:
        """When it was outstanding no more."""
        return self.expired_at or self.told_at or self.cancelled_at

    @property
    def lost(self) -> bool:
        """A safe play without an outcome is neither a failure nor a success."""
        return self.role == SAFE and self.expired_at > 0 and not self.told_at

    @property
    def counted_at(self) -> int:
        """When it became an outcome: a skip when it was asked, a safe play when it was told, another one also if given up."""
        if self.role == SKIP:
            return self.asked_at
        return self.told_at if self.role == SAFE else self.expired_at or self.told_at

    @property
    def late(self) -> bool:
        """Whether what was told came after something else was counted or noted."""
        return self.told_at > 0 and (self.expired_at > 0 or self.role == SKIP)


@dataclass
class Ledger:
    """The rules, and every change in its order: what was asked, told, given up and amended."""

    target: Fraction
    max_debt: Fraction
    in_flight: int | None  # None: nothing limits what is outstanding
    max_surplus: Fraction | None  # None: the square root of the outcomes
    most_surplus: int | None = 40  # up to this; None: without end
    forgives: bool = False
    allowance: int = 0  # 1/r in billionths, where the safe option may fail
    decisions: list[Decision] = field(default_factory=list)
    changes: int = 0
    violations: int = 0

    @classmethod
    def of_rule(
        cls, target: Fraction, width: Fraction | None, safe: Fraction, *, forgives: bool = False, allowance: int = 0
    ) -> "Ledger":
        """The limits that the paper's quantities come to: `safe` is where the price starts, as a share of the cap.

        The debt must stay below what lies above the start, for anything but the safe option to be played.
        """
        above = NONE if width is None else Fraction(math.ceil((1 - safe) * width * INWARDS * ONE), ONE)
        below = None if width is None else safe * width
        return cls(target, target - Fraction(1, ONE) + above, None, below, None, forgives, allowance)

    # --- from all decisions

    def settled(self) -> list[Decision]:
        return [one for one in self.decisions if one.counted_at]

    def count(self, which: Callable[[Decision], bool]) -> int:
        return sum(map(which, self.decisions))

    def successes(self) -> Fraction:
        return sum((one.success or NONE for one in self.decisions), NONE)

    def debt(self) -> Fraction:
        return self.target * len(self.settled()) - self.successes()

    def outstanding(self) -> int:
        """How many have a reserve."""
        return self.count(lambda one: one.open and not one.exempt)

    def exposure(self) -> Fraction:
        return self.debt() + self.target * self.outstanding()

    def pending(self) -> int:
        return self.count(lambda one: one.open)

    def expected(self) -> int:
        return sum(one.expects for one in self.decisions if one.open)

    def owed_if_failed(self, *, expires: bool) -> Fraction:
        """Every decision without an outcome as a failure; but if decisions expire, safe plays that were forced have time."""
        silent = self.count(lambda one: one.lost or (one.open and not (one.exempt and expires)))
        return self.debt() + self.target * silent

    def most(self, which: Callable[[Decision], bool], *, skips: bool) -> int:
        """The most of these that were ever outstanding at once; a skip is for the instant of its ask, where it counts."""
        steps: list[tuple[int, int]] = []
        for one in filter(which, self.decisions):
            if one.role != SKIP:
                steps.append((one.asked_at, 1))
                steps += [] if one.open else [(one.closed_at, -1)]
            elif skips:
                steps += [(one.asked_at, 1), (one.asked_at, -1)]
        level = most = 0
        for _, step in sorted(steps, key=lambda step: step[0]):  # stable: a skip comes before it goes
            level += step
            most = max(most, level)
        return most

    def most_outstanding(self) -> int:
        return self.most(lambda one: not one.exempt, skips=True)

    def most_pending(self) -> int:
        return self.most(lambda one: True, skips=False)

    # --- limits

    def max_exposure(self) -> Fraction | None:
        return None if self.in_flight is None else self.max_debt + self.target * self.in_flight

    def bottom(self, outcomes: int | None = None, outstanding: int | None = None) -> Fraction:
        """The most successes that may be banked. Where that grows, many outstanding decisions call for more."""
        if self.max_surplus is not None:
            return Fraction(math.floor(self.max_surplus * INWARDS * ONE), ONE)
        number = len(self.settled()) if outcomes is None else outcomes
        bank = Fraction(math.floor(Fraction(math.sqrt(max(number, 1))) * INWARDS * ONE), ONE)
        bank = bank if self.most_surplus is None else min(bank, Fraction(self.most_surplus))
        most = self.most_outstanding() if outstanding is None else outstanding
        return bank if self.in_flight is None else max(bank, self.needed(most))

    def needed(self, most: int) -> Fraction:
        """Theory 11: target·(d − in_flight) + 3·sqrt(d·target·(1 − target)) + 10 − max_debt, in doubles."""
        share = float(self.target)
        if self.in_flight is None or most <= self.in_flight:
            return NONE
        cover = share * (most - self.in_flight) + 3.0 * math.sqrt(most * share * (1.0 - share)) + 10.0
        return max(NONE, Fraction(math.floor(cover * ONE), ONE) - self.max_debt)

    def forgiven(self) -> Fraction:
        """The surplus that lay beyond the limit at its worst: every change is gone through again."""
        if not self.forgives:
            return NONE
        moves: dict[int, tuple[int, Fraction, int]] = {}

        def move(change: int, outcomes: int, owed: Fraction, out: int) -> None:
            before = moves.get(change, (0, NONE, 0))
            moves[change] = before[0] + outcomes, before[1] + owed, before[2] + out

        for one in self.decisions:
            move(one.asked_at, 0, NONE, int(not one.exempt))
            if one.counted_at:
                move(one.counted_at, 1, self.target, 0)
            if one.told_at:
                move(one.told_at, 0, -(one.success or NONE), 0)
            if not one.open:
                move(one.closed_at, 0, NONE, -int(not one.exempt))
        most, outcomes, debt, out, most_out = NONE, 0, NONE, 0, 0
        for change in sorted(moves):
            outcomes, debt = outcomes + moves[change][0], debt + moves[change][1]
            out += moves[change][2]
            most_out = max(most_out, out)
            if moves[change][0] or moves[change][1]:
                most = max(most, -debt - self.bottom(outcomes, most_out))
        return most

    def limit(self) -> int:
        tracked, most = self.debt() + self.forgiven(), self.max_exposure()
        if tracked + self.target > self.max_debt:
            return SAFE
        if most is not None and tracked + self.target * (self.outstanding() + 1) > most:
            return SAFE
        return SKIP if tracked <= -self.bottom() else FREE

    def skip_due(self) -> bool:
        return not self.forgives and self.debt() <= -self.bottom()

    # --- changes

    def ask(self, role: int, expects: int = 0) -> Decision:
        self.changes += 1
        made = Decision(role, expects, self.limit() == SAFE, self.skip_due(), self.changes)
        made.waited = self.debt() + self.forgiven() + self.target <= self.max_debt
        self.decisions.append(made)
        if role == SKIP:
            self._look()
        return made

    def tell(self, decision: Decision, success: Fraction) -> None:
        """Also of what has expired, and of a skip."""
        self.changes += 1
        decision.success, decision.told_at = success, self.changes
        self._look()

    def expire(self, decision: Decision) -> None:
        self.changes += 1
        decision.expired_at = self.changes
        if decision.role != SAFE:
            self._look()

    def cancel(self, decision: Decision) -> None:
        self.changes += 1
        decision.cancelled_at = self.changes

    def _look(self) -> None:
        self.violations += self.debt() > self.debt_bound()

    # --- counts

    def expired(self) -> int:
        return self.count(lambda one: one.expired_at > 0 and one.role != SAFE)

    def amended(self) -> int:
        return self.count(lambda one: one.late and (one.success or 0) > 0)

    def forced_ahead(self) -> int:
        return self.count(lambda one: one.role != SKIP and one.due)

    def safe_told(self) -> list[Fraction]:
        return [one.success for one in self.decisions if one.role == SAFE and one.success is not None]

    def skip_successes(self) -> Fraction:
        return sum((one.success or NONE for one in self.decisions if one.role == SKIP), NONE)

    def uncovered(self) -> Fraction:
        """What was insisted on, and what lost safe plays lacked that turned out to have failed."""
        lacking = [
            max(NONE, self.target - (one.success or NONE))
            for one in self.decisions
            if one.role == SAFE and one.expired_at and one.told_at
        ]
        return self.target * self.count(lambda one: one.insisted) + sum(lacking, NONE)

    def shortfalls(self) -> list[Fraction]:
        """After each forced safe play that was told in time: the worst sum of target − success over those that end with it."""
        told = [one for one in self.decisions if one.exempt and one.told_at and not one.expired_at]
        sums = [NONE]
        for one in sorted(told, key=lambda one: one.told_at):
            sums.append(sums[-1] + self.target - (one.success or NONE))
        return [sums[end] - min(sums[: end + 1]) for end in range(1, len(sums))] or [NONE]

    def failures(self) -> int:
        return sum(success < self.target for success in self.safe_told())

    def worst_window(self) -> Fraction:
        """The most failures beyond the allowed ones in any window of outcomes, as they were booked first."""
        sums = [NONE]
        for one in sorted(self.settled(), key=lambda one: one.counted_at):
            booked = one.counted_at == one.told_at  # else it was given up or a skip: a failure
            sums.append(sums[-1] + self.target - (one.success or NONE) * booked)
        return max(sums[end] - min(sums[: end + 1]) for end in range(len(sums)))

    # --- bounds

    def base_bound(self) -> Fraction:
        bound, most = self.max_debt + self.target * max(self.most_outstanding() - 1, 0), self.max_exposure()
        return (bound if most is None else min(bound, most)) + self.uncovered()

    def walk(self) -> Fraction:
        """What declared failures of the safe option may add."""
        plays = len(self.safe_told())
        if not self.allowance or not plays:
            return NONE
        return Fraction(math.ceil(self.allowance * math.log(plays * (plays + 1.0) / (1.0 - 0.99))), ONE)

    def debt_bound(self) -> Fraction:
        return self.base_bound() + self.walk()

    def ceiling(self) -> Fraction:
        return self.base_bound() + self.shortfalls()[-1]

    def surplus_bound(self) -> Fraction:
        bound = self.bottom() + self.amended()
        if self.forgives:
            return bound
        return bound + (1 - self.target) * (max(self.most_pending(), 1) + self.forced_ahead()) + self.skip_successes()

    def window_bound(self, length: int) -> Fraction:
        largest = self.base_bound() + max(self.walk(), max(self.shortfalls()))
        if self.forgives:  # forgiven with so many outstanding, the debt may start above what the bound allows
            largest += max(NONE, self.target - self.bottom() - self.max_debt)
        return min(self.target * length, largest + self.surplus_bound())
