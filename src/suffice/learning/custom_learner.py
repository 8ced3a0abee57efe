"""Learning with bounds or a chooser of a user's own, behind the guard.

Anything may propose an arm. The selector follows a chooser as long as it has not cost much more than the optimist might;
then the optimist plays until the allowance has grown (theorem C, docs/choosers.md). The plays of a chooser that may use
more information than we have are no fair sample, so the bounds do not learn from them. A chooser that declares itself
`context_free`, a function of past outcomes alone, is trusted with that.
"""

import math

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.kernels.rows import Floats, Mask
from suffice.learning.arm_blocks import rows_of
from suffice.learning.base import Columns, Learner, Proposal
from suffice.learning.bounds import ArmBounds, Bounds, Paper, Tally, is_builtin
from suffice.learning.choosers import Chooser, Optimist, Thompson
from suffice.learning.defaults import resolve
from suffice.learning.guard import KAPPA, at_limit, follows
from suffice.learning.memory import Memory
from suffice.learning.prices import move_price
from suffice.learning.records import Lesson, Pricing, TableHead
from suffice.learning.table_learner import TableLearner, check_tally, finite
from suffice.menu.menu import Menu
from suffice.numbers import positive_int
from suffice.promise.record import Account
from suffice.state_files import State


class BoundsView:
    """Our own bounds as a chooser gets them, read-only: an upper success and a lower cost per arm."""

    def __init__(self, learner: TableLearner) -> None:
        self._learner = learner
        self.name = learner.bounds.name

    @property
    def upper(self) -> Floats:
        return _locked(self._learner.table.column("upper"))

    @property
    def lower(self) -> Floats:
        return _locked(self._learner.table.column("lower"))


def _locked(column: Floats) -> Floats:
    view = column.view()
    view.flags.writeable = False
    return view


class CustomLearner(Learner):
    """Bounds or a chooser of a user's own. Of our own bounds, `inner` is the learner."""

    def __init__(
        self, menu: Menu, bounds: Bounds, chooser: Chooser, horizon: int | None, ceiling: float, memory: Memory, kappa: float
    ) -> None:  # fmt: skip
        self.menu, self.bounds, self.chooser, self.memory = menu, bounds, chooser, memory
        self.tally = Tally(menu.n_arms)  # of all plays
        self.evidence = Tally(menu.n_arms)  # of the plays that a user's bounds may learn from
        self.inner: TableLearner | None = None
        self.view: ArmBounds = bounds  # what the chooser gets
        if is_builtin(bounds):
            self.inner = TableLearner(menu, bounds, Optimist(), horizon, ceiling, memory=memory)
            self.view = BoundsView(self.inner)
        elif memory.code:
            raise InvalidArgument(f'memory must be "full" with bounds of your own, got {str(memory)!r}')
        else:
            bounds.start(menu, horizon)
        self._head = TableHead(
            arms=menu.n_arms, has_skip=int(menu.has_skip), safe_cost=menu.safe_cost, ceiling=ceiling, kappa=kappa
        )
        self._proposer = None if type(chooser) is Optimist else chooser
        self.context_free = self._proposer is None or bool(getattr(chooser, "context_free", False))

    @property
    def head(self) -> TableHead:
        return self._head

    def propose(self, price: float, allowed: Mask | None, seen: object = None) -> Proposal:
        if self._proposer is None or not follows(self._head):
            return Proposal(self.optimistic(price, allowed))
        proposed = self._proposer.choose(price, self.view, allowed)
        arm = positive_int("arm", proposed, 0)
        if arm >= self.menu.n_arms or not (allowed is None or allowed[arm]):
            raise InvalidArgument(f"a chooser must propose an arm that may be played, got {quoted(proposed)}")
        return Proposal(arm, unbiased=self.context_free)

    @property
    def unbiased_if_failed(self) -> bool:
        """Whether a play in the place of a failed proposal is unbiased: when it fails may depend on what the chooser knows."""
        return self.context_free or not follows(self._head)

    def optimistic(self, price: float, allowed: Mask | None) -> int:
        if self.inner is not None:
            return self.inner.optimistic(price, allowed)
        return Optimist().choose(price, self.view, allowed)

    def learn(
        self, main: Pricing, pricing: Pricing, account: Account, lesson: Lesson, *, grouped: bool, note: object = None,
        lost: bool = False,
    ) -> None:  # fmt: skip
        head, fresh = self._head, lesson.fresh
        cost = None if math.isnan(lesson.cost) else lesson.cost
        if fresh and lesson.counted:
            head.steps += 1
        price = move_price(main, pricing, account, head.steps, lesson, grouped)
        if fresh and self._proposer is not None:
            head.gap += self._charge(lesson)
        self.tally.add(lesson.arm, lesson.success, cost, plays=int(fresh))
        if self.inner is not None:
            self.inner.follow(lesson, price)
        elif lesson.unbiased:
            self.evidence.add(lesson.arm, lesson.success, cost, plays=int(fresh))
            self.bounds.update(self.evidence, lesson.arm, head.steps)
        elif (head.steps & (head.steps + 1)) == 0:
            # Time passes without evidence, too: bounds of a past epoch would be too narrow for this one.
            self.bounds.refresh(self.evidence, head.steps)
        teach = getattr(self.chooser, "learn", None)
        if teach is not None:
            teach(lesson.arm, lesson.success, cost)

    def _charge(self, lesson: Lesson) -> float:
        """What a play adds to the guard's gap; see `arm_table.guard_charge`."""
        if self.inner is not None:
            return self.inner.charge(lesson)
        paid = lesson.paid
        least = float(np.min(self.view.lower - paid * self.view.upper))
        if at_limit(self._head, lesson.arm, paid) or not math.isfinite(least):
            return 0.0
        known = self.menu.known_cost(lesson.arm) if math.isnan(lesson.cost) else lesson.cost
        return (self.menu.safe_cost if known is None else known) - paid * lesson.success - least

    def set_steps(self, steps: int) -> None:
        self._head.steps = steps
        if self.inner is not None:
            self.inner.set_steps(steps)

    def columns(self) -> Columns:
        return Columns(*_columns_of(self.tally), self.view.upper, self.view.lower)

    def state(self) -> State:
        state: State = {"tally": rows_of(*_columns_of(self.tally)), "steps": self._head.steps, "gap": self._head.gap}
        if self.inner is not None:
            return {**state, "bounds": self.inner.state()}
        return {**state, "evidence": rows_of(*_columns_of(self.evidence))}

    def restore(self, state: State, price: float) -> None:
        _fill(self.tally, state["tally"])
        check_tally(self.columns(), self.memory, self.menu.safe_cost)
        self._head.steps, self._head.gap = positive_int("steps", state["steps"], 0), finite("gap", state["gap"])
        if self.inner is not None:
            self.inner.restore(state["bounds"], price)
        else:
            _fill(self.evidence, state["evidence"])
            self.bounds.refresh(self.evidence, self._head.steps)


def _columns_of(tally: Tally) -> tuple[Floats, Floats, Floats, Floats]:
    return tally.plays.astype(np.float64), tally.successes, tally.priced.astype(np.float64), tally.costs


def _fill(tally: Tally, rows: list[list[float]]) -> None:
    """Restore a tally that was saved."""
    for row, plays, successes, priced, costs in rows:
        arm = positive_int("arm", row, 0)
        tally.plays[arm], tally.successes[arm] = positive_int("plays", plays, 0), successes
        tally.priced[arm], tally.costs[arm] = positive_int("priced", priced, 0), costs


def make_learner(
    menu: Menu, bounds: object, chooser: object, memory: object, horizon: int | None, ceiling: float, *, seed: int = 0,
    kappa: float = KAPPA,
) -> TableLearner | CustomLearner:  # fmt: skip
    """The learner for these bounds and this chooser, given by name or as objects."""
    limits, proposer, past = resolve(menu, bounds, chooser, memory)
    if past.code and type(limits) is Paper:
        raise InvalidArgument(f'memory must be "full" with the bounds "paper", got {str(past)!r}')
    if type(proposer) in (Optimist, Thompson) and is_builtin(limits):
        return TableLearner(menu, limits, proposer, horizon, ceiling, memory=past, seed=seed, kappa=kappa)
    if isinstance(proposer, Thompson):
        raise InvalidArgument('bounds must be ours, such as "auto", for the chooser "thompson"')
    return CustomLearner(menu, limits, proposer, horizon, ceiling, past, kappa)
