"""The table of arms: what an outcome does to an arm's tally, its line and the tree of lines, and which arm is proposed.

A menu of up to SMALL arms has no tree: all lines are scanned. Rare and long work (bounds of a new epoch, a review of the
past, a new fit) is left to the caller: `propose` and `learn` return that it is due, and `catch_up` or `fit` does it. So its
compiled code is made when it is first needed.
"""

import math
from collections.abc import MutableSequence, Sequence
from typing import Final, cast

import numpy as np

from suffice.learning.bound_formulas import INTERVAL_CLOSURE, ORDERED, PAPER, epoch_of, level_of, lower_of, upper_of
from suffice.learning.envelope import BUCKET, lowest, set_line, settle_all, update
from suffice.learning.forgetting import amend_window, past_is_due, review_past
from suffice.learning.guard import at_limit, follows
from suffice.learning.interval_closure import close
from suffice.learning.pooling import tighten
from suffice.learning.prices import move_price
from suffice.learning.records import FULL, NO_CELLS, OWN, RESET, WINDOW, Lesson, Pricing, Table, TableHead
from suffice.learning.thompson import reset_fit, sample_own, thompson
from suffice.numbers import ONE_SUCCESS
from suffice.promise.record import Account

EVERY_ARM: Final = cast("Sequence[bool]", np.zeros(0, dtype=np.bool_))  # where all arms may be played
REFRESH: Final = 1.05  # the growth of the history after which bounds that use other arms' outcomes are refreshed
SMALL: Final = 64  # a scan of up to this many lines is faster than a tree
FIT_FIRST: Final = -2  # instead of an arm: the cells must be fitted before one can be drawn

DONE, PAST_DUE, REFRESH_DUE, FORGOTTEN = range(
    4
)  # the work that an outcome makes due: none, a review of the past, new bounds


def start_epoch(head: TableHead, step: int) -> None:
    """Start the epoch that holds this step: set its level, and a margin above the rounding of its scores."""
    last, end = epoch_of(step, head.horizon)
    head.epoch_end = last
    head.refresh_after = last if head.kind < ORDERED else min(last, max(step, math.floor(REFRESH * step)))
    head.level = level_of(head.kind, head.arms, end)
    width = math.sqrt(head.level) if head.kind == PAPER else 0.0  # how far unclipped bounds extend beyond [0, 1]
    head.margin = 2.0**-48 * (1.0 + width) * (head.safe_cost + head.ceiling)


def is_interior(head: TableHead, arm: int) -> bool:
    """Whether an arm is neither the safe option nor the skip."""
    return head.has_skip <= arm < head.arms - 1


# --- proposing


def propose(table: Table, price: float) -> int:
    """The arm to play at this price: the chooser's while the guard follows it, else the optimist's; or FIT_FIRST."""
    head = table.head
    if head.form != NO_CELLS and price >= 0.0 and follows(head):
        if head.form == OWN:
            return sample_own(table, price, EVERY_ARM)
        if head.seen >= head.fit_at:
            return FIT_FIRST
        return thompson(table, price, EVERY_ARM)
    return cheapest(table, price)


def fit_is_due(table: Table) -> bool:
    """Whether the cells must be fitted before an arm can be drawn."""
    head = table.head
    return head.form != NO_CELLS and head.form != OWN and head.seen >= head.fit_at and follows(head)


def cheapest(table: Table, price: float) -> int:
    """The arm with the lowest line, from the tree if there is one; the safe option if the price is NaN."""
    head = table.head
    if not price >= 0.0:
        return head.arms - 1
    # Lines of unplayed arms are infinite with the paper's bounds; a tree cannot compare those.
    if head.leaves == 0 or (head.kind == PAPER and head.unplayed > 0):
        return scan(table, price)
    return lowest(table.room, head.leaves, price, head.margin)


def scan(table: Table, price: float) -> int:
    """The arm with the lowest line, by a scan; ties go to the smallest arm number."""
    best, lowest_arm = math.inf, table.head.arms - 1
    for arm, row in enumerate(table.arms):
        if row.lower - price * row.upper < best:
            best, lowest_arm = row.lower - price * row.upper, arm
    return lowest_arm


def best_score(table: Table, price: float) -> float:
    """The least cost − price·success that the bounds allow."""
    best = table.arms[cheapest(table, price)]
    return best.lower - price * best.upper


def guard_charge(table: Table, arm: int, success: float, cost: float, paid: float) -> float:
    """The excess of a play between the limits over the best that the bounds allow, at the price paid."""
    if at_limit(table.head, arm, paid):
        return 0.0
    spent = table.arms[arm].known_cost if math.isnan(cost) else cost
    if math.isnan(spent):
        spent = table.head.safe_cost  # given up, and nobody said that it was less
    least = best_score(table, paid)
    return spent - paid * success - least if math.isfinite(least) else 0.0  # the paper's bounds of an unplayed arm


def expected_debt(table: Table, arm: int, target: int) -> int:
    """What a play of this arm is expected to add to the debt, in billionths."""
    row = table.arms[arm]
    if arm == table.head.arms - 1:
        return target - int(row.upper * ONE_SUCCESS)
    return target - likely_units(row.plays, row.successes, target)


def likely_units(plays: float, successes: float, target: int) -> int:
    """The success that is expected of an option with this record, in billionths.

    The record is joined by two plays that fail half as often as the target allows: an option is on the menu because somebody
    thinks that it may do.
    """
    prior = 0.5 * (1.0 + target / ONE_SUCCESS)
    return int((successes + 2.0 * prior) / (plays + 2.0) * ONE_SUCCESS)


# --- learning


def learn(table: Table, main: Pricing, pricing: Pricing, account: Account, lesson: Lesson, grouped: bool) -> int:
    """Update prices, tally, line and tree with an outcome that the account has counted. The work that is due, or DONE.

    `pricing` belongs to the decision's account, `main` to the selector; they may be the same object.
    """
    if lesson.fresh and lesson.counted:
        table.head.steps += 1
    return learn_arm(table, lesson, move_price(main, pricing, account, table.head.steps, lesson, grouped))


def learn_arm(table: Table, lesson: Lesson, price: float) -> int:
    """Update an arm's tally and line with an outcome; `price` is the new price."""
    if not lesson.unbiased:  # a choice that depends on more than past outcomes is no fair sample: only time passes
        return REFRESH_DUE if table.head.steps + 1 > table.head.refresh_after else DONE
    head, arm, row = table.head, lesson.arm, table.arms[lesson.arm]
    interior, success, cost = head.has_skip <= arm < head.arms - 1, lesson.success, lesson.cost
    if lesson.fresh:
        if interior and row.plays == 0.0:
            head.unplayed -= 1
            if head.kind == PAPER and head.unplayed == 0:
                head.sort_after = 0.0  # all lines are finite now: the tree can be built
        if head.form != NO_CELLS and not at_limit(head, arm, lesson.paid):
            head.seen += 1.0
            head.gap += guard_charge(table, arm, success, cost, lesson.paid)
    elif head.memory == WINDOW and interior and amend_window(table, arm, success, cost):
        success, cost = 0.0, math.nan
    row.plays += 1.0 if lesson.fresh else 0.0
    # No more successes than plays: an interrupt may have prevented the count of a play that a late success amends.
    row.successes += success
    if row.successes > row.plays:
        row.successes = row.plays
    # Nor more costs: a late cost may belong to a play that is forgotten.
    if cost == cost and (lesson.fresh or row.priced + 1.0 <= row.plays):
        row.priced += 1.0
        row.costs += cost
    if lesson.fresh and head.memory != FULL and interior and past_is_due(table, arm, success, cost):
        return PAST_DUE
    if head.steps + 1 > head.refresh_after:
        return REFRESH_DUE
    if interior and row.plays > 0.0:
        return change_line(table, arm, price)
    return DONE


def change_line(table: Table, arm: int, price: float) -> int:
    """Recompute the line of an interior arm that was played, and update the tree."""
    head = table.head
    recompute_bound(table, arm)
    if head.leaves == 0 or (head.kind == PAPER and head.unplayed > 0):
        return DONE
    if head.steps >= head.sort_after:
        return REFRESH_DUE
    row = table.arms[arm]
    update(table.room, head.leaves, int(row.place), row.lower, row.upper, price, head.margin)
    return DONE


def recompute_bound(table: Table, arm: int) -> None:
    """Recompute the line of an interior arm that was played from its tally."""
    head, row = table.head, table.arms[arm]
    upper = upper_of(head.kind, row.successes, row.plays, head.level)
    # Bounds remain valid within an epoch: one from other arms' outcomes is kept until the next refresh.
    if head.kind < ORDERED or upper < row.upper:
        row.upper = upper
    if head.costs_known == 0 or head.kind == PAPER:
        row.lower = lower_of(head.kind, row.costs, row.priced, head.safe_cost, head.level)


# --- rare and long work


def look_back(table: Table, arm: int, price: float) -> int:
    """Review the past after an outcome of this arm. The work that is due then."""
    if review_past(table):
        return FORGOTTEN
    return REFRESH_DUE if table.head.steps + 1 > table.head.refresh_after else change_line(table, arm, price)


def catch_up(table: Table, due: int, arm: int, price: float) -> None:
    """Do the work that an outcome of this arm made due."""
    if due == PAST_DUE:
        due = look_back(table, arm, price)
    if due == FORGOTTEN:
        renew_fit(table)
        refresh(table, price, True)
    elif due == REFRESH_DUE:
        # Or only a new order of the leaves is due: the line itself is up to date.
        if table.head.steps + 1 > table.head.refresh_after:
            refresh(table, price, table.head.steps + 1 > table.head.epoch_end)
        else:
            rebuild(table, price)


def renew_fit(table: Table) -> None:
    """Make a new fit due after outcomes were forgotten: from equal masses after a reset, else from the present fit."""
    if table.head.form != NO_CELLS and table.head.memory == RESET:
        reset_fit(table)
    elif table.head.form != NO_CELLS:
        table.head.fit_at = 0.0


def refresh(table: Table, price: float, fresh: bool) -> None:
    """Recompute every line for the next step and rebuild the tree; `fresh`: no earlier bound remains."""
    recompute_bounds(table, fresh)
    if table.head.kind >= ORDERED:
        tighten(table)
    if table.head.kind == INTERVAL_CLOSURE:
        close(table)
    if table.head.leaves > 0:
        rebuild(table, price)


def refresh_own(table: Table, price: float) -> None:
    """Like `refresh` for bounds of an arm's own outcomes; no earlier bound remains."""
    recompute_bounds(table, True)
    if table.head.leaves > 0:
        rebuild(table, price)


def recompute_bounds(table: Table, fresh: bool) -> None:
    """Recompute every line from the arm's own tally, for the next step."""
    head, arms = table.head, table.arms
    start_epoch(head, head.steps + 1)
    for arm in range(head.has_skip, head.arms - 1):
        if fresh and head.kind != PAPER:
            arms[arm].upper = 1.0
            if head.costs_known == 0:
                arms[arm].lower = 0.0
        if arms[arm].plays > 0.0:
            recompute_bound(table, arm)


def begin_tree(table: Table) -> None:
    """Schedule the next sort of the leaves: just after the next epoch begins, which sorts them anyway."""
    table.head.sort_after = max(4.0 * table.head.arms, 2.0 * table.head.steps + 2.0)


def rebuild(table: Table, price: float) -> None:
    """Sort the leaves by slope and settle the tree at this price.

    Near-equal lines that are out of order would be compared again and again; sorts at doubling times separate them.
    """
    head, arms, room = table.head, table.arms, table.room
    begin_tree(table)
    # The order is computed in the cells of the tree, which are overwritten next: room for 5·8·leaves.
    sort_by_slope(table)
    for place in range(head.arms):
        arms[int(room[place])].place = place
    for arm in range(head.arms):
        row = arms[arm]
        set_line(room, head.leaves, int(row.place), row.lower, row.upper, arm)
    for place in range(head.arms, head.leaves * BUCKET):
        set_line(room, head.leaves, place, math.inf, 0.0, place)
    settle_all(room, head.leaves, price, head.margin)


def sort_by_slope(table: Table) -> None:
    """Write the arms' numbers to the first cells of the room, ordered by upper success, by a stable merge sort.

    Needs room for 4·arms cells: numbers and keys, twice. Keys move with their numbers, so that memory is read in order.
    Arms with the largest key go to the end unsorted: while most arms are unplayed, they are most.
    """
    arms, room, count = table.arms, table.room, table.head.arms
    largest = arms[0].upper
    for arm in range(1, count):
        largest = max(largest, arms[arm].upper)
    others = 0
    for arm in range(count):
        if arms[arm].upper < largest:
            room[others] = arm
            room[2 * count + others] = arms[arm].upper
            others += 1
    source, target = 0, count
    run = 1
    while run < others:
        for left in range(0, others, 2 * run):
            _merge(room, source, target, 2 * count, left, min(left + run, others), min(left + 2 * run, others))
        source, target = target, source
        run *= 2
    if source != 0:
        for place in range(others):
            room[place] = room[source + place]
    place = others
    for arm in range(count):
        if arms[arm].upper == largest:
            room[place] = arm
            place += 1


def _merge(
    room: MutableSequence[float], source: int, target: int, to_key: int, left: int, middle: int, right: int
) -> None:
    i, j = left, middle
    for place in range(left, right):
        if j >= right or (i < middle and room[source + to_key + i] <= room[source + to_key + j]):
            taken = i
            i += 1
        else:
            taken = j
            j += 1
        room[target + place] = room[source + taken]
        room[target + to_key + place] = room[source + to_key + taken]
