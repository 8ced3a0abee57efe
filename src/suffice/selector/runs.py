"""Whole runs on a stream, compiled: the usual steps, in a world that is known beforehand.

A world is five arrays. If `units` has rows, the latent is the number of a row, which holds the success of every arm in
billionths; `charges` holds the costs. Else an arm succeeds where the latent lies between `low` and `high`, at the cost in
`costs`. The results go to `played`, `succeeded`, `spent` and `prices`.
"""

from typing import Final

from suffice.kernels.compiler import compiled
from suffice.kernels.rows import Floats, Ints, Rows
from suffice.learning.arm_table import DONE, FIT_FIRST, PAST_DUE, cheapest, learn, learn_arm, look_back, propose
from suffice.learning.prices import price_at
from suffice.learning.records import Lesson
from suffice.learning.tables import table_at
from suffice.numbers import ONE_SUCCESS
from suffice.promise.account import amend, fold, limit, reserve, settle, skip
from suffice.promise.record import FREE, SAFE, SKIP, Account, Reservation
from suffice.selector.compiled_calls import DUE, TOLD, parts_at
from suffice.selector.engines import Engine
from suffice.selector.first_round import FirstRound
from suffice.selector.verbs import decide, is_open, lesson_of, price_of, role_of
from suffice.selector.world import Block, World

LOW_ARM, MIDDLE_ARM, HIGH_ARM = 0, 1, 2  # of a threshold
NO_PRICE: Final = 0.0  # paid: the guard is not asked


def judged(latent: float, arm: int, low: Floats, high: Floats, units: Floats) -> int:
    """The success of an arm in a step, in billionths."""
    if len(units) > 0:
        return int(units[int(latent), arm])
    return ONE_SUCCESS if low[arm] <= latent <= high[arm] else 0


def charge_of(latent: float, arm: int, costs: Floats, charges: Floats) -> float:
    """The cost of an arm in a step."""
    return float(charges[int(latent), arm]) if len(charges) > 0 else float(costs[arm])


def step_account(account: Account, role: int, units: int) -> None:
    """Ask, and tell the outcome at once."""
    if role == SKIP:
        skip(account)
        if units > 0:
            amend(account, Reservation(SKIP, account.target, 0, 0), units)
    else:
        settle(account, Reservation(role, account.target, 0, reserve(account, role, 0)), units, False)
    fold(account)


def play(
    address: int, latents: Floats, low: Floats, high: Floats, costs: Floats, units: Floats, charges: Floats,
    played: Ints, succeeded: Floats, spent: Floats, prices: Floats, step: int, opening: int,
) -> tuple[int, int, int]:  # fmt: skip
    """A selector's run from this step on, until its end or until rare, expensive work is due.

    `opening` is the next arm of a first round, 0 where there is none. Returns the next step, the next arm of a first round,
    and the work that is due: FIT_FIRST, or as from `try_tell`.
    """
    header, account, pricing, main = parts_at(address, 0)
    table = table_at(header.table)
    first_round, last = opening > 0, table.head.arms - 1
    while step < len(latents):
        at_limit = limit(account)
        price = price_of(account, pricing, main, False, at_limit)
        opens = first_round and opening < last
        if opens:
            arm = opening
            opening += 1
        else:
            arm = -1
            if is_open(at_limit, table.head):
                arm = propose(table, max(0.0, price))
                if arm == FIT_FIRST:
                    return step, opening, FIT_FIRST
            arm = decide(at_limit, table.head, arm)
        header.next_id += 1
        success = judged(latents[step], arm, low, high, units)
        cost = charge_of(latents[step], arm, costs, charges)
        pricing.spent += cost
        if not opens:
            step_account(account, role_of(table.head, arm), success)
        lesson = lesson_of(pricing, arm, success, cost, price, not opens, True, True)
        due = learn(table, main, pricing, account, lesson, False)
        played[step] = arm
        succeeded[step] = success / ONE_SUCCESS
        spent[step] = cost
        prices[step] = price
        step += 1
        if due == PAST_DUE:
            due = look_back(table, arm, pricing.now)
        if due != DONE:
            return step, opening, TOLD + due + DUE * arm
    return step, opening, TOLD


def play_projected(
    address: int, latents: Floats, low: Floats, high: Floats, costs: Floats, units: Floats, charges: Floats,
    played: Ints, succeeded: Floats, spent: Floats, prices: Floats, step: int, opening: int, price: float, step_size: float,
    cap: float, target: float,
) -> tuple[int, int, float, int]:  # fmt: skip
    """Like `play`, but for the projected baseline on a table of arms: always the argmin, and a price that is clipped."""
    table = table_at(address)
    last = table.head.arms - 1
    while step < len(latents):
        prices[step] = price
        opens = opening < last
        if opens:
            arm = opening
            opening += 1
        else:
            arm = cheapest(table, price)
        success = judged(latents[step], arm, low, high, units)
        cost = charge_of(latents[step], arm, costs, charges)
        if not opens:
            price = min(max(price + step_size * (target - success / ONE_SUCCESS), 0.0), cap)
            table.head.steps += 1
        due = learn_arm(table, Lesson(arm, success / ONE_SUCCESS, cost, NO_PRICE, not opens, True, True), price)
        played[step] = arm
        succeeded[step] = success / ONE_SUCCESS
        spent[step] = cost
        step += 1
        if due != DONE:
            return step, opening, price, TOLD + due + DUE * arm
    return step, opening, price, TOLD


def play_threshold(
    accounts: Rows, pricings: Rows, latents: Floats, bottom: float, top: float, inside_low: float, inside_high: float,
    has_skip: bool, played: Ints, succeeded: Floats, spent: Floats, prices: Floats,
) -> None:  # fmt: skip
    """A run of the scalar controller where a step succeeds at thresholds from its latent on, and cost is linear."""
    account, pricing = accounts[0], pricings[0]
    for step in range(len(latents)):
        now = limit(account)
        price = price_at(pricing, account, now)
        prices[step] = price
        if now == SAFE:
            arm, role, value = HIGH_ARM, SAFE, top
        elif now == SKIP:
            arm, role, value = LOW_ARM, SKIP if has_skip else FREE, bottom
        else:
            arm, role, value = MIDDLE_ARM, FREE, min(max(bottom + price, inside_low), inside_high)
        success = 1 if latents[step] <= value else 0
        step_account(account, role, ONE_SUCCESS * success)
        played[step] = arm
        succeeded[step] = success
        spent[step] = (value - bottom) / pricing.cap
        pricing.spent += spent[step]


def play_world(engine: Engine, first_round: FirstRound, world: World, latents: Floats, block: Block) -> None:
    """A selector's run, and the rare, expensive work that it makes due."""
    step, opening = 0, 0 if first_round.over else first_round.next
    while step < len(latents):
        step, opening, left = compiled(play)(engine.address, latents, *world, *block.columns, step, opening)
        if left == FIT_FIRST:
            engine.fit()
        elif left > TOLD:
            engine.catch_up(left)
    first_round.next = opening or first_round.next
