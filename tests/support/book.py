"""An independent book of what was asked and told, in rational arithmetic, that checks every bound of the promise.

It shares no code with suffice. It keeps the history alone, and works the debt, the exposure, the limits and every bound out
anew from it, by the definitions of docs/promise.md.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

SAFE, OTHER, SKIP = "safe", "other", "skip"
ROOM = Fraction(1, 10**8)  # for surpluses that are square roots, whose last digit may differ
WAITING, REPORTED, GIVEN_UP, CANCELLED = "waiting", "reported", "given up", "cancelled"


def promised(goal: Any) -> Fraction:
    """A target as it is promised: the number that its digits spell, rounded up to a billionth."""
    meant = Fraction(str(goal)) if isinstance(goal, float) else Fraction(goal)
    return Fraction(math.ceil(meant * 10**9), 10**9)


@dataclass(eq=False)
class Line:
    """One decision: what was played, whether a limit forced it, and what became of it."""

    kind: str
    forced: bool = False
    state: str = WAITING
    success: Fraction | None = None  # as it was reported

    @property
    def reserves(self) -> bool:
        return self.state == WAITING and not (self.forced and self.kind == SAFE)


@dataclass
class Book:
    target: Fraction
    max_debt: Fraction
    in_flight: int | None  # None: no limit of what is outstanding
    max_surplus: float | None  # None: the square root of the outcomes, up to 40, and what is outstanding needs
    has_skip: bool
    most_surplus: float = 40.0
    lines: dict[int, Line] = field(default_factory=dict)
    outcomes: int = 0
    successes: Fraction = Fraction(0)
    pending: int = 0
    reserving: int = 0  # outstanding decisions with a reserve
    lost: int = 0  # safe plays that were given up
    at_once: int = 0  # the most decisions with a reserve that were outstanding at once
    waited: int = 0  # the most decisions that were outstanding at once
    banked: Fraction = Fraction(0)  # the most that may be banked so far
    beyond: Fraction = Fraction(0)  # X: what the theorem does not cover
    forced_ahead: int = 0
    late_successes: int = 0
    skip_successes: Fraction = Fraction(0)
    forgiven: Fraction = Fraction(0)
    swing: Fraction = Fraction(0)  # the debt as it was counted first, late reports left aside
    lowest: Fraction = Fraction(0)  # the least of that so far, for windows

    def __post_init__(self) -> None:
        self._grow()

    # --- sums over the history, kept up with it: `recount` works them out anew

    @property
    def out(self) -> dict[int, Line]:
        return {identity: line for identity, line in self.lines.items() if line.state == WAITING}

    @property
    def gone(self) -> dict[int, Line]:
        return {identity: line for identity, line in self.lines.items() if line.state == GIVEN_UP and line.kind != SKIP}

    @property
    def debt(self) -> Fraction:
        return self.target * self.outcomes - self.successes

    @property
    def exposure(self) -> Fraction:
        return self.debt + self.target * self.reserving

    @property
    def cap(self) -> Fraction | None:
        return None if self.in_flight is None else self.max_debt + self.target * self.in_flight

    def recount(self) -> None:
        """Every sum from the list of all decisions. What was given up counts as a failure, a safe play not at all."""
        lines = list(self.lines.values())
        told = [line for line in lines if line.state == REPORTED or (line.state == GIVEN_UP and line.kind != SAFE)]
        assert self.outcomes == len(told)
        assert self.successes == sum((line.success or Fraction(0) for line in told), Fraction(0))
        assert self.pending == len(self.out)
        assert self.reserving == sum(line.reserves for line in lines)
        assert self.lost == sum(line.kind == SAFE and line.state == GIVEN_UP for line in lines)

    # --- limits

    def must_be_safe(self) -> bool:
        tracked = self.debt + self.forgiven
        if tracked + self.target > self.max_debt:
            return True
        return self.cap is not None and tracked + self.target * (self.reserving + 1) > self.cap

    def _grow(self) -> None:
        """Whole billionths, inwards by a 2^40th part: as docs/promise.md rounds limits."""
        inwards = 1 - 2.0**-40
        if self.max_surplus is not None:
            self.banked = Fraction(math.floor(self.max_surplus * inwards * 10**9), 10**9)
            return
        most = math.floor(10**9 * min(math.sqrt(max(1, self.outcomes)) * inwards, self.most_surplus))
        if self.in_flight is not None and self.at_once > self.in_flight:
            phi = float(self.target)
            spread = 3 * math.sqrt(self.at_once * phi * (1 - phi))
            needed = phi * (self.at_once - self.in_flight) + spread + 10
            most = max(most, math.floor(needed * 10**9) - int(self.max_debt * 10**9))
        self.banked = max(self.banked, Fraction(most, 10**9))

    # --- changes

    def ask(self, identity: int, kind: str, insisted: bool = False, emergency: bool = False) -> None:
        """`insisted`: the safe option is not available; `emergency`: it is played whatever the limits say."""
        forced, tracked = self.must_be_safe(), self.debt + self.forgiven
        if forced and not insisted:
            assert kind == SAFE, "a limit must force the safe option"
        if not forced and not emergency and self.has_skip and tracked < -self.banked - ROOM:
            assert kind == SKIP, "so much is banked that the decision must be skipped"
        if kind == SKIP:
            self.lines[identity] = Line(SKIP, state=GIVEN_UP)
            self.at_once = max(self.at_once, self.reserving + 1)  # it is outstanding for an instant
            self._count(Fraction(0))
            self.check()
            return
        if forced and kind != SAFE:
            self.beyond += self.target
        if self.has_skip and tracked <= -self.banked:
            self.forced_ahead += 1  # a skip was due: a limit forced something else, or the user did
        line = self.lines[identity] = Line(kind, forced)
        self.pending += 1
        self.reserving += line.reserves
        self.at_once, self.waited = max(self.at_once, self.reserving), max(self.waited, self.pending)
        self._grow()
        self.check()

    def _leave(self, line: Line, state: str) -> None:
        """A decision is outstanding no more."""
        self.pending -= 1
        self.reserving -= line.reserves
        line.state = state

    def tell(self, identity: int, success: Fraction) -> None:
        line = self.lines[identity]
        late = line.state == GIVEN_UP
        line.success = success
        if not late:
            self._leave(line, REPORTED)
            self._count(success)
        else:
            line.state = REPORTED
            self.late_successes += success > 0
            if line.kind == SAFE:
                self.lost -= 1
                self.beyond += max(Fraction(0), self.target - success)
                self._count(success)
            else:
                self.successes += success
                self.skip_successes += success if line.kind == SKIP else 0
        self._forgive()
        self.check()

    def expire(self, identity: int) -> None:
        line = self.lines[identity]
        self._leave(line, GIVEN_UP)
        if line.kind == SAFE:
            self.lost += 1
        else:
            self._count(Fraction(0))
        self.check()

    def cancel(self, identity: int) -> None:
        self._leave(self.lines[identity], CANCELLED)
        self.check()

    def _count(self, success: Fraction) -> None:
        self.outcomes += 1
        self.successes += success
        self.swing += self.target - success
        self.lowest = min(self.lowest, self.swing)
        self._grow()
        self._forgive()

    def _forgive(self) -> None:
        if not self.has_skip:
            self.forgiven = max(self.forgiven, -self.debt - self.banked)

    # --- bounds

    def debt_at_most(self) -> Fraction:
        late = self.max_debt + self.target * max(self.at_once - 1, 0)
        return (late if self.cap is None else min(late, self.cap)) + self.beyond

    def ahead_at_most(self) -> Fraction:
        late = (1 - self.target) * (max(self.waited, 1) + self.forced_ahead)
        return self.banked + late + self.late_successes + self.skip_successes

    def window_at_most(self) -> Fraction:
        if self.has_skip:
            return self.debt_at_most() + self.ahead_at_most()
        begins = max(Fraction(0), self.target - self.banked - self.max_debt)
        return self.debt_at_most() + begins + self.banked + self.late_successes

    def owed_at_most(self, expires: bool) -> Fraction:
        silent = self.lost + (0 if expires else self.pending - self.reserving)
        return self.exposure + self.target * silent

    def check(self) -> None:
        """Zero breaches: of what was told, and of everything that was asked if all that is outstanding fails."""
        bound = self.debt_at_most()
        assert self.exposure <= bound, "behind by more than promised, if everything outstanding fails"
        assert self.debt <= bound, "behind by more than promised"
        if self.at_once <= 1 and not self.beyond:
            assert self.debt <= self.max_debt, "with prompt outcomes never behind by more than max_debt"
        if self.in_flight == 0 and not self.beyond:
            assert self.exposure <= self.max_debt, "with in_flight=0 never behind by more than max_debt"
        if self.has_skip:
            assert -self.debt <= self.ahead_at_most() + ROOM, "ahead by more than promised"
        assert self.swing - self.lowest <= self.window_at_most() + ROOM, "a window holds too many failures"
