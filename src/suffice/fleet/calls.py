"""Compiled steps of many selectors at once, over the rows of a fleet, which are found by an address."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from suffice.kernels.compiler import inlined
from suffice.kernels.rows import Floats, Ints, Rows, dtype_of, rows_at
from suffice.learning.arm_table import REFRESH_DUE, cheapest, learn, refresh_own
from suffice.learning.prices import clipped_price
from suffice.learning.records import ArmRow, Pricing, Table, TableHead
from suffice.learning.tables import NUMBER
from suffice.numbers import ONE_SUCCESS
from suffice.promise.account import Account, limit, reserve, settle
from suffice.selector.verbs import decide, is_open, lesson_of, price_of, role_of

NOTHING_OUT: Final = -1


@dataclass(slots=True)
class FleetPlace:
    """The addresses of the rows of a fleet, and their sizes."""

    accounts: int = 0
    pricings: int = 0
    heads: int = 0
    arms: int = 0
    rooms: int = 0
    out: int = 0  # the arm that each has out, or NOTHING_OUT
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
        at_limit, price = limit(account), price_of(account, pricing, pricing, False)
        arm = -1
        if is_open(at_limit, table.head):
            arm = cheapest(table, max(0.0, price))  # nothing is sampled
        arm = decide(at_limit, table.head, arm)
        reserve(account, role_of(table.head, arm))
        out[one] = arm
        result[at] = arm


def tell_fleet(address: int, which: Ints, units: Ints, costs: Floats, expired: bool) -> None:
    """Settle the decision of each selector listed."""
    place = fleet_at(address)
    accounts, pricings, out = columns_at(place)
    for at in range(len(which)):
        one = which[at]
        table, account, pricing, arm = table_of(place, one), accounts[one], pricings[one], out[one]
        settle(account, role_of(table.head, arm), account.target, units[at], expired)
        lesson = lesson_of(account, arm, units[at], costs[at], True, True, True)
        if learn(table, pricing, pricing, lesson, False) == REFRESH_DUE:
            refresh_own(table, pricing.now)
        out[one] = NOTHING_OUT


def refresh_fleet(address: int) -> None:
    """Recompute the bounds of every selector from its tally."""
    place = fleet_at(address)
    accounts, pricings, _ = columns_at(place)
    for one in range(place.size):
        account, pricing = accounts[one], pricings[one]
        debt = (account.owed - account.successes + account.forgiven) / ONE_SUCCESS
        pricing.now = clipped_price(pricing, debt, account.outcomes)
        refresh_own(table_of(place, one), pricing.now)
