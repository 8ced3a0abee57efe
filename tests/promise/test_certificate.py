"""Certificates when an assumption breaks: a safe option that fails, a skip that succeeds, lost outcomes, bugs."""

import math
from fractions import Fraction

import numpy as np
import pytest

import suffice
from suffice import Menu, Selector, ThresholdSelector
from suffice.numbers import ONE_SUCCESS
from suffice.promise.account import reserve, settle
from suffice.promise.certificate import Certificate
from suffice.promise.record import FREE, SAFE, Account, Reservation
from suffice.promise.rules import Promise
from suffice.promise.wording import percent


def record(account: Account, units: int, role: int) -> None:
    """Ask in this role, and tell at once."""
    settle(account, Reservation(role, account.target, 0, reserve(account, role, 0)), units, False)


def run(selector: Selector, steps: int, safe_rate: float, seed: int, other_rate: float = 0.0) -> list[Certificate]:
    """The safe option succeeds at this rate, all other options at the other; a certificate after every outcome."""
    rng = np.random.default_rng(seed)
    seen = []
    for _ in range(steps):
        decision = selector.ask()
        rate = {"all": safe_rate, "none": 0.0}.get(decision.option, other_rate)
        selector.tell(decision, bool(rng.random() < rate), 0.1)
        seen.append(selector.certificate())
    return seen


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rate", [0.99, 0.95, 0.6, 0.0])
def test_the_debt_stays_within_the_shortfall_of_the_safe_option(seed: int, rate: float) -> None:
    """Theory 5: debt <= max_debt + (failures − (1−target)·plays of the safe option since another one could be played)."""
    menu = Menu({"a": 0.1}, safe="all", skip="none", safe_cost=1.0)
    selector = Selector(menu, 0.9, max_debt=3)
    rng = np.random.default_rng(seed)
    shortfall = Fraction(0)
    target = Fraction(9, 10)
    debt = Fraction(0)
    for _ in range(1500):
        decision = selector.ask()
        success = int(rng.random() < rate) if decision.option == "all" else int(rng.random() < 0.5)
        success = 0 if decision.option == "none" else success
        selector.tell(decision, success)
        forced = debt + target > 3
        debt += target - success
        assert decision.option == "all" or not forced
        shortfall = shortfall + target - success if forced else Fraction(0)
        assert debt <= 3 + max(Fraction(0), shortfall)
        assert selector.debt == float(debt)
        assert selector.certificate().consistent


def test_a_failing_safe_option_is_named_with_evidence_and_advice() -> None:
    menu = Menu({"a": 0.1}, safe="all", skip="none", safe_cost=1.0)
    seen = run(Selector(menu, 0.9, max_debt=1), 4000, safe_rate=0.94, seed=1, other_rate=0.5)
    assert (seen[0].status, seen[0].assumption_violated) == ("within", False)
    last = seen[-1]
    assert last.assumption_violated
    assert last.safe_fails_too_often
    assert last.feasible
    assert last.safe_failures > 0
    assert last.safe_failure_at_least <= 0.06 <= last.safe_failure_at_most
    assert {one.status for one in seen} == {"kept", "within", "broken"}
    assert all(one.assumption_violated for one in seen if one.status == "broken")
    assert last.violations == sum(one.status == "broken" for one in seen) > 0
    text = str(last)
    assert (
        f"The safe option failed in {last.safe_failures:,} of {last.safe_plays:,} plays: where it was played, " in text
    )
    assert "(99% sure)." in text
    assert f"The debt was above the limit on {last.violations:,} occasions." in text
    assert (
        "The target allows 10%. What to do: find out why it failed; if that is its nature, declare safe_success=0."
        in text
    )


def test_an_infeasible_target_is_said_to_be_infeasible() -> None:
    menu = Menu({"a": 0.1}, safe="all", skip="none", safe_cost=1.0)
    seen = run(Selector(menu, 0.9), 1500, safe_rate=0.8, seed=2, other_rate=0.5)
    last = seen[-1]
    assert (last.status, last.feasible, last.holds) == ("infeasible", False, False)
    text = str(last)
    assert text.startswith(
        f"OUT OF REACH: {percent(last.successes / 1500)} of 1,500 outcomes succeeded (target 90%), and "
    )
    assert "and the safe option itself fails too often for this target.\n" in text
    least = percent(1 - last.safe_failure_at_least)
    assert text.endswith(f"What to do: lower the target below {least}, or give the menu a better safe option.")
    assert last.consistent


def test_a_declared_imperfect_safe_option_keeps_its_bound() -> None:
    """With safe_success declared the debt bound holds at all times together on at least 99% of the streams."""
    menu = Menu({"a": 0.1}, safe="all", skip="none", safe_success=0.97, safe_cost=1.0)
    wrong = 0
    largest = 0.0
    for seed in range(100):
        seen = run(Selector(menu, 0.9, max_debt=0), 250, safe_rate=0.97, seed=seed, other_rate=0.3)
        wrong += any(not certificate.holds for certificate in seen)
        largest = max(largest, *(certificate.debt for certificate in seen))
        assert all(certificate.consistent for certificate in seen)
    assert wrong <= 4  # 1% of 100 is 1; five or more has probability below 1% if the bound is just met
    assert largest > 0.9  # the debt does pass what a perfect safe option allows, so the bound is not idle


def test_a_declared_rate_that_is_wrong_violates_an_assumption() -> None:
    menu = Menu({"a": 0.1}, safe="all", skip="none", safe_success=0.97, safe_cost=1.0)
    kept = run(Selector(menu, 0.9), 3000, safe_rate=0.97, seed=3)[-1]
    assert not kept.assumption_violated
    assert "That does not endanger the target, which allows 10% and is within what safe_success declares." in str(kept)
    assert f"{kept.safe_failures} of" in str(kept)
    broken = run(Selector(menu, 0.9), 3000, safe_rate=0.91, seed=3)[-1]
    assert broken.assumption_violated
    assert broken.safe_fails_too_often


def test_the_failure_rate_interval_may_be_watched_continuously() -> None:
    """On at most 1% of streams does the interval ever miss the truth; Clopper–Pearson missed on 14%."""
    promise = Promise.make(0.5)
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(200):
        account = promise.open()
        for success in rng.random(400) < 0.9:
            record(account, ONE_SUCCESS * int(success), SAFE)
            certificate = Certificate.make(promise, account)
            if not certificate.safe_failure_at_least <= 0.1 <= certificate.safe_failure_at_most:
                wrong += 1
                break
    assert wrong <= 6  # 1% of 200 is 2


def test_a_graded_safe_option_above_the_target_is_no_failure() -> None:
    selector = Selector(Menu(["a"], safe="all", skip="none", safe_cost=1.0), 0.9)
    for _ in range(200):
        decision = selector.ask()
        selector.tell(decision, {"all": 0.95, "none": 0.0}.get(decision.option, 0.2), 0.1)
    certificate = selector.certificate()
    assert certificate.holds
    assert certificate.safe_failures == 0
    # 5% is missing of each play, more than the none that is declared: the debt stays, and the option is worse than said.
    assert certificate.debt <= 5


def test_a_success_of_the_skip_is_reported() -> None:
    selector = Selector(Menu(["a"], safe="all", skip="none", safe_cost=1.0), 0.2, max_surplus=1)
    for _ in range(50):
        selector.tell(selector.ask(), True, 0.1)
    certificate = selector.certificate()
    assert certificate.assumption_violated
    assert not certificate.safe_fails_too_often
    assert certificate.status == "kept"
    assert certificate.skip_successes == certificate.skipped == certificate.amended > 0
    assert f"The skip option succeeded {certificate.skipped} times, which it never should: " in str(certificate)
    assert (
        f"{certificate.skipped} skipped and counted as failures, {certificate.skipped} amended"
        in str(certificate).lower()
    )
    assert -certificate.debt <= certificate.ahead_at_most


def test_lost_plays_of_the_safe_option_are_neither_failures_nor_successes() -> None:
    selector = Selector(Menu(["a"], safe="all", skip="none", safe_cost=1.0), 0.9, max_debt=0)
    decisions = selector.ask_many(5)
    assert {decision.option for decision in decisions} == {"all"}
    for decision in decisions:
        selector.expire(decision)
    certificate = selector.certificate()
    assert (certificate.debt, certificate.outcomes, certificate.asked, certificate.expired) == (0.0, 0, 5, 0)
    assert (certificate.safe_lost, certificate.owed_at_most) == (5, 4.5)
    assert certificate.status == "unproven"
    assert str(certificate).splitlines() == [
        "UNPROVEN: perhaps 4.5 behind (limit 0); no outcome has been reported yet (target 90%), and 5 decisions have no "
        "outcome. Report them all.",
        "Promised: never behind by more than 0, nor ahead by more than 1.5; now level.",
        "5 plays of the safe option have no outcome and count as neither: report them too, also when a person did it.",
    ]
    assert not certificate.assumption_violated
    selector.tell(decisions[0], False)  # now it is known to have failed
    certificate = selector.certificate()
    assert (certificate.safe_lost, certificate.safe_failures, certificate.amended) == (4, 1, 0)
    assert (certificate.debt, certificate.uncovered, certificate.debt_at_most) == (0.9, 0.9, 0.9)
    assert "never behind by more than 0.9 (0, and lost plays of the safe option that failed)" in str(certificate)
    selector.tell(decisions[1], True)
    certificate = selector.certificate()
    assert (certificate.amended, certificate.outcomes, certificate.safe_lost) == (1, 2, 3)
    assert certificate.debt == pytest.approx(0.8, abs=1e-12)
    assert "\n3 plays of the safe option have no outcome" in str(certificate)
    for decision in decisions[2:4]:
        selector.tell(decision, True)
    assert "\n1 play of the safe option has no outcome and counts as neither: report it too, " in str(
        selector.certificate()
    )


def test_a_bug_is_told_apart_from_a_broken_promise() -> None:
    """Counts that no run can produce: far behind although nobody insisted, and the safe option never failed."""
    promise = Promise.make(0.9)
    account = promise.open()
    for _ in range(50):
        record(account, 0, FREE)  # what the limits forbid: others played while behind
    account.uncovered = account.insisted = 0
    certificate = Certificate.make(promise, account)
    assert not certificate.consistent
    assert (certificate.status, certificate.holds) == ("bug", False)
    assert str(certificate).splitlines() == [
        "BUG: the debt may be 45, above 5, which no behaviour of the options can explain.",
        "Please report it with the saved state; until then play the safe option.",
    ]
    account.reserved, account.owed = account.owed, account.reserved  # also if it is only outstanding
    assert Certificate.make(promise, account).status == "bug"


def test_unaudited_decisions_get_an_interval() -> None:
    rng = np.random.default_rng(0)
    menu = Menu({"a": 0.1}, safe="all", skip="none", safe_cost=1.0)
    covered = 0
    for _ in range(60):
        selector = Selector(menu, 0.8)
        total = 0
        for _ in range(1000):
            audit = bool(rng.random() < 0.2)
            decision = selector.ask(audit=audit)
            success = {"all": 1, "none": 0}.get(decision.option, int(rng.random() < 0.6))
            total += success
            if audit:
                selector.tell(decision, success)
        certificate = selector.certificate()
        everyone = certificate.everyone()
        assert everyone is not None
        assert certificate.outcomes + certificate.unaudited == 1000
        covered += everyone[0] <= total / 1000 <= everyone[1]
        assert "audited or not" in str(certificate)
    assert covered >= 52  # 95% of 60 is 57


def test_a_fresh_certificate_reads_well() -> None:
    certificate = Selector(Menu(["a"], safe="all", safe_cost=1.0), 0.9).certificate()
    assert str(certificate).splitlines() == [
        "No outcome has been reported yet (target 90%).",
        "Never behind by more than 5; now level.",
    ]
    assert certificate.rate is None
    assert certificate.everyone() is None
    assert math.isinf(certificate.ahead_at_most)
    with pytest.raises(suffice.InvalidArgument, match="length"):
        certificate.window(0)


def test_bookkeeping_is_said() -> None:
    selector = Selector(Menu({"a": 0.1}, safe="all", safe_cost=1.0), 0.5, max_surplus=2)
    for _ in range(30):
        selector.tell(selector.ask(), True)
    late = selector.ask()
    selector.expire(late)
    selector.tell(late, True)
    selector.ask()
    certificate = selector.certificate()
    assert certificate.forgiven == pytest.approx(13.5)
    assert "\n1 outstanding, 1 expired and counted as failures, 1 amended by a late success, 13.5 surplus" in str(
        certificate
    )
    assert str(certificate).endswith("13.5 surplus successes forgiven.")


@pytest.mark.parametrize(("share", "text"), [(0.0, "0%"), (1.0, "100%"), (2 / 3, "66.7%"), (0.9999999, "99.99999%")])
def test_percent(share: float, text: str) -> None:
    assert percent(share) == text


def test_after_failures_of_the_safe_option_the_windows_tell_the_truth() -> None:
    """The safe option fails 300 times in a row: no line of the certificate may claim what was not so."""
    selector = Selector(Menu([], safe="all", skip="none", safe_cost=1.0), 0.9, max_surplus=5)
    successes = []
    for step in range(3000):
        decision = selector.ask()
        successes.append(int(decision.option == "all" and not 100 <= step < 400))
        selector.tell(decision, successes[-1])
    certificate = selector.certificate()
    sums = np.cumsum([0, *successes])
    worst = 500 - int((sums[500:] - sums[:-500]).min())
    assert worst <= 50 + certificate.window(500)
    least = percent(0.9 - certificate.window(500) / 500)
    assert certificate.status == "broken"
    text = str(certificate)
    assert text.startswith(
        f"BROKEN: {certificate.debt:.4g} behind (limit 5); {percent(certificate.successes / 3000)} of "
    )
    assert (
        "succeeded (target 90%). The safe option failed more often than declared.\nPromised: never behind by more than 5, nor"
        in text
    )
    assert f"\nAny 500 outcomes in a row: at least {least} succeeded.\n" in text


def test_a_debt_beyond_the_declared_failures_is_a_broken_promise() -> None:
    menu = Menu([], safe="all", skip="none", safe_success=0.95, safe_cost=1.0)
    selector = Selector(menu, 0.9, max_surplus=1)
    for step in range(3000):
        decision = selector.ask()
        selector.tell(decision, decision.option == "all" and step < 2900)
    certificate = selector.certificate()
    assert certificate.status == "broken"
    assert certificate.assumption_violated
    assert certificate.consistent
    assert "within what safe_success declares" not in str(certificate)


def test_a_low_end_that_may_succeed_violates_nothing() -> None:
    selector = ThresholdSelector(0, 1, 0.5, max_surplus=1, low_fails=False)
    for _ in range(50):
        selector.tell(selector.ask(), True)
    certificate = selector.certificate()
    assert not certificate.assumption_violated
    assert certificate.skip_successes == 0
    assert certificate.forgiven > 0


def test_the_advice_is_usable() -> None:
    """One failure in a thousand plays: the declared rate that is advised lies below 1 and above the target."""
    promise = Promise.make(0.99)
    account = promise.open()
    for play in range(20_000):
        record(account, ONE_SUCCESS * (play % 1000 != 7), SAFE)
    certificate = Certificate.make(promise, account)
    assert certificate.safe_fails_too_often
    text = str(certificate)
    advised = float(text.split("safe_success=")[1].split()[0])
    assert 0.99 < advised < 1
    assert "The safe option failed in 20 of 20,000 plays: where it was played, it fails 0." in text
