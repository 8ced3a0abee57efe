"""What is played: what the limits allow, what is available, and what the learner proposes."""

from collections.abc import Callable, Iterable

import numpy as np

from suffice.errors import SafeUnavailable
from suffice.kernels.rows import Mask
from suffice.learning.base import Learner, Proposal
from suffice.promise.account import limit
from suffice.promise.record import SAFE, SKIP, Account
from suffice.selector.records import Decision
from suffice.selector.verbs import Choice, Position, decide, is_open, role_of

Propose = Callable[[Position, Mask | None, object], Proposal]


def choose(
    propose: Propose, learner: Learner, target: int, position: Position, allowed: Mask | None, insist: bool, features: object,
    first: int | None = None,
) -> Choice:  # fmt: skip
    """What to play; `propose` is called if the limits leave a choice. `first` is an arm of the first round."""
    proposal, head, at_limit = Proposal(-1 if first is None else first), learner.head, position.limit
    if first is not None:
        arm = first
    elif at_limit == SAFE and allowed is not None and not allowed[-1]:
        arm = best_available(learner, allowed, insist, target)
    else:
        if is_open(at_limit, head):
            proposal = propose(position, allowed, features)
        arm = decide(at_limit, head, proposal.arm)
    role = role_of(head, arm)
    expects = 0 if role == SKIP else learner.expected_debt(arm, target)  # a skip is settled when it is asked
    return Choice(arm, role, position.price, expects, proposal.unbiased, proposal.note)


def check_first(learner: Learner, playing_safe: bool, account: Account, allowed: Mask | None, insist: bool) -> None:
    """Raise if the first decision of a new account would be refused."""
    safe = playing_safe or limit(account) == SAFE
    if safe and allowed is not None and not allowed[-1]:
        best_available(learner, allowed, insist, account.target)


def best_available(learner: Learner, allowed: Mask, insist: bool, target: int) -> int:
    """The arm to play where the safe option is needed and not available."""
    interior = [arm for arm in np.flatnonzero(allowed).tolist() if arm >= learner.head.has_skip]
    if not interior:
        raise SafeUnavailable("the safe option is needed now, and nothing is available; no decision was made")
    if not insist:
        raise SafeUnavailable(
            "the safe option is needed now, and it is not available: list it in available, or set insist to play the "
            "best of what is available, which is counted and added to every bound; no decision was made"
        )
    return min(interior, key=lambda arm: learner.expected_debt(arm, target))


def one_by_one(several: Iterable[object], ask: Callable[[object], Decision]) -> list[Decision]:
    """Decisions asked one after the other. An error that the safe option is not available holds those made before."""
    decisions: list[Decision] = []
    for each in several:
        try:
            decisions.append(ask(each))
        except SafeUnavailable as error:
            error.decisions = decisions
            raise
    return decisions
