"""From an arm's tally to its line: an upper bound on its success and a lower bound on its cost.

The formulas of all bounds as far as a line depends on the arm's own tally and on the epoch alone. Bounds that also use
outcomes of other arms (ORDERED, INTERVAL_CLOSURE) have the threshold of HALF_LOG for the arm's own plays.
"""

import math

from suffice.promise.divergence import kl_lower, kl_upper

KL, HOEFFDING, PAPER, HALF_LOG, ORDERED, INTERVAL_CLOSURE = range(6)  # those from ORDERED on pool outcomes


def level_of(kind: int, arms: int, end: int) -> float:
    """The part of a threshold, valid for these arms until this time, that is constant within an epoch."""
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
    """The lower bound on the mean cost of an arm, from `priced` reported costs that never exceed `most`."""
    if priced == 0:
        return -math.inf if kind == PAPER else 0.0
    if kind == KL:
        return most * kl_lower(costs / priced / most, (level + math.log(priced + 1.0)) / priced)
    if kind >= HALF_LOG:
        return most * kl_lower(costs / priced / most, level / priced)
    value = costs / priced - most * math.sqrt(level / priced)
    return value if kind == PAPER else max(0.0, value)


def epoch_of(step: int, horizon: int) -> tuple[int, int]:
    """The last step of the epoch that holds this step (the first is 1), and the end E of which its levels are functions.

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
