"""The blocks behind the arms in flat memory: pools, cells and memory, each as long as it is in use."""

from typing import Any

import numpy as np

from suffice.choosers import Thompson
from suffice.kernels import cells, closure, layout, pools
from suffice.kernels import memory as past
from suffice.kernels.lines import CLOSED, CONTAINED
from suffice.kernels.random import sow
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
    levels = levels_of(memory, arms)
    block = np.zeros(past.room_of(memory.way, levels, memory.span, arms))
    block[past.WAY] = memory.way
    block[past.LEVELS] = levels or memory.span
    for moment in range(2 * levels):
        block[past.HEADER + moment * (1 + 2 * arms)] = -1.0
    return block
