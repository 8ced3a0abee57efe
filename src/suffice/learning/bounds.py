"""What is certain: from a tally to an upper success and a lower cost per arm.

Bounds decide what the choice between the rails costs. They may be wrong, or lie: the promise does not use them.
"""

import math
from typing import Any, Protocol, runtime_checkable

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.kernels.rows import Floats
from suffice.learning import bound_formulas as formulas
from suffice.menu.menu import Menu

__all__ = [
    "KL",
    "Bounds",
    "HalfLog",
    "Hoeffding",
    "IntervalClosure",
    "LineBounds",
    "Ordered",
    "Paper",
    "Tally",
    "resolve_bounds",
]


class Tally:
    """Per arm: plays settled, the sum of successes, and of the costs that were told (clipped at safe_cost).

    An expired decision is a play without success whose cost nobody told, so costs have a count of their own.
    """

    __slots__ = ("costs", "plays", "priced", "successes")

    def __init__(self, arms: int) -> None:
        self.plays = np.zeros(arms, dtype=np.int64)
        self.successes: Floats = np.zeros(arms)
        self.priced = np.zeros(arms, dtype=np.int64)
        self.costs: Floats = np.zeros(arms)

    def add(self, arm: int, success: float, cost: float | None, *, plays: int = 1) -> None:
        """Add an outcome; with plays=0, what came late for a play that was counted before."""
        self.plays[arm] += plays
        # No more successes than plays: an interrupt may have kept a play from being learned.
        self.successes[arm] = min(self.successes[arm] + success, float(self.plays[arm]))
        if cost is not None:
            self.priced[arm] += 1
            self.costs[arm] += cost


@runtime_checkable
class Bounds(Protocol):
    """The seam for bounds of one's own.

    `upper` and `lower` hold, per arm, a bound on its success from above and on its cost from below. `open` is called
    once, before any outcome; `update` after each outcome of `arm`; `refresh` when the whole tally has changed.
    """

    name: str
    upper: Floats
    lower: Floats

    def open(self, menu: Menu, horizon: int | None) -> None: ...

    def update(self, tally: Tally, arm: int, told: int) -> None: ...

    def refresh(self, tally: Tally, told: int) -> None: ...


class LineBounds:
    """Shared by the bounds in which each arm's line depends on its own tally and on the current epoch alone.

    A threshold that must hold for all times grows with time. It is kept constant within an epoch, so that one outcome
    changes one line, and all lines are recomputed when an epoch begins.
    """

    name = ""
    code = formulas.KL

    def open(self, menu: Menu, horizon: int | None) -> None:
        self.menu = menu
        self.horizon = horizon or 0
        self.upper: Floats = np.ones(menu.n_arms)
        self.lower: Floats = np.zeros(menu.n_arms)
        if menu.costs is not None:
            self.lower[menu.interior] = menu.costs
        if menu.has_skip:
            self.upper[0] = 0.0
        self.upper[-1] = float(menu.safe_success)
        self.lower[-1] = menu.safe_cost
        self._enter(1)

    def update(self, tally: Tally, arm: int, told: int) -> None:
        if told + 1 > self.last:
            self.refresh(tally, told)
        elif not self.menu.is_boundary(arm):
            self._line(tally, arm)

    def refresh(self, tally: Tally, told: int) -> None:
        self._enter(told + 1)
        for arm in np.flatnonzero(tally.plays).tolist():
            if not self.menu.is_boundary(arm):
                self._line(tally, arm)

    def _enter(self, step: int) -> None:
        self.last, end = formulas.epoch_of(step, self.horizon)
        self.level = formulas.level_of(self.code, self.menu.n_arms, end)

    def _line(self, tally: Tally, arm: int) -> None:
        self.upper[arm] = formulas.upper_of(self.code, float(tally.successes[arm]), int(tally.plays[arm]), self.level)
        if self.menu.costs is None or self.code == formulas.PAPER:
            told, count = float(tally.costs[arm]), int(tally.priced[arm])
            self.lower[arm] = formulas.lower_of(self.code, told, count, self.menu.safe_cost, self.level)


# --- the kinds


class HalfLog(LineBounds):
    """Success from above and, where costs are told, cost from below; known costs are used as they are.

    Kullback–Leibler bounds with a threshold of half a logarithm: what the regret needs, and no more. With an epoch that
    ends at E the threshold is β = ½ ln E + ln(1 + ln E), whatever the number of arms. Such a bound is wrong now and then;
    but the regret asks only that the at most two arms of the optimal mix are not underrated by much on average, and for
    that half a logarithm is enough (docs/bounds.md has the proof).
    """

    name = "half-log"
    code = formulas.HALF_LOG


class Ordered(LineBounds):
    """Half-log bounds, each from its own plays and from those of all options that contain it.

    A chain, a grid, subsets, intervals: an option that succeeds whenever another does is never less likely to succeed, so
    what is learned of the larger bounds the smaller from above. All plays of all options that contain it, its own among
    them, bound an option as its own plays do (docs/bounds.md has the proof). They are added up anew whenever the history
    has grown by 5%; until then the bound from before stays, and stays true.
    """

    name = "contained"
    code = formulas.CONTAINED


class IntervalClosure(LineBounds):
    """Contained bounds and the closure of all differences, for intervals.

    An interval's success is a difference of the distribution function at its ends, so that bounds on some intervals, from
    above and from below, bound all others (docs/bounds.md). For menus of other kinds than intervals the same as
    "contained".
    """

    name = "closed"
    code = formulas.CLOSED


class KL(LineBounds):
    """Success from above and, where costs are told, cost from below; known costs are used as they are.

    Kullback–Leibler bounds with the mixture threshold, which hold for all numbers of plays at once. With n arms and an
    epoch that ends at E, the failure probability per arm and side is δ = 1/(2nE) (theory 7).
    """

    name = "kl"
    code = formulas.KL


class Hoeffding(LineBounds):
    """The paper's width, clipped to what is possible; known costs are used as they are.

    The width is sqrt(2 ln(nT)/plays).
    """

    name = "hoeffding"
    code = formulas.HOEFFDING


class Paper(LineBounds):
    """As printed: nothing is clipped, and costs are estimated even where they are known (theory 1)."""

    name = "paper"
    code = formulas.PAPER

    def open(self, menu: Menu, horizon: int | None) -> None:
        super().open(menu, horizon)
        # An arm that was never played could be anything. The first round plays each before its line is looked at.
        self.upper[menu.interior] = math.inf
        self.lower[menu.interior] = -math.inf


NAMED: dict[str, type[LineBounds]] = {
    kind.name: kind for kind in (IntervalClosure, Ordered, HalfLog, KL, Hoeffding, Paper)
}


def resolve_bounds(bounds: Any) -> Bounds:
    """Bounds by name, or a user's own object as it is."""
    if isinstance(bounds, str):
        name = HalfLog.name if bounds == "auto" else bounds  # what suits any menu
        if name in NAMED:
            return NAMED[name]()
    elif not isinstance(bounds, type) and all(
        callable(getattr(bounds, m, None)) for m in ("open", "update", "refresh")
    ):
        own: Bounds = bounds
        return own
    names = ", ".join(f'"{name}"' for name in ("auto", *NAMED))
    raise InvalidArgument(
        f"bounds must be one of {names} or an object with open, update and refresh, got {quoted(bounds)}"
    )
