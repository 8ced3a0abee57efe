"""The selector: reports, costs, lost outcomes, and parts of users that fail. `tests/promise` has the limits of ask."""

import copy
import logging
from typing import Any

import numpy as np
import pytest

import suffice
from suffice import Learning, Menu, Rule, Selector, SufficeWarning, ThresholdSelector
from suffice.selector import compiled, controller, plain

MENU = Menu({"a": 0.1, "b": 0.4}, safe="all", skip="none", safe_cost=1.0)
TOLD = Menu(["a", "b"], safe="all", skip="none", safe_cost=2.0)


def lead(selector: Selector, successes: int) -> None:
    """Bank some successes."""
    for _ in range(successes):
        decision = selector.ask()
        selector.tell(decision, decision.option != "none", 0.1)


def test_the_first_decision_is_cheap() -> None:
    """Five successes may be owed from the start; where none may, the first decision is the safe option."""
    selector = Selector(MENU, 0.9)
    decision = selector.ask()
    assert (decision.id, decision.option) == (0, "a")
    assert repr(decision) == "Decision(id=0, arm=1, option='a')"
    assert selector.pending == 1
    for first in (Selector(MENU, 0.9, max_debt=0).ask(), Selector(MENU, 0.9, rule=Rule()).ask()):
        assert (first.id, first.option) == (0, "all")
        assert first.price == pytest.approx(10.0)
        assert repr(first) == "Decision(id=0, arm=3, option='all')"


def test_a_skip_is_settled_when_it_is_asked() -> None:
    """It is a failure at once; to say so changes nothing, and a success is counted and named."""
    selector = Selector(MENU, 0.5, max_surplus=2)
    lead(selector, 10)
    while not (decision := selector.ask()).is_skip:
        selector.tell(decision, True)
    outcomes, debt = selector.outcomes, selector.debt
    assert selector.pending == 0
    assert selector.certificate().skipped == selector.options()[0].plays > 0
    selector.tell(decision, False)
    selector.tell(decision.id, False)
    selector.tell_many([(decision, False), (decision.id, False)])
    selector.expire(decision)
    assert (selector.outcomes, selector.debt, selector.pending) == (outcomes, debt, 0)
    assert not selector.certificate().assumption_violated
    selector.tell(decision, True)
    certificate = selector.certificate()
    assert (selector.outcomes, selector.debt) == (outcomes, debt - 1)
    assert (certificate.skip_successes, certificate.amended, certificate.assumption_violated) == (1, 1, True)
    assert "The skip option succeeded 1 time, which it never should" in str(certificate)
    with pytest.raises(suffice.AlreadyTold):
        selector.tell(decision.id, True)
    while not (other := selector.ask()).is_skip:
        selector.tell(other, True)
    with pytest.raises(suffice.AlreadyTold, match=f"decision {other.id} was a skip, so it cannot be cancelled"):
        selector.cancel(other)


def test_the_safe_option_must_be_available_where_it_is_needed() -> None:
    selector = Selector(MENU, 0.5, max_debt=0)
    before = selector.state()
    for audit in (True, False):
        with pytest.raises(
            suffice.SafeUnavailable, match="the safe option is needed now, and it is not available: list it"
        ):
            selector.ask(available=["a", "b"], audit=audit)
    with pytest.raises(suffice.SafeUnavailable, match="nothing is available; no decision was made"):
        selector.ask(available=[], insist=True)
    assert selector.state() == before
    assert selector.ask(available=["a", "all"]).option == "all"
    decision = selector.ask(available=["b"], insist=True)
    assert (decision.option, decision.role) == ("b", 0)
    certificate = selector.certificate()
    assert (certificate.insisted, certificate.uncovered, certificate.debt_at_most) == (1, 0.5, 0.5)
    selector.tell(decision, False)
    assert (selector.debt, selector.certificate().violations) == (0.5, 0)


def test_a_limit_of_what_is_outstanding_forces_the_safe_option() -> None:
    """In flight: what 5 may owe and what 10 outstanding may, 15 decisions at a target of 1 less a billionth, then no more."""
    selector = Selector(MENU, 0.999999999, in_flight=10)
    options = [decision.option for decision in selector.ask_many(40)]
    assert "all" not in options[:15]
    assert options[15:] == ["all"] * 25
    certificate = selector.certificate()
    assert (certificate.account.outstanding, certificate.pending) == (15, 40)
    assert certificate.debt_at_most == pytest.approx(15)


def test_expired_decisions_are_learned_as_failures_and_amended() -> None:
    selector = Selector(TOLD, 0.5)
    lead(selector, 30)
    while (decision := selector.ask()).role:
        selector.tell(decision, decision.is_safe, 0.1)
    before = selector.options()[decision.arm]
    cost = selector.cost
    selector.expire(decision)
    expired = selector.options()[decision.arm]
    assert expired.plays == before.plays + 1
    assert selector.cost == cost
    selector.tell(decision, True, 0.3)
    amended = selector.options()[decision.arm]
    assert amended.plays == expired.plays
    assert (amended.success or 0) > (expired.success or 0)
    assert selector.cost == pytest.approx(cost + 0.3)


def test_a_known_cost_is_booked_once_however_late_the_outcome() -> None:
    selector = Selector(MENU, 0.5, max_debt=0)
    decision = selector.ask()
    selector.expire(decision)
    assert selector.cost == 1.0
    selector.tell(decision, True)
    assert selector.cost == 1.0
    other = selector.ask()
    selector.expire(other)
    before = selector.cost
    selector.tell(other, True, 0.25)  # what it really cost replaces what was known
    assert selector.cost == pytest.approx(before - MENU.known_cost(other.arm) + 0.25)  # type: ignore[operator]


def test_costs_above_the_safe_option_are_kept_clipped_and_warned_about_once() -> None:
    selector = Selector(TOLD, 0.5, max_debt=0)
    decisions = selector.ask_many(3)
    with pytest.warns(SufficeWarning, match="option 'all' cost 5, above safe_cost 2"):
        selector.tell(decisions[0], True, 5.0)
    selector.tell(decisions[1], True, 7.0)  # a second warning would be an error here
    assert selector.cost == 12.0
    assert selector.successes == 2
    assert selector.learner.columns().costs[-1] == 4.0


def test_arms_report() -> None:
    selector = Selector(MENU, 0.5, max_debt=0)
    lead(selector, 20)
    fresh = Selector(MENU, 0.5).options()
    assert [row.success for row in fresh] == [None] * 4
    rows = selector.options()
    assert [row.option for row in rows] == ["none", "a", "b", "all"]
    assert sum(row.plays for row in rows) == 20
    assert sum(row.share for row in rows) == pytest.approx(1)
    assert rows[3].success == 1.0
    assert [row.cost for row in rows] == [0.0, pytest.approx(0.1), 0.4, pytest.approx(0.1)]
    for most in (1, 3, 100):
        assert selector.options(most) == sorted(rows, key=lambda row: -row.plays)[:most]


def test_a_failing_chooser_costs_money_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        name = "broken"

        def choose(self, price: float, bounds: Any, allowed: Any) -> int:
            raise RuntimeError("no idea")

    selector = Selector(MENU, 0.5, max_debt=0, learning=Learning(chooser=Broken()))
    selector.tell(selector.ask(), True)
    with caplog.at_level(logging.ERROR, "suffice"):
        decision = selector.ask()
        with pytest.warns(SufficeWarning, match="the chooser failed, so the optimist plays: RuntimeError: no idea"):
            selector.tell(decision, True)
        for _ in range(10):
            decision = selector.ask()
            selector.tell(decision, decision.option == "all")  # one warning is enough
    assert [record.message for record in caplog.records] == [
        "the chooser failed; the optimist plays in its place, now and whenever it fails again"
    ]


def test_a_custom_chooser_learns_the_outcomes() -> None:
    class Mine:
        name = "mine"

        def __init__(self) -> None:
            self.outcomes_seen: list[tuple[int, float, float | None]] = []

        def choose(self, price: float, bounds: Any, allowed: Any) -> int:
            return 2

        def learn(self, arm: int, success: float, cost: float | None) -> None:
            self.outcomes_seen.append((arm, success, cost))

    mine = Mine()
    selector = Selector(MENU, 0.5, max_debt=0, learning=Learning(chooser=mine))
    lead(selector, 2)
    assert mine.outcomes_seen == [(3, 1.0, 0.1), (2, 1.0, 0.1)]
    assert selector.learning.chooser is mine


def test_the_logger_is_silent_by_default(capfd: pytest.CaptureFixture[str]) -> None:
    class Falls:
        name = "falls"
        upper = np.ones(4)
        lower = np.zeros(4)

        def start(self, menu: Menu, horizon: int | None) -> None: ...

        def update(self, tally: Any, arm: int, told: int) -> None:
            raise RuntimeError("fell")

        def refresh(self, tally: Any, told: int) -> None: ...

    selector = Selector(MENU, 0.5, learning=Learning(bounds=Falls()))
    with pytest.warns(
        SufficeWarning, match="learning from an outcome failed, though it is counted: RuntimeError: fell"
    ):
        selector.tell(selector.ask(), True)
    assert selector.successes == 1
    assert capfd.readouterr() == ("", "")


def test_repr() -> None:
    selector = Selector(MENU, 0.5)
    lead(selector, 2)
    assert repr(selector) == "<Selector target=0.5 outcomes=2 successes=2 pending=0>"


def test_a_clock_that_goes_back_does_not_stop_expiry() -> None:
    now = [1000.0]
    selector = Selector(MENU, 0.5, expire_after=10, clock=lambda: now[0])
    selector.ask()
    now[0] = 0.0
    selector.ask()
    now[0] = 500.0
    selector.ask()
    assert (selector.pending, selector.certificate().expired) == (1, 2)


def test_a_copy_keeps_the_clock() -> None:
    class Watch:
        time = 0.0

        def now(self) -> float:
            return self.time

    watch = Watch()
    selector = Selector(MENU, 0.5, expire_after=10, clock=watch.now)
    selector.ask()
    twin = copy.deepcopy(selector)
    watch.time = 20.0
    assert (selector.certificate().expired, twin.certificate().expired) == (1, 1)


def test_decisions_given_up_too_long_ago_are_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (plain, compiled, controller):
        monkeypatch.setattr(module, "REMEMBERED", 5)
    for most in (0, 5):  # safe plays, which count as neither when they are given up, and others
        selector = Selector(MENU, 0.9, max_debt=most)
        decisions = selector.ask_many(8)
        assert {decision.is_safe for decision in decisions} == {most == 0}
        for decision in decisions:
            selector.expire(decision)
        selector.tell(7, True)
        with pytest.raises(suffice.AlreadyTold, match="settled before or expired too long ago to amend"):
            selector.tell(0, True)


def test_read_outs() -> None:
    selector = Selector(MENU, 0.5)
    assert (selector.rate, selector.mean_cost, selector.cost) == (None, None, 0.0)
    lead(selector, 4)
    assert selector.rate == selector.successes / 4
    assert selector.mean_cost == selector.cost / 4
    scalar = ThresholdSelector(0, 1, 0.5)
    scalar.tell(scalar.ask(), True, 0.7)
    assert (scalar.rate, scalar.cost) == (1.0, 0.7)
