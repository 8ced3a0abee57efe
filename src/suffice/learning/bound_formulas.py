"""From an arm's tally to its line: an upper bound on its success and a lower bound on its cost.

The formulas of all bounds as far as a line depends on the arm's own tally and on the epoch alone. Those that also look at
other arms (`pools`, `closure`) have the same threshold as HALF_LOG for the arm's own plays.
"""

import math

from suffice.promise.divergence import kl_lower, kl_upper

KL, HOEFFDING, PAPER, HALF_LOG, CONTAINED, CLOSED = range(6)


def level_of(kind: int, arms: int, end: int) -> float:
    """What a threshold that must hold for so many arms until this time is made of: kept constant within an epoch."""
    if kind == KL:
        return math.log(2.0 * arms * end)  # ln(1/δ) with δ = 1/(2nE), theory 7
    if kind >= HALF_LOG:
        return 0.5 * math.log(end) + math.log(1.0 + math.log(end))  # theory 7, "half-log thresholds"
    return 2.0 * math.log(arms * end)


def upper_of(kind: int, successes: float, plays: float, level: float) -> float:
    """The upper bound on the success of an arm that was played."""
    if kind == KL:
        return kl_upper(successes / plays, (level + math.log(plays + 1.0)) / plays)
    if kind >= HALF_LOG:
        return kl_upper(successes / plays, level / plays)
    value = successes / plays + math.sqrt(level / plays)
    return value if kind == PAPER else min(1.0, value)


def lower_of(kind: int, costs: float, priced: float, most: float, level: float) -> float:
    """The lower bound on the cost of an arm whose cost was told so often, and never exceeds `most`."""
    if priced == 0:
        return -math.inf if kind == PAPER else 0.0
    if kind == KL:
        return most * kl_lower(costs / priced / most, (level + math.log(priced + 1.0)) / priced)
    if kind >= HALF_LOG:
        return most * kl_lower(costs / priced / most, level / priced)
    value = costs / priced - most * math.sqrt(level / priced)
    return value if kind == PAPER else max(0.0, value)


def epoch_of(step: int, horizon: int) -> tuple[int, int]:
    """The last step of the epoch that holds this step (the first is 1), and the end E that its levels are made for.

    With a horizon the first epoch lasts until it; without one (0), epoch k holds 2^k <= step < 2^(k+1) (theory 7).

    >>> epoch_of(5, 0), epoch_of(5, 1000), epoch_of(1001, 1000)
    ((7, 8), (1000, 1000), (2000, 2000))
    """
    if horizon == 0:
        end = 2
        while end <= step:
            end *= 2
        return end - 1, end
    end = horizon
    while end < step:
        end *= 2
    return end, end
