"""The totals of a controller: what was counted, over all of its accounts."""

import threading

from suffice.numbers import ONE_SUCCESS, as_number
from suffice.promise.record import CARRIED
from suffice.promise.rules import Promise
from suffice.selector.engines import Engine
from suffice.selector.reentrancy import SlowPath


class Totals:
    """Rates, debts and costs of a controller, read at one instant each."""

    lock: threading.RLock
    _engine: Engine
    _promise: Promise
    _reading: SlowPath

    @property
    def target(self) -> float:
        """The success rate to hold."""
        return self._promise.rate

    @property
    def price(self) -> float:
        """The price now paid for one success."""
        with self.lock:
            return self._engine.position(0).price

    @property
    def debt(self) -> float:
        """Successes owed, target·outcomes − successes; negative when ahead. Of all groups together."""
        with self.lock, self._reading:
            carried = self._engine.sum_of("forgiven_carried") * CARRIED
            return (self._engine.sum_of("owed") - self._engine.sum_of("successes") - carried) / ONE_SUCCESS

    @property
    def outcomes(self) -> int:
        """Outcomes counted, those of expired decisions and of all groups included."""
        with self.lock, self._reading:
            return self._engine.sum_of("outcomes")

    @property
    def successes(self) -> float:
        """The sum of all successes."""
        return as_number(self._units())

    @property
    def pending(self) -> int:
        """The number of decisions without an outcome."""
        with self.lock:
            return self._engine.pending()

    @property
    def rate(self) -> float | None:
        """The share of outcomes that succeeded; None before the first."""
        with self.lock, self._reading:
            outcomes, units = self.outcomes, self._units()
        return units / ONE_SUCCESS / outcomes if outcomes else None

    def _units(self) -> int:
        """Successes, in billionths."""
        with self.lock, self._reading:
            carried = self._engine.sum_of("carried") + self._engine.sum_of("forgiven_carried")
            return self._engine.sum_of("successes") + carried * CARRIED

    @property
    def cost(self) -> float:
        """The cost of all decisions settled so far, as far as it is known or was told."""
        with self.lock, self._reading:
            spent = sum(self._engine.pricing(row).spent for row in range(self._engine.rows()))
        return max(0.0, spent)  # amendments subtract what they add again, up to rounding

    @property
    def mean_cost(self) -> float | None:
        """The cost per outcome; None before the first."""
        with self.lock, self._reading:
            return self.cost / self.outcomes if self.outcomes else None

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} target={self.target:g} outcomes={self.outcomes:,} successes={self.successes:,} "
            f"pending={self.pending:,}>"
        )
