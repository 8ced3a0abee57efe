"""The guard: how much more than the optimist a chooser may have cost before the optimist plays in its place.

The gap is the sum, over all plays between the limits, of

    cost − price·success − the least (lower cost − price·upper success) of all arms,

the excess of a play over the best that the bounds allow. The next proposal is followed if the gap is at most
κ·cap·sqrt(n·t·ln t), which is decided before the proposal is made. So no chooser, however bad, costs more than that
beyond the cost bound of the optimist (theorem C; docs/choosers.md has the proof).
"""

import math
from typing import Final

from suffice.learning.records import TableHead

KAPPA: Final = 1.0  # by measurement (docs/choosers.md)


def allowance(head: TableHead) -> float:
    """The gap up to which the chooser is followed."""
    steps = max(head.steps + 1.0, 2.0)
    return head.kappa * head.ceiling * math.sqrt(head.arms * steps * math.log(steps))


def follows(head: TableHead) -> bool:
    """Whether the chooser's next proposal is played; decided before it is known."""
    return head.gap <= allowance(head)


def at_limit(head: TableHead, arm: int, price: float) -> bool:
    """Whether a play needs no guard: the safe option at the cap, and the skip at 0, cost no more than the price says.

    The safe option at a price of 0 needs one: a chooser may propose it there, where a success is worth nothing.
    """
    if arm == head.arms - 1:
        return price >= head.ceiling
    return arm == 0 and head.has_skip > 0 and price <= 0.0
