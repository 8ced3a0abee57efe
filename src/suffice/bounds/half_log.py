"""Kullback–Leibler bounds with a threshold of half a logarithm: what the regret needs, and no more.

With an epoch that ends at E the threshold is β = ½ ln E + ln(1 + ln E), whatever the number of arms. Such a bound is
wrong now and then; but the regret asks only that the at most two arms of the optimal mix are not underrated by much on
average, and for that half a logarithm is enough (docs/bounds.md has the proof).
"""

from suffice.bounds.base import LineBounds
from suffice.learning.bound_formulas import HALF_LOG


class HalfLog(LineBounds):
    """Success from above and, where costs are told, cost from below; known costs are used as they are."""

    name = "half-log"
    code = HALF_LOG
