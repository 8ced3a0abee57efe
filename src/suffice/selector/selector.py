"""The selector: choose among the options of a menu so that the target is held and little is paid.

The way of the data: account (the safe option, a skip, or a price) → the learner proposes an arm at that price → the world;
then the outcome → account, tally, bounds, chooser, model.
"""

import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from suffice.context.learner import ContextLearner, ContextReport, make_context_learner
from suffice.context.schema import listed
from suffice.errors import InvalidArgument, StateError, quoted
from suffice.kernels.compiler import available, compiled
from suffice.learning.arm_table import FIT_FIRST
from suffice.learning.bounds import NAMED as NAMED_BOUNDS
from suffice.learning.bounds import Bounds
from suffice.learning.choosers import NAMED as NAMED_CHOOSERS
from suffice.learning.choosers import Chooser
from suffice.learning.custom_learner import KAPPA, make_learner
from suffice.learning.memory import Memory, written
from suffice.learning.table_learner import TableLearner
from suffice.menu.menu import Menu
from suffice.numbers import ONE_SUCCESS, flag, positive_float, positive_int, success_units
from suffice.promise.account import Account
from suffice.promise.certificate import Certificate
from suffice.promise.group_certificate import combine
from suffice.promise.rules import Promise
from suffice.selector.compiled import CompiledEngine
from suffice.selector.compiled_calls import TOLD
from suffice.selector.context_engine import CompiledContextEngine
from suffice.selector.controller import Controller
from suffice.selector.engines import Engine
from suffice.selector.entries import Entry
from suffice.selector.groups import GroupView
from suffice.selector.identity import LONGEST_NAME, check_group
from suffice.selector.own_parts import again, name_of, same_menu
from suffice.selector.plain import PlainEngine
from suffice.selector.records import Decision, OptionReport
from suffice.selector.runs import play
from suffice.selector.world import Block, World
from suffice.state_files import read_state, reading

new = tuple.__new__
NAN = math.nan


class Selector(Controller):
    """Holds a success rate over the options of a menu, on every path, and pays little where the world allows it.

    Args:
        menu: what may be chosen.
        target: the success rate to hold, strictly between 0 and 1; a float counts as the decimal it is written as.
        horizon: how many outcomes there will be, if that is known. Without it the step decays.
        max_surplus: the most successes that may be banked; in no window do failures exceed the allowed ones by more than
            max_surplus + 1. Default sqrt(told), or sqrt(horizon).
        step: how far one outcome moves the price, instead of max_surplus (step = cap/max_surplus).
        cap: the price at which the safe option is played. Default safe_cost/(safe_success − target).
        start: "safe" (never behind), "cheap" (the paper's), or the price to start from.
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
        max_pending: at so many outstanding decisions other than the safe option, the safe option is played.
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
        max_surplus: float | None = None,
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
            raise InvalidArgument(f"menu must be a Menu, got {quoted(menu)}")
        promise = Promise.make(
            target, horizon, max_surplus=max_surplus, step=step, cap=cap, start=start, safe_cost=menu.safe_cost,
            safe_success=menu.safe_success, forgiving=not menu.has_skip,
        )  # fmt: skip
        super().__init__(promise, max_pending=max_pending, expire_after=expire_after, clock=clock)
        self._menu = menu
        self._horizon = None if horizon is None else positive_int("horizon", horizon)
        self._seed = positive_int("seed", seed, 0) & 0xFFFFFFFF
        self._guard = math.inf if guard is None else positive_float("guard", guard)
        self._learner = make_learner(
            menu, bounds, chooser, memory, self._horizon, promise.cap, seed=self._seed, kappa=self._guard
        )
        if model is not None:
            self._learner = make_context_learner(self._learner, model, self._seed)
        self._prices = _prices(prices, promise)
        self._first_unplayed = menu.n_arms  # the first arm that the first round has not played; beyond the last: none
        self._begin()
        self._set_up()

    _derived: ClassVar[frozenset[str]] = Controller._derived | {"_options", "_roles", "_ask_quickly", "_tell_quickly"}

    def _set_up(self) -> None:
        """What the quick ways need at hand."""
        super()._set_up()
        if (
            isinstance(self._engine, CompiledEngine) and not available()
        ):  # a copy may have been made where there is a compiler
            self._use_engine(self._plain_engine())
        menu, engine = self._menu, self._engine
        self._options = menu.immutable() or _Options(menu)
        self._roles = [menu.kind_of(arm) for arm in range(menu.n_arms)]
        self._ask_quickly, self._tell_quickly, self._address = engine.ask_quickly, engine.tell_quickly, engine.address

    def begin_first_round(self) -> None:
        """Have each interior option played once before the promise begins."""
        self._first_unplayed = 1
        self.close_quick_ways()

    # --- engines

    def _new_engine(self) -> Engine:
        learner = self._learner
        if isinstance(learner, TableLearner) and learner.compiled is not None:
            return CompiledEngine(learner, learner.compiled)
        if isinstance(learner, ContextLearner) and learner.compiled is not None:
            return CompiledContextEngine(learner, learner.compiled)
        return super()._new_engine()

    def _plain_engine(self) -> Engine:
        """An engine of plain objects: where this was made there was a compiler, and here is none."""
        self._learner.decompile()
        return super()._new_engine()

    def _use_engine(self, engine: Engine) -> None:
        """Move all that the engine in use keeps to another one."""
        old = self._engine
        engine.expire_after, engine.next_id = old.expire_after, old.next_id
        for row in range(old.rows()):
            engine.add_row(old.account(row), old.pricing(row))
        engine.restore_entries(old.entries(), old.expired_entries())
        old.close()
        engine.attach(self.lock, self._note_failure)
        self._engine = engine
        self.open_quick_ways()

    def compile(self) -> bool:
        """Move to compiled code, for a run that is worth it. Whether there is any for this selector."""
        with self.lock, self._changing:
            if isinstance(self._engine, PlainEngine):
                self._learner.compile()
                engine = self._new_engine()
                if not isinstance(engine, PlainEngine):
                    self._use_engine(engine)
            if self._address != self._engine.address:  # or an interrupt came between when it was compiled before
                self._set_up()
        return isinstance(self._engine, CompiledEngine)

    def open_quick_ways(self) -> None:
        plain = isinstance(self._engine, PlainEngine)
        usual = self._first_unplayed >= self._menu.n_arms - 1
        if usual and (plain or _one_at_a_time()):
            super().open_quick_ways()

    # --- what there is

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

    def context_report(self) -> ContextReport:
        """What is made of contexts: whether the model is followed, how it did, what was missing. Reads well when printed."""
        learner = self._learner
        if not isinstance(learner, ContextLearner):
            raise InvalidArgument(
                f'a model must look at contexts before there is a context report: {type(self).__name__}(..., model="auto")'
            )
        with self.lock, self._reading:
            return learner.context_report()

    @property
    def contextual(self) -> bool:
        """Whether decisions may be asked with a context."""
        return isinstance(self._learner, ContextLearner)

    @property
    def model(self) -> str | None:
        """The model that looks at contexts: what "auto" became; None if there is none."""
        return str(self._learner.model.name) if isinstance(self._learner, ContextLearner) else None

    def options(self, most: int | None = None) -> list[OptionReport]:
        """A row per arm: how often it was played, how it did, and what is certain of it.

        `most`: only so many, those played most often first.

        With a model, plays are everybody's; what is certain is of an option that is played whatever the context, and learned
        from what the chooser played. So an option that the model plays where it works may do better than its bound.
        """
        with self.lock, self._reading:
            plays, successes, priced, costs, upper, lower = self._learner.columns()
            told = max(1, int(plays.sum()))
            every = range(self._menu.n_arms)
            chosen = every if most is None else np.argsort(-plays, kind="stable")[: positive_int("most", most)].tolist()
            return [
                OptionReport(
                    arm=arm,
                    option=self._menu.option(arm),
                    plays=int(plays[arm]),
                    share=float(plays[arm]) / told,
                    success=float(successes[arm] / plays[arm]) if plays[arm] else None,
                    cost=self._mean_cost(arm, float(costs[arm]), float(priced[arm])),
                    upper_success=float(upper[arm]),
                    lower_cost=float(lower[arm]),
                )
                for arm in chosen
            ]

    def _mean_cost(self, arm: int, costs: float, priced: float) -> float | None:
        known = self._menu.known_cost(arm)
        return known if known is not None or not priced else costs / priced

    def reseed(self, seed: int) -> None:
        """Begin the chooser's own randomness anew."""
        self._seed = positive_int("seed", seed, 0) & 0xFFFFFFFF
        with self.lock, self._changing:
            self._learner.reseed(self._seed)

    # --- groups

    @property
    def groups(self) -> Mapping[str, GroupView]:
        """The groups by name, in the order of their first decision; each tells its own debt, rate, cost and certificate."""
        return MappingProxyType({name: GroupView(self, name, row) for name, row in list(self._groups.items())})

    def _row_of(self, group: Any) -> int:
        """The row of a group's account, which is made if this is the group's first decision."""
        row = self._groups.get(group) if isinstance(group, str) else None
        if row is not None:
            return row
        check_group(group)
        if self._first_unplayed < self._menu.n_arms - 1:
            raise InvalidArgument("group must be left out where the paper's first round is played")
        with self.lock, self._changing:
            if group not in self._groups:
                row = len(self._groups) + 1
                if row == self._engine.rows():  # else one was added before an interrupt, and nothing is in it
                    self._engine.add_row(self.new_account(), self.new_pricing(group))
                self._groups[group] = row
            return self._groups[group]

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
        row = 0 if group is None else self._row_of(group)
        now = 0.0 if self._expire_after is None else self._now()
        if available is None and audit is True:
            if context is None:
                identity, arm, price = self._ask_quickly(self._address, row, now)
                if identity == FIT_FIRST:
                    self._engine.fit()
                    identity, arm, price = self._ask_quickly(self._address, row, now)
            else:
                identity, arm, price = self._engine.ask_in_context(row, now, context)
            if identity >= 0:
                # Not Decision(...), which would go through a Python function.
                return new(Decision, (identity, arm, self._options[arm], self._roles[arm], price, self._identity.key))
        allowed = self.allowed(available)
        flag("audit", audit)
        if not self.contextual and context is None:
            return self._ask_carefully(row, allowed, audit, now)
        return self._ask_in_contexts(row, [context], allowed, audit, now)[0]

    def ask_many(
        self, count: int, *, available: Iterable[Any] | None = None, audit: bool = True,
        contexts: Iterable[Any] | None = None, group: str | None = None,
    ) -> list[Decision]:  # fmt: skip
        """So many decisions at once, as if asked one after the other before any outcome came; a context for each, if any."""
        many = positive_int("count", count, 0)
        row, allowed, now = 0 if group is None else self._row_of(group), self.allowed(available), self._now()
        flag("audit", audit)
        if self.contextual or contexts is not None:
            several = [None] * many if contexts is None else listed(contexts, many, "decision")
            return self._ask_in_contexts(row, several, allowed, audit, now)
        if allowed is None and audit:
            return [self.ask(group=group) for _ in range(many)]
        return [self._ask_carefully(row, allowed, audit, now) for _ in range(many)]

    def _ask_in_contexts(self, row: int, contexts: list[Any], allowed: Any, audit: bool, now: float) -> list[Decision]:
        learner = self._learner
        if not isinstance(learner, ContextLearner):
            raise InvalidArgument(
                'context must be left out where no model looks at it: Selector(..., model="auto") has one'
            )
        with self.lock, self._changing:
            self._expire_overdue(now)
            for context in contexts if len(contexts) > 1 else ():
                learner.check(context)  # all, or none if one is bad
            return [self._decide_carefully(row, allowed, audit, now, learner.read(context)) for context in contexts]

    def allowed(self, available: Iterable[Any] | None) -> NDArray[np.bool_] | None:
        """Which arms may be played if these options are available; None: all."""
        if available is None:
            return None
        if isinstance(available, str | bytes) or not isinstance(available, Iterable):
            raise InvalidArgument(f"available must list options of the menu, got {quoted(available)}")
        allowed = np.zeros(self._menu.n_arms, dtype=np.bool_)
        allowed[-1] = True
        if self._menu.has_skip:
            allowed[0] = True
        for option in available:
            allowed[self._menu.arm(option)] = True
        return allowed

    def _option(self, arm: int, price: float) -> Any:
        return self._menu.option(arm)

    def _first_round(self, allowed: NDArray[np.bool_] | None) -> int | None:
        while self._first_unplayed < self._menu.n_arms - 1:
            arm = self._first_unplayed
            self._first_unplayed += 1
            if allowed is None or allowed[arm]:
                return arm
        return None

    @property
    def warning(self) -> str | None:
        """What a tell would have warned of."""
        return self._warning

    # --- tell

    def tell(self, decision: Decision | int, success: float, cost: float | None = None) -> None:
        """How a decision went: a bool, or any number from 0 to 1. The cost only where it is not known beforehand.

        An outcome for a decision that has expired amends it. Telling twice changes nothing and raises `AlreadyTold`.
        """
        if type(decision) is Decision and decision.selector == self._identity.key:
            # The quick way again, for our own decision; a cost that needs a second look goes the careful way.
            units = ONE_SUCCESS if success is True else 0 if success is False else success_units(success)
            if cost is None or (type(cost) is float and cost == cost):
                try:
                    done = self._tell_quickly(self._address, decision.id, units, NAN if cost is None else cost)
                except (OverflowError, TypeError, ValueError):
                    done = 0  # an id that no decision has: the careful way says so
                if done == 1 and self._warning is None:
                    return
                if done:
                    if done > 1:
                        self._engine.catch_up(done)
                    self._say_warning()
                    return
        super().tell(decision, success, cost)

    def check_cost(self, arm: int, cost: float | None) -> None:
        """Refuse an outcome whose cost is needed and missing."""
        if cost is None and self._menu.known_cost(arm) is None:
            raise InvalidArgument(
                f"cost must be told for option {self._menu.option(arm)!r}: the menu does not know what it costs"
            )

    def _cost_learned(self, entry: Entry, cost: float | None, *, late: bool) -> float:
        known = self._menu.known_cost(entry.arm)
        spent = cost if cost is not None else known
        booked = known if late else None  # a known cost was noted when the decision expired
        self._spend(entry.row, (spent or 0.0) - (booked or 0.0))
        learned = self.learned_cost(entry, cost, late=late)
        return NAN if learned is None else learned

    def learned_cost(self, entry: Entry, cost: float | None, *, late: bool) -> float | None:
        """The cost to learn from: what was told or is known, at most safe_cost; None where there is nothing new in it."""
        menu = self._menu
        known = menu.known_cost(entry.arm)
        spent = cost if cost is not None else known
        if spent is not None and spent > menu.safe_cost:
            self._warn_once(
                f"option {menu.option(entry.arm)!r} cost {spent:g}, above safe_cost {menu.safe_cost:g}: the record keeps it, "
                "learning takes safe_cost; set safe_cost to what the safe option really costs"
            )
        return None if spent is None or (late and known is not None) else min(spent, menu.safe_cost)

    # --- where things stand

    def certificate(self, group: str | None = None) -> Certificate:
        """What is promised, whether it is so, and if not, why and what to do: of one group, or of all there is."""
        if group is not None and (not isinstance(group, str) or group not in self._groups):
            raise InvalidArgument(f"group must be one that has been asked for, got {quoted(group)}")
        with self.lock, self._reading:
            self._expire_if_alone()
            pending, groups = self._pending_by_row(), dict(self._groups)  # another thread may add one later
            rows = range(self._engine.rows()) if group is None else (groups[group],)
            certificates = [
                Certificate.make(self._promise, self._engine.account(row), pending.get(row, 0)) for row in rows
            ]
        if group is not None or not groups:
            return certificates[0]
        return combine(certificates[0], {name: certificates[row] for name, row in groups.items()})

    def account_of(self, row: int) -> Account:
        """A copy of one account: 0 is that of decisions without a group."""
        with self.lock:
            return self._engine.account(row)

    def price_of(self, row: int) -> float:
        """The price that one account now pays for a success."""
        with self.lock:
            return self._engine.standing(row).price

    def pending_of(self, row: int) -> int:
        """How many decisions of one account are outstanding."""
        with self.lock:
            return self._pending_by_row().get(row, 0)

    def spent_of(self, row: int) -> float:
        """What was spent on the decisions of one account."""
        with self.lock:
            return max(0.0, self._engine.pricing(row).spent)

    def _pending_by_row(self) -> dict[int, int]:
        if not self._groups:
            return {0: self._engine.pending()}
        pending: dict[int, int] = {}
        for _, entry in self._engine.entries():
            pending[entry.row] = pending.get(entry.row, 0) + 1
        return pending

    # --- whole runs

    def can_run(self, stream: Any) -> bool:
        """Whether `run` can play a stream. (A subclass may have changed how it asks or tells.)"""
        return type(self) is Selector and self.compile() and not self.contextual

    def run(self, world: World, latents: NDArray[np.float64], block: Block) -> None:
        """Whole steps against a world that is known beforehand."""
        with self.lock, self._changing:
            step, opening = 0, self._first_unplayed if self._first_unplayed < self._menu.n_arms - 1 else 0
            while step < len(latents):
                step, opening, left = compiled(play)(self._address, latents, *world, *block.columns, step, opening)
                if left == FIT_FIRST:
                    self._engine.fit()
                elif left > TOLD:
                    self._engine.catch_up(left)
            self._first_unplayed = opening or self._first_unplayed

    # --- saving

    def _own_state(self) -> dict[str, Any]:
        learner = self._learner
        return {
            "menu": self._recipe(),
            "horizon": self._horizon,
            "bounds": name_of(learner.bounds, NAMED_BOUNDS),
            "chooser": name_of(learner.chooser, NAMED_CHOOSERS),
            "prices": self._prices,
            "guard": None if math.isinf(self._guard) else self._guard,
            "seed": self._seed,
            "model": learner.recipe() if isinstance(learner, ContextLearner) else None,
            "memory": written(learner.memory),
            "first_unplayed": self._first_unplayed,
        }

    def _recipe(self) -> dict[str, Any]:
        try:
            return self._menu.recipe()
        except InvalidArgument as error:  # options or an order of one's own: they must be passed again when loading
            return {"kind": None, "why": str(error), "arms": self._menu.n_arms, "skip": self._menu.has_skip}

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
    ) -> Self:
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
    ) -> Self:
        """The selector that `state()` wrote down."""
        with reading(state, cls.__name__):
            promise = Promise.from_state(state["promise"])
            make: Any = cls
            selector: Self = make(
                same_menu(menu, state["menu"]),
                promise.rate,
                state["horizon"],
                max_surplus=promise.max_surplus if promise.step is None else None,
                cap=promise.cap,
                step=promise.step,
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
            selector._restore(state)
        return selector

    def _restore(self, state: dict[str, Any]) -> None:
        names = [one["name"] for one in state["accounts"]]
        groups = names[1:]
        if names[0] is not None or len({*groups}) != len(groups):
            raise StateError(f"each group must have a name of its own, got {quoted(groups)}")
        for row, name in enumerate(groups, 1):
            if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
                raise StateError(f"a group must have a name of 1 to {LONGEST_NAME} characters, got {quoted(name)}")
            self._groups[name] = row
        self._first_unplayed = positive_int("first_unplayed", state["first_unplayed"], 0)
        super()._restore(state)
        self._set_up()


class _Options:
    """The options by arm, for a menu that copies some of them before it hands them out."""

    def __init__(self, menu: Menu) -> None:
        self._menu = menu

    def __getitem__(self, arm: int) -> Any:
        return self._menu.option(arm)


def _prices(prices: Any, promise: Promise) -> str:
    may_curve = promise.step is None and promise.start == promise.cap  # from the safe end, with no step of one's own
    if prices == "auto":
        return "curve" if may_curve else "straight"
    if prices not in ("curve", "straight"):
        raise InvalidArgument(f'prices must be "auto", "curve" or "straight", got {quoted(prices)}')
    if prices == "curve" and not may_curve:
        raise InvalidArgument('prices must be "straight" where a step is given or the start is not "safe"')
    return str(prices)


def _one_at_a_time() -> bool:
    """Whether a call of compiled code keeps all other threads out: in every Python with a global lock."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())
