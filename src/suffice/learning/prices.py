"""The price between the limits: linear in the debt, or a curve of the debt around a hint of the right price.

The promise needs only its limits, which are tested on the debt itself. Between them any price is safe; theory 7 ("any
price curve") and measurements decide which one costs least. With b the bend of the curve and x = 1 + debt/b:

    x >= 1         cap                        (debt >= 0: the upper limit)
    0 <= x < 1     hint + (cap − hint)·x³
    −2 <= x < 0    hint·(1 − (−x/2)³)
    x < −2         0

So around debt = −b the price is nearly constant, and farther away it changes faster and faster. The hint begins at the
cap and is then the mean price of the last block; blocks grow by a quarter. A bad hint costs money and nothing else.
"""

import math
from typing import Final

from suffice.learning.records import Lesson, Pricing
from suffice.promise.rules import Promise

BLOCK: Final = 1.25  # how much longer each block of the hint is than the one before
OWN_HINT_AT: Final = 1024  # by measurement: for a group with fewer outcomes the hint of all groups is better


def new_pricing(promise: Promise, *, curved: bool, grouped: bool = False) -> Pricing:
    """The prices of an account without outcomes. Those of a group begin with the hint of all groups."""
    return Pricing(
        cap=promise.cap, start=promise.start, step=promise.step or 0.0, max_surplus=promise.max_surplus or 0.0,
        curved=int(curved), hint=promise.cap, hint_at=float(OWN_HINT_AT) if grouped else 1.0, now=promise.cap,
    )  # fmt: skip


def price_at(pricing: Pricing, debt: float, outcomes: int) -> float:
    """The present price of one success, for an account with this debt. A linear price may be below 0 or above the cap.

    It is computed once per outcome and cached, because an ask and the next outcome need the same price.
    """
    if debt != pricing.last_debt or outcomes != pricing.last_outcomes or pricing.hint != pricing.last_hint:
        pricing.last_price = compute_price(pricing, debt, outcomes)
        pricing.last_debt, pricing.last_outcomes, pricing.last_hint = debt, outcomes, pricing.hint
    return pricing.last_price


def compute_price(pricing: Pricing, debt: float, outcomes: int) -> float:
    """Like `price_at`, without the cache."""
    root = math.sqrt(outcomes) if outcomes > 1 else 1.0
    max_surplus = pricing.max_surplus if pricing.max_surplus > 0.0 else root  # the most successes that may be banked
    if pricing.curved == 0:
        step = pricing.step if pricing.step > 0.0 else pricing.cap / max_surplus
        return pricing.start + step * debt
    bend, most = 0.1 * root + 10.0, max_surplus / 3.0
    if most < bend:
        bend = most  # never smaller than at earlier outcomes
    x = 1.0 + debt / bend
    if x >= 1.0:
        return pricing.cap
    if x >= 0.0:
        return pricing.hint + (pricing.cap - pricing.hint) * (x * x * x)
    if x >= -2.0:
        return pricing.hint * (1.0 + 0.125 * (x * x * x))
    return 0.0


def clipped_price(pricing: Pricing, debt: float, outcomes: int) -> float:
    """Like `price_at`, clipped to [0, cap] (0 for NaN): the price for which the tree of lines is built."""
    price = price_at(pricing, debt, outcomes)
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


def move_price(main: Pricing, pricing: Pricing, steps: int, lesson: Lesson, grouped: bool) -> tuple[float, float]:
    """Update the hints and the price after an outcome. Returns the previous price, and the new one under the previous hint."""
    if grouped:
        borrow_hint(pricing, main)
    previous, price = pricing.now, clipped_price(pricing, lesson.debt, lesson.outcomes)
    pricing.now = price
    if lesson.fresh and pricing.curved > 0:
        update_hint(main, steps, price)
        if grouped:
            update_hint(pricing, lesson.outcomes, price)
        if pricing.hint != pricing.last_hint:
            pricing.now = clipped_price(pricing, lesson.debt, lesson.outcomes)
    return previous, price
