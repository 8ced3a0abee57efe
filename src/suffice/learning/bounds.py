"""Bounds: from a tally to an upper success and a lower cost per arm.

Bounds affect the cost only. The promise does not use them, so a wrong bound cannot break it.
"""

import math
from typing import Protocol, TypeGuard, cast, runtime_checkable

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.kernels.rows import Floats
from suffice.learning import bound_formulas as formulas
from suffice.menu.menu import Menu

__all__ = [
    "KL",
    "ArmBounds",
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
    """Per arm: settled plays, the sum of successes, the costs reported with outcomes and their sum (clipped at safe_cost).

    An expired decision is a play without success and without a cost, so `priced` counts the costs.
    """

    __slots__ = ("costs", "plays", "priced", "successes")

    def __init__(self, arms: int) -> None:
        self.plays = np.zeros(arms, dtype=np.int64)
        self.successes: Floats = np.zeros(arms)
        self.priced = np.zeros(arms, dtype=np.int64)
        self.costs: Floats = np.zeros(arms)

    def add(self, arm: int, success: float, cost: float | None, *, plays: int = 1) -> None:
        """Add an outcome; with plays=0, a late one for a play that is counted already."""
        self.plays[arm] += plays
        # No more successes than plays: an interrupt may have prevented the count of a play.
        self.successes[arm] = min(self.successes[arm] + success, float(self.plays[arm]))
        if cost is not None:
            self.priced[arm] += 1
            self.costs[arm] += cost


class ArmBounds(Protocol):
    """Bounds as a chooser gets them: per arm, its success from above and its cost from below."""

    @property
    def name(self) -> str: ...

    @property
    def upper(self) -> Floats: ...

    @property
    def lower(self) -> Floats: ...


@runtime_checkable
class Bounds(ArmBounds, Protocol):
    """The interface of bounds, for your own.

    `upper` and `lower` hold, per arm, a bound on its success from above and on its cost from below. The selector calls
    `start` once, before any outcome; `update` after each outcome of `arm`; `refresh` when the whole tally has changed.
    `outcomes` counts the outcomes so far, those of all arms.
    """

    name: str
    upper: Floats
    lower: Floats

    def start(self, menu: Menu, horizon: int | None) -> None: ...

    def update(self, tally: Tally, arm: int, outcomes: int) -> None: ...

    def refresh(self, tally: Tally, outcomes: int) -> None: ...


class LineBounds:
    """The base of the bounds of this package: the two bounds of an arm follow from its own tally and the current epoch.

    A threshold that must hold for all times grows with time. It is constant within an epoch, so that one outcome changes
    the bounds of one arm, and all are recomputed when an epoch begins.
    """

    name = ""
    code = formulas.KL

    def start(self, menu: Menu, horizon: int | None) -> None:
        self.menu = menu
        self.horizon = horizon or 0
        self.upper: Floats = np.ones(menu.n_arms)
        self.lower: Floats = np.zeros(menu.n_arms)
        if menu.costs is not None:
            self.lower[menu.interior] = menu.costs
        if menu.has_skip:
            self.upper[0] = 0.0
        self.upper[-1] = menu.safe_success
        self.lower[-1] = menu.safe_cost
        self._start_epoch(1)

    def update(self, tally: Tally, arm: int, outcomes: int) -> None:
        if outcomes + 1 > self.last:
            self.refresh(tally, outcomes)
        elif not self.menu.is_boundary(arm):
            self._recompute(tally, arm)

    def refresh(self, tally: Tally, outcomes: int) -> None:
        self._start_epoch(outcomes + 1)
        for arm in np.flatnonzero(tally.plays).tolist():
            if not self.menu.is_boundary(arm):
                self._recompute(tally, arm)

    def _start_epoch(self, step: int) -> None:
        self.last, end = formulas.epoch_of(step, self.horizon)
        self.level = formulas.level_of(self.code, self.menu.n_arms, end)

    def _recompute(self, tally: Tally, arm: int) -> None:
        self.upper[arm] = formulas.upper_of(self.code, float(tally.successes[arm]), int(tally.plays[arm]), self.level)
        if self.menu.costs is None or self.code == formulas.PAPER:
            spent, count = float(tally.costs[arm]), int(tally.priced[arm])
            self.lower[arm] = formulas.lower_of(self.code, spent, count, self.menu.safe_cost, self.level)


# --- the kinds


class HalfLog(LineBounds):
    """Kullback–Leibler bounds with a threshold of half a logarithm, which is sufficient for the regret bound.

    With an epoch that ends at E the threshold is β = ½ ln E + ln(1 + ln E), for any number of arms. Such a bound is
    sometimes wrong; but the regret requires only that the at most two arms of the optimal mix are not underrated by much
    on average, and for that half a logarithm is enough (docs/bounds.md has the proof). Known costs are their own bounds.
    """

    name = "half-log"
    code = formulas.HALF_LOG


class Ordered(LineBounds):
    """Half-log bounds, each from the option's own plays and from those of all options that contain it.

    In a chain, a grid, subsets or intervals, an option that succeeds whenever another does is at least as likely to
    succeed. So all plays of all options that contain an option, its own included, bound it as its own plays do
    (docs/bounds.md has the proof). They are summed again whenever the history has grown by 5%; until then the earlier
    bound stays valid.
    """

    name = "ordered"
    code = formulas.ORDERED


class IntervalClosure(LineBounds):
    """Ordered bounds and the closure of all differences, for intervals.

    An interval's success is a difference of the distribution function at its ends, so that bounds on some intervals, from
    above and from below, bound all others (docs/bounds.md). For other menus than intervals it is the same as "ordered".
    """

    name = "interval-closure"
    code = formulas.INTERVAL_CLOSURE


class KL(LineBounds):
    """Kullback–Leibler bounds with the mixture threshold, which hold for all numbers of plays at once.

    With n arms and an epoch that ends at E, the failure probability per arm and side is δ = 1/(2nE) (theory 7). Known
    costs are their own bounds.
    """

    name = "kl"
    code = formulas.KL


class Hoeffding(LineBounds):
    """The paper's width, sqrt(2 ln(nT)/plays), clipped to possible values. Known costs are their own bounds."""

    name = "hoeffding"
    code = formulas.HOEFFDING


class Paper(LineBounds):
    """The bounds as printed: nothing is clipped, and costs are estimated even where they are known (theory 1)."""

    name = "paper"
    code = formulas.PAPER

    def start(self, menu: Menu, horizon: int | None) -> None:
        super().start(menu, horizon)
        # An arm without plays has no bounds; the first round plays each arm before its line is used.
        self.upper[menu.interior] = math.inf
        self.lower[menu.interior] = -math.inf


METHODS = ("start", "update", "refresh")
NAMED: dict[str, type[LineBounds]] = {
    kind.name: kind for kind in (IntervalClosure, Ordered, HalfLog, KL, Hoeffding, Paper)
}


def is_builtin(bounds: Bounds) -> TypeGuard[LineBounds]:
    """Whether these bounds come with suffice, so that tables of arms implement them. A subclass is a user's own."""
    return type(bounds) in NAMED.values()


def resolve_bounds(bounds: object) -> Bounds:
    """Bounds by name, or a user's own object unchanged."""
    if isinstance(bounds, str):
        name = HalfLog.name if bounds == "auto" else bounds  # the one that suits every menu
        if name in NAMED:
            return NAMED[name]()
    elif not isinstance(bounds, type) and all(callable(getattr(bounds, method, None)) for method in METHODS):
        return cast("Bounds", bounds)
    names = ", ".join(f'"{name}"' for name in ("auto", *NAMED))
    raise InvalidArgument(
        f"bounds must be one of {names} or an object with start, update and refresh, got {quoted(bounds)}"
    )
