"""Tables as arrays that compiled code works on. Each step on one is compiled by itself, when it is first needed.

A call of compiled code holds the interpreter from its first line to its last: no other thread sees a table half changed.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Final

import numpy as np

from suffice.kernels.compiler import hints_of, inlined, native
from suffice.kernels.rows import (
    Floats,
    Rows,
    RowView,
    address_of,
    copy_of,
    dtype_of,
    from_rows,
    row_at,
    rows_at,
    to_rows,
)
from suffice.learning import arm_table
from suffice.learning.arm_blocks import NewTable
from suffice.learning.records import ArmRow, Table, TableHead


@dataclass(slots=True)
class TablePlace:
    """Where a table lies in memory."""

    head: int = 0
    arms: int = 0
    room: int = 0
    room_size: int = 0


PLACE: Final = dtype_of(TablePlace)
HEAD: Final = dtype_of(TableHead)
ARM: Final = dtype_of(ArmRow)
NUMBER: Final = np.dtype(np.float64)


@inlined
def table_at(address: int) -> Table:
    """The table whose place lies at this address."""
    place = row_at(address, PLACE)
    head = row_at(place.head, HEAD)
    return Table(head, rows_at(place.arms, head.arms, ARM), rows_at(place.room, place.room_size, NUMBER))


class CompiledTable:
    """A table as arrays. What `records.Table` has, this has, too; `head` is for the careful ways, which have time."""

    def __init__(self, made: NewTable) -> None:
        self.heads, self.arms = to_rows(TableHead, [made.head]), made.arms
        self.cells = np.zeros(len(made.room) + 1)  # never empty: an address is needed
        self.cells[:-1] = made.room
        self._take_place()

    def _take_place(self) -> None:
        """Note where the arrays lie: after a copy, somewhere else."""
        self.head: Any = RowView(self.heads)
        place = TablePlace(address_of(self.heads), address_of(self.arms), address_of(self.cells), len(self.cells))
        self._place = to_rows(TablePlace, [place])
        self.address = address_of(self._place)

    @property
    def room(self) -> Floats:
        """Trees, sums and samples."""
        return self.cells[:-1]

    def call(self, step: Callable[..., Any], *given: Any) -> Any:
        """Take a step on this table, by compiled code."""
        return native(at_address(step))(self.address, *given)

    def catch_up(self, due: int, arm: int, price: float) -> None:
        """Do what an outcome of this arm left to be done."""
        _catch_up(self, due, arm, price)

    def refresh(self, price: float) -> None:
        """Recompute every line and build the tree anew; no earlier bound is kept."""
        _refresh(self, price, True)

    def column(self, name: str) -> Floats:
        """One number per arm."""
        column: Floats = self.arms[name]
        return column

    def plain(self) -> "PlainTable":
        """A copy as plain objects."""
        return PlainTable(from_rows(TableHead, self.heads)[0], from_rows(ArmRow, self.arms), self.room.tolist())

    def take(self, made: NewTable) -> None:
        """Take over the numbers of another table of the same size."""
        self.heads[:], self.arms[:], self.room[:] = to_rows(TableHead, [made.head]), made.arms, made.room

    def __getstate__(self) -> tuple[Rows, Rows, Floats]:
        return self.heads, self.arms, self.cells

    def __setstate__(self, state: tuple[Rows, Rows, Floats]) -> None:
        self.heads, self.arms, self.cells = state
        self._take_place()


class PlainTable(Table):
    """A table as plain objects, with the same methods."""

    __slots__ = ()

    def call(self, step: Callable[..., Any], *given: Any) -> Any:
        """Take a step on this table."""
        return step(self, *given)

    def catch_up(self, due: int, arm: int, price: float) -> None:
        """Do what an outcome of this arm left to be done."""
        arm_table.catch_up(self, due, arm, price)

    def refresh(self, price: float) -> None:
        """Recompute every line and build the tree anew; no earlier bound is kept."""
        arm_table.refresh(self, price, True)

    def column(self, name: str) -> Floats:
        """One number per arm."""
        return np.array([getattr(row, name) for row in self.arms])

    def plain(self) -> "PlainTable":
        """The table itself."""
        return self

    @classmethod
    def of(cls, made: NewTable) -> "PlainTable":
        """A new table as plain objects."""
        return cls(made.head, from_rows(ArmRow, made.arms), made.room.tolist())


def as_arrays(table: Table) -> NewTable:
    """A plain table as arrays."""
    return NewTable(copy_of(table.head), to_rows(ArmRow, table.arms), np.array(table.room, dtype=np.float64))


# --- steps as calls of compiled code


def step(table: Table, *given: Any) -> Any:
    """Stands for the step that `at_address` is made for."""


def _with_none(address: int) -> Any:
    return step(table_at(address))


def _with_one(address: int, first: Any) -> Any:
    return step(table_at(address), first)


def _with_two(address: int, first: Any, second: Any) -> Any:
    return step(table_at(address), first, second)


def _with_three(address: int, first: Any, second: Any, third: Any) -> Any:
    return step(table_at(address), first, second, third)


def _with_four(address: int, first: Any, second: Any, third: Any, fourth: Any) -> Any:
    return step(table_at(address), first, second, third, fourth)


@functools.cache
def at_address(taken: Callable[..., Any]) -> Callable[..., Any]:
    """A step for the table whose place lies at an address."""
    _, *given = hints_of(taken).items()
    form: Any = (_with_none, _with_one, _with_two, _with_three, _with_four)[len(given)]
    made = FunctionType(form.__code__, {**form.__globals__, "step": taken}, f"{taken.__name__}_at")
    made.__module__, made.__qualname__ = taken.__module__, f"{taken.__qualname__}_at"
    made.__annotations__ = {"address": int, **dict(given)}
    return made


def in_steps(function: Any, **others: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, run by Python, in which each step on a table is a call of compiled code, made when first needed."""

    def call(taken: Callable[..., Any]) -> Callable[..., Any]:
        return lambda table, *given: table.call(taken, *given)

    used = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    steps = {name: call(one) for name, one in used.items() if isinstance(one, FunctionType) and _on_table(one)}
    return FunctionType(function.__code__, {**function.__globals__, **steps, **others}, function.__name__)


def _on_table(function: FunctionType) -> bool:
    return next(iter(hints_of(function).values()), None) is Table


_refresh: Final = in_steps(arm_table.refresh)
_catch_up: Final = in_steps(arm_table.catch_up, refresh=_refresh)
