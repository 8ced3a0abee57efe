"""The account: the functions on the counts of one promise that the guarantee rests on, in whole numbers.

Standard library only. The functions run as they are on an `Account`, and `kernels` compiles these same functions for rows
of an array with fields of the same names. Sums are in billionths of a success, so that no decision depends on rounding.

    debt     = owed − successes                    successes owed; negative when ahead
    exposure = debt + reserved                     what the debt would be if everything outstanding failed
    tracked  = debt + forgiven                     the debt, with the surplus that was written off
    limits   : tracked + target > max_debt, or tracked + reserved + target > max_exposure
                                                   → the safe option, and nothing else
               tracked <= −max_surplus             → the skip option, if the menu has one
               between them                        → any option

The upper limits are tested first: never behind comes before never ahead. A decision that passes both reserves its target
until it is settled; a safe play that a limit forced reserves nothing.
"""

import math
from dataclasses import replace

from suffice.numbers import ONE_SUCCESS
from suffice.promise.record import (
    CARRIED,
    CONFIDENCE,
    FREE,
    SAFE,
    SKIP,
    SNAP,
    UNLIMITED,
    Account,
    Played,
)

# --- what may be played


def debt(account: Account) -> int:
    """Successes owed, in billionths; negative when ahead."""
    return account.owed - account.successes - account.forgiven_carried * CARRIED


def exposure(account: Account) -> int:
    """What the debt would be if everything outstanding failed."""
    return debt(account) + account.reserved


def asked(account: Account) -> int:
    """Everything that was asked and is to be judged, outstanding or not."""
    return account.outcomes + account.pending + account.safe_lost + account.cancelled


def owed_if_failed(account: Account, expires: bool) -> int:
    """The debt if everything without an outcome failed: what is outstanding, and the safe plays that were lost.

    Safe plays that a limit forced reserve nothing, because they succeed. Where decisions expire, they have the time until
    then to be reported; else every one that is outstanding counts.
    """
    silent = account.safe_lost + (0 if expires else account.pending - account.outstanding)
    return exposure(account) + account.target * silent


def tracked_debt(account: Account) -> int:
    """The debt that the limits are compared with: surplus that was forgiven no longer counts."""
    return account.owed - account.successes + account.forgiven


def limit(account: Account) -> int:
    """What must be played now: SAFE, SKIP, or anything (FREE)."""
    tracked = account.owed - account.successes + account.forgiven
    if tracked + account.target > account.max_debt:
        return SAFE
    if tracked + account.reserved + account.target > account.max_exposure:
        return SAFE  # not a skip, even if one is due: it would add to the debt
    if tracked <= -account.max_surplus:
        return SKIP
    return FREE


# --- asked


def reserve(account: Account, role: int, expects: int) -> int:
    """Count a decision as outstanding: any but a skip, which is settled at once. Whether it is exempt from the limits (1).

    An option other than the safe one where a limit forces the safe one is what the caller insisted on: the theorem does
    not cover it, so its target is added to every bound.
    """
    exempt = 0
    if account.forgives == 0 and tracked_debt(account) <= -account.max_surplus:
        account.forced_ahead += 1  # a skip was due: a limit forces something else, or the user does
    if limit(account) == SAFE:
        if role == SAFE:
            exempt = 1
            account.forced += 1
            if tracked_debt(account) + account.target <= account.max_debt:
                account.forced_by_waiting += 1
        else:
            account.uncovered += account.target
            account.insisted += 1
    if exempt == 0:
        account.reserved += account.target
        account.outstanding += 1
        _count_outstanding(account, account.outstanding)
    account.expected += expects
    account.pending += 1
    if account.pending > account.most_pending:
        account.most_pending = account.pending
    return exempt


def skip(account: Account) -> None:
    """Count a decision to do nothing, which fails for certain: it is outstanding for an instant."""
    _count_outstanding(account, account.outstanding + 1)
    account.outcomes += 1
    account.skipped += 1
    account.owed += account.target
    _close(account)


def _count_outstanding(account: Account, number: int) -> None:
    """Count how many are outstanding with a reserve, and let the surplus grow where it must cover them."""
    if number > account.most_outstanding:
        account.most_outstanding = number
        if number > account.in_flight:
            grow(account)


# --- settled


def settle(account: Account, played: Played, units: int, expired: bool) -> None:
    """Count the outcome of a decision that was outstanding, or its expiry.

    An expiry is a failure until it is amended. A safe play that expires is neither a failure nor a success.
    """
    _release(account, played)
    if expired and played.role == SAFE:
        account.safe_lost += 1
        return
    account.outcomes += 1
    account.owed += played.target
    account.successes += units
    if account.owed >= CARRIED and account.successes >= CARRIED:
        account.owed -= CARRIED
        account.successes -= CARRIED
        account.carried += 1
    if expired:
        account.expired += 1
    elif played.role == SAFE:
        _count_safe(account, played.target, units)
        if played.exempt > 0:
            account.shortfall = max(0, account.shortfall + played.target - units)
            account.worst_shortfall = max(account.worst_shortfall, account.shortfall)
    _close(account)


def cancel(account: Account, played: Played) -> None:
    """Count a decision that was outstanding as one that was never carried out."""
    _release(account, played)
    account.cancelled += 1


def _release(account: Account, played: Played) -> None:
    """Release what a decision has reserved: it is outstanding no more."""
    if played.exempt == 0:
        account.reserved -= played.target
        account.outstanding -= 1
    account.expected -= played.expects
    account.pending -= 1


def amend(account: Account, played: Played, units: int) -> None:
    """Count an outcome that arrived after its decision had expired, or a success of a skip.

    The debt falls, unless a safe play that was lost turns out to have failed: what that adds is added to every bound.
    """
    if units > 0:
        account.amended += 1
    account.successes += units
    if played.role == SAFE:
        account.safe_lost -= 1
        account.outcomes += 1
        account.owed += played.target
        account.uncovered += max(0, played.target - units)
        _count_safe(account, played.target, units)
    elif played.role == SKIP:
        account.skip_successes += units
    _close(account)


def fold(account: Account) -> None:
    """Carry over what was forgiven, before 64 bits are full: for rows of arrays, not for counts that servers merge."""
    if account.forgiven >= CARRIED:
        account.successes -= CARRIED
        account.forgiven -= CARRIED
        account.forgiven_carried += 1


def _count_safe(account: Account, target: int, units: int) -> None:
    """Count the outcome of a safe play."""
    account.safe_plays += 1
    account.safe_shortage += ONE_SUCCESS - units
    if units < target:
        account.safe_failures += 1


def _close(account: Account) -> None:
    """Let the surplus grow, forgive what lies beyond it where nothing can be skipped, and note a debt above its bound."""
    owed = account.owed - account.successes
    if account.max_surplus < account.surplus_most:
        grow(account)
    if account.forgives > 0 and owed + account.forgiven < -account.max_surplus:
        account.forgiven = -owed - account.max_surplus
    if owed > account.max_debt and account.forgiven_carried == 0 and owed > debt_bound(account):
        account.violations += 1


def grow(account: Account) -> None:
    """Raise `max_surplus` to what the outcomes and the decisions outstanding at once call for. It is never lowered."""
    if account.surplus_growth == 0:
        return
    root = math.sqrt(max(account.outcomes, 1)) * SNAP
    surplus = min(math.floor(account.surplus_growth * root), account.surplus_most)
    if account.most_outstanding > account.in_flight:
        surplus = max(surplus, surplus_needed(account))
    if surplus > account.max_surplus:
        account.max_surplus = surplus


def surplus_needed(account: Account) -> int:
    """The surplus that as many outstanding decisions with a reserve as ever need, in billionths (theory 11).

    Those beyond `in_flight` must be covered, and three standard deviations of the outcomes of all of them: with less, the
    safe and the skip option alternate.
    """
    share = account.target / ONE_SUCCESS
    most = min(float(account.most_outstanding), UNLIMITED / ONE_SUCCESS / 4.0)
    beyond = share * (most - account.in_flight) + 3.0 * math.sqrt(most * share * (1.0 - share)) + 10.0
    return max(0, math.floor(beyond * ONE_SUCCESS) - account.max_debt)


# --- what is certain


def base_bound(account: Account) -> int:
    """The bound on the debt, and on the exposure: max_debt + target·(D − 1) + X, and at most max_exposure + X.

    D is the most decisions with a reserve that were ever outstanding at once; X is what the theorem does not cover.
    """
    late = account.target * max(account.most_outstanding - 1, 0)
    return min(account.max_debt + late, account.max_exposure) + account.uncovered


def allowance(account: Account) -> int:
    """The debt that failures of the safe option may add, where it is declared to fail sometimes.

    With r > 0 the solution of E[exp(r·(target − success))] = 1 (Lundberg), the account holds 1/r. The shortfalls are a walk
    of mean below zero, which from any one play ever exceeds x with probability at most exp(−r·x). Giving play m the
    share 1/(m(m+1)) of the 1% makes x = ln(m(m+1)/1%)/r hold for all plays and all times at once.
    """
    if account.allowance == 0 or account.safe_plays == 0:
        return 0
    plays = float(account.safe_plays)
    return math.ceil(account.allowance * math.log(plays * (plays + 1.0) / (1.0 - CONFIDENCE)))


def debt_bound(account: Account) -> int:
    """The bound on the debt while the safe and the skip option behave as the menu declares."""
    return base_bound(account) + allowance(account)


def debt_ceiling(account: Account) -> int:
    """The bound that holds in every world, however the safe option behaves. A debt above it is a bug in suffice.

    When the last decision with a reserve was asked, the exposure was within `base_bound`. Since then only safe plays that
    were forced can have raised it, by at most their worst recent shortfall.
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
    largest = base_bound(account) + max(allowance(account), account.worst_shortfall)
    # Where surplus is forgiven, the tracked debt may begin at −max_surplus with decisions outstanding.
    forgiven = max(0, account.target - account.max_surplus - account.max_debt) if account.forgives else 0
    return min(account.target * length, largest + forgiven + _banked(account))


def _banked(account: Account) -> int:
    bottom = account.max_surplus + ONE_SUCCESS * account.amended
    if account.forgives:
        return bottom
    late = (ONE_SUCCESS - account.target) * (max(account.most_pending, 1) + account.forced_ahead)
    return bottom + late + account.skip_successes


def at_outcomes(account: Account, outcomes: int) -> Account:
    """The account with the limits that it had after so many outcomes; every other field has its present value."""
    earlier = replace(account, outcomes=outcomes)
    if account.surplus_growth > 0:
        earlier.max_surplus = 0
    grow(earlier)
    return earlier


def totals(account: Account) -> tuple[int, int, int]:
    """The sums owed, successes and forgiven, with what was carried over."""
    both, forgiven = account.carried * CARRIED, account.forgiven_carried * CARRIED
    return account.owed + both, account.successes + both + forgiven, account.forgiven + forgiven
