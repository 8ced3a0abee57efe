"""Divergence of coins, and the intervals that follow from it. Standard library only.

For outcomes in [0, 1] of conditional mean p, P(some s: s·kl(mean, p) > ln((s+1)/δ)) <= δ, both sides together: the KL
mixture (theory 7), which holds at all times at once.
"""

from math import exp, expm1, log, sqrt

SMALL_STEP = 1e-5


def kl(mean: float, q: float) -> float:
    """The divergence of two coins, in nats."""
    total = 0.0
    if mean > 0.0:
        total += mean * log(mean / q)
    if mean < 1.0:
        total += (1.0 - mean) * log((1.0 - mean) / (1.0 - q))
    return total


def kl_upper(mean: float, level: float) -> float:
    """The largest q with kl(mean, q) <= level, approached from above, so that rounding hardly ever makes it too small.

    kl(mean, ·) is convex and increases above the mean, so Newton's step from any point above the mean ends above the root,
    and further steps decrease towards the root and never pass it. The start is the root of the normal approximation, which
    is near; every step is limited by two points that lie above the root: Pinsker's, and the one that drops mean·ln(1/q).
    A small step leaves an error of the order of its square.

    >>> round(kl_upper(0.5, 0.1), 6), kl_upper(1.0, 0.1), round(kl_upper(0.0, 0.1), 6)
    (0.712879, 1.0, 0.095163)
    """
    if mean >= 1.0:
        return 1.0
    if mean <= 0.0:
        return -expm1(-level)
    rest = 1.0 - mean
    entropy = -mean * log(mean) - rest * log(rest)
    beyond = min(mean + sqrt(0.5 * level), 1.0 - exp(-(level + entropy) / rest))
    if beyond >= 1.0:
        return 1.0
    q = min(beyond, mean + sqrt(2.0 * level * mean * rest))
    for _ in range(40):
        if q <= mean:
            return beyond
        excess = -(mean * log(q) + rest * log(1.0 - q)) - entropy - level
        step = excess * q * (1.0 - q) / (q - mean)
        small = SMALL_STEP * (q - mean)
        q -= step
        if q > beyond:
            q = beyond
        if -small <= step <= small:
            return q
    return q


def kl_lower(mean: float, level: float) -> float:
    """The smallest q with kl(mean, q) <= level."""
    return 1.0 - kl_upper(1.0 - mean, level)
