"""Accounts and entries in JSON's terms, and checked when they are read again."""

import math
from collections.abc import Iterable
from typing import Any, Final

from suffice.errors import StateError, quoted
from suffice.learning.base import Learner
from suffice.learning.prices import clipped_price
from suffice.learning.records import Pricing, TableHead
from suffice.numbers import ONE_SUCCESS, cost_told, flag, positive_int
from suffice.promise.account import SAFE, SKIP, Account, grow, merge_of, totals, tracked_debt
from suffice.promise.rules import Promise
from suffice.selector.engines import Engine
from suffice.selector.entries import Entry
from suffice.selector.verbs import role_of

MOST_COUNTED: Final = 10**15
KEPT: Final = ("shortfall", "worst_shortfall", "forgiven_carried")  # one account's alone, and no rules
COUNTED: Final = frozenset(name for name, how in merge_of.items() if how != "own" or name in KEPT)
HINTS: Final = ("hint", "hint_sum", "hint_count", "hint_at")


# --- accounts


def account_state(account: Account, pricing: Pricing) -> dict[str, Any]:
    """An account in JSON's terms, without the rules: these are the promise's."""
    counts = {name: getattr(account, name) for name in merge_of if name in COUNTED}
    spent = max(0.0, pricing.spent)  # amendments subtract what they add again, up to rounding
    return {"counts": counts, "hints": [getattr(pricing, name) for name in HINTS], "spent": spent}


def account_from(promise: Promise, state: dict[str, Any], max_pending: int | None) -> Account:
    """The account that `account_state` wrote down."""
    account = promise.open(max_pending)
    for name, value in state["counts"].items():
        if name not in COUNTED or type(value) is not int:
            raise StateError(f"counts must be whole numbers, got {name} = {quoted(value)}")
        if not 0 <= value <= MOST_COUNTED * (ONE_SUCCESS if name in UNITS else 1):
            raise StateError(f"{name} must be a number of at least 0 and not astronomical, got {quoted(value)}")
        setattr(account, name, value)
    missing = COUNTED - set(state["counts"])
    if missing:
        raise StateError(f"counts must hold {', '.join(sorted(missing))}")
    grow(account)
    return account


UNITS: Final = frozenset(
    {"owed", "successes", "forgiven", "safe_shortage", "skip_successes", "shortfall", "worst_shortfall"}
)


def pricing_from(fresh: Pricing, state: dict[str, Any], account: Account) -> Pricing:
    """The prices that `account_state` wrote down."""
    hints = [float(value) for value in state["hints"]]
    if len(hints) != len(HINTS) or not all(0.0 <= value <= 1e300 for value in hints):
        raise StateError(f"the hint must hold {len(HINTS)} numbers of at least 0, got {quoted(state['hints'])}")
    for name, value in zip(HINTS, hints, strict=True):
        setattr(fresh, name, value)
    fresh.spent = cost_told(state["spent"])
    fresh.now = clipped_price(fresh, tracked_debt(account) / ONE_SUCCESS, account.outcomes)
    return fresh


def restore_accounts(promise: Promise, engine: Engine, state: dict[str, Any], fresh: Iterable[Pricing]) -> None:
    """Put the accounts that were saved in the place of new ones."""
    for row, (pricing, one) in enumerate(zip(fresh, state["accounts"], strict=True)):
        account = account_from(promise, one, state["max_pending"])
        restored = pricing_from(pricing, one, account)
        if row < engine.rows():
            engine.put_account(row, account)
            engine.put_pricing(row, restored)
        else:
            engine.add_row(account, restored)


def check_accounts(
    promise: Promise, engine: Engine, waiting: list[tuple[int, Entry]], expired: list[tuple[int, Entry]]
) -> None:
    """Refuse counts that contradict each other."""
    accounts, next_id = [engine.account(row) for row in range(engine.rows())], engine.next_id
    ids = [identity for identity, _ in (*waiting, *expired)]
    sound = len(set(ids)) == len(ids) and all(0 <= identity < next_id for identity in ids)
    sound &= sum(account.outcomes for account in accounts) + len(waiting) <= next_id <= MOST_COUNTED
    for row, account in enumerate(accounts):
        owed, successes, _ = totals(account)
        roles = [entry.role for _, entry in waiting if entry.row == row and entry.counted]
        sound &= (
            owed == promise.target * account.outcomes
            and successes <= account.outcomes * ONE_SUCCESS
            and account.shortfall <= account.worst_shortfall <= owed
            and account.safe_shortage <= account.safe_plays * ONE_SUCCESS
            and account.expired <= account.outcomes
            and account.outstanding == sum(role != SAFE for role in roles) <= account.most_outstanding
            and account.not_skips == sum(role != SKIP for role in roles) <= account.most_not_skips
        )
    if not sound:
        raise StateError("the counts contradict each other")


# --- decisions


def entry_rows(entries: Iterable[tuple[int, Entry]], learner: Learner) -> list[list[Any]]:
    """Decisions in JSON's terms."""
    return [
        [identity, entry.row, entry.arm, entry.asked_at, entry.counted, entry.fair, learner.note_state(entry.note)]
        for identity, entry in entries
    ]


def entries_from(
    rows: list[list[Any]], head: TableHead, learner: Learner, target: int, accounts: int
) -> list[tuple[int, Entry]]:
    """The decisions that `entry_rows` wrote down."""
    return [(positive_int("id", row[0], 0), _entry(row[1:], head, learner, target, accounts)) for row in rows]


def _entry(row: list[Any], head: TableHead, learner: Learner, target: int, accounts: int) -> Entry:
    place, arm, asked_at, counted, fair, note = row
    if type(arm) is not int or not 0 <= arm < head.arms:
        raise StateError(f"an arm must be a whole number from 0 to {head.arms - 1}, got {quoted(arm)}")
    if type(place) is not int or not 0 <= place < accounts:
        raise StateError(f"a decision must belong to one of {accounts} accounts, got {quoted(place)}")
    if not math.isfinite(asked_at):
        raise StateError(f"the time of an ask must be finite, got {quoted(asked_at)}")
    return Entry(
        place, arm, role_of(head, arm), target, float(asked_at), flag("counted", counted), flag("fair", fair),
        learner.note_from(note),
    )  # fmt: skip
