"""The account: the counts of one promise, in whole numbers, and the functions on them that the guarantee rests on.

Standard library only. The functions run as they are on an `Account`, and `kernels` compiles these same functions for rows
of an array with fields of the same names. Successes and targets are counted in billionths of a success (ONE_SUCCESS is
one), so that no decision depends on rounding; everything else here counts decisions.

    debt    = owed − successes                     successes owed; negative when ahead
    tracked = debt + forgiven                      the same, with the surplus that was written off
    limits  : tracked + target > max_debt   → the safe option, and nothing else
              tracked <= −max_surplus       → the skip option, if the menu has one
              between them                  → any option

The upper limit is tested first: never behind comes before never ahead.
"""

import math
from dataclasses import dataclass, field, fields, replace
from typing import Final

from suffice.numbers import ONE_SUCCESS

SKIP: Final = -1
FREE: Final = 0
SAFE: Final = 1

CONFIDENCE: Final = 0.99  # of statements about a safe option that may fail

# A limit that was computed in floating point, such as cap/(5/sqrt(900)), differs in its last bits from the exact number.
# Limits are moved inwards by this factor, so that a debt which equals the exact number is at the limit. Outcomes of 0 and
# 1 move the debt by far more, so no other decision changes.
SNAP: Final = 1.0 - 2.0**-40

UNLIMITED: Final = 1 << 60  # billionths: a limit that no account reaches
CARRIED: Final = 1 << 61  # billionths: from here on a sum is carried over, long before 64 bits are full
SUM, MAX, OWN = "sum", "max", "own"  # how the counts of several servers are merged; see `merge_of`


def _counts(how: str = SUM) -> int:
    return field(default=0, metadata={"merge": how})


@dataclass(slots=True)
class Account:
    """The limits and the counts of one promise. A selector has one account, and one for each group.

    Several servers may each hold counts of one account. Merged, each field is the SUM or the MAX over servers, or the
    OWN value of one server: limits, and the running shortfall of the safe option (a sum of those is an upper bound).
    """

    # Limits, in billionths, except `max_outstanding`. New decisions have this target.
    target: int = _counts(OWN)
    max_debt: int = _counts(OWN)  # an option other than the safe one is played while tracked + target <= max_debt
    max_surplus: int = _counts(OWN)  # the most successes that may be banked; never lowered
    # The safe option is played while this many decisions other than safe plays are outstanding.
    max_outstanding: int = _counts(OWN)
    debt_growth: int = _counts(OWN)  # how fast the limits grow with the square root of the outcomes; 0: constant
    surplus_growth: int = _counts(OWN)
    forgives: int = _counts(OWN)  # 1 where the menu has no skip: surplus beyond max_surplus is written off
    allowance: int = _counts(OWN)  # times a logarithm: the debt that declared failures of the safe option may add

    # Sums over outcomes, in billionths of a success.
    owed: int = _counts()  # the targets of all settled decisions
    successes: int = _counts()
    carried: int = _counts()  # how often both sums were lowered by CARRIED, which does not change their difference
    forgiven: int = _counts(MAX)
    forgiven_carried: int = _counts(OWN)  # how often `successes` and `forgiven` were lowered by it: see `fold`

    # Counts.
    outcomes: int = _counts()  # reported, or expired
    expired: int = _counts()  # counted as failures because no outcome arrived
    amended: int = _counts()  # of those, the ones that a late success corrected
    unaudited: int = _counts()  # asked with audit=False: never counted, never outstanding
    forced: int = _counts()  # safe plays where a skip was due, because too many decisions were outstanding
    violations: int = _counts()  # outcomes after which the debt was above its bound

    # The safe option and the skip option.
    safe_plays: int = _counts()  # with a reported outcome
    safe_shortage: int = _counts()  # the sum of 1 − success over those plays, in billionths
    safe_failures: int = _counts()  # of those plays, the ones whose success was below their target
    safe_lost: int = _counts()  # expired: counted as failures, without evidence that they failed
    skip_successes: int = _counts()  # in billionths; more than zero violates an assumption
    shortfall: int = _counts(OWN)  # of the safe option in its worst recent window, in billionths
    worst_shortfall: int = _counts(OWN)  # the largest that shortfall ever was

    # Outstanding decisions, and the most at once, the newest decision included.
    outstanding: int = _counts()  # other than safe plays
    most_outstanding: int = _counts(MAX)
    not_skips: int = _counts()  # outstanding, other than skips
    most_not_skips: int = _counts(MAX)


FIELDS: Final = tuple(column.name for column in fields(Account))
RESERVED: Final = ("forced", "outstanding", "most_outstanding", "not_skips", "most_not_skips")  # what `reserve` changes
merge_of: Final = {column.name: column.metadata["merge"] for column in fields(Account)}


# --- what may be played


def debt(account: Account) -> int:
    """Successes owed, in billionths; negative when ahead."""
    return account.owed - account.successes - account.forgiven_carried * CARRIED


def tracked_debt(account: Account) -> int:
    """The debt that the limits are compared with: surplus that was forgiven no longer counts."""
    return account.owed - account.successes + account.forgiven


def limit(account: Account) -> int:
    """What must be played now: SAFE, SKIP, or anything (FREE)."""
    tracked = account.owed - account.successes + account.forgiven
    if tracked + account.target > account.max_debt or account.outstanding >= account.max_outstanding:
        return SAFE  # not a skip, even if one is due: skips without end would break the bound (theory 4)
    if tracked <= -account.max_surplus:
        return SKIP
    return FREE


# --- asked


def reserve(account: Account, role: int) -> None:
    """Count a decision as outstanding."""
    full = account.outstanding >= account.max_outstanding
    if role == SAFE and full and account.forgives == 0 and tracked_debt(account) <= -account.max_surplus:
        account.forced += 1
    if role != SAFE:
        account.outstanding += 1
        if account.outstanding > account.most_outstanding:
            account.most_outstanding = account.outstanding
    if role != SKIP:
        account.not_skips += 1
        if account.not_skips > account.most_not_skips:
            account.most_not_skips = account.not_skips


# --- settled


def settle(account: Account, role: int, target: int, units: int, expired: bool) -> None:
    """Count the outcome of a decision that was outstanding, or its expiry, which is a failure until it is amended."""
    if role != SAFE:
        account.outstanding -= 1
    if role != SKIP:
        account.not_skips -= 1
    account.outcomes += 1
    account.owed += target
    account.successes += units
    if account.owed >= CARRIED and account.successes >= CARRIED:
        account.owed -= CARRIED
        account.successes -= CARRIED
        account.carried += 1
    if expired:
        account.expired += 1
    if role == SAFE and expired:
        account.safe_lost += 1
    elif role == SAFE:
        _count_safe(account, target, units)
    elif role == SKIP:
        account.skip_successes += units
    _close(account)


def amend(account: Account, role: int, target: int, units: int) -> None:
    """Count an outcome that arrived after its decision had expired. The debt can only fall."""
    account.successes += units
    if units > 0:
        account.amended += 1
    if role == SAFE:
        account.safe_lost -= 1
        _count_safe(account, target, units)
    elif role == SKIP:
        account.skip_successes += units
    _close(account)


def fold(account: Account) -> None:
    """Carry over what was forgiven, before 64 bits are full: for rows of arrays, not for counts that servers merge."""
    if account.forgiven >= CARRIED:
        account.successes -= CARRIED
        account.forgiven -= CARRIED
        account.forgiven_carried += 1


def _count_safe(account: Account, target: int, units: int) -> None:
    """Count a safe play, and the shortfall: the worst sum of target − success over the most recent safe plays."""
    account.safe_plays += 1
    account.safe_shortage += ONE_SUCCESS - units
    if units < target:
        account.safe_failures += 1
    account.shortfall = max(0, account.shortfall + target - units)
    account.worst_shortfall = max(account.worst_shortfall, account.shortfall)


def _close(account: Account) -> None:
    """Let limits grow, forgive what lies beyond them where nothing can be skipped, and note a debt above its bound."""
    owed = account.owed - account.successes
    # Limits never fall: a surplus below the stored limit is below the current one, which need not be computed.
    if account.debt_growth > 0 or owed + account.forgiven <= -account.max_surplus:
        grow(account)
        if account.forgives > 0:
            account.forgiven = max(account.forgiven, -owed - account.max_surplus)
    if owed > account.max_debt and account.forgiven_carried == 0 and owed > debt_bound(account):
        account.violations += 1


def grow(account: Account) -> None:
    """Raise the limits that grow with the outcomes. They are never lowered.

    `_close` raises `max_surplus` only when the surplus reaches it; call this before reading it.
    """
    if account.debt_growth == 0 and account.surplus_growth == 0:
        return
    root = math.sqrt(max(account.outcomes, 1)) * SNAP
    surplus = math.floor(account.surplus_growth * root)
    if surplus > account.max_surplus:
        account.max_surplus = surplus
    if account.debt_growth > 0:
        account.max_debt = max(account.max_debt, account.target - 1 + math.ceil(account.debt_growth * root))


# --- what is certain


def base_bound(account: Account) -> int:
    """max_debt + target·(D − 1) + X: D the most decisions other than safe plays ever outstanding at once, X lost safe plays.

    Limits stand one billionth below the exact number, which the debt must not reach when a decision is asked.
    """
    late = account.target * max(account.most_outstanding - 1, 0)
    return account.max_debt + 1 + late + ONE_SUCCESS * account.safe_lost


def debt_bound(account: Account) -> int:
    """The bound on the debt while the safe and the skip option behave as the menu declares.

    The allowance is 1/r, with r > 0 the solution of E[exp(r·(target − success))] = 1 for a safe option that is declared to
    fail sometimes (Lundberg), and 0 otherwise. Its shortfalls are a walk of mean below zero, which from any one
    play ever exceeds x with probability at most exp(−r·x). Giving play m the share 1/(m(m+1)) of the 1% makes
    x = ln(m(m+1)/1%)/r hold for all plays and all times at once.
    """
    if account.allowance == 0 or account.safe_plays == 0:
        return base_bound(account)
    plays = float(account.safe_plays)
    walk = math.log(plays * (plays + 1.0) / (1.0 - CONFIDENCE))
    return base_bound(account) + math.ceil(account.allowance * walk)


def debt_ceiling(account: Account) -> int:
    """The bound that holds in every world, however the safe option behaves. A debt above it is a bug in suffice.

    When the last decision other than a safe play was asked, the debt was below the limit. Decisions outstanding then add
    at most target·(D − 1), lost safe plays at most X, and safe plays since at most their worst recent shortfall.
    """
    return base_bound(account) + account.shortfall


def surplus_bound(account: Account) -> int | None:
    """The most by which successes may run ahead; None where there is no skip to play."""
    return None if account.forgives else _banked(account)


def window_bound(account: Account, length: int) -> int:
    """The most failures beyond the allowed ones in any window of so many outcomes: the largest debt + what was banked.

    Forgiven surplus is written off for good, so windows stay bounded where there is no skip. The worst shortfall of a
    safe option that failed is included.
    """
    largest = max(debt_bound(account), base_bound(account) + account.worst_shortfall)
    return min(account.target * length, largest + _banked(account))


def _banked(account: Account) -> int:
    bottom = account.max_surplus + ONE_SUCCESS * account.amended
    if account.forgives:
        return bottom
    late = (ONE_SUCCESS - account.target) * (max(account.most_not_skips, 1) + account.forced)
    return bottom + late + account.skip_successes


def at_outcomes(account: Account, outcomes: int) -> Account:
    """The account with the limits that it had after so many outcomes; every other field has its present value."""
    earlier = replace(account, outcomes=outcomes)
    if account.surplus_growth > 0:
        earlier.max_surplus = 0
    if account.debt_growth > 0:
        earlier.max_debt = account.target - 1
    grow(earlier)
    return earlier


def totals(account: Account) -> tuple[int, int, int]:
    """The sums owed, successes and forgiven, with what was carried over."""
    both, forgiven = account.carried * CARRIED, account.forgiven_carried * CARRIED
    return account.owed + both, account.successes + both + forgiven, account.forgiven + forgiven
