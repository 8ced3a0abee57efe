"""The records of learning, with named fields: plain objects, or rows of arrays with fields of the same names.

Every function on them is written once, with attributes. It runs as it is on the classes below, and compiled on the rows.
"""

from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

NO_SHAPE, CHAIN, INTERVALS, PAIRS = range(4)  # how options contain one another, as far as learning uses it
SPANS, LISTS, OWN = range(3)  # how options consist of the cells that Thompson sampling draws; OWN: one cell each
NO_CELLS: Final = -1  # no sampling: the optimist plays
FULL, RESET, DISCOUNT, WINDOW = range(4)  # how much of the past counts


@dataclass(slots=True)
class Pricing:
    """How the price of a success follows the debt of one account, and the cost of its decisions."""

    cap: float = 0.0  # the price at which the safe option is played
    ruled: int = 0  # whether a `Rule` sets it: then it looks at the debt alone
    start: float = 0.0  # of a rule: its value at a debt of 0
    step: float = 0.0  # of a rule: its change per success owed; 0: as max_surplus has it
    curved: int = 0  # whether it follows a curve around a hint of the right price
    hint: float = 0.0
    hint_sum: float = 0.0  # of the prices of the present block
    hint_count: float = 0.0
    hint_at: float = 0.0  # the outcome at which the block ends
    now: float = 0.0  # the price after the latest outcome
    spent: float = 0.0


@dataclass(slots=True)
class ArmRow:
    """One arm: its tally, and the line that bounds its score (lower − price·upper)."""

    plays: float = 0.0
    successes: float = 0.0
    priced: float = 0.0  # plays with a reported cost, and the sum of those costs
    costs: float = 0.0
    upper: float = 1.0  # the upper bound on the success rate
    lower: float = 0.0  # the lower bound on the mean cost
    place: float = 0.0  # among the leaves of the tree
    known_cost: float = 0.0  # NaN where costs come with outcomes


@dataclass(slots=True)
class TableHead:
    """What is known of a table of arms as a whole."""

    arms: int = 0
    has_skip: int = 0  # whether the first arm is the menu's skip; the last is always its safe option
    costs_known: int = 0
    safe_cost: float = 0.0
    ceiling: float = 0.0  # the price at which the safe option is played
    steps: int = 0  # outcomes learned from, those of all groups included

    # Bounds: see `arm_table`.
    kind: int = 0
    horizon: int = 0
    level: float = 0.0  # of the thresholds in this epoch
    epoch_end: int = 0  # the last step of the epoch
    refresh_after: int = 0  # the same, or earlier for bounds that use outcomes of other arms
    unplayed: int = 0  # interior options without plays

    # The tree over the lines: see `envelope`.
    leaves: int = 0  # 0: there is no tree, and all lines are scanned
    margin: float = 0.0
    sort_after: float = 0.0  # the step at which its leaves are sorted again

    # The order of the options, by which they share outcomes: see `pooling`.
    shape: int = NO_SHAPE
    grid: int = 0
    pools_at: int = 0  # where their block lies

    # Thompson sampling, and the guard before it: see `thompson`, `guard`.
    form: int = NO_CELLS
    cells: int = 0
    cells_at: int = 0
    rng_at: int = 0
    fit_at: float = 0.0  # the count of plays at which the cells are fitted again
    seen: float = 0.0  # plays so far
    gap: float = 0.0
    kappa: float = 0.0

    # How much of the past counts: see `forgetting`.
    memory: int = FULL
    memory_at: int = 0
    memory_count: int = 0
    memory_levels: int = 0
    memory_nearest: int = 0
    memory_span: int = 0


class Table(NamedTuple):
    """A table of arms: its head, a row per arm, and room for trees, sums and samples."""

    head: TableHead
    arms: Sequence[ArmRow]
    room: MutableSequence[float]


class Lesson(NamedTuple):
    """An outcome for learning."""

    arm: int
    success: float
    cost: float  # NaN if none was reported
    paid: float  # the price of a success when the decision was asked, in [0, cap]
    counted: bool  # False in a first round, which the account does not count
    fresh: bool  # False for a late outcome: its play was counted before
    unbiased: bool  # False where a context, or a chooser of the user's own, influenced the choice
