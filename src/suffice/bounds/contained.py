"""Half-log bounds of all that contain an option, where options contain one another.

A chain, a grid, subsets, intervals: an option that succeeds whenever another does is never less likely to succeed, so what
is learned of the larger bounds the smaller from above. All plays of all options that contain it, its own among them, bound
an option as its own plays do (docs/bounds.md has the proof). They are added up anew whenever the history has grown by 5%;
until then the bound from before stays, and stays true.
"""

from suffice.bounds.half_log import HalfLog
from suffice.learning.bound_formulas import CONTAINED


class Contained(HalfLog):
    """Half-log bounds, each from its own plays and from those of all options that contain it."""

    name = "contained"
    code = CONTAINED
