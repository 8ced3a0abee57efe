"""The blocks behind the arms in flat memory: pools, cells and memory, each as long as it is in use; and how they are saved."""

import math
from typing import Any

import numpy as np

from suffice.checks import whole
from suffice.choosers import Thompson
from suffice.errors import StateError, shown
from suffice.kernels import cells, closure, layout, pools
from suffice.kernels import memory as past
from suffice.kernels.lines import CLOSED, CONTAINED
from suffice.kernels.random import WORDS, sow
from suffice.ledger import MOST_COUNTED
from suffice.memory import Memory, levels_of
from suffice.menu import Menu
from suffice.structure import Cells, Floats, Order, cells_of, order_of


def made_of(menu: Menu, chooser: Any) -> Cells | None:
    """The cells that a chooser samples, or None if it does not."""
    if type(chooser) is not Thompson:
        return None
    return cells_of(menu) or Cells(cells.OWN, max(1, len(menu.options)))


def blocks(menu: Menu, code: int, sampled: Cells | None, memory: Memory, seed: int) -> dict[int, Floats]:
    """Every block by the cell of the head that says where it lies."""
    wanted = code >= CONTAINED or memory.way == past.RESET
    order = (order_of(menu) or Order(pools.LOOSE)) if wanted else None
    return {
        layout.POOLS: _pools(order, menu.arms, code),
        layout.MIDDLE: _middle(sampled, menu.arms, seed),
        layout.MEMORY: _memory(memory, menu.arms),
    }


def _pools(order: Order | None, arms: int, code: int) -> Floats:
    """The pools, and the closure's matrix behind them."""
    if order is None:
        return np.zeros(0)
    closed = order.shape == pools.INTERVALS and code == CLOSED
    room = pools.room_of(order.shape, order.grid, order.pairs, arms)
    block = np.zeros(room + (closure.room_of(order.grid) if closed else 0))
    block[pools.SHAPE], block[pools.GRID] = order.shape, order.grid
    if order.starts is not None and order.outer is not None:
        block[pools.FIRST :] = np.concatenate([order.starts, order.outer])
    return block


def _middle(sampled: Cells | None, arms: int, seed: int) -> Floats:
    if sampled is None:
        return np.zeros(0)
    block = np.zeros(cells.room_of(sampled.form, sampled.count, arms))
    block[cells.CELLS], block[cells.FORM] = sampled.count, sampled.form
    if sampled.members is not None:
        block[block.size - sampled.members.size :] = sampled.members
    sow(block, cells.STATE, seed)
    return block


def _memory(memory: Memory, arms: int) -> Floats:
    if memory.way == 0:
        return np.zeros(0)
    levels, nearest = levels_of(memory, arms)
    block = np.zeros(past.room_of(memory.way, levels, memory.span, arms))
    block[past.WAY] = memory.way
    block[past.LEVELS], block[past.NEAREST] = levels or memory.span, nearest
    for moment in range(2 * levels):
        block[past.HEADER + moment * (1 + 2 * arms)] = -1.0
    return block


# --- saving


def learned(arms: Any) -> slice:
    """The part of the cells' block that changes: from when to fit again to the factor of the precision."""
    block = int(arms[layout.MIDDLE])
    own = arms[block + cells.FORM] == cells.OWN
    return slice(block + cells.FIT_AT, block + cells.FIRST if own else cells.spans_at(arms))


def check_cells(found: Floats, wanted: slice) -> None:
    """Refuse what was never saved by a chooser with as many cells."""
    if found.shape != (wanted.stop - wanted.start,) or not np.isfinite(found).all():
        raise StateError(f"cells must hold {wanted.stop - wanted.start} finite numbers")
    words = found[cells.STATE - cells.FIT_AT :][:WORDS]
    if not ((words >= 0) & (words < 2.0**32) & (words == np.floor(words))).all():
        raise StateError("the generator's state must be whole numbers below 2^32")


def past_of(arms: Any) -> dict[str, Any]:
    """What the memory's block holds, in JSON's terms: only the arms that had been played at a moment."""
    block, total = int(arms[layout.MEMORY]), int(arms[layout.ARMS])
    way, count = int(arms[block + past.WAY]), int(arms[block + past.COUNT])
    kept: dict[str, Any] = {"count": count}
    if way == past.RESET:
        kept["moments"] = []
        for place in range(2 * int(arms[block + past.LEVELS])):
            at = past.moment_at(arms, 0, place)
            plays = np.asarray(arms[at + 1 : at + 1 + total])
            successes = np.asarray(arms[at + 1 + total : at + 1 + 2 * total])
            played = np.flatnonzero(plays).tolist() if arms[at] >= 0.0 else []  # one not in use holds what is forgotten
            rows = [[arm, float(plays[arm]), float(successes[arm])] for arm in played]
            kept["moments"].append([int(arms[at]), rows])
    elif way == past.WINDOW:
        ring = past.ring_of(int(arms[block + past.SPAN]))
        values = np.asarray(arms[block + past.HEADER : block + past.HEADER + 3 * min(ring, count)])
        kept["ring"] = [[int(a), float(s), None if np.isnan(c) else float(c)] for a, s, c in values.reshape(-1, 3)]
    return kept


def take_past(arms: Any, kept: dict[str, Any]) -> None:
    """Take over what `past_of` wrote down; the tally is in place."""
    block = int(arms[layout.MEMORY])
    count, way = _counted("count", kept["count"]), int(arms[block + past.WAY])
    arms[block + past.COUNT] = float(count)
    if way == past.RESET:
        wanted = 2 * int(arms[block + past.LEVELS])
        if len(kept["moments"]) != wanted:
            raise StateError(f"moments must be {wanted}, got {len(kept['moments'])}")
        for place, (when, rows) in enumerate(kept["moments"]):
            _take_moment(arms, past.moment_at(arms, 0, place), _counted("a moment", when, -1), rows)
    elif way == past.WINDOW:
        wanted = min(past.ring_of(int(arms[block + past.SPAN])), count)
        if len(kept["ring"]) != wanted:
            raise StateError(f"the window must hold {wanted} outcomes, got {len(kept['ring'])}")
        for place, (arm, success, cost) in enumerate(kept["ring"]):
            _take_outcome(arms, block + past.HEADER + 3 * place, whole("arm", arm, 0), success, cost)


def _counted(name: str, value: Any, least: int = 0) -> int:
    number, most = whole(name, value, least), MOST_COUNTED // 2  # half: what goes on from there can be read again
    if number > most:
        raise StateError(f"{name} must be at most {most}, got {shown(value)}")
    return number


def _take_moment(arms: Any, at: int, when: int, rows: Any) -> None:
    """A moment's sums; none can exceed those of now, or there would be fewer than no plays since."""
    total = int(arms[layout.ARMS])
    arms[at] = float(when)
    for row, plays, successes in rows:
        arm = whole("arm", row, 0)
        possible = arm < total and 0.0 <= successes <= plays <= arms[layout.cell(layout.PLAYS, arm)]
        if not possible or not successes <= arms[layout.cell(layout.SUCCESSES, arm)]:
            raise StateError(
                f"a moment must hold arms with plays and successes of its past, got {shown([row, plays, successes])}"
            )
        arms[at + 1 + arm], arms[at + 1 + total + arm] = float(plays), float(successes)


def _take_outcome(arms: Any, at: int, arm: int, success: Any, cost: Any) -> None:
    """An outcome in the window: of an interior arm, for the others are not judged."""
    possible = arms[layout.HAS_NOTHING] <= arm < arms[layout.ARMS] - 1 and 0.0 <= success <= 1.0
    if not possible or not (cost is None or 0.0 <= cost <= arms[layout.MOST]):
        raise StateError(f"the window must hold outcomes of interior arms, got {shown([arm, success, cost])}")
    arms[at], arms[at + 1], arms[at + 2] = float(arm), float(success), math.nan if cost is None else float(cost)
