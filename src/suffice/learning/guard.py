"""The guard: how much more than the optimist a chooser may have cost before the optimist plays in its place.

The gap is the sum, over all that was played between the limits, of

    cost − price·success − the least (lower cost − price·upper success) of all arms,

what a play came to above the best that the bounds thought possible. The next proposal is followed if the gap is at most
κ·cap·sqrt(n·t·ln t), which is decided before the proposal is looked at. Then no chooser, however bad, costs more than that
beyond what the optimist may cost (theorem C; docs/choosers.md has the proof).
"""

import math

from suffice.learning.records import TableHead


def allowance(head: TableHead) -> float:
    """The gap up to which the chooser is followed."""
    steps = max(head.steps + 1.0, 2.0)
    return head.kappa * head.ceiling * math.sqrt(head.arms * steps * math.log(steps))


def follows(head: TableHead) -> bool:
    """Whether the chooser's next proposal is played, whatever it is."""
    return head.gap <= allowance(head)


def at_limit(head: TableHead, arm: int, price: float) -> bool:
    """Whether a play needs no guard: the safe option at the cap and the skip at 0 cost no more than the price says.

    Not the safe option at 0: a chooser may propose it there, above the lower limit, where a success is worth nothing.
    """
    if arm == head.arms - 1:
        return price >= head.ceiling
    return arm == 0 and head.has_skip > 0 and price <= 0.0
