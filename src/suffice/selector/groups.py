"""A read-only view of a group of a selector: its own account."""

from typing import TYPE_CHECKING

from suffice.numbers import ONE_SUCCESS, as_number
from suffice.promise.account import debt, totals
from suffice.promise.record import Account

if TYPE_CHECKING:
    from suffice.promise.certificate import Certificate
    from suffice.selector.selector import Selector


class GroupView:
    """One group: its debt, rate, cost and certificate. Decisions are asked of the selector, with `group=`."""

    __slots__ = ("_row", "_selector", "name")

    def __init__(self, selector: "Selector", name: str, row: int) -> None:
        self._selector, self.name, self._row = selector, name, row

    @property
    def _account(self) -> Account:
        with self._selector.lock:
            return self._selector.engine.account(self._row)

    @property
    def target(self) -> float:
        """The success rate to hold."""
        return self._selector.target

    @property
    def price(self) -> float:
        """The price of one success in the group now."""
        with self._selector.lock:
            return self._selector.engine.position(self._row).price

    @property
    def debt(self) -> float:
        """Successes owed in the group; negative when ahead."""
        return debt(self._account) / ONE_SUCCESS

    @property
    def outcomes(self) -> int:
        """Outcomes counted, those of expired decisions included."""
        return self._account.outcomes

    @property
    def successes(self) -> float:
        """The sum of all successes."""
        return as_number(totals(self._account)[1])

    @property
    def rate(self) -> float | None:
        """The share of outcomes that succeeded; None before the first."""
        account = self._account
        return totals(account)[1] / ONE_SUCCESS / account.outcomes if account.outcomes else None

    @property
    def pending(self) -> int:
        """The number of decisions of the group without an outcome."""
        return self._account.pending

    @property
    def cost(self) -> float:
        """The cost of the group's decisions, as far as it is known or was told."""
        with self._selector.lock:
            return max(0.0, self._selector.engine.pricing(self._row).spent)

    @property
    def mean_cost(self) -> float | None:
        """The cost per outcome; None before the first."""
        outcomes = self.outcomes
        return self.cost / outcomes if outcomes else None

    def certificate(self) -> "Certificate":
        """The promise to the group, whether it holds, and if not, why and what to do."""
        return self._selector.certificate(self.name)

    def __repr__(self) -> str:
        return (
            f"<GroupView {self.name!r} target={self.target:g} outcomes={self.outcomes:,} successes={self.successes:,} "
            f"pending={self.pending:,}>"
        )
