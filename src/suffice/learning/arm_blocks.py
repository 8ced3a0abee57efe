"""A new table of arms: its head, its rows, and the blocks in its room; and their state, saved and restored."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from suffice.errors import StateError, quoted
from suffice.kernels.rows import Floats, Rows, dtype_of
from suffice.learning import forgetting, interval_closure, pooling, thompson
from suffice.learning.arm_table import SMALL, start_epoch
from suffice.learning.bound_formulas import INTERVAL_CLOSURE, ORDERED, PAPER
from suffice.learning.choosers import Chooser, Thompson
from suffice.learning.containment import Cells, PoolingOrder, cells_of, order_of
from suffice.learning.envelope import leaf_count, tree_size
from suffice.learning.memory import Memory, levels_of
from suffice.learning.records import FULL, INTERVALS, OWN, RESET, WINDOW, ArmRow, Table, TableHead
from suffice.learning.rng import WORDS, seed_state
from suffice.menu.menu import Menu
from suffice.numbers import positive_int
from suffice.state_files import State

MOST_COUNTED: Final = 10**15  # doubles count exactly up to 2^53


def cells_for_chooser(menu: Menu, chooser: Chooser | Thompson) -> Cells | None:
    """The cells that a chooser samples, or None if it does not sample."""
    if type(chooser) is not Thompson:
        return None
    return cells_of(menu) or Cells(OWN, max(1, len(menu.options)))


@dataclass(slots=True)
class NewTable:
    """A table without plays, as arrays."""

    head: TableHead
    arms: Rows
    room: Floats


def new_table(
    menu: Menu, kind: int, horizon: int, ceiling: float, sampled: Cells | None, memory: Memory, seed: int, kappa: float
) -> NewTable:
    """The table for a menu, in its first epoch. A tree, where there is one, is not built yet: see `arm_table.rebuild`."""
    head = TableHead(
        arms=menu.n_arms, has_skip=int(menu.has_skip), costs_known=int(menu.costs is not None), safe_cost=menu.safe_cost,
        ceiling=ceiling, kind=kind, horizon=horizon, unplayed=menu.n_arms - 1 - int(menu.has_skip),
        leaves=leaf_count(menu.n_arms) if menu.n_arms > SMALL else 0, kappa=kappa,
    )  # fmt: skip
    start_epoch(head, 1)
    blocks, at = [], tree_size(head.leaves) if head.leaves else 0
    if at:
        blocks.append(np.zeros(at))
    if kind >= ORDERED or memory.code == RESET:
        blocks.append(_pools(head, order_of(menu), kind, at))
        at += blocks[-1].size
    if sampled is not None:
        blocks.append(_cells(head, sampled, seed, at))
        at += blocks[-1].size
    if memory.code != FULL:
        blocks.append(_past(head, memory, at))
    return NewTable(head, _rows(menu, kind), np.concatenate(blocks) if blocks else np.zeros(0))


def _rows(menu: Menu, kind: int) -> Rows:
    """A row for each arm: its cost where it is known, and the widest bounds."""
    rows = np.zeros(menu.n_arms, dtype=dtype_of(ArmRow))
    rows["upper"], rows["lower"] = (math.inf, -math.inf) if kind == PAPER else (1.0, 0.0)
    rows["known_cost"] = math.nan
    if menu.costs is not None:
        rows["known_cost"][menu.interior] = menu.costs
        if kind != PAPER:
            rows["lower"][menu.interior] = menu.costs
    if menu.has_skip:
        rows["upper"][0] = rows["lower"][0] = rows["known_cost"][0] = 0.0
    rows["upper"][-1] = menu.safe_success
    rows["lower"][-1] = rows["known_cost"][-1] = menu.safe_cost
    return rows


def _pools(head: TableHead, order: PoolingOrder | None, kind: int, at: int) -> Floats:
    """The pools, and the closure's matrix behind them."""
    if order is None:
        return np.zeros(0)
    head.shape, head.grid, head.pools_at = order.shape, order.grid, at
    size = pooling.block_size(order.shape, order.grid, order.pairs, head.arms)
    has_matrix = order.shape == INTERVALS and kind == INTERVAL_CLOSURE
    block = np.zeros(size + (interval_closure.matrix_size(order.grid) if has_matrix else 0))
    if order.starts is not None and order.outer is not None:
        block[:] = np.concatenate([order.starts, order.outer])
    return block


def _cells(head: TableHead, sampled: Cells, seed: int, at: int) -> Floats:
    head.form, head.cells, head.rng_at, head.cells_at = sampled.form, sampled.count, at, at + WORDS
    block = np.zeros(thompson.block_size(sampled.form, sampled.count, head.arms))
    if sampled.members is not None:
        block[block.size - sampled.members.size :] = sampled.members
    seed_state(block, 0, seed)
    block[WORDS : WORDS + sampled.count] = 1.0 / sampled.count
    return block


def _past(head: TableHead, memory: Memory, at: int) -> Floats:
    head.memory, head.memory_at, head.memory_span = memory.code, at, memory.span
    levels, nearest = levels_of(memory, head.arms)
    head.memory_levels, head.memory_nearest = levels, nearest
    block = np.zeros(forgetting.block_size(memory.code, levels, memory.span, head.arms))
    size = 1 + 2 * head.arms
    block[: 2 * levels * size : size] = -1.0  # no moment is taken yet
    return block


# --- saving: the table here is a plain one


def rows_of(plays: Floats, successes: Floats, priced: Floats, costs: Floats) -> list[list[float]]:
    """A tally in JSON's terms: a row for every arm that was played."""
    return [
        [arm, _whole(plays[arm]), float(successes[arm]), _whole(priced[arm]), float(costs[arm])]
        for arm in np.flatnonzero(plays).tolist()
    ]


def _whole(value: float) -> float | int:
    return int(value) if value == int(value) else float(value)


def _cells_end(table: Table) -> int:
    """Where the numbers of the cells that change end."""
    return thompson.factor_at(table) if table.head.form == OWN else thompson.spans_at(table)


def cells_state(table: Table) -> State:
    """The numbers of the cells that change, in JSON's terms."""
    head = table.head
    numbers = table.room[head.rng_at : _cells_end(table)]
    return {"fit_at": head.fit_at, "seen": head.seen, "numbers": [float(number) for number in numbers]}


def restore_cells(table: Table, state: State) -> None:
    """Restore what `cells_state` returned; refuse the state of a chooser with another number of cells."""
    head, end = table.head, _cells_end(table)
    numbers = np.array(state["numbers"], dtype=np.float64)
    if numbers.shape != (end - head.rng_at,) or not np.isfinite(numbers).all():
        raise StateError(f"cells must hold {end - head.rng_at} finite numbers")
    words = numbers[:WORDS]
    if not ((words >= 0) & (words < 2.0**32) & (words == np.floor(words))).all():
        raise StateError("the generator's state must be whole numbers below 2^32")
    fit_at, seen = float(state["fit_at"]), float(state["seen"])
    if not (0.0 <= fit_at <= 2.0 * MOST_COUNTED and 0.0 <= seen <= MOST_COUNTED):
        raise StateError("fit_at and seen must be counts")
    head.fit_at, head.seen = fit_at, seen
    table.room[head.rng_at : end] = numbers.tolist()


def past_state(table: Table) -> State:
    """The memory's block in JSON's terms: of each moment only the arms with plays."""
    head, room, total = table.head, table.room, table.head.arms
    state: State = {"count": head.memory_count}
    if head.memory == RESET:
        state["moments"] = []
        for place in range(2 * head.memory_levels):
            at = forgetting.moment_at(table, 0, place)
            plays, successes = room[at + 1 : at + 1 + total], room[at + 1 + total : at + 1 + 2 * total]
            # A moment that is not in use holds numbers that are forgotten.
            played = np.flatnonzero(np.asarray(plays)).tolist() if room[at] >= 0.0 else []
            rows = [[arm, float(plays[arm]), float(successes[arm])] for arm in played]
            state["moments"].append([int(room[at]), rows])
    elif head.memory == WINDOW:
        size = 3 * min(forgetting.ring_size(head.memory_span), head.memory_count)
        values = np.asarray(room[head.memory_at : head.memory_at + size])
        state["ring"] = [[int(a), float(s), None if np.isnan(c) else float(c)] for a, s, c in values.reshape(-1, 3)]
    return state


def restore_past(table: Table, state: State) -> None:
    """Restore what `past_state` returned, after the tally."""
    head = table.head
    head.memory_count = count = _count("count", state["count"])
    if head.memory == RESET:
        _check_length("moments", state["moments"], 2 * head.memory_levels)
        for place, (when, rows) in enumerate(state["moments"]):
            _restore_moment(table, forgetting.moment_at(table, 0, place), _count("a moment", when, -1), rows)
    elif head.memory == WINDOW:
        _check_length("ring", state["ring"], min(forgetting.ring_size(head.memory_span), count))
        for place, (arm, success, cost) in enumerate(state["ring"]):
            _restore_outcome(table, head.memory_at + 3 * place, positive_int("arm", arm, 0), success, cost)


def _check_length(name: str, rows: Sequence[object], wanted: int) -> None:
    if len(rows) != wanted:
        raise StateError(f"{name} must hold {wanted} rows, got {len(rows)}")


def _count(name: str, value: object, least: int = 0) -> int:
    number, most = (
        positive_int(name, value, least),
        MOST_COUNTED // 2,
    )  # half: a selector that goes on can save it again
    if number > most:
        raise StateError(f"{name} must be at most {most}, got {quoted(value)}")
    return number


def _restore_moment(table: Table, at: int, when: int, rows: Iterable[Sequence[float]]) -> None:
    """Restore the sums of a moment; none can exceed the present sums, or the plays since would be negative."""
    total, room = table.head.arms, table.room
    room[at] = float(when)
    for row, plays, successes in rows:
        arm = positive_int("arm", row, 0)
        possible = arm < total and 0.0 <= successes <= plays <= table.arms[arm].plays
        if not possible or not successes <= table.arms[arm].successes:
            raise StateError(
                f"a moment must hold arms with plays and successes of its past, got {quoted([row, plays, successes])}"
            )
        room[at + 1 + arm], room[at + 1 + total + arm] = float(plays), float(successes)


def _restore_outcome(table: Table, at: int, arm: int, success: float, cost: float | None) -> None:
    """Restore an outcome in the window: of an interior arm, as boundary arms are not judged."""
    head, room = table.head, table.room
    possible = head.has_skip <= arm < head.arms - 1 and 0.0 <= success <= 1.0
    if not possible or not (cost is None or 0.0 <= cost <= head.safe_cost):
        raise StateError(f"the window must hold outcomes of interior arms, got {quoted([arm, success, cost])}")
    room[at], room[at + 1], room[at + 2] = float(arm), float(success), math.nan if cost is None else float(cost)
