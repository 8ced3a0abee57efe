"""The price between the limits: linear in the expected exposure, or a curve of it around a hint of the right price.

The promise needs only its limits, which are tested on the account itself. Between them any price is safe; theory 7 ("any
price curve") and measurements decide which one costs least. The price looks at the expected exposure e: the debt, and what
the outstanding decisions will add to it as far as is known. With u = e − (max_debt − target), b the bend of the curve and
x = 1 + u/b:

    x >= 1         cap                        (the upper limit)
    0 <= x < 1     hint + (cap − hint)·x³
    −2 <= x < 0    hint·(1 − (−x/2)³)
    x < −2         0

So around u = −b the price is nearly constant, and farther away it changes faster and faster. The hint begins at the
cap and is then the mean price of the last block; blocks grow by a quarter. A bad hint costs money and nothing else. Where a
limit forces the safe option, the price is the cap.
"""

import math
from typing import Final

from suffice.learning.records import Lesson, Pricing
from suffice.numbers import ONE_SUCCESS
from suffice.promise.account import limit
from suffice.promise.record import SAFE, Account
from suffice.promise.rules import Promise

BLOCK: Final = 1.25  # how much longer each block of the hint is than the one before
OWN_HINT_AT: Final = 1024  # by measurement: for a group with fewer outcomes the hint of all groups is better


def new_pricing(promise: Promise, *, curved: bool, grouped: bool = False) -> Pricing:
    """The prices of an account without outcomes. Those of a group begin with the hint of all groups."""
    ruled = promise.start is not None
    return Pricing(
        cap=promise.cap, start=promise.start or 0.0, step=_step(promise) if ruled else 0.0, ruled=int(ruled),
        curved=int(curved), hint=promise.cap, hint_at=float(OWN_HINT_AT) if grouped else 1.0, now=promise.cap,
    )  # fmt: skip


def _step(promise: Promise) -> float:
    """The step of a linear price under a rule; 0 if it falls as the surplus that may be banked grows."""
    if promise.step is not None:
        return promise.step
    return 0.0 if promise.max_surplus is None else promise.cap / promise.max_surplus


def price_at(pricing: Pricing, account: Account, at_limit: int) -> float:
    """The present price of one success in an account, of which this must be played now (`limit`).

    It looks at the expected exposure: the debt, and what the outstanding decisions will add to it as far as is known. A
    linear price of a `Rule` looks at the debt alone, and may be below 0 or above the cap.
    """
    tracked, surplus = account.owed - account.successes + account.forgiven, account.max_surplus / ONE_SUCCESS
    # The debt from which on the safe option is played: one billionth is the smallest change of a debt.
    top = (account.max_debt + 1 - account.target) / ONE_SUCCESS
    exposed = tracked / ONE_SUCCESS
    if pricing.ruled == 0:
        if at_limit == SAFE:
            return pricing.cap
        # Or the exposure from which on it is played, whichever is nearer.
        room = account.max_exposure - account.reserved - tracked
        exposed = max(tracked + account.expected, account.max_debt - room) / ONE_SUCCESS
    if pricing.curved == 0:
        if pricing.step > 0.0:
            return pricing.start + pricing.step * exposed
        return pricing.cap * (exposed + surplus) / (top + surplus)
    root = math.sqrt(account.outcomes) if account.outcomes > 1 else 1.0
    x = 1.0 + (exposed - top) / min(0.1 * root + 10.0, (surplus + top) / 3.0)
    if x >= 1.0:
        return pricing.cap
    if x >= 0.0:
        return pricing.hint + (pricing.cap - pricing.hint) * (x * x * x)
    if x >= -2.0:
        return pricing.hint * (1.0 + 0.125 * (x * x * x))
    return 0.0


def clipped_price(pricing: Pricing, account: Account) -> float:
    """Like `price_at`, clipped to [0, cap] (0 for NaN): the price for which the tree of lines is built."""
    price = price_at(pricing, account, limit(account))
    if not price > 0.0:
        return 0.0
    return price if price < pricing.cap else pricing.cap


def update_hint(pricing: Pricing, outcomes: int, price: float) -> None:
    """Add the price to the hint: the mean over a block, at whose end a longer block begins."""
    pricing.hint_sum += price
    pricing.hint_count += 1.0
    if outcomes >= pricing.hint_at:
        pricing.hint = min(max(pricing.hint_sum / pricing.hint_count, 0.0), pricing.cap)
        pricing.hint_sum = 0.0
        pricing.hint_count = 0.0
        pricing.hint_at = math.ceil(BLOCK * outcomes) + 1.0


def borrow_hint(pricing: Pricing, main: Pricing) -> None:
    """Copy the hint of all groups, until the group has one of its own."""
    if pricing.hint_at <= OWN_HINT_AT:
        pricing.hint = main.hint


def move_price(main: Pricing, pricing: Pricing, account: Account, steps: int, lesson: Lesson, grouped: bool) -> float:
    """Update the hints and the price after an outcome that the account has counted. Returns the new price."""
    if grouped:
        borrow_hint(pricing, main)
    pricing.now = clipped_price(pricing, account)
    if lesson.fresh and pricing.curved > 0:
        before = pricing.hint
        update_hint(main, steps, pricing.now)
        if grouped:
            update_hint(pricing, account.outcomes, pricing.now)
        if pricing.hint != before:
            pricing.now = clipped_price(pricing, account)
    return pricing.now
