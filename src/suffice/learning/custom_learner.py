"""Learning with bounds or a chooser of a user's own: the guard stands between them and the cost.

Anything may propose an arm. As long as it has not cost much more than the optimist might, it is followed; then the optimist
plays until the allowance has grown (theorem C, docs/choosers.md). What a chooser that may see more than we do has played is
no fair sample, so the bounds learn only from what it did not propose; a chooser that is `blind`, that is, looks at what it
was told and nothing else, is trusted with that.
"""

import math
from typing import Any, Final

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.kernels.rows import Floats, Mask
from suffice.learning.arm_blocks import rows_of
from suffice.learning.base import Columns, Learner, Proposal
from suffice.learning.bounds import NAMED, Bounds, Paper, Tally
from suffice.learning.choosers import Chooser, Optimist, Thompson
from suffice.learning.defaults import resolve
from suffice.learning.guard import at_limit, follows
from suffice.learning.memory import Memory, written
from suffice.learning.prices import move_price
from suffice.learning.records import Lesson, Pricing, TableHead
from suffice.learning.table_learner import TableLearner, check_tally, finite
from suffice.menu.menu import Menu
from suffice.numbers import positive_int

KAPPA: Final = 1.0  # of the guard, by measurement (docs/choosers.md)


class BoundsView:
    """Our own bounds as a chooser sees them and cannot change them: an upper success and a lower cost per arm."""

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
    """Bounds or a chooser of a user's own."""

    def __init__(
        self, menu: Menu, bounds: Bounds, chooser: Chooser, horizon: int | None, ceiling: float, memory: Memory, kappa: float
    ) -> None:  # fmt: skip
        self.menu, self.bounds, self.chooser, self.memory = menu, bounds, chooser, memory
        self.tally = Tally(menu.n_arms)  # of all plays
        self.evidence = Tally(menu.n_arms)  # of those that bounds of the user's own may learn from
        self._inner: TableLearner | None = None
        self._view: Any = bounds
        if type(bounds) in NAMED.values():
            self._inner = TableLearner(menu, bounds, Optimist(), horizon, ceiling, memory=memory)  # type: ignore[arg-type]
            self._view = BoundsView(self._inner)
        elif memory.way:
            raise InvalidArgument(f'memory must be "full" with bounds of your own, got {written(memory)!r}')
        else:
            bounds.open(menu, horizon)
        self._head = TableHead(
            arms=menu.n_arms, has_skip=int(menu.has_skip), safe_cost=menu.safe_cost, ceiling=ceiling, kappa=kappa
        )
        self._blind = bool(getattr(chooser, "blind", False)) or type(chooser) is Optimist

    @property
    def head(self) -> TableHead:
        return self._head

    def propose(self, price: float, allowed: Mask | None, seen: Any = None) -> Proposal:
        if type(self.chooser) is Optimist or not follows(self._head):
            return Proposal(self.optimistic(price, allowed))
        proposed = self.chooser.choose(price, self._view, allowed)
        arm = positive_int("arm", proposed, 0)
        if arm >= self.menu.n_arms or not (allowed is None or allowed[arm]):
            raise InvalidArgument(f"a chooser must propose an arm that may be played, got {quoted(proposed)}")
        return Proposal(arm, fair=self._blind)

    @property
    def fair_if_failed(self) -> bool:
        """Whether a play in the place of a proposal that failed is fair: when it fails may hang on what a chooser sees."""
        return self._blind or type(self.chooser) is Optimist or not follows(self._head)

    def optimistic(self, price: float, allowed: Mask | None) -> int:
        if self._inner is not None:
            return self._inner.optimistic(price, allowed)
        return Optimist().choose(price, self._view, allowed)

    def learn(
        self, main: Pricing, pricing: Pricing, lesson: Lesson, *, grouped: bool, note: Any = None, lost: bool = False
    ) -> None:
        head, fresh = self._head, lesson.fresh
        cost = None if math.isnan(lesson.cost) else lesson.cost
        if fresh and lesson.counted:
            head.steps += 1
        paid, price = move_price(main, pricing, head.steps, lesson, grouped)
        if fresh and type(self.chooser) is not Optimist:
            head.gap += self._charge(lesson, paid)
        self.tally.add(lesson.arm, lesson.success, cost, plays=int(fresh))
        if self._inner is not None:
            self._inner.follow(lesson, paid, price)
        elif lesson.fair:
            self.evidence.add(lesson.arm, lesson.success, cost, plays=int(fresh))
            self.bounds.update(self.evidence, lesson.arm, head.steps)
        elif (head.steps & (head.steps + 1)) == 0:
            # The bounds must know the time: those of an epoch long past would be too narrow for this one.
            self.bounds.refresh(self.evidence, head.steps)
        heard = getattr(self.chooser, "learn", None)
        if heard is not None:
            heard(lesson.arm, lesson.success, cost)

    def _charge(self, lesson: Lesson, paid: float) -> float:
        """What a play adds to the guard's gap; see `arm_table.guard_charge`."""
        if self._inner is not None:
            return self._inner.charge(lesson, paid)
        least = float(np.min(self._view.lower - paid * self._view.upper))
        if at_limit(self._head, lesson.arm, paid) or not math.isfinite(least):
            return 0.0
        known = self.menu.known_cost(lesson.arm) if math.isnan(lesson.cost) else lesson.cost
        return (self.menu.safe_cost if known is None else known) - paid * lesson.success - least

    def set_steps(self, steps: int) -> None:
        self._head.steps = steps
        if self._inner is not None:
            self._inner.set_steps(steps)

    def columns(self) -> Columns:
        tally = self.tally
        plays, priced = tally.plays.astype(np.float64), tally.priced.astype(np.float64)
        return Columns(plays, tally.successes, priced, tally.costs, self._view.upper, self._view.lower)

    def state(self) -> dict[str, Any]:
        state = {"tally": rows_of(*self.columns()[:4]), "steps": self._head.steps, "gap": self._head.gap}
        if self._inner is not None:
            return {**state, "bounds": self._inner.state()}
        fair = self.evidence
        return {**state, "evidence": rows_of(fair.plays, fair.successes, fair.priced, fair.costs)}

    def restore(self, state: dict[str, Any], price: float) -> None:
        fill_tally(self.tally, state["tally"])
        check_tally(self.columns(), self.memory, self.menu.safe_cost)
        self._head.steps, self._head.gap = positive_int("steps", state["steps"], 0), finite("gap", state["gap"])
        if self._inner is not None:
            self._inner.restore(state["bounds"], price)
        else:
            fill_tally(self.evidence, state["evidence"])
            self.bounds.refresh(self.evidence, self._head.steps)


def fill_tally(tally: Tally, rows: list[list[Any]]) -> None:
    """Take over a tally that was saved."""
    for row, plays, successes, priced, costs in rows:
        arm = positive_int("arm", row, 0)
        tally.plays[arm], tally.successes[arm] = positive_int("plays", plays, 0), successes
        tally.priced[arm], tally.costs[arm] = positive_int("priced", priced, 0), costs


def make_learner(
    menu: Menu, bounds: Any, chooser: Any, memory: Any, horizon: int | None, ceiling: float, *, seed: int = 0,
    kappa: float = KAPPA,
) -> TableLearner | CustomLearner:  # fmt: skip
    """The learner for these bounds and this chooser, given by name or as objects."""
    found, proposer, past = resolve(menu, bounds, chooser, memory)
    if past.way and type(found) is Paper:
        raise InvalidArgument(f'memory must be "full" with the bounds "paper", got {written(past)!r}')
    if type(proposer) in (Optimist, Thompson) and type(found) in NAMED.values():
        return TableLearner(menu, found, proposer, horizon, ceiling, memory=past, seed=seed, kappa=kappa)  # type: ignore[arg-type]
    if type(proposer) is Thompson:
        raise InvalidArgument('bounds must be ours, such as "auto", for the chooser "thompson"')
    return CustomLearner(menu, found, proposer, horizon, ceiling, past, kappa)
