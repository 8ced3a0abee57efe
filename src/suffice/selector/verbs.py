"""The steps of a decision that need no state of their own: what the account allows, what is played, what an outcome teaches.

`reserve`, `settle` and `amend` are in `promise.account`; `learn` is the learner's. Every driver takes the same steps: the two
engines, contexts, fleets, whole runs on streams and the service.
"""

from typing import Any, NamedTuple

from suffice.learning.prices import borrow_hint, price_at
from suffice.learning.records import Lesson, Pricing, TableHead
from suffice.numbers import ONE_SUCCESS
from suffice.promise.account import limit
from suffice.promise.record import FREE, SAFE, SKIP, Account


class Position(NamedTuple):
    """What the account allows now (SAFE, SKIP or FREE), and the price of one success."""

    limit: int
    price: float


class Choice(NamedTuple):
    """What is played on an account."""

    arm: int
    role: int  # SAFE, SKIP or FREE
    price: float
    expects: int  # what it is expected to add to the debt, in billionths
    unbiased: bool  # False where a context, or a chooser of the user's own, had a part in it
    note: Any  # what the model recorded of the context


def position_of(account: Account, pricing: Pricing, main: Pricing, grouped: bool) -> Position:
    """What an account allows now, and its price."""
    at_limit = limit(account)
    return Position(at_limit, price_of(account, pricing, main, grouped, at_limit))


def price_of(account: Account, pricing: Pricing, main: Pricing, grouped: bool, at_limit: int) -> float:
    """The price of one success in an account. A small group first takes over the hint of the whole."""
    if grouped:
        borrow_hint(pricing, main)
    return price_at(pricing, account, at_limit)


def is_open(at_limit: int, head: TableHead) -> bool:
    """Whether the learner proposes an arm: between the limits, and at the lower one if there is no skip."""
    return at_limit == FREE or (at_limit == SKIP and head.has_skip == 0)


def decide(at_limit: int, head: TableHead, proposal: int) -> int:
    """The arm to play: that of the limit, or else the proposal."""
    if at_limit == SAFE:
        return head.arms - 1
    if at_limit == SKIP and head.has_skip > 0:
        return 0
    return proposal


def role_of(head: TableHead, arm: int) -> int:
    """SAFE or SKIP for the arms at the ends, FREE for all others."""
    if arm == head.arms - 1:
        return SAFE
    return SKIP if arm == 0 and head.has_skip > 0 else FREE


def lesson_of(
    pricing: Pricing, arm: int, units: int, cost: float, price: float, counted: bool, fresh: bool, unbiased: bool
) -> Lesson:
    """The lesson of an outcome that the account has just counted; `price` is that at which it was asked."""
    paid = min(max(0.0, price), pricing.cap)
    return Lesson(arm, units / ONE_SUCCESS, cost, paid, counted, fresh, unbiased)
