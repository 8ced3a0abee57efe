"""The selector: choose among the options of a menu so that the target is held at little cost.

A decision: the account allows the safe option, the skip, or any option at a price; then the learner proposes an arm at that
price. An outcome: first the account counts it, then the learner learns from it.
"""

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from suffice.errors import InvalidArgument, quoted
from suffice.kernels.compiler import available
from suffice.kernels.rows import Mask
from suffice.learning.arm_table import FIT_FIRST
from suffice.learning.settings import Learning, as_learning, resolve_prices
from suffice.menu.menu import Menu
from suffice.numbers import ONE_SUCCESS, flag, positive_int, success_units
from suffice.promise.rules import IN_FLIGHT, MAX_DEBT, Promise, Rule
from suffice.selector.checks import allowed_arms, check_group, seconds
from suffice.selector.choosing import check_first, one_by_one
from suffice.selector.controller import Controller
from suffice.selector.engines import Engine, engine_for, has_model, learner_for, move_state, with_model
from suffice.selector.events import LOOK_EVERY, Event
from suffice.selector.groups import GroupView
from suffice.selector.plain import PlainEngine
from suffice.selector.records import Decision, OptionReport
from suffice.selector.reports import OptionsOf, certificate_of, option_reports
from suffice.selector.saved_parts import learning_of, learning_state, menu_recipe, selector_arguments
from suffice.selector.state import group_rows
from suffice.selector.totals import Totals
from suffice.selector.world import Block, World
from suffice.state_files import read_state, reading

if TYPE_CHECKING:
    from suffice.context.learner import ContextReport
    from suffice.promise.certificate import Certificate

new = tuple.__new__  # faster than Decision(...), which is a Python function
NAN = math.nan


class Selector(Totals, Controller):
    """Holds a success rate over the options of a menu, on every path, at little cost.

    Args:
        menu: what may be chosen.
        target: the success rate to hold, strictly between 0 and 1; a float counts as the decimal it is written as.
        max_debt: the most successes that may be owed among the outcomes that were reported. 0: never behind at all.
        in_flight: how many decisions may be outstanding, beyond what the surplus covers, before the safe option is played.
            0: `max_debt` holds whatever is outstanding.
        max_surplus: the most successes that may be banked. Default: the root of the outcomes, at most 40, and more where
            more than `in_flight` decisions are outstanding.
        rule: the paper's quantities in place of these three, for research.
        model: predicts from the context of a decision which options will succeed: "auto", a model of your own, a
            scikit-learn or River classifier, or a function (docs/context.md). It is followed once outcomes show that it is
            worth it, and behind the guard. None: contexts are refused.
        learning: how options are estimated and chosen, a `Learning`; its defaults suit every menu.
        seed: of the chooser's own randomness.
        expire_after: seconds after which a decision without an outcome counts as a failure.
        on_event: a function that gets each `Event`: what a person should know, in a sentence. They are logged as well.
        clock: a function that returns the time in seconds.

    >>> menu = Menu({"small": 0.02, "large": 0.20, "a person": 1.00}, safe="a person")
    >>> selector = Selector(menu, target=0.9)
    >>> decision = selector.ask()
    >>> decision
    Decision(id=0, arm=0, option='small')
    >>> selector.tell(decision, success=True)
    >>> print(selector.certificate())
    Kept: 100% of 1 outcome succeeded (target 90%).
    Never behind by more than 5; now 0.1 ahead.
    """

    def __init__(
        self,
        menu: Menu,
        target: float | Fraction,
        *,
        max_debt: float | Fraction = MAX_DEBT,
        in_flight: int = IN_FLIGHT,
        max_surplus: float | None = None,
        rule: Rule | None = None,
        expire_after: float | None = None,
        on_event: Callable[[Event], object] | None = None,
        model: object = None,
        learning: Learning | None = None,
        seed: int = 0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not isinstance(menu, Menu):
            raise InvalidArgument(f"menu must be a Menu, got {quoted(menu)}")
        promise = Promise.make(
            target, max_debt=max_debt, in_flight=in_flight, max_surplus=max_surplus, rule=rule, safe_cost=menu.safe_cost,
            safe_success=menu.safe_success, forgiving=not menu.has_skip,
        )  # fmt: skip
        super().__init__(promise, menu, expire_after=expire_after, on_event=on_event, clock=clock)
        self._menu = menu
        self._horizon = None if rule is None or rule.horizon is None else positive_int("horizon", rule.horizon)
        self._seed = positive_int("seed", seed, 0) & 0xFFFFFFFF
        settings = as_learning(learning)
        self._guard = math.inf if settings.guard is None else float(settings.guard)
        self._learner = learner_for(menu, settings, self._horizon, promise.cap, self._seed, model)
        self._prices = resolve_prices(settings.prices, promise)
        self._begin()
        self._set_up()

    _derived: ClassVar[frozenset[str]] = Controller._derived | {"_options", "_roles", "_ask_fast", "_tell_fast"}

    def _set_up(self) -> None:
        """Derive what the fast path reads."""
        super()._set_up()
        if self._identity.copied and not isinstance(self._engine, PlainEngine) and not available():  # made elsewhere
            self._learner.decompile()
            self._switch_engine(engine_for(self._learner, self.lock, self.failures.learning_failed))
        engine = self._engine
        self._options = self._menu.immutable() or OptionsOf(self._menu)
        self._roles = self._menu.roles()
        self._ask_fast, self._tell_fast, self._address = engine.ask_fast, engine.tell_fast, engine.address

    def begin_first_round(self) -> None:
        """Have each interior option played once before the promise begins."""
        self._first_round.begin(self._engine.next_id)
        self.close_fast_path()

    def _switch_engine(self, engine: Engine) -> None:
        """Continue on another engine, with the state of the one in use."""
        move_state(self._engine, engine)
        engine.attach(self.lock, self.failures.learning_failed)
        self._engine = engine
        self.open_fast_path()

    def compile(self) -> bool:
        """Switch to compiled code, which a long run repays. Whether there is any for this selector."""
        with self.lock, self._changing:
            if isinstance(self._engine, PlainEngine):
                self._learner.compile()
                engine = engine_for(self._learner, self.lock, self.failures.learning_failed)
                if not isinstance(engine, PlainEngine):
                    self._switch_engine(engine)
            if self._address != self._engine.address:  # also after an interrupt in the middle of an earlier call
                self._set_up()
        return not isinstance(self._engine, PlainEngine)

    # --- parts

    @property
    def menu(self) -> Menu:
        """What may be chosen."""
        return self._menu

    @property
    def learning(self) -> Learning:
        """The settings in use: what each "auto" became. Parts of your own are the objects that you passed."""
        return learning_of(self._learner, self._guard, self._prices)

    def context_report(self) -> "ContextReport":
        """How the model does: whether it is followed, what it saved, which fields were missing. Print it."""
        learner = self._learner
        if not has_model(learner):
            raise InvalidArgument(f'a context report needs a model: {type(self).__name__}(..., model="auto")')
        with self.lock, self._reading:
            return learner.context_report()

    @property
    def contextual(self) -> bool:
        """Whether decisions may have a context."""
        return has_model(self._learner)

    @property
    def model(self) -> str | None:
        """The name of the model that reads contexts; None if there is none."""
        return str(self._learner.model.name) if has_model(self._learner) else None

    def options(self, most: int | None = None) -> list[OptionReport]:
        """A row per arm: how often it was played, how it did, and its confidence bounds.

        `most`: only so many rows, those of the arms that were played most.

        With a model, plays count those of the model and of the chooser. The bounds are those of an option that is played
        whatever the context, learned from the plays of the chooser: an option may do better where the model plays it.
        """
        with self.lock, self._reading:
            return option_reports(self._menu, self._learner.columns(), most)

    def reseed(self, seed: int) -> None:
        """Restart the chooser's own randomness from a seed."""
        self._seed = positive_int("seed", seed, 0) & 0xFFFFFFFF
        with self.lock, self._changing:
            self._learner.reseed(self._seed)

    # --- groups

    @property
    def groups(self) -> Mapping[str, GroupView]:
        """The groups by name, in the order of their first decision, each with its debt, rate, cost and certificate."""
        return MappingProxyType({name: GroupView(self, name, row) for name, row in list(self._groups.items())})

    def _row_of(self, group: str, contexts: Iterable[object], allowed: Mask | None, insist: bool) -> int:
        """The row of a group's account; a new one at the group's first decision, unless that is refused."""
        row = self._groups.get(group) if isinstance(group, str) else None
        if row is not None:
            return row
        check_group(group)
        if not self._first_round.over:
            raise InvalidArgument("group must be left out where the paper's first round is played")
        with self.lock, self._changing:
            if group not in self._groups:
                for context in contexts:
                    if context is not None:
                        with_model(self._learner).check(context)
                check_first(self._learner, self.playing_safe, self.new_account(), allowed, insist)
                row = len(self._groups) + 1
                if row == self._engine.rows():  # else an interrupt left a row behind that is empty
                    self._engine.add_row(self.new_account(), self.new_pricing(group))
                self._groups[group] = row
            return self._groups[group]

    # --- ask

    def ask(
        self,
        *,
        available: Iterable[object] | None = None,
        audit: bool = True,
        context: object = None,
        group: str | None = None,
        insist: bool = False,
    ) -> Decision:
        """What to do now.

        Args:
            available: the options that can be played this once, the safe one included; a skip always can. Where the promise
                needs the safe option and it is not available, `SafeUnavailable` is raised.
            audit: False for a decision whose outcome will not be told: it is never pending and never counted. Draw at
                random, before asking, which decisions are audited.
            context: what is known beforehand: a mapping, or a row of NumPy, pandas or polars. It needs a `model`.
            group: the group that the decision belongs to. Each has a debt and a promise of its own.
            insist: where the promise needs the safe option and it is not available, play the best that is. Every such
                decision is added to the bounds.
        """
        now = 0.0 if self._expire_after is None else seconds(self._clock)
        allowed = None if available is None else self.allowed(available)
        if audit is not True:
            flag("audit", audit)
        row = 0 if group is None else self._row_of(group, (context,), allowed, insist)
        if allowed is None and audit:
            if context is None:
                identity, arm, price = self._ask_fast(self._address, row, now)
                if identity == FIT_FIRST:
                    self._engine.fit()
                    identity, arm, price = self._ask_fast(self._address, row, now)
            else:
                identity, arm, price = self._engine.ask_in_context(row, now, context)
            if identity >= 0:
                if arm <= 0 and self._roles[0] < 0:
                    with self.lock:  # another thread may be reading the entries, or remembering one
                        self._engine.note_skip(identity, row, now, price, -arm)
                    arm = 0
                if identity % LOOK_EVERY == 0:
                    self._look_after(identity)
                return new(Decision, (identity, arm, self._options[arm], self._roles[arm], price, self._identity.key))
        if not self.contextual and context is None:
            return self._ask_slow(row, allowed, audit, now, insist)
        return self._ask_in_contexts(row, [context], allowed, audit, now, insist)[0]

    def ask_many(
        self, count: int, *, available: Iterable[object] | None = None, audit: bool = True,
        contexts: Iterable[object] | None = None, group: str | None = None, insist: bool = False,
    ) -> list[Decision]:  # fmt: skip
        """`count` decisions, asked one after the other, with a context for each. Other threads may tell in between.

        Where `SafeUnavailable` is raised, its attribute `decisions` holds those that were made before.
        """
        many = positive_int("count", count, 0)
        allowed, now = self.allowed(available), self._now()
        several: list[object] = [None] * many
        flag("audit", audit)
        if contexts is not None:
            from suffice.context.schema import list_contexts

            several = list_contexts(contexts, many)
        row = 0 if group is None else self._row_of(group, several, allowed, insist)
        if self.contextual or contexts is not None:
            return self._ask_in_contexts(row, several, allowed, audit, now, insist)
        if allowed is None and audit:
            return [self.ask(group=group) for _ in range(many)]
        return one_by_one(several, lambda _: self._ask_slow(row, allowed, audit, now, insist))

    def _ask_in_contexts(
        self, row: int, contexts: list[object], allowed: Mask | None, audit: bool, now: float, insist: bool
    ) -> list[Decision]:
        learner = with_model(self._learner)
        with self.lock, self._changing:
            self._expire_overdue(now)
            for context in contexts if len(contexts) > 1 else ():
                learner.check(context)  # all, or none if one is bad
            decisions = one_by_one(
                contexts, lambda context: self._decide(row, allowed, audit, now, insist, learner.read(context))
            )
        for decision in decisions:
            self._look_after(decision.id)
        return decisions

    def allowed(self, available: object) -> Mask | None:
        """A mask of the arms that may be played if these options are available; None: all."""
        return allowed_arms(self._menu, available)

    def _option(self, arm: int, price: float) -> object:
        return self._menu.option(arm)

    def tell(self, decision: Decision | int, success: float, cost: float | None = None) -> None:
        """Count the outcome of a decision: a bool, or any number from 0 to 1. The cost only where the menu does not know it.

        An outcome for a decision that has expired amends it. Telling twice changes nothing and raises `AlreadyTold`.
        """
        if type(decision) is Decision and decision.selector == self._identity.key and type(decision.id) is int:
            # The fast path, for our own decision; a cost that must be checked takes the slow path.
            units = ONE_SUCCESS if success is True else 0 if success is False else success_units(success)
            if cost is None or (type(cost) is float and cost == cost):
                try:
                    done = self._tell_fast(self._address, decision.id, units, NAN if cost is None else cost)
                except (OverflowError, TypeError, ValueError):
                    done = 0  # an id that no decision has: the slow path raises
                if done:
                    if done > 1:
                        self._engine.catch_up(done)
                    if self.failures.warning:
                        self.failures.warn()
                    return
        super().tell(decision, success, cost)

    def certificate(self, group: str | None = None) -> "Certificate":
        """The promise, whether it holds, and if not, why and what to do: of one group, or of the whole."""
        if group is not None and (not isinstance(group, str) or group not in self._groups):
            raise InvalidArgument(f"group must be one that has been asked for, got {quoted(group)}")
        with self.lock, self._reading:
            self._expire_unless_nested()
            return certificate_of(self._promise, self._engine, dict(self._groups), group)

    # --- whole runs

    def can_run(self, stream: object) -> bool:
        """Whether `run` can play a stream. Not for a subclass, which may have changed how it asks or tells."""
        return type(self) is Selector and self.compile() and not self.contextual

    def run(self, world: World, latents: NDArray[np.float64], block: Block) -> None:
        """Play whole steps in a world that is known beforehand."""
        from suffice.selector.runs import play_world

        with self.lock, self._changing:
            play_world(self._engine, self._first_round, world, latents, block)

    # --- saving

    def _own_state(self) -> dict[str, object]:
        return {
            "menu": menu_recipe(self._menu),
            "horizon": self._horizon,
            "learning": learning_state(self.learning),
            "seed": self._seed,
            "model": self._learner.recipe() if has_model(self._learner) else None,
            "first_unplayed": self._first_round.next,
        }

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, menu: Menu | None = None, learning: Learning | None = None,
        model: object = None, on_event: Callable[[Event], object] | None = None, clock: Callable[[], float] = time.time,
    ) -> Self:  # fmt: skip
        """The selector that was saved, pending decisions included.

        Objects of your own must be passed again: a menu or a model, bounds or a chooser in `learning`, and `on_event`.
        """
        return cls.from_state(
            read_state(path), menu=menu, learning=learning, model=model, on_event=on_event, clock=clock
        )

    @classmethod
    def from_state(
        cls, state: dict[str, Any], *, menu: Menu | None = None, learning: Learning | None = None,
        model: object = None, on_event: Callable[[Event], object] | None = None, clock: Callable[[], float] = time.time,
    ) -> Self:  # fmt: skip
        """The selector that `state()` wrote down."""
        with reading(state, cls.__name__):
            selector = cls(**selector_arguments(state, menu, learning, model), on_event=on_event, clock=clock)
            selector.restore(state)
        return selector

    def restore(self, state: dict[str, Any]) -> None:
        self._groups.update(group_rows([account["name"] for account in state["accounts"]]))
        self._first_round.next = positive_int("first_unplayed", state["first_unplayed"], 0)
        super().restore(state)
        self._set_up()
