"""Ask and tell in a context, each whole in one call of compiled code.

The steps are those that `context.learner` takes one by one. The slot of a decision holds it until its outcome; a row beside
the slot holds the features of its context. `ContextPlace` holds the addresses of the model's arrays.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from suffice.context.encode import activate
from suffice.context.logistic import (
    EVERY_ARM,
    NOISE,
    cheapest,
    learn_cost,
    lower_costs,
    optimism_width,
    start_costs,
    start_weights,
)
from suffice.context.logistic import learn as learn_success
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
from suffice.kernels.rows import Floats, Ints, dtype_of, row_at, rows_at
from suffice.learning.arm_table import (
    DONE,
    FIT_FIRST,
    expected_debt,
    fit_is_due,
    guard_charge,
    is_interior,
    learn,
    likely_units,
    propose,
)
from suffice.learning.guard import allowance
from suffice.learning.records import Table
from suffice.learning.rng import WORDS
from suffice.learning.tables import NUMBER, table_at
from suffice.learning.thompson import expected
from suffice.promise.account import fold, limit, settle
from suffice.promise.record import SKIP
from suffice.selector.compiled_calls import (
    DECLINED,
    DUE,
    ELSEWHERE,
    EMPTY,
    HEADER,
    IN_SLOT,
    TOLD,
    Header,
    count_skip,
    is_unusual,
    parts_at,
    record_at,
    slot_at,
)
from suffice.selector.verbs import decide, is_open, lesson_of, price_of, role_of


@dataclass(slots=True)
class ContextPlace:
    """The addresses and sizes of a model's arrays."""

    trust: int = 0
    watch: int = 0
    watch_size: int = 0
    tally: int = 0
    # Features: per field its kind, first feature, count of basis functions or categories, and where its knots begin.
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
    noise: int = 0  # of told costs, and what predicts them; no rows where costs are known
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


class Model(NamedTuple):
    """A model's arrays: those of the features, room for the features of one context that are not 0, and the weights."""

    kinds: Ints
    first: Ints
    counts: Ints
    starts: Ints
    knots: Floats
    index: Any  # integers; a tuple has a method of this name
    value: Floats
    arm_rows: Ints
    offsets: Floats
    means: Floats
    covariances: Floats
    noise: Floats
    cost_means: Floats
    cost_covariances: Floats


@inlined
def watch_at(place: ContextPlace) -> Watch:
    """The evidence for and against a model."""
    return Watch(rows_at(place.trust, 1, TRUST)[0], rows_at(place.watch, place.watch_size, NUMBER))


@inlined
def model_at(place: ContextPlace, fields: int, arms: int) -> Model:
    """The arrays of a model."""
    return Model(
        rows_at(place.kinds, fields, WHOLE_NUMBER),
        rows_at(place.first, fields, WHOLE_NUMBER),
        rows_at(place.counts, fields, WHOLE_NUMBER),
        rows_at(place.starts, fields, WHOLE_NUMBER),
        rows_at(place.knots, place.knots_size, NUMBER),
        rows_at(place.index, place.active, WHOLE_NUMBER),
        rows_at(place.value, place.active, NUMBER),
        rows_at(place.arm_rows, arms, WHOLE_NUMBER),
        rows_at(place.offsets, arms, NUMBER),
        rows_at(place.means, (place.rows, place.width), NUMBER),
        rows_at(place.covariances, (place.rows, place.width, place.width), NUMBER),
        rows_at(place.noise, place.cost_rows, NUMBER),
        rows_at(place.cost_means, (place.cost_rows, place.width), NUMBER),
        rows_at(place.cost_covariances, (place.cost_rows, place.width, place.width), NUMBER),
    )


@inlined
def features_at(header: Header, identity: int) -> Floats:
    """The features of the context of a decision in its slot."""
    features: Floats = rows_at(header.features + 8 * header.fields * (identity & header.mask), header.fields, NUMBER)
    return features


def ready_at(address: int, now: float) -> int:
    """READY if `ask_context_at` can be called; NO_ROOM if a slot must be freed before; NOT_READY if the ask is unusual."""
    header: Header = row_at(address, HEADER)
    if header.locked != 0 or not header.seen_at <= now < header.due:
        return NOT_READY
    if slot_at(header, header.next_id).id != EMPTY:
        return NO_ROOM
    return READY


def ask_context_at(address: int, row: int, now: float, context: int, features: Floats) -> tuple[int, int, float]:
    """Decide in a context, and record the decision as outstanding: its id, its arm and the price. It must be READY.

    The id is FIT_FIRST if the cells must be fitted before; then nothing has changed. A skip is settled at once; the work
    that is due then is subtracted from its arm, which is 0, and DUE too if the model chose it.
    """
    header, account, pricing, main = parts_at(address, row)
    table = table_at(header.table)
    at_limit = limit(account)
    price = price_of(account, pricing, main, row > 0, at_limit)
    arm, decided_by, unbiased, proposed, paid = -1, UNCOMPARED, True, is_open(at_limit, table.head), max(0.0, price)
    if proposed:
        watch = watch_at(row_at(context, CONTEXT))
        if watch.trust.given > 0 and watch.trust.gap <= allowance(table.head):
            if fit_is_due(table) and would_be_control(watch):
                return FIT_FIRST, 0, 0.0
            if is_control(watch):
                decided_by = CONTROL
            else:
                decided_by, unbiased = MODEL, False
                arm = model_arm(context, table, features, paid)
        if arm < 0:
            arm = propose(table, paid)
            if arm == FIT_FIRST:
                return FIT_FIRST, 0, 0.0
    arm = decide(at_limit, table.head, arm)
    identity, role = header.next_id, role_of(table.head, arm)
    if role == SKIP:
        return identity, -skip_context_at(address, row, now, price, context, proposed, decided_by, unbiased), price
    expects = likely_debt(row_at(context, CONTEXT), table, arm, account.target)
    record_at(header, account, row, arm, role, expects, price, now, True, unbiased)
    if proposed:
        slot = slot_at(header, identity)
        slot.noted, slot.decided_by = IN_SLOT, decided_by
        kept = features_at(header, identity)
        for field in range(header.fields):
            kept[field] = features[field]
    return identity, arm, price


def likely_debt(place: ContextPlace, table: Table, arm: int, target: int) -> int:
    """What a play of this arm is expected to add to the debt, in billionths, by the record of all its plays."""
    if arm == table.head.arms - 1:
        return expected_debt(table, arm, target)
    tally = rows_at(place.tally, (4, table.head.arms), NUMBER)
    return target - likely_units(tally[0, arm], tally[1, arm], target)


def skip_context_at(
    address: int, row: int, now: float, price: float, context: int, proposed: bool, decided_by: int, unbiased: bool
) -> int:
    """Count a skip, and learn from it. The work that is due, and DUE more if the model chose the skip."""
    header, account, pricing, main = parts_at(address, row)
    table, place = table_at(header.table), row_at(context, CONTEXT)
    count_skip(header, account, now)
    lesson, watch = lesson_of(pricing, 0, 0, 0.0, price, True, True, unbiased), watch_at(place)
    if not unbiased:
        watch.trust.gap += guard_charge(table, 0, 0.0, 0.0, lesson.paid)
    tally = rows_at(place.tally, (4, table.head.arms), NUMBER)
    tally[0, 0] += 1.0
    tally[2, 0] += 1.0
    due = learn(table, main, pricing, account, lesson, row > 0)
    if proposed:
        compare_costs(watch.trust, decided_by, 0.0)
    return due if unbiased else due + DUE


def would_be_control(watch: Watch) -> bool:
    """Whether the next random draw leaves the decision to the chooser. The draw is taken back."""
    room = watch.room
    before = room[0], room[1], room[2], room[3], room[4], room[5]
    control = is_control(watch)
    for word in range(WORDS):
        room[word] = before[word]
    return control


def model_arm(context: int, table: Table, features: Floats, price: float) -> int:
    """The arm that the model estimates to be cheapest at this price in this context."""
    place, head = row_at(context, CONTEXT), table.head
    model, optimism = model_at(place, len(features), head.arms), optimism_width(head.steps)
    index, value = model.index, model.value
    count = activate(features, model.kinds, model.first, model.counts, model.starts, model.knots, index, value)
    known, lower = rows_at(place.costs, head.arms, NUMBER), rows_at(place.lower, head.arms, NUMBER)
    for one in range(head.arms):
        lower[one] = known[one]
    if place.cost_rows > 0:
        lower_costs(
            index, value, count, model.arm_rows, model.cost_means, model.cost_covariances, model.noise, head.safe_cost,
            optimism, lower,
        )  # fmt: skip
    return cheapest(
        index, value, count, model.arm_rows, model.offsets, model.means, model.covariances, place.part, lower, price,
        optimism, head.has_skip, table.arms[head.arms - 1].upper, EVERY_ARM,
    )  # fmt: skip


def tell_context_at(address: int, identity: int, units: int, cost: float, context: int) -> int:
    """Like `try_tell`, but the model learns too, from the context in the slot."""
    header: Header = row_at(address, HEADER)
    slot, place = slot_at(header, identity), row_at(context, CONTEXT)
    if is_unusual(header, slot, identity) or slot.noted == ELSEWHERE:
        return DECLINED
    table, row, arm = table_at(header.table), slot.row, slot.arm
    spent = table.arms[arm].known_cost if cost != cost else cost
    if not 0.0 <= spent <= table.head.safe_cost:  # or not known
        return DECLINED
    interior, noted = is_interior(table.head, arm), slot.noted == IN_SLOT
    arm_rows = rows_at(place.arm_rows, table.head.arms, WHOLE_NUMBER)
    used = rows_at(place.used, 1, NUMBER)
    if noted and interior and arm_rows[arm] == 0 and int(used[0]) >= place.rows:
        return DECLINED  # there must be room first
    _, account, pricing, main = parts_at(address, row)
    slot.id = EMPTY
    pricing.spent += spent
    settle(account, slot, units, False)
    fold(account)
    lesson = lesson_of(pricing, arm, units, spent, slot.price, True, True, slot.unbiased != 0)
    success, watch = lesson.success, watch_at(place)
    if not lesson.unbiased:
        watch.trust.gap += guard_charge(table, arm, success, spent, lesson.paid)
    tally = rows_at(place.tally, (4, table.head.arms), NUMBER)
    tally[0, arm] += 1.0
    tally[1, arm] += success
    tally[2, arm] += 1.0
    tally[3, arm] += spent
    plain = expected(table, arm) if interior else 0.0
    due = learn(table, main, pricing, account, lesson, row > 0)
    if noted:
        compare_costs(watch.trust, slot.decided_by, spent - max(0.0, slot.price) * success)
        if interior:
            if arm_rows[arm] == 0:
                arm_rows[arm] = int(used[0])
                used[0] += 1.0
            if update_model(context, features_at(header, identity), arm, success, spent, plain, table.head.safe_cost):
                used[0] = 1.0
    return TOLD if due == DONE else TOLD + due + DUE * arm


def update_model(
    context: int, features: Floats, arm: int, success: float, spent: float, plain: float, safe_cost: float
) -> bool:
    """Let the model learn from an outcome in a context. True if the evidence shows drift, so that it starts again."""
    place: ContextPlace = row_at(context, CONTEXT)
    width = place.width
    watch, arms = watch_at(place), (place.watch_size - 6) // 2
    model, told = model_at(place, len(features), arms), rows_at(place.cost_told, place.cost_rows, NUMBER)
    index, value, gain = model.index, model.value, rows_at(place.gain, width, NUMBER)
    count = activate(features, model.kinds, model.first, model.counts, model.starts, model.knots, index, value)
    if place.cost_rows > 0:
        own = model.arm_rows[arm]
        learn_cost(
            index, value, count, own, spent, told[own], model.cost_means, model.cost_covariances, model.noise,
            NOISE * safe_cost * safe_cost, gain, width,
        )  # fmt: skip
        told[own] += 1.0
    foretold = learn_success(
        index, value, count, arm, success, model.arm_rows, model.offsets, model.means, model.covariances, place.part, gain,
        width,
    )  # fmt: skip
    if not update_evidence(watch, arm, success, foretold, plain):
        return False
    start_weights(model.arm_rows, model.means, model.covariances, place.part, width)
    start_costs(model.cost_means, model.cost_covariances, model.noise, told, safe_cost, place.part, width)
    reset(watch)
    return True
