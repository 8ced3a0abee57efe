"""The selector: choose among the options of a menu so that the target is held and little is paid.

The way of the data: promise (everything, nothing, or a price) → chooser proposes an arm at that price → the world;
then the outcome → counts, tally, bounds, chooser.
"""

import math
import sys
import time
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from suffice.book import LENGTH
from suffice.bounds import Bounds
from suffice.checks import WHOLE, positive, success_units, whole
from suffice.choosers import Chooser
from suffice.controller import Controller
from suffice.errors import InvalidArgument, shown
from suffice.guided import KAPPA, make_learner
from suffice.kept import Kept
from suffice.kernels.compile import available, entry, fast
from suffice.kernels.desk import FENCE, FIRST_ARM, ask_at, desk, tell_at
from suffice.kernels.layout import SPENT
from suffice.kernels.looking import ASKS, TELLS, ask_looking, tell_looking
from suffice.kernels.runs import play
from suffice.learner import FlatLearner, Learner, may_curve
from suffice.looking import LookingLearner, Note, make_looking
from suffice.memory import Memory
from suffice.menu import Menu
from suffice.pending import Pending
from suffice.promise import Promise
from suffice.records import Decision
from suffice.runs import Block, World
from suffice.schema import listed

if TYPE_CHECKING:
    from suffice.groups import Group


class Selector(Kept):
    """Holds a success rate over the options of a menu, on every path, and pays little where the world allows it.

    Args:
        menu: what may be chosen.
        target: the success rate to hold, strictly between 0 and 1; a float counts as the decimal it is written as.
        horizon: how many outcomes there will be, if that is known. Without it the step decays.
        slack: the most successes that may be banked; in no window do failures exceed the allowed ones by more than
            slack + 1. Default sqrt(told), or sqrt(horizon).
        step: how far one outcome moves the dual, instead of slack (step = cap/slack).
        cap: the dual at which everything is played. Default max_cost/(everything_success − target).
        start: "safe" (never behind), "cheap" (the paper's), or the dual to start from.
        bounds: what is certain of each option: "closed", "contained", "half-log", "kl", "hoeffding", "paper", or an object
            of your own; "auto" is the best that is proven for the menu.
        chooser: who proposes an option: "thompson", "optimist", or an object of your own; "auto" is the first for chains,
            intervals and subsets, else the second, which it also is where bounds are named.
        guard: how much more than the optimist a chooser may cost before the optimist plays in its place: κ in
            docs/choosers.md. None: any amount.
        model: who looks at the contexts that decisions are asked with: "auto" is the model that comes with suffice; a model
            of your own, a scikit-learn or River classifier, or a function may stand here as well (docs/context.md). It is
            followed once outcomes show that it is worth it, and behind the guard. None: contexts are refused.
        seed: of the chooser's own randomness.
        prices: how the price of a success follows the debt: "curve" (around a hint of the right price), "straight" (as in
            the paper), or "auto": the curve where the start is safe and no step is given.
        memory: how much of the past counts when options are judged: "reset" (all of it until it contradicts itself, then
            none of it), "full", "window 2000" or "discount 2000" (or any other number of outcomes); "auto" is "reset", and
            "full" where bounds are named. The promise remembers everything.
        max_pending: at so many outstanding decisions other than everything, everything is handed out.
        expire_after: seconds after which a decision that was not told counts as a failure.
        clock: where the time of day comes from, in seconds.

    >>> menu = Menu.top_k([5, 10, 20, 50], classes=100)
    >>> selector = Selector(menu, target=0.9)
    >>> decision = selector.ask()
    >>> decision
    Decision(id=0, arm=5, option=100)
    >>> selector.tell(decision, success=True)
    >>> print(selector.certificate())
    Kept: 100% of 1 succeeded (target 90%).
    Never behind by more than 0.9, never ahead by more than 1.1; now 0.1 ahead.
    """

    def __init__(
        self,
        menu: Menu,
        target: float | Fraction,
        horizon: int | None = None,
        *,
        slack: float | None = None,
        step: float | None = None,
        cap: float | None = None,
        start: str | float = "safe",
        bounds: str | Bounds = "auto",
        chooser: str | Chooser = "auto",
        guard: float | None = KAPPA,
        model: Any = None,
        seed: int = 0,
        prices: str = "auto",
        memory: str | Memory = "auto",
        max_pending: int | None = None,
        expire_after: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not isinstance(menu, Menu):
            raise InvalidArgument(f"menu must be a Menu, got {shown(menu)}")
        promise = Promise.make(
            target,
            horizon,
            slack=slack,
            step=step,
            cap=cap,
            start=start,
            max_cost=menu.max_cost,
            everything_success=menu.everything_success,
            forgiving=not menu.has_nothing,
        )
        super().__init__(promise, max_pending=max_pending, expire_after=expire_after, clock=clock)
        self._menu = menu
        self._horizon = None if horizon is None else whole("horizon", horizon)
        self._seed = whole("seed", seed, 0) & 0xFFFFFFFF
        self._guard = math.inf if guard is None else float(positive("guard", guard))
        self._learner: Learner = make_learner(
            menu, bounds, chooser, memory, self._horizon, promise, seed=self._seed, kappa=self._guard
        )
        if model is not None:
            self._learner = make_looking(self._learner, model, self._seed)
        self._proposed: set[int] = set()  # decisions that a model, or a chooser of the user's own, proposed
        self._notes: dict[int, Note] = {}  # what is kept of decisions with a context
        self._groups: dict[str, Group] = {}
        self._numbered: list[Group] = []  # the same by number, less 1
        self._elsewhere = 0  # outcomes told in groups
        self._prices = _prices(prices, promise)
        if self._prices == "curve":
            self._learner.curve()
        self._opened = menu.arms  # the first arm that the first round has not played; beyond the last: no first round
        self._set_up()
        self._chooser_failed = False

    _made = 0  # which of the model's arrays are at hand; 0: none
    _inside = False  # whether somebody is on the short way with a context, whom a signal handler may interrupt
    _asks: Any = None
    _tells: Any = None
    _derived = Controller._derived | {
        "_desk",
        "_ask_at",
        "_tell_at",
        "_options",
        "_kinds",
        "_groups",
        "_numbered",
        "_asks",
        "_tells",
    }

    def _set_up(self) -> None:
        """What the short way through ask and tell needs at hand."""
        menu, learner, ledger, looking = self._menu, self._learner, self._ledger, self._looking
        if looking is not None:
            learner = looking.plain
        self._desk = None
        self._options = menu.immutable() or _Options(menu)
        self._kinds = [menu.kind_of(arm) for arm in range(menu.arms)]
        self._limit = math.inf if self._max_pending is None else float(self._max_pending)
        if not isinstance(learner, FlatLearner) or not learner.compiled:
            return
        if not available():
            self._cost += float(learner.arms[SPENT])
            (looking or learner).leave()
            ledger.book = self._promise.open(ledger.counts)
            ledger.pending = dict(ledger.pending)
            return
        # One array for the book, the seats and the arms, of which all are views: what one way writes the other reads.
        cells = desk(ledger.book, learner.arms, self._limit)
        ledger.book, learner.arms = cells[:LENGTH], cells[FIRST_ARM:]
        if self._expire_after is None:  # else each ask looks at the clock, which the short way cannot
            ledger.pending = Pending(ledger.pending, cells, self._kinds)
        if looking is None:
            self._ask_at = entry(ask_at, "float64[::1]")
            self._tell_at = entry(tell_at, "float64[::1]", "int64", "int64", "float64")
        else:
            self._ask_at, self._tell_at = entry(ask_looking, *ASKS), entry(tell_looking, *TELLS)
            self._made = 0
        self._desk = cells
        self._open()

    def _take_arrays(self, looking: LookingLearner) -> None:
        """The arrays that compiled code works on, where a model made them anew."""
        looking.open_seats()
        beside = (self._desk, looking.trust, looking.seat_rows, looking.seat_notes)
        self._asks, self._tells = (beside, looking.eye.asking()), ((*beside, looking.tally), looking.eye.telling())
        self._made = looking.eye.made

    def _close(self) -> None:
        if self._desk is not None:
            self._desk[FENCE] = 1.0

    def _open(self) -> None:
        """Open the short way, if there is nothing that it cannot do: look at the clock, first rounds, new keys, groups."""
        self._inside = False
        if self._desk is not None:
            later = self._expire_after is not None or self._opened < self._menu.arms - 1 or self._ledger.restored
            self._desk[FENCE] = 1.0 if later or self._groups or not _one_at_a_time() else 0.0

    def _compile(self) -> bool:
        """Move to compiled code, for a run that is worth it; False if that cannot be, or steps are not compiled as a whole."""
        if self._looking is not None:
            with self._lock, self._fence:
                if not self._looking.compiled:
                    self._looking.compile()
                    self._set_up()
            return False
        if isinstance(self._learner, FlatLearner) and self._learner.compilable and not self._learner.compiled:
            self._learner.compile()
            self._set_up()
        return self._desk is not None

    def _ready_for(self, stream: Any) -> bool:
        """Whether `_run` can play this stream. (A subclass may have changed how it asks or tells.)"""
        return type(self) is Selector and self._compile()

    def _run(self, world: World, latents: NDArray[np.float64], block: Block) -> None:
        """Whole steps against a world that is known beforehand."""
        with self._lock, self._fence:
            opening = self._opened if self._opened < self._menu.arms - 1 else 0
            book, arms = self._ledger.book, self._learner.arms
            played = fast(play)(book, arms, latents, *world, *block.columns, opening)
            if opening:
                self._opened = int(played)
            self._cost += float(block.costs.sum())

    def reseed(self, seed: int) -> None:
        """Begin the chooser's own randomness anew."""
        self._seed = whole("seed", seed, 0) & 0xFFFFFFFF
        with self._lock, self._fence:
            if isinstance(self._learner, FlatLearner | LookingLearner):
                self._learner.reseed(self._seed)

    # --- ask

    def ask(
        self,
        *,
        available: Iterable[Any] | None = None,
        audit: bool = True,
        context: Any = None,
        group: str | None = None,
    ) -> Decision:
        """What to do now.

        Args:
            available: the interior options that can be played this once; the boundary options always can.
            audit: False for a decision whose outcome will not be told: it is never pending and never counted. Decide
                by a coin, before asking, which ones are audited.
            context: what is known beforehand: a mapping, or a row of NumPy, pandas or polars. It needs a `model`.
            group: the group that the decision belongs to. Each has a debt and a promise of its own.
        """
        if group is not None:
            return self._group(group).ask(available=available, audit=audit, context=context)
        if type(self._learner) is LookingLearner:
            if self._desk is not None and context is not None and available is None and audit is True:
                decision = self._look_quickly(self._learner, context)
                if decision is not None:
                    return decision
            return self._look_and_ask([context], available, audit)[0]
        if context is not None:
            return self._look_and_ask([context], available, audit)[0]
        if self._desk is not None and available is None and audit is True:
            # The short way: one call of compiled code, which happens whole or not at all.
            identity, arm, dual = self._ask_at(self._desk)
            if identity >= 0:
                # Not Decision(...), which would go through a Python function.
                return new(Decision, (identity, arm, self._options[arm], self._kinds[arm], dual, self._ledger.key))
        return super().ask(available=available, audit=audit)

    def ask_many(
        self, count: int, *, available: Iterable[Any] | None = None, audit: bool = True,
        contexts: Iterable[Any] | None = None, group: str | None = None,
    ) -> list[Decision]:  # fmt: skip
        """So many decisions at once, as if asked one after the other before any outcome came; a context for each, if any."""
        if group is not None:
            return self._group(group).ask_many(count, available=available, audit=audit, contexts=contexts)
        if self._looking is None and contexts is None:
            return super().ask_many(count, available=available, audit=audit)
        many = whole("count", count, 0)
        return self._look_and_ask(
            [None] * many if contexts is None else listed(contexts, many, "decision"), available, audit
        )

    def _look_quickly(self, looking: LookingLearner, context: Any) -> Decision | None:
        """The short way with a context, of which only the reading is Python; None if it cannot be done this way."""
        with self._lock:
            eye = looking.eye
            if self._inside or self._desk[FENCE] != 0.0 or not looking.quick:
                return None
            self._inside = True
            try:
                row = eye.read(context)
                eye.note(row)
                if eye.made != self._made:
                    self._take_arrays(looking)
                beside, arrays = self._asks
                identity, arm, dual = self._ask_at(*beside, row, *arrays)
            finally:
                self._inside = False
            if identity < 0:
                looking.noted = row  # once is enough: the long way must not take it into account again
                return None
            return new(Decision, (identity, arm, self._options[arm], self._kinds[arm], dual, self._ledger.key))

    # --- tell

    def tell(self, decision: Decision | int, success: float, cost: float | None = None) -> None:
        """How a decision went: a bool, or any number from 0 to 1. The cost only where it is not known beforehand.

        An outcome for a decision that has expired amends it. Telling twice changes nothing and raises `AlreadyTold`.
        """
        if self._desk is not None and type(decision) is Decision and decision.selector == self._ledger.key:
            # The short way again, for our own decision if it is seated; a cost that needs a second look goes the long way.
            units = WHOLE if success is True else 0 if success is False else success_units(success)
            usual = cost is None or (type(cost) is float and cost == cost)
            try:
                if type(self._learner) is LookingLearner:
                    if usual and self._tell_looking(self._learner, decision.id, units, NAN if cost is None else cost):
                        return
                elif usual and self._tell_at(self._desk, decision.id, units, NAN if cost is None else cost):
                    return
            except (OverflowError, TypeError, ValueError):
                pass  # an id that no decision has: the long way says so
        super().tell(decision, success, cost)

    def _tell_looking(self, looking: LookingLearner, identity: int, units: int, cost: float) -> bool:
        with self._lock:
            if self._inside or not looking.quick or self._made == 0 or identity in self._notes:
                return False
            self._inside = True
            try:
                if looking.eye.made != self._made:
                    self._take_arrays(looking)
                beside, arrays = self._tells
                return bool(self._tell_at(*beside, identity, units, cost, *arrays))
            finally:
                self._inside = False

    def _own_cost(self) -> float:
        """The same without the groups."""
        short = 0.0 if self._desk is None else float(self._desk[FIRST_ARM + SPENT])
        return max(0.0, self._cost + short)  # amendments subtract what they add again, up to rounding


new = tuple.__new__
NAN = math.nan


class _Options:
    """The options by arm, for a menu that copies some of them before it hands them out."""

    def __init__(self, menu: Menu) -> None:
        self._menu = menu

    def __getitem__(self, arm: int) -> Any:
        return self._menu.option(arm)


def _prices(prices: Any, promise: Promise) -> str:
    if prices == "auto":
        return "curve" if may_curve(promise) else "straight"
    if prices not in ("curve", "straight"):
        raise InvalidArgument(f'prices must be "auto", "curve" or "straight", got {shown(prices)}')
    if prices == "curve" and not may_curve(promise):
        raise InvalidArgument('prices must be "straight" where a step is given or the start is not "safe"')
    return str(prices)


def _one_at_a_time() -> bool:
    """Whether a call of compiled code keeps all other threads out: in every Python with a global lock."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())
