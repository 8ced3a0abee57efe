"""A group of a selector as it is seen from outside: its own account, nothing that could be changed."""

from typing import TYPE_CHECKING

from suffice.numbers import ONE_SUCCESS, as_number
from suffice.promise.account import Account, debt, totals
from suffice.promise.certificate import Certificate

if TYPE_CHECKING:
    from suffice.selector.selector import Selector


class GroupView:
    """One group: its debt, rate, cost and certificate. Decisions are asked of the selector, with `group=`."""

    __slots__ = ("_row", "_selector", "name")

    def __init__(self, selector: "Selector", name: str, row: int) -> None:
        self._selector, self.name, self._row = selector, name, row

    @property
    def _account(self) -> Account:
        return self._selector.account_of(self._row)

    @property
    def target(self) -> float:
        """The success rate to hold."""
        return self._selector.target

    @property
    def price(self) -> float:
        """The price that the group now pays for one success."""
        return self._selector.price_of(self._row)

    @property
    def debt(self) -> float:
        """Successes owed in the group; negative when ahead."""
        return debt(self._account) / ONE_SUCCESS

    @property
    def outcomes(self) -> int:
        """Outcomes counted, expired decisions included."""
        return self._account.outcomes

    @property
    def successes(self) -> float:
        """The sum of successes told."""
        account = self._account
        return as_number(totals(account)[1])

    @property
    def rate(self) -> float | None:
        """The share of outcomes that succeeded; None before the first."""
        account = self._account
        return totals(account)[1] / ONE_SUCCESS / account.outcomes if account.outcomes else None

    @property
    def pending(self) -> int:
        """Decisions of the group whose outcome has not been told."""
        return self._selector.pending_of(self._row)

    @property
    def cost(self) -> float:
        """What was spent on the group's decisions, as far as it is known or was told."""
        return self._selector.spent_of(self._row)

    @property
    def mean_cost(self) -> float | None:
        """The cost per outcome; None before the first."""
        told = self.outcomes
        return self.cost / told if told else None

    def certificate(self) -> Certificate:
        """What is promised to the group, whether it is so, and if not, why and what to do."""
        return self._selector.certificate(self.name)

    def __repr__(self) -> str:
        return (
            f"<GroupView {self.name!r} target={self.target:g} outcomes={self.outcomes:,} successes={self.successes:,} "
            f"pending={self.pending:,}>"
        )
