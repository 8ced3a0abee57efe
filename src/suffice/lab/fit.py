"""From runs to numbers with intervals. Seeds are resampled whole, so that runs on the same stream stay together."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.lab.verdict import Estimate

Floats = NDArray[np.float64]
RESAMPLES = 2000


def mean(values: ArrayLike) -> Estimate:
    """The mean over seeds, with a 95% interval by resampling.

    >>> found = mean([1.0, 2.0, 3.0, 4.0])
    >>> found.value, found.low < 2.5 < found.high
    (2.5, True)
    """
    data = np.asarray(values, dtype=np.float64)
    return _estimate(float(data.mean()), data[_resampled(data.size)].mean(axis=1))


def exponent(horizons: ArrayLike, regrets: ArrayLike) -> Estimate:
    """The slope of log mean regret against log horizon; `regrets` has a row per seed and a column per horizon.

    >>> found = exponent([10, 100, 1000], [[3, 9.4868, 30], [3, 9.4868, 30]])
    >>> round(found.value, 4), round(found.high - found.low, 4)
    (0.5, 0.0)
    """
    x, data = np.log(np.asarray(horizons, dtype=np.float64)), np.asarray(regrets, dtype=np.float64)
    if not (data.mean(axis=0) > 0.0).all():
        return Estimate(float("nan"), float("nan"), float("nan"))  # a regret that is not positive has no exponent
    samples = data[_resampled(len(data))].mean(axis=1)
    usable = samples[(samples > 0.0).all(axis=1)]
    return _estimate(float(_slope(x, np.log(data.mean(axis=0))[None, :])[0]), _slope(x, np.log(usable)))


def _slope(x: Floats, rows: Floats) -> Floats:
    centred = x - x.mean()
    slopes: Floats = rows @ centred / (centred @ centred)
    return slopes


def _resampled(count: int) -> NDArray[np.int64]:
    return np.random.default_rng(0).integers(0, count, (RESAMPLES, count))


def _estimate(value: float, samples: Floats) -> Estimate:
    low, high = np.quantile(samples, [0.025, 0.975])
    return Estimate(value, float(low), float(high))
