"""Kullback–Leibler bounds with the mixture threshold, which hold for all numbers of plays at once.

With n arms and an epoch that ends at E, the failure probability per arm and side is δ = 1/(2nE) (theory 7).
"""

from suffice.bounds.base import LineBounds
from suffice.learning.bound_formulas import KL as CODE


class KL(LineBounds):
    """Success from above and, where costs are told, cost from below; known costs are used as they are."""

    name = "kl"
    code = CODE
