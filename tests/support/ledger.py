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


@dataclass(eq=False)
class Decision:
    """What one decision was, and became. `at` is the number of the change that told, expired or amended it."""

    role: int
    success: Fraction | None = None
    told_at: int = 0
    expired_at: int = 0


@dataclass
class Ledger:
    """The rules, and every change in its order: what was asked, told, given up and amended."""

    target: Fraction
    max_surplus: Fraction | None  # None: the square root of the outcomes
    safe: Fraction  # where the price starts, as a share of the cap
    forgives: bool
    max_outstanding: int | None = None
    allowance: int = 0  # 1/r in billionths, where the safe option may fail
    decisions: list[Decision] = field(default_factory=list)
    changes: int = 0
    late: int = 0  # the most decisions but safe plays that were out at once
    mirror: int = 0  # the same of decisions but skips
    forced: int = 0
    violations: int = 0
    order: list[tuple[Decision, Fraction]] = field(default_factory=list)  # safe plays, as they were told

    # --- from all decisions

    def settled(self) -> list[Decision]:
        return [one for one in self.decisions if one.told_at or one.expired_at]

    def count(self, which: Callable[[Decision], bool]) -> int:
        return sum(map(which, self.decisions))

    def successes(self) -> Fraction:
        return sum((one.success or Fraction(0) for one in self.decisions), Fraction(0))

    def debt(self) -> Fraction:
        return self.target * len(self.settled()) - self.successes()

    def width(self, outcomes: int | None = None) -> Fraction:
        """The most successes that may be banked, in all."""
        told = len(self.settled()) if outcomes is None else outcomes
        return Fraction(math.sqrt(max(told, 1))) * INWARDS if self.max_surplus is None else self.max_surplus * INWARDS

    def bottom(self, outcomes: int | None = None) -> Fraction:
        return Fraction(math.floor(self.safe * self.width(outcomes) * ONE), ONE)

    def top(self, outcomes: int | None = None) -> Fraction:
        """What the debt must stay below for anything but the safe option to be played."""
        return Fraction(math.ceil((1 - self.safe) * self.width(outcomes) * ONE), ONE)

    def forgiven(self) -> Fraction:
        """The surplus that lay beyond the limit at its worst: every change is gone through again."""
        if not self.forgives:
            return Fraction(0)
        moves: dict[int, tuple[int, Fraction]] = {}
        for one in self.decisions:
            first = one.expired_at or one.told_at
            if first:
                moves[first] = 1, self.target
            if one.told_at:
                count, owed = moves.get(one.told_at, (0, Fraction(0)))
                moves[one.told_at] = count, owed - (one.success or 0)
        most, outcomes, debt = Fraction(0), 0, Fraction(0)
        for change in sorted(moves):
            outcomes, debt = outcomes + moves[change][0], debt + moves[change][1]
            most = max(most, -debt - self.bottom(outcomes))
        return most

    def out(self, role: int) -> int:
        """How many are outstanding, other than these."""
        return self.count(lambda one: one.role != role and not one.told_at and not one.expired_at)

    def full(self) -> bool:
        return self.max_outstanding is not None and self.out(SAFE) >= self.max_outstanding

    def limit(self) -> int:
        tracked = self.debt() + self.forgiven()
        if self.full() or tracked >= self.top():
            return SAFE
        return SKIP if tracked <= -self.bottom() else FREE

    # --- changes

    def ask(self, role: int) -> Decision:
        if role == SAFE and self.full() and not self.forgives and self.debt() <= -self.bottom():
            self.forced += 1
        made = Decision(role)
        self.decisions.append(made)
        self.late, self.mirror = max(self.late, self.out(SAFE)), max(self.mirror, self.out(SKIP))
        return made

    def tell(self, decision: Decision, success: Fraction) -> None:
        """Also of what has expired."""
        self.changes += 1
        decision.success, decision.told_at = success, self.changes
        if decision.role == SAFE:
            self.order.append((decision, self.target - success))
        self.violations += self.debt() > self.debt_bound()

    def expire(self, decision: Decision) -> None:
        self.changes += 1
        decision.expired_at = self.changes
        self.violations += self.debt() > self.debt_bound()

    # --- counts

    def expired(self) -> int:
        return self.count(lambda one: one.expired_at > 0)

    def amended(self) -> int:
        return self.count(lambda one: one.expired_at > 0 and (one.success or 0) > 0)

    def safe_told(self) -> list[Fraction]:
        return [one.success for one in self.decisions if one.role == SAFE and one.success is not None]

    def safe_lost(self) -> int:
        return self.count(lambda one: one.role == SAFE and one.expired_at > 0 and not one.told_at)

    def skip_successes(self) -> Fraction:
        return sum((one.success or Fraction(0) for one in self.decisions if one.role == SKIP), Fraction(0))

    def shortfalls(self) -> list[Fraction]:
        """After each safe play that was told: the worst sum of target − success over the plays that end with it."""
        sums = [Fraction(0)]
        for _, lack in self.order:
            sums.append(sums[-1] + lack)
        return [sums[end] - min(sums[: end + 1]) for end in range(1, len(sums))]

    def failures(self) -> int:
        return sum(success < self.target for success in self.safe_told())

    def worst_window(self) -> Fraction:
        """The most failures beyond the allowed ones in any window of outcomes, as they were booked first."""
        booked = {one.expired_at or one.told_at: one for one in self.settled()}
        sums = [Fraction(0)]
        for change in sorted(booked):
            one = booked[change]
            sums.append(sums[-1] + self.target - (Fraction(0) if one.expired_at else one.success or Fraction(0)))
        return max(sums[end] - min(sums[: end + 1]) for end in range(len(sums)))

    # --- bounds

    def base_bound(self) -> Fraction:
        return self.top() + self.target * max(self.late, 1) + self.safe_lost()

    def debt_bound(self) -> Fraction:
        plays = len(self.safe_told())
        if not self.allowance or not plays:
            return self.base_bound()
        walk = self.allowance * math.log(plays * (plays + 1.0) / (1.0 - 0.99))
        return self.base_bound() + Fraction(math.ceil(walk), ONE)

    def ceiling(self) -> Fraction:
        return self.base_bound() + (self.shortfalls()[-1] if self.order else 0)

    def surplus_bound(self) -> Fraction:
        bound = self.bottom() + self.amended()
        if self.forgives:
            return bound
        return bound + (1 - self.target) * (max(self.mirror, 1) + self.forced) + self.skip_successes()

    def window_bound(self, length: int) -> Fraction:
        worst = max(self.shortfalls(), default=Fraction(0))
        return min(self.target * length, max(self.debt_bound(), self.base_bound() + worst) + self.surplus_bound())
