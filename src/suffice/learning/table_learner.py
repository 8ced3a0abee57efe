"""Our own bounds and choosers on a table of arms, which holds plain objects or arrays for compiled code."""

import math
from collections.abc import Sequence
from typing import Final, cast

import numpy as np

from suffice.errors import StateError, quoted
from suffice.kernels.compiler import at_hand, available
from suffice.kernels.rows import Mask
from suffice.learning.arm_blocks import (
    MOST_COUNTED,
    cells_for_chooser,
    cells_state,
    new_table,
    past_state,
    restore_cells,
    restore_past,
    rows_of,
)
from suffice.learning.arm_table import (
    FIT_FIRST,
    SMALL,
    cheapest,
    expected_debt,
    guard_charge,
    learn_arm,
    propose,
    rebuild,
)
from suffice.learning.base import Columns, Learner, Proposal
from suffice.learning.bound_formulas import ORDERED
from suffice.learning.bounds import LineBounds
from suffice.learning.choosers import Chooser, Thompson
from suffice.learning.guard import follows
from suffice.learning.memory import FULL as WHOLE_PAST
from suffice.learning.memory import Memory
from suffice.learning.prices import move_price
from suffice.learning.records import FULL, NO_CELLS, OWN, Lesson, Pricing, TableHead
from suffice.learning.rng import seed_state
from suffice.learning.tables import CompiledTable, PlainTable, as_arrays
from suffice.learning.thompson import fit, sample_own, thompson
from suffice.menu.menu import Menu
from suffice.numbers import positive_int
from suffice.promise.record import Account
from suffice.state_files import State

SLOW: Final = 16  # where there is a compiler, more cells than these are sampled by compiled code


class TableLearner(Learner):
    """Our own bounds and choosers.

    Tables of large menus are compiled if there is a compiler. Small ones are plain objects, so that the first ask does not
    wait for the compiler; they use compiled code if it is there already.
    """

    def __init__(
        self, menu: Menu, bounds: LineBounds, chooser: Chooser | Thompson, horizon: int | None, ceiling: float, *,
        memory: Memory = WHOLE_PAST, seed: int = 0, kappa: float = math.inf,
    ) -> None:  # fmt: skip
        self.menu, self.bounds, self.chooser, self.memory = menu, bounds, chooser, memory
        sampled = cells_for_chooser(menu, chooser)
        made = new_table(menu, bounds.code, horizon or 0, ceiling, sampled, memory, seed, kappa)
        slow = sampled is not None and sampled.form != OWN and sampled.count > SLOW
        use = at_hand() or ((menu.n_arms > SMALL or slow) and available())
        self.table: PlainTable | CompiledTable = CompiledTable(made) if use else PlainTable.of(made)
        if made.head.leaves:
            self.table.call(rebuild, ceiling)

    @property
    def compiled(self) -> CompiledTable | None:
        """The table, where it is compiled."""
        return self.table if isinstance(self.table, CompiledTable) else None

    def compile(self) -> None:
        """Move to arrays for compiled code."""
        if self.compiled is None and available():
            self.table = CompiledTable(as_arrays(self.table.plain()))

    def decompile(self) -> None:
        """Move back to plain objects: this learner was made where there was a compiler, and here is none."""
        self.table = self.table.plain()

    @property
    def head(self) -> TableHead:
        return self.table.head

    def reseed(self, seed: int) -> None:
        if self.head.form != NO_CELLS:  # else nothing is sampled
            seed_state(self.table.room, self.head.rng_at, seed)

    # --- proposing

    def propose(self, price: float, allowed: Mask | None, seen: object = None) -> Proposal:
        if allowed is not None:
            return Proposal(self._propose_among(price, allowed))
        arm = self.table.call(propose, price)
        if arm == FIT_FIRST:
            self.table.call(fit)
            arm = self.table.call(propose, price)
        return Proposal(arm)

    def _propose_among(self, price: float, allowed: Mask) -> int:
        head = self.head
        if head.form == NO_CELLS or not follows(head):
            return self.optimistic(price, allowed)
        if head.form != OWN and head.seen >= head.fit_at:
            self.table.call(fit)
        return self.table.call(sample_own if head.form == OWN else thompson, price, cast("Sequence[bool]", allowed))

    def optimistic(self, price: float, allowed: Mask | None) -> int:
        if allowed is None:
            return self.table.call(cheapest, price)
        lower, upper = self.table.column("lower"), self.table.column("upper")
        return int(np.where(allowed, lower - price * upper, np.inf).argmin())

    # --- learning

    def learn(
        self, main: Pricing, pricing: Pricing, account: Account, lesson: Lesson, *, grouped: bool, note: object = None,
        lost: bool = False,
    ) -> None:  # fmt: skip
        steps = self.head.steps + int(lesson.fresh and lesson.counted)
        self.follow(lesson, move_price(main, pricing, account, steps, lesson, grouped))

    def follow(self, lesson: Lesson, price: float) -> None:
        """Like `learn`, for a caller that has updated the prices."""
        self.head.steps += int(lesson.fresh and lesson.counted)
        due = self.table.call(learn_arm, lesson, price)
        if due:
            self.table.catch_up(due, lesson.arm, price)

    def charge(self, lesson: Lesson) -> float:
        """What a play that another chooser proposed adds to the gap of the guard."""
        return self.table.call(guard_charge, lesson.arm, lesson.success, lesson.cost, lesson.paid)

    def expected_debt(self, arm: int, target: int) -> int:
        return self.table.call(expected_debt, arm, target)

    def set_steps(self, steps: int) -> None:
        self.head.steps = steps

    def columns(self) -> Columns:
        return Columns(*(self.table.column(name) for name in Columns._fields))

    # --- saving

    def rows(self) -> list[list[float]]:
        """The tally of every arm that was played, in JSON's terms."""
        return rows_of(*self.columns()[:4])

    def state(self) -> State:
        table = self.table.plain()
        head = table.head
        state: State = {"tally": self.rows(), "steps": head.steps, "gap": head.gap}
        if head.kind >= ORDERED:
            state["upper"] = [row.upper for row in table.arms]  # earlier bounds that still hold
            state["refresh_after"] = head.refresh_after
        if head.form != NO_CELLS:
            state["cells"] = cells_state(table)
        if head.memory != FULL:
            state["past"] = past_state(table)
        return state

    def restore(self, state: State, price: float) -> None:
        table = self.table.plain()
        head = table.head
        for arm, *numbers in state["tally"]:
            if not 0 <= positive_int("arm", arm, 0) < self.menu.n_arms:
                raise StateError(f"an arm must be a number from 0 to {self.menu.n_arms - 1}, got {quoted(arm)}")
            row = table.arms[arm]
            row.plays, row.successes, row.priced, row.costs = (float(number) for number in numbers)
            if not self.menu.is_boundary(arm) and row.plays:
                head.unplayed -= 1
        head.steps = positive_int("steps", state["steps"], 0)
        if head.steps > MOST_COUNTED:
            raise StateError(f"steps must be at most {MOST_COUNTED}, got {head.steps}")
        check_tally(Columns(*(table.column(name) for name in Columns._fields)), self.memory, self.menu.safe_cost)
        head.gap = finite("gap", state["gap"])
        self._take(table)
        self.table.refresh(price)
        table = self.table.plain()
        head = table.head
        if head.kind >= ORDERED:
            self._restore_bounds(table, state)
        if head.form != NO_CELLS:
            restore_cells(table, state["cells"])
        if head.memory != FULL:
            restore_past(table, state["past"])
        self._take(table)
        if head.kind >= ORDERED and head.leaves:
            self.table.call(rebuild, price)

    def _restore_bounds(self, table: PlainTable, state: State) -> None:
        upper = np.array(state["upper"], dtype=np.float64)
        if upper.shape != (self.menu.n_arms,) or not ((upper >= 0.0) & (upper <= 1.0)).all():
            raise StateError("upper must hold a number from 0 to 1 for each arm")
        for arm in range(self.menu.n_arms)[self.menu.interior]:
            table.arms[arm].upper = float(upper[arm])
        table.head.refresh_after = min(positive_int("refresh_after", state["refresh_after"], 0), table.head.epoch_end)

    def _take(self, table: PlainTable) -> None:
        """Replace the table by a plain one."""
        if isinstance(self.table, CompiledTable):
            self.table.take(as_arrays(table))
        else:
            self.table = table


def check_tally(columns: Columns, memory: Memory, safe_cost: float) -> None:
    """Refuse sums that are impossible for the number of plays."""
    plays, successes, priced, costs, _, _ = columns
    possible = (successes >= 0) & (successes <= plays) & (costs >= 0) & (priced >= 0) & (plays <= MOST_COUNTED)
    if memory.name != "discount":  # which alone counts parts of outcomes
        possible &= (plays == np.floor(plays)) & (priced == np.floor(priced))
    if not (possible & (costs <= plays * safe_cost * (1 + 1e-9))).all():
        raise StateError("the tally holds sums that its plays cannot reach")


def finite(name: str, value: float) -> float:
    """A saved number that must be finite."""
    number = float(value)
    if not math.isfinite(number):
        raise StateError(f"{name} must be a finite number, got {quoted(value)}")
    return number
