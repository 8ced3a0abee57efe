"""What is proposed at the current price: which arm to play between the rails.

Anything may propose an arm, because the promise holds whatever is proposed.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from suffice.errors import InvalidArgument, quoted
from suffice.learning.bounds import Bounds

__all__ = ["Chooser", "Optimist", "Thompson", "resolve_chooser"]


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
    >>> menu = suffice.Menu({"small": 0.1, "large": 0.4}, safe="a person", skip="skip")
    >>> selector = suffice.Selector(menu, target=0.8, chooser=Second())
    >>> selector.tell(selector.ask(), success=True)  # the safe option first: the safe start
    >>> selector.ask().option
    'large'
    """

    name: str

    def choose(self, price: float, bounds: Bounds, allowed: NDArray[np.bool_] | None) -> int: ...


class Optimist:
    """argmin of lower cost − price·upper success over all arms; ties to the lowest arm number (theory 1)."""

    name = "optimist"

    def choose(self, price: float, bounds: Bounds, allowed: NDArray[np.bool_] | None) -> int:
        scores = bounds.lower - price * bounds.upper
        if allowed is not None:
            scores = np.where(allowed, scores, np.inf)
        return int(scores.argmin())


class Thompson:
    """The cheapest arm at this price in a sample from the posterior over cells; guarded, so that it is proven.

    Options that contain one another are unions of cells of one partition, so every outcome says something of all of them.
    At every decision: what would be cheapest in a world drawn from what is known. The work is done in `learning.thompson`;
    this is its name. No theorem speaks for it: the guard gives it one.
    """

    name = "thompson"


NAMED: dict[str, type[Optimist | Thompson]] = {"optimist": Optimist, "thompson": Thompson}


def resolve_chooser(chooser: Any) -> Chooser | Optimist | Thompson:
    """A chooser by name, or a user's own object as it is."""
    if isinstance(chooser, str) and chooser in NAMED:
        return NAMED[chooser]()
    if isinstance(chooser, Thompson):
        return chooser
    if not isinstance(chooser, type | str) and callable(getattr(chooser, "choose", None)):
        own: Chooser = chooser
        return own
    names = ", ".join(f'"{name}"' for name in ("auto", *NAMED))
    raise InvalidArgument(f"chooser must be one of {names} or an object with a method choose, got {quoted(chooser)}")
