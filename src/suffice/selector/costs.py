"""The cost of an outcome: what is booked, and what is learned."""

import math

from suffice.errors import InvalidArgument
from suffice.menu.menu import Menu
from suffice.selector.events import Watch
from suffice.selector.failures import Failures


class Costs:
    """What the options of a menu cost. Without a menu, as for a range, costs are booked and not learned."""

    def __init__(self, menu: Menu | None, failures: Failures, watch: Watch) -> None:
        self._menu, self._failures, self._watch = menu, failures, watch

    def check(self, arm: int, cost: float | None) -> None:
        """Refuse an outcome whose cost is needed and missing."""
        menu = self._menu
        if cost is None and menu is not None and menu.known_cost(arm) is None:
            raise InvalidArgument(
                f"cost must be told for option {menu.option(arm)!r}: the menu does not know what it costs"
            )

    def booked(self, arm: int, cost: float | None, *, late: bool) -> float:
        """What an outcome adds to the cost. A known cost was booked when a decision expired, so a late outcome corrects it."""
        known = None if self._menu is None else self._menu.known_cost(arm)
        return (known or 0.0 if cost is None else cost) - (known or 0.0 if late else 0.0)

    def learned(self, arm: int, cost: float | None, *, late: bool) -> float:
        """The cost to learn from: told or known, at most safe_cost; NaN where there is none, or it was learned before."""
        menu = self._menu
        if menu is None:
            return math.nan
        known = menu.known_cost(arm)
        spent = cost if cost is not None else known
        if spent is not None and spent > menu.safe_cost:
            message = (
                f"option {menu.option(arm)!r} cost {spent:g}, above safe_cost {menu.safe_cost:g}: the record keeps it, "
                "learning takes safe_cost; set safe_cost to what the safe option really costs"
            )
            self._failures.keep(message)
            self._watch.note_cost(message)
        return math.nan if spent is None or (late and known is not None) else min(spent, menu.safe_cost)
