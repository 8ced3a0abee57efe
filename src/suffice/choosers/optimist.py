"""The optimist: the arm that would be cheapest at this price if every bound were the truth."""

import numpy as np
from numpy.typing import NDArray

from suffice.bounds import Bounds


class Optimist:
    """argmin of lower cost − price·upper success over all arms; ties to the lowest arm number (theory 1)."""

    name = "optimist"

    def choose(self, price: float, bounds: Bounds, allowed: NDArray[np.bool_] | None) -> int:
        scores = bounds.lower - price * bounds.upper
        if allowed is not None:
            scores = np.where(allowed, scores, np.inf)
        return int(scores.argmin())
