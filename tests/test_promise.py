"""The promise by itself: exact arithmetic, rails, and that it rests on the standard library alone."""

import ast
import math
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import suffice
from suffice import promise as module
from suffice.book import slack_of
from suffice.checks import WHOLE, exact, success_units
from suffice.promise import EVERYTHING, NOTHING, PRICE, Counts, Promise

PACKAGE = Path(suffice.__file__).parent


@pytest.mark.parametrize("name", ["promise.py", "book.py", "checks.py", "errors.py", "kl.py", "certificate.py"])
def test_the_promise_rests_on_the_standard_library_alone(name: str) -> None:
    for node in ast.walk(ast.parse((PACKAGE / name).read_text())):
        modules = [node.module] if isinstance(node, ast.ImportFrom) else []
        modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for imported in modules:
            assert imported is not None
            own = imported in {f"suffice.{part}" for part in ("book", "checks", "errors", "kl", "promise")}
            assert own or imported.split(".")[0] in sys.stdlib_module_names, f"{name} imports {imported}"


def test_the_promise_is_small() -> None:
    for name in ("promise.py", "book.py"):
        lines = (PACKAGE / name).read_text().splitlines()
        assert len(lines) < 300


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (0.7, Fraction(7, 10)), (Fraction(2, 3), Fraction(2, 3)), (Decimal("0.95"), Fraction(19, 20)),
        (np.float64(0.1), Fraction(1, 10)), (np.float32(0.7), Fraction(7, 10)), (1e-5, Fraction(1, 100000)), (3, Fraction(3)),
        (np.int64(4), Fraction(4)),
    ],
)  # fmt: skip
def test_a_number_is_what_it_is_written_as(written: Any, meant: Fraction) -> None:
    assert exact("number", written) == meant


@given(numerator=st.integers(1, 99), told=st.integers(1, 300))
def test_debt_zero_is_found_exactly(numerator: int, told: int) -> None:
    """At debt 0 everything is due, and one success more is enough to leave the rail: no off-by-rounding."""
    promise = Promise.make(numerator / 100)
    counts = Counts(told=100 * told, successes=numerator * told * WHOLE)
    assert promise.debt(counts) == 0
    assert promise.rail(counts) == EVERYTHING
    ahead = Counts(told=100 * told, successes=(numerator * told + 1) * WHOLE)
    assert promise.rail(ahead) != EVERYTHING
    behind = Counts(told=100 * told, successes=(numerator * told - 1) * WHOLE)
    assert promise.rail(behind) == EVERYTHING


def test_debt_is_exact_after_a_trillion_outcomes() -> None:
    promise = Promise.make(0.7)
    counts = Counts(told=10**12, successes=(7 * 10**11) * WHOLE)
    assert promise.rail(counts) == EVERYTHING
    counts.successes += WHOLE
    assert promise.rail(counts) == PRICE
    assert promise.debt(counts) == -1


@given(
    target=st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=1000),
    told=st.integers(0, 10**6),
    ahead=st.fractions(-5, 2000, max_denominator=1000),
    slack=st.one_of(st.none(), st.floats(0.1, 1000)),
    safe=st.sampled_from([0.0, 0.25, 1.0]),
)
def test_rails_and_dual_against_the_formulas(
    target: Fraction, told: int, ahead: Fraction, slack: float | None, safe: float
) -> None:
    """dual = start + step·debt; everything at dual >= cap, nothing at dual <= 0, as rational arithmetic says."""
    promise = Promise.make(target, slack=slack, start=safe * float(1 / (1 - target)))
    units = int((target * told + ahead) * WHOLE)
    if not 0 <= units <= told * WHOLE:
        return
    counts = Counts(told=told, successes=units)
    debt = target * told - Fraction(units, WHOLE)
    cap = 1 / (1 - target)
    bank = Fraction(slack) if slack is not None else Fraction(math.sqrt(max(1, told)))
    dual = Fraction(promise.start) + Fraction(promise.cap) / bank * debt
    assert promise.debt(counts) == debt
    assert promise.dual(counts) == pytest.approx(float(dual), rel=1e-9, abs=1e-9 * float(cap))
    margin = cap / 10**9
    if dual > cap + margin:
        assert promise.rail(counts) == EVERYTHING
    elif dual < -margin:
        assert promise.rail(counts) == NOTHING
    elif margin < dual < cap - margin:
        assert promise.rail(counts) == PRICE


def test_the_rail_is_where_the_number_meant_is() -> None:
    """A step computed in floating point, 5/sqrt(900), means 1/6: at debt 30 the dual is the cap 5."""
    promise = Promise.make(0.8, step=5 / math.sqrt(900), start="cheap")
    assert promise.rail(Counts(told=100, successes=50 * WHOLE)) == EVERYTHING  # debt 30
    assert promise.rail(Counts(told=101, successes=51 * WHOLE)) == PRICE  # debt 29.8


def test_counts_add_up_in_any_order() -> None:
    """State is a sum: what drives the decision does not depend on the order of outcomes."""
    promise = Promise.make(0.9)
    rng = np.random.default_rng(0)
    outcomes = [int(x) * WHOLE for x in rng.random(500) < 0.9]
    first, second = Counts(), Counts()
    for units in outcomes:
        promise.record(first, units, arm=PRICE)
    for units in reversed(outcomes):
        promise.record(second, units, arm=PRICE)
    assert (promise.rail(first), promise.dual(first)) == (promise.rail(second), promise.dual(second))


def test_slack_step_and_horizon_say_the_same() -> None:
    by_slack = Promise.make(0.75, slack=20)
    by_step = Promise.make(0.75, step=4 / 20)
    by_horizon = Promise.make(0.75, 400)
    for told, successes in ((0, 0), (1, 1), (1000, 770), (1000, 760), (1000, 755)):
        counts = Counts(told=told, successes=successes * WHOLE)
        assert by_slack.rail(counts) == by_step.rail(counts) == by_horizon.rail(counts)
        assert by_slack.dual(counts) == pytest.approx(by_step.dual(counts))
        assert by_slack.dual(counts) == pytest.approx(by_horizon.dual(counts))
    decaying = Promise.make(0.75)
    assert slack_of(decaying.open(Counts(told=400))) == 20
    assert slack_of(decaying.open(Counts())) == slack_of(decaying.open(Counts(told=1)))


def test_the_default_cap() -> None:
    assert Promise.make(0.8).cap == 5.0
    assert Promise.make(0.8, max_cost=3).cap == 15.0
    assert Promise.make(0.8, everything_success=0.9).cap == 10.0
    assert Promise.make(0.8, cap=2).cap == 2.0


@pytest.mark.parametrize("success", [True, 1, 1.0, np.True_, np.int64(1), np.float32(1), Decimal(1), Fraction(1)])
def test_success_in_every_form(success: Any) -> None:
    assert success_units(success) == WHOLE


@given(st.floats(0, 1))
def test_what_is_counted_never_exceeds_what_was_told(success: float) -> None:
    told = Fraction(str(success)) * WHOLE
    assert told - 1 < success_units(success) <= told


@given(
    st.one_of(st.integers(1, 10**6 - 1).map(lambda k: k / 10**6), st.sampled_from([Fraction(1, 3), np.float32(0.9)]))
)
def test_a_success_that_equals_the_target_is_no_failure(share: Any) -> None:
    """Theory 2: everything need only succeed as much as the target."""
    promise = Promise.make(share)
    promise.record(counts := Counts(), success_units(share), arm=EVERYTHING)
    assert counts.everything_failures == 0
    assert promise.holds(counts)


def test_a_breach_shows_at_the_finest_targets() -> None:
    promise = Promise.make(1e-12)
    counts = Counts()
    for _ in range(500):
        promise.record(counts, 0, arm=EVERYTHING)
    assert not promise.holds(counts)
    assert promise.sound(counts)
    assert counts.breaches == 499


def test_an_everything_barely_better_than_the_target() -> None:
    promise = Promise.make(Fraction(10**17 - 1, 10**17), everything_success=Fraction(10**18 - 1, 10**18))
    promise.record(counts := Counts(), WHOLE, arm=EVERYTHING)
    assert promise.holds(counts)
    assert math.isfinite(promise.debt_at_most(counts))


def test_forgiveness_keeps_the_tracked_debt_at_the_floor() -> None:
    promise = Promise.make(0.5, slack=3, forgiving=True)
    counts = Counts()
    for _ in range(100):
        promise.record(counts, WHOLE, arm=PRICE)
    assert promise.debt(counts) == -50
    assert promise.dual(counts) == pytest.approx(0.0, abs=1e-9)
    for _ in range(6):
        assert promise.rail(counts) != EVERYTHING
        promise.record(counts, 0, arm=PRICE)
    assert promise.rail(counts) == EVERYTHING  # six failures use up a slack of three at a target of one half


def test_a_very_fine_target_is_no_trouble() -> None:
    promise = Promise.make(Fraction(10**50 - 1, 10**50))
    assert promise.rail(Counts()) == EVERYTHING
    promise.record(counts := Counts(), WHOLE, arm=EVERYTHING)
    assert promise.rail(counts) == PRICE


def test_lundberg_root_is_a_root() -> None:
    for target, fail in [(0.9, 0.05), (0.5, 0.4), (0.99, 0.001), (0.2, 0.79)]:
        r = module.lundberg(Fraction(str(target)), Fraction(str(fail)))
        assert r > 0
        assert fail * math.exp(r * target) + (1 - fail) * math.exp(-r * (1 - target)) == pytest.approx(1.0, abs=1e-9)


@given(
    target=st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=10**6),
    told=st.integers(0, 10**9),
    near=st.integers(-3, 3),
    parts=st.integers(0, WHOLE - 1),
)
def test_behind_is_decided_in_whole_numbers(target: Fraction, told: int, near: int, parts: int) -> None:
    """Also for fractional successes, within a billionth of debt 0."""
    wholes = int(target * told) + near
    if not 0 <= wholes < told:
        return
    counts = Counts(told=told, successes=wholes * WHOLE + parts)
    promise = Promise.make(target)
    exactly = target * told - Fraction(counts.successes, WHOLE)
    assert (promise.rail(counts) == EVERYTHING) == (exactly >= 0)
    assert promise.debt(counts) == exactly
    assert promise.dual(counts) == pytest.approx(
        float(1 / (1 - target) * (1 + exactly / Fraction(math.sqrt(max(1, told)))))
    )


def test_a_book_and_its_counts_say_the_same() -> None:
    counts = Counts(
        told=5, successes=3 * WHOLE + 7, forgiven=0.5, everything_successes=1.5, settled=4, next_id=9, out=2
    )
    again = Counts()
    again.read(Promise.make(0.7).open(counts))
    assert again == counts
