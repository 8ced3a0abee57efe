"""Choosers: which arm to play between the limits, at the current price.

Anything may propose an arm, because the promise holds for every proposal.
"""

from typing import Protocol, cast

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.kernels.rows import Mask
from suffice.learning.bounds import ArmBounds

__all__ = ["Chooser", "Optimist", "Thompson", "resolve_chooser"]


class Chooser(Protocol):
    """The interface of choosers, for your own: proposes an arm at a price for success.

    `allowed` marks the arms that may be played now, or is None if all may. The optimist plays instead if the proposal is
    not an allowed arm, if `choose` raises, or while the guard finds that the chooser has cost too much. A chooser may have
    a method `learn(arm, success, cost)`, which is called after each outcome; the cost is None if none was reported. One
    whose proposals depend on past outcomes alone may declare `context_free = True`: then the bounds learn from its plays,
    too (docs/choosers.md).

    >>> import suffice
    >>> class Second:
    ...     name = "second"
    ...
    ...     def choose(self, price, bounds, allowed):
    ...         return 2
    >>> menu = suffice.Menu({"small": 0.1, "large": 0.4, "a person": 1.0}, safe="a person", skip="skip")
    >>> selector = suffice.Selector(menu, target=0.8, learning=suffice.Learning(chooser=Second()))
    >>> selector.tell(selector.ask(), success=True)  # the safe option first: the safe start
    >>> selector.ask().option
    'large'
    """

    name: str

    def choose(self, price: float, bounds: ArmBounds, allowed: Mask | None) -> int: ...


class Optimist:
    """argmin of lower cost − price·upper success over all arms; ties to the lowest arm number (theory 1)."""

    name = "optimist"

    def choose(self, price: float, bounds: ArmBounds, allowed: Mask | None) -> int:
        scores = bounds.lower - price * bounds.upper
        if allowed is not None:
            scores = np.where(allowed, scores, np.inf)
        return int(scores.argmin())


class Thompson:
    """The cheapest arm at this price in a sample from the posterior over cells. The guard bounds its cost.

    Options that contain one another are unions of cells of one partition, so every outcome informs all of them. Each
    decision plays the arm that would be cheapest if a sample of the posterior were true. `learning.thompson` does the
    work; this class is its name. It has no theorem without the guard.
    """

    name = "thompson"


NAMED: dict[str, type[Optimist | Thompson]] = {"optimist": Optimist, "thompson": Thompson}


def resolve_chooser(chooser: object) -> Chooser | Thompson:
    """A chooser by name, or a user's own object unchanged."""
    if isinstance(chooser, str) and chooser in NAMED:
        return NAMED[chooser]()
    if isinstance(chooser, Thompson):
        return chooser
    if not isinstance(chooser, type | str) and callable(getattr(chooser, "choose", None)):
        return cast("Chooser", chooser)
    names = ", ".join(f'"{name}"' for name in ("auto", *NAMED))
    raise InvalidArgument(f"chooser must be one of {names} or an object with a method choose, got {quoted(chooser)}")
