"""Compiled steps of many selectors at once, over the rows of a fleet, which are found by an address."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from suffice.kernels.compiler import inlined
from suffice.kernels.rows import Floats, Ints, Rows, dtype_of, rows_at
from suffice.learning.arm_table import REFRESH_DUE, cheapest, expected_debt, learn, refresh_own
from suffice.learning.prices import clipped_price
from suffice.learning.records import ArmRow, Pricing, Table, TableHead
from suffice.learning.tables import NUMBER
from suffice.promise.account import amend, limit, reserve, settle, skip
from suffice.promise.record import SAFE, SKIP, Account, Reservation
from suffice.selector.verbs import decide, is_open, lesson_of, price_of, role_of

NOTHING_OUT: Final = -1
SKIPPED: Final = -2  # a skip, which was settled when it was asked; it may still be told


@dataclass(slots=True)
class FleetPlace:
    """The addresses of the rows of a fleet, and their sizes."""

    accounts: int = 0
    pricings: int = 0
    heads: int = 0
    arms: int = 0
    rooms: int = 0
    out: int = 0  # the arm that each has out, NOTHING_OUT or SKIPPED
    size: int = 0
    count: int = 0  # of arms
    room: int = 0


PLACE: Final = dtype_of(FleetPlace)
ACCOUNT, PRICING, HEAD, ARM = dtype_of(Account), dtype_of(Pricing), dtype_of(TableHead), dtype_of(ArmRow)
WHOLE_NUMBER: Final = np.dtype(np.int64)
ARM_BYTES: Final = ARM.itemsize


@inlined
def fleet_at(address: int) -> FleetPlace:
    """The addresses of a fleet."""
    place: FleetPlace = rows_at(address, 1, PLACE)[0]
    return place


@inlined
def table_of(place: FleetPlace, one: int) -> Table:
    """The table of one selector."""
    return Table(
        rows_at(place.heads, place.size, HEAD)[one],
        rows_at(place.arms + one * place.count * ARM_BYTES, place.count, ARM),
        rows_at(place.rooms + one * place.room * 8, place.room, NUMBER),
    )


@inlined
def columns_at(place: FleetPlace) -> tuple[Rows, Rows, Ints]:
    """The accounts, the prices and the decisions that are out, a row for each selector."""
    return (
        rows_at(place.accounts, place.size, ACCOUNT),
        rows_at(place.pricings, place.size, PRICING),
        rows_at(place.out, place.size, WHOLE_NUMBER),
    )


def ask_fleet(address: int, which: Ints, result: Ints) -> None:
    """Write a decision for each selector listed; none of them has one out."""
    place = fleet_at(address)
    accounts, pricings, out = columns_at(place)
    for at in range(len(which)):
        one = which[at]
        table, account, pricing = table_of(place, one), accounts[one], pricings[one]
        at_limit = limit(account)
        price = price_of(account, pricing, pricing, False, at_limit)
        arm = -1
        if is_open(at_limit, table.head):
            arm = cheapest(table, max(0.0, price))  # nothing is sampled
        arm = decide(at_limit, table.head, arm)
        result[at] = arm
        if role_of(table.head, arm) == SKIP:
            skip(account)
            learn_own(table, pricing, account, arm, 0, 0.0)
            out[one] = SKIPPED
        else:
            reserve(account, role_of(table.head, arm), expected_debt(table, arm, account.target))
            out[one] = arm


def tell_fleet(address: int, which: Ints, units: Ints, costs: Floats, expired: bool) -> None:
    """Settle the decision of each selector listed."""
    place = fleet_at(address)
    accounts, pricings, out = columns_at(place)
    for at in range(len(which)):
        one = which[at]
        table, account, pricing, arm = table_of(place, one), accounts[one], pricings[one], out[one]
        if settle_out(account, table.head, arm, units[at], expired):
            learn_own(table, pricing, account, arm, units[at], costs[at])
        out[one] = NOTHING_OUT


def settle_out(account: Account, head: TableHead, arm: int, units: int, expired: bool) -> bool:
    """Settle the decision that a selector has out, or amend its skip. Whether there is an outcome to learn from."""
    if arm == SKIPPED:
        if units > 0:
            amend(account, Reservation(SKIP, account.target, 0, 0), units)
        return False
    role = role_of(head, arm)
    # One decision is out: what is reserved and expected is its own, and if nothing is reserved, a limit forced it.
    exempt = 1 if account.reserved == 0 else 0
    settle(account, Reservation(role, account.target, account.expected, exempt), units, expired)
    return not expired or role != SAFE


def learn_own(table: Table, pricing: Pricing, account: Account, arm: int, units: int, cost: float) -> None:
    """Learn from an outcome that is counted. Nothing is sampled, so the price that was paid does not matter."""
    lesson = lesson_of(pricing, arm, units, cost, pricing.now, True, True, True)
    if learn(table, pricing, pricing, account, lesson, False) == REFRESH_DUE:
        refresh_own(table, pricing.now)


def refresh_fleet(address: int) -> None:
    """Recompute the bounds of every selector from its tally."""
    place = fleet_at(address)
    accounts, pricings, _ = columns_at(place)
    for one in range(place.size):
        account, pricing = accounts[one], pricings[one]
        pricing.now = clipped_price(pricing, account)
        refresh_own(table_of(place, one), pricing.now)
