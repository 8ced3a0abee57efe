"""The seam for choosers: anything may propose an arm, because the promise holds whatever is proposed."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from suffice.bounds import Bounds


class Chooser(Protocol):
    """Proposes an arm at a price for success.

    `allowed` marks the arms that may be played now, or is None if all may. A proposal that is not an allowed arm, or an
    exception, has the optimist play instead; so does a guard that finds the chooser too dear. A chooser may also have a
    method `learn(arm, success, cost)`, which is called after each outcome; the cost is None where nobody told it. One that
    looks at nothing but the past may say `blind = True`: then bounds learn from its plays, too (docs/choosers.md).

    >>> import suffice
    >>> class Second:
    ...     name = "second"
    ...
    ...     def choose(self, price, bounds, allowed):
    ...         return 2
    >>> menu = suffice.Menu({"small": 0.1, "large": 0.4}, everything="a person", nothing="skip")
    >>> selector = suffice.Selector(menu, target=0.8, chooser=Second())
    >>> selector.tell(selector.ask(), success=True)  # everything first: the safe start
    >>> selector.ask().option
    'large'
    """

    name: str

    def choose(self, price: float, bounds: Bounds, allowed: NDArray[np.bool_] | None) -> int: ...
