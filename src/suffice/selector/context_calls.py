"""Asking and telling in a context, whole, in one call of compiled code each.

The same steps as `context.learner` takes one by one. What is known of a decision until it is told lies in its slot, and the
features of its context in a row beside it. The model's arrays are found by their addresses, which stand in `ContextPlace`.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from suffice.checks import WHOLE
from suffice.context.encode import activate
from suffice.context.logistic import (
    EVERY_ARM,
    NOISE,
    begin,
    begin_costs,
    cheapest,
    costs_of,
    learn_cost,
)
from suffice.context.logistic import learn as learn_success
from suffice.context.optimism import optimism_width
from suffice.context.trust import (
    CONTROL,
    MODEL,
    UNCOMPARED,
    Trust,
    Watch,
    compare_costs,
    is_control,
    reset,
    update_evidence,
)
from suffice.kernels.compiler import inlined
from suffice.kernels.rows import dtype_of, rows_at
from suffice.learning.arm_table import DONE, FIT_FIRST, fit_is_due, guard_charge, is_interior, learn, propose
from suffice.learning.base import Floats
from suffice.learning.guard import allowance
from suffice.learning.rng import WORDS
from suffice.learning.tables import NUMBER, table_at
from suffice.learning.thompson import expected
from suffice.promise.account import limit, settle
from suffice.selector.compiled_calls import (
    DECLINED,
    DUE,
    ELSEWHERE,
    EMPTY,
    IN_SLOT,
    TOLD,
    file_at,
    header_at,
    parts_at,
    slot_at,
)
from suffice.selector.verbs import decide, is_open, lesson_of, price_of, role_of


@dataclass(slots=True)
class ContextPlace:
    """Where what a model has learned lies in memory, and how large it is."""

    trust: int = 0
    watch: int = 0
    watch_size: int = 0
    tally: int = 0
    # Features: per field its kind, first feature, count of hats or categories, and where its knots begin.
    kinds: int = 0
    first: int = 0
    counts: int = 0
    starts: int = 0
    knots: int = 0
    knots_size: int = 0
    index: int = 0  # room for those that are not 0, and their values
    value: int = 0
    active: int = 0  # how many fit in there
    width: int = 0  # of all features
    # The model: a row for what all arms share, and one for each arm that was played.
    arm_rows: int = 0
    offsets: int = 0
    costs: int = 0  # known ones
    means: int = 0
    covariances: int = 0
    rows: int = 0
    noise: int = 0  # of told costs, and what foretells them; no rows where costs are known
    cost_means: int = 0
    cost_covariances: int = 0
    cost_told: int = 0
    cost_rows: int = 0
    lower: int = 0
    gain: int = 0
    used: int = 0
    part: float = 0.0


CONTEXT, TRUST = dtype_of(ContextPlace), dtype_of(Trust)
WHOLE_NUMBER: Final = np.dtype(np.int64)
NOT_READY, READY, NO_ROOM = range(3)  # what `ready_at` answers


class Fields(NamedTuple):
    """The features of contexts, and room for those of one that are not 0."""

    kinds: Any
    first: Any
    counts: Any
    starts: Any
    knots: Any
    index: Any
    value: Any


@inlined
def place_at(address: int) -> ContextPlace:
    """The place of a model."""
    found: ContextPlace = rows_at(address, 1, CONTEXT)[0]
    return found


@inlined
def watch_at(place: ContextPlace) -> Watch:
    """Trust in a model."""
    return Watch(rows_at(place.trust, 1, TRUST)[0], rows_at(place.watch, place.watch_size, NUMBER))


@inlined
def fields_at(place: ContextPlace, count: int) -> Fields:
    """The fields of contexts."""
    return Fields(
        rows_at(place.kinds, count, WHOLE_NUMBER),
        rows_at(place.first, count, WHOLE_NUMBER),
        rows_at(place.counts, count, WHOLE_NUMBER),
        rows_at(place.starts, count, WHOLE_NUMBER),
        rows_at(place.knots, place.knots_size, NUMBER),
        rows_at(place.index, place.active, WHOLE_NUMBER),
        rows_at(place.value, place.active, NUMBER),
    )


def ready_at(address: int, now: float) -> int:
    """Whether `ask_context_at` can be called: READY, or what has to be done before, or that it is not usual."""
    header = header_at(address)
    if header.locked != 0 or not header.seen_at <= now < header.due:
        return NOT_READY
    if slot_at(header, header.next_id).id != EMPTY:
        return NO_ROOM
    return READY


def ask_context_at(address: int, row: int, now: float, context: int, features: Floats) -> tuple[int, int, float]:
    """Decide in a context, and note the decision as outstanding: its id, its arm and the price. It must be READY.

    The id is FIT_FIRST if the cells must be fitted before; then nothing is changed.
    """
    header, account, pricing, main = parts_at(address, row)
    table = table_at(header.table)
    at_limit, price = limit(account), price_of(account, pricing, main, row > 0)
    arm, who, fair, looked, paid = -1, UNCOMPARED, True, is_open(at_limit, table.head), max(0.0, price)
    if looked:
        watch = watch_at(place_at(context))
        if watch.trust.given > 0 and watch.trust.gap <= allowance(table.head):
            if fit_is_due(table) and would_be_control(watch):
                return FIT_FIRST, 0, 0.0
            if is_control(watch):
                who = CONTROL
            else:
                who, fair = MODEL, False
                arm = model_arm(context, table, features, paid)
        if arm < 0:
            arm = propose(table, paid)
            if arm == FIT_FIRST:
                return FIT_FIRST, 0, 0.0
    arm = decide(at_limit, table.head, arm)
    identity = header.next_id
    file_at(header, account, row, arm, role_of(table.head, arm), now, True, fair)
    if looked:
        slot = slot_at(header, identity)
        slot.noted, slot.who, slot.paid = IN_SLOT, who, paid
        kept = rows_at(header.features, (header.mask + 1) * header.fields, NUMBER)
        first = (identity & header.mask) * header.fields
        for field in range(header.fields):
            kept[first + field] = features[field]
    return identity, arm, price


def would_be_control(watch: Watch) -> bool:
    """Whether the next coin leaves the decision to the chooser. The coin can be thrown again."""
    room = watch.room
    before = room[0], room[1], room[2], room[3], room[4], room[5]
    found = is_control(watch)
    for word in range(WORDS):
        room[word] = before[word]
    return found


def model_arm(context: int, table: Any, features: Any, price: float) -> int:
    """The arm that is cheapest at this price in this context, as far as the model knows."""
    place = place_at(context)
    fields, width, rows, arms = fields_at(place, len(features)), place.width, place.rows, table.head.arms
    count = activate(
        features, fields.kinds, fields.first, fields.counts, fields.starts, fields.knots, fields.index, fields.value
    )
    optimism = optimism_width(table.head.steps)
    arm_rows, offsets = (
        rows_at(place.arm_rows, arms, WHOLE_NUMBER),
        rows_at(place.offsets, arms, NUMBER),
    )
    known, lower = rows_at(place.costs, arms, NUMBER), rows_at(place.lower, arms, NUMBER)
    for one in range(arms):
        lower[one] = known[one]
    if place.cost_rows > 0:
        costs_of(
            fields.index, fields.value, count, arm_rows,
            rows_at(place.cost_means, (place.cost_rows, width), NUMBER),
            rows_at(place.cost_covariances, (place.cost_rows, width, width), NUMBER),
            rows_at(place.noise, place.cost_rows, NUMBER), table.head.max_cost, optimism, lower,
        )  # fmt: skip
    return cheapest(
        fields.index, fields.value, count, arm_rows, offsets, rows_at(place.means, (rows, width), NUMBER),
        rows_at(place.covariances, (rows, width, width), NUMBER), place.part, lower, price, optimism,
        table.head.has_skip, table.arms[arms - 1].upper, EVERY_ARM,
    )  # fmt: skip


def tell_context_at(address: int, identity: int, units: int, cost: float, context: int) -> int:
    """Settle a decision that waits in its slot, and learn from it, with and without its context; as `tell_at`."""
    header = header_at(address)
    slot, place = slot_at(header, identity), place_at(context)
    if header.locked != 0 or identity < 0 or slot.id != identity or header.settled == identity:
        return DECLINED
    if slot.counted == 0 or slot.noted == ELSEWHERE:
        return DECLINED
    table, row, arm = table_at(header.table), slot.row, slot.arm
    spent = table.arms[arm].known_cost if cost != cost else cost
    if not 0.0 <= spent <= table.head.max_cost:  # or not known
        return DECLINED
    interior, noted = is_interior(table.head, arm), slot.noted == IN_SLOT
    arm_rows = rows_at(place.arm_rows, table.head.arms, WHOLE_NUMBER)
    used = rows_at(place.used, 1, NUMBER)
    if noted and interior and arm_rows[arm] == 0 and int(used[0]) >= place.rows:
        return DECLINED  # there must be room first
    _, account, pricing, main = parts_at(address, row)
    slot.id = EMPTY
    pricing.spent += spent
    settle(account, slot.role, slot.target, units, False)
    success, paid, fair = units / WHOLE, pricing.now, slot.fair != 0
    watch = watch_at(place)
    if not fair:
        watch.trust.gap += guard_charge(table, arm, success, spent, paid)
    tally = rows_at(place.tally, (4, table.head.arms), NUMBER)
    tally[0, arm] += 1.0
    tally[1, arm] += success
    tally[2, arm] += 1.0
    tally[3, arm] += spent
    plain = expected(table, arm) if interior else 0.0
    due = learn(table, main, pricing, lesson_of(account, arm, units, spent, True, True, fair), row > 0)
    if noted:
        compare_costs(watch.trust, slot.who, spent - slot.paid * success)
        if interior:
            if arm_rows[arm] == 0:
                arm_rows[arm] = int(used[0])
                used[0] += 1.0
            kept = rows_at(header.features, (header.mask + 1) * header.fields, NUMBER)
            first = (identity & header.mask) * header.fields
            features = kept[first : first + header.fields]
            if update_model(context, features, arm, success, spent, plain, table.head.max_cost):
                used[0] = 1.0
    return TOLD if due == DONE else TOLD + due + DUE * arm


def update_model(
    context: int, features: Any, arm: int, success: float, spent: float, plain: float, max_cost: float
) -> bool:
    """Let the model learn from an outcome in a context. True if the world has moved, and it began anew."""
    place = place_at(context)
    fields, width, rows, watch = fields_at(place, len(features)), place.width, place.rows, watch_at(place)
    arms = (place.watch_size - 6) // 2
    arm_rows, offsets = (
        rows_at(place.arm_rows, arms, WHOLE_NUMBER),
        rows_at(place.offsets, arms, NUMBER),
    )
    means = rows_at(place.means, (rows, width), NUMBER)
    covariances = rows_at(place.covariances, (rows, width, width), NUMBER)
    noise = rows_at(place.noise, place.cost_rows, NUMBER)
    cost_means = rows_at(place.cost_means, (place.cost_rows, width), NUMBER)
    cost_covariances = rows_at(place.cost_covariances, (place.cost_rows, width, width), NUMBER)
    cost_told = rows_at(place.cost_told, place.cost_rows, NUMBER)
    gain = rows_at(place.gain, width, NUMBER)
    count = activate(
        features, fields.kinds, fields.first, fields.counts, fields.starts, fields.knots, fields.index, fields.value
    )
    if place.cost_rows > 0:
        own = arm_rows[arm]
        learn_cost(
            fields.index, fields.value, count, own, spent, cost_told[own], cost_means, cost_covariances, noise,
            NOISE * max_cost * max_cost, gain, width,
        )  # fmt: skip
        cost_told[own] += 1.0
    foretold = learn_success(
        fields.index, fields.value, count, arm, success, arm_rows, offsets, means, covariances, place.part, gain, width
    )
    if not update_evidence(watch, arm, success, foretold, plain):
        return False
    begin(arm_rows, means, covariances, place.part, width)
    begin_costs(cost_means, cost_covariances, noise, cost_told, max_cost, place.part, width)
    reset(watch)
    return True
