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

from suffice.errors import InvalidArgument
from suffice.kernels.compiler import OFF, available, compiled
from suffice.learning.settings import Learning
from suffice.menu.menu import Menu
from suffice.promise import account as module
from suffice.promise.record import CARRIED, FIELDS, OWN, RESERVED, SNAP, UNLIMITED, Account, Reservation, merge_of
from suffice.promise.rules import Promise, Rule
from suffice.selector.selector import Selector
from tests.support.ledger import FREE, ONE, SAFE, SKIP, Decision, Ledger
from tests.support.pairing import Case, Pair

TARGETS = st.one_of(
    st.integers(1, 99).map(lambda k: Fraction(k, 100)),
    st.sampled_from([Fraction(999_999_999, ONE), Fraction(1, ONE), Fraction(2, 3), Fraction(123_456_789, ONE)]),
)
SUCCESSES = st.one_of(st.sampled_from([0, ONE]), st.integers(0, ONE))
SAFES = [1.0, 0.0, 0.25, 0.5]


class Machine(RuleBasedStateMachine):
    """Any order of asks in a role that is allowed or insisted on, outcomes, expiries and amendments."""

    pair: Pair

    @initialize(
        case=st.builds(
            Case,
            target=TARGETS,
            max_surplus=st.one_of(st.none(), st.sampled_from([0.5, 1.0, 2.0, 3.5, 6.0, 20.0])),
            forgives=st.booleans(),
            max_debt=st.sampled_from([Fraction(0), Fraction(1), Fraction(5), Fraction(5, 2), Fraction(1, 3)]),
            in_flight=st.sampled_from([0, 0, 1, 3, 200]),
            safe=st.sampled_from([None, None, None, None, *SAFES]),
            fails=st.booleans(),
            begin=st.sampled_from([0, 0, CARRIED - 3 * ONE, CARRIED - 1]),
        ),
        honest=st.booleans(),
        twin=st.booleans(),
    )
    def set_up(self, case: Case, honest: bool, twin: bool) -> None:
        if case.safe not in (None, 1.0) and case.max_surplus is None:
            case = replace(case, max_surplus=4.0)  # such a start needs one
        if case.target >= Fraction(99, 100):
            case = replace(case, fails=False)  # a better safe option must be left, in billionths
        self.pair = Pair(case, compiled=compiled if twin and available() else None)
        self.honest = honest

    def units(self, decision: Decision, wish: int) -> int:
        """The world does as it likes; but where it is honest, the safe option succeeds, and the skip fails."""
        return {SAFE: ONE, SKIP: 0}.get(decision.role, wish) if self.honest else wish

    @rule(data=st.data(), count=st.integers(1, 4))
    def ask(self, data: st.DataObject, count: int) -> None:
        for _ in range(count):
            self.pair.ask(data.draw(st.sampled_from(self.pair.roles())))

    @rule(count=st.integers(1, 3))
    def insist(self, count: int) -> None:
        """Whatever the limits say."""
        for _ in range(count):
            self.pair.ask(FREE)

    @rule(data=st.data(), count=st.integers(1, 12), wish=SUCCESSES)
    def play(self, data: st.DataObject, count: int, wish: int) -> None:
        """Prompt outcomes, all alike: the fastest way to either limit."""
        first = data.draw(st.booleans())
        for _ in range(count):
            decision = self.pair.ask(self.pair.roles()[0 if first else -1])
            if decision.role != SKIP:
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

    @precondition(lambda self: self.pair.out)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        self.pair.cancel(self.pair.out[data.draw(st.integers(0, len(self.pair.out) - 1))])

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

OUTCOMES = [*range(2000), 10**4, 10**6 - 1, 10**6]


@pytest.mark.parametrize("safe", SAFES)
@pytest.mark.parametrize("max_surplus", [None, 0.5, 1.0, 2.0, 3.5, 6.0, 20.0])
def test_limits_of_a_rule_are_those_that_are_written_down(safe: float, max_surplus: float | None) -> None:
    """For every number of outcomes that the machine may come to, and far beyond, to the last billionth."""
    if safe != 1.0 and max_surplus is None:
        with pytest.raises(InvalidArgument, match='step must be given, or the horizon, where the start is not "safe"'):
            Rule(start=4.0 * safe)
        return
    promise = Promise.make(
        0.7, rule=Rule(max_surplus=max_surplus, cap=4.0, start="safe" if safe == 1.0 else 4.0 * safe)
    )
    width = None if max_surplus is None else Fraction(max_surplus)
    ledger, account = Ledger.of_rule(Fraction(7, 10), width, Fraction(safe)), promise.open()
    for outcomes in OUTCOMES:
        account.outcomes = outcomes
        module.grow(account)
        assert account.max_surplus == ledger.bottom(outcomes) * ONE
        assert account.max_debt == ledger.max_debt * ONE
    assert account.max_exposure > account.target * 10**9  # a billion decisions may be outstanding


@pytest.mark.parametrize("max_surplus", [None, 0.5, 20.0, 100.0])
@pytest.mark.parametrize("max_debt", [0, 5, 0.3, Fraction(2, 3), 10**6])
@pytest.mark.parametrize("in_flight", [0, 1, 200, 10**6])
def test_limits_are_those_that_are_written_down(max_surplus: float | None, max_debt: Any, in_flight: int) -> None:
    width = None if max_surplus is None else Fraction(max_surplus)
    owed = Fraction(math.floor(Fraction(str(max_debt)) * ONE), ONE)
    ledger = Ledger(Fraction(7, 10), owed, in_flight, width)
    account = Promise.make(0.7, max_debt=max_debt, in_flight=in_flight, max_surplus=max_surplus).open()
    assert account.max_debt == owed * ONE
    assert account.max_exposure == (owed + Fraction(7, 10) * in_flight) * ONE
    for outcomes in OUTCOMES:
        account.outcomes = outcomes
        module.grow(account)
        assert account.max_surplus == ledger.bottom(outcomes) * ONE
    if max_surplus is None:
        assert account.max_surplus == 40 * ONE


@pytest.mark.parametrize("target", [0.5, 0.9, 0.92, 0.99])
@pytest.mark.parametrize(("outstanding", "in_flight"), [(1, 0), (100, 0), (300, 200), (5000, 200), (10**6, 10**5)])
def test_many_outstanding_decisions_need_a_surplus(target: float, outstanding: int, in_flight: int) -> None:
    """Theory 11, with an exact root: target·(d − in_flight) − max_debt + 10 + 3·sqrt(d·target·(1 − target))."""
    account = Promise.make(target, in_flight=in_flight).open()
    account.most_outstanding = outstanding
    share = Fraction(str(target))
    root = Fraction(math.isqrt(int(outstanding * share * (1 - share) * 10**40)), 10**20)
    needed = share * (outstanding - in_flight) - 5 + 10 + 3 * root
    assert abs(module.surplus_needed(account) - needed * ONE) < 1 + needed / 10**6
    module.grow(account)
    assert account.max_surplus == max(module.surplus_needed(account), math.floor(ONE * (1 - 2**-40)))


def test_the_surplus_grows_with_what_is_outstanding_and_is_never_lowered() -> None:
    """Up to in_flight nothing changes; each decision beyond it raises the limit at once, and no outcome lowers it."""
    account = Promise.make(0.9, in_flight=3).open()
    first = account.max_surplus
    for _ in range(3):
        module.reserve(account, FREE, 0)
    assert account.max_surplus == first
    module.reserve(account, FREE, 0)
    assert account.max_surplus == math.floor((0.9 * 1 + 3 * math.sqrt(4 * 0.9 * (1 - 0.9)) + 10) * ONE) - 5 * ONE
    most = account.max_surplus
    for _ in range(4):
        module.settle(account, Reservation(FREE, account.target, 0, 0), 0, False)
    assert account.max_surplus == most
    constant = Promise.make(0.9, in_flight=0, max_surplus=2).open()
    for _ in range(50):
        module.reserve(constant, FREE, 0)
    assert constant.max_surplus == math.floor(2 * ONE * SNAP)


def test_an_account_fits_64_bits_after_more_outcomes_than_there_will_be() -> None:
    """A target of almost 1, and a trillion outcomes: both sums are carried, and nothing is lost."""
    account = Promise.make(0.999999999).open()
    account.outcomes = 10**12
    owed = account.target * 10**12
    account.carried, account.owed = divmod(owed, CARRIED)
    account.successes = account.owed + 5
    for _ in range(10):
        exempt = module.reserve(account, SAFE, 0)
        module.settle(account, Reservation(SAFE, account.target, 0, exempt), ONE, False)
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
            exempt = module.reserve(account, FREE, 0)
            module.settle(account, Reservation(FREE, account.target, 0, exempt), units if step % 2 else ONE, False)
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
        "most_pending",
    }
    limits = {
        "target",
        "max_debt",
        "max_exposure",
        "max_surplus",
        "in_flight",
        "surplus_growth",
        "surplus_most",
        "forgives",
        "allowance",
    }
    assert set(FIELDS) - counted == limits | {"shortfall", "worst_shortfall", "forgiven_carried"}
    assert all(getattr(rules, name) == 0 for name in counted)


def test_what_a_reservation_changes_is_listed() -> None:
    """An interrupt takes back those fields and no others."""
    changed: set[str] = set()
    for role, ahead, debt in ((FREE, 0, 0), (SAFE, 0, 9 * ONE), (FREE, 0, 9 * ONE), (SAFE, 60 * ONE, 0)):
        account = Promise.make(0.7, in_flight=0).open()
        account.owed, account.successes = debt, ahead
        account.reserved = ahead
        account.max_exposure -= 0 if ahead == 0 else account.max_exposure + 1
        before = replace(account)
        module.reserve(account, role, 5)
        changed |= {name for name in FIELDS if getattr(account, name) != getattr(before, name)}
    assert changed == set(RESERVED)


def test_no_limit_is_one_that_no_account_reaches() -> None:
    account = Promise.make(0.5, rule=Rule(max_surplus=1e100)).open()
    assert UNLIMITED // 2 < account.max_surplus <= UNLIMITED
    assert account.target * 10**9 < account.max_exposure <= UNLIMITED
    assert math.log2(UNLIMITED) < 62
    assert Promise.make(0.5, in_flight=10**18).open().max_exposure <= UNLIMITED
    account.reserved = 10**15
    assert module.limit(account) == SAFE  # at debt 0, not for what is outstanding
    account.successes = ONE
    assert module.limit(account) == 0


def test_a_row_has_the_fields_of_an_account() -> None:
    pair = Pair(Case(Fraction(7, 10), 3.0, forgives=True))
    assert pair.rows.dtype.names == FIELDS
    assert Account(*pair.rows[0].item()) == pair.account
    some: Any = pair.rows[0]
    assert int(some["max_surplus"]) == pair.account.max_surplus > 0
