"""Records as rows of arrays: a dataclass of whole numbers and floats becomes a dtype with fields of the same names.

Compiled code reaches the rows by their address, which stands in a header: so one array is all that a call of it has to take,
and a table that grows is replaced by writing another address. Whoever owns the arrays keeps them alive.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import Field, fields
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler import inlined

Rows = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Record = TypeVar("Record")


def _fields(kind: Any) -> tuple[Field[Any], ...]:
    return fields(kind)


@functools.cache
def dtype_of(kind: Any) -> "np.dtype[Any]":
    """The dtype of a dataclass whose fields are whole numbers and floats."""
    return np.dtype([(one.name, np.float64 if one.type in (float, "float") else np.int64) for one in _fields(kind)])


@functools.cache
def values_of(kind: Any) -> Callable[[Any], tuple[Any, ...]]:
    """Reads all fields of a record at once."""
    return attrgetter(*(one.name for one in _fields(kind)))


def to_rows(kind: Any, records: Sequence[Any]) -> Rows:
    """An array with a row for each record."""
    values = values_of(kind)
    return np.array([values(record) for record in records], dtype=dtype_of(kind))


def from_rows(kind: type[Record], rows: Rows) -> list[Record]:
    """A record for each row."""
    return [kind(*row) for row in rows.tolist()]


def copy_of(record: Record) -> Record:
    """A copy of a record of plain numbers; several times as fast as `copy.copy`."""
    kind: Any = type(record)
    made: Record = kind(*values_of(kind)(record))
    return made


class RowView:
    """The first row of an array as a record: what is read and written is the array's. Slow, and for the careful ways only."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Rows) -> None:
        object.__setattr__(self, "_rows", rows)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._rows[name][0].item()

    def __setattr__(self, name: str, value: Any) -> None:
        self._rows[name] = value

    def __getstate__(self) -> Rows:
        rows: Rows = self._rows
        return rows

    def __setstate__(self, rows: Rows) -> None:
        object.__setattr__(self, "_rows", rows)


def address_of(rows: Rows) -> int:
    """Where the first row lies in memory."""
    return int(rows.ctypes.data)


def rows_at(address: int, count: int | tuple[int, ...], dtype: Any) -> Any:
    """Rows that lie at an address: nothing is copied, and nobody counts references."""
    raise NotImplementedError("only in compiled code")


@inlined
def row_at(address: int, dtype: Any) -> Any:
    """The row that lies at an address."""
    return rows_at(address, 1, dtype)[0]


@functools.cache
def _rows_at() -> Any:
    """Written out where it is called: `numba.carray` is compiled anew for each dtype, and takes longer than its callers."""
    from numba import types
    from numba.extending import intrinsic
    from numba.np import arrayobj

    numba_arrays: Any = arrayobj

    @intrinsic
    def rows_at(_: Any, address: Any, count: Any, dtype: Any) -> Any:
        several = isinstance(count, types.BaseTuple)
        sizes = len(count) if several else 1
        array = types.Array(dtype.dtype, sizes, "C")

        def write(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            shape = [builder.extract_value(given[1], one) for one in range(sizes)] if several else [given[1]]
            item = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(array.dtype)))
            strides = [item]
            for size in shape[:0:-1]:
                strides.insert(0, builder.mul(strides[0], size))
            made = numba_arrays.make_array(array)(context, builder)
            data = builder.inttoptr(given[0], context.get_data_type(array.dtype).as_pointer())
            numba_arrays.populate_array(made, data=data, shape=shape, strides=strides, itemsize=item, meminfo=None)
            return made._getvalue()

        return array(address, count, dtype), write

    return rows_at


rows_at.in_numba = _rows_at  # type: ignore[attr-defined]
