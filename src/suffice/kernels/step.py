"""The step: what to play given a book and its arms, and what an outcome changes. One step, many drivers.

The drivers: the live selector (`desk`), whole runs on a stream (`runs`), and fleets, below.
"""

import math
from typing import Any

from suffice.book import (
    COUNTED,
    EVERYTHING,
    LENGTH,
    NEXT_ID,
    NOTHING,
    OUT,
    PRICE,
    TOLD,
    ask_of,
    back_of,
    rail_of,
    record_of,
)
from suffice.checks import WHOLE
from suffice.kernels.arms import at_rail, lay_out, learn, least, propose, refresh, skip
from suffice.kernels.layout import ARMS, HAS_NOTHING, MOST, PRICE_NOW
from suffice.kernels.prices import dual_at, price_at

OUT_ARM = COUNTED  # a spare cell of the book: the arm that a selector of a fleet has out, or −1
OUT_CHOSEN = COUNTED + 1  # the other one: 1 if that arm, or whether it was played, hung on the context


def choose(book: Any, arms: Any) -> int:
    """The arm to play now: at a rail its boundary arm, between them the optimist's."""
    rail = rail_of(book)
    if rail == EVERYTHING:
        return int(arms[ARMS]) - 1
    if rail == NOTHING and arms[HAS_NOTHING] > 0.0:
        return 0
    # Where there is no nothing, the cheapest option is played at the bottom: the price of a success is 0 there.
    return propose(arms, max(0.0, dual_at(book, arms)), int(book[TOLD]))


def kind_of(arms: Any, arm: int) -> int:
    """EVERYTHING or NOTHING for the boundary arms, PRICE for all others."""
    if arm == arms[ARMS] - 1:
        return EVERYTHING
    return NOTHING if arm == 0 and arms[HAS_NOTHING] > 0.0 else PRICE


def count(book: Any, arms: Any, arm: int, units: int, cost: float, expired: bool) -> None:
    """Count and take in the outcome of a decision that was out."""
    kind = kind_of(arms, arm)
    back_of(book, kind)
    record_of(book, kind, units, expired)
    learn(arms, arm, units / WHOLE, cost, 1, int(book[TOLD]), price_at(book, arms))
    arms[PRICE_NOW] = price_at(book, arms)  # once more: the outcome may have moved the hint


def pass_by(book: Any, arms: Any, arm: int, units: int, expired: bool) -> None:
    """Count the outcome of a decision that was out, and do not learn from it."""
    kind = kind_of(arms, arm)
    back_of(book, kind)
    record_of(book, kind, units, expired)
    skip(arms, int(book[TOLD]), price_at(book, arms))
    arms[PRICE_NOW] = price_at(book, arms)


def gap_of(arms: Any, arm: int, success: float, cost: float) -> float:
    """What a play between the rails came to above the best that the bounds thought possible; `guard` says what it is for."""
    price = arms[PRICE_NOW]
    return 0.0 if at_rail(arms, arm, price) else float(cost - price * success - least(arms, price))


def ask_step(book: Any, arms: Any, limit: float) -> tuple[int, float]:
    """Decide, and count the decision as outstanding. At `limit` outstanding decisions everything is handed out."""
    dual = dual_at(book, arms)
    forced = False
    if book[OUT] >= limit:
        # Theory 4: everything, not just any boundary arm, or nothings without end would break the bound.
        forced = arms[HAS_NOTHING] > 0.0 and rail_of(book) == NOTHING
        arm = int(arms[ARMS]) - 1
    else:
        arm = choose(book, arms)
    ask_of(book, kind_of(arms, arm), forced)
    book[NEXT_ID] += 1
    return arm, dual


def check_fleet(out: Any, which: Any, marks: Any, waiting: bool) -> tuple[bool, int]:
    """The place of the first selector listed twice (True), or else of the first that does not wait, or waits, as wanted."""
    twice, wrong = False, len(which)
    for place in range(len(which)):
        one = which[place]
        if marks[one] != 0:
            twice, wrong = True, place
            break
        marks[one] = 1
        if wrong == len(which) and (out[one] >= 0) != waiting:
            wrong = place
    for place in range(len(which)):
        marks[which[place]] = 0
    return twice, wrong


def ask_fleet(cells: Any, out: Any, which: Any, result: Any) -> None:
    """A decision for each selector listed. A row of `cells` is a book and its arms; `out` says what each has out."""
    for place in range(len(which)):
        one = which[place]
        row = cells[one]
        book, arms = row[:LENGTH], row[LENGTH:]
        arm = choose(book, arms)
        ask_of(book, kind_of(arms, arm), False)
        row[OUT_ARM] = arm
        out[one] = arm
        result[place] = arm


def tell_fleet(cells: Any, out: Any, which: Any, units: Any, costs: Any, expired: bool) -> None:
    """Settle the decision of each selector listed."""
    for place in range(len(which)):
        one = which[place]
        row = cells[one]
        count(row[:LENGTH], row[LENGTH:], int(row[OUT_ARM]), int(units[place]), costs[place], expired)
        row[OUT_ARM] = -1.0
        out[one] = -1


def look_fleet(cells: Any, out: Any, which: Any, prices: Any, result: Any) -> None:
    """What each selector listed would do without looking, and the price it would do it at, NaN at a rail. Asks nothing."""
    for place in range(len(which)):
        row = cells[which[place]]
        book, arms = row[:LENGTH], row[LENGTH:]
        rail = rail_of(book)
        free = rail != EVERYTHING and (rail != NOTHING or arms[HAS_NOTHING] == 0.0)
        prices[place] = max(0.0, dual_at(book, arms)) if free else math.nan
        result[place] = choose(book, arms)


def issue_fleet(cells: Any, out: Any, which: Any, given: Any, chosen: Any) -> None:
    """A decision for each selector listed, whose arm is given."""
    for place in range(len(which)):
        one = which[place]
        row = cells[one]
        arm = int(given[place])
        ask_of(row[:LENGTH], kind_of(row[LENGTH:], arm), False)
        row[OUT_ARM] = arm
        row[OUT_CHOSEN] = chosen[place]
        out[one] = arm


def settle_fleet(cells: Any, out: Any, which: Any, units: Any, costs: Any, gaps: Any, expired: bool) -> None:
    """`tell_fleet` where a model looks: what hung on a context is not learned from, but charged to the guard's gap."""
    for place in range(len(which)):
        one = which[place]
        row = cells[one]
        book, arms = row[:LENGTH], row[LENGTH:]
        arm, cost = int(row[OUT_ARM]), costs[place]
        if row[OUT_CHOSEN] > 0.0:
            gaps[place] = gap_of(arms, arm, units[place] / WHOLE, arms[MOST] if math.isnan(cost) else cost)
            pass_by(book, arms, arm, int(units[place]), expired)
        else:
            count(book, arms, arm, int(units[place]), cost, expired)
        row[OUT_ARM] = -1.0
        row[OUT_CHOSEN] = 0.0
        out[one] = -1


def lay_out_fleet(
    cells: Any, costs: Any, kind: int, most: float, best: float, has_nothing: bool, horizon: int, cap: float
) -> None:
    """Fill in fresh arms for every selector of a fleet, whose number of arms is in place."""
    for one in range(len(cells)):
        lay_out(cells[one][LENGTH:], costs, kind, most, best, has_nothing, horizon, cap)


def refresh_fleet(cells: Any) -> None:
    """Recompute all lines of every selector of a fleet from its tally."""
    for one in range(len(cells)):
        book, arms = cells[one][:LENGTH], cells[one][LENGTH:]
        refresh(arms, int(book[TOLD]), price_at(book, arms), True)
