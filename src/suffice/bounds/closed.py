"""Contained bounds, and for intervals the differences besides: what the bounds of all say of each.

An interval's success is a difference of the distribution function at its ends, so that bounds on some intervals, from above
and from below, bound all others (docs/bounds.md). For menus of other kinds than intervals the same as "contained".
"""

from suffice.bounds.contained import Contained
from suffice.learning.bound_formulas import CLOSED


class Closed(Contained):
    """Contained bounds and the closure of all differences, for intervals."""

    name = "closed"
    code = CLOSED
