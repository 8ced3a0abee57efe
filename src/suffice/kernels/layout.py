"""Where things lie in the flat sequence of floats that holds all that is learned: one word per cell.

A head of HEAD cells; a row of STRIDE cells per arm (PLAYS ... PAYS; one row is one cache line); the nodes of the tree; and
then, where they are in use, the blocks of `pools`, `cells` and `memory`, whose places stand in the head (0: not in use).
"""

from suffice.kernels.envelope import room

ARMS, SIZE, KIND, MOST, KNOWN, LEVEL, LAST, HORIZON, MARGIN, SORT, HAS_NOTHING, UNSEEN, CEILING, SPENT = range(14)
HINT, HINT_SUM, HINT_COUNT, HINT_AT, CURVE = range(14, 19)  # of the price; see `prices`
POOLS, MIDDLE, MEMORY = range(19, 22)  # where the blocks begin
EPOCH = 22  # the last step of the epoch; LAST may come before it, where bounds are refreshed more often
PRICE_NOW = 23  # the price before the outcome to come
GAP, KAPPA = 24, 25  # of the guard
HEAD = 32
PLAYS, SUCCESSES, PRICED, COSTS, UPPER, LOWER, PLACE, PAYS = range(8)
STRIDE = 8
SMALL = 64  # scanning so few lines is faster than keeping a tree


def cell(column: int, arm: int) -> int:
    """Where one of an arm's numbers lies."""
    return HEAD + STRIDE * arm + column


def length(count: int, size: int) -> int:
    """How many cells so many arms take, with a tree of so many leaves (0: none) and no further blocks."""
    return HEAD + STRIDE * count + room(size)
