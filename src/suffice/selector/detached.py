"""A selector whose accounts are kept elsewhere, as in a store that several servers share.

Whoever keeps the accounts hands one over, decides or settles on a copy of it, writes it down, and has the selector learn
afterwards. So what is learned may lag behind what is counted, or be lost, and the promise holds all the same.
"""

import math
from typing import Any, NamedTuple

from suffice.context.learner import ContextLearner
from suffice.errors import InvalidArgument
from suffice.learning.base import Learner, Proposal
from suffice.learning.records import Pricing
from suffice.promise.account import Account
from suffice.promise.rules import Promise
from suffice.selector.entries import Entry
from suffice.selector.identity import check_group
from suffice.selector.selector import Selector
from suffice.selector.state import account_from, account_state, pricing_from
from suffice.selector.verbs import Standing, decide, is_open, lesson_of, role_of, standing


class Choice(NamedTuple):
    """What was decided on an account."""

    arm: int
    role: int  # SAFE, SKIP or FREE
    price: float
    fair: bool  # False where a context had a part in it
    note: Any  # what a model keeps of the context


class Detached:
    """Decides on accounts that are handed to it, and learns from their outcomes. Whoever shares one holds a lock."""

    def __init__(self, selector: Selector) -> None:
        self.selector = selector
        self.promise: Promise = selector.promise
        self.learner: Learner = selector.learner
        self._pricings: dict[str, Pricing] = {"": selector.new_pricing()}
        self._accounts: dict[str, Account] = {}  # as they were seen last
        self._grouped = 0  # outcomes of groups that were learned from

    def new_account(self) -> Account:
        """An account that was told nothing."""
        return self.selector.new_account()

    def see(self, group: str, account: Account) -> None:
        """Note where an account stands: what is learned of it is learned at its price."""
        self._accounts[group] = account

    def _account(self, group: str) -> Account:
        return self._accounts.get(group) or self.new_account()

    def pricing(self, group: str) -> Pricing:
        """The prices of an account: that of a group, or "" for decisions without one."""
        found = self._pricings.get(group)
        if found is None:
            found = self._pricings[group] = self.selector.new_pricing(group)
        return found

    def standing(self, account: Account, group: str) -> Standing:
        """What may be played on an account, and the price."""
        return standing(account, self.pricing(group), self._pricings[""], group != "")

    # --- deciding

    def check(self, contexts: list[Any] | None, group: str | None = None) -> None:
        """Raise if one of these contexts cannot be looked at, or if this is no group's name."""
        if group is not None:
            check_group(group)
        learner = self.learner
        if not isinstance(learner, ContextLearner):
            if contexts is not None and any(context is not None for context in contexts):
                raise InvalidArgument(
                    'context must be left out where no model looks at it: the plan needs "model": "auto"'
                )
            return
        for context in contexts or ():
            learner.check(context)

    def decide(self, account: Account, group: str, allowed: Any = None, context: Any = None) -> Choice:
        """What to play on an account, which is not changed."""
        learner = self.learner
        seen = learner.read(context) if isinstance(learner, ContextLearner) else None
        stands = standing(account, self.pricing(group), self._pricings[""], group != "")
        head = learner.head
        proposal = Proposal(-1)
        if is_open(stands.limit, head):
            proposal = self.selector.propose(stands, allowed, seen)
        arm = decide(stands.limit, head, proposal.arm)
        return Choice(arm, role_of(head, arm), stands.price, proposal.fair, proposal.note)

    # --- learning

    def learn(
        self, group: str, arm: int, units: int, cost: float | None, *, late: bool = False, lost: bool = False,
        fair: bool = True, note: Any = None,
    ) -> None:  # fmt: skip
        """Learn from an outcome that is counted. Raises if that fails, which costs money and no more."""
        account, main_account = self._account(group), self._account("")
        self._grouped += int(group != "" and not late)
        # As the counts have it; the lesson itself is the last of these.
        self.learner.set_steps(main_account.outcomes + self._grouped - int(not late))
        entry = Entry(0, arm, role_of(self.learner.head, arm), account.target, fair=fair, note=note)
        learned = self.selector.learned_cost(entry, cost, late=late)
        lesson = lesson_of(account, arm, units, math.nan if learned is None else learned, True, not late, fair)
        main, pricing = self._pricings[""], self.pricing(group)
        self.learner.learn(main, pricing, lesson, grouped=group != "", note=note, lost=lost)

    # --- saving

    def state(self) -> dict[str, Any]:
        """All that was learned, in JSON's terms. The counts are the store's; these here serve the price alone."""
        accounts = {group: account_state(self._account(group), pricing) for group, pricing in self._pricings.items()}
        return {"learner": self.learner.state(), "accounts": accounts}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` wrote down."""
        for group, one in state["accounts"].items():
            self._accounts[group] = account = account_from(self.promise, one, None)
            self._pricings[group] = pricing_from(self.selector.new_pricing(group), one, account)
        self._grouped = sum(account.outcomes for group, account in self._accounts.items() if group)
        self.learner.restore(state["learner"], self._pricings[""].now)
