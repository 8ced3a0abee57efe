"""From runs to numbers with 95% intervals over seeds: Student's for means and ratios; exponents with a resampled spread."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from suffice.kernels.rows import Floats, Ints
from suffice.lab.verdict import Estimate

RESAMPLES = 2000
NO_ESTIMATE = Estimate(float("nan"), float("nan"), float("nan"))


def mean(values: ArrayLike) -> Estimate:
    """The mean over seeds, with Student's 95% interval.

    >>> found = mean([1.0, 2.0, 3.0, 4.0])
    >>> found.value, found.low < 2.5 < found.high
    (2.5, True)
    """
    data = np.asarray(values, dtype=np.float64)
    return _estimate(float(data.mean()), _spread(data), data.size)


def ratio(over: ArrayLike, under: ArrayLike) -> Estimate:
    """The ratio of two means over paired seeds, with an interval by the delta method.

    Near the means the ratio r moves by (xᵢ − r·yᵢ)/ȳ with each pair of seed i, so its standard error is that of the mean
    of these, times Student's quantile with n − 1 degrees of freedom. What the world contributes to both cancels: the ratio
    of anything to itself is exactly 1. A mean of ratios would instead depend most on the seeds with a small y. The interval
    is only good where ȳ is clearly above 0; where it is not above 0 there is no ratio.

    >>> found = ratio([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    >>> found.value, found.low, found.high
    (0.5, 0.5, 0.5)
    """
    x, y = np.asarray(over, dtype=np.float64), np.asarray(under, dtype=np.float64)
    if not y.mean() > 0.0:
        return NO_ESTIMATE
    value = float(x.mean() / y.mean())
    return _estimate(value, _spread((x - value * y) / y.mean()), x.size)


def geometric(pairs: Sequence[tuple[ArrayLike, ArrayLike]]) -> Estimate:
    """The geometric mean of several such ratios, which share their seeds, with an interval by the delta method in logs.

    Seed i moves the logarithm of one ratio by xᵢ/x̄ − yᵢ/ȳ, and that of their geometric mean by the mean of these, so that
    worlds with the same seed are not counted as independent. All ratios must be above 0.

    >>> found = geometric([([2.0, 4.0], [1.0, 2.0]), ([1.0, 1.0], [2.0, 2.0])])
    >>> found.value, found.low, found.high
    (1.0, 1.0, 1.0)
    """
    data = [(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)) for x, y in pairs]
    if not data or not all(x.mean() > 0.0 and y.mean() > 0.0 for x, y in data):
        return NO_ESTIMATE
    log_mean = float(np.mean([np.log(x.mean() / y.mean()) for x, y in data]))
    moves = np.mean([x / x.mean() - y / y.mean() for x, y in data], axis=0)
    logs = _estimate(log_mean, _spread(moves), len(moves))
    return Estimate(*(float(np.exp(end)) for end in (logs.value, logs.low, logs.high)))


def exponent(horizons: ArrayLike, regrets: ArrayLike) -> Estimate:
    """The slope of log mean regret against log horizon; `regrets` has a row per seed and a column per horizon.

    >>> found = exponent([10, 100, 1000], [[3, 9.4868, 30], [3, 9.4868, 30]])
    >>> round(found.value, 4), round(found.high - found.low, 4)
    (0.5, 0.0)
    """
    x, data = np.log(np.asarray(horizons, dtype=np.float64)), np.asarray(regrets, dtype=np.float64)
    if not (data.mean(axis=0) > 0.0).all():
        return NO_ESTIMATE  # a regret that is not positive has no exponent
    samples = data[_resampled(len(data))].mean(axis=1)
    usable = samples[(samples > 0.0).all(axis=1)]
    # Whole seeds are resampled, so that runs on the same stream stay together; resampling n understates by n/(n − 1).
    spread = float(_slope(x, np.log(usable)).std()) * (len(data) / max(1, len(data) - 1)) ** 0.5
    return _estimate(float(_slope(x, np.log(data.mean(axis=0))[None, :])[0]), spread, len(data))


def _slope(x: Floats, rows: Floats) -> Floats:
    centred = x - x.mean()
    slopes: Floats = rows @ centred / (centred @ centred)
    return slopes


def _resampled(count: int) -> Ints:
    return np.random.default_rng(0).integers(0, count, (RESAMPLES, count))


def _spread(data: Floats) -> float:
    """The standard error of a mean."""
    return float(data.std(ddof=1)) / data.size**0.5 if data.size > 1 else 0.0


def _estimate(value: float, spread: float, count: int) -> Estimate:
    wide = spread * student(count - 1)
    return Estimate(value, value - wide, value + wide)


# The 97.5% points of Student's distribution for 1, 2, ... degrees of freedom.
STUDENT = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110,
    2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


def student(freedom: int) -> float:
    """How many standard errors a 95% interval reaches to either side.

    >>> student(19), round(student(100), 2)
    (2.093, 1.98)
    """
    return STUDENT[max(1, freedom) - 1] if freedom <= len(STUDENT) else 1.96 + 2.46 / freedom
