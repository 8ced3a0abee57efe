"""The verbs of a decision, each in one place: what stands, what is played, what is counted and what it teaches.

`decide` and `lesson_of` are these; `reserve`, `settle` and `amend` are in `promise.account`, `learn` is the learner's.
Every driver takes the same steps: the two engines, contexts, fleets, whole runs on streams and the service.
"""

from typing import NamedTuple

from suffice.learning.prices import borrow_hint, price_at
from suffice.learning.records import Lesson, Pricing, TableHead
from suffice.numbers import ONE_SUCCESS
from suffice.promise.account import FREE, SAFE, SKIP, Account, limit


class Standing(NamedTuple):
    """What may be played now (SAFE, SKIP or FREE), and the price of one success."""

    limit: int
    price: float


def standing(account: Account, pricing: Pricing, main: Pricing, grouped: bool) -> Standing:
    """Where an account stands: its limit, and the price."""
    return Standing(limit(account), price_of(account, pricing, main, grouped))


def price_of(account: Account, pricing: Pricing, main: Pricing, grouped: bool) -> float:
    """The price that an account now pays for one success. Changes nothing but a hint that is taken over from all groups."""
    if grouped:
        borrow_hint(pricing, main)
    return price_at(pricing, (account.owed - account.successes + account.forgiven) / ONE_SUCCESS, account.outcomes)


def is_open(now: int, head: TableHead) -> bool:
    """Whether somebody has to propose an arm at this limit. Where there is no skip, that is so at the lower one, too."""
    return now == FREE or (now == SKIP and head.has_skip == 0)


def decide(now: int, head: TableHead, proposal: int) -> int:
    """The arm to play: what a limit demands, or else what was proposed."""
    if now == SAFE:
        return head.arms - 1
    if now == SKIP and head.has_skip > 0:
        return 0
    return proposal


def role_of(head: TableHead, arm: int) -> int:
    """SAFE or SKIP for the arms at the ends, FREE for all others."""
    if arm == head.arms - 1:
        return SAFE
    return SKIP if arm == 0 and head.has_skip > 0 else FREE


def lesson_of(account: Account, arm: int, units: int, cost: float, counted: bool, fresh: bool, fair: bool) -> Lesson:
    """What an outcome teaches that the account has just settled."""
    debt = (account.owed - account.successes + account.forgiven) / ONE_SUCCESS
    return Lesson(arm, units / ONE_SUCCESS, cost, debt, account.outcomes, counted, fresh, fair)
