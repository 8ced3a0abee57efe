"""The selector: choose among the options of a menu so that the target is held and little is paid.

The way of the data: promise (everything, nothing, or a price) → chooser proposes an arm at that price → the world;
then the outcome → counts, tally, bounds, chooser.
"""

import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from suffice.book import EVERYTHING, LENGTH, NOTHING, TOLD
from suffice.bounds import NAMED as NAMED_BOUNDS
from suffice.bounds import Bounds
from suffice.certificate import Certificate
from suffice.checks import WHOLE, flag, positive, success_units, whole
from suffice.choosers import NAMED as NAMED_CHOOSERS
from suffice.choosers import Chooser
from suffice.controller import Controller, log
from suffice.errors import InvalidArgument, StateError, shown
from suffice.guided import KAPPA, make_learner
from suffice.kernels.compile import available, entry, fast
from suffice.kernels.desk import FENCE, FIRST_ARM, ask_at, desk, tell_at
from suffice.kernels.layout import PRICE_NOW, SPENT
from suffice.kernels.looking import ASKS, TELLS, ask_looking, tell_looking
from suffice.kernels.runs import play
from suffice.learner import FlatLearner, Learner, may_curve
from suffice.looking import Insight, LookingLearner, Note, make_looking
from suffice.memory import Memory, written
from suffice.menu import Menu
from suffice.pending import Pending
from suffice.promise import Promise
from suffice.recipes import again, name_of, same_menu
from suffice.records import Arm, Decision
from suffice.runs import Block, World
from suffice.saving import read_state, reading
from suffice.together import together

if TYPE_CHECKING:
    from suffice.groups import Group


class Selector(Controller):
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

    _settled = -1  # the decision whose outcome is being learned
    _desk: Any = None  # the array that compiled code works on
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

    @property
    def _looking(self) -> LookingLearner | None:
        """The learner, if it looks at contexts."""
        return self._learner if isinstance(self._learner, LookingLearner) else None

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

    @property
    def menu(self) -> Menu:
        """What may be chosen."""
        return self._menu

    @property
    def bounds(self) -> str:
        """The bounds in use: what "auto" became."""
        return str(getattr(self._learner.bounds, "name", type(self._learner.bounds).__name__))

    @property
    def memory(self) -> str:
        """How much of the past counts: what "auto" became."""
        return written(self._learner.memory)

    @property
    def prices(self) -> str:
        """How the price follows the debt: what "auto" became."""
        return self._prices

    @property
    def chooser(self) -> str:
        """The chooser in use: what "auto" became."""
        return str(getattr(self._learner.chooser, "name", type(self._learner.chooser).__name__))

    @property
    def contextual(self) -> bool:
        """Whether decisions may be asked with a context."""
        return self._looking is not None

    @property
    def model(self) -> str | None:
        """The model that looks at contexts: what "auto" became; None if there is none."""
        return None if self._looking is None else str(self._looking.eye.name)

    def insight(self) -> Insight:
        """What is made of contexts: whether the model is followed, how it did, what was missing. Reads well when printed."""
        if self._looking is None:
            raise InvalidArgument(
                'a model must look at contexts before there is an insight: Selector(..., model="auto")'
            )
        with self._lock, self._look:
            return self._looking.insight(self.told)

    def arms(self) -> list[Arm]:
        """A row per arm: how often it was played, how it did, and what is certain of it."""
        with self._lock, self._look:
            plays, successes, priced, costs, upper, lower = self._learner.columns()
            told = max(1, int(plays.sum()))
            return [
                Arm(
                    arm=arm,
                    option=self._menu.option(arm),
                    plays=int(plays[arm]),
                    share=float(plays[arm]) / told,
                    success=float(successes[arm] / plays[arm]) if plays[arm] else None,
                    cost=self._mean_cost(arm, float(costs[arm]), float(priced[arm])),
                    upper_success=float(upper[arm]),
                    lower_cost=float(lower[arm]),
                )
                for arm in range(self._menu.arms)
            ]

    def _mean_cost(self, arm: int, costs: float, priced: float) -> float | None:
        known = self._menu.known_cost(arm)
        return known if known is not None or not priced else costs / priced

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
        if contexts is not None and (isinstance(contexts, str | bytes) or not isinstance(contexts, Iterable)):
            raise InvalidArgument(f"contexts must be a sequence of contexts, got {shown(contexts)}")
        listed = [None] * whole("count", count, 0) if contexts is None else list(contexts)
        if len(listed) != whole("count", count, 0):
            raise InvalidArgument(f"contexts must hold one for each of {count} decisions, got {len(listed)}")
        return self._look_and_ask(listed, available, audit)

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

    def _look_and_ask(self, contexts: list[Any], available: Iterable[Any] | None, audit: bool) -> list[Decision]:
        looking = self._looking
        if looking is None:
            raise InvalidArgument(
                'context must be left out where no model looks at it: Selector(..., model="auto") has one'
            )
        allowed = self._allowed(available)
        flag("audit", audit)
        with self._lock, self._fence:
            now = self._give_up_overdue()
            for context in contexts if len(contexts) > 1 else ():
                looking.check(context)  # all, or none if one is bad
            decisions = []
            for context in contexts:
                looking.see(context)
                decision = self._ask(allowed, audit, now)
                if audit:
                    self._keep(looking, self._own_id(decision))
                decisions.append(decision)
            return decisions

    def _keep(self, looking: LookingLearner, identity: int) -> None:
        """Keep the note of a decision; that of whoever had to leave its seat is kept beside it from now on."""
        self._unseat(looking, looking.beside(identity))
        if looking.note is not None:
            self._notes[identity] = looking.note

    def _unseat(self, looking: LookingLearner, identity: int) -> None:
        """Move what is kept beside the seat of a decision to where the long way looks for it."""
        found = looking.seated(identity)
        if found is not None:
            self._notes[identity] = found[0]
            if found[1]:
                self._proposed.add(identity)

    def _own_id(self, decision: Decision) -> int:
        """How this selector's ledger calls a decision of its own."""
        return decision.id

    # --- groups

    @property
    def groups(self) -> "Mapping[str, Group]":
        """The groups by name, in the order of their first decision; each tells its own debt, rate, cost and certificate."""
        return MappingProxyType(self._groups)

    def _group(self, name: Any) -> "Group":
        group = self._groups.get(name) if isinstance(name, str) else None
        if group is None:
            from suffice.groups import add_group, make_group

            made = make_group(self, name)  # before the lock is taken: a fork takes it last of all
            with self._lock, self._fence:
                group = self._groups.get(name) or add_group(self, made)
        return group

    def _holder(self, decision: Any) -> tuple[Controller, Any]:
        if self._groups:
            from suffice.groups import holder

            return holder(self, decision)
        return self, decision

    def certificate(self, group: str | None = None) -> Certificate:
        """What is promised, whether it is so, and if not, why and what to do: of one group, or of all there is."""
        if group is not None:
            if not isinstance(group, str) or group not in self._groups:
                raise InvalidArgument(f"group must be one that has been asked for, got {shown(group)}")
            return self._groups[group].certificate()
        if not self._groups:
            return super().certificate()
        with self._lock, self._look:
            if not self._nested():
                for one in (self, *self._groups.values()):
                    one._give_up_overdue()
            parts = {name: one.certificate() for name, one in self._groups.items()}
            own = Certificate.make(self._promise, self._ledger.counts, self._ledger.outstanding())
        return together({"": own, **parts} if own.told or own.pending else parts)

    @property
    def told(self) -> int:
        """Outcomes counted, expired decisions included; those of all groups."""
        return int(self._ledger.book[TOLD]) + sum(group.told for group in list(self._groups.values()))

    @property
    def successes(self) -> float:
        """The sum of successes told."""
        return super().successes + sum(group.successes for group in list(self._groups.values()))

    @property
    def debt(self) -> float:
        """Successes owed: target·told − successes; negative when ahead. Of all groups together."""
        return super().debt + sum(group.debt for group in list(self._groups.values()))

    @property
    def pending(self) -> int:
        """Decisions whose outcome has not been told."""
        return super().pending + sum(group.pending for group in list(self._groups.values()))

    @property
    def rate(self) -> float | None:
        """The share of outcomes that succeeded; None before the first."""
        return self.successes / self.told if self.told else None

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

    @property
    def cost(self) -> float:
        """What was spent on all decisions settled so far, as far as it is known or was told."""
        return self._own_cost() + sum(group.cost for group in list(self._groups.values()))

    def _own_cost(self) -> float:
        """The same without the groups."""
        short = 0.0 if self._desk is None else float(self._desk[FIRST_ARM + SPENT])
        return max(0.0, self._cost + short)  # amendments subtract what they add again, up to rounding

    def _dual(self, book: Any) -> float:
        return self._learner.dual(book)

    def _arms(self) -> int:
        return self._menu.arms

    def _kind(self, arm: int) -> int:
        return self._menu.kind_of(arm)

    def _allowed(self, available: Iterable[Any] | None) -> NDArray[np.bool_] | None:
        if available is None:
            return None
        if isinstance(available, str | bytes) or not isinstance(available, Iterable):
            raise InvalidArgument(f"available must list options of the menu, got {shown(available)}")
        allowed = np.zeros(self._menu.arms, dtype=np.bool_)
        allowed[-1] = True
        if self._menu.has_nothing:
            allowed[0] = True
        for option in available:
            allowed[self._menu.arm(option)] = True
        return allowed

    def _choose(self, rail: int, dual: float, allowed: NDArray[np.bool_] | None) -> tuple[int, Any]:
        if rail == EVERYTHING:
            arm = self._menu.arms - 1
        elif rail == NOTHING and self._menu.has_nothing:
            arm = 0
        else:
            # Where there is no nothing, the cheapest option is played at the bottom: the price of a success is 0 there.
            arm = self._propose(max(0.0, dual), allowed)
        return arm, self._menu.option(arm)

    def _steps(self) -> int:
        """Outcomes that were learned from, those of all groups included."""
        return int(self._ledger.book[TOLD]) + self._elsewhere

    def _propose(self, price: float, allowed: NDArray[np.bool_] | None) -> int:
        """The chooser's arm; the optimist's if it has none to offer, or else everything, which is dear and always safe."""
        try:
            return self._learner.propose(price, allowed, self._steps())
        except Exception as error:
            if not self._chooser_failed:
                log.exception("the chooser failed; another plays in its place, now and whenever it fails again")
                self._warn_once(f"the chooser failed, so the optimist plays: {type(error).__name__}: {error}")
            self._chooser_failed = True
        try:
            return self._learner.optimistic(price, allowed)
        except Exception:
            return self._menu.arms - 1

    def _opening(self, allowed: NDArray[np.bool_] | None) -> tuple[int, Any] | None:
        while self._opened < self._menu.arms - 1:
            arm = self._opened
            self._opened += 1
            if allowed is None or allowed[arm]:
                return arm, self._menu.option(arm)
        return None

    def _ask(self, allowed: Any, audit: bool, now: float) -> Decision:
        self._learner.proposed = False
        decision = super()._ask(allowed, audit, now)
        if self._learner.proposed and audit:
            self._proposed.add(self._own_id(decision))
        return decision

    def _settle(self, identity: int, units: int, cost: float | None) -> None:
        self._settled = identity
        if self._looking is not None:
            self._recall(self._looking, identity)
        super()._settle(identity, units, cost)
        self._proposed.discard(identity)
        self._notes.pop(identity, None)

    def _give_up(self, identity: int) -> None:
        self._settled = identity
        if self._looking is not None:
            self._recall(self._looking, identity)
        super()._give_up(identity)
        kept = len(self._ledger.expired) + len(self._ledger.pending)
        if max(len(self._proposed), len(self._notes)) > 2 * kept:
            known = {*self._ledger.expired, *self._ledger.pending}  # the rest can no longer be amended
            self._proposed &= known
            self._notes = {one: note for one, note in self._notes.items() if one in known}

    def _recall(self, looking: LookingLearner, identity: int) -> None:
        """Have what is kept of a decision at hand when its outcome is learned."""
        self._unseat(looking, identity)
        looking.recalled = self._notes.get(identity)

    def _check_cost(self, arm: int, cost: float | None) -> None:
        if cost is None and self._menu.known_cost(arm) is None:
            raise InvalidArgument(
                f"cost must be told for option {self._menu.option(arm)!r}: the menu does not know what it costs"
            )

    def _learn(self, arm: int, success: float, cost: float | None, *, late: bool) -> None:
        menu, page = self._menu, self._ledger.page()
        known = menu.known_cost(arm)
        spent = cost if cost is not None else known
        booked = known if late else None  # a known cost was noted when the decision expired
        self._cost += (spent or 0.0) - (booked or 0.0)
        learned = None if spent is None or booked is not None else min(spent, menu.max_cost)
        if spent is not None and spent > menu.max_cost:
            self._warn_once(
                f"option {menu.option(arm)!r} cost {spent:g}, above max_cost {menu.max_cost:g}: the record keeps it, "
                "learning takes max_cost; set max_cost to what everything really costs"
            )
        told, price = int(page[TOLD]) + self._elsewhere, self._learner.price(page)
        self._learner.learn(arm, success, learned, 0 if late else 1, told, price, self._settled in self._proposed)
        self._learner.arms[PRICE_NOW] = self._learner.price(page)  # once more: the outcome may have moved the hint

    # --- saving

    def _recipe(self) -> dict[str, Any]:
        try:
            return self._menu.recipe()
        except InvalidArgument as error:  # options or an order of one's own: they must be passed again when loading
            return {"kind": None, "why": str(error), "arms": self._menu.arms, "nothing": self._menu.has_nothing}

    def state(self) -> dict[str, Any]:
        """Everything there is to this selector, in JSON's terms."""
        with self._lock, self._look:
            return {**super().state(), "cost": self._own_cost()}  # each group says its own

    def _state(self) -> dict[str, Any]:
        self._unseat_all()
        return {
            "menu": self._recipe(),
            "horizon": self._horizon,
            "bounds": name_of(self._learner.bounds, NAMED_BOUNDS),
            "chooser": name_of(self._learner.chooser, NAMED_CHOOSERS),
            "prices": self._prices,
            "hint": self._learner.hint(),
            "guard": None if math.isinf(self._guard) else self._guard,
            "seed": self._seed,
            "kept": self._learner.kept(),
            "proposed": sorted(self._proposed),
            "model": None if self._looking is None else self._looking.recipe(),
            "notes": self._notes_written(),
            "groups": [group.part() for group in self._groups.values()],
            "memory": written(self._learner.memory),
            "opened": self._opened,
            "tally": self._learner.rows(),
        }

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        menu: Menu | None = None,
        bounds: Bounds | None = None,
        chooser: Chooser | None = None,
        model: Any = None,
        clock: Callable[[], float] = time.time,
    ) -> "Selector":
        """The selector that was saved, pending decisions included. Objects of your own must be passed again."""
        return cls.from_state(read_state(path), menu=menu, bounds=bounds, chooser=chooser, model=model, clock=clock)

    @classmethod
    def from_state(
        cls,
        state: dict[str, Any],
        *,
        menu: Menu | None = None,
        bounds: Bounds | None = None,
        chooser: Chooser | None = None,
        model: Any = None,
        clock: Callable[[], float] = time.time,
    ) -> "Selector":
        """The selector that `state()` wrote down."""
        with reading(state, cls.__name__):
            if "kept" not in state:  # as it was before there was a choice
                state = {"prices": "straight", "guard": None, "seed": 0, "kept": {}, "proposed": [], **state}
            if not {"model", "notes", "groups"} & set(state):  # as it was before there were contexts
                state = {"model": None, "notes": [], "groups": [], **state}
            promise = Promise.from_state(state["promise"])
            selector = cls(
                same_menu(menu, state["menu"]),
                promise.target,
                state["horizon"],
                cap=promise.cap,
                step=promise.fixed_step,
                start=promise.start,
                bounds=again("bounds", bounds, state["bounds"]),
                chooser=again("chooser", chooser, state["chooser"]),
                prices=state["prices"],
                guard=state["guard"],
                model=again("model", model, state["model"]),
                seed=state["seed"],
                memory=state["memory"],
                max_pending=state["max_pending"],
                expire_after=state["expire_after"],
                clock=clock,
            )
            selector._promise = promise
            selector._restore(state)
        return selector

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._elsewhere = sum(whole("told", part["counts"]["told"], 0) for part in state["groups"])
        self._set_up()
        if state["prices"] == "curve":
            self._learner.take_hint(state["hint"])
        price = self._learner.price(self._ledger.page())
        self._learner.fill(state["tally"], self._steps(), price, state["kept"])
        self._proposed = {whole("proposed", identity, 0) for identity in state["proposed"]}
        self._opened = whole("opened", state["opened"], 0)
        self._take_notes(state["notes"])
        if state["groups"]:
            from suffice.groups import restore_groups

            restore_groups(self, state["groups"])
        self._open()

    def _notes_written(self) -> list[list[Any]]:
        if self._looking is None:
            return []
        return [[one, *self._looking.written(note)] for one, note in self._notes.items()]

    def _unseat_all(self) -> None:
        if self._looking is not None and self._desk is not None:
            for identity in self._looking.all_seated():
                self._unseat(self._looking, identity)

    def _take_notes(self, rows: list[list[Any]]) -> None:
        for one, *note in rows:
            if self._looking is None:
                raise StateError("there must be a model where there are contexts")
            self._notes[whole("note", one, 0)] = self._looking.again(note)

    # --- copies

    def __getstate__(self) -> dict[str, Any]:
        with self._lock, self._look:
            self._unseat_all()
            return {**super().__getstate__(), "_parts": [group.copied() for group in self._groups.values()]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        parts = state.pop("_parts")
        self._groups, self._numbered = {}, []
        super().__setstate__(state)
        if parts:
            from suffice.groups import paste_groups

            paste_groups(self, parts)


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
