"""Tables of arms for tests: as plain objects, or as arrays that compiled functions take as they are."""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pytest

from suffice.kernels.compiler import compiled as twin_of
from suffice.kernels.rows import Floats, from_rows, to_rows
from suffice.learning import arm_blocks
from suffice.learning.arm_blocks import NewTable, new_table
from suffice.learning.arm_table import SMALL, catch_up, cheapest, learn_arm, rebuild, scan
from suffice.learning.envelope import ARM, BUCKET, HIGH, LEAST, LOW, MOST, WIDTH, bucket_of
from suffice.learning.memory import FULL
from suffice.learning.records import ArmRow, Lesson, Table, TableHead
from suffice.menu.menu import Menu

needs_compiler = pytest.mark.compiled
compiled_or_not = pytest.mark.parametrize(
    "compiled", [False, pytest.param(True, marks=needs_compiler)], ids=["plain", "compiled"]
)


@contextmanager
def uncompiled(plain: bool = True) -> Iterator[None]:
    """In this context nothing new is compiled."""
    with mock.patch.dict(os.environ, {"SUFFICE_NO_COMPILE": "1"} if plain else {}):
        yield


def as_table(made: NewTable, *, compiled: bool = False) -> Table:
    """A new table as functions take it, plain or compiled. A tree, where there is one, is not built yet."""
    room: Any = made.room.copy()
    if compiled:
        head: Any = to_rows(TableHead, [made.head])[0]  # what is written to a row is the array's
        arms: Any = made.arms.copy()
        return Table(head, arms, room)
    return Table(made.head, from_rows(ArmRow, made.arms), room.tolist())


CEILING = 5.0  # the price at which the safe option is played


def fresh_table(menu: Menu, kind: int, *, compiled: bool = False, tree: bool = False, horizon: int = 0) -> Table:
    """A table as a learner makes it, with a tree even where the menu is small, if wanted; begun."""
    with mock.patch.object(arm_blocks, "SMALL", 0 if tree else SMALL):
        made = new_table(menu, kind, horizon, CEILING, None, FULL, 0, math.inf)
    table = as_table(made, compiled=compiled)
    if made.head.leaves:
        twin(rebuild, compiled)(table, CEILING)
    return table


def twin(function: Any, compiled: bool) -> Any:
    """A function, or its compiled twin."""
    return twin_of(function) if compiled else function


def head_of(table: Table) -> TableHead:
    """The head as a record; a copy, if it is a row of an array."""
    head: Any = table.head
    return head if isinstance(head, TableHead) else TableHead(*head.item())


def put_head(table: Table, name: str, value: float) -> None:
    """Write one field of the head."""
    head: Any = table.head
    if isinstance(head, TableHead):
        setattr(head, name, value)
    else:
        head[name] = value


def column(table: Table, name: str) -> Floats:
    """One number per arm."""
    arms: Any = table.arms
    return np.array([getattr(row, name) for row in arms] if isinstance(arms, list) else arms[name], dtype=np.float64)


def put(table: Table, name: str, arm: int, value: float) -> None:
    """Write one number of an arm."""
    arms: Any = table.arms
    if isinstance(arms, list):
        setattr(arms[arm], name, value)
    else:
        arms[name][arm] = value


def cells(table: Table) -> Floats:
    """All numbers of a table one behind the other, to compare two tables."""
    head = head_of(table)
    numbers = [[getattr(head, name) for name in TableHead.__slots__], table.room]
    return np.concatenate([*map(np.asarray, numbers), *(column(table, name) for name in ArmRow.__slots__)])


def tell(table: Table, arm: int, success: float, cost: float, price: float, *, compiled: bool = False) -> None:
    """Learn from an outcome as a driver does, at this price before it and after it."""
    twin(tell_arm, compiled)(table, arm, success, cost, price)


def tell_arm(table: Table, arm: int, success: float, cost: float, price: float) -> None:
    table.head.steps += 1
    due = learn_arm(table, Lesson(arm, success, cost, price, True, True, True), price)
    if due > 0:
        catch_up(table, due, arm, price)


def play_both_ways(table: Table, truth: Any, draws: Any, step: float, played: Any) -> int:
    """Play the lowest line at a wandering price, and compare the tree with a scan at every step."""
    price, differences = 2.5, 0
    for told in range(len(draws)):
        arm = cheapest(table, price)
        if arm != scan(table, price):
            differences += 1
        played[told] = arm
        success = 1.0 if draws[told] < truth[arm] else 0.0
        price = min(max(price + step * (0.8 - success), 1e-3), 4.999)
        table.head.steps += 1
        lesson = Lesson(arm, success, draws[told] * truth[arm], price, True, True, True)
        due = learn_arm(table, lesson, price)
        if due > 0:
            catch_up(table, due, arm, price)
    return differences


def check_tree(tree: Any, size: int, prices: Any) -> None:
    """Raise AssertionError if an invariant of the tree does not hold."""
    places = [bucket_of(size, leaf) + 2 * BUCKET + place for leaf in range(size, 2 * size) for place in range(BUCKET)]
    if sorted(tree[at] for at in places) != list(range(size * BUCKET)):
        raise AssertionError("an arm is not in one place")
    for v in range(2 * size - 1, 0, -1):
        node = WIDTH * v
        first, last = v, v
        while first < size:
            first, last = 2 * first, 2 * last + 1
        buckets = [bucket_of(size, leaf) for leaf in range(first, last + 1)]
        lines = [at for bucket in buckets for at in range(bucket, bucket + BUCKET)]
        slopes = [tree[at + BUCKET] for at in lines]
        if (tree[node + LEAST], tree[node + MOST]) != (min(slopes), max(slopes)):
            raise AssertionError(f"the extreme slopes of node {v} are wrong")
        for price in prices:
            if tree[node + LOW] <= price <= tree[node + HIGH]:
                scores = [(tree[at] - price * tree[at + BUCKET], tree[at + 2 * BUCKET]) for at in lines]
                if min(scores)[1] != tree[node + ARM]:
                    raise AssertionError(f"node {v} is certain of the wrong arm at {price}")
