"""The same algorithm in plain NumPy, as one would write it by hand for one stream with outcomes of 0 and 1.

No ids, no locks, no late outcomes, no saving, no certificate: what is left is the arithmetic of a decision. It chooses
the same arms as `suffice.Selector`; `agreement.py` checks that before anything is timed.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray


class PlainNumpy:
    """argmin of cost − price·(upper success) between the limits, by exact integer debt; one line updated per outcome."""

    tuned = False  # whether scores are written into an array that is kept, instead of a new one each time

    def __init__(self, costs: NDArray[np.float64], target: float, bounds: str) -> None:
        n = costs.size + 2
        self.n = n
        self.kl = bounds == "half-log"
        share = Fraction(str(target))
        self.numerator, self.denominator = share.numerator, share.denominator
        self.cap = float(1 / (1 - share))
        self.lower = np.concatenate([[0.0], costs, [1.0]])
        self.upper = np.ones(n)
        self.upper[0] = 0.0
        self.scores = np.empty(n)
        self.plays = np.zeros(n, dtype=np.int64)
        self.wins = np.zeros(n, dtype=np.int64)
        self.outcomes = 0
        self.hint, self.hint_sum, self.hint_count, self.hint_at = self.cap, 0.0, 0, 1
        self.debt = 0  # target·outcomes − successes, in units of 1/denominator: an exact integer
        self._enter()

    def price(self) -> float:
        """The price now paid for one success: a curve of the debt around the hint."""
        root = math.sqrt(max(self.outcomes, 1))
        x = 1.0 + self.debt / self.denominator / min(0.1 * root + 10.0, root / 3.0)
        if x >= 1.0:
            return self.cap
        if x >= 0.0:
            return self.hint + (self.cap - self.hint) * (x * x * x)
        return self.hint * (1.0 + 0.125 * (x * x * x)) if x >= -2.0 else 0.0

    def ask(self) -> int:
        """The arm to play."""
        if self.debt >= 0:
            return self.n - 1
        if (
            self.debt * self.debt >= self.denominator * self.denominator * self.outcomes
        ):  # ahead by sqrt(outcomes) or more
            return 0
        if not self.tuned:
            return int(np.argmin(self.lower - self.price() * self.upper))
        np.multiply(self.upper, -self.price(), out=self.scores)
        self.scores += self.lower
        return int(self.scores.argmin())

    def tell(self, arm: int, success: bool) -> None:
        """How it went."""
        self.outcomes += 1
        self.debt += self.numerator - self.denominator * success
        self.hint_sum += self.price()
        self.hint_count += 1
        if self.outcomes >= self.hint_at:
            self.hint = self.hint_sum / self.hint_count
            self.hint_sum, self.hint_count, self.hint_at = 0.0, 0, math.ceil(1.25 * self.outcomes) + 1
        self.plays[arm] += 1
        self.wins[arm] += success
        if self.outcomes >= self.last:
            self._enter()
            for played in np.flatnonzero(self.plays).tolist():
                self._line(played)
        else:
            self._line(arm)

    def _enter(self) -> None:
        """An epoch begins: thresholds are set for its end, so that within it one outcome changes one line."""
        end = 1 << (self.outcomes + 1).bit_length()
        self.last = end - 1
        half_log = 0.5 * math.log(end) + math.log(1.0 + math.log(end))
        self.log = half_log if self.kl else 2.0 * math.log(self.n * end)

    def _line(self, arm: int) -> None:
        if arm == 0 or arm == self.n - 1:
            return
        plays, wins = int(self.plays[arm]), int(self.wins[arm])
        if self.kl:
            self.upper[arm] = kl_upper(wins / plays, self.log / plays)
        else:
            self.upper[arm] = min(1.0, wins / plays + math.sqrt(self.log / plays))


class TunedNumpy(PlainNumpy):
    """The same without temporary arrays, which for many arms take most of the time."""

    tuned = True


def kl_upper(mean: float, level: float) -> float:
    """The largest q with kl(mean, q) <= level: Newton from the normal approximation, kept below two bounds on the root."""
    if mean >= 1.0:
        return 1.0
    if mean <= 0.0:
        return -math.expm1(-level)
    rest = 1.0 - mean
    entropy = -mean * math.log(mean) - rest * math.log(rest)
    beyond = min(mean + math.sqrt(0.5 * level), 1.0 - math.exp(-(level + entropy) / rest))
    if beyond >= 1.0:
        return 1.0
    q = min(beyond, mean + math.sqrt(2.0 * level * mean * rest))
    for _ in range(40):
        if q <= mean:
            return beyond
        excess = -(mean * math.log(q) + rest * math.log(1.0 - q)) - entropy - level
        step = excess * q * (1.0 - q) / (q - mean)
        if abs(step) <= 1e-5 * (q - mean):
            return min(beyond, q - step)
        q = min(beyond, q - step)
    return q
