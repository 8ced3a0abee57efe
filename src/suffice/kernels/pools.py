"""Pools: where one option's successes are another's, the outcomes of all that contain an option bound it from above.

If B succeeds whenever A does, every play of B succeeds with a probability of at least A's. So all plays of all options that
contain A, its own included, taken together in the order in which they were made, bound A's success by the same threshold
as its own plays do, and there are more of them (docs/bounds.md has the proof). Boundary arms are left out.

The block: SHAPE and GRID, then for PAIRS where each arm's list begins, and the lists of the arms that contain it; for
INTERVALS two rows of sums per grid point.
"""

from typing import Any

from suffice.kernels.layout import ARMS, HAS_NOTHING, KIND, LEVEL, PLAYS, POOLS, SUCCESSES, UPPER, cell
from suffice.kernels.lines import upper_of

LOOSE, CHAIN, INTERVALS, PAIRS = range(4)  # the shapes of a containment order; LOOSE: there is none
SHAPE, GRID = range(2)
FIRST = 2


def room_of(shape: int, grid: int, pairs: int, count: int) -> int:
    """How many cells the block of an order takes."""
    if shape == INTERVALS:
        return FIRST + 2 * (grid + 1)
    return FIRST + (count + 1 + pairs if shape == PAIRS else 0)


def tighten(arms: Any) -> None:
    """Lower every interior arm's upper success to what its pool allows."""
    shape = int(arms[int(arms[POOLS]) + SHAPE])
    if shape == CHAIN:
        _chain(arms)
    elif shape == INTERVALS:
        _intervals(arms)
    elif shape == PAIRS:
        _pairs(arms)


def _bound(arms: Any, arm: int, successes: float, plays: float) -> None:
    if plays > 0.0:
        level = arms[LEVEL]
        upper = upper_of(int(arms[KIND]), successes, plays, level)
        arms[cell(UPPER, arm)] = min(arms[cell(UPPER, arm)], upper)


def _chain(arms: Any) -> None:
    plays = successes = 0.0
    for arm in range(int(arms[ARMS]) - 2, int(arms[HAS_NOTHING]) - 1, -1):
        plays += arms[cell(PLAYS, arm)]
        successes += arms[cell(SUCCESSES, arm)]
        _bound(arms, arm, successes, plays)


def _intervals(arms: Any) -> None:
    """The interval from i to j, arms in that order: a running sum over lower ends, then one over higher ends."""
    block = int(arms[POOLS])
    grid = int(arms[block + GRID])
    plays, successes = block + FIRST, block + FIRST + grid + 1
    for place in range(2 * (grid + 1)):
        arms[plays + place] = 0.0
    arm = int(arms[HAS_NOTHING])
    for i in range(grid):
        top = grid - 1 if i == 0 else grid  # the whole range is everything
        for j in range(i + 1, top + 1):
            arms[plays + j] += arms[cell(PLAYS, arm + j - i - 1)]
            arms[successes + j] += arms[cell(SUCCESSES, arm + j - i - 1)]
        count = total = 0.0
        for j in range(grid, i, -1):
            count += arms[plays + j]
            total += arms[successes + j]
            if j <= top:
                _bound(arms, arm + j - i - 1, total, count)
        arm += top - i


def _pairs(arms: Any) -> None:
    starts = int(arms[POOLS]) + FIRST
    lists = starts + int(arms[ARMS]) + 1
    for arm in range(int(arms[HAS_NOTHING]), int(arms[ARMS]) - 1):
        plays = successes = 0.0
        for at in range(int(arms[starts + arm]), int(arms[starts + arm + 1])):
            outer = int(arms[lists + at])
            plays += arms[cell(PLAYS, outer)]
            successes += arms[cell(SUCCESSES, outer)]
        _bound(arms, arm, successes, plays)
