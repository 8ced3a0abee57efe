"""The seam for choosers: anything may propose an arm, because the promise holds whatever is proposed."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from suffice.bounds import Bounds


class Chooser(Protocol):
    """Proposes an arm at a price for success.

    `allowed` marks the arms that may be played now, or is None if all may. A proposal that is not an allowed arm, or an
    exception, makes the selector play everything instead: dear, and safe.
    """

    name: str

    def choose(self, price: float, bounds: Bounds, allowed: NDArray[np.bool_] | None) -> int: ...
