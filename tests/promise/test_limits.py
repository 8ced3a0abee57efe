"""The two limits, what is reserved under them, and outcomes that come late, never, or from a skip."""

from fractions import Fraction

import hypothesis.strategies as st
from hypothesis import given

from suffice.numbers import ONE_SUCCESS
from suffice.promise.account import (
    amend,
    debt,
    debt_bound,
    debt_ceiling,
    exposure,
    grow,
    limit,
    owed_if_failed,
    reserve,
    settle,
    skip,
    window_bound,
)
from suffice.promise.record import FREE, SAFE, SKIP, Account, Reservation
from suffice.promise.rules import Promise


def record(account: Account, units: int, role: int, *, expired: bool = False) -> None:
    """Ask in this role, and tell at once."""
    settle(account, Reservation(role, account.target, 0, reserve(account, role, 0)), units, expired)


def told(promise: Promise, outcomes: int, units: int) -> Account:
    """The account after so many outcomes that came to so many billionths of a success."""
    account = promise.open()
    account.outcomes, account.owed, account.successes = outcomes, promise.target * outcomes, units
    grow(account)
    return account


@given(
    numerator=st.integers(1, 99), outcomes=st.integers(1, 300), most=st.integers(0, 30), hundredths=st.integers(0, 99)
)
def test_the_most_that_may_be_owed_is_found_exactly(numerator: int, outcomes: int, most: int, hundredths: int) -> None:
    """What one failure more would owe may equal max_debt, and not exceed it by a billionth."""
    target, owed = numerator * ONE_SUCCESS // 100, most * ONE_SUCCESS + hundredths * ONE_SUCCESS // 100
    promise = Promise.make(numerator / 100, max_debt=Fraction(owed, ONE_SUCCESS))
    at_limit = 100 * outcomes * target - (owed - target)  # so many successes leave a debt of max_debt − target
    if at_limit < 1:
        return
    assert limit(told(promise, 100 * outcomes, at_limit)) != SAFE
    assert limit(told(promise, 100 * outcomes, at_limit - 1)) == SAFE
    level = told(promise, 100 * outcomes, at_limit)
    record(level, 0, FREE)
    assert debt(level) == owed == debt_bound(level)


@given(numerator=st.integers(1, 99), in_flight=st.integers(0, 50), most=st.integers(0, 30))
def test_the_most_that_may_be_outstanding_is_found_exactly(numerator: int, in_flight: int, most: int) -> None:
    """With nothing reported, max_debt/target + in_flight decisions, and not one more; safe plays then reserve nothing."""
    promise = Promise.make(numerator / 100, max_debt=most, in_flight=in_flight, max_surplus=100)
    account = promise.open()
    asked = 0
    while limit(account) != SAFE:
        reserve(account, FREE, 0)
        asked += 1
    fits = most * 100 // numerator + in_flight if most * 100 >= numerator else 0
    assert asked == account.outstanding == fits
    reserved = account.reserved
    assert reserve(account, SAFE, 0) == 1
    assert (account.reserved, account.outstanding, account.pending) == (reserved, fits, fits + 1)
    assert account.reserved <= account.max_exposure == most * ONE_SUCCESS + in_flight * promise.target


def test_what_is_settled_leaves_no_decision_outstanding() -> None:
    account = Promise.make(0.7, in_flight=0, max_debt=2).open()
    given = [(FREE, 3), (SAFE, -5), (SAFE, 7)]  # the third finds the exposure at its limit
    played = [Reservation(role, account.target, expects, reserve(account, role, expects)) for role, expects in given]
    assert [one.exempt for one in played] == [0, 0, 1]
    assert (account.outstanding, account.pending, account.reserved, account.expected) == (2, 3, 2 * account.target, 5)
    for one in played:
        settle(account, one, ONE_SUCCESS, False)
    assert (account.outstanding, account.pending, account.reserved, account.expected) == (0, 0, 0, 0)
    assert (account.most_outstanding, account.most_pending) == (2, 3)


def test_a_skip_is_settled_when_it_is_asked() -> None:
    """It is outstanding for an instant: with two others out it makes three, and its failure counts at once."""
    account = Promise.make(0.7, max_debt=1.4).open()
    for _ in range(2):
        reserve(account, FREE, 0)
    skip(account)
    assert (account.outcomes, account.skipped, account.pending, account.expired) == (1, 1, 2, 0)
    assert debt(account) == account.target
    assert (account.outstanding, account.most_outstanding, account.most_pending) == (2, 3, 2)
    skip(account)
    assert debt(account) == account.max_debt
    assert limit(account) == SAFE
    assert exposure(account) == debt_bound(account) == 4 * account.target


def test_a_late_success_of_a_skip_counts() -> None:
    account = Promise.make(0.7).open()
    skip(account)
    amend(account, Reservation(SKIP, account.target, 0, 0), ONE_SUCCESS)
    assert debt(account) == account.target - ONE_SUCCESS
    assert (account.outcomes, account.amended, account.skip_successes) == (1, 1, ONE_SUCCESS)


def test_a_lost_play_of_the_safe_option_is_neither_a_failure_nor_a_success() -> None:
    """Until it is told: then a success lowers the debt, and what a failure adds is added to the bound."""
    account = Promise.make(0.7).open()
    for _ in range(2):
        record(account, 0, SAFE, expired=True)
    assert (account.safe_lost, account.outcomes, account.expired, debt(account)) == (2, 0, 0, 0)
    assert owed_if_failed(account, True) == 2 * account.target
    amend(account, Reservation(SAFE, account.target, 0, 0), ONE_SUCCESS)
    assert (account.safe_lost, account.outcomes, account.amended) == (1, 1, 1)
    assert (debt(account), account.uncovered) == (account.target - ONE_SUCCESS, 0)
    amend(account, Reservation(SAFE, account.target, 0, 0), ONE_SUCCESS // 10)
    assert (account.safe_lost, account.outcomes, account.amended, account.safe_failures) == (0, 2, 2, 1)
    assert account.uncovered == account.target - ONE_SUCCESS // 10
    assert debt_bound(account) == account.max_debt + account.uncovered


def test_what_is_insisted_on_is_added_to_every_bound() -> None:
    account = Promise.make(0.7, max_debt=0).open()
    before = debt_bound(account), debt_ceiling(account), window_bound(account, 1000)
    assert reserve(account, FREE, 0) == 0
    assert (account.insisted, account.uncovered) == (1, account.target)
    after = debt_bound(account), debt_ceiling(account), window_bound(account, 1000)
    assert after == tuple(bound + account.target for bound in before)
    settle(account, Reservation(FREE, account.target, 0, 0), 0, False)
    assert debt(account) == debt_bound(account) == account.target
    assert account.violations == 0
