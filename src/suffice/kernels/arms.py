"""The arms: tallies, lines and the envelope in one flat sequence of floats (`layout`), and what a step does to them.

A menu of up to SMALL arms has no tree and is scanned. The functions take a list as well as an array.
"""

import math
from typing import Any

import numpy as np

from suffice.kernels.cells import FIT_AT, SEEN, begin, thompson
from suffice.kernels.closure import close
from suffice.kernels.envelope import BUCKET, lowest, set_line, settle_all, update
from suffice.kernels.guard import follows
from suffice.kernels.layout import (
    ARMS,
    CEILING,
    COSTS,
    CURVE,
    EPOCH,
    GAP,
    HAS_NOTHING,
    HEAD,
    HINT,
    HINT_AT,
    HINT_COUNT,
    HINT_SUM,
    HORIZON,
    KIND,
    KNOWN,
    LAST,
    LEVEL,
    LOWER,
    MARGIN,
    MEMORY,
    MIDDLE,
    MOST,
    PAYS,
    PLACE,
    PLAYS,
    PRICE_NOW,
    PRICED,
    SIZE,
    SORT,
    STRIDE,
    SUCCESSES,
    UNSEEN,
    UPPER,
    cell,
)
from suffice.kernels.lines import CLOSED, CONTAINED, PAPER, epoch_of, level_of, lower_of, upper_of
from suffice.kernels.memory import RESET, WAY, gone, remembers
from suffice.kernels.pools import tighten

NOBODY = np.zeros(0, dtype=np.bool_)  # where all arms may be played
REFRESH = 1.05  # how much the history grows before bounds that look at other arms are refreshed
BLOCK = 1.25  # how much longer each block of the hint is than the one before


def lay_out(
    arms: Any, costs: Any, kind: int, most: float, best: float, has_nothing: bool, horizon: int, cap: float
) -> None:
    """Fill in fresh arms: nothing played, costs known where `costs` has one per interior arm."""
    count = int(arms[ARMS])
    first = 1 if has_nothing else 0
    arms[KIND], arms[MOST], arms[HAS_NOTHING], arms[HORIZON], arms[CEILING] = kind, most, first, horizon, cap
    arms[KNOWN] = 1.0 if len(costs) > 0 else 0.0
    arms[UNSEEN] = count - 1 - first
    for arm in range(count):
        arms[cell(UPPER, arm)] = math.inf if kind == PAPER else 1.0
        arms[cell(LOWER, arm)] = -math.inf if kind == PAPER else 0.0
        arms[cell(PAYS, arm)] = math.nan
    for place in range(len(costs)):
        arms[cell(PAYS, first + place)] = costs[place]
        if kind != PAPER:
            arms[cell(LOWER, first + place)] = costs[place]
    if has_nothing:
        arms[cell(UPPER, 0)] = 0.0
        arms[cell(LOWER, 0)] = 0.0
        arms[cell(PAYS, 0)] = 0.0
    arms[cell(UPPER, count - 1)] = best
    arms[cell(LOWER, count - 1)] = most
    arms[cell(PAYS, count - 1)] = most
    arms[HINT], arms[HINT_AT], arms[PRICE_NOW] = cap, 1.0, cap
    enter(arms, 1)
    rebuild(arms, 0, cap)


def enter(arms: Any, step: int) -> None:
    """Enter the epoch that holds this step: its level, and the margin that exceeds the rounding of scores in it."""
    last, end = epoch_of(step, int(arms[HORIZON]))
    arms[EPOCH] = last
    arms[LAST] = last if arms[KIND] < CONTAINED else min(last, max(step, math.floor(REFRESH * step)))
    arms[LEVEL] = level_of(int(arms[KIND]), int(arms[ARMS]), end)
    width = math.sqrt(arms[LEVEL]) if arms[KIND] == PAPER else 0.0  # how far unclipped bounds reach beyond [0, 1]
    arms[MARGIN] = 2.0**-48 * (1.0 + width) * (arms[MOST] + arms[CEILING])


def interior(arms: Any, arm: int) -> bool:
    return bool(arms[HAS_NOTHING] <= arm < arms[ARMS] - 1)


def at_rail(arms: Any, arm: int, price: float) -> bool:
    """Whether a play needs no guard: everything at the cap and nothing at 0 cost no more than the price says.

    Not everything at 0: a chooser may propose it there, above the lower rail, where a success is worth nothing.
    """
    if arm == arms[ARMS] - 1:
        return bool(price >= arms[CEILING])
    return bool(arm == 0 and arms[HAS_NOTHING] > 0.0 and price <= 0.0)


def redraw(arms: Any, arm: int) -> None:
    """Recompute the line of an interior arm that was played."""
    kind, level = int(arms[KIND]), arms[LEVEL]
    plays = arms[cell(PLAYS, arm)]
    upper = upper_of(kind, arms[cell(SUCCESSES, arm)], plays, level)
    # A bound of this epoch stays one: what other arms have said of this one is kept until they are asked again.
    arms[cell(UPPER, arm)] = min(upper, arms[cell(UPPER, arm)]) if kind >= CONTAINED else upper
    if arms[KNOWN] == 0.0 or kind == PAPER:
        told, count = arms[cell(COSTS, arm)], arms[cell(PRICED, arm)]
        arms[cell(LOWER, arm)] = lower_of(kind, told, count, arms[MOST], level)


def scan(arms: Any, price: float) -> int:
    """The lowest line by looking at all, ties to the smallest arm number."""
    count = int(arms[ARMS])
    upper, lower = cell(UPPER, 0), cell(LOWER, 0)
    best, found = math.inf, count - 1
    for arm in range(count):
        score = arms[lower + STRIDE * arm] - price * arms[upper + STRIDE * arm]
        if score < best:
            best, found = score, arm
    return found


def cheapest(arms: Any, price: float) -> int:
    """The lowest line, from the tree where there is one; everything at a price that is no number."""
    if not price >= 0.0:
        return int(arms[ARMS]) - 1
    # Lines of arms that were never played are infinite in the paper's bounds; a tree cannot compare those.
    if arms[SIZE] == 0.0 or (arms[KIND] == PAPER and arms[UNSEEN] > 0.0):
        return scan(arms, price)
    return lowest(arms, HEAD + STRIDE * int(arms[ARMS]), int(arms[SIZE]), price, arms[MARGIN])


def propose(arms: Any, price: float, told: int) -> int:
    """The arm to play at this price: the chooser's as long as the guard follows it, else the optimist's."""
    if arms[MIDDLE] > 0.0 and price >= 0.0 and follows(arms, told):
        return thompson(arms, price, NOBODY)
    return cheapest(arms, price)


def charge(arms: Any, arm: int, success: float, cost: float) -> None:
    """Add to the guard's gap what a play between the rails came to above the best that the bounds thought possible."""
    price = arms[PRICE_NOW]
    if at_rail(arms, arm, price):
        return
    arms[int(arms[MIDDLE]) + SEEN] += 1.0
    spent = arms[cell(PAYS, arm)] if math.isnan(cost) else cost
    if math.isnan(spent):
        spent = arms[MOST]  # given up, and nobody said that it was less
    lowest_score = least(arms, price)
    if math.isfinite(lowest_score):  # not so for the paper's bounds of an arm that was never played
        arms[GAP] += spent - price * success - lowest_score


def learn(arms: Any, arm: int, success: float, cost: float, plays: int, told: int, price: float) -> None:
    """Take in an outcome; `cost` is NaN where nobody told it, `plays` 0 for what came late, `told` and `price` are new."""
    if plays > 0 and arms[cell(PLAYS, arm)] == 0.0 and interior(arms, arm):
        arms[UNSEEN] -= 1
        if arms[KIND] == PAPER and arms[UNSEEN] == 0.0:
            arms[SORT] = 0.0  # all lines are finite now: build the tree that was left alone so far
    if arms[MIDDLE] > 0.0 and plays > 0:
        charge(arms, arm, success, cost)
    if plays == 0 and arms[MEMORY] > 0.0 and interior(arms, arm) and gone(arms, arm, success, cost):
        success, cost = 0.0, math.nan
    arms[cell(PLAYS, arm)] += plays
    # No more successes than plays: an interrupt may have kept the play from being learned that a late success amends.
    arms[cell(SUCCESSES, arm)] = min(arms[cell(SUCCESSES, arm)] + success, arms[cell(PLAYS, arm)])
    # Nor more costs: what comes late may be that of a play that is forgotten.
    if not math.isnan(cost) and (plays > 0 or arms[cell(PRICED, arm)] + 1.0 <= arms[cell(PLAYS, arm)]):
        arms[cell(PRICED, arm)] += 1
        arms[cell(COSTS, arm)] += cost
    if plays > 0 and arms[CURVE] > 0.0:
        remember(arms, told, price)
    arms[PRICE_NOW] = price
    if plays > 0 and arms[MEMORY] > 0.0 and interior(arms, arm) and remembers(arms, arm, success, cost):
        if arms[MIDDLE] > 0.0:
            if arms[int(arms[MEMORY]) + WAY] == RESET:
                begin(arms)
            else:  # a little has faded: the fit is looked at again, from where it stands
                arms[int(arms[MIDDLE]) + FIT_AT] = 0.0
        refresh(arms, told, price, True)
        return
    if not turn(arms, told, price) and interior(arms, arm) and arms[cell(PLAYS, arm)] > 0.0:
        redraw(arms, arm)
        _lift(arms, arm, told, price)


def skip(arms: Any, told: int, price: float) -> None:
    """Let an outcome pass that is not learned from: only the time and the price go on."""
    if arms[CURVE] > 0.0:
        remember(arms, told, price)
    arms[PRICE_NOW] = price
    turn(arms, told, price)


def least(arms: Any, price: float) -> float:
    """The least cost − price·success that the bounds think possible."""
    best = cheapest(arms, price)
    return float(arms[cell(LOWER, best)] - price * arms[cell(UPPER, best)])


def turn(arms: Any, told: int, price: float) -> bool:
    """Recompute all lines if it is time to; whether it was."""
    due = told + 1 > arms[LAST]
    if due:
        refresh(arms, told, price, told + 1 > arms[EPOCH])
    return bool(due)


def remember(arms: Any, told: int, price: float) -> None:
    """Take the price into the hint: the mean over a block, at whose end the next, longer one begins."""
    arms[HINT_SUM] += price
    arms[HINT_COUNT] += 1.0
    if told >= arms[HINT_AT]:
        arms[HINT] = min(max(arms[HINT_SUM] / arms[HINT_COUNT], 0.0), arms[CEILING])
        arms[HINT_SUM] = 0.0
        arms[HINT_COUNT] = 0.0
        arms[HINT_AT] = math.ceil(BLOCK * told) + 1.0


def _lift(arms: Any, arm: int, told: int, price: float) -> None:
    """Carry a changed line up the tree."""
    if arms[SIZE] == 0.0 or (arms[KIND] == PAPER and arms[UNSEEN] > 0.0):
        return
    if told >= arms[SORT]:
        rebuild(arms, told, price)
        return
    upper, lower = arms[cell(UPPER, arm)], arms[cell(LOWER, arm)]
    base, place = HEAD + STRIDE * int(arms[ARMS]), int(arms[cell(PLACE, arm)])
    update(arms, base, int(arms[SIZE]), place, lower, upper, price, arms[MARGIN])


def refresh(arms: Any, told: int, price: float, fresh: bool) -> None:
    """Recompute every line for the step to come and build the tree anew; `fresh`: no earlier bound is kept."""
    arms[PRICE_NOW] = price
    enter(arms, told + 1)
    for arm in range(int(arms[HAS_NOTHING]), int(arms[ARMS]) - 1):
        if fresh and arms[KIND] != PAPER:
            arms[cell(UPPER, arm)] = 1.0
            if arms[KNOWN] == 0.0:
                arms[cell(LOWER, arm)] = 0.0
        if arms[cell(PLAYS, arm)] > 0.0:
            redraw(arms, arm)
    if arms[KIND] >= CONTAINED:
        tighten(arms)
    if arms[KIND] == CLOSED:
        close(arms)
    rebuild(arms, told, price)


def rebuild(arms: Any, told: int, price: float) -> None:
    """Sort the leaves by slope and settle the tree at this price.

    Near-equal lines that are out of order would meet again and again; sorting at times that double keeps them apart.
    """
    count, size = int(arms[ARMS]), int(arms[SIZE])
    arms[SORT] = max(4.0 * count, 2.0 * told + 2.0)  # just after the next epoch begins, which sorts anyway
    if size == 0:
        return
    base = HEAD + STRIDE * count
    # The order is worked out in the cells of the tree, which are about to be overwritten: room for 5·8·size.
    sort_by(arms, base, cell(UPPER, 0), STRIDE, count)
    for place in range(count):
        arm = int(arms[base + place])
        arms[cell(PLACE, arm)] = place
    for arm in range(count):
        place = int(arms[cell(PLACE, arm)])
        set_line(arms, base, size, place, arms[cell(LOWER, arm)], arms[cell(UPPER, arm)], arm)
    for place in range(count, size * BUCKET):
        set_line(arms, base, size, place, math.inf, 0.0, place)
    settle_all(arms, base, size, price, arms[MARGIN])


def sort_by(cells: Any, out: int, keys: int, stride: int, count: int) -> None:
    """Write 0 .. count−1 at `out`, ordered by every stride-th cell from `keys`, by a stable merge sort.

    Needs room for 4·count cells from `out` on: numbers and keys, twice. Keys travel with their numbers, so that memory is
    read in order. Those with the largest key go to the end as they are: as long as most arms are unseen, they are most.
    """
    largest = cells[keys]
    for number in range(1, count):
        largest = max(largest, cells[keys + stride * number])
    others = 0
    for number in range(count):
        if cells[keys + stride * number] < largest:
            cells[out + others] = number
            cells[out + 2 * count + others] = cells[keys + stride * number]
            others += 1
    source, target = out, out + count
    run = 1
    while run < others:
        for left in range(0, others, 2 * run):
            middle, right = min(left + run, others), min(left + 2 * run, others)
            _merge(cells, source, target, 2 * count, left, middle, right)
        source, target = target, source
        run *= 2
    if source != out:
        for place in range(others):
            cells[out + place] = cells[source + place]
    place = others
    for number in range(count):
        if cells[keys + stride * number] == largest:
            cells[out + place] = number
            place += 1


def _merge(cells: Any, source: int, target: int, to_key: int, left: int, middle: int, right: int) -> None:
    i, j = left, middle
    for place in range(left, right):
        if j >= right or (i < middle and cells[source + to_key + i] <= cells[source + to_key + j]):
            taken = i
            i += 1
        else:
            taken = j
            j += 1
        cells[target + place] = cells[source + taken]
        cells[target + to_key + place] = cells[source + to_key + taken]
