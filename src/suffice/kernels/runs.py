"""Whole runs on a stream, compiled: the same step, driven by a world that is known beforehand.

A world is five arrays. If `units` has rows, the latent is the number of one: what every arm would do in it, in billionths
of a success, and its `prices`. Else an arm succeeds where the latent lies between `low` and `high`, at a fixed price
`costs`. What happens is written to `played`, `succeeded`, `spent` and `duals`.
"""

from typing import Any

from suffice.book import (
    CAP,
    EVERYTHING,
    NEXT_ID,
    NOTHING,
    PRICE,
    TOLD,
    ask_of,
    back_of,
    dual_of,
    rail_of,
    record_of,
)  # fmt: skip
from suffice.checks import WHOLE
from suffice.kernels.arms import cheapest, learn
from suffice.kernels.layout import ARMS
from suffice.kernels.prices import dual_at, price_at
from suffice.kernels.step import choose, count, kind_of

LOW_ARM, MIDDLE_ARM, HIGH_ARM = 0, 1, 2  # of a threshold


def judged(latent: float, arm: int, low: Any, high: Any, units: Any) -> int:
    """What an arm does in a step, in billionths of a success."""
    if len(units) > 0:
        return int(units[int(latent), arm])
    return WHOLE if low[arm] <= latent <= high[arm] else 0


def priced(latent: float, arm: int, costs: Any, prices: Any) -> float:
    """What an arm costs in a step."""
    return float(prices[int(latent), arm]) if len(prices) > 0 else float(costs[arm])


def play(
    book: Any, arms: Any, latents: Any, low: Any, high: Any, costs: Any, units: Any, prices: Any,
    played: Any, succeeded: Any, spent: Any, duals: Any, opening: int,
) -> int:  # fmt: skip
    """A selector's run.

    `opening` is the next arm of a first round, 0 where there is none; what comes back is the one after the last played.
    """
    first_round = opening > 0
    last = int(arms[ARMS]) - 1
    for step in range(len(latents)):
        duals[step] = dual_at(book, arms)
        opens = first_round and opening < last
        if opens:
            arm = opening
            opening += 1
        else:
            arm = choose(book, arms)
            ask_of(book, kind_of(arms, arm), False)
        book[NEXT_ID] += 1.0
        success = judged(latents[step], arm, low, high, units)
        cost = priced(latents[step], arm, costs, prices)
        if opens:
            learn(arms, arm, success / WHOLE, cost, 1, int(book[TOLD]), price_at(book, arms))
        else:
            count(book, arms, arm, success, cost, False)
        played[step] = arm
        succeeded[step] = success / WHOLE
        spent[step] = cost
    return opening


def play_projected(
    book: Any, arms: Any, latents: Any, low: Any, high: Any, costs: Any, units: Any, prices: Any,
    played: Any, succeeded: Any, spent: Any, duals: Any, opening: int, dual: float, step_size: float, cap: float,
    target: float,
) -> tuple[int, float]:  # fmt: skip
    """A run of the projected baseline: always the argmin, and a dual that is clipped. The book only counts."""
    last = int(arms[ARMS]) - 1
    for step in range(len(latents)):
        duals[step] = dual
        opens = opening < last
        if opens:
            arm = opening
            opening += 1
        else:
            arm = cheapest(arms, dual)
            ask_of(book, PRICE, False)
        book[NEXT_ID] += 1.0
        success = judged(latents[step], arm, low, high, units)
        cost = priced(latents[step], arm, costs, prices)
        if not opens:
            back_of(book, PRICE)
            record_of(book, PRICE, success, False)
            dual = min(max(dual + step_size * (target - success / WHOLE), 0.0), cap)
        learn(arms, arm, success / WHOLE, cost, 1, int(book[TOLD]), dual)
        played[step] = arm
        succeeded[step] = success / WHOLE
        spent[step] = cost
    return opening, dual


def play_threshold(
    book: Any, latents: Any, bottom: float, top: float, inside_low: float, inside_high: float, has_nothing: bool,
    played: Any, succeeded: Any, spent: Any, duals: Any,
) -> None:  # fmt: skip
    """A run of the scalar controller where a step succeeds at thresholds from its latent on, and cost is linear."""
    for step in range(len(latents)):
        dual = dual_of(book)
        duals[step] = dual
        rail = rail_of(book)
        if rail == EVERYTHING:
            arm, kind, value = HIGH_ARM, EVERYTHING, top
        elif rail == NOTHING:
            arm, kind, value = LOW_ARM, NOTHING if has_nothing else PRICE, bottom
        else:
            arm, kind, value = MIDDLE_ARM, PRICE, min(max(bottom + dual, inside_low), inside_high)
        ask_of(book, kind, False)
        book[NEXT_ID] += 1.0
        success = 1 if latents[step] <= value else 0
        back_of(book, kind)
        record_of(book, kind, WHOLE * success, False)
        played[step] = arm
        succeeded[step] = success
        spent[step] = (value - bottom) / book[CAP]
