"""Our own bounds and choosers on a table of arms, as plain objects or as arrays that compiled code works on."""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from suffice.bounds import LineBounds
from suffice.checks import whole
from suffice.errors import StateError, shown
from suffice.kernels.compiler import at_hand, available, native
from suffice.kernels.rows import Rows, address_of, dtype_of, from_rows, put_values, to_rows, values_of
from suffice.learning import table_calls as calls
from suffice.learning.arm_table import (
    FIT_FIRST,
    PAST_DUE,
    REFRESH_DUE,
    SMALL,
    begin_table,
    best_score,
    catch_up,
    cheapest,
    is_interior,
    learn,
    learn_arm,
    propose,
    rebuild,
    refresh,
    start_epoch,
)
from suffice.learning.base import Columns, Learner, Mask, Proposal
from suffice.learning.blocks import (
    MOST_COUNTED,
    NewTable,
    cells_for_chooser,
    cells_state,
    new_table,
    past_state,
    restore_cells,
    restore_past,
    rows_of,
)
from suffice.learning.bound_formulas import CLOSED, CONTAINED
from suffice.learning.guard import follows
from suffice.learning.prices import move_price
from suffice.learning.records import FULL, NO_CELLS, OWN, ArmRow, Lesson, Pricing, Table, TableHead
from suffice.learning.rng import seed_state
from suffice.learning.thompson import expected, fit, sample_own, thompson
from suffice.memory import FULL as WHOLE_PAST
from suffice.memory import Memory
from suffice.menu import Menu

SLOW: Final = 16  # cells that take too long to sample without a compiler, if there is one


class CompiledTable:
    """A table as arrays, and calls of compiled code on it."""

    def __init__(self, made: NewTable) -> None:
        self.head = to_rows(TableHead, [made.head])
        self.arms, self.room = made.arms, np.zeros(len(made.room) + 1)  # never empty: an address is needed
        self.room[:-1] = made.room
        self.place = to_rows(calls.TablePlace, [calls.TablePlace()])
        self.take_place()

    def take_place(self) -> None:
        """Note where the arrays lie: after a copy, somewhere else."""
        numbers = (address_of(self.head), address_of(self.arms), address_of(self.room), len(self.room))
        self.place[0] = numbers
        self.address = address_of(self.place)

    def call(self, function: Callable[..., Any], *given: Any) -> Any:
        """Call compiled code on this table."""
        return native(function, *calls.KINDS[function])(self.address, *given)

    def begin(self) -> None:
        """Begin the first epoch of a table in which nothing was played."""
        record = self.plain_head()
        start_epoch(record, 1)
        self.head[0] = values_of(TableHead)(record)
        if record.leaves:
            self.call(calls.rebuild_at, record.ceiling)

    def plain_head(self) -> TableHead:
        """A copy of the head as a plain object."""
        return TableHead(*self.head[0].item())

    def catch_up(self, due: int, arm: int, price: float) -> None:
        """`arm_table.catch_up`, step by step: each is compiled when it is first needed."""
        head = self.plain_head()
        if due == PAST_DUE and self.call(calls.look_at_past_at):
            if head.form != NO_CELLS:
                self.call(calls.renew_fit_at)
            self.refresh(price, fresh=True)
        elif head.steps + 1 > head.refresh_after:
            self.refresh(price, fresh=head.steps + 1 > head.epoch_end)
        elif (
            is_interior(head, arm)
            and self.arms["plays"][arm] > 0.0
            and self.call(calls.change_line_at, arm, price) == REFRESH_DUE
        ):
            self.call(calls.rebuild_at, price)

    def refresh(self, price: float, *, fresh: bool) -> None:
        """`arm_table.refresh`, step by step."""
        kind = int(self.head["kind"][0])
        self.call(calls.recompute_bounds_at, fresh)
        if kind >= CONTAINED:
            self.call(calls.tighten_at)
        if kind == CLOSED:
            self.call(calls.close_at)
        self.rebuild(price)

    def rebuild(self, price: float) -> None:
        """Build the tree anew, if there is one."""
        if self.head["leaves"][0]:
            self.call(calls.rebuild_at, price)

    def __getstate__(self) -> dict[str, Any]:
        return {"head": self.head, "arms": self.arms, "room": self.room, "place": self.place}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.take_place()


class TableLearner(Learner):
    """Bounds of ours, with a chooser of ours.

    Larger menus are compiled where that is possible. Small ones are plain objects and never need the compiler, so that the
    first ask is instant; once machine code is at hand, they use it too.
    """

    def __init__(
        self, menu: Menu, bounds: LineBounds, chooser: Any, horizon: int | None, ceiling: float, *,
        memory: Memory = WHOLE_PAST, seed: int = 0, kappa: float = math.inf,
    ) -> None:  # fmt: skip
        self.menu, self.bounds, self.chooser, self.memory = menu, bounds, chooser, memory
        sampled = cells_for_chooser(menu, chooser)
        made = new_table(menu, bounds.code, horizon or 0, ceiling, sampled, memory, seed, kappa)
        slow = sampled is not None and sampled.form != OWN and sampled.count > SLOW
        self.compiled: CompiledTable | None = None
        if available() and (menu.arms > SMALL or slow or at_hand()):
            self.compiled = CompiledTable(made)
            self.compiled.begin()
        else:
            self.table = Table(made.head, from_rows(ArmRow, made.arms), made.room.tolist())
            begin_table(self.table)

    def compile(self) -> None:
        """Move to arrays that compiled code works on."""
        if self.compiled is None and available():
            self.compiled = CompiledTable(as_arrays(self.table))

    def decompile(self) -> None:
        """Move back to plain objects: where this was made there was a compiler, and here is none."""
        if self.compiled is not None:
            self.table, self.compiled = self.plain_table(), None

    def plain_table(self) -> Table:
        """The table as plain objects: itself, or a copy of the arrays."""
        if self.compiled is None:
            return self.table
        made = self.compiled
        return Table(made.plain_head(), from_rows(ArmRow, made.arms), made.room[:-1].tolist())

    @property
    def head(self) -> TableHead:
        return self.table.head if self.compiled is None else self.compiled.plain_head()

    @property
    def sampling(self) -> bool:
        """Whether a chooser samples: else the optimist plays."""
        return self.head.form != NO_CELLS

    def reseed(self, seed: int) -> None:
        if self.sampling:
            room = self.table.room if self.compiled is None else self.compiled.room
            seed_state(room, self.head.rng_at, seed)

    # --- proposing

    def propose(self, price: float, allowed: Mask | None) -> Proposal:
        return Proposal(self.arm_at(price) if allowed is None else self._arm_of(price, allowed))

    def arm_at(self, price: float) -> int:
        """The arm to play at this price."""
        if self.compiled is not None:
            arm = int(self.compiled.call(calls.propose_at, price))
            if arm == FIT_FIRST:
                self.fit()
                arm = int(self.compiled.call(calls.propose_at, price))
            return arm
        arm = propose(self.table, price)
        if arm == FIT_FIRST:
            fit(self.table)
            arm = propose(self.table, price)
        return arm

    def fit(self) -> None:
        """Fit the cells anew."""
        if self.compiled is None:
            fit(self.table)
        else:
            self.compiled.call(calls.fit_at)

    def _arm_of(self, price: float, allowed: Mask) -> int:
        head = self.head
        if head.form == NO_CELLS or not follows(head):
            return self.optimistic(price, allowed)
        if head.form != OWN and head.seen >= head.fit_at:
            self.fit()
        if self.compiled is not None:
            return int(self.compiled.call(calls.sample_at, price, allowed))
        return (sample_own if head.form == OWN else thompson)(self.table, price, allowed.tolist())

    def optimistic(self, price: float, allowed: Mask | None) -> int:
        if allowed is None:
            return cheapest(self.table, price) if self.compiled is None else int(self._call(calls.cheapest_at, price))
        columns = self.columns()
        return int(np.where(allowed, columns.lower - price * columns.upper, np.inf).argmin())

    def _call(self, function: Callable[..., Any], *given: Any) -> Any:
        if self.compiled is None:
            raise TypeError("this table is not compiled")
        return self.compiled.call(function, *given)

    def best_score(self, price: float) -> float:
        """The least cost − price·success that the bounds think possible."""
        if self.compiled is None:
            return best_score(self.table, price)
        return float(self.compiled.call(calls.best_score_at, price))

    def expected(self, arm: int) -> float:
        """The mean success of an interior arm, as far as it is known without looking at a context."""
        if self.compiled is None:
            return expected(self.table, arm)
        return float(self.compiled.call(calls.expected_at, arm))

    # --- learning

    def learn(
        self, main: Pricing, pricing: Pricing, lesson: Lesson, *, grouped: bool, note: Any = None, lost: bool = False
    ) -> None:
        if self.compiled is None:
            due = learn(self.table, main, pricing, lesson, grouped)
            if due:
                catch_up(self.table, due, lesson.arm, pricing.now)
            return
        steps = int(self.compiled.head["steps"][0]) + int(lesson.fresh and lesson.counted)
        self.follow(lesson, *move_price(main, pricing, steps, lesson, grouped))

    def follow(self, lesson: Lesson, paid: float, price: float) -> None:
        """The same for who has moved the price."""
        if self.compiled is None:
            self.table.head.steps += int(lesson.fresh and lesson.counted)
            due = learn_arm(self.table, lesson, paid, price)
            if due:
                catch_up(self.table, due, lesson.arm, price)
            return
        arm, success, cost, _, _, counted, fresh, fair = lesson
        self.compiled.head["steps"] += int(fresh and counted)
        due = self.compiled.call(calls.learn_arm_at, arm, success, cost, fresh, fair, paid, price)
        if due:
            self.compiled.catch_up(due, arm, price)

    def set_steps(self, steps: int) -> None:
        if self.compiled is None:
            self.table.head.steps = steps
        else:
            self.compiled.head["steps"] = steps

    def columns(self) -> Columns:
        if self.compiled is not None:
            rows = self.compiled.arms
            return Columns(*(rows[name] for name in COLUMNS))
        return Columns(*(np.array([getattr(row, name) for row in self.table.arms]) for name in COLUMNS))

    # --- saving

    def rows(self) -> list[list[float]]:
        """The tally of every arm that was played, in JSON's terms."""
        return rows_of(*self.columns()[:4])

    def state(self) -> dict[str, Any]:
        table = self.plain_table()
        head = table.head
        state: dict[str, Any] = {"tally": self.rows(), "steps": head.steps, "gap": head.gap}
        if head.kind >= CONTAINED:
            state["upper"] = [row.upper for row in table.arms]  # earlier bounds that still hold
            state["refresh_after"] = head.refresh_after
        if head.form != NO_CELLS:
            state["cells"] = cells_state(table)
        if head.memory != FULL:
            state["past"] = past_state(table)
        return state

    def restore(self, state: dict[str, Any], price: float) -> None:
        table = self.plain_table()
        head = table.head
        for arm, *numbers in state["tally"]:
            if not 0 <= whole("arm", arm, 0) < self.menu.arms:
                raise StateError(f"an arm must be a number from 0 to {self.menu.arms - 1}, got {shown(arm)}")
            row = table.arms[arm]
            row.plays, row.successes, row.priced, row.costs = (float(number) for number in numbers)
            if not self.menu.is_boundary(arm) and row.plays:
                head.unplayed -= 1
        head.steps = whole("steps", state["steps"], 0)
        if head.steps > MOST_COUNTED:
            raise StateError(f"steps must be at most {MOST_COUNTED}, got {head.steps}")
        check_tally(_columns(table), self.memory, self.menu.max_cost)
        head.gap = finite("gap", state["gap"])
        self._refresh(table, price)
        if head.kind >= CONTAINED:
            table = self._restore_bounds(self.plain_table(), state, price)
        table = self.plain_table()
        if head.form != NO_CELLS:
            restore_cells(table, state["cells"])
        if head.memory != FULL:
            restore_past(table, state["past"])
        self._take(table)

    def _restore_bounds(self, table: Table, state: dict[str, Any], price: float) -> Table:
        upper = np.array(state["upper"], dtype=np.float64)
        if upper.shape != (self.menu.arms,) or not ((upper >= 0.0) & (upper <= 1.0)).all():
            raise StateError("upper must hold a number from 0 to 1 for each arm")
        for arm in range(self.menu.arms)[self.menu.interior]:
            table.arms[arm].upper = float(upper[arm])
        last = whole("refresh_after", state["refresh_after"], 0)
        table.head.refresh_after = min(last, table.head.epoch_end)
        self._take(table)
        if self.compiled is None:
            rebuild(table, price)
        else:
            self.compiled.rebuild(price)
        return table

    def _refresh(self, table: Table, price: float) -> None:
        self._take(table)
        if self.compiled is None:
            refresh(table, price, True)
        else:
            self.compiled.refresh(price, fresh=True)

    def _take(self, table: Table) -> None:
        """Put a plain table in the place of the one there is."""
        if self.compiled is None:
            self.table = table
        else:
            made = as_arrays(table)
            self.compiled.head[:], self.compiled.arms[:] = to_rows(TableHead, [made.head]), made.arms
            self.compiled.room[:-1] = made.room


COLUMNS: Final = ("plays", "successes", "priced", "costs", "upper", "lower")


def _columns(table: Table) -> Columns:
    return Columns(*(np.array([getattr(row, name) for row in table.arms]) for name in COLUMNS))


def as_arrays(table: Table) -> NewTable:
    """A plain table as arrays."""
    head = TableHead()
    put_values(head, (getattr(table.head, name) for name in TableHead.__slots__))
    return NewTable(head, _as_rows(table), np.array(table.room, dtype=np.float64))


def _as_rows(table: Table) -> Rows:
    rows = np.zeros(len(table.arms), dtype=dtype_of(ArmRow))
    for name in ArmRow.__slots__:
        rows[name] = [getattr(row, name) for row in table.arms]
    return rows


def check_tally(columns: Columns, memory: Memory, max_cost: float) -> None:
    """Refuse sums that plays cannot reach."""
    plays, successes, priced, costs, _, _ = columns
    possible = (successes >= 0) & (successes <= plays) & (costs >= 0) & (priced >= 0) & (plays <= MOST_COUNTED)
    if memory.name != "discount":  # which alone counts parts of outcomes
        possible &= (plays == np.floor(plays)) & (priced == np.floor(priced))
    if not (possible & (costs <= plays * max_cost * (1 + 1e-9))).all():
        raise StateError("the tally holds sums that its plays cannot reach")


def finite(name: str, value: Any) -> float:
    """A saved number that must be finite."""
    number = float(value)
    if not math.isfinite(number):
        raise StateError(f"{name} must be a finite number, got {shown(value)}")
    return number
