"""Calls of compiled code on a selector as a whole, found by the address of its header.

Such a call holds the interpreter from its first line to its last. No other thread, no signal handler and no fork can see
it half done, so it needs no lock. Code that changes the state in several steps takes the lock and sets `locked`; a call that
finds it set changes nothing and declines, and its caller takes the slow path, through the lock.

A decision waits in the slot of its id modulo the number of slots, which is a power of two. If another one still waits
there, the call declines, too, and the slow path makes room.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from suffice.kernels.compiler import inlined
from suffice.kernels.rows import dtype_of, row_at, rows_at
from suffice.learning.arm_table import DONE, FIT_FIRST, expected_debt, learn, propose
from suffice.learning.records import Pricing
from suffice.learning.tables import NUMBER, table_at
from suffice.promise.account import amend, cancel, fold, limit, reserve, settle, skip
from suffice.promise.record import SKIP, Account, Reservation
from suffice.selector.verbs import decide, is_open, lesson_of, position_of, price_of, role_of


@dataclass(slots=True)
class Header:
    """The parts of a selector by their addresses, and the state that is no array."""

    accounts: int = 0
    pricings: int = 0
    slots: int = 0
    mask: int = 0  # the number of slots less 1
    features: int = 0  # of contexts, a row for each slot
    fields: int = 0  # how many each row holds
    table: int = 0  # of the arms
    next_id: int = 0
    settled: int = -1  # the decision that the slow path settled last: its slot or entry may still hold it
    lost: int = 0  # whether that one has expired, so that it may be amended
    locked: int = 1
    expire_after: float = 0.0
    due: float = 0.0  # no decision is overdue before this
    seen_at: float = 0.0  # the clock, when it was last read


@dataclass(slots=True)
class Slot:
    """A decision that waits for its outcome."""

    id: int = 0
    row: int = 0
    arm: int = 0
    role: int = 0
    target: int = 0
    expects: int = 0
    exempt: int = 0
    price: float = 0.0
    asked_at: float = 0.0
    counted: int = 0
    unbiased: int = 0
    noted: int = 0  # where the note of a context is: 0 for none, IN_SLOT or ELSEWHERE
    decided_by: int = 0  # UNCOMPARED, MODEL or CONTROL of `context.trust`


HEADER, ACCOUNT, PRICING, SLOT = dtype_of(Header), dtype_of(Account), dtype_of(Pricing), dtype_of(Slot)
EMPTY: Final = -1
MOVING: Final = -2  # less the id: the decision is being moved out of its slot
IN_SLOT, ELSEWHERE = 1, 2
DECLINED, TOLD = 0, 1  # results of `try_tell`; above TOLD: told, and work is due
DUE: Final = 4  # the work that is due is the excess over TOLD modulo this; the rest is the arm


class Parts(NamedTuple):
    """The header of a selector, one of its accounts, its prices, and the prices of the whole."""

    header: Header
    account: Account
    pricing: Pricing
    main: Pricing


@inlined
def parts_at(address: int, row: int) -> Parts:
    """The header at this address, and one of its accounts."""
    header: Header = row_at(address, HEADER)
    pricings = rows_at(header.pricings, row + 1, PRICING)
    return Parts(header, rows_at(header.accounts, row + 1, ACCOUNT)[row], pricings[row], pricings[0])


@inlined
def slot_at(header: Header, identity: int) -> Slot:
    """The slot of a decision, whether it waits there or not."""
    slot: Slot = rows_at(header.slots, header.mask + 1, SLOT)[identity & header.mask]
    return slot


def try_ask(address: int, row: int, now: float) -> tuple[int, int, float]:
    """Decide, and record the decision as outstanding: its id, its arm and the price.

    The id is EMPTY if the ask is unusual, and FIT_FIRST if the cells must be fitted before. A skip is settled at once; the
    work that is due then is subtracted from its arm, which is 0.
    """
    header, account, pricing, main = parts_at(address, row)
    identity = header.next_id
    slot = slot_at(header, identity)
    if header.locked != 0 or slot.id != EMPTY or not header.seen_at <= now < header.due:
        return EMPTY, 0, 0.0
    table = table_at(header.table)
    at_limit = limit(account)
    price = price_of(account, pricing, main, row > 0, at_limit)
    arm = -1
    if is_open(at_limit, table.head):
        arm = propose(table, max(0.0, price))
        if arm == FIT_FIRST:
            return FIT_FIRST, 0, 0.0
    arm = decide(at_limit, table.head, arm)
    role = role_of(table.head, arm)
    if role == SKIP:
        return identity, -skip_at(address, row, now, price), price
    record_at(header, account, row, arm, role, expected_debt(table, arm, account.target), price, now, True, True)
    return identity, arm, price


def count_skip(header: Header, account: Account, now: float) -> None:
    """Settle a skip, which is sure to fail; it needs no slot."""
    skip(account)
    fold(account)
    header.next_id += 1
    header.seen_at = max(header.seen_at, now)


def skip_at(address: int, row: int, now: float, price: float) -> int:
    """Count a skip, and learn from it. The work that is due."""
    header, account, pricing, main = parts_at(address, row)
    count_skip(header, account, now)
    lesson = lesson_of(pricing, 0, 0, 0.0, price, True, True, True)
    return learn(table_at(header.table), main, pricing, account, lesson, row > 0)


def record_at(
    header: Header, account: Account, row: int, arm: int, role: int, expects: int, price: float, now: float, counted: bool,
    unbiased: bool,
) -> None:  # fmt: skip
    """Count a decision as outstanding, and put it into its slot, which is empty."""
    slot = slot_at(header, header.next_id)
    slot.exempt = reserve(account, role, expects) if counted else 0
    slot.id, slot.row, slot.arm, slot.role, slot.target, slot.expects = (
        header.next_id, row, arm, role, account.target, expects
    )  # fmt: skip
    slot.price, slot.asked_at, slot.counted, slot.unbiased, slot.noted = price, now, counted, unbiased, 0
    header.next_id += 1
    header.seen_at = max(header.seen_at, now)
    header.due = min(header.due, now + header.expire_after)


def is_unusual(header: Header, slot: Slot, identity: int) -> bool:
    """Whether a tell must take the slow path: the decision is not in its slot, was settled, or is not counted."""
    waits = identity >= 0 and slot.id == identity and header.settled != identity
    return header.locked != 0 or not waits or slot.counted == 0


def try_tell(address: int, identity: int, units: int, cost: float) -> int:
    """Settle a decision that waits in its slot, and learn from it; a cost of NaN was not told.

    DECLINED if the tell is unusual; else TOLD, or more than that if work is due.
    """
    header: Header = row_at(address, HEADER)
    slot = slot_at(header, identity)
    if is_unusual(header, slot, identity) or slot.noted != 0:
        return DECLINED
    table, row, arm = table_at(header.table), slot.row, slot.arm
    spent = table.arms[arm].known_cost if cost != cost else cost
    if not 0.0 <= spent <= table.head.safe_cost:  # or not known
        return DECLINED
    _, account, pricing, main = parts_at(address, row)
    slot.id = EMPTY
    pricing.spent += spent
    settle(account, slot, units, False)
    fold(account)
    lesson = lesson_of(pricing, arm, units, spent, slot.price, True, True, slot.unbiased != 0)
    due = learn(table, main, pricing, account, lesson, row > 0)
    return TOLD if due == DONE else TOLD + due + DUE * arm


# --- the slow path, a step at a time


def issue_at(
    address: int, row: int, arm: int, role: int, expects: int, price: float, now: float, counted: bool, unbiased: bool,
    noted: bool,
) -> int:  # fmt: skip
    """Record a decision as outstanding; its id, or EMPTY if another one still waits in its slot. A skip is only counted."""
    header, account, _, _ = parts_at(address, row)
    identity = header.next_id
    if role == SKIP:
        count_skip(header, account, now)
        return identity
    if slot_at(header, identity).id != EMPTY:
        return EMPTY
    record_at(header, account, row, arm, role, expects, price, now, counted, unbiased)
    if noted:
        slot_at(header, identity).noted = ELSEWHERE
    return identity


def settle_at(
    address: int, identity: int, row: int, role: int, target: int, expects: int, exempt: int, units: int, expired: bool,
    counted: bool,
) -> None:  # fmt: skip
    """Count an outcome, or an expiry; the decision leaves its slot, if it is in one."""
    header, account, _, _ = parts_at(address, row)
    slot = slot_at(header, identity)
    if slot.id == identity or slot.id == MOVING - identity:
        slot.id = EMPTY
    header.settled, header.lost = identity, int(expired)
    if counted:
        settle(account, Reservation(role, target, expects, exempt), units, expired)
        fold(account)


def cancel_at(
    address: int, identity: int, row: int, role: int, target: int, expects: int, exempt: int, counted: bool
) -> None:
    """Count an outstanding decision as one that was never carried out; it leaves its slot, if it is in one."""
    header, account, _, _ = parts_at(address, row)
    slot = slot_at(header, identity)
    if slot.id == identity or slot.id == MOVING - identity:
        slot.id = EMPTY
    header.settled, header.lost = identity, 0
    if counted:
        cancel(account, Reservation(role, target, expects, exempt))


def amend_at(address: int, identity: int, row: int, role: int, target: int, units: int, counted: bool) -> None:
    """Count the outcome of a decision that had expired."""
    header, account, _, _ = parts_at(address, row)
    header.settled, header.lost = identity, 0
    if counted:
        amend(account, Reservation(role, target, 0, 0), units)
        fold(account)


def position_at(address: int, row: int) -> tuple[int, float]:
    """What an account allows now, and its price."""
    _, account, pricing, main = parts_at(address, row)
    position = position_of(account, pricing, main, row > 0)
    return position.limit, position.price


def move_slots_at(address: int, slots: int, mask: int, features: int) -> None:
    """Move all decisions, and their features, to a larger number of slots, which are empty."""
    header: Header = row_at(address, HEADER)
    old, new = rows_at(header.slots, header.mask + 1, SLOT), rows_at(slots, mask + 1, SLOT)
    fields = header.fields
    old_features = rows_at(header.features, (header.mask + 1) * fields, NUMBER)
    new_features = rows_at(features, (mask + 1) * fields, NUMBER)
    for place in range(header.mask + 1):
        if old[place].id != EMPTY:
            identity = old[place].id if old[place].id >= 0 else MOVING - old[place].id
            slot = identity & mask
            new[slot] = old[place]
            for field in range(fields):
                new_features[slot * fields + field] = old_features[place * fields + field]
    header.slots, header.mask, header.features = slots, mask, features


def move_rows_at(address: int, accounts: int, pricings: int, rows: int) -> None:
    """Move accounts and prices to larger arrays."""
    header: Header = row_at(address, HEADER)
    old, old_prices = rows_at(header.accounts, rows, ACCOUNT), rows_at(header.pricings, rows, PRICING)
    new, new_prices = rows_at(accounts, rows, ACCOUNT), rows_at(pricings, rows, PRICING)
    for row in range(rows):
        new[row], new_prices[row] = old[row], old_prices[row]
    header.accounts, header.pricings = accounts, pricings
