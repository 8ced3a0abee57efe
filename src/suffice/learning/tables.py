"""Tables as arrays for compiled code. Each step on a table is compiled by itself, when it is first needed.

A call of compiled code holds the interpreter lock throughout: no other thread reads a table in the middle of a change.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Final, TypeVar, TypeVarTuple, cast

import numpy as np

from suffice.kernels.compiler import Function, hints_of, inlined, native
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


Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")
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
    """A table as arrays, with the fields of `records.Table`. Access to `head` is slow: not for asks and tells."""

    def __init__(self, made: NewTable) -> None:
        self.heads, self.arms = to_rows(TableHead, [made.head]), made.arms
        self.cells = np.zeros(len(made.room) + 1)  # never empty: an address is needed
        self.cells[:-1] = made.room
        self._take_place()

    def _take_place(self) -> None:
        """Store the addresses of the arrays. A copy has other ones."""
        self.head = cast("TableHead", RowView(self.heads))
        place = address_of(self.heads), address_of(self.arms), address_of(self.cells), len(self.cells)
        self._place = np.array([place], dtype=PLACE)
        self.address = address_of(self._place)

    @property
    def room(self) -> Floats:
        """Trees, sums and samples."""
        return self.cells[:-1]

    def call(self, step: Callable[[Table, *Arguments], Result], *arguments: *Arguments) -> Result:
        """Take a step on this table, by compiled code."""
        result: Result = native(at_address(step))(self.address, *arguments)
        return result

    def catch_up(self, due: int, arm: int, price: float) -> None:
        """Do the work that an outcome of this arm made due."""
        _catch_up(self, due, arm, price)

    def refresh(self, price: float) -> None:
        """Recompute every line and rebuild the tree; no earlier bound remains."""
        _refresh(self, price, True)

    def column(self, name: str) -> Floats:
        """One number per arm."""
        column: Floats = self.arms[name]
        return column

    def plain(self) -> "PlainTable":
        """A copy as plain objects."""
        return PlainTable(from_rows(TableHead, self.heads)[0], from_rows(ArmRow, self.arms), self.room.tolist())

    def take(self, made: NewTable) -> None:
        """Copy the numbers of another table of the same size."""
        self.heads[:], self.arms[:], self.room[:] = to_rows(TableHead, [made.head]), made.arms, made.room

    def __getstate__(self) -> tuple[Rows, Rows, Floats]:
        return self.heads, self.arms, self.cells

    def __setstate__(self, state: tuple[Rows, Rows, Floats]) -> None:
        self.heads, self.arms, self.cells = state
        self._take_place()


class PlainTable(Table):
    """A table as plain objects, with the same methods."""

    __slots__ = ()

    def call(self, step: Callable[[Table, *Arguments], Result], *arguments: *Arguments) -> Result:
        """Take a step on this table."""
        return step(self, *arguments)

    def catch_up(self, due: int, arm: int, price: float) -> None:
        """Do the work that an outcome of this arm made due."""
        arm_table.catch_up(self, due, arm, price)

    def refresh(self, price: float) -> None:
        """Recompute every line and rebuild the tree; no earlier bound remains."""
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


# --- steps as calls of compiled code: `at_address` makes a function of an address from one of these forms


def step(table: Table, *arguments: object) -> object:
    """Stands for the step that `at_address` is called with."""
    raise NotImplementedError


def _without_arguments(address: int) -> object:
    return step(table_at(address))


def _with_one(address: int, first: object) -> object:
    return step(table_at(address), first)


def _with_two(address: int, first: object, second: object) -> object:
    return step(table_at(address), first, second)


def _with_three(address: int, first: object, second: object, third: object) -> object:
    return step(table_at(address), first, second, third)


def _with_four(address: int, first: object, second: object, third: object, fourth: object) -> object:
    return step(table_at(address), first, second, third, fourth)


FORMS: Final = cast("list[FunctionType]", [_without_arguments, _with_one, _with_two, _with_three, _with_four])


@functools.cache
def at_address(function: Function) -> FunctionType:
    """A step for the table whose place lies at an address."""
    _, *hints = hints_of(function).items()
    form = FORMS[len(hints)]
    made = FunctionType(form.__code__, {**form.__globals__, "step": function}, f"{function.__name__}_at")
    made.__module__, made.__qualname__ = function.__module__, f"{function.__qualname__}_at"
    made.__annotations__ = {"address": int, **dict(hints)}
    return made


def in_steps(function: Function, **others: Function) -> Callable[..., None]:
    """The same function in Python, in which each step on a table calls compiled code, made when it is first needed."""

    def compiled_call(taken: FunctionType) -> Function:
        return lambda table, *arguments: table.call(taken, *arguments)

    plain = cast("FunctionType", function)
    used = {name: plain.__globals__.get(name) for name in plain.__code__.co_names}
    steps = {name: compiled_call(one) for name, one in used.items() if isinstance(one, FunctionType) and _on_table(one)}
    return FunctionType(plain.__code__, {**plain.__globals__, **steps, **others}, plain.__name__)


def _on_table(function: FunctionType) -> bool:
    return next(iter(hints_of(function).values()), None) is Table


_refresh: Final = in_steps(arm_table.refresh)
_catch_up: Final = in_steps(arm_table.catch_up, refresh=_refresh)
