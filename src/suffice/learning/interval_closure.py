"""Differences: an interval's success is a difference of the distribution's values at its ends, so bounds on some bound all.

With F the distribution function, p[a, b] = F(b⁺) − F(a⁻). Upper and lower bounds of all intervals are constraints on
differences of F, which never falls and rises by 1 in all; the bound that they imply for an interval is a shortest path.
There are two nodes per grid point, since points may fall exactly on the grid.

All bounds must hold at once here, so their threshold is that of a union over 3n families of plays (each arm's own, those
that contain it, those inside it) with failure probability min(1/4, sqrt(n/E)) for an epoch that ends at E.

The matrix lies behind the sums of the pools: what row u, column v holds is an upper bound on F(v) − F(u).
"""

import math
from collections.abc import MutableSequence

from suffice.learning.records import INTERVALS, Table
from suffice.promise.divergence import kl_lower, kl_upper


def matrix_size(grid: int) -> int:
    """How many cells of the room the matrix takes."""
    return (2 * grid + 2) ** 2


def threshold_of(count: int, end: float, plays: float) -> float:
    """The bound on plays·kl(mean, success) for all families and times of the epoch at once."""
    failure = min(0.25, math.sqrt(count / end))
    return math.log(3.0 * count / failure) + math.log(plays + 1.0)


def close(table: Table) -> bool:
    """Lower every arm's upper success to what all bounds together allow. False, and nothing changed, if they contradict."""
    head, arms, room = table.head, table.arms, table.room
    if head.shape != INTERVALS:
        return True  # no differences, and no matrix
    grid, count = head.grid, head.arms
    nodes = 2 * grid + 2
    matrix = head.pools_at + 2 * (grid + 1)
    end = head.epoch_end + 1.0
    for u in range(nodes):
        for v in range(nodes):
            # F never falls, and rises by 1 in all.
            room[matrix + nodes * u + v] = 0.0 if v <= u else 1.0
    if arms[count - 1].upper >= 1.0:
        room[matrix + nodes * (nodes - 1)] = -1.0
    _outer(table, matrix, grid, count, end)
    _inner(table, matrix, grid, count, end)
    for middle in range(nodes):
        for u in range(nodes):
            here = room[matrix + nodes * u + middle]
            for v in range(nodes):
                through = here + room[matrix + nodes * middle + v]
                if through < room[matrix + nodes * u + v]:
                    room[matrix + nodes * u + v] = through
    for u in range(nodes):
        if room[matrix + nodes * u + u] < -1e-9:
            return False
    arm = head.has_skip
    for i in range(grid):
        for j in range(i + 1, grid + 1):
            if j - i < grid:
                bound = max(room[matrix + nodes * (2 * i) + 2 * j + 1], 0.0)
                arms[arm].upper = min(arms[arm].upper, bound)
                arm += 1
    return True


def _at_most(room: MutableSequence[float], at: int, successes: float, plays: float, count: int, end: float) -> None:
    if plays > 0.0:
        upper = kl_upper(min(successes / plays, 1.0), threshold_of(count, end, plays) / plays)
        room[at] = min(room[at], upper)


def _at_least(room: MutableSequence[float], at: int, successes: float, plays: float, count: int, end: float) -> None:
    if plays > 0.0:
        lower = kl_lower(min(successes / plays, 1.0), threshold_of(count, end, plays) / plays)
        room[at] = min(room[at], -lower)


def _outer(table: Table, matrix: int, grid: int, count: int, end: float) -> None:
    """Bounds of each interval by its own plays, and from above by those of the intervals that contain it."""
    nodes = 2 * grid + 2
    arms, room, sums = table.arms, table.room, table.head.pools_at
    for place in range(2 * (grid + 1)):
        room[sums + place] = 0.0
    arm = table.head.has_skip
    for i in range(grid):
        top = grid - 1 if i == 0 else grid
        for j in range(i + 1, top + 1):
            plays, successes = arms[arm + j - i - 1].plays, arms[arm + j - i - 1].successes
            room[sums + j] += plays
            room[sums + grid + 1 + j] += successes
            _at_most(room, matrix + nodes * (2 * i) + 2 * j + 1, successes, plays, count, end)
            _at_least(room, matrix + nodes * (2 * j + 1) + 2 * i, successes, plays, count, end)
        plays = successes = 0.0
        for j in range(grid, i, -1):
            plays += room[sums + j]
            successes += room[sums + grid + 1 + j]
            if j <= top:
                _at_most(room, matrix + nodes * (2 * i) + 2 * j + 1, successes, plays, count, end)
        arm += top - i


def _inner(table: Table, matrix: int, grid: int, count: int, end: float) -> None:
    """Bounds of each interval from below, by the plays of the intervals inside it."""
    nodes = 2 * grid + 2
    arms, room, sums = table.arms, table.room, table.head.pools_at
    for place in range(2 * (grid + 1)):
        room[sums + place] = 0.0
    arm = count - 1
    for i in range(grid - 1, -1, -1):
        top = grid - 1 if i == 0 else grid
        arm -= top - i
        plays = successes = 0.0
        for j in range(i + 1, top + 1):
            room[sums + j] += arms[arm + j - i - 1].plays
            room[sums + grid + 1 + j] += arms[arm + j - i - 1].successes
            plays += room[sums + j]
            successes += room[sums + grid + 1 + j]
            _at_least(room, matrix + nodes * (2 * j + 1) + 2 * i, successes, plays, count, end)
