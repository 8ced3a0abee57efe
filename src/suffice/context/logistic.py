"""Bayesian logistic regression of success on the context, for all arms of a menu at once.

The log-odds of an arm given features x are

    offset + common·x + own·x

with an offset that stands for what the menu's order says beforehand, weights in `common` that all arms share (this one is
hard for everybody) and weights of its `own` (but not for this arm). All weights are normal with mean 0 beforehand, variance
COMMON and OWN. An outcome changes the mean and the covariance of both by one step of Newton's method, of rank one; each takes
the other for given, which leaves out how they hang together. The variances are those of the intercept; the other weights have
a `part` of them, one through the number of fields, so that ten fields do not say ten times as much beforehand as one.

Features are few at a time, so they come as `index` and `value` of those that are not 0, `count` of them. Row 0 of `means`
and `covariances` is what all arms share. An arm gets a row of its own (`slots`; 0: none yet) when it is first played; until
then it is as it was beforehand. Costs that nobody knows beforehand are learned alike, without a squash and nothing shared.
"""

import math
from typing import Any

import numpy as np

EVERY_ARM = np.zeros(0, dtype=np.bool_)  # where all arms may be played
NOISE = 1e-4  # of told costs, as a share of the most squared: no cost is taken to be more regular
COMMON = 1.0
OWN = 0.3
LEAST = 1e-4  # no success is more sure than that, nor less
LARGEST = 2.0  # knots that move may leave a variance above what it was beforehand, but not by as much
STEEP = 30.0  # log-odds beyond which nothing is added


def squash(odds: float) -> float:
    """From log-odds to a probability."""
    return 1.0 / (1.0 + math.exp(-min(max(odds, -STEEP), STEEP)))


def mean_term(index: Any, value: Any, count: int, weights: Any) -> float:
    """weights·x."""
    total = 0.0
    for a in range(count):
        total += weights[index[a]] * value[a]
    return total


def variance_term(index: Any, value: Any, count: int, matrix: Any) -> float:
    """x·matrix·x, for a symmetric matrix."""
    total = 0.0
    for a in range(count):
        row = matrix[index[a]]
        inner = 0.5 * row[index[a]] * value[a]
        for b in range(a):
            inner += row[index[b]] * value[b]
        total += 2.0 * value[a] * inner
    return max(total, 0.0)


def beforehand(value: Any, count: int, part: float) -> float:
    """The variance of what an arm's own weights come to when nothing is known of them. The intercept comes first."""
    total = 0.0
    for a in range(1, count):
        total += value[a] * value[a]
    return float(OWN * (value[0] * value[0] + part * total))


def odds_of(
    index: Any, value: Any, count: int, arm: int, slots: Any, offsets: Any, means: Any, covariances: Any, lean: float,
    wide: float, unknown: float,
) -> tuple[float, float]:  # fmt: skip
    """The mean and the variance of an arm's log-odds, given those of what all arms share."""
    slot = slots[arm]
    if slot == 0:
        return offsets[arm] + lean, wide + unknown
    return (
        offsets[arm] + lean + mean_term(index, value, count, means[slot]),
        wide + variance_term(index, value, count, covariances[slot]),
    )


def cheapest(
    index: Any, value: Any, count: int, slots: Any, offsets: Any, means: Any, covariances: Any, part: float, costs: Any,
    price: float, width: float, first: int, best_success: float, allowed: Any,
) -> int:  # fmt: skip
    """The arm with the least cost − price·(success, `width` deviations up), boundary arms included.

    `first` is the first interior arm, `costs` has one per arm, `allowed` a flag per arm or nothing. Deviations are what takes
    time, so the arm with the least cost − price·success comes first, and of the others only those whose variance could be
    large enough: at most LARGEST times what it was beforehand. Ties go to a boundary arm, or the first.
    """
    lean, wide = mean_term(index, value, count, means[0]), variance_term(index, value, count, covariances[0])
    unknown = beforehand(value, count, part)
    last = len(slots) - 1
    best, found = costs[last] - price * best_success, last
    if first == 1 and best >= 0.0:
        best, found = 0.0, 0
    boundary, leader, lowest = found, last, math.inf
    for arm in range(first, last):
        # Even a sure success would be too dear: nothing needs to be worked out.
        if costs[arm] - price >= best or (len(allowed) > 0 and not allowed[arm]):
            continue
        own = mean_term(index, value, count, means[slots[arm]]) if slots[arm] > 0 else 0.0
        score = costs[arm] - price * squash(offsets[arm] + lean + own)
        if score < lowest:
            lowest, leader = score, arm
    far = width * math.sqrt(wide + LARGEST * unknown)
    for turn in range(first - 1, last):
        arm = leader if turn < first else turn
        if arm == last or (turn == leader) or (len(allowed) > 0 and not allowed[arm]) or costs[arm] - price > best:
            continue
        if turn >= first:
            own = mean_term(index, value, count, means[slots[arm]]) if slots[arm] > 0 else 0.0
            if costs[arm] - price * squash(offsets[arm] + lean + own + far) > best:
                continue
        odds, variance = odds_of(index, value, count, arm, slots, offsets, means, covariances, lean, wide, unknown)
        score = costs[arm] - price * squash(odds + width * math.sqrt(variance))
        if score < best or (score == best and found != boundary and arm < found):
            best, found = score, arm
    return found


def expected(odds: float, variance: float) -> float:
    """The mean success where log-odds are normal, nearly (MacKay 1992)."""
    return min(max(squash(odds / math.sqrt(1.0 + math.pi * variance / 8.0)), LEAST), 1.0 - LEAST)


def learn(
    index: Any, value: Any, count: int, arm: int, success: float, slots: Any, offsets: Any, means: Any, covariances: Any,
    part: float, gain: Any, width: int,
) -> float:  # fmt: skip
    """Take in an outcome; what was expected of it. `gain` is room for `width` numbers, as many as there are features."""
    lean, wide = mean_term(index, value, count, means[0]), variance_term(index, value, count, covariances[0])
    unknown = beforehand(value, count, part)
    odds, variance = odds_of(index, value, count, arm, slots, offsets, means, covariances, lean, wide, unknown)
    chance = squash(odds)
    curve = chance * (1.0 - chance)
    scale = 1.0 / (1.0 + curve * variance)
    step, slot = scale * (success - chance), slots[arm]
    if slot > 0:
        move(index, value, count, means[slot], covariances[slot], gain, width, step, curve * scale)
    move(index, value, count, means[0], covariances[0], gain, width, step, curve * scale)
    return expected(odds, variance)


def move(
    index: Any, value: Any, count: int, mean: Any, covariance: Any, gain: Any, width: int, step: float, shrink: float
) -> None:
    """mean += step·(covariance·x), covariance −= shrink·(covariance·x)(covariance·x)ᵀ."""
    for a in range(width):
        gain[a] = 0.0
    for b in range(count):
        row, by = covariance[index[b]], value[b]
        for a in range(width):
            gain[a] += row[a] * by
    for a in range(width):
        mean[a] += step * gain[a]
        row, by = covariance[a], shrink * gain[a]
        if by != 0.0:
            for b in range(width):
                row[b] -= by * gain[b]


def costs_of(
    index: Any, value: Any, count: int, slots: Any, means: Any, covariances: Any, noise: Any, most: float, width: float,
    out: Any,
) -> None:  # fmt: skip
    """A lower cost per interior arm that was told one: `width` deviations down, between 0 and the most; else as it is."""
    for arm in range(len(slots)):
        slot = slots[arm]
        if slot > 0:
            spread = math.sqrt(noise[slot] * variance_term(index, value, count, covariances[slot]))
            out[arm] = min(max(mean_term(index, value, count, means[slot]) - width * spread, 0.0), most)


def learn_cost(
    index: Any, value: Any, count: int, slot: int, cost: float, told: float, means: Any, covariances: Any, noise: Any,
    least: float, gain: Any, width: int,
) -> None:  # fmt: skip
    """Take in what an arm cost: least squares, with the noise from what was not foreseen of the `told` costs so far."""
    wide = variance_term(index, value, count, covariances[slot])
    miss = cost - mean_term(index, value, count, means[slot])
    scale = 1.0 / (1.0 + wide)
    noise[slot] = max(least, noise[slot] + (miss * miss * scale - noise[slot]) / (told + 1.0))
    move(index, value, count, means[slot], covariances[slot], gain, width, miss * scale, scale)


def start_weights(slots: Any, means: Any, covariances: Any, part: float, width: int) -> None:
    """Forget everything: no arm has a row, and all rows are as they were beforehand."""
    for arm in range(len(slots)):
        slots[arm] = 0
    for row in range(len(means)):
        for a in range(width):
            means[row, a] = 0.0
            for b in range(width):
                covariances[row, a, b] = 0.0
            covariances[row, a, a] = (COMMON if row == 0 else OWN) * (1.0 if a == 0 else part)


def begin_costs(means: Any, covariances: Any, noise: Any, told: Any, most: float, part: float, width: int) -> None:
    """The same for costs."""
    for row in range(len(noise)):
        noise[row], told[row] = 0.25 * most * most, 0.0
        for a in range(width):
            means[row, a] = 0.0
            for b in range(width):
                covariances[row, a, b] = 0.0
            covariances[row, a, a] = 1.0 if a == 0 else part
