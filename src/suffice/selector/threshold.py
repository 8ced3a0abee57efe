"""The scalar controller: one number between two ends, moved by the outcomes (appendix A of the paper)."""

import math
import os
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from suffice.errors import InvalidArgument, quoted
from suffice.kernels.compiler import compiled
from suffice.kernels.rows import Mask, from_rows, to_rows
from suffice.learning.base import Columns, Learner, Proposal
from suffice.learning.prices import clipped_price
from suffice.learning.records import Lesson, Pricing, TableHead
from suffice.numbers import as_fraction, flag
from suffice.promise.account import SKIP, Account
from suffice.promise.rules import Promise
from suffice.selector.controller import Controller
from suffice.selector.runs import play_threshold
from suffice.selector.verbs import Standing
from suffice.selector.world import Block, World
from suffice.state_files import read_state, reading

LOW, MIDDLE, HIGH = 0, 1, 2  # the arms: the ends, and all that lies between


class ThresholdLearner(Learner):
    """What there is to learn of a range: nothing. Between the limits the number itself is played."""

    def __init__(self, low_fails: bool) -> None:
        self._head = TableHead(arms=3, has_skip=int(low_fails))

    @property
    def head(self) -> TableHead:
        return self._head

    def propose(self, price: float, allowed: Mask | None, seen: Any = None) -> Proposal:
        return Proposal(MIDDLE)

    def optimistic(self, price: float, allowed: Mask | None) -> int:
        return HIGH

    def learn(
        self, main: Pricing, pricing: Pricing, lesson: Lesson, *, grouped: bool, note: Any = None, lost: bool = False
    ) -> None:
        pricing.now = clipped_price(pricing, lesson.debt, lesson.outcomes)

    def set_steps(self, steps: int) -> None:
        """Nothing depends on it."""

    def columns(self) -> Columns:
        raise TypeError("a range has no arms to tell of")

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any], price: float) -> None:
        """Nothing was learned."""


class ThresholdSelector(Controller):
    """Holds a success rate by moving one threshold: no menu, no costs, just the bit.

    `high` always succeeds and is the dear end; `low` never does. The threshold is start + step·debt; only the value
    that is handed out is clipped to [low, high], the state never. With the safe start it never falls behind.

    Args:
        target: the success rate to hold, strictly between 0 and 1.
        low, high: the ends of the range.
        horizon: how many outcomes there will be, if that is known. Without it the step decays.
        max_surplus: the most successes that may be banked; step = (high − low)/max_surplus.
        step: how far one outcome moves the threshold.
        start: "safe" (at high), "cheap" (at low), or the threshold to start from: the paper's update, with `step`.
        low_fails: False if `low` may succeed too. Surplus is then forgiven instead of skipped back.
        max_pending, expire_after, clock: as for `Selector`.

    >>> selector = ThresholdSelector(target=0.9, low=1, high=20, max_surplus=50)
    >>> decision = selector.ask()
    >>> decision.option
    20.0
    >>> selector.tell(decision, success=True)
    >>> round(selector.ask().option, 3)
    19.962
    """

    def __init__(
        self,
        target: float | Fraction,
        low: float,
        high: float,
        horizon: int | None = None,
        *,
        max_surplus: float | None = None,
        step: float | None = None,
        start: str | float = "safe",
        low_fails: bool = True,
        max_pending: int | None = None,
        expire_after: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        bottom, top = as_fraction("low", low), as_fraction("high", high)
        if bottom >= top:
            raise InvalidArgument(
                f"low must be below high, got {quoted(low)} and {quoted(high)}; "
                "where smaller values are more permissive, negate the scale"
            )
        if not isinstance(start, str):
            place = as_fraction("start", start)
            if not bottom <= place <= top:
                raise InvalidArgument(f"start must lie between low {low!r} and high {high!r}, got {quoted(start)}")
            start = float(place - bottom)
        # The range takes the place of the cap, and the height above low that of the price (theory 9).
        promise = Promise.make(
            target, horizon, max_surplus=max_surplus, step=step, cap=top - bottom, start=start,
            forgiving=not flag("low_fails", low_fails),
        )  # fmt: skip
        super().__init__(promise, max_pending=max_pending, expire_after=expire_after, clock=clock)
        self._low, self._high = float(bottom), float(top)
        self._learner = ThresholdLearner(low_fails)
        self._begin()

    @property
    def threshold(self) -> float:
        """The state itself: start + step·debt, never clipped."""
        return self._low + self.price

    def can_run(self, stream: Any) -> bool:
        """Whether `run` can play this stream: the cost of a threshold is its place in the range."""
        same = getattr(stream, "linear", False) and (stream.low, stream.high) == (self._low, self._high)
        return type(self) is ThresholdSelector and bool(same)

    def run(self, world: World, latents: Any, block: Block) -> None:
        """Whole steps against a world that is known beforehand."""
        with self.lock, self._changing:
            engine = self._engine
            accounts, pricings = to_rows(Account, [engine.account(0)]), to_rows(Pricing, [engine.pricing(0)])
            inside = math.nextafter(self._low, math.inf), math.nextafter(self._high, -math.inf)
            compiled(play_threshold)(
                accounts, pricings, latents, self._low, self._high, *inside, not self._promise.forgiving, *block.columns
            )
            engine.put_account(0, from_rows(Account, accounts)[0])
            engine.put_pricing(0, from_rows(Pricing, pricings)[0])
            engine.next_id += len(latents)

    def propose(self, stands: Standing, allowed: Any, seen: Any) -> Proposal:
        """The middle; at the lower limit the low end."""
        # Where low may succeed too it is no skip: surplus is forgiven, and low is played at the lower limit all the same.
        return Proposal(LOW if stands.limit == SKIP else MIDDLE)

    def _option(self, arm: int, price: float) -> Any:
        if arm != MIDDLE:
            return self._high if arm == HIGH else self._low
        value = self._low + price
        # Rounding must not hand out an end of the range in the name of the middle: the ends are the limits' alone.
        return min(max(value, math.nextafter(self._low, math.inf)), math.nextafter(self._high, -math.inf))

    def _own_state(self) -> dict[str, Any]:
        return {"low": self._low, "high": self._high}

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, clock: Callable[[], float] = time.time) -> "ThresholdSelector":
        """The selector that was saved, pending decisions included."""
        return cls.from_state(read_state(path), clock=clock)

    @classmethod
    def from_state(cls, state: dict[str, Any], *, clock: Callable[[], float] = time.time) -> "ThresholdSelector":
        """The selector that `state()` wrote down."""
        with reading(state, cls.__name__):
            promise = Promise.from_state(state["promise"])
            selector = cls(
                promise.rate,
                state["low"],
                state["high"],
                max_surplus=promise.max_surplus if promise.step is None else None,
                step=promise.step,
                start="safe" if promise.step is None else state["low"],
                low_fails=not promise.forgiving,
                max_pending=state["max_pending"],
                expire_after=state["expire_after"],
                clock=clock,
            )
            selector._promise = promise
            selector._restore(state)
        return selector
