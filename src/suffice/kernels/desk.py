"""The desk: book, outstanding decisions and arms in one array, so that one call of compiled code asks or tells, whole.

Such a call holds the interpreter from its first line to its last. No other thread, no signal handler and no fork can see
it half done, so it needs no lock. Whoever works on the state in several steps takes the lock and puts up the FENCE; a
call that finds it up changes nothing and says so, and its caller goes the long way, through the lock.

Layout: the book; FENCE and LIMIT; SEATS rows of (id, arm); the arms. A decision sits at id modulo SEATS. If somebody
still sits there, the call says so, too, and on the long way the older one is moved out (`ledger.Pending`).
"""

import math
from typing import Any

import numpy as np

from suffice.book import LENGTH, NEXT_ID, SETTLED
from suffice.kernels.layout import MOST, PAYS, SPENT, cell
from suffice.kernels.step import ask_step, count

FENCE = LENGTH  # not 0: closed
LIMIT = LENGTH + 1  # at so many outstanding decisions other than everything, everything is handed out
FIRST_SEAT = LENGTH + 8
SEATS = 512
FREE = -1.0
FIRST_ARM = FIRST_SEAT + 2 * SEATS


def seat_of(identity: int) -> int:
    """Where a decision sits."""
    return FIRST_SEAT + 2 * (identity & (SEATS - 1))


def ask_at(cells: Any) -> tuple[int, int, float]:
    """Decide, and seat the decision: its id, its arm, and the dual. The id is −1 if it cannot be done this way."""
    identity = int(cells[NEXT_ID])
    seat = seat_of(identity)
    if cells[FENCE] != 0.0 or cells[seat] != FREE:
        return -1, 0, 0.0
    arm, dual = ask_step(cells[:LENGTH], cells[FIRST_ARM:], cells[LIMIT])
    cells[seat] = identity
    cells[seat + 1] = arm
    return identity, arm, dual


def tell_at(cells: Any, identity: int, units: int, cost: float) -> bool:
    """Settle a decision that is seated; NaN is a cost that nobody told. False if it cannot be done this way."""
    seat = seat_of(identity)
    if cells[FENCE] != 0.0 or identity < 0 or cells[seat] != identity:
        return False
    if cells[SETTLED] == identity:  # on the long way, where an interrupt kept it from leaving its seat
        return False
    arms = cells[FIRST_ARM:]
    arm = int(cells[seat + 1])
    spent = arms[cell(PAYS, arm)] if math.isnan(cost) else cost
    if not 0.0 <= spent <= arms[MOST]:  # or not known
        return False
    cells[seat] = FREE
    arms[SPENT] += spent
    count(cells[:LENGTH], arms, arm, units, spent, False)
    return True


def aligned(length: int) -> Any:
    """So many zeros, the first at the beginning of a cache line."""
    room = np.zeros(length + 7)
    skip = -(room.ctypes.data // 8) % 8
    return room[skip : skip + length]


def desk(book: Any, arms: Any, limit: float) -> Any:
    """An array with this book and these arms, nobody seated and the fence up."""
    cells = aligned(FIRST_ARM + len(arms))
    cells[:LENGTH] = book
    cells[FENCE], cells[LIMIT] = 1.0, limit
    cells[FIRST_SEAT:FIRST_ARM:2] = FREE
    cells[FIRST_ARM:] = arms
    return cells
