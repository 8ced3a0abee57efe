"""How much of the past still counts: all of it until it contradicts itself (RESET), or less and less (DISCOUNT, WINDOW).

RESET compares the outcomes before some past moment r with those since. In an unchanging world an option A succeeds with one
probability p; options inside A succeed at most as often, options that contain A at least as often. If no p explains both
the outcomes of A, or of all options inside it, before r and those of A, or of all options that contain it, since (or the
other way round), the world has changed, and everything is forgotten. With s outcomes of mean m before and z of mean w
since, no p explains them if

    min over p of  s·kl(m, p) + z·kl(w, p)  >  ln((s+1)(z+1)) + ln(1/δ),

which happens with probability δ at most, over all times together, if nothing changed (docs/memory.md has the proof). The
promise uses none of this.

Each level has an older and a newer moment, twice as far back as those of the level before. The block, at `memory_at`: for
RESET, per moment its time (−1: not in use) and the plays and successes of every arm up to it, and behind them room for the
sums of two pools; for WINDOW the last outcomes in a ring, each with its arm, success and cost.
"""

import math
from collections.abc import MutableSequence
from typing import Final

from suffice.learning.records import CHAIN, DISCOUNT, INTERVALS, PAIRS, RESET, WINDOW, Table
from suffice.promise.divergence import kl

PARTS: Final = 16  # steps in which a window moves by its length, and a half-life passes


def block_size(memory: int, levels: int, span: int, count: int) -> int:
    """How many cells the block takes: moments and room for the sums of two pools, or the ring."""
    if memory == RESET:
        return 2 * levels * (1 + 2 * count) + 8 * (count + 1)
    return 3 * ring_size(span) if memory == WINDOW else 0


def ring_size(span: int) -> int:
    """How many outcomes the ring of a window holds."""
    return span + part_of(span)


def part_of(span: int) -> int:
    """By how many outcomes a window moves at a time."""
    return max(1, span // PARTS)


def moment_at(table: Table, level: int, which: int) -> int:
    """Where a moment lies: the older one of a level (0), or the newer one (1)."""
    return table.head.memory_at + (2 * level + which) * (1 + 2 * table.head.arms)


def past_is_due(table: Table, arm: int, success: float, cost: float) -> bool:
    """Record an interior outcome, which is in the tally. Whether `review_past` is due."""
    head, room = table.head, table.room
    head.memory_count += 1
    if head.memory == RESET:
        return head.memory_count % head.memory_nearest == 0
    if head.memory == WINDOW:
        at = head.memory_at + 3 * ((head.memory_count - 1) % ring_size(head.memory_span))
        room[at], room[at + 1], room[at + 2] = arm, success, cost
    return head.memory_count % part_of(head.memory_span) == 0


def review_past(table: Table) -> bool:
    """Forget what no longer counts. True if the tally changed."""
    head, room = table.head, table.room
    if head.memory == RESET:
        for level in range(head.memory_levels):
            if head.memory_count % (head.memory_nearest << level) != 0:
                return False  # nor is any further level due
            for which in range(2):
                moment = moment_at(table, level, which)
                if room[moment] >= 0.0 and contradicted(table, moment):
                    forget(table)
                    return True
            move_moments(table, level)
        return False
    if head.memory == DISCOUNT:
        discount(table, 0.5 ** (part_of(head.memory_span) / head.memory_span))
    elif head.memory_count > head.memory_span:
        slide_window(table)
    return True


def move_moments(table: Table, level: int) -> None:
    """Make the newer moment of a level the older one, and the present the newer one."""
    arms, room, total = table.arms, table.room, table.head.arms
    older, newer = moment_at(table, level, 0), moment_at(table, level, 1)
    for place in range(1 + 2 * total):
        room[older + place] = room[newer + place]
    room[newer] = table.head.memory_count
    for arm in range(total):
        room[newer + 1 + arm] = arms[arm].plays
        room[newer + 1 + total + arm] = arms[arm].successes


def forget(table: Table) -> None:
    """Forget every outcome. Those since the moment were used to choose it, so they are no fair sample either."""
    discount(table, 0.0)
    for level in range(table.head.memory_levels):
        table.room[moment_at(table, level, 0)] = -1.0
        table.room[moment_at(table, level, 1)] = -1.0
    table.head.memory_count = 0


def discount(table: Table, share: float) -> None:
    """Multiply the tally of every interior arm by a share."""
    for arm in range(table.head.has_skip, table.head.arms - 1):
        row = table.arms[arm]
        row.plays *= share
        row.successes *= share
        row.priced *= share
        row.costs *= share


def slide_window(table: Table) -> None:
    """Remove the outcomes that have left the window from the tally."""
    head, room = table.head, table.room
    ring = ring_size(head.memory_span)
    for place in range(max(0, head.memory_count - ring), head.memory_count - head.memory_span):
        at = head.memory_at + 3 * (place % ring)
        row, cost = table.arms[int(room[at])], room[at + 2]
        row.plays = max(row.plays - 1.0, 0.0)
        row.successes = min(max(row.successes - room[at + 1], 0.0), row.plays)
        if not math.isnan(cost):
            row.priced = max(row.priced - 1.0, 0.0)
            row.costs = max(row.costs - cost, 0.0) if row.priced > 0.0 else 0.0


def amend_window(table: Table, arm: int, success: float, cost: float) -> bool:
    """Amend a play that expired where it stands in the window, so that what leaves it later is right; True if it has left.

    It is one of the arm's failures, and the sums do not say which: the last one, without a cost if there is one now.
    """
    head, room = table.head, table.room
    count, ring = head.memory_count, ring_size(head.memory_span)
    for place in range(count - 1, max(0, count - ring) - 1, -1):
        at = head.memory_at + 3 * (place % ring)
        if room[at] == arm and room[at + 1] == 0.0 and (math.isnan(cost) or math.isnan(room[at + 2])):
            room[at + 1] = success
            if not math.isnan(cost):
                room[at + 2] = cost
            return False
    return True


# --- whether the past contradicts itself


def contradicted(table: Table, moment: int) -> bool:
    """Whether no probability explains what was before this moment and what came since, for some arm."""
    head, room = table.head, table.room
    total = head.arms
    end = head.epoch_end + 1.0
    # A union over arms, four tests of each, and the moments of the epoch; it fails with probability 1/sqrt(E) at most.
    level = math.log(4.0 * total * (2.0 + 2.0 * end / head.memory_nearest) * math.sqrt(end))
    sums = head.memory_at + 2 * head.memory_levels * (1 + 2 * total)
    _pool(table, moment, sums)
    for arm in range(head.has_skip, total - 1):
        plays, successes, later, later_successes = _split(table, moment, arm)
        if means_differ(plays, successes, later, later_successes, level):
            return True
        if means_differ(later, later_successes, plays, successes, level):
            return True
        at = sums + 8 * arm
        if means_differ(room[at], room[at + 1], room[at + 6], room[at + 7], level):
            return True
        if means_differ(room[at + 4], room[at + 5], room[at + 2], room[at + 3], level):
            return True
    return False


def means_differ(plays: float, successes: float, others: float, other_successes: float, level: float) -> bool:
    """Whether the first mean is so far above the second that no probability between them explains both."""
    if plays <= 0.0 or others <= 0.0:
        return False
    # Late successes are counted after the moment for plays before it, and inclusion and exclusion round.
    first = min(max(successes / plays, 0.0), 1.0)
    second = min(max(other_successes / others, 0.0), 1.0)
    pooled = (plays * first + others * second) / (plays + others)
    spread = pooled * (1.0 - pooled)
    if first <= second or spread <= 0.0:
        return False
    needed = level + math.log((plays + 1.0) * (others + 1.0))
    # An upper bound on the divergence, without a logarithm: most arms need no more.
    if plays * (first - pooled) ** 2 + others * (second - pooled) ** 2 <= needed * spread:
        return False
    return bool(plays * kl(first, pooled) + others * kl(second, pooled) > needed)


def _split(table: Table, moment: int, arm: int) -> tuple[float, float, float, float]:
    """An arm's plays and successes before the moment, and since."""
    room, row = table.room, table.arms[arm]
    plays, successes = room[moment + 1 + arm], room[moment + 1 + table.head.arms + arm]
    return plays, successes, row.plays - plays, row.successes - successes


def _pool(table: Table, moment: int, sums: int) -> None:
    """Per arm eight cells, plays and successes of: all inside it before the moment, all around it before it (at +2), all
    inside it since (+4), all around it since (+6)."""
    head, room = table.head, table.room
    total, first = head.arms, head.has_skip
    for arm in range(first, total - 1):
        plays, successes, later, later_successes = _split(table, moment, arm)
        at = sums + 8 * arm
        room[at], room[at + 1], room[at + 4], room[at + 5] = plays, successes, later, later_successes
        room[at + 2], room[at + 3], room[at + 6], room[at + 7] = plays, successes, later, later_successes
    if head.shape == CHAIN:
        for arm in range(first + 1, total - 1):
            _add(room, sums + 8 * arm, sums + 8 * (arm - 1), 0)
        for arm in range(total - 3, first - 1, -1):
            _add(room, sums + 8 * arm, sums + 8 * (arm + 1), 2)
    elif head.shape == INTERVALS:
        _pool_intervals(room, sums, first, head.grid)
    elif head.shape == PAIRS:
        _pool_pairs(table, moment, sums)


def _add(room: MutableSequence[float], at: int, other: int, column: int) -> None:
    """Add another arm's sums: inside (column 0) or around (column 2), before and since."""
    for place in (column, column + 1, column + 4, column + 5):
        room[at + place] += room[other + place]


def _take(room: MutableSequence[float], at: int, other: int, column: int) -> None:
    for place in (column, column + 1, column + 4, column + 5):
        room[at + place] -= room[other + place]


def _number(grid: int, i: int, j: int, first: int) -> int:
    """The arm of the interval from i to j."""
    if i == 0:
        return first + j - 1
    return first + grid - 1 + (i - 1) * grid - (i - 1) * i // 2 + j - i - 1


def _pool_intervals(room: MutableSequence[float], sums: int, first: int, grid: int) -> None:
    """Inside and around by inclusion and exclusion, from short to long and from long to short."""
    for width in range(2, grid):
        for i in range(grid - width + 1):
            at = sums + 8 * _number(grid, i, i + width, first)
            _add(room, at, sums + 8 * _number(grid, i, i + width - 1, first), 0)
            _add(room, at, sums + 8 * _number(grid, i + 1, i + width, first), 0)
            if width > 2:
                _take(room, at, sums + 8 * _number(grid, i + 1, i + width - 1, first), 0)
    for width in range(grid - 2, 0, -1):
        for i in range(grid - width + 1):
            at = sums + 8 * _number(grid, i, i + width, first)
            longer_left, longer_right = i > 0, i + width < grid
            if longer_left:
                _add(room, at, sums + 8 * _number(grid, i - 1, i + width, first), 2)
            if longer_right:
                _add(room, at, sums + 8 * _number(grid, i, i + width + 1, first), 2)
            if longer_left and longer_right and width + 2 < grid:
                _take(room, at, sums + 8 * _number(grid, i - 1, i + width + 1, first), 2)


def _pool_pairs(table: Table, moment: int, sums: int) -> None:
    head, room = table.head, table.room
    starts = head.pools_at
    lists = starts + head.arms + 1
    for arm in range(head.has_skip, head.arms - 1):
        plays, successes, later, later_successes = _split(table, moment, arm)
        for place in range(int(room[starts + arm]), int(room[starts + arm + 1])):
            outer = int(room[lists + place])
            if outer == arm:
                continue
            inside, around = sums + 8 * outer, sums + 8 * arm
            room[inside] += plays
            room[inside + 1] += successes
            room[inside + 4] += later
            room[inside + 5] += later_successes
            before, before_successes, since, since_successes = _split(table, moment, outer)
            room[around + 2] += before
            room[around + 3] += before_successes
            room[around + 6] += since
            room[around + 7] += since_successes
