"""How much slower or faster: the ratio of two versions from blocks that were timed in pairs, and its 95% interval.

The blocks come in sessions. In each, both versions are processes of their own, started anew: where the system puts code and
data makes one process some percent faster than the next for as long as it lives, and no number of blocks within one would
tell that from a difference between the versions. So it is sessions that are drawn in the bootstrap.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

SEED: Final = 20_261
DRAWS: Final = 2_000
LIMIT: Final = 1.10  # a ratio whose whole interval lies above this is marked
# Student's 97.5% quantile by degrees of freedom, against the normal one: few sessions say little of how much they differ.
QUANTILES: Final = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)
NORMAL: Final = 1.96

Session = Sequence[tuple[float, float]]  # time per step in each pair of blocks: the old version's, the new one's


@dataclass(frozen=True, slots=True)
class Ratio:
    """New divided by old, with its 95% interval."""

    value: float
    low: float
    high: float

    @property
    def slower(self) -> bool:
        """Whether the new version is certainly slower by more than the limit."""
        return self.low > LIMIT

    @property
    def same(self) -> bool:
        """Whether the interval contains 1."""
        return self.low <= 1.0 <= self.high

    @property
    def width(self) -> float:
        """The interval's width, as a share of the ratio."""
        return (self.high - self.low) / self.value

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


def ratio_of(sessions: Sequence[Session]) -> Ratio:
    """The ratio: within each session the median of the paired ratios, over all sessions their geometric mean."""
    logs = [[math.log(new / old) for old, new in session] for session in sessions if session]
    if not logs:
        raise ValueError("there must be at least one pair of blocks")
    rng = np.random.default_rng(SEED)
    if len(logs) == 1:
        return _of_pairs(np.array(logs[0]), rng)
    middles = np.array([statistics.median(session) for session in logs])
    count = middles.size
    centre = float(middles.mean())
    drawn = middles[rng.integers(0, count, (DRAWS, count))].mean(axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975)) - centre
    stretch = QUANTILES[min(count - 1, len(QUANTILES)) - 1] / NORMAL * math.sqrt(count / (count - 1))
    return Ratio(math.exp(centre), math.exp(centre + stretch * low), math.exp(centre + stretch * high))


def _of_pairs(logs: "np.ndarray[tuple[int], np.dtype[np.float64]]", rng: np.random.Generator) -> Ratio:
    """Of a single session: its pairs are drawn."""
    drawn = np.median(logs[rng.integers(0, logs.size, (DRAWS, logs.size))], axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Ratio(math.exp(float(np.median(logs))), math.exp(float(low)), math.exp(float(high)))
