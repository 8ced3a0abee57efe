"""An independent book of what was asked and told, in rational arithmetic, that checks every bound of the promise.

It shares no code with suffice: debts, D, D' and windows are recomputed here from the events alone.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

SAFE, OTHER, SKIP = "safe", "other", "skip"
ROOM = Fraction(1, 10**9)  # for surpluses that are square roots


def promised(goal: Any) -> Fraction:
    """A target as it is promised: the number that its digits spell, rounded up to a billionth."""
    meant = Fraction(str(goal)) if isinstance(goal, float) else Fraction(goal)
    return Fraction(math.ceil(meant * 10**9), 10**9)


@dataclass
class Book:
    target: Fraction
    max_surplus: float | None  # None: sqrt(outcomes)
    safe: Fraction  # where the price starts, as a share of the cap: 1 is the safe start, 0 the paper's
    has_skip: bool
    max_pending: int | None = None
    out: dict[int, str] = field(default_factory=dict)
    gone: dict[int, str] = field(default_factory=dict)  # expired
    outcomes: int = 0
    successes: Fraction = Fraction(0)
    booked: Fraction = Fraction(0)  # target·outcomes − successes as first booked, late amendments left aside
    least: Fraction = Fraction(0)  # the least `booked` so far, for windows
    late: int = 1  # D
    mirror: int = 1  # D'
    lost: int = 0  # expired plays of the safe option
    amended: int = 0
    forced: int = 0

    @property
    def debt(self) -> Fraction:
        return self.target * self.outcomes - self.successes

    def banked(self) -> Fraction:
        return Fraction(self.max_surplus if self.max_surplus is not None else math.sqrt(max(1, self.outcomes)))

    def ask(self, identity: int, kind: str) -> None:
        others = sum(other != SAFE for other in self.out.values())
        if kind != SAFE:
            self.late = max(self.late, 1 + others)
        if kind != SKIP:
            self.mirror = max(self.mirror, 1 + sum(other != SKIP for other in self.out.values()))
        if self.max_pending is not None and others >= self.max_pending:
            assert kind == SAFE, "too many are outstanding: the safe option must be handed out"
            at_bottom = -self.debt >= self.safe * self.banked() * (1 - Fraction(1, 2**39))
            self.forced += self.has_skip and at_bottom
        self.out[identity] = kind

    def tell(self, identity: int, success: Fraction) -> None:
        if identity in self.gone:
            self.lost -= self.gone.pop(identity) == SAFE
            self.successes += success
            self.amended += success > 0
        else:
            del self.out[identity]
            self._book(success)
        self.check()

    def expire(self, identity: int) -> None:
        kind = self.gone[identity] = self.out.pop(identity)
        self.lost += kind == SAFE
        self._book(Fraction(0))
        self.check()

    def _book(self, success: Fraction) -> None:
        self.outcomes += 1
        self.successes += success
        self.booked += self.target - success
        self.least = min(self.least, self.booked)

    def debt_at_most(self) -> Fraction:
        return (1 - self.safe) * self.banked() + self.target * self.late + self.lost

    def ahead_at_most(self) -> Fraction:
        late = (1 - self.target) * (self.mirror + self.forced)
        return self.safe * self.banked() + late + self.amended

    def window_at_most(self) -> Fraction:
        if self.has_skip:
            return self.debt_at_most() + self.ahead_at_most()
        return self.debt_at_most() + self.safe * self.banked() + self.amended

    def check(self) -> None:
        assert self.debt <= self.debt_at_most() + ROOM, "behind by more than promised"
        if self.late == 1 and self.lost == 0 and self.safe == 1:
            assert self.successes >= self.target * (self.outcomes - 1) - ROOM
        if self.max_pending is not None and self.safe == 1:
            assert self.debt <= self.target * self.max_pending + self.lost + ROOM
        if self.has_skip:
            assert -self.debt <= self.ahead_at_most() + ROOM, "ahead by more than promised"
        assert self.booked - self.least <= self.window_at_most() + ROOM, "a window holds too many failures"
