"""What of the past still counts: all of it until it contradicts itself (RESET), or ever less (DISCOUNT, WINDOW).

RESET compares the outcomes before some past moment r with those since. In an unchanging world an option A succeeds with one
probability p. The options inside A succeed at most as often, those that contain it at least as often. So if A itself, or all
inside it, did so well before r, and A, or all around it, does so badly since, or the other way round, that no p whatever
explains both, the world has changed, and all is forgotten. With s outcomes of mean m before and z of mean
w since, that no p explains them means

    min over p of  s·kl(m, p) + z·kl(w, p)  >  ln((s+1)(z+1)) + ln(1/δ),

which happens with probability δ at most, over all times together, if nothing changed (docs/memory.md has the proof). The
promise looks at none of this.

Moments are kept at LEVELS distances, each twice as far as the one before; at each the older of two and the newer. The block
of RESET: WAY, COUNT, LEVELS, the number of outcomes between the moments of the NEAREST level, then per moment when it was
(−1: not in use) and the plays and successes of every arm up to it. That of the others: WAY, COUNT, SPAN, then for WINDOW the
last outcomes in a ring, each with its arm, success and cost.
"""

import math
from typing import Any

from suffice.kernels.layout import (
    ARMS,
    COSTS,
    EPOCH,
    HAS_NOTHING,
    MEMORY,
    PLAYS,
    POOLS,
    PRICED,
    SUCCESSES,
    cell,
)
from suffice.kernels.pools import CHAIN, FIRST, GRID, INTERVALS, PAIRS, SHAPE
from suffice.kl import kl

RESET, DISCOUNT, WINDOW = 1, 2, 3
WAY, COUNT, LEVELS, NEAREST = range(4)
SPAN = LEVELS  # half-life, or length of the window
HEADER = 4
PARTS = 16  # in which a window moves, and a half-life passes


def room_of(way: int, levels: int, span: int, count: int) -> int:
    """How many cells the block takes: moments and room for the sums of two pools, or the ring."""
    if way == RESET:
        return HEADER + 2 * levels * (1 + 2 * count) + 8 * (count + 1)
    return HEADER + (3 * ring_of(span) if way == WINDOW else 0)


def ring_of(span: int) -> int:
    """How many outcomes the ring of a window holds."""
    return span + part_of(span)


def part_of(span: int) -> int:
    return max(1, span // PARTS)


def moment_at(arms: Any, level: int, which: int) -> int:
    """Where a moment lies: the older one of a level (0), or the newer (1)."""
    return int(arms[MEMORY]) + HEADER + (2 * level + which) * (1 + 2 * int(arms[ARMS]))


def remembers(arms: Any, arm: int, success: float, cost: float) -> bool:
    """Note an interior outcome, which is in the tally. True if the tally was changed because something is forgotten."""
    block = int(arms[MEMORY])
    way = int(arms[block + WAY])
    arms[block + COUNT] += 1.0
    count = int(arms[block + COUNT])
    if way == RESET:
        for level in range(int(arms[block + LEVELS])):
            if count % (int(arms[block + NEAREST]) << level) != 0:
                return False  # nor is any further level due
            for which in range(2):
                moment = moment_at(arms, level, which)
                if arms[moment] >= 0.0 and contradicted(arms, moment):
                    forget(arms)
                    return True
            shift(arms, level, count)
        return False
    part = part_of(int(arms[block + SPAN]))
    if way == WINDOW:
        ring = ring_of(int(arms[block + SPAN]))
        at = block + HEADER + 3 * ((count - 1) % ring)
        arms[at], arms[at + 1], arms[at + 2] = arm, success, cost
    if count % part != 0:
        return False
    if way == DISCOUNT:
        fade(arms, 0.5 ** (part / arms[block + SPAN]))
    elif count > arms[block + SPAN]:
        drop(arms, count)
    return True


def shift(arms: Any, level: int, count: int) -> None:
    """The newer moment of a level becomes the older, and now becomes the newer."""
    older, newer = moment_at(arms, level, 0), moment_at(arms, level, 1)
    total = int(arms[ARMS])
    for place in range(1 + 2 * total):
        arms[older + place] = arms[newer + place]
    arms[newer] = count
    for arm in range(total):
        arms[newer + 1 + arm] = arms[cell(PLAYS, arm)]
        arms[newer + 1 + total + arm] = arms[cell(SUCCESSES, arm)]


def forget(arms: Any) -> None:
    """Forget every outcome, also those since the moment: they were looked at to find it, so they are no fair sample."""
    for arm in range(int(arms[HAS_NOTHING]), int(arms[ARMS]) - 1):
        for column in (PLAYS, SUCCESSES, PRICED, COSTS):
            arms[cell(column, arm)] = 0.0
    for level in range(int(arms[int(arms[MEMORY]) + LEVELS])):
        arms[moment_at(arms, level, 0)] = -1.0
        arms[moment_at(arms, level, 1)] = -1.0
    arms[int(arms[MEMORY]) + COUNT] = 0.0


def fade(arms: Any, share: float) -> None:
    """Let every outcome count for less."""
    for arm in range(int(arms[HAS_NOTHING]), int(arms[ARMS]) - 1):
        for column in (PLAYS, SUCCESSES, PRICED, COSTS):
            arms[cell(column, arm)] *= share


def drop(arms: Any, count: int) -> None:
    """Take the outcomes that have left the window out of the tally."""
    block = int(arms[MEMORY])
    span = int(arms[block + SPAN])
    ring = ring_of(span)
    for place in range(max(0, count - ring), count - span):
        at = block + HEADER + 3 * (place % ring)
        arm, cost = int(arms[at]), arms[at + 2]
        arms[cell(PLAYS, arm)] = max(arms[cell(PLAYS, arm)] - 1.0, 0.0)
        left = max(arms[cell(SUCCESSES, arm)] - arms[at + 1], 0.0)
        arms[cell(SUCCESSES, arm)] = min(left, arms[cell(PLAYS, arm)])
        if not math.isnan(cost):
            arms[cell(PRICED, arm)] = max(arms[cell(PRICED, arm)] - 1.0, 0.0)
            arms[cell(COSTS, arm)] = max(arms[cell(COSTS, arm)] - cost, 0.0) if arms[cell(PRICED, arm)] > 0.0 else 0.0


def gone(arms: Any, arm: int, success: float, cost: float) -> bool:
    """Amend a play that was given up, as it stands in the window, so that it leaves as it is now; True if it has left.

    It is one of the arm's failures, and sums do not tell which: the last one without a cost, where one is told now.
    """
    block = int(arms[MEMORY])
    if arms[block + WAY] != WINDOW:
        return False
    count, ring = int(arms[block + COUNT]), ring_of(int(arms[block + SPAN]))
    for place in range(count - 1, max(0, count - ring) - 1, -1):
        at = block + HEADER + 3 * (place % ring)
        if arms[at] == arm and arms[at + 1] == 0.0 and (math.isnan(cost) or math.isnan(arms[at + 2])):
            arms[at + 1] = success
            if not math.isnan(cost):
                arms[at + 2] = cost
            return False
    return True


# --- whether the past contradicts itself


def contradicted(arms: Any, moment: int) -> bool:
    """Whether no probability explains what was before this moment and what came since, for some arm."""
    total = int(arms[ARMS])
    end = arms[EPOCH] + 1.0
    # A union over arms, four tests of each, and the moments of the epoch; it fails with probability 1/sqrt(E) at most.
    level = math.log(4.0 * total * (2.0 + 2.0 * end / arms[int(arms[MEMORY]) + NEAREST]) * math.sqrt(end))
    room = int(arms[MEMORY]) + HEADER + 2 * int(arms[int(arms[MEMORY]) + LEVELS]) * (1 + 2 * total)
    _pool(arms, moment, room)
    for arm in range(int(arms[HAS_NOTHING]), total - 1):
        plays, successes, later, later_successes = _split(arms, moment, arm, total)
        if apart(plays, successes, later, later_successes, level):
            return True
        if apart(later, later_successes, plays, successes, level):
            return True
        at = room + 8 * arm
        if apart(arms[at], arms[at + 1], arms[at + 6], arms[at + 7], level):
            return True
        if apart(arms[at + 4], arms[at + 5], arms[at + 2], arms[at + 3], level):
            return True
    return False


def apart(plays: float, successes: float, others: float, other_successes: float, level: float) -> bool:
    """Whether the first mean is so far above the second that no probability between them explains both."""
    if plays <= 0.0 or others <= 0.0:
        return False
    # What comes late adds successes after the moment to plays before it, and inclusion and exclusion round.
    first = min(max(successes / plays, 0.0), 1.0)
    second = min(max(other_successes / others, 0.0), 1.0)
    middle = (plays * first + others * second) / (plays + others)
    spread = middle * (1.0 - middle)
    if first <= second or spread <= 0.0:
        return False
    needed = level + math.log((plays + 1.0) * (others + 1.0))
    # Never less than the divergence, and without a logarithm: most arms are settled here.
    if plays * (first - middle) ** 2 + others * (second - middle) ** 2 <= needed * spread:
        return False
    return bool(plays * kl(first, middle) + others * kl(second, middle) > needed)


def _split(arms: Any, moment: int, arm: int, total: int) -> tuple[float, float, float, float]:
    """An arm's plays and successes before the moment, and since."""
    plays, successes = arms[moment + 1 + arm], arms[moment + 1 + total + arm]
    return plays, successes, arms[cell(PLAYS, arm)] - plays, arms[cell(SUCCESSES, arm)] - successes


def _pool(arms: Any, moment: int, room: int) -> None:
    """Per arm: plays and successes before and since, of all inside it (four), then of all that contain it (four).

    In the order: inside before, then around before at +2, inside since at +4, around since at +6.
    """
    total, first = int(arms[ARMS]), int(arms[HAS_NOTHING])
    shape = int(arms[int(arms[POOLS]) + SHAPE]) if arms[POOLS] > 0.0 else 0
    for arm in range(first, total - 1):
        plays, successes, later, later_successes = _split(arms, moment, arm, total)
        at = room + 8 * arm
        arms[at], arms[at + 1], arms[at + 4], arms[at + 5] = plays, successes, later, later_successes
        arms[at + 2], arms[at + 3], arms[at + 6], arms[at + 7] = plays, successes, later, later_successes
    if shape == CHAIN:
        for arm in range(first + 1, total - 1):
            _add(arms, room + 8 * arm, room + 8 * (arm - 1), 0)
        for arm in range(total - 3, first - 1, -1):
            _add(arms, room + 8 * arm, room + 8 * (arm + 1), 2)
    elif shape == INTERVALS:
        _pool_intervals(arms, room, first, int(arms[int(arms[POOLS]) + GRID]))
    elif shape == PAIRS:
        _pool_pairs(arms, moment, room, first, total)


def _add(arms: Any, at: int, other: int, column: int) -> None:
    """Add another arm's sums: inside (column 0) or around (column 2), before and since."""
    for place in (column, column + 1, column + 4, column + 5):
        arms[at + place] += arms[other + place]


def _take(arms: Any, at: int, other: int, column: int) -> None:
    for place in (column, column + 1, column + 4, column + 5):
        arms[at + place] -= arms[other + place]


def _number(grid: int, i: int, j: int, first: int) -> int:
    """The arm of the interval from i to j."""
    if i == 0:
        return first + j - 1
    return first + grid - 1 + (i - 1) * grid - (i - 1) * i // 2 + j - i - 1


def _pool_intervals(arms: Any, room: int, first: int, grid: int) -> None:
    """Inside and around by inclusion and exclusion, from short to long and from long to short."""
    for width in range(2, grid):
        for i in range(grid - width + 1):
            at = room + 8 * _number(grid, i, i + width, first)
            _add(arms, at, room + 8 * _number(grid, i, i + width - 1, first), 0)
            _add(arms, at, room + 8 * _number(grid, i + 1, i + width, first), 0)
            if width > 2:
                _take(arms, at, room + 8 * _number(grid, i + 1, i + width - 1, first), 0)
    for width in range(grid - 2, 0, -1):
        for i in range(grid - width + 1):
            at = room + 8 * _number(grid, i, i + width, first)
            longer_left, longer_right = i > 0, i + width < grid
            if longer_left:
                _add(arms, at, room + 8 * _number(grid, i - 1, i + width, first), 2)
            if longer_right:
                _add(arms, at, room + 8 * _number(grid, i, i + width + 1, first), 2)
            if longer_left and longer_right and width + 2 < grid:
                _take(arms, at, room + 8 * _number(grid, i - 1, i + width + 1, first), 2)


def _pool_pairs(arms: Any, moment: int, room: int, first: int, total: int) -> None:
    starts = int(arms[POOLS]) + FIRST
    lists = starts + total + 1
    for arm in range(first, total - 1):
        plays, successes, later, later_successes = _split(arms, moment, arm, total)
        for place in range(int(arms[starts + arm]), int(arms[starts + arm + 1])):
            outer = int(arms[lists + place])
            if outer == arm:
                continue
            inside, around = room + 8 * outer, room + 8 * arm
            arms[inside] += plays
            arms[inside + 1] += successes
            arms[inside + 4] += later
            arms[inside + 5] += later_successes
            before, before_successes, since, since_successes = _split(arms, moment, outer, total)
            arms[around + 2] += before
            arms[around + 3] += before_successes
            arms[around + 6] += since
            arms[around + 7] += since_successes
