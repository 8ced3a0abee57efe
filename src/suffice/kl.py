"""Divergence of coins, and the intervals that follow from it. Standard library only.

For outcomes in [0, 1] of conditional mean p, P(some s: s·kl(mean, p) > ln((s+1)/δ)) <= δ, both sides together: the KL
mixture (theory 7). It may be watched continuously.
"""

import math


def kl(mean: float, q: float) -> float:
    """The divergence of two coins, in nats."""
    total = 0.0
    if mean > 0.0:
        total += mean * math.log(mean / q)
    if mean < 1.0:
        total += (1.0 - mean) * math.log((1.0 - mean) / (1.0 - q))
    return total


def kl_upper(mean: float, level: float) -> float:
    """The largest q with kl(mean, q) <= level, approached from above, so that rounding never makes it too small by much.

    kl(mean, ·) is convex and increases above the mean, so Newton's steps from a point beyond the root fall towards it
    and never past it. The start is the nearer of two such points: Pinsker's, and the one that drops mean·ln(1/q).

    >>> round(kl_upper(0.5, 0.1), 6), kl_upper(1.0, 0.1), round(kl_upper(0.0, 0.1), 6)
    (0.712879, 1.0, 0.095163)
    """
    if mean >= 1.0:
        return 1.0
    if mean <= 0.0:
        return -math.expm1(-level)
    entropy = -mean * math.log(mean) - (1.0 - mean) * math.log(1.0 - mean)
    q = min(mean + math.sqrt(0.5 * level), 1.0 - math.exp(-(level + entropy) / (1.0 - mean)))
    if q >= 1.0:
        return 1.0
    for _ in range(40):
        excess = kl(mean, q) - level
        if excess <= 0.0:
            break
        lower = q - excess * q * (1.0 - q) / (q - mean)
        if lower >= q or lower <= mean:
            break
        q = lower
    return q


def kl_lower(mean: float, level: float) -> float:
    """The smallest q with kl(mean, q) <= level."""
    return 1.0 - kl_upper(1.0 - mean, level)
