"""What a new user does in the first hour: the certificate is true of everything asked, as an outside recount confirms.

Each test keeps its own tally of what it asked and what would have become of it, told or not.
"""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from suffice import Event, InvalidArgument, Menu, SafeUnavailable, Selector
from suffice.service.plans import Plan

MENU = Menu({"small": 0.02, "large": 0.20, "a person": 1.00}, safe="a person")


class World:
    """Requests with an outcome of their own, whether it is told or not."""

    def __init__(self, rates: dict[Any, float], seed: int = 1) -> None:
        self.rates, self.rng = rates, np.random.default_rng(seed)
        self.asked, self.succeeded, self.played = 0, 0, Counter[Any]()

    def play(self, option: Any) -> bool:
        success = bool(self.rng.random() < self.rates[option])
        self.asked, self.succeeded = self.asked + 1, self.succeeded + success
        self.played[option] += 1
        return success

    def debt(self, target: float) -> float:
        """What is truly owed over everything that was asked."""
        return target * self.asked - self.succeeded


RATES = {"small": 0.7, "large": 0.95, "a person": 1.0, "no answer": 0.0}


def test_skips_that_are_never_told_are_counted_all_the_same() -> None:
    """`if decision.is_skip: continue`, because there is nothing to tell."""
    menu = Menu({"small": 0.02, "large": 0.20, "a person": 1.00}, safe="a person", skip="no answer")
    selector, world = Selector(menu, 0.9), World(RATES)
    for _ in range(3_000):
        decision = selector.ask()
        success = world.play(decision.option)
        if not decision.is_skip:
            selector.tell(decision, success)
    certificate = selector.certificate()
    assert certificate.asked == certificate.outcomes == world.asked
    assert certificate.debt == pytest.approx(world.debt(0.9))
    assert certificate.skipped == world.played["no answer"] < 600
    assert certificate.status in ("kept", "within")
    assert world.succeeded >= 0.9 * 3_000 - 5


def test_where_only_successes_are_reported_the_certificate_does_not_say_kept() -> None:
    """Clicks: a failure never comes back. The limit plays the safe option, says so before, and no verdict flatters."""
    events: list[Event] = []
    selector, world = Selector(MENU, 0.9, on_event=events.append), World({**RATES, "small": 0.59, "large": 0.59})
    verdicts = set()
    for _ in range(3_000):
        decision = selector.ask()
        if world.play(decision.option) and not decision.is_safe:
            selector.tell(decision, True)
        certificate = selector.certificate()
        if world.debt(0.9) > certificate.debt_at_most:
            verdicts.add(certificate.status)
        assert world.debt(0.9) <= certificate.owed_at_most + 1e-6
    assert verdicts <= {"unproven"}
    assert selector.certificate().status == "unproven"
    assert "decisions have no outcome. Report them all" in selector.certificate().verdict
    assert world.played["a person"] > 2_000
    assert any(event.kind == "forced" and "have no outcome yet" in event.text for event in events)


def test_a_safe_option_that_gets_the_hard_cases_is_not_called_too_bad() -> None:
    """A person is right in 94.8% of all cases, and in 80% of those that a model sends there."""
    menu = Menu({"small": 0.02, "a person": 1.00}, safe="a person", safe_success=0.948)
    selector, rng = Selector(menu, 0.9, model="auto"), np.random.default_rng(4)
    asked = succeeded = 0
    statuses = Counter[str]()
    for step in range(3_000):
        hard = bool(rng.random() < 0.26)
        decision = selector.ask(context={"hard": hard})
        rates = {"small": (0.97, 0.2), "a person": (1.0, 0.8)}[decision.option]
        success = bool(rng.random() < rates[hard])
        selector.tell(decision, success)
        asked, succeeded = asked + 1, succeeded + success
        if step % 100 == 99:
            statuses[selector.certificate().status] += 1
    assert "infeasible" not in statuses
    assert selector.certificate().debt == pytest.approx(0.9 * asked - succeeded)


def test_safe_plays_that_a_person_did_and_nobody_reported_are_said() -> None:
    events: list[Event] = []
    selector, world = Selector(MENU, 0.9, max_debt=1, on_event=events.append), World({**RATES, "large": 0.85})
    for _ in range(2_000):
        decision = selector.ask()
        success = world.play(decision.option)
        if not decision.is_safe:
            selector.tell(decision, success)
    certificate = selector.certificate()
    assert certificate.status == "unproven"
    assert any(event.kind == "safe_unreported" and "also when a person did it" in event.text for event in events)
    assert certificate.asked == world.asked


def test_null_is_no_option_in_json() -> None:
    plan = Plan.parse(
        '{"menu": {"kind": "options", "options": {"small": 0.1, "a person": 1}, "safe": "a person", "skip": null}, '
        '"target": 0.9}'
    )
    menu = plan.menu()
    assert [menu.option(arm) for arm in range(menu.n_arms)] == ["small", "a person"]
    assert not Menu({"small": 0.1, "a person": 1.0}, safe="a person", skip=None).has_skip


def test_a_long_good_time_does_not_license_a_long_bad_one() -> None:
    """After a million successes 500 failures in a row are not possible: at most 40 are banked."""
    selector = Selector(Menu({"a": 0.1, "all": 1.0}, safe="all"), 0.95)
    selector.compile()
    for _ in range(20_000):
        selector.tell(selector.ask(), True)
    failed = 0
    for _ in range(1_000):
        decision = selector.ask()
        selector.tell(decision, decision.is_safe)
        failed += not decision.is_safe
    assert failed <= 0.05 * 1_000 + 40 + 5 + 1
    assert selector.certificate().window(500) <= 45 + 1


def test_two_failures_of_the_safe_option_are_no_alarm_for_the_target() -> None:
    """1.5% where 8% are allowed: it is said, with what it means, and the alert ends."""
    selector = Selector(Menu({"small": 0.1, "a person": 1.0}, safe="a person"), 0.92, max_debt=0)
    selector.play_safe()
    flags = []
    for number in range(1_500):
        selector.tell(selector.ask(), number not in (0, 120))
        flags.append(selector.certificate().assumption_violated)
    certificate = selector.certificate()
    assert certificate.safe_failures == 2
    assert any(flags)
    assert not flags[-1]
    assert certificate.status == "kept"
    assert "out of reach" not in str(certificate).lower()
    assert "2 of 1,500 plays" in str(certificate)
    assert "8%" in str(certificate)


def test_a_rate_far_below_the_target_is_never_called_kept() -> None:
    for successes in range(200):
        selector = Selector(MENU, 0.8, max_debt=5)
        told = 0
        while told < 196:
            decision = selector.ask()
            told += 1
            selector.tell(decision, decision.is_safe or told <= successes)
        certificate = selector.certificate()
        assert certificate.rate is not None
        assert certificate.status != "kept" or certificate.rate >= 0.8
        if successes > 3:
            break


def test_an_outage_of_the_safe_option_says_what_to_do() -> None:
    selector = Selector(MENU, 0.9, max_debt=0)
    with pytest.raises(SafeUnavailable, match=r"list it in available, or set insist"):
        selector.ask(available=["small", "large"])
    assert selector.pending == 0
    decision = selector.ask(available=["small", "large"], insist=True)
    selector.tell(decision, False)
    certificate = selector.certificate()
    assert (certificate.insisted, certificate.uncovered, certificate.debt_at_most) == (1, 0.9, 0.9)
    assert certificate.status == "within"
    assert "1 decision insisted on" in str(certificate)


def test_a_menu_must_say_what_the_safe_option_costs() -> None:
    with pytest.raises(InvalidArgument, match="safe_cost must be given, what the safe option 'a person' costs"):
        Menu({"small": 0.02}, safe="a person")
    with pytest.raises(InvalidArgument, match="safe_cost"):
        Menu(["small"], safe="a person")
    with pytest.raises(InvalidArgument, match="between 0 and 1, what the safe option costs"):
        Menu({"small": 2.0, "a person": 1.0}, safe="a person")


def test_where_outcomes_stop_the_safe_option_is_played_and_it_recovers() -> None:
    events: list[Event] = []
    selector, world = Selector(MENU, 0.9, in_flight=50, on_event=events.append), World(RATES)
    for _ in range(1_000):
        decision = selector.ask()
        selector.tell(decision, world.play(decision.option))
    lost = [selector.ask() for _ in range(600)]
    options = [decision.option for decision in lost]
    said = next(event.decision for event in events if event.kind == "feedback_stopped")
    assert said - 1_000 < options.index("a person") + 60  # before, or as soon as, the first one is forced
    assert set(options[-400:]) == {"a person"}
    for decision in lost:
        selector.tell(decision, world.play(decision.option))
    after = []
    for _ in range(400):
        decision = selector.ask()
        after.append(decision.option)
        selector.tell(decision, world.play(decision.option))
    assert after.count("a person") < 40
    assert selector.certificate().status in ("kept", "within")
