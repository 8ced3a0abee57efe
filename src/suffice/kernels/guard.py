"""The guard: how much more than the optimist a chooser may have cost before the optimist plays in its place.

The gap is the sum, over all that was played between the rails, of

    cost − price·success − the least (lower cost − price·upper success) of all arms,

what a play came to above the best that the bounds thought possible. The next proposal is followed if the gap is at most
κ·cap·sqrt(n·t·ln t), which is decided before the proposal is looked at. Then no chooser, however bad, costs more than that
beyond what the optimist may cost (theorem C; docs/choosers.md has the proof).
"""

import math
from typing import Any

from suffice.kernels.layout import ARMS, CEILING, GAP, KAPPA


def allowance(arms: Any, told: int) -> float:
    """The gap up to which the chooser is followed."""
    steps = max(told + 1.0, 2.0)
    return float(arms[KAPPA] * arms[CEILING] * math.sqrt(arms[ARMS] * steps * math.log(steps)))


def follows(arms: Any, told: int) -> bool:
    """Whether the chooser's next proposal is played, whatever it is."""
    return bool(arms[GAP] <= allowance(arms, told))
