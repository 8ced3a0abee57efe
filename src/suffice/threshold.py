"""The scalar controller: one number between two ends, moved by the outcomes (appendix A of the paper)."""

import math
import os
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from suffice.checks import exact, flag
from suffice.controller import Controller
from suffice.errors import InvalidArgument, shown
from suffice.kernels.compile import fast
from suffice.kernels.runs import play_threshold
from suffice.promise import EVERYTHING, NOTHING, PRICE, Promise
from suffice.runs import Block, World
from suffice.saving import read_state, reading

LOW, MIDDLE, HIGH = 0, 1, 2  # the arms: the ends, and all that lies between


class ThresholdSelector(Controller):
    """Holds a success rate by moving one threshold: no menu, no costs, just the bit.

    `high` always succeeds and is the dear end; `low` never does. The threshold is start + step·debt; only the value
    that is handed out is clipped to [low, high], the state never. With the safe start it never falls behind.

    Args:
        target: the success rate to hold, strictly between 0 and 1.
        low, high: the ends of the range.
        horizon: how many outcomes there will be, if that is known. Without it the step decays.
        slack: the most successes that may be banked; step = (high − low)/slack.
        step: how far one outcome moves the threshold.
        start: "safe" (at high), "cheap" (at low), or the threshold to start from: the paper's update, with `step`.
        low_fails: False if `low` may succeed too. Surplus is then forgiven instead of skipped back.
        max_pending, expire_after, clock: as for `Selector`.

    >>> selector = ThresholdSelector(target=0.9, low=1, high=20, slack=50)
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
        slack: float | None = None,
        step: float | None = None,
        start: str | float = "safe",
        low_fails: bool = True,
        max_pending: int | None = None,
        expire_after: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        bottom, top = exact("low", low), exact("high", high)
        if bottom >= top:
            raise InvalidArgument(
                f"low must be below high, got {shown(low)} and {shown(high)}: where less is more permissive, negate the scale"
            )
        if not isinstance(start, str):
            place = exact("start", start)
            if not bottom <= place <= top:
                raise InvalidArgument(f"start must lie between low {low!r} and high {high!r}, got {shown(start)}")
            start = float(place - bottom)
        # The range takes the place of the cap, and the height above low that of the dual (theory 9).
        promise = Promise.make(
            target,
            horizon,
            slack=slack,
            step=step,
            cap=top - bottom,
            start=start,
            forgiving=not flag("low_fails", low_fails),
        )
        super().__init__(promise, max_pending=max_pending, expire_after=expire_after, clock=clock)
        self._low, self._high = float(bottom), float(top)

    @property
    def threshold(self) -> float:
        """The state itself: start + step·debt, never clipped."""
        return self._low + self.dual

    def _ready_for(self, stream: Any) -> bool:
        """Whether `_run` can play this stream: the cost of a threshold is its place in the range."""
        same = getattr(stream, "linear", False) and (stream.low, stream.high) == (self._low, self._high)
        return type(self) is ThresholdSelector and bool(same) and self._promise.compilable

    def _run(self, world: World, latents: Any, block: Block) -> None:
        """Whole steps against a world that is known beforehand."""
        with self._lock, self._fence:
            book = np.array(self._ledger.page(), dtype=np.float64)
            inside = math.nextafter(self._low, math.inf), math.nextafter(self._high, -math.inf)
            nothing = not self._promise.forgiving
            fast(play_threshold)(book, latents, self._low, self._high, *inside, nothing, *block.columns)
            self._ledger.put(book.tolist())
            self._cost += float(block.costs.sum())

    def _arms(self) -> int:
        return 3

    def _kind(self, arm: int) -> int:
        if arm == LOW and not self._promise.forgiving:
            return NOTHING
        return EVERYTHING if arm == HIGH else PRICE

    def _choose(self, rail: int, dual: float, allowed: Any) -> tuple[int, Any]:
        if rail == EVERYTHING:
            return HIGH, self._high
        if rail == NOTHING:
            return LOW, self._low
        value = self._low + dual
        # Rounding must not hand out an end of the range in the name of the middle: the ends are the rails' alone.
        inside = min(max(value, math.nextafter(self._low, math.inf)), math.nextafter(self._high, -math.inf))
        return MIDDLE, inside

    def _state(self) -> dict[str, Any]:
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
                promise.target,
                state["low"],
                state["high"],
                max_pending=state["max_pending"],
                expire_after=state["expire_after"],
                clock=clock,
            )
            selector._promise = promise
            selector._restore(state)
        return selector
