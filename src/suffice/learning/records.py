"""What learning holds, as records with named fields: plain objects, or rows of arrays with fields of the same names.

Every function on them is written once, with attributes. It runs as it is on the classes below, and compiled on the rows.
"""

from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

NO_SHAPE, CHAIN, INTERVALS, PAIRS = range(4)  # how options contain one another, as far as learning uses it
SPANS, LISTS, OWN = range(3)  # how options are made of the cells that Thompson sampling draws; OWN: each has its own
NO_CELLS: Final = -1  # nothing is sampled: the optimist plays
FULL, RESET, DISCOUNT, WINDOW = range(4)  # how much of the past counts


@dataclass(slots=True)
class Pricing:
    """How the price of a success follows the debt of one account, and what was spent on its decisions."""

    cap: float = 0.0  # the price at which the safe option is played
    start: float = 0.0  # the price at a debt of 0, where it is straight
    step: float = 0.0  # how far one success owed moves it, where it is straight; 0: cap/max_surplus
    max_surplus: float = 0.0  # the most successes that may be banked; 0: the square root of the outcomes
    curved: int = 0  # whether it follows a curve around a hint of the right price
    hint: float = 0.0
    hint_sum: float = 0.0  # of the prices of the block under way
    hint_count: float = 0.0
    hint_at: float = 0.0  # the outcome at which the block ends
    now: float = 0.0  # the price before the outcome to come
    last_price: float = 0.0  # as it was worked out last, and for what
    last_debt: float = 0.0
    last_outcomes: int = -1
    last_hint: float = 0.0
    spent: float = 0.0


@dataclass(slots=True)
class ArmRow:
    """One arm: its tally, and the line that bounds its score (lower − price·upper)."""

    plays: float = 0.0
    successes: float = 0.0
    priced: float = 0.0  # plays whose cost was told, and the sum of those costs
    costs: float = 0.0
    upper: float = 1.0  # no success rate above this is likely
    lower: float = 0.0  # no mean cost below this is
    place: float = 0.0  # among the leaves of the tree
    known_cost: float = 0.0  # NaN where costs are told


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
    refresh_after: int = 0  # the same, or earlier where bounds look at other arms, too
    unplayed: int = 0  # options that were never played

    # The tree over the lines: see `envelope`.
    leaves: int = 0  # 0: there is none, and all lines are looked at
    margin: float = 0.0
    sort_after: float = 0.0  # the step at which its leaves are sorted anew

    # The order of the options, by which they share what is told: see `pooling`.
    shape: int = NO_SHAPE
    grid: int = 0
    pools_at: int = 0  # where their block lies

    # Thompson sampling, and the guard before it: see `thompson`, `guard`.
    form: int = NO_CELLS
    cells: int = 0
    cells_at: int = 0
    rng_at: int = 0
    fit_at: float = 0.0  # the count of plays at which the cells are fitted anew
    seen: float = 0.0  # plays since the beginning
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
    """What an outcome teaches, and how its account stands after it."""

    arm: int
    success: float
    cost: float  # NaN where nobody told it
    debt: float  # as the limits see it, in successes
    outcomes: int  # of the account
    counted: bool  # False in a first round, which the account does not count
    fresh: bool  # False for what came late: its play was learned from before
    fair: bool  # False where a context, or a chooser of the user's own, had a part in the choice
