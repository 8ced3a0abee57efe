"""Calls of compiled code on one table of arms, which is found by its address. Each is compiled when it is first needed.

Such a call holds the interpreter from its first line to its last: no other thread sees a table half changed.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from suffice.kernels.compiler import inlined
from suffice.kernels.rows import carray, dtype_of, pointer
from suffice.learning.arm_table import (
    best_score,
    change_line,
    cheapest,
    learn_arm,
    propose,
    rebuild,
    recompute_bounds,
    renew_fit,
)
from suffice.learning.forgetting import look_at_past
from suffice.learning.interval_closure import close
from suffice.learning.pooling import tighten
from suffice.learning.records import OWN, ArmRow, Lesson, Table, TableHead
from suffice.learning.thompson import expected, fit, sample_own, thompson


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
ADDRESS, PRICE, FLAG, MASK = "int64", "float64", "boolean", "boolean[::1]"


@inlined
def table_at(address: int) -> Table:
    """The table whose place lies at this address."""
    place = carray(pointer(address), 1, PLACE)[0]
    head = carray(pointer(place.head), 1, HEAD)[0]
    return Table(
        head, carray(pointer(place.arms), head.arms, ARM), carray(pointer(place.room), place.room_size, NUMBER)
    )


def propose_at(address: int, price: float) -> int:
    """`arm_table.propose`."""
    return propose(table_at(address), price)


def cheapest_at(address: int, price: float) -> int:
    """`arm_table.cheapest`."""
    return cheapest(table_at(address), price)


def sample_at(address: int, price: float, allowed: Any) -> int:
    """A sample's cheapest arm of those allowed; the cells have been fitted."""
    table = table_at(address)
    return sample_own(table, price, allowed) if table.head.form == OWN else thompson(table, price, allowed)


def fit_at(address: int) -> None:
    """`thompson.fit`."""
    fit(table_at(address))


def look_at_past_at(address: int) -> bool:
    """`forgetting.look_at_past`."""
    return look_at_past(table_at(address))


def renew_fit_at(address: int) -> None:
    """`arm_table.renew_fit`."""
    renew_fit(table_at(address))


def recompute_bounds_at(address: int, fresh: bool) -> None:
    """`arm_table.recompute_bounds`."""
    recompute_bounds(table_at(address), fresh)


def tighten_at(address: int) -> None:
    """`pooling.tighten`."""
    tighten(table_at(address))


def close_at(address: int) -> bool:
    """`interval_closure.close`."""
    return close(table_at(address))


def change_line_at(address: int, arm: int, price: float) -> int:
    """`arm_table.change_line`."""
    return change_line(table_at(address), arm, price)


def learn_arm_at(
    address: int, arm: int, success: float, cost: float, fresh: bool, fair: bool, paid: float, price: float
) -> int:
    """`arm_table.learn_arm`."""
    return learn_arm(table_at(address), Lesson(arm, success, cost, 0.0, 0, True, fresh, fair), paid, price)


def rebuild_at(address: int, price: float) -> None:
    """`arm_table.rebuild`."""
    rebuild(table_at(address), price)


def best_score_at(address: int, price: float) -> float:
    """`arm_table.best_score`."""
    return best_score(table_at(address), price)


def expected_at(address: int, arm: int) -> float:
    """`thompson.expected`."""
    return expected(table_at(address), arm)


# What each call takes.
KINDS: Final[dict[Any, tuple[str, ...]]] = {
    propose_at: (ADDRESS, PRICE),
    cheapest_at: (ADDRESS, PRICE),
    sample_at: (ADDRESS, PRICE, MASK),
    fit_at: (ADDRESS,),
    look_at_past_at: (ADDRESS,),
    renew_fit_at: (ADDRESS,),
    recompute_bounds_at: (ADDRESS, FLAG),
    tighten_at: (ADDRESS,),
    close_at: (ADDRESS,),
    change_line_at: (ADDRESS, ADDRESS, PRICE),
    learn_arm_at: (ADDRESS, ADDRESS, PRICE, PRICE, FLAG, FLAG, PRICE, PRICE),
    rebuild_at: (ADDRESS, PRICE),
    best_score_at: (ADDRESS, PRICE),
    expected_at: (ADDRESS, ADDRESS),
}
