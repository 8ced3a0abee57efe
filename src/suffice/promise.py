"""The promise: the rules that a user writes down, the counts, and every bound that follows. Standard library only.

What lives here and in `book` is all that the guarantee rests on. Which arm is played between the rails is decided
elsewhere, and may be decided badly: that costs money and can never cost the promise.
"""

import functools
import math
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from typing import Any, Final

from suffice.book import (
    CONFIDENCE,
    COUNTED,
    EVERYTHING,
    LENGTH,
    NOTHING,
    PRICE,
    ROUNDING,
    TOLD,
    amend_of,
    ask_of,
    back_of,
    base_of,
    bound_of,
    dual_of,
    rail_of,
    record_of,
    slack_of,
)
from suffice.checks import WHOLE, best_rate, exact, flag, positive, rate, whole
from suffice.errors import InvalidArgument, shown

FINEST_COMPILED: Final = 1_000_000

__all__ = [
    "CONFIDENCE", "EVERYTHING", "NOTHING", "PRICE", "WHOLE", "Counts", "Promise", "ask_of", "back_of", "lundberg",
]  # fmt: skip


@dataclass(slots=True)
class Counts:
    """What the promise has been told: sums, so that counts kept apart may be added, in any order.

    `missing` and `missing_mirror` are maxima and `excess` and `worst_excess` running ones: each process keeps its own
    (the sum of several processes' excesses is still an upper bound).
    """

    told: int = 0  # outcomes told, expired decisions included
    successes: int = 0  # in billionths
    forgiven: float = 0.0  # surplus successes written off; only where there is no nothing
    expired: int = 0  # decisions that counted as failures because no outcome came
    revived: int = 0  # of those, the ones amended by a late success
    unaudited: int = 0  # decisions asked with audit=False: never counted, never pending
    everything_plays: int = 0  # of everything, with an outcome told
    everything_successes: float = 0.0
    everything_failures: int = 0  # of those plays, the ones that succeeded less than the target
    everything_lost: int = 0  # expired plays of everything: booked as failures, though nothing says that they failed
    nothing_successes: float = 0.0  # more than zero is a breach of its own
    breaches: int = 0  # outcomes after which the debt was above its bound
    forced: int = 0  # plays of everything where nothing was due, because too many decisions were outstanding
    missing: int = 0  # the most other decisions, everything excluded, outstanding when one (not everything) was asked
    missing_mirror: int = 0  # the same with nothing in the place of everything
    excess: float = 0.0  # worst recent shortfall of everything itself, in successes
    worst_excess: float = 0.0  # the largest it ever was
    next_id: int = 0  # the first id not yet issued
    settled: int = -1  # the decision settled last
    out: int = 0  # decisions outstanding, other than everything (and of a first round)
    out_mirror: int = 0  # the same, other than nothing

    def read(self, book: Any) -> None:
        """Take the counts from a book."""
        cells = list(book[TOLD:COUNTED])
        where = COUNTS.index("successes")
        cells[where : where + 2] = [int(cells[where]) * WHOLE + int(cells[where + 1])]
        for field, value in zip(fields(Counts), cells, strict=True):
            setattr(self, field.name, float(value) if field.type is float else int(value))


COUNTS: Final = [field.name for field in fields(Counts)]


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
                f"everything_success must be above the target {shown(target)}, got {float(best)}: "
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

    # --- books

    @property
    def compilable(self) -> bool:
        """Whether compiled code, which has whole numbers of 64 bits, can keep this book exactly.

        numerator·WHOLE must fit, and numerator·told for more outcomes than there will ever be. Finer targets are kept
        in Python's whole numbers, which have no limit.
        """
        return self.target.denominator <= FINEST_COMPILED

    def open(self, counts: Counts | None = None) -> list[Any]:
        """A book with these rules and counts."""
        told = counts if counts is not None else Counts()
        rules: list[Any] = [
            self.target.numerator,
            self.target.denominator,
            self.cap,
            self.start,
            self.fixed_slack or 0.0,
            self.fixed_step or 0.0,
            float(self.forgiving),
            0.0 if self.everything_success == 1 else 1.0 / lundberg(self.target, 1 - self.everything_success),
        ]
        values = [getattr(told, name) for name in COUNTS]
        where = COUNTS.index("successes")
        values[where : where + 1] = divmod(told.successes, WHOLE)
        return [*rules, *values, *[0] * (LENGTH - COUNTED)]

    def record(self, counts: Counts, units: int, *, arm: int, expired: bool = False) -> None:
        """Count one outcome. `arm` is EVERYTHING or NOTHING for the boundary options and PRICE for all others."""
        book = self.open(counts)
        record_of(book, arm, units, expired)
        counts.read(book)

    def amend(self, counts: Counts, units: int, *, arm: int) -> None:
        """Count an outcome that came after its decision had expired."""
        book = self.open(counts)
        amend_of(book, arm, units)
        counts.read(book)

    # --- where things stand

    def debt(self, counts: Counts) -> Fraction:
        """Successes owed: target·told − successes, exactly."""
        return self.target * counts.told - Fraction(counts.successes, WHOLE)

    def rail(self, counts: Counts) -> int:
        """What must be played now: EVERYTHING, NOTHING, or anything at a PRICE."""
        return rail_of(self.open(counts))

    def dual(self, counts: Counts) -> float:
        """The price now paid for one success."""
        return dual_of(self.open(counts))

    def debt_at_most(self, counts: Counts) -> float:
        """The bound on the debt while the boundary options do what the menu says of them: top + target·D + X.

        If everything is known to fail sometimes, plus what its failures can add; then the bound holds with 99%
        confidence, at all times together, if when an outcome is told does not depend on what it is.
        """
        return bound_of(self.open(counts))

    def debt_ceiling(self, counts: Counts) -> float:
        """The bound that holds in every world, however everything behaves. A debt above it is a bug in suffice.

        The last decision asked that was not everything saw a debt below top. What it did not know adds at most
        target·D, lost plays of everything at most X, and what was told of everything since at most its worst recent
        shortfall.
        """
        return base_of(self.open(counts)) + counts.excess

    def ahead_at_most(self, counts: Counts, book: list[Any] | None = None) -> float:
        """The bound on how far successes may run ahead; infinite where there is no nothing to play."""
        return math.inf if self.forgiving else self._banked(counts, book or self.open(counts))

    def window(self, counts: Counts, length: int) -> float:
        """The most failures beyond the allowed ones in any window of so many outcomes: the largest debt + what was banked.

        Forgiven surplus is written off for good, so windows stay bounded where there is no nothing. Once everything has
        failed, what its failures added at their worst is included.
        """
        whole("length", length)
        book = self.open(counts)
        largest = max(bound_of(book), base_of(book) + counts.worst_excess)
        return min(float(self.target) * length, largest + self._banked(counts, book))

    def _banked(self, counts: Counts, book: list[Any]) -> float:
        bottom = self.start / self.cap * slack_of(book) + counts.revived
        if self.forgiving:
            return bottom
        late = float(1 - self.target) * (1 + counts.missing_mirror + counts.forced)
        return bottom + late + counts.nothing_successes

    def holds(self, counts: Counts) -> bool:
        """Whether the debt is within `debt_at_most`."""
        return float(self.debt(counts)) <= self.debt_at_most(counts) * ROUNDING

    def sound(self, counts: Counts) -> bool:
        """Whether the debt is within `debt_ceiling`. False can only mean a bug in suffice or edited counts."""
        # The shortfall is a sum of doubles; a millionth of a success is beyond its rounding and below any outcome.
        return float(self.debt(counts)) <= self.debt_ceiling(counts) * ROUNDING + 1e-6


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
