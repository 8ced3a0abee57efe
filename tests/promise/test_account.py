"""The account against a list of all decisions in rational arithmetic: whatever is asked, told, lost and amended."""

import math
import os
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest import mock

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from suffice.kernels.compiler import OFF, available, compiled
from suffice.learning.settings import Learning
from suffice.menu.menu import Menu
from suffice.promise import account as module
from suffice.promise.account import CARRIED, FIELDS, OWN, UNLIMITED, Account, merge_of
from suffice.promise.rules import Promise
from suffice.selector.selector import Selector
from tests.support.ledger import ONE, SAFE, SKIP, Decision, Ledger
from tests.support.pairing import Pair

TARGETS = st.one_of(
    st.integers(1, 99).map(lambda k: Fraction(k, 100)),
    st.sampled_from([Fraction(999_999_999, ONE), Fraction(1, ONE), Fraction(2, 3), Fraction(123_456_789, ONE)]),
)
SUCCESSES = st.one_of(st.sampled_from([0, ONE]), st.integers(0, ONE))
SAFES = [1.0, 0.0, 0.25, 0.5]


class Machine(RuleBasedStateMachine):
    """Any order of asks in a role that is allowed, outcomes, expiries and amendments."""

    pair: Pair

    @initialize(
        goal=TARGETS,
        max_surplus=st.one_of(st.none(), st.sampled_from([0.5, 1.0, 2.0, 3.5, 6.0, 20.0])),
        safe=st.sampled_from([1.0, *SAFES]),
        forgives=st.booleans(),
        most=st.sampled_from([None, None, 1, 3]),
        fails=st.booleans(),
        honest=st.booleans(),
        begin=st.sampled_from([0, 0, CARRIED - 3 * ONE, CARRIED - 1]),
        twin=st.booleans(),
    )
    def set_up(
        self, goal: Fraction, max_surplus: float | None, safe: float, forgives: bool, most: int | None, fails: bool,
        honest: bool, begin: int, twin: bool,
    ) -> None:  # fmt: skip
        fails = fails and goal < Fraction(99, 100)  # a better safe option must be left, in billionths
        use = compiled if twin and available() else None
        self.pair = Pair(goal, max_surplus, safe, forgives, most=most, fails=fails, begin=begin, compiled=use)
        self.honest = honest

    def units(self, decision: Decision, wish: int) -> int:
        """The world does as it likes; but where it is honest, the safe option succeeds, and the skip fails."""
        return {SAFE: ONE, SKIP: 0}.get(decision.role, wish) if self.honest else wish

    @rule(data=st.data(), count=st.integers(1, 4))
    def ask(self, data: st.DataObject, count: int) -> None:
        for _ in range(count):
            self.pair.ask(data.draw(st.sampled_from(self.pair.roles())))

    @rule(data=st.data(), count=st.integers(1, 12), wish=SUCCESSES)
    def play(self, data: st.DataObject, count: int, wish: int) -> None:
        """Prompt outcomes, all alike: the fastest way to either limit."""
        first = data.draw(st.booleans())
        for _ in range(count):
            decision = self.pair.ask(self.pair.roles()[0 if first else -1])
            self.pair.tell(decision, self.units(decision, wish))

    @precondition(lambda self: self.pair.out)
    @rule(data=st.data(), wish=SUCCESSES)
    def tell(self, data: st.DataObject, wish: int) -> None:
        decision = self.pair.out[data.draw(st.integers(0, len(self.pair.out) - 1))]
        self.pair.tell(decision, self.units(decision, wish))

    @precondition(lambda self: self.pair.out)
    @rule(data=st.data())
    def expire(self, data: st.DataObject) -> None:
        self.pair.expire(self.pair.out[data.draw(st.integers(0, len(self.pair.out) - 1))])

    @precondition(lambda self: self.pair.gone)
    @rule(data=st.data(), wish=SUCCESSES)
    def amend(self, data: st.DataObject, wish: int) -> None:
        decision = self.pair.gone[data.draw(st.integers(0, len(self.pair.gone) - 1))]
        self.pair.tell(decision, self.units(decision, wish))

    @invariant()
    def every_number_is_that_of_the_list(self) -> None:
        if hasattr(self, "pair"):
            self.pair.check(honest=self.honest)


Machine.TestCase.settings = settings(max_examples=80, stateful_step_count=30, deadline=None)
TestMachine = Machine.TestCase


class LongMachine(Machine):
    """The same, for hours if one likes."""


LongMachine.TestCase.settings = settings(max_examples=3000, stateful_step_count=80, deadline=None)
TestLongMachine = pytest.mark.long(LongMachine.TestCase)


@pytest.mark.parametrize("safe", SAFES)
@pytest.mark.parametrize("max_surplus", [None, 0.5, 1.0, 2.0, 3.5, 6.0, 20.0])
def test_limits_are_those_that_are_written_down(safe: float, max_surplus: float | None) -> None:
    """For every number of outcomes that the machine may come to, and far beyond, to the last billionth."""
    promise = Promise.make(0.7, max_surplus=max_surplus, cap=4.0, start=4.0 * safe)
    ledger = Ledger(Fraction(7, 10), None if max_surplus is None else Fraction(max_surplus), Fraction(safe), False)
    account = promise.open()
    for outcomes in [*range(2000), 10**4, 10**6 - 1, 10**6]:
        account.outcomes = outcomes
        module.grow(account)
        assert account.max_surplus == ledger.bottom(outcomes) * ONE
        assert account.max_debt + 1 == (ledger.top(outcomes) + ledger.target) * ONE


def test_an_account_fits_64_bits_after_more_outcomes_than_there_will_be() -> None:
    """A target of almost 1, and a trillion outcomes: both sums are carried, and nothing is lost."""
    account = Promise.make(0.999999999).open()
    account.outcomes = 10**12
    owed = account.target * 10**12
    account.carried, account.owed = divmod(owed, CARRIED)
    account.successes = account.owed + 5
    for _ in range(10):
        module.reserve(account, SAFE)
        module.settle(account, SAFE, account.target, ONE, False)
    assert module.totals(account)[0] == owed + 10 * account.target
    assert module.debt(account) == -5 - 10
    assert max(abs(getattr(account, name)) for name in FIELDS) < 2**62


@given(begins=st.integers(-3 * ONE, 3 * ONE), ahead=st.integers(-5 * ONE, 5 * ONE), units=SUCCESSES)
def test_carrying_over_changes_no_decision(begins: int, ahead: int, units: int) -> None:
    """Sums about CARRIED, one of them perhaps beyond it and the other one not yet, beside small ones."""
    small, large = (Promise.make(0.7, max_surplus=3).open() for _ in range(2))
    small.successes = ahead
    large.owed, large.successes = CARRIED + begins, CARRIED + begins + ahead
    for step in range(12):
        assert module.limit(small) == module.limit(large)
        for account in (small, large):
            module.reserve(account, 0)
            module.settle(account, 0, account.target, units if step % 2 else ONE, False)
        assert module.debt(small) == module.debt(large)
        assert module.totals(large)[0] - CARRIED - begins == module.totals(small)[0]
    if begins > 0 and ahead > 0:
        assert large.carried == 1
        assert max(large.owed, large.successes) < 20 * ONE


@pytest.mark.compiled
@pytest.mark.parametrize("carried", [0, 1, 3])
@pytest.mark.parametrize("careful", [False, True])
def test_surplus_that_is_forgiven_without_end_fits_64_bits(careful: bool, carried: int) -> None:
    """Without a skip, and far below what succeeds: rows of arrays say the same as whole numbers of any length."""
    menu = Menu({"small": 0.1}, safe="all", safe_cost=1.0)
    with mock.patch.dict(os.environ, {OFF: "1"}):
        plain = Selector(menu, 0.2, max_surplus=5.0, learning=Learning(bounds="half-log", chooser="optimist"))
    fast = Selector(menu, 0.2, max_surplus=5.0, learning=Learning(bounds="half-log", chooser="optimist"))
    assert fast.compile()
    account = fast.engine.account(0)
    account.owed, account.forgiven = 10**17, CARRIED - 3 * ONE  # a few more successes, and it is to be carried over
    account.successes, account.forgiven_carried = account.owed + account.forgiven + account.max_surplus, carried
    account.outcomes = module.totals(account)[1] // ONE + 1
    for selector in (plain, fast):
        selector.engine.put_account(0, replace(account))
    for step in range(40):
        decisions = [selector.ask() for selector in (plain, fast)]
        assert decisions[0].arm == decisions[1].arm
        for selector, decision in zip((plain, fast), decisions, strict=True):
            selector.tell(decision.id if careful else decision, step % 5 > 0)
        for name in ("debt", "successes", "rate", "outcomes", "price"):
            assert getattr(plain, name) == getattr(fast, name), (step, name)
        assert str(plain.certificate()) == str(fast.certificate())
    assert plain.engine.account(0).forgiven_carried == carried
    assert fast.engine.account(0).forgiven_carried == carried + 1
    assert max(abs(getattr(fast.engine.account(0), name)) for name in FIELDS) < 2**63


def test_what_several_keep_apart_adds_up() -> None:
    """Each field says how: a sum, a maximum, or its own; nothing that is counted is left out."""
    rules = Promise.make(0.7).open()
    counted = {name for name, how in merge_of.items() if how != OWN}
    assert counted | {name for name, how in merge_of.items() if how == OWN} == set(FIELDS)
    assert {name for name, how in merge_of.items() if how == "max"} == {
        "forgiven",
        "most_outstanding",
        "most_not_skips",
    }
    limits = {
        "target",
        "max_debt",
        "max_surplus",
        "max_outstanding",
        "debt_growth",
        "surplus_growth",
        "forgives",
        "allowance",
    }
    assert set(FIELDS) - counted == limits | {"shortfall", "worst_shortfall", "forgiven_carried"}
    assert all(getattr(rules, name) == 0 for name in counted)


def test_no_limit_is_one_that_no_account_reaches() -> None:
    account = Promise.make(0.5, max_surplus=1e100).open()
    assert account.max_outstanding == UNLIMITED
    assert account.max_surplus <= UNLIMITED
    assert math.log2(UNLIMITED) < 62
    account.outstanding = 10**15
    assert module.limit(account) == SAFE  # at debt 0, not for what is outstanding
    account.successes = ONE
    assert module.limit(account) == 0


def test_a_row_has_the_fields_of_an_account() -> None:
    pair = Pair(Fraction(7, 10), 3.0, 1.0, True, most=5)
    assert pair.rows.dtype.names == FIELDS
    assert Account(*pair.rows[0].item()) == pair.account
    some: Any = pair.rows[0]
    assert int(some["max_surplus"]) == pair.account.max_surplus > 0
