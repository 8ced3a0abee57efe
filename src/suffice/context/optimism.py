"""How far up a model's successes are taken."""

import math
from typing import Final

WIDTH: Final = 0.6  # times sqrt(ln t), by measurement


def optimism_width(steps: int) -> float:
    """How many deviations up the model's successes are taken after so many outcomes."""
    return WIDTH * math.sqrt(math.log(steps + 2.0))
