"""The step: what to play given a book and its arms, and what an outcome changes. One step, many drivers."""

from typing import Any

from suffice.book import (
    CAP,
    EVERYTHING,
    NEXT_ID,
    NOTHING,
    OUT,
    PRICE,
    SETTLED,
    TOLD,
    amend_of,
    ask_of,
    back_of,
    dual_of,
    rail_of,
    record_of,
)
from suffice.checks import WHOLE
from suffice.kernels.arms import ARMS, HAS_NOTHING, cheapest, learn


def choose(book: Any, arms: Any) -> int:
    """The arm to play now: at a rail its boundary arm, between them the optimist's."""
    rail = rail_of(book)
    if rail == EVERYTHING:
        return int(arms[ARMS]) - 1
    if rail == NOTHING and arms[HAS_NOTHING] > 0.0:
        return 0
    # Where there is no nothing, the cheapest option is played at the bottom: the price of a success is 0 there.
    return cheapest(arms, max(0.0, dual_of(book)))


def kind_of(arms: Any, arm: int) -> int:
    """EVERYTHING or NOTHING for the boundary arms, PRICE for all others."""
    if arm == arms[ARMS] - 1:
        return EVERYTHING
    return NOTHING if arm == 0 and arms[HAS_NOTHING] > 0.0 else PRICE


def price_of(book: Any) -> float:
    """The dual, cut to where it is a price: where the envelope is to be settled."""
    return float(min(max(dual_of(book), 0.0), book[CAP]))


def count(book: Any, arms: Any, arm: int, units: int, cost: float, expired: bool) -> None:
    """Count and take in the outcome of a decision that was out."""
    kind = kind_of(arms, arm)
    back_of(book, kind)
    record_of(book, kind, units, expired)
    learn(arms, arm, units / WHOLE, cost, 1, int(book[TOLD]), price_of(book))


def amend(book: Any, arms: Any, arm: int, units: int, cost: float) -> None:
    """Count and take in an outcome that came after its decision had expired."""
    amend_of(book, kind_of(arms, arm), units)
    learn(arms, arm, units / WHOLE, cost, 0, int(book[TOLD]), price_of(book))


def play(
    book: Any, arms: Any, latents: Any, low: Any, high: Any, costs: Any, played: Any, succeeded: Any, duals: Any
) -> None:
    """Whole steps against a stream in which an arm succeeds where the latent lies in its window."""
    for step in range(len(latents)):
        arm = choose(book, arms)
        duals[step] = dual_of(book)
        kind = kind_of(arms, arm)
        ask_of(book, kind, False)
        success = low[arm] <= latents[step] <= high[arm]
        count(book, arms, arm, WHOLE if success else 0, costs[arm], False)
        played[step] = arm
        succeeded[step] = 1.0 if success else 0.0


def ask_step(book: Any, arms: Any, limit: float) -> tuple[int, int, float]:
    """Decide, and note the decision as outstanding. At `limit` outstanding decisions everything is handed out."""
    dual = dual_of(book)
    forced = False
    if book[OUT] >= limit:
        # Theory 4: everything, not just any boundary arm, or nothings without end would break the bound.
        forced = arms[HAS_NOTHING] > 0.0 and rail_of(book) == NOTHING
        arm = int(arms[ARMS]) - 1
    else:
        arm = choose(book, arms)
    ask_of(book, kind_of(arms, arm), forced)
    identity = int(book[NEXT_ID])
    book[NEXT_ID] = identity + 1
    return identity, arm, dual


def tell_step(book: Any, arms: Any, identity: int, arm: int, units: int, cost: float) -> None:
    """Settle an outstanding decision."""
    book[SETTLED] = identity
    count(book, arms, arm, units, cost, False)
