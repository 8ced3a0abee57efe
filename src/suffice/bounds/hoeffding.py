"""Hoeffding's bounds: the paper's width sqrt(2 ln(nT)/plays), clipped, or exactly as printed there."""

import math

from suffice.bounds.base import LineBounds
from suffice.learning.bound_formulas import HOEFFDING, PAPER
from suffice.menu import Menu


class Hoeffding(LineBounds):
    """The paper's width, clipped to what is possible; known costs are used as they are."""

    name = "hoeffding"
    code = HOEFFDING


class Paper(LineBounds):
    """As printed: nothing is clipped, and costs are estimated even where they are known (theory 1)."""

    name = "paper"
    code = PAPER

    def open(self, menu: Menu, horizon: int | None) -> None:
        super().open(menu, horizon)
        # An arm that was never played could be anything. The first round plays each before its line is looked at.
        self.upper[menu.interior] = math.inf
        self.lower[menu.interior] = -math.inf
