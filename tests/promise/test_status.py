"""The status of a certificate, of one selector and of groups: each where it begins and where it ends, in exact words."""

import math

import pytest

from suffice import Menu, Selector
from suffice.promise.account import reserve, settle, skip
from suffice.promise.certificate import STATUSES, Certificate, evidence_against
from suffice.promise.record import FREE, SAFE, Account, Reservation
from suffice.promise.rules import Promise
from suffice.promise.wording import percent
from tests.support.ledger import ONE


def selector_of(target: float = 0.9, *, max_debt: float = 5, **more: float) -> Selector:
    return Selector(Menu({"a": 0.1}, safe="all", safe_cost=1.0), target, max_debt=max_debt, **more)  # type: ignore[arg-type]


def tell(selector: Selector, *successes: bool, audit: bool = True) -> None:
    for success in successes:
        selector.tell(selector.ask(audit=audit), success)


def place(account: Account, role: int, units: int | None, *, expired: bool = False) -> Reservation:
    """Ask in this role, and tell (units), give up (expired), or leave it outstanding."""
    played = Reservation(role, account.target, 0, reserve(account, role, 0))
    if units is not None or expired:
        settle(account, played, units or 0, expired)
    return played


def lines_of(certificate: Certificate) -> list[str]:
    return str(certificate).splitlines()


def test_the_statuses_are_those_of_the_design() -> None:
    assert STATUSES == ("bug", "infeasible", "broken", "unproven", "within", "kept")


# --- kept


def test_nothing_reported_is_kept_and_says_so() -> None:
    certificate = selector_of().certificate()
    assert (certificate.status, certificate.holds) == ("kept", True)
    assert lines_of(certificate) == [
        "No outcome has been reported yet (target 90%).",
        "Never behind by more than 5; now level.",
    ]


def test_ahead_is_kept() -> None:
    selector = selector_of()
    tell(selector, True)
    certificate = selector.certificate()
    assert (certificate.status, certificate.holds, certificate.verdict) == (
        "kept", True, "Kept: 100% of 1 outcome succeeded (target 90%)."
    )  # fmt: skip
    tell(selector, *[True] * 1999)
    assert selector.certificate().verdict == "Kept: 100% of 2,000 outcomes succeeded (target 90%)."


def test_level_is_kept_and_a_billionth_more_is_not() -> None:
    promise = Promise.make(0.5)
    account = promise.open()
    place(account, FREE, ONE)
    place(account, FREE, 0)
    assert Certificate.make(promise, account).status == "kept"
    assert lines_of(Certificate.make(promise, account))[1].endswith("; now level.")
    account.owed += 1
    assert Certificate.make(promise, account).status == "within"


def test_the_surplus_covers_what_is_outstanding() -> None:
    """Kept while the exposure is at most 0: nine successes at 90% cover what one outstanding decision may owe."""
    selector = selector_of()
    tell(selector, *[True] * 9)
    selector.ask()
    certificate = selector.certificate()
    assert (certificate.status, certificate.owed_at_most) == ("kept", 0)
    assert lines_of(certificate)[-1] == "1 outstanding."
    selector.ask()
    assert selector.certificate().status == "within"


# --- within


def test_behind_by_no_more_than_the_limit_is_within() -> None:
    selector = selector_of()
    tell(selector, True, False)
    certificate = selector.certificate()
    assert (certificate.status, certificate.holds, certificate.debt) == ("within", True, 0.8)
    assert lines_of(certificate) == [
        "At most 0.8 behind (limit 5): 50% of 2 outcomes succeeded (target 90%).",
        "Never behind by more than 5; now 0.8 behind.",
    ]


def test_perhaps_behind_is_within_too() -> None:
    """What is outstanding counts as failed: the line never says `Kept`."""
    selector = selector_of()
    tell(selector, True)
    selector.ask_many(3)
    certificate = selector.certificate()
    assert certificate.status == "within"
    assert certificate.owed_at_most == pytest.approx(2.6)
    assert lines_of(certificate) == [
        "At most 2.6 behind (limit 6.8): 100% of 1 outcome succeeded (target 90%).",
        "Never behind by more than 6.8 (5, and what 3 decisions outstanding at once can add); now 0.1 ahead.",
        "3 outstanding.",
    ]


def test_the_limit_counts_what_is_outstanding_up_to_in_flight() -> None:
    """Eleven at once: limit 14, that is 5, and what eleven can add; with in_flight=4 it is 5 and what four can add."""
    wide, narrow = selector_of(), selector_of(in_flight=4)
    for selector in (wide, narrow):
        selector.ask_many(11)
    assert wide.certificate().debt_at_most == 14
    assert "(5, and what 11 decisions outstanding at once can add)" in str(wide.certificate())
    certificate = narrow.certificate()
    assert certificate.debt_at_most == pytest.approx(5 + 4 * 0.9)
    # Nine fit within 8.6; the other two are safe plays that were forced, and are to be reported all the same.
    assert (certificate.account.outstanding, certificate.pending) == (9, 11)
    assert certificate.owed_at_most == pytest.approx(9.9)
    assert certificate.status == "unproven"


def test_a_debt_at_its_limit_is_within_it() -> None:
    """Exactly, not up to rounding, whatever the target."""
    for target in (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.999):
        selector = selector_of(target, max_debt=target)
        decision = selector.ask()
        assert not decision.is_safe
        selector.tell(decision, False)
        certificate = selector.certificate()
        assert (certificate.debt, certificate.debt_at_most) == (target, target)
        assert (certificate.status, certificate.violations) == ("within", 0)


# --- unproven


def test_lost_safe_plays_beyond_the_limit_are_unproven() -> None:
    selector = selector_of(0.5, max_debt=1)
    for lost in range(1, 4):
        selector.expire(selector.ask(available=["all"]))
        certificate = selector.certificate()
        assert (certificate.safe_lost, certificate.debt, certificate.owed_at_most) == (lost, 0, 0.5 * lost)
        assert certificate.status == ("unproven" if lost == 3 else "within")
    assert lines_of(certificate) == [
        "UNPROVEN: perhaps 1.5 behind (limit 1); no outcome has been reported yet (target 50%), and 3 decisions have no "
        "outcome. Report them all.",
        "Promised: never behind by more than 1; now level.",
        "3 plays of the safe option have no outcome and count as neither: report them too, also when a person did it.",
    ]
    assert not certificate.holds


def test_one_decision_without_an_outcome_is_one() -> None:
    selector = selector_of(max_debt=0)
    selector.expire(selector.ask())
    assert lines_of(selector.certificate()) == [
        "UNPROVEN: perhaps 0.9 behind (limit 0); no outcome has been reported yet (target 90%), and 1 decision has no "
        "outcome. Report it.",
        "Promised: never behind by more than 0; now level.",
        "1 play of the safe option has no outcome and counts as neither: report it too, also when a person did it.",
    ]


def test_safe_plays_that_are_outstanding_count_where_none_expires() -> None:
    """Nothing is reserved for them; with `expire_after` they have until then."""
    for expire_after, status, owed in ((None, "unproven", 0.9), (60.0, "kept", 0.0)):
        menu = Menu({"a": 0.1}, safe="all", safe_cost=1.0)
        now = [0.0]
        selector = Selector(menu, 0.9, max_debt=0, expire_after=expire_after, clock=lambda now=now: now[0])  # type: ignore[misc]
        assert selector.ask().is_safe
        certificate = selector.certificate()
        assert (certificate.status, certificate.owed_at_most, certificate.pending) == (status, owed, 1)
        now[0] = 61.0
        certificate = selector.certificate()
        assert (certificate.status, certificate.owed_at_most) == ("unproven", 0.9)
        assert certificate.safe_lost == (expire_after is not None)


# --- broken


def test_a_debt_above_the_limit_is_broken() -> None:
    """Only failures of the safe option come to that, and the certificate says so."""
    selector = selector_of(0.5, max_debt=1)
    tell(selector, False, False)
    assert selector.certificate().status == "within"
    tell(selector, False)
    certificate = selector.certificate()
    assert (certificate.status, certificate.holds, certificate.consistent) == ("broken", False, True)
    assert (certificate.debt, certificate.violations) == (1.5, 1)
    assert certificate.assumption_violated
    assert lines_of(certificate) == [
        "BROKEN: 1.5 behind (limit 1); 0% of 3 outcomes succeeded (target 50%). The safe option failed more often than "
        "declared.",
        "Promised: never behind by more than 1; now 1.5 behind.",
        "The debt was above the limit on 1 occasion.",
        "The safe option failed in 1 of 1 play: where it was played, it fails 0.5% to 100% of the time (99% sure).",
        "What to do: find out why it failed. The target allows 50%; whether that can be held is not known yet.",
    ]
    tell(selector, False)
    assert "\nThe debt was above the limit on 2 occasions.\nThe safe option failed in 2 of 2 plays: " in str(
        selector.certificate()
    )


def test_broken_is_worse_than_unproven() -> None:
    selector = selector_of(0.5, max_debt=0)
    for _ in range(4):
        selector.expire(selector.ask())
    assert selector.certificate().status == "unproven"
    tell(selector, False)
    assert selector.certificate().status == "broken"


# --- infeasible


def test_out_of_reach_begins_at_a_wealth_of_a_hundred() -> None:
    """The log of the wealth against the target, over everything that was asked; groups share the 1%."""
    selector = selector_of(max_debt=0)
    while (certificate := selector.certificate()).status != "infeasible":
        assert certificate.evidence < math.log(100)
        tell(selector, False)
    assert certificate.evidence >= math.log(100)
    assert certificate.judged(1) == "infeasible"
    assert certificate.judged(10**6) == "broken"
    assert certificate.verdict == (
        f"OUT OF REACH: 0% of {certificate.outcomes} outcomes succeeded (target 90%), and the safe option itself fails too "
        "often for this target."
    )
    assert lines_of(certificate)[-1].startswith("What to do: lower the target below ")
    assert not certificate.holds


def test_the_evidence_is_that_of_all_that_was_asked() -> None:
    """By hand: the mean over thirty bets from .02 to 2 of exp(bet·failures − (e^bet − 1)·(1 − target)·asked)."""
    promise = Promise.make(0.9)
    account = promise.open()
    for step in range(40):
        place(account, FREE, ONE)
        place(account, SAFE, ONE // 4 * (step % 2))
    for _ in range(5):
        place(account, FREE, None)
        skip(account)
        place(account, SAFE, None, expired=True)
    failures, asked = 20 + 20 * 0.75, 80 + 15
    wealth = sum(
        math.exp(bet * failures - (math.exp(bet) - 1) * 0.1 * asked)
        for bet in (0.02 * 100 ** (step / 29) for step in range(30))
    )
    assert Certificate.make(promise, account).asked == asked
    assert evidence_against(account) == pytest.approx(math.log(wealth / 30))


def test_no_selection_makes_a_target_infeasible() -> None:
    """Every hard case goes to the safe option, which fails in half of them: one in a hundred of all that is asked."""
    selector = selector_of()
    for step in range(3000):
        hard = step % 50 == 0
        decision = selector.ask(available=["all"] if hard else None)
        selector.tell(decision, step % 100 > 0)
    certificate = selector.certificate()
    assert certificate.safe_failures == 30
    assert certificate.safe_failure_at_least > 0.1 or certificate.safe_plays > 300
    assert certificate.status == "kept"


# --- bug


def test_a_bug_is_told_before_anything_else() -> None:
    promise = Promise.make(0.9, max_debt=0)
    account = promise.open()
    for _ in range(60):
        place(account, SAFE, 0)
    assert Certificate.make(promise, account).status == "infeasible"
    account.shortfall -= 1
    assert Certificate.make(promise, account).status == "bug"
    account.shortfall -= ONE - 1
    certificate = Certificate.make(promise, account)
    assert (certificate.status, certificate.consistent) == ("bug", False)
    assert lines_of(certificate) == [
        "BUG: the debt may be 54, above 53, which no behaviour of the options can explain.",
        "Please report it with the saved state; until then play the safe option.",
    ]


# --- what the theorem does not cover


def test_what_is_insisted_on_is_part_of_the_limit() -> None:
    selector = Selector(Menu({"a": 0.1}, safe="all", safe_cost=1.0), 0.5, max_debt=0)
    for times in (1, 2):
        selector.tell(selector.ask(available=["a"], insist=True), False)
        certificate = selector.certificate()
        assert (certificate.status, certificate.insisted, certificate.uncovered) == ("within", times, times * 0.5)
        assert certificate.debt == certificate.debt_at_most == times * 0.5
    assert lines_of(certificate) == [
        "At most 1 behind (limit 1): 0% of 2 outcomes succeeded (target 50%).",
        "Never behind by more than 1 (0, and 2 decisions insisted on); now 1 behind.",
    ]


def test_the_parts_of_the_limit_are_named() -> None:
    promise = Promise.make(0.5, safe_success=0.75, max_debt=1)
    account = promise.open()
    for _ in range(2):
        place(account, FREE, None)
    place(account, FREE, None)  # the debt allows it: in_flight is 200
    account.max_exposure = account.reserved
    place(account, FREE, 0)
    played = place(account, SAFE, ONE)
    assert played.exempt == 1
    certificate = Certificate.make(promise, account)
    allowed = certificate.debt_at_most - 1.5 - 0.5
    assert lines_of(certificate)[1].startswith(
        f"Never behind by more than {certificate.debt_at_most:.4g} (1, and what in_flight=200 allows to be outstanding, "
        f"and 1 decision insisted on, and {allowed:.4g} for declared failures of the safe option) (99% sure), nor "
    )


# --- groups


def test_the_worst_group_speaks_for_all() -> None:
    selector = Selector(Menu({"a": 0.1}, safe="all", skip="none", safe_cost=1.0), 0.9)
    for group in ("Oslo", "Bergen"):
        selector.tell(selector.ask(group=group), True)
    certificate = selector.certificate()
    assert certificate.status == "kept"
    assert certificate.verdict == "Kept in each of 2 groups: in all 100% of 2 outcomes succeeded (target 90%)."
    selector.tell(selector.ask(group="Oslo"), False)
    certificate = selector.certificate()
    assert certificate.status == "within"
    assert certificate.debt_at_most == 10
    assert lines_of(certificate)[:2] == [
        "At most 0.8 behind in any of 2 groups: in all 66.7% of 3 outcomes succeeded (target 90%).",
        "Never behind by more than 5 in any group, nor by more than 10 in all; the group furthest behind is 'Oslo', now 0.8 "
        "behind.",
    ]
    while selector.certificate(group="Oslo").status == "within":
        selector.tell(selector.ask(group="Oslo"), False)
    certificate = selector.certificate()
    assert selector.certificate(group="Bergen").status == "kept"
    assert certificate.status == selector.certificate(group="Oslo").status == "broken"
    share = percent(2 / certificate.outcomes)
    assert certificate.verdict == (
        f"BROKEN in 1 of 2 groups ('Oslo'); in all {share} of {certificate.outcomes} outcomes succeeded (target 90%). Ask for "
        "the certificate of such a group."
    )
