"""Pools: the outcomes of all options that contain an option bound its success from above.

If B succeeds whenever A does, every play of B succeeds with a probability of at least A's. So all plays of all options that
contain A, its own included, taken together in the order in which they were made, bound A's success by the same threshold
as its own plays do, and there are more of them (docs/bounds.md has the proof). Boundary arms are left out.

The block, at `pools_at`: for PAIRS where each arm's list begins, and the lists of the arms that contain it; for INTERVALS two
rows of sums per grid point.
"""

from suffice.learning.bound_formulas import upper_of
from suffice.learning.records import CHAIN, INTERVALS, PAIRS, Table


def block_size(shape: int, grid: int, pairs: int, count: int) -> int:
    """How many cells the block of an order takes."""
    if shape == INTERVALS:
        return 2 * (grid + 1)
    return count + 1 + pairs if shape == PAIRS else 0


def tighten(table: Table) -> None:
    """Lower every interior arm's upper success to what its pool allows."""
    shape = table.head.shape
    if shape == CHAIN:
        _chain(table)
    elif shape == INTERVALS:
        _intervals(table)
    elif shape == PAIRS:
        _pairs(table)


def _bound(table: Table, arm: int, successes: float, plays: float) -> None:
    if plays > 0.0:
        row = table.arms[arm]
        row.upper = min(row.upper, upper_of(table.head.kind, successes, plays, table.head.level))


def _chain(table: Table) -> None:
    head, arms = table.head, table.arms
    plays = successes = 0.0
    for arm in range(head.arms - 2, head.has_skip - 1, -1):
        plays += arms[arm].plays
        successes += arms[arm].successes
        _bound(table, arm, successes, plays)


def _intervals(table: Table) -> None:
    """The interval from i to j, arms in that order: a running sum over lower ends, then one over higher ends."""
    arms, room, grid = table.arms, table.room, table.head.grid
    plays, successes = table.head.pools_at, table.head.pools_at + grid + 1
    for place in range(2 * (grid + 1)):
        room[plays + place] = 0.0
    arm = table.head.has_skip
    for i in range(grid):
        top = grid - 1 if i == 0 else grid  # the whole range is the safe option
        for j in range(i + 1, top + 1):
            room[plays + j] += arms[arm + j - i - 1].plays
            room[successes + j] += arms[arm + j - i - 1].successes
        count = total = 0.0
        for j in range(grid, i, -1):
            count += room[plays + j]
            total += room[successes + j]
            if j <= top:
                _bound(table, arm + j - i - 1, total, count)
        arm += top - i


def _pairs(table: Table) -> None:
    head, arms, room = table.head, table.arms, table.room
    starts = head.pools_at
    lists = starts + head.arms + 1
    for arm in range(head.has_skip, head.arms - 1):
        plays = successes = 0.0
        for at in range(int(room[starts + arm]), int(room[starts + arm + 1])):
            outer = int(room[lists + at])
            plays += arms[outer].plays
            successes += arms[outer].successes
        _bound(table, arm, successes, plays)
