"""Array types, and records as rows of arrays: a dataclass of numbers becomes a dtype with fields of the same names.

Compiled code reaches the rows by their address, which stands in a header: so one array is all that a call of it has to take,
and a table that grows is replaced by writing another address. The Python object that owns the arrays keeps them alive.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import fields
from decimal import Decimal
from numbers import Real
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from suffice.errors import InvalidArgument, quoted
from suffice.kernels.compiler import inlined

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Rows = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Record = TypeVar("Record", bound="DataclassInstance")


def float_array(name: str, values: object, rule: str) -> Floats:
    """Numbers of a user as an array of floats. Bools, strings and whatever else is no number are refused."""
    try:
        given = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=np.object_)
        kinds = set(map(type, given.flat)) if given.dtype == np.object_ else {given.dtype.type}
        if all(issubclass(kind, Real | Decimal) and kind is not bool for kind in kinds):
            return np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidArgument(f"{name} must {rule}, got {quoted(values)}")


@functools.cache
def dtype_of(kind: "type[DataclassInstance]") -> "np.dtype[np.void]":
    """The dtype of a dataclass whose fields are whole numbers and floats."""
    return np.dtype(
        [(field.name, np.float64 if field.type in (float, "float") else np.int64) for field in fields(kind)]
    )


@functools.cache
def values_of(kind: "type[DataclassInstance]") -> Callable[[object], tuple[Any, ...]]:
    """Reads all fields of a record at once."""
    return attrgetter(*(field.name for field in fields(kind)))


def to_rows(kind: type[Record], records: Sequence[Record]) -> Rows:
    """An array with a row for each record."""
    values = values_of(kind)
    return np.array([values(record) for record in records], dtype=dtype_of(kind))


def from_rows(kind: type[Record], rows: Rows) -> list[Record]:
    """A record for each row."""
    return [kind(*row) for row in rows.tolist()]


def copy_of(record: Record) -> Record:
    """A copy of a record of plain numbers; several times as fast as `copy.copy`."""
    kind = type(record)
    return kind(*values_of(kind)(record))


class RowView:
    """The first row of an array as a record: reads and writes go to the array. Slow: not for asks and tells."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Rows) -> None:
        object.__setattr__(self, "_rows", rows)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._rows[name][0].item()

    def __setattr__(self, name: str, value: float) -> None:
        self._rows[name] = value

    def __getstate__(self) -> Rows:
        rows: Rows = self._rows
        return rows

    def __setstate__(self, rows: Rows) -> None:
        object.__setattr__(self, "_rows", rows)


def address_of(rows: Rows) -> int:
    """Where the first row lies in memory."""
    return int(rows.ctypes.data)


def rows_at(address: int, count: int | tuple[int, ...], dtype: "np.dtype[Any]") -> Any:
    """Rows that lie at an address. Nothing is copied, and no reference is counted."""
    raise NotImplementedError("only in compiled code")


@inlined
def row_at(address: int, dtype: "np.dtype[np.void]") -> Any:
    """The row that lies at an address."""
    return rows_at(address, 1, dtype)[0]


@functools.cache
def _rows_at() -> object:
    """`rows_at` in compiled code. `numba.carray` would be compiled again for each dtype, longer than its callers are."""
    from llvmlite.ir import IRBuilder, Value
    from numba import types
    from numba.core.typing.templates import Signature
    from numba.extending import intrinsic
    from numba.np import arrayobj

    numba_arrays: Any = arrayobj

    @intrinsic
    def rows_at(_: object, address: types.Type, count: types.Type, dtype: types.DType) -> object:
        sizes = len(count) if isinstance(count, types.BaseTuple) else 0  # 0: the count is one number
        array = types.Array(dtype.dtype, max(sizes, 1), "C")

        def write(context: Any, builder: IRBuilder, signature: Signature, given: Sequence[Value]) -> Value:
            shape = [builder.extract_value(given[1], axis) for axis in range(sizes)] or [given[1]]
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
