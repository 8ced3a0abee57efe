"""Differences: an interval's success is a difference of the distribution's values at its ends, so bounds on some bound all.

With F the distribution function, p[a, b] = F(b⁺) − F(a⁻). Upper and lower bounds of all intervals are constraints on
differences of F, which also never falls and rises by 1 in all; what they say together of each interval is a shortest path.
There are two nodes per grid point, since points may fall exactly on the grid.

All bounds must hold at once here, so their threshold is that of a union over 3n families of plays (each arm's own, those
that contain it, those inside it) with failure probability min(1/4, sqrt(n/E)) for an epoch that ends at E.

The matrix lies behind the sums of the pools: what row u, column v holds is an upper bound on F(v) − F(u).
"""

import math
from typing import Any

from suffice.kernels.layout import ARMS, EPOCH, HAS_NOTHING, PLAYS, POOLS, SUCCESSES, UPPER, cell
from suffice.kernels.pools import FIRST, GRID, INTERVALS, SHAPE
from suffice.kl import kl_lower, kl_upper


def room_of(grid: int) -> int:
    """How many cells the matrix takes."""
    return (2 * grid + 2) ** 2


def threshold_of(count: int, end: float, plays: float) -> float:
    """What plays·kl(mean, success) stays below, for all families and times of the epoch at once."""
    failure = min(0.25, math.sqrt(count / end))
    return math.log(3.0 * count / failure) + math.log(plays + 1.0)


def close(arms: Any) -> bool:
    """Lower every arm's upper success to what all bounds together allow. False, and nothing changed, if they contradict."""
    block = int(arms[POOLS])
    if int(arms[block + SHAPE]) != INTERVALS:
        return True  # no differences, and no matrix to write them in
    grid, count = int(arms[block + GRID]), int(arms[ARMS])
    nodes = 2 * grid + 2
    matrix = block + FIRST + 2 * (grid + 1)
    end = arms[EPOCH] + 1.0
    for u in range(nodes):
        for v in range(nodes):
            # F never falls, and rises by 1 in all.
            arms[matrix + nodes * u + v] = 0.0 if v <= u else 1.0
    if arms[cell(UPPER, count - 1)] >= 1.0:
        arms[matrix + nodes * (nodes - 1)] = -1.0
    _outer(arms, matrix, grid, count, end)
    _inner(arms, matrix, grid, count, end)
    for middle in range(nodes):
        for u in range(nodes):
            here = arms[matrix + nodes * u + middle]
            for v in range(nodes):
                through = here + arms[matrix + nodes * middle + v]
                if through < arms[matrix + nodes * u + v]:
                    arms[matrix + nodes * u + v] = through
    for u in range(nodes):
        if arms[matrix + nodes * u + u] < -1e-9:
            return False
    arm = int(arms[HAS_NOTHING])
    for i in range(grid):
        for j in range(i + 1, grid + 1):
            if j - i < grid:
                bound = max(arms[matrix + nodes * (2 * i) + 2 * j + 1], 0.0)
                arms[cell(UPPER, arm)] = min(arms[cell(UPPER, arm)], bound)
                arm += 1
    return True


def _at_most(arms: Any, at: int, successes: float, plays: float, count: int, end: float) -> None:
    if plays > 0.0:
        upper = kl_upper(min(successes / plays, 1.0), threshold_of(count, end, plays) / plays)
        arms[at] = min(arms[at], upper)


def _at_least(arms: Any, at: int, successes: float, plays: float, count: int, end: float) -> None:
    if plays > 0.0:
        lower = kl_lower(min(successes / plays, 1.0), threshold_of(count, end, plays) / plays)
        arms[at] = min(arms[at], -lower)


def _outer(arms: Any, matrix: int, grid: int, count: int, end: float) -> None:
    """Bounds of each interval by its own plays, and from above by those of the intervals that contain it."""
    nodes = 2 * grid + 2
    sums = int(arms[POOLS]) + FIRST
    for place in range(2 * (grid + 1)):
        arms[sums + place] = 0.0
    arm = int(arms[HAS_NOTHING])
    for i in range(grid):
        top = grid - 1 if i == 0 else grid
        for j in range(i + 1, top + 1):
            plays, successes = arms[cell(PLAYS, arm + j - i - 1)], arms[cell(SUCCESSES, arm + j - i - 1)]
            arms[sums + j] += plays
            arms[sums + grid + 1 + j] += successes
            _at_most(arms, matrix + nodes * (2 * i) + 2 * j + 1, successes, plays, count, end)
            _at_least(arms, matrix + nodes * (2 * j + 1) + 2 * i, successes, plays, count, end)
        plays = successes = 0.0
        for j in range(grid, i, -1):
            plays += arms[sums + j]
            successes += arms[sums + grid + 1 + j]
            if j <= top:
                _at_most(arms, matrix + nodes * (2 * i) + 2 * j + 1, successes, plays, count, end)
        arm += top - i


def _inner(arms: Any, matrix: int, grid: int, count: int, end: float) -> None:
    """Bounds of each interval from below, by the plays of the intervals inside it."""
    nodes = 2 * grid + 2
    sums = int(arms[POOLS]) + FIRST
    for place in range(2 * (grid + 1)):
        arms[sums + place] = 0.0
    arm = count - 1
    for i in range(grid - 1, -1, -1):
        top = grid - 1 if i == 0 else grid
        arm -= top - i
        plays = successes = 0.0
        for j in range(i + 1, top + 1):
            arms[sums + j] += arms[cell(PLAYS, arm + j - i - 1)]
            arms[sums + grid + 1 + j] += arms[cell(SUCCESSES, arm + j - i - 1)]
            plays += arms[sums + j]
            successes += arms[sums + grid + 1 + j]
            _at_least(arms, matrix + nodes * (2 * j + 1) + 2 * i, successes, plays, count, end)
