"""Accounts and decisions in JSON's terms. Whatever is read again is checked."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

from suffice.errors import StateError, quoted
from suffice.learning.arm_blocks import MOST_COUNTED
from suffice.learning.base import Learner
from suffice.learning.prices import clipped_price
from suffice.learning.records import Pricing
from suffice.numbers import ONE_SUCCESS, cost_told, flag, positive_int
from suffice.promise.account import asked, grow, totals
from suffice.promise.record import SAFE, SKIP, Account, merge_of
from suffice.promise.rules import Promise
from suffice.selector.checks import LONGEST_NAME
from suffice.selector.engines import Engine
from suffice.selector.entries import Entry
from suffice.selector.verbs import role_of

# Counts that are not summed when accounts are merged; the other fields that are not summed are the rules of the promise.
NOT_SUMMED: Final = ("shortfall", "worst_shortfall", "forgiven_carried")
COUNTED: Final = frozenset(name for name, how in merge_of.items() if how != "own" or name in NOT_SUMMED)
IN_UNITS: Final = frozenset(  # counted in billionths of a success
    {
        "owed",
        "successes",
        "forgiven",
        "reserved",
        "expected",
        "safe_shortage",
        "skip_successes",
        "shortfall",
        "worst_shortfall",
        "uncovered",
    }
)
HINTS: Final = ("hint", "hint_sum", "hint_count", "hint_at")

# A decision: its id, the row of its account, arm, expects, exempt, price, time, counted, unbiased, the model's note.
Row = list[Any]


# --- accounts


def account_state(account: Account, pricing: Pricing) -> dict[str, object]:
    """An account in JSON's terms, without the rules, which the promise holds."""
    counts = {name: getattr(account, name) for name in merge_of if name in COUNTED}
    spent = max(0.0, pricing.spent)  # amendments subtract what they add again, up to rounding
    return {"counts": counts, "hints": [getattr(pricing, name) for name in HINTS], "spent": spent}


def account_from(promise: Promise, state: dict[str, Any]) -> Account:
    """The account that `account_state` wrote down."""
    account = promise.open()
    for name, value in state["counts"].items():
        if name not in COUNTED or type(value) is not int:
            raise StateError(f"counts must be whole numbers, got {name} = {quoted(value)}")
        most = MOST_COUNTED * (ONE_SUCCESS if name in IN_UNITS else 1)
        if not (-most if name == "expected" else 0) <= value <= most:
            raise StateError(f"{name} must be a number of at least 0 and not astronomical, got {quoted(value)}")
        setattr(account, name, value)
    missing = COUNTED - set(state["counts"])
    if missing:
        raise StateError(f"counts must hold {', '.join(sorted(missing))}")
    grow(account)
    return account


def pricing_from(fresh: Pricing, state: dict[str, Any], account: Account) -> Pricing:
    """The prices that `account_state` wrote down."""
    hints = [float(value) for value in state["hints"]]
    if len(hints) != len(HINTS) or not all(0.0 <= value <= 1e300 for value in hints):
        raise StateError(f"the hint must hold {len(HINTS)} numbers of at least 0, got {quoted(state['hints'])}")
    for name, value in zip(HINTS, hints, strict=True):
        setattr(fresh, name, value)
    fresh.spent = cost_told(state["spent"])
    fresh.now = clipped_price(fresh, account)
    return fresh


def group_rows(names: Sequence[object]) -> dict[str, int]:
    """The row of each group's account; `names` are those of all accounts, None for the first."""
    rows: dict[str, int] = {}
    for row, name in enumerate(names[1:], 1):
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
            raise StateError(f"a group must have a name of 1 to {LONGEST_NAME} characters, got {quoted(name)}")
        rows[name] = row
    if names[0] is not None or len(rows) != len(names) - 1:
        raise StateError(f"each group must have a name of its own, got {quoted(names[1:])}")
    return rows


# --- engines


def engine_state(engine: Engine, names: Sequence[str | None], learner: Learner) -> dict[str, object]:
    """What an engine holds, in JSON's terms; `names` are those of its accounts, None for the first."""
    return {
        "next_id": engine.next_id,
        "accounts": [
            {"name": name, **account_state(engine.account(row), engine.pricing(row))} for row, name in enumerate(names)
        ],
        "outstanding": _rows(engine.entries(), learner),
        "expired": _rows(engine.expired_entries(), learner),
    }


def restore_engine(
    promise: Promise, engine: Engine, learner: Learner, state: dict[str, Any], fresh: Iterable[Pricing]
) -> None:
    """Replace the new accounts of an engine, and what its learner knows, by what was saved. Leaves the fast path closed."""
    engine.next_id = positive_int("next_id", state["next_id"], 0)
    for row, (pricing, saved) in enumerate(zip(fresh, state["accounts"], strict=True)):
        account = account_from(promise, saved)
        restored = pricing_from(pricing, saved, account)
        if row < engine.rows():
            engine.put_account(row, account)
            engine.put_pricing(row, restored)
        else:
            engine.add_row(account, restored)
    learner.restore(state["learner"], engine.pricing(0).now)
    waiting, expired = (
        [(positive_int("id", row[0], 0), _entry(row[1:], learner, promise.target, engine.rows())) for row in rows]
        for rows in (state["outstanding"], state["expired"])
    )
    check_accounts(promise, engine, waiting, expired)
    engine.restore_entries(waiting, expired)
    engine.close()


def check_accounts(
    promise: Promise, engine: Engine, waiting: list[tuple[int, Entry]], expired: list[tuple[int, Entry]]
) -> None:
    """Refuse counts that contradict each other."""
    accounts, next_id = [engine.account(row) for row in range(engine.rows())], engine.next_id
    ids = [identity for identity, _ in (*waiting, *expired)]
    sound = len(set(ids)) == len(ids) and all(0 <= identity < next_id for identity in ids)
    uncounted = sum(not entry.counted for _, entry in waiting)
    sound &= sum(map(asked, accounts)) + uncounted <= next_id <= MOST_COUNTED
    for row, account in enumerate(accounts):
        owed, successes, _ = totals(account)
        own = [entry for _, entry in waiting if entry.row == row and entry.counted]
        reserving = [entry for entry in own if not entry.exempt]
        sound &= (
            owed == promise.target * account.outcomes
            and successes <= account.outcomes * ONE_SUCCESS
            and account.shortfall <= account.worst_shortfall <= owed
            and account.safe_shortage <= account.safe_plays * ONE_SUCCESS
            and account.expired + account.skipped + account.safe_plays <= account.outcomes
            and account.outstanding == len(reserving) <= account.most_outstanding
            and account.reserved == sum(entry.target for entry in reserving)
            and account.pending == len(own) <= account.most_pending
            and account.expected == sum(entry.expects for entry in own)
            and not any(entry.role == SKIP for entry in own)
        )
    if not sound:
        raise StateError("the counts contradict each other")


# --- decisions


def _rows(entries: Iterable[tuple[int, Entry]], learner: Learner) -> list[Row]:
    return [
        [
            identity, entry.row, entry.arm, entry.expects, entry.exempt, entry.price, entry.asked_at, entry.counted,
            entry.unbiased, learner.note_state(entry.note),
        ]
        for identity, entry in entries
    ]  # fmt: skip


def _entry(row: Row, learner: Learner, target: int, accounts: int) -> Entry:
    place, arm, expects, exempt, price, asked_at, counted, unbiased, note = row
    head = learner.head
    if type(arm) is not int or not 0 <= arm < head.arms:
        raise StateError(f"an arm must be a whole number from 0 to {head.arms - 1}, got {quoted(arm)}")
    if type(place) is not int or not 0 <= place < accounts:
        raise StateError(f"a decision must belong to one of {accounts} accounts, got {quoted(place)}")
    if not math.isfinite(asked_at) or not math.isfinite(price):
        raise StateError(f"the time and the price of an ask must be finite, got {quoted(asked_at)} and {quoted(price)}")
    role = role_of(head, arm)
    if type(expects) is not int or abs(expects) > ONE_SUCCESS or exempt not in (0, 1) or (exempt and role != SAFE):
        raise StateError(f"a decision must hold what it is expected to add to the debt, got {quoted(row)}")
    return Entry(
        place, arm, role, target, expects, int(exempt), float(price), float(asked_at), flag("counted", counted),
        flag("unbiased", unbiased), learner.note_from(note),
    )  # fmt: skip
