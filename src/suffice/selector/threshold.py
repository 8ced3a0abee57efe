"""The scalar controller: one number between two ends, moved by the outcomes (appendix A of the paper)."""

import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from suffice.errors import InvalidArgument, quoted
from suffice.kernels.compiler import compiled
from suffice.kernels.rows import Floats, Mask, from_rows, to_rows
from suffice.learning.base import Columns, Learner, Proposal
from suffice.learning.prices import clipped_price
from suffice.learning.records import Lesson, Pricing, TableHead
from suffice.numbers import ONE_SUCCESS, as_fraction, flag, positive_int
from suffice.promise.certificate import Certificate
from suffice.promise.record import SKIP, Account
from suffice.promise.rules import IN_FLIGHT, MAX_DEBT, Promise, Rule
from suffice.selector.controller import Controller
from suffice.selector.events import Event
from suffice.selector.records import Decision
from suffice.selector.runs import play_threshold
from suffice.selector.totals import Totals
from suffice.selector.verbs import Position
from suffice.selector.world import Block, World
from suffice.state_files import read_state, reading

LOW, INTERIOR, HIGH = 0, 1, 2  # the arms: the ends, and every number between them


class ThresholdLearner(Learner):
    """Learns nothing: between the limits, the price sets the threshold."""

    def __init__(self, low_fails: bool) -> None:
        self._head = TableHead(arms=3, has_skip=int(low_fails))

    @property
    def head(self) -> TableHead:
        return self._head

    def propose(self, price: float, allowed: Mask | None, seen: object = None) -> Proposal:
        return Proposal(INTERIOR)

    def optimistic(self, price: float, allowed: Mask | None) -> int:
        return HIGH

    def learn(
        self, main: Pricing, pricing: Pricing, account: Account, lesson: Lesson, *, grouped: bool, note: object = None,
        lost: bool = False,
    ) -> None:  # fmt: skip
        pricing.now = clipped_price(pricing, account)

    def expected_debt(self, arm: int, target: int) -> int:
        """Of a threshold between the ends, nothing: it moves until it succeeds as often as the target says."""
        return target - ONE_SUCCESS if arm == HIGH else 0

    def set_steps(self, steps: int) -> None:
        """Do nothing: nothing depends on the number of outcomes."""

    def columns(self) -> Columns:
        raise TypeError("a range has no arms to report on")

    def state(self) -> dict[str, object]:
        return {}

    def restore(self, state: dict[str, object], price: float) -> None:
        """Do nothing: nothing was learned."""


class ThresholdSelector(Totals, Controller):
    """Holds a success rate by moving one threshold: no menu and no costs, only success or failure.

    `high` always succeeds and is the expensive end; `low` never succeeds. The threshold rises with the debt, from low where
    `max_surplus` successes are banked to high where `max_debt` are owed; the value of a decision is clipped to [low, high],
    the state is not.

    Args:
        low, high: the ends of the range.
        target: the success rate to hold, strictly between 0 and 1.
        max_debt, in_flight, max_surplus, expire_after, on_event, clock: as for `Selector`.
        rule: the paper's update in place of these limits: its step and its start are those of the threshold, its cap is the
            range.
        low_fails: False if `low` may succeed too. Surplus is then forgiven instead of skipped back.

    >>> selector = ThresholdSelector(low=0, high=20, target=0.9, max_surplus=50)
    >>> decision = selector.ask()
    >>> round(decision.option, 2)
    18.48
    >>> selector.tell(decision, success=True)
    >>> round(selector.ask().option, 2)
    18.45
    """

    def __init__(
        self,
        low: float,
        high: float,
        target: float | Fraction,
        *,
        max_debt: float | Fraction = MAX_DEBT,
        in_flight: int = IN_FLIGHT,
        max_surplus: float | None = None,
        rule: Rule | None = None,
        low_fails: bool = True,
        expire_after: float | None = None,
        on_event: Callable[[Event], object] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        bottom, top = as_fraction("low", low), as_fraction("high", high)
        if bottom >= top:
            raise InvalidArgument(
                f"low must be below high, got {quoted(low)} and {quoted(high)}; "
                "where smaller values are more permissive, negate the scale"
            )
        span = float(top - bottom)
        if rule is not None:
            rule = _from_low(rule, bottom, span)
        # The range takes the place of the cap, and the height above low that of the price (theory 9).
        promise = Promise.make(
            target, max_debt=max_debt, in_flight=in_flight, max_surplus=max_surplus, rule=rule,
            forgiving=not flag("low_fails", low_fails),
        )  # fmt: skip
        super().__init__(replace(promise, cap=span), None, expire_after=expire_after, on_event=on_event, clock=clock)
        self._low, self._high = float(bottom), float(top)
        self._learner = ThresholdLearner(low_fails)
        self._begin()

    def ask(self, *, available: None = None, audit: bool = True) -> Decision:
        """The threshold to use now.

        Args:
            available: must be left out: a range has no options.
            audit: False for a decision whose outcome will not be told: it is never pending and never counted. Draw at
                random, before asking, which decisions are audited.
        """
        return self.ask_many(1, available=available, audit=audit)[0]

    def ask_many(self, count: int, *, available: None = None, audit: bool = True) -> list[Decision]:
        """`count` decisions, asked one after the other. Other threads may tell in between."""
        count = positive_int("count", count, 0)
        self.allowed(available)
        flag("audit", audit)
        now = self._now()
        return [self._ask_slow(0, None, audit, now) for _ in range(count)]

    def allowed(self, available: object) -> None:
        """Refuse `available`."""
        if available is not None:
            raise InvalidArgument(f"available must be left out for a {type(self).__name__}, got {quoted(available)}")

    def certificate(self) -> Certificate:
        """The promise, whether it holds, and if not, why and what to do."""
        with self.lock, self._reading:
            self._expire_unless_nested()
            return Certificate.make(self._promise, self._engine.account(0), expires=self._expire_after is not None)

    @property
    def threshold(self) -> float:
        """The threshold before clipping."""
        return self._low + self.price

    def _columns(self) -> None:
        """A range has no options."""

    def can_run(self, stream: object) -> bool:
        """Whether `run` can play this stream: the cost of a threshold is its place in the range."""
        ends = getattr(stream, "low", None), getattr(stream, "high", None)
        linear = getattr(stream, "linear", False) and ends == (self._low, self._high)
        return type(self) is ThresholdSelector and bool(linear)

    def run(self, world: World, latents: Floats, block: Block) -> None:
        """Play whole steps in a world that is known beforehand."""
        with self.lock, self._changing:
            engine = self._engine
            accounts, pricings = to_rows(Account, [engine.account(0)]), to_rows(Pricing, [engine.pricing(0)])
            interior = math.nextafter(self._low, math.inf), math.nextafter(self._high, -math.inf)
            compiled(play_threshold)(
                accounts,
                pricings,
                latents,
                self._low,
                self._high,
                *interior,
                not self._promise.forgiving,
                *block.columns,
            )
            engine.put_account(0, from_rows(Account, accounts)[0])
            engine.put_pricing(0, from_rows(Pricing, pricings)[0])
            engine.next_id += len(latents)

    def propose(self, position: Position, allowed: Mask | None, features: object) -> Proposal:
        """An interior threshold; at the lower limit the low end, which is no skip where it may succeed."""
        return Proposal(LOW if position.limit == SKIP else INTERIOR)

    def _option(self, arm: int, price: float) -> float:
        if arm != INTERIOR:
            return self._high if arm == HIGH else self._low
        value = self._low + price
        # Rounding must not make an interior threshold an end of the range: only the limits play the ends.
        return min(max(value, math.nextafter(self._low, math.inf)), math.nextafter(self._high, -math.inf))

    def _own_state(self) -> dict[str, object]:
        return {"low": self._low, "high": self._high}

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, on_event: Callable[[Event], object] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> "ThresholdSelector":  # fmt: skip
        """The selector that was saved, pending decisions included."""
        return cls.from_state(read_state(path), on_event=on_event, clock=clock)

    @classmethod
    def from_state(
        cls, state: dict[str, Any], *, on_event: Callable[[Event], object] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> "ThresholdSelector":  # fmt: skip
        """The selector that `state()` wrote down."""
        with reading(state, cls.__name__):
            promise = Promise.from_state(state["promise"])
            selector = cls(
                state["low"], state["high"], promise.rate, low_fails=not promise.forgiving,
                expire_after=state["expire_after"], on_event=on_event, clock=clock,
            )  # fmt: skip
            selector.restore(state)
        return selector

    def restore(self, state: dict[str, Any]) -> None:
        self._promise = Promise.from_state(state["promise"])  # with the limits that were saved
        super().restore(state)


def _from_low(rule: Rule, bottom: Fraction, span: float) -> Rule:
    """A rule for the height above `low`, from one for the threshold itself."""
    start: str | float = rule.start
    if not isinstance(start, str):
        start = float(as_fraction("start", start) - bottom)
        if not 0.0 <= start <= span:
            raise InvalidArgument(f"start must lie between low and high, got {quoted(rule.start)}")
    return replace(rule, start=start, cap=span)
