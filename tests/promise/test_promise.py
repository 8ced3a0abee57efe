"""The promise by itself: exact arithmetic, limits, and that it rests on the standard library alone."""

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
from suffice.learning.prices import new_pricing, price_at
from suffice.learning.records import Pricing
from suffice.numbers import ONE_SUCCESS, as_fraction, success_units
from suffice.promise import rules
from suffice.promise.account import debt, debt_bound, debt_ceiling, grow, limit, reserve, settle, skip, tracked_debt
from suffice.promise.record import FREE, SAFE, SKIP, Account, Reservation
from suffice.promise.rules import Promise, Rule, limit_arguments

PACKAGE = Path(suffice.__file__).parent
FILES = [
    *sorted(path.relative_to(PACKAGE).as_posix() for path in (PACKAGE / "promise").glob("*.py")),
    "errors.py",
]


def price_now(pricing: Pricing, account: Account) -> float:
    """The present price."""
    return price_at(pricing, account, limit(account))


def test_the_promise_is_all_there() -> None:
    assert {"promise/account.py", "promise/rules.py", "promise/certificate.py", "promise/divergence.py"} < set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_the_promise_rests_on_the_standard_library_alone(name: str) -> None:
    for node in ast.walk(ast.parse((PACKAGE / name).read_text())):
        modules = [node.module] if isinstance(node, ast.ImportFrom) else []
        modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for imported in modules:
            assert imported is not None
            own = imported in ("suffice.numbers", "suffice.errors") or imported.startswith("suffice.promise.")
            assert own or imported.split(".")[0] in sys.stdlib_module_names, f"{name} imports {imported}"


def test_the_promise_is_small() -> None:
    for name in FILES:
        lines = (PACKAGE / name).read_text().splitlines()
        assert len(lines) <= 400


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (0.7, Fraction(7, 10)), (Fraction(2, 3), Fraction(2, 3)), (Decimal("0.95"), Fraction(19, 20)),
        (np.float64(0.1), Fraction(1, 10)), (np.float32(0.7), Fraction(7, 10)), (1e-5, Fraction(1, 100000)), (3, Fraction(3)),
        (np.int64(4), Fraction(4)),
    ],
)  # fmt: skip
def test_a_number_is_what_it_is_written_as(written: Any, meant: Fraction) -> None:
    assert as_fraction("number", written) == meant


@pytest.mark.parametrize(
    ("written", "units"),
    [
        (0.7, 700_000_000), (Fraction(2, 3), 666_666_667), (1 / 3, 333_333_334), (1e-9, 1), (1e-12, 1),
        (0.999999999, 999_999_999), (Decimal("0.1234567891"), 123_456_790), (Fraction(10**18 - 10**9, 10**18), 999_999_999),
    ],
)  # fmt: skip
def test_a_target_is_rounded_up_to_a_billionth(written: Any, units: int) -> None:
    """What is promised is never less than what was asked for."""
    promise = Promise.make(written)
    assert promise.target == units
    assert (
        Fraction(promise.target, ONE_SUCCESS)
        >= as_fraction("target", written)
        > Fraction(promise.target - 1, ONE_SUCCESS)
    )
    assert promise.rate == units / ONE_SUCCESS


@pytest.mark.parametrize("written", [Fraction(10**17 - 1, 10**17), Fraction(10**50 - 1, 10**50), 0.9999999991])
def test_a_target_beyond_the_last_billionth_is_refused(written: Any) -> None:
    with pytest.raises(suffice.InvalidArgument, match=r"target must be at most 0\.999999999"):
        Promise.make(written)


def told(promise: Promise, outcomes: int, units: int, forgiven: int = 0) -> Account:
    """The account after so many outcomes that came to so many billionths of a success."""
    account = promise.open()
    account.outcomes, account.owed, account.successes = outcomes, promise.target * outcomes, units
    account.forgiven = forgiven
    grow(account)
    return account


def record(account: Account, units: int, role: int, expired: bool = False) -> None:
    """Ask in this role, and tell at once."""
    if role == SKIP:
        skip(account)
    else:
        settle(account, Reservation(role, account.target, 0, reserve(account, role, 0)), units, expired)


def pricing_of(promise: Promise) -> Pricing:
    """Straight prices of these rules."""
    return new_pricing(promise, curved=False)


def price_of(promise: Promise, account: Account) -> float:
    return price_now(pricing_of(promise), account)


@given(numerator=st.integers(1, 99), outcomes=st.integers(1, 300))
def test_debt_zero_is_found_exactly(numerator: int, outcomes: int) -> None:
    """By the paper's rule, at debt 0 the safe option is due, and one success more is enough: no off-by-rounding."""
    promise = Promise.make(numerator / 100, rule=Rule())
    level = told(promise, 100 * outcomes, numerator * outcomes * ONE_SUCCESS)
    assert debt(level) == 0
    assert limit(level) == SAFE
    assert limit(told(promise, 100 * outcomes, (numerator * outcomes + 1) * ONE_SUCCESS)) != SAFE
    assert limit(told(promise, 100 * outcomes, (numerator * outcomes - 1) * ONE_SUCCESS)) == SAFE


def test_debt_is_exact_after_a_trillion_outcomes() -> None:
    promise = Promise.make(0.7, max_debt=0)
    account = told(promise, 10**12, (7 * 10**11) * ONE_SUCCESS)
    assert limit(account) == SAFE
    account.successes += 700_000_000
    assert limit(account) == FREE
    account.successes -= 1
    assert limit(account) == SAFE
    assert debt(account) == 1 - 700_000_000


@given(
    target=st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=1000),
    outcomes=st.integers(0, 10**6),
    ahead=st.fractions(-5, 2000, max_denominator=1000),
    width=st.one_of(st.none(), st.floats(0.1, 1000)),
    safe=st.sampled_from([0.0, 0.25, 1.0]),
)
def test_limits_and_price_against_the_formulas(
    target: Fraction, outcomes: int, ahead: Fraction, width: float | None, safe: float
) -> None:
    """price = start + step·debt; safe at price >= cap, skip at price <= 0, as rational arithmetic says."""
    target = Fraction(math.ceil(target * ONE_SUCCESS), ONE_SUCCESS)  # what is promised
    if width is None and safe < 1.0:
        return  # refused: such a start needs a step
    start: Any = "safe" if safe == 1.0 else safe * float(1 / (1 - target))
    promise = Promise.make(target, rule=Rule(max_surplus=width, start=start))
    units = int((target * outcomes + ahead) * ONE_SUCCESS)
    if not 0 <= units <= outcomes * ONE_SUCCESS:
        return
    account = told(promise, outcomes, units)
    owed = target * outcomes - Fraction(units, ONE_SUCCESS)
    cap = 1 / (1 - target)
    bank = Fraction(width) if width is not None else Fraction(math.sqrt(max(1, outcomes)))
    assert promise.start is not None
    price = Fraction(promise.start) + Fraction(promise.cap) / bank * owed
    assert Fraction(debt(account), ONE_SUCCESS) == owed
    assert price_of(promise, account) == pytest.approx(float(price), rel=1e-9, abs=1e-9 * float(cap))
    # The limits are whole billionths of a success: one of these is so much in the price.
    margin = cap / 10**9 + 2 * cap / bank / ONE_SUCCESS
    if price > cap + margin:
        assert limit(account) == SAFE
    elif price < -margin:
        assert limit(account) == SKIP
    elif margin < price < cap - margin:
        assert limit(account) == FREE


def test_the_limit_is_where_the_number_meant_is() -> None:
    """A step computed in floating point, 5/sqrt(900), means 1/6: at debt 30 the price is the cap 5."""
    promise = Promise.make(0.8, rule=Rule(step=5 / math.sqrt(900), start="cheap"))
    assert limit(told(promise, 100, 50 * ONE_SUCCESS)) == SAFE  # debt 30
    assert limit(told(promise, 101, 51 * ONE_SUCCESS)) == FREE  # debt 29.8


def test_counts_add_up_in_any_order() -> None:
    """State is a sum: what drives the decision does not depend on the order of outcomes."""
    promise = Promise.make(0.9)
    rng = np.random.default_rng(0)
    outcomes = [int(x) * ONE_SUCCESS for x in rng.random(500) < 0.9]
    first, second = promise.open(), promise.open()
    for units in outcomes:
        record(first, units, FREE)
    for units in reversed(outcomes):
        record(second, units, FREE)
    assert (limit(first), price_of(promise, first)) == (limit(second), price_of(promise, second))


def test_max_surplus_step_and_horizon_say_the_same() -> None:
    by_max_surplus = Promise.make(0.75, rule=Rule(max_surplus=20))
    by_step = Promise.make(0.75, rule=Rule(step=4 / 20))
    by_horizon = Promise.make(0.75, rule=Rule(horizon=400))
    for outcomes, successes in ((0, 0), (1, 1), (1000, 770), (1000, 760), (1000, 755)):
        accounts = [
            told(promise, outcomes, successes * ONE_SUCCESS) for promise in (by_max_surplus, by_step, by_horizon)
        ]
        assert len({limit(account) for account in accounts}) == 1
        prices = [
            price_of(one, account) for one, account in zip((by_max_surplus, by_step, by_horizon), accounts, strict=True)
        ]
        assert prices == pytest.approx([prices[0]] * 3)
    decaying = Promise.make(0.75, rule=Rule())
    assert price_of(decaying, told(decaying, 400, 301 * ONE_SUCCESS)) == pytest.approx(decaying.cap * (1 - 1 / 20))
    assert price_of(decaying, decaying.open()) == decaying.cap


def test_the_default_cap() -> None:
    assert Promise.make(0.8).cap == 5.0
    assert Promise.make(0.8, safe_cost=3).cap == 15.0
    assert Promise.make(0.8, safe_success=0.9).cap == 10.0
    assert Promise.make(0.8, rule=Rule(cap=2)).cap == 2.0


@pytest.mark.parametrize("limits", [{"max_debt": 0}, {"in_flight": 10}, {"max_surplus": 7}])
def test_a_rule_sets_the_limits_alone(limits: dict[str, Any]) -> None:
    with pytest.raises(
        suffice.InvalidArgument, match="max_debt, in_flight and max_surplus must be left out beside a rule"
    ):
        Promise.make(0.9, rule=Rule(), **limits)
    with pytest.raises(suffice.InvalidArgument, match="give max_surplus or step, not both"):
        Rule(step=0.1, max_surplus=3)


@pytest.mark.parametrize(
    ("written", "units"),
    [(5, 5 * ONE_SUCCESS), (0, 0), (0.7, 700_000_000), (Fraction(2, 3), 666_666_666), (Decimal("1e-10"), 0)],
)
def test_the_most_that_may_be_owed_is_rounded_down_to_a_billionth(written: Any, units: int) -> None:
    assert Promise.make(0.9, max_debt=written).open().max_debt == units


@pytest.mark.parametrize("written", [-1, -1e-9, 10**18, "5", True, math.nan, math.inf])
def test_a_debt_that_cannot_be_allowed_is_refused(written: Any) -> None:
    with pytest.raises(suffice.InvalidArgument, match="max_debt must"):
        Promise.make(0.9, max_debt=written)


@pytest.mark.parametrize("success", [True, 1, 1.0, np.True_, np.int64(1), np.float32(1), Decimal(1), Fraction(1)])
def test_success_in_every_form(success: Any) -> None:
    assert success_units(success) == ONE_SUCCESS


@given(st.floats(0, 1))
def test_what_is_counted_never_exceeds_what_was_told(success: float) -> None:
    wanted = Fraction(str(success)) * ONE_SUCCESS
    assert wanted - 1 < success_units(success) <= wanted


def holds(account: Account) -> bool:
    return debt(account) <= debt_bound(account)


def sound(account: Account) -> bool:
    return debt(account) <= debt_ceiling(account)


@given(st.one_of(st.integers(1, 10**6 - 1).map(lambda k: k / 10**6), st.just(np.float32(0.9))))
def test_a_success_that_equals_the_target_is_no_failure(share: Any) -> None:
    """Theory 2: the safe option need only succeed as much as the target."""
    account = Promise.make(share).open()
    record(account, success_units(share), SAFE)
    assert account.safe_failures == 0
    assert holds(account)


def test_a_target_that_is_no_decimal_is_met_by_a_success_rounded_as_it_is() -> None:
    account = Promise.make(Fraction(1, 3)).open()
    record(account, Promise.make(Fraction(1, 3)).target, SAFE)
    assert account.safe_failures == 0
    record(account, success_units(Fraction(1, 3)), SAFE)  # rounded down, where the target is rounded up
    assert account.safe_failures == 1


def test_a_breach_shows_at_the_finest_targets() -> None:
    account = Promise.make(1e-9, max_debt=0).open()
    for _ in range(500):
        record(account, 0, SAFE)
    assert not holds(account)
    assert sound(account)
    assert account.violations == 500
    assert (account.forced, account.shortfall) == (500, 500)


def test_a_safe_option_barely_better_than_the_target() -> None:
    account = Promise.make(Fraction(10**9 - 2, 10**9), safe_success=Fraction(10**9 - 1, 10**9)).open()
    record(account, ONE_SUCCESS, SAFE)
    assert holds(account)
    assert debt_bound(account) > 0
    with pytest.raises(suffice.InvalidArgument, match="safe_success must be above the target"):
        Promise.make(Fraction(10**9 - 1, 10**9), safe_success=Fraction(10**9 - 1, 10**9))


def test_forgiveness_keeps_the_tracked_debt_at_the_floor() -> None:
    promise = Promise.make(0.5, max_debt=1, max_surplus=3, forgiving=True)
    account = promise.open()
    for _ in range(100):
        record(account, ONE_SUCCESS, FREE)
    assert debt(account) == -50 * ONE_SUCCESS
    assert price_of(promise, account) == pytest.approx(0.0, abs=1e-9)
    for _ in range(7):
        assert limit(account) != SAFE
        record(account, 0, FREE)
    # Seven failures at a target of one half leave 0.5 and what 3.0 was rounded down by: one more would owe more than 1.
    assert tracked_debt(account) == account.owed - account.successes + account.forgiven > ONE_SUCCESS // 2
    assert limit(account) == SAFE


def test_the_finest_target_is_no_trouble() -> None:
    account = Promise.make(Fraction(10**9 - 1, 10**9), max_debt=1).open()
    for _ in range(2):  # the first failure owes a billionth less than 1, and the second may not come
        assert limit(account) == (FREE if account.outcomes == 0 else SAFE)
        record(account, 0, limit(account))
    for _ in range(ONE_SUCCESS // 10**8):
        record(account, ONE_SUCCESS, SAFE)
    assert debt(account) == 2 * (10**9 - 1) - 10
    assert limit(account) == SAFE


def test_lundberg_root_is_a_root() -> None:
    for target, fail in [(0.9, 0.05), (0.5, 0.4), (0.99, 0.001), (0.2, 0.79)]:
        r = rules.lundberg(round(target * ONE_SUCCESS), round((1.0 - fail) * ONE_SUCCESS))
        assert r > 0
        assert fail * math.exp(r * target) + (1 - fail) * math.exp(-r * (1 - target)) == pytest.approx(1.0, abs=1e-9)


@given(
    target=st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=10**6),
    outcomes=st.integers(0, 10**9),
    near=st.integers(-3, 3),
    parts=st.integers(0, ONE_SUCCESS - 1),
)
def test_behind_is_decided_in_whole_numbers(target: Fraction, outcomes: int, near: int, parts: int) -> None:
    """Also for fractional successes, within a billionth of debt 0."""
    target = Fraction(math.ceil(target * ONE_SUCCESS), ONE_SUCCESS)
    wholes = int(target * outcomes) + near
    if not 0 <= wholes < outcomes:
        return
    promise = Promise.make(target, rule=Rule())
    account = told(promise, outcomes, wholes * ONE_SUCCESS + parts)
    exactly = target * outcomes - Fraction(account.successes, ONE_SUCCESS)
    assert (limit(account) == SAFE) == (exactly >= 0)
    assert Fraction(debt(account), ONE_SUCCESS) == exactly
    assert price_of(promise, account) == pytest.approx(
        float(1 / (1 - target) * (1 + exactly / Fraction(math.sqrt(max(1, outcomes)))))
    )


def test_rules_that_are_written_down_come_back() -> None:
    for promise in (
        Promise.make(0.7), Promise.make(Fraction(2, 3), rule=Rule(horizon=900), forgiving=True),
        Promise.make(0.8, rule=Rule(step=0.1, start="cheap")), Promise.make(0.9, safe_success=0.97, safe_cost=20),
        Promise.make(0.9, rule=Rule(max_surplus=7.5, cap=3, start=1.5)), Promise.make(0.7, rule=Rule()),
        Promise.make(0.9, max_debt=Fraction(1, 3), in_flight=7, max_surplus=12.5),
    ):  # fmt: skip
        again = Promise.from_state(promise.state())
        assert again == promise
        assert again.open() == promise.open()
        made = Promise.make(
            Fraction(promise.target, ONE_SUCCESS), **limit_arguments(promise, None), safe_cost=20,
            safe_success=Fraction(promise.safe_success, ONE_SUCCESS), forgiving=promise.forgiving,
        )  # fmt: skip
        assert made.open() == promise.open()
