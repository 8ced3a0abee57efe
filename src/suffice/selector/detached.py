"""A selector whose accounts are outside it, as in a store that several servers share.

The owner of the accounts passes a copy of one, decides or settles on it, stores it, and then lets the selector learn. So
learning may lag behind the counts, or be lost, and the promise still holds.
"""

from collections.abc import Sequence
from typing import Any

from suffice.context.learner import ContextLearner
from suffice.errors import InvalidArgument
from suffice.kernels.rows import Mask
from suffice.learning.base import Learner
from suffice.learning.records import Pricing
from suffice.promise.record import SAFE, Account
from suffice.promise.rules import Promise
from suffice.selector.checks import check_group
from suffice.selector.choosing import choose
from suffice.selector.selector import Selector
from suffice.selector.state import account_from, account_state, pricing_from
from suffice.selector.verbs import Choice, Position, lesson_of, position_of


class Detached:
    """Decides on accounts that are passed to it, and learns from their outcomes. It has no lock of its own."""

    def __init__(self, selector: Selector) -> None:
        self.selector = selector
        self.promise: Promise = selector.promise
        self.learner: Learner = selector.learner
        self._propose = selector.propose
        self._pricings: dict[str, Pricing] = {"": selector.new_pricing()}
        self._accounts: dict[str, Account] = {}  # the latest counts
        self._grouped = 0  # outcomes of groups that it learned from

    def new_account(self) -> Account:
        """An account without outcomes."""
        return self.selector.new_account()

    def see(self, group: str, account: Account) -> None:
        """Note the latest counts of an account, whose price learning takes."""
        self._accounts[group] = account

    def _account(self, group: str) -> Account:
        return self._accounts.get(group) or self.new_account()

    def pricing(self, group: str) -> Pricing:
        """The prices of an account: that of a group, or "" for decisions without one."""
        if group not in self._pricings:
            self._pricings[group] = self.selector.new_pricing(group)
        return self._pricings[group]

    def position(self, account: Account, group: str) -> Position:
        """What may be played on an account, and the price."""
        pricing = self._pricings.get(group) or self.pricing(group)  # most exist, and need no call
        return position_of(account, pricing, self._pricings[""], group != "")

    # --- deciding

    def check(self, contexts: Sequence[object] | None, group: str | None = None) -> None:
        """Raise if one of these contexts cannot be read, or if this is no group's name."""
        if group is not None:
            check_group(group)
        learner = self.learner
        if not isinstance(learner, ContextLearner):
            if contexts is not None and any(context is not None for context in contexts):
                raise InvalidArgument(
                    'context must be left out where there is no model: the plan needs "model": "auto"'
                )
            return
        for context in contexts or ():
            learner.check(context)

    def decide(
        self, account: Account, group: str, allowed: Mask | None = None, context: object = None, *, insist: bool = False,
        playing_safe: bool = False,
    ) -> Choice:  # fmt: skip
        """Decide on an account, which is not changed."""
        learner = self.learner
        features = learner.read(context) if isinstance(learner, ContextLearner) else None
        position = self.position(account, group)
        if playing_safe:
            position = position._replace(limit=SAFE)
        return choose(self._propose, self.learner, self.promise.target, position, allowed, insist, features)

    # --- learning

    def learn(
        self, group: str, arm: int, units: int, cost: float | None, price: float, *, late: bool = False, lost: bool = False,
        unbiased: bool = True, note: object = None,
    ) -> None:  # fmt: skip
        """Learn from an outcome that is counted. Raises if that fails, which costs money and no more."""
        account, main_account = self._account(group), self._account("")
        safe = arm == self.learner.head.arms - 1
        if lost and safe:
            return  # it has no outcome yet
        fresh = not late or safe
        self._grouped += int(group != "" and fresh)
        # The counts include the lesson itself.
        self.learner.set_steps(main_account.outcomes + self._grouped - int(fresh))
        learned = self.selector.costs.learned(arm, cost, late=late)
        main, pricing = self._pricings[""], self.pricing(group)
        lesson = lesson_of(pricing, arm, units, learned, price, True, fresh, unbiased)
        self.learner.learn(main, pricing, account, lesson, grouped=group != "", note=note, lost=lost)

    # --- saving

    def state(self) -> dict[str, object]:
        """All that was learned, in JSON's terms. The store has the true counts; those here only serve the price."""
        accounts = {group: account_state(self._account(group), pricing) for group, pricing in self._pricings.items()}
        return {"learner": self.learner.state(), "accounts": accounts}

    def restore(self, state: dict[str, Any]) -> None:
        """Replace all that was learned by what `state` wrote down."""
        for group, saved in state["accounts"].items():
            self._accounts[group] = account = account_from(self.promise, saved)
            self._pricings[group] = pricing_from(self.selector.new_pricing(group), saved, account)
        self._grouped = sum(account.outcomes for group, account in self._accounts.items() if group)
        self.learner.restore(state["learner"], self._pricings[""].now)
