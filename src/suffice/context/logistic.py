"""Bayesian logistic regression of success on the context, for all arms of a menu at once. Compiled where there is a compiler.

The log-odds of an arm given features x are

    offset + shared·x + own·x

with an offset from the menu's order, `shared` weights for all arms (this case is hard) and `own` weights per arm (but not for
this arm). All weights have normal priors with mean 0 and variance SHARED or OWN. An outcome updates the mean and the
covariance of both by one Newton step, of rank one; each update takes the other weights as given and ignores the correlation
between the two. SHARED and OWN are the variances of the intercept; every other weight has a `part` of them, one divided by
the number of fields, so that ten fields do not make the prior ten times as wide as one field.

Few features are not 0, so they come as `index` and `value`, `count` of them. Row 0 of `means` and `covariances` holds the
shared weights. An arm gets a row when it is first played (`slots`; 0: none yet) and has its prior until then. Costs that
the menu does not know are learned by linear regression, without shared weights.
"""

import math

import numpy as np

from suffice.kernels.rows import Floats, Ints, Mask

EVERY_ARM = np.zeros(0, dtype=np.bool_)  # the mask where every arm may be played
NOISE = 1e-4  # the least variance of costs around their prediction, as a share of the squared cost of the safe option
SHARED = 1.0
OWN = 0.3
LEAST = 1e-4  # predicted successes stay this far from 0 and 1
LARGEST = 2.0  # moved knots may raise a variance above its prior, but by less than this factor
STEEP = 30.0  # log-odds are cut here
OPTIMISM = 0.6  # chosen by measurement


def sigmoid(odds: float) -> float:
    """The probability with these log-odds."""
    return 1.0 / (1.0 + math.exp(-min(max(odds, -STEEP), STEEP)))


def optimism_width(steps: int) -> float:
    """How many standard deviations are added to a predicted success after so many outcomes."""
    return OPTIMISM * math.sqrt(math.log(steps + 2.0))


def mean_term(index: Ints, value: Floats, count: int, weights: Floats) -> float:
    """weights·x."""
    total = 0.0
    for a in range(count):
        total += weights[index[a]] * value[a]
    return total


def variance_term(index: Ints, value: Floats, count: int, matrix: Floats) -> float:
    """x·matrix·x, for a symmetric matrix."""
    total = 0.0
    for a in range(count):
        row = matrix[index[a]]
        inner = 0.5 * row[index[a]] * value[a]
        for b in range(a):
            inner += row[index[b]] * value[b]
        total += 2.0 * value[a] * inner
    return max(total, 0.0)


def prior_variance(value: Floats, count: int, part: float) -> float:
    """The prior variance of own·x. The intercept comes first."""
    total = 0.0
    for a in range(1, count):
        total += value[a] * value[a]
    return float(OWN * (value[0] * value[0] + part * total))


def odds_of(
    index: Ints, value: Floats, count: int, arm: int, slots: Ints, offsets: Floats, means: Floats, covariances: Floats,
    shared_mean: float, shared_variance: float, own_variance: float,
) -> tuple[float, float]:  # fmt: skip
    """The mean and the variance of an arm's log-odds, given those of the shared part and its prior variance."""
    slot = slots[arm]
    if slot == 0:
        return offsets[arm] + shared_mean, shared_variance + own_variance
    return (
        offsets[arm] + shared_mean + mean_term(index, value, count, means[slot]),
        shared_variance + variance_term(index, value, count, covariances[slot]),
    )


def cheapest(
    index: Ints, value: Floats, count: int, slots: Ints, offsets: Floats, means: Floats, covariances: Floats, part: float,
    costs: Floats, price: float, width: float, first: int, best_success: float, allowed: Mask,
) -> int:  # fmt: skip
    """The arm with the least cost − price·(success, `width` deviations up), boundary arms included.

    `first` is the first interior arm, `costs` has one entry per arm, `allowed` one flag per arm or none at all. Deviations
    take most of the time. So the arm with the least cost − price·success comes first, and of the others only those that
    could beat it with the largest variance possible, LARGEST times the prior. Ties go to a boundary arm, or to the first.
    """
    shared_mean = mean_term(index, value, count, means[0])
    shared_variance = variance_term(index, value, count, covariances[0])
    own_variance = prior_variance(value, count, part)
    last = len(slots) - 1
    best, best_arm = costs[last] - price * best_success, last
    if len(allowed) > 0 and not allowed[last]:
        best = math.inf
    if first == 1 and best >= 0.0:
        best, best_arm = 0.0, 0
    boundary, leader, lowest = best_arm, last, math.inf
    for arm in range(first, last):
        # Even a certain success would cost too much.
        if costs[arm] - price >= best or (len(allowed) > 0 and not allowed[arm]):
            continue
        own = mean_term(index, value, count, means[slots[arm]]) if slots[arm] > 0 else 0.0
        score = costs[arm] - price * sigmoid(offsets[arm] + shared_mean + own)
        if score < lowest:
            lowest, leader = score, arm
    far = width * math.sqrt(shared_variance + LARGEST * own_variance)
    for turn in range(first - 1, last):
        arm = leader if turn < first else turn
        if arm == last or (turn == leader) or (len(allowed) > 0 and not allowed[arm]) or costs[arm] - price > best:
            continue
        if turn >= first:
            own = mean_term(index, value, count, means[slots[arm]]) if slots[arm] > 0 else 0.0
            if costs[arm] - price * sigmoid(offsets[arm] + shared_mean + own + far) > best:
                continue
        odds, variance = odds_of(
            index, value, count, arm, slots, offsets, means, covariances, shared_mean, shared_variance, own_variance
        )
        score = costs[arm] - price * sigmoid(odds + width * math.sqrt(variance))
        if score < best or (score == best and best_arm != boundary and arm < best_arm):
            best, best_arm = score, arm
    return best_arm


def expected(odds: float, variance: float) -> float:
    """The mean success where log-odds are normal, approximately (MacKay 1992)."""
    return min(max(sigmoid(odds / math.sqrt(1.0 + math.pi * variance / 8.0)), LEAST), 1.0 - LEAST)


def learn(
    index: Ints, value: Floats, count: int, arm: int, success: float, slots: Ints, offsets: Floats, means: Floats,
    covariances: Floats, part: float, gain: Floats, width: int,
) -> float:  # fmt: skip
    """Learn from an outcome; return the success predicted before. `gain` is scratch space for `width` numbers."""
    shared_mean = mean_term(index, value, count, means[0])
    shared_variance = variance_term(index, value, count, covariances[0])
    own_variance = prior_variance(value, count, part)
    odds, variance = odds_of(
        index, value, count, arm, slots, offsets, means, covariances, shared_mean, shared_variance, own_variance
    )
    chance = sigmoid(odds)
    curve = chance * (1.0 - chance)
    scale = 1.0 / (1.0 + curve * variance)
    step, slot = scale * (success - chance), slots[arm]
    if slot > 0:
        rank_one_update(index, value, count, means[slot], covariances[slot], gain, width, step, curve * scale)
    rank_one_update(index, value, count, means[0], covariances[0], gain, width, step, curve * scale)
    return expected(odds, variance)


def rank_one_update(
    index: Ints, value: Floats, count: int, mean: Floats, covariance: Floats, gain: Floats, width: int, step: float,
    shrink: float,
) -> None:  # fmt: skip
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


def lower_costs(
    index: Ints, value: Floats, count: int, slots: Ints, means: Floats, covariances: Floats, noise: Floats,
    safe_cost: float, width: float, out: Floats,
) -> None:  # fmt: skip
    """Write a lower cost for each arm with observed costs: `width` deviations down, between 0 and the safe cost."""
    for arm in range(len(slots)):
        slot = slots[arm]
        if slot > 0:
            spread = math.sqrt(noise[slot] * variance_term(index, value, count, covariances[slot]))
            out[arm] = min(max(mean_term(index, value, count, means[slot]) - width * spread, 0.0), safe_cost)


def learn_cost(
    index: Ints, value: Floats, count: int, slot: int, cost: float, observed: float, means: Floats, covariances: Floats,
    noise: Floats, least: float, gain: Floats, width: int,
) -> None:  # fmt: skip
    """Learn from a cost: least squares, with the noise estimated from the residuals of the `observed` costs before."""
    variance = variance_term(index, value, count, covariances[slot])
    residual = cost - mean_term(index, value, count, means[slot])
    scale = 1.0 / (1.0 + variance)
    noise[slot] = max(least, noise[slot] + (residual * residual * scale - noise[slot]) / (observed + 1.0))
    rank_one_update(index, value, count, means[slot], covariances[slot], gain, width, residual * scale, scale)


def start_weights(slots: Ints, means: Floats, covariances: Floats, part: float, width: int) -> None:
    """Reset success weights to their prior; no arm has a row."""
    for arm in range(len(slots)):
        slots[arm] = 0
    for row in range(len(means)):
        for a in range(width):
            means[row, a] = 0.0
            for b in range(width):
                covariances[row, a, b] = 0.0
            covariances[row, a, a] = (SHARED if row == 0 else OWN) * (1.0 if a == 0 else part)


def start_costs(
    means: Floats, covariances: Floats, noise: Floats, observed: Floats, safe_cost: float, part: float, width: int
) -> None:
    """Reset cost weights to their prior."""
    for row in range(len(noise)):
        noise[row], observed[row] = 0.25 * safe_cost * safe_cost, 0.0
        for a in range(width):
            means[row, a] = 0.0
            for b in range(width):
                covariances[row, a, b] = 0.0
            covariances[row, a, a] = 1.0 if a == 0 else part
