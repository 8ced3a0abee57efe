"""The promise: from counts of outcomes to the rail or the price, and every bound that follows. Standard library only.

What lives here is all that the guarantee rests on. Which arm is played between the rails is decided elsewhere, and may
be decided badly: that costs money and can never cost the promise.

Everything is computed from counts, never accumulated. Successes are counted in whole billionths and the target is the
fraction that its digits spell, so the debt is an exact integer number of small units: a decision at debt 0 never hangs
on rounding.

    debt  = target·told − successes                  successes owed; negative when ahead
    dual  = start + step·debt                        the price now paid for one success
    rails : debt >= top    → everything              (dual >= cap)
            debt <= bottom → nothing                 (dual <= 0)

With the safe start, top is 0 and bottom is −slack, where slack = cap/step: the most successes that may be banked.
"""

import functools
import math
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any, Final

from suffice.checks import WHOLE, as_number, best_rate, exact, flag, positive, rate, whole
from suffice.errors import InvalidArgument, shown

NOTHING: Final = -1
PRICE: Final = 0
EVERYTHING: Final = 1

# A slack that was computed in floating point, such as cap/(5/sqrt(900)), lands a few last bits beside the number that
# was meant. Both rails are moved inwards by this factor, so that a debt which equals the number meant is at the rail.
# Outcomes of 0 and 1 move the debt by far more, so no other decision changes.
SNAP: Final = 1.0 - 2.0**-40

CONFIDENCE: Final = 0.99  # of what is said about an everything that may fail


def owed(told: int, successes: int, numerator: int, denominator: int) -> int:
    """The debt, exactly, in units of 1/(denominator·WHOLE) of a success; the target is numerator/denominator."""
    return numerator * WHOLE * told - denominator * successes


def rail(debt: int, top: int, bottom: int) -> int:
    """EVERYTHING, NOTHING, or PRICE between them. The top is tested first: never behind comes before never ahead."""
    if debt >= top:
        return EVERYTHING
    if debt <= bottom:
        return NOTHING
    return PRICE


@dataclass(slots=True)
class Counts:
    """What the promise has been told: sums, so that counts kept apart may be added, in any order.

    `missing` and `missing_mirror` are maxima and `excess` and `worst_excess` running ones: each process keeps its own
    (the sum of several processes' excesses is still an upper bound).
    """

    told: int = 0  # outcomes told, expired decisions included
    successes: int = 0  # in billionths
    forgiven: int = 0  # surplus written off, in the units of `owed`; only where there is no nothing
    expired: int = 0  # decisions that counted as failures because no outcome came
    revived: int = 0  # of those, the ones amended by a late success
    unaudited: int = 0  # decisions asked with audit=False: never counted, never pending
    everything_plays: int = 0  # of everything, with an outcome told
    everything_successes: int = 0  # in billionths
    everything_failures: int = 0  # of those plays, the ones that succeeded less than the target
    everything_lost: int = 0  # expired plays of everything: booked as failures, though nothing says that they failed
    nothing_successes: int = 0  # in billionths; more than zero is a breach of its own
    breaches: int = 0  # outcomes after which the debt was above its bound
    forced: int = 0  # plays of everything where nothing was due, because too many decisions were outstanding
    missing: int = 0  # the most other decisions, everything excluded, outstanding when one (not everything) was asked
    missing_mirror: int = 0  # the same with nothing in the place of everything
    excess: int = 0  # worst recent shortfall of everything itself, in the units of `owed`
    worst_excess: int = 0  # the largest it ever was


@dataclass(frozen=True, slots=True)
class Promise:
    """The rules of one promise. Holds no state: every method takes the counts.

    >>> promise = Promise.make(0.7)
    >>> counts = Counts()
    >>> promise.rail(counts) == EVERYTHING  # debt 0: the safe start
    True
    >>> promise.record(counts, WHOLE, arm=EVERYTHING)
    >>> promise.debt(counts), promise.rail(counts) == PRICE, round(promise.dual(counts), 3)
    (Fraction(-3, 10), True, 2.333)
    """

    target: Fraction
    cap: float
    fixed_slack: float | None  # None: the slack grows as sqrt(told)
    fixed_step: float | None  # the step as it was given, else cap/slack
    start: float  # the dual before any outcome, from 0 (cheap) to cap (safe)
    everything_success: Fraction
    forgiving: bool  # the menu has no nothing

    @staticmethod
    def make(
        target: Any,
        horizon: int | None = None,
        *,
        slack: Any = None,
        step: Any = None,
        cap: Any = None,
        start: Any = "safe",
        max_cost: Any = 1.0,
        everything_success: Any = 1.0,
        forgiving: bool = False,
    ) -> "Promise":
        """A promise from what a user writes; every argument is checked here."""
        phi = rate("target", target)
        best = best_rate("everything_success", everything_success)
        if best <= phi:
            raise InvalidArgument(
                f"everything_success must be above the target {shown(target)}, got {shown(everything_success)}: "
                "no way of choosing can succeed more often than the best option"
            )
        if slack is not None and step is not None:
            raise InvalidArgument("give slack or step, not both: step = cap/slack")
        limit = positive("cap", cap) if cap is not None else positive("max_cost", max_cost) / (best - phi)
        if slack is not None:
            fixed: float | None = float(positive("slack", slack))
        elif step is not None:
            fixed = float(limit / positive("step", step))
        else:
            fixed = None if horizon is None else math.sqrt(whole("horizon", horizon))
        return Promise(
            target=phi,
            cap=float(limit),
            fixed_slack=fixed,
            fixed_step=None if step is None else float(step),
            start=_start(start, float(limit)),
            everything_success=best,
            forgiving=flag("forgiving", forgiving),
        )

    def state(self) -> dict[str, Any]:
        """The rules in JSON's terms."""
        return {**asdict(self), "target": str(self.target), "everything_success": str(self.everything_success)}

    @staticmethod
    def from_state(state: dict[str, Any]) -> "Promise":
        """The rules that `state` wrote down, checked like those that a user writes."""
        made = Promise.make(
            Fraction(state["target"]),
            slack=state["fixed_slack"],
            cap=state["cap"],
            start=float(state["start"]),
            everything_success=Fraction(state["everything_success"]),
            forgiving=state["forgiving"],
        )
        step = state["fixed_step"]
        return made if step is None else replace(made, fixed_step=float(positive("step", step)))

    # --- from counts to what may be played

    def slack(self, told: int) -> float:
        """The most successes that may be banked after so many outcomes; never decreases."""
        return self.fixed_slack if self.fixed_slack is not None else math.sqrt(max(told, 1))

    def step(self, told: int) -> float:
        """How far one outcome moves the dual."""
        return self.fixed_step if self.fixed_step is not None else self.cap / self.slack(told)

    def rails(self, told: int) -> tuple[int, int]:
        """Top and bottom, in the units of `owed`."""
        width = self.slack(told) * SNAP
        safe = self.start / self.cap
        return self._units((1.0 - safe) * width), -self._units(safe * width)

    def _units(self, successes: float) -> int:
        numerator, denominator = successes.as_integer_ratio()  # exact, and no target is too fine for it
        return numerator * self._unit() // denominator

    def _unit(self) -> int:
        return self.target.denominator * WHOLE

    def owed(self, counts: Counts) -> int:
        """The true debt in exact units."""
        return owed(counts.told, counts.successes, self.target.numerator, self.target.denominator)

    def debt(self, counts: Counts) -> Fraction:
        """Successes owed: target·told − successes, exactly."""
        return Fraction(self.owed(counts), self._unit())

    def rail(self, counts: Counts) -> int:
        """What must be played now: EVERYTHING, NOTHING, or anything at a PRICE."""
        top, bottom = self.rails(counts.told)
        return rail(self.owed(counts) + counts.forgiven, top, bottom)

    def dual(self, counts: Counts) -> float:
        """The price now paid for one success: start + step·debt, never projected."""
        tracked = self.owed(counts) + counts.forgiven
        # One division of integers, so the debt is the double nearest to the exact one.
        return self.start + self.step(counts.told) * (tracked / self._unit())

    # --- from outcomes to counts

    def record(self, counts: Counts, units: int, *, arm: int, expired: bool = False) -> None:
        """Count one outcome. `arm` is EVERYTHING or NOTHING for the boundary options and PRICE for all others."""
        counts.told += 1
        counts.successes += units
        counts.expired += expired
        if arm == EVERYTHING:
            if expired:
                counts.everything_lost += 1
            else:
                self._everything(counts, units)
        elif arm == NOTHING:
            counts.nothing_successes += units
        self._settle(counts)

    def amend(self, counts: Counts, units: int, *, arm: int) -> None:
        """Count an outcome that came after its decision had expired. The debt can only fall."""
        counts.successes += units
        counts.revived += units > 0
        if arm == EVERYTHING:
            counts.everything_lost -= 1
            self._everything(counts, units)
        elif arm == NOTHING:
            counts.nothing_successes += units
        self._settle(counts)

    def _everything(self, counts: Counts, units: int) -> None:
        counts.everything_plays += 1
        counts.everything_successes += units
        counts.excess = max(0, counts.excess + self._shortfall(units))
        counts.worst_excess = max(counts.worst_excess, counts.excess)
        # Short of the target by a whole billionth: less than that is the rounding of what was told.
        counts.everything_failures += self._shortfall(units) >= self.target.denominator

    def _shortfall(self, units: int) -> int:
        return owed(1, units, self.target.numerator, self.target.denominator)

    def _settle(self, counts: Counts) -> None:
        """Forgive surplus below the bottom where nothing cannot be played; note a debt above its bound."""
        if self.forgiving:
            bottom = self.rails(counts.told)[1]
            counts.forgiven = max(counts.forgiven, bottom - self.owed(counts))
        counts.breaches += not self.holds(counts)

    # --- what is certain

    def debt_at_most(self, counts: Counts) -> float:
        """The bound on the debt while the boundary options do what the menu says of them.

        top + target·D + X: with D−1 the most other decisions that were outstanding when one (not everything) was asked,
        and X lost plays of everything. If everything is known to fail sometimes, plus what its failures can add; then
        the bound holds with 99% confidence, at all times together, if when an outcome is told does not depend on what
        it is.
        """
        return self._bound(counts) / self._unit()

    def _bound(self, counts: Counts) -> int:
        return self._base(counts) + self._units(self._luck(counts.everything_plays))

    def _base(self, counts: Counts) -> int:
        """top + target·D + X in exact units."""
        top = self._units((1.0 - self.start / self.cap) * self.slack(counts.told))
        return top + self.target.numerator * WHOLE * (1 + counts.missing) + counts.everything_lost * self._unit()

    def debt_ceiling(self, counts: Counts) -> float:
        """The bound that holds in every world, however everything behaves. A debt above it is a bug in suffice.

        The last decision asked that was not everything saw a debt below top. What it did not know adds at most
        target·D, lost plays of everything at most X, and what was told of everything since at most its worst recent
        shortfall.
        """
        return (self._base(counts) + counts.excess) / self._unit()

    def ahead_at_most(self, counts: Counts) -> float:
        """The bound on how far successes may run ahead; infinite where there is no nothing to play."""
        return math.inf if self.forgiving else self._banked(counts)

    def window(self, counts: Counts, length: int) -> float:
        """The most failures beyond the allowed ones in any window of so many outcomes: the largest debt + what was banked.

        Forgiven surplus is written off for good, so windows stay bounded where there is no nothing. Once everything has
        failed, what its failures added at their worst is included.
        """
        whole("length", length)
        largest = max(self._bound(counts), self._base(counts) + counts.worst_excess) / self._unit()
        return min(float(self.target) * length, largest + self._banked(counts))

    def _banked(self, counts: Counts) -> float:
        bottom = self.start / self.cap * self.slack(counts.told) + counts.revived
        if self.forgiving:
            return bottom
        late = float(1 - self.target) * (1 + counts.missing_mirror + counts.forced)
        return bottom + late + as_number(counts.nothing_successes)

    def holds(self, counts: Counts) -> bool:
        """Whether the debt is within `debt_at_most`, exactly."""
        return self.owed(counts) <= self._bound(counts)

    def sound(self, counts: Counts) -> bool:
        """Whether the debt is within `debt_ceiling`. False can only mean a bug in suffice or edited counts."""
        return self.owed(counts) <= self._base(counts) + counts.excess

    def _luck(self, plays: int) -> float:
        """With 99% confidence, what an everything that fails with probability 1 − everything_success adds to the debt.

        Its shortfalls are a walk of mean below zero. Let r > 0 solve E[exp(r·(target − success))] = 1 (Lundberg); the
        walk from any one play ever exceeds x with probability at most exp(−r·x). Giving play m the share
        1/(m(m+1)) of the 1% makes x = ln(m(m+1)/1%)/r hold for all plays and all times at once.
        """
        if self.everything_success == 1 or plays == 0:
            return 0.0
        return math.log(plays * (plays + 1) / (1.0 - CONFIDENCE)) / lundberg(self.target, 1 - self.everything_success)


def _start(start: Any, cap: float) -> float:
    if isinstance(start, str):
        if start in ("safe", "cheap"):
            return cap if start == "safe" else 0.0
        raise InvalidArgument(
            f'start must be "safe", "cheap" or a number from 0 to the cap {cap:g}, got {shown(start)}'
        )
    value = float(exact("start", start))
    if not 0.0 <= value <= cap:
        raise InvalidArgument(f"start must lie between 0 and the cap {cap:g}, got {shown(start)}")
    return value


@functools.cache
def lundberg(target: Fraction, fail: Fraction) -> float:
    """The r > 0 at which fail·exp(r·target) + (1 − fail)·exp(−r·(1 − target)) = 1, from below, by bisection."""
    up, down, failing = float(target), float(1 - target), float(fail)

    def above(r: float) -> bool:
        # 1 − (1 − fail)·exp(−r·down), without cancellation
        rest = -math.expm1(-r * down) + failing * math.exp(-r * down)
        return math.log(failing) + r * up > math.log(rest)

    low, high = 0.0, 1.0
    while not above(high):
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if above(middle) else (middle, high)
    return low if low > 0.0 else high
