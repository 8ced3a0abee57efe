"""Asking and telling with a context, whole, in one call of compiled code each: the desk with a model beside it.

The same steps as `suffice.looking` takes one by one. What is known of a decision until it is told lies beside its seat: the
row of its context in `rows`, and in `notes` whose it is (ID), the price (PAID), who played (WHO) and whether the model, or
something that hangs on the context, chose (CHOSEN). The model's arrays are those of `logistic`, of whose rows `used` says how
many are; `tally` is of all plays.
"""

import math
from typing import Any

import numpy as np

from suffice.book import EVERYTHING, LENGTH, NEXT_ID, NOTHING, OUT, SETTLED, TOLD, ask_of, back_of, rail_of, record_of
from suffice.checks import WHOLE
from suffice.kernels.arms import at_rail, interior, learn, least, propose, skip
from suffice.kernels.cells import expected
from suffice.kernels.desk import FENCE, FIRST_ARM, FIRST_SEAT, FREE, LIMIT, seat_of
from suffice.kernels.features import activate
from suffice.kernels.guard import allowance
from suffice.kernels.layout import ARMS, HAS_NOTHING, MOST, PAYS, PRICE_NOW, SPENT, UPPER, cell
from suffice.kernels.logistic import begin, begin_costs, cheapest, costs_of, learn_cost
from suffice.kernels.logistic import learn as learn_success
from suffice.kernels.prices import dual_at, price_at
from suffice.kernels.step import kind_of
from suffice.kernels.trust import CHECK, GAP, GIVEN, MODEL, NOBODY, hear, tossed, weigh
from suffice.kernels.trust import begin as begin_trust

WIDTH = 0.6  # times sqrt(ln t): how many deviations up the model's successes are taken, by measurement
ID, PAID, WHO, CHOSEN = range(4)
NOTES = 4
NOISE = 1e-4  # of told costs, as a share of the most squared: no cost is taken to be more regular
ALL = np.zeros(0, dtype=np.bool_)


def width_of(told: int) -> float:
    """How many deviations up successes are taken after so many outcomes."""
    return WIDTH * math.sqrt(math.log(told + 2.0))


def ask_looking(
    cells: Any, trust: Any, rows: Any, notes: Any, row: Any, kinds: Any, first: Any, counts: Any, starts: Any, knots: Any,
    index: Any, value: Any, slots: Any, offsets: Any, costs: Any, means: Any, covariances: Any, noise: Any,
    cost_means: Any, cost_covariances: Any, lower: Any, part: float,
) -> tuple[int, int, float]:  # fmt: skip
    """Decide, and seat the decision: its id, its arm, and the dual. The id is −1 if it cannot be done this way."""
    identity = int(cells[NEXT_ID])
    seat = seat_of(identity)
    place = (seat - FIRST_SEAT) // 2
    if cells[FENCE] != 0.0 or cells[seat] != FREE or notes[place, ID] != FREE:
        return -1, 0, 0.0
    book, arms = cells[:LENGTH], cells[FIRST_ARM:]
    dual, rail = dual_at(book, arms), rail_of(book)
    last = int(arms[ARMS]) - 1
    forced = False
    noted, who, chosen = False, NOBODY, 0.0
    price = max(0.0, dual)
    if book[OUT] >= cells[LIMIT]:
        forced = arms[HAS_NOTHING] > 0.0 and rail == NOTHING
        arm = last
    elif rail == EVERYTHING:
        arm = last
    elif rail == NOTHING and arms[HAS_NOTHING] > 0.0:
        arm = 0
    else:
        noted = True
        told = int(book[TOLD])
        arm = -1
        if trust[GIVEN] > 0.0 and trust[GAP] <= allowance(arms, told):
            if tossed(trust):
                who = CHECK
            else:
                who, chosen = MODEL, 1.0
                count = activate(row, kinds, first, counts, starts, knots, index, value)
                width = width_of(told)
                for one in range(len(costs)):
                    lower[one] = costs[one]
                if len(noise) > 0:
                    costs_of(index, value, count, slots, cost_means, cost_covariances, noise, arms[MOST], width, lower)
                arm = cheapest(
                    index, value, count, slots, offsets, means, covariances, part, lower, price, width,
                    int(arms[HAS_NOTHING]), arms[cell(UPPER, last)], ALL,
                )  # fmt: skip
        if arm < 0:
            arm = propose(arms, price, told)
    ask_of(book, kind_of(arms, arm), forced)
    book[NEXT_ID] += 1
    cells[seat] = identity
    cells[seat + 1] = arm
    if noted:
        for field in range(len(row)):
            rows[place, field] = row[field]
        notes[place, ID] = identity
        notes[place, PAID] = price
        notes[place, WHO] = who
        notes[place, CHOSEN] = chosen
    return identity, arm, dual


def tell_looking(
    cells: Any, trust: Any, rows: Any, notes: Any, tally: Any, identity: int, units: int, cost: float, kinds: Any,
    first: Any, counts: Any, starts: Any, knots: Any, index: Any, value: Any, slots: Any, offsets: Any, means: Any,
    covariances: Any, noise: Any, cost_means: Any, cost_covariances: Any, cost_told: Any, used: Any, gain: Any, part: float,
) -> bool:  # fmt: skip
    """Settle a decision that is seated; NaN is a cost that nobody told. False if it cannot be done this way."""
    seat = seat_of(identity)
    place = (seat - FIRST_SEAT) // 2
    if cells[FENCE] != 0.0 or identity < 0 or cells[seat] != identity or cells[SETTLED] == identity:
        return False
    noted = notes[place, ID] == identity
    if not noted and notes[place, ID] != FREE:  # somebody's who had to leave the seat
        return False
    book, arms = cells[:LENGTH], cells[FIRST_ARM:]
    arm = int(cells[seat + 1])
    spent = arms[cell(PAYS, arm)] if math.isnan(cost) else cost
    if not 0.0 <= spent <= arms[MOST]:  # or not known
        return False
    inside = interior(arms, arm)
    if noted and inside and slots[arm] == 0 and int(used[0]) >= len(means):
        return False  # there must be room first
    cells[seat] = FREE
    notes[place, ID] = FREE
    arms[SPENT] += spent
    kind, success = kind_of(arms, arm), units / WHOLE
    back_of(book, kind)
    record_of(book, kind, units, False)
    told, price, before = int(book[TOLD]), price_at(book, arms), arms[PRICE_NOW]
    chosen = noted and notes[place, CHOSEN] > 0.0
    if chosen and not at_rail(arms, arm, before):
        lowest = least(arms, before)
        if math.isfinite(lowest):
            trust[GAP] += spent - before * success - lowest
    tally[0, arm] += 1.0
    tally[1, arm] += success
    tally[2, arm] += 1.0
    tally[3, arm] += spent
    plain = expected(arms, arm) if inside else 0.0
    if chosen:
        skip(arms, told, price)
    else:
        learn(arms, arm, success, spent, 1, told, price)
    arms[PRICE_NOW] = price_at(book, arms)  # once more: the outcome may have moved the hint
    if not noted:
        return True
    weigh(trust, int(notes[place, WHO]), spent - notes[place, PAID] * success)
    if not inside:
        return True
    if slots[arm] == 0:
        slots[arm] = int(used[0])
        used[0] += 1.0
    count = activate(rows[place], kinds, first, counts, starts, knots, index, value)
    size = len(gain)
    if len(noise) > 0:
        slot = slots[arm]
        learn_cost(
            index, value, count, slot, spent, cost_told[slot], cost_means, cost_covariances, noise,
            NOISE * arms[MOST] * arms[MOST], gain, size,
        )  # fmt: skip
        cost_told[slot] += 1.0
    said = learn_success(index, value, count, arm, success, slots, offsets, means, covariances, part, gain, size)
    if hear(trust, arm, success, said, plain):
        begin(slots, means, covariances, part, size)
        begin_costs(cost_means, cost_covariances, noise, cost_told, arms[MOST], part, size)
        begin_trust(trust, len(slots))
        used[0] = 1.0
    return True


# The kinds of arguments, for whoever wants the bare machine code.
_LINE, _INTS, _TABLE, _CUBE = "float64[::1]", "int64[::1]", "float64[:, ::1]", "float64[:, :, ::1]"
_LAYOUT = (_INTS, _INTS, _INTS, _INTS, _LINE)
ASKS = (
    _LINE, _LINE, _TABLE, _TABLE, _LINE, *_LAYOUT, _INTS, _LINE, _INTS, _LINE, _LINE, _TABLE, _CUBE, _LINE, _TABLE, _CUBE,
    _LINE, "float64",
)  # fmt: skip
TELLS = (
    _LINE, _LINE, _TABLE, _TABLE, _TABLE, "int64", "int64", "float64", *_LAYOUT, _INTS, _LINE, _INTS, _LINE, _TABLE, _CUBE,
    _LINE, _TABLE, _CUBE, _LINE, _LINE, _LINE, "float64",
)  # fmt: skip
