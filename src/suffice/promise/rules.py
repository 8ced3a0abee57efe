"""The rules of a promise: the arguments of a user, checked, and the account that follows from them."""

import functools
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any, Final

from suffice.errors import InvalidArgument, quoted
from suffice.numbers import ONE_SUCCESS, as_fraction, flag, positive_float, positive_int, rate
from suffice.promise.account import grow
from suffice.promise.record import SNAP, UNLIMITED, Account

MAX_DEBT: Final = 5
IN_FLIGHT: Final = 200
MAX_SURPLUS: Final = 40  # the default: the square root of the outcomes, up to this
MOST: Final = UNLIMITED // ONE_SUCCESS


@dataclass(frozen=True, slots=True)
class Rule:
    """The quantities of the paper in place of `max_debt`, `in_flight` and `max_surplus`: for research.

    The price is start + step·debt; from the cap on the safe option is played, and from 0 down the skip. So the cap and
    the start set how many successes may be owed. Nothing limits what is outstanding, and the price looks at the debt alone.

    Args:
        start: the price before any outcome: "safe" (the cap: never behind), "cheap" (0, as in the paper), or a number.
        step: how far one outcome moves the price.
        cap: the price at which the safe option is played. Default safe_cost/(safe_success − target).
        horizon: how many outcomes there will be. Bounds use it too.
        max_surplus: the most successes that may be banked, instead of a step (step = cap/max_surplus). Default: the square
            root of the horizon, or of the number of outcomes.
    """

    start: str | float = "safe"
    step: float | None = None
    cap: float | None = None
    horizon: int | None = None
    max_surplus: float | None = None

    def __post_init__(self) -> None:
        if self.max_surplus is not None and self.step is not None:
            raise InvalidArgument("give max_surplus or step, not both: step = cap/max_surplus")
        for name in ("step", "cap", "max_surplus"):
            if getattr(self, name) is not None:
                positive_float(name, getattr(self, name))
        if self.horizon is not None:
            positive_int("horizon", self.horizon)
        if self.start != "safe" and self.step is None and self.horizon is None and self.max_surplus is None:
            raise InvalidArgument(
                f'step must be given, or the horizon, where the start is not "safe" but {quoted(self.start)}'
            )


@dataclass(frozen=True, slots=True)
class Promise:
    """The rules of one promise. It holds no counts: `open` makes the account that does.

    >>> from suffice.promise.account import debt, limit, reserve, settle
    >>> from suffice.promise.record import FREE, SAFE, Reservation
    >>> promise = Promise.make(0.7, max_debt=0)
    >>> account = promise.open()
    >>> limit(account) == SAFE  # nothing may be owed, and one failure would owe 0.7
    True
    >>> exempt = reserve(account, SAFE, expects=-300_000_000)
    >>> settle(account, Reservation(SAFE, account.target, -300_000_000, exempt), ONE_SUCCESS, False)
    >>> debt(account) / ONE_SUCCESS
    -0.3
    """

    target: int  # in billionths, rounded up
    max_debt: int  # in billionths, rounded down
    in_flight: int  # how many decisions may be outstanding beyond what the surplus covers
    max_surplus: float | None  # the most successes that may be banked; None: as many as the outcomes call for
    cap: float  # the price at which the safe option is played
    safe_success: int  # in billionths
    forgiving: bool  # the menu has no skip
    start: float | None = None  # of a `Rule`: the price before any outcome; None: there is no rule
    step: float | None = None  # of a `Rule`: how far one success owed moves the price; None: cap/max_surplus

    @staticmethod
    def make(
        target: object,
        *,
        max_debt: object = MAX_DEBT,
        in_flight: object = IN_FLIGHT,
        max_surplus: object = None,
        rule: Rule | None = None,
        safe_cost: object = 1.0,
        safe_success: object = 1.0,
        forgiving: object = False,
    ) -> "Promise":
        """A promise from the arguments of a user, which are all checked here."""
        share, best = _target_units(target), ONE_SUCCESS
        if type(safe_success) is not float or safe_success != 1.0:  # most are 1, and need no fraction
            best = int(rate("safe_success", safe_success, or_one=True) * ONE_SUCCESS)
        if best <= share:
            raise InvalidArgument(
                f"safe_success must be above the target {quoted(target)}, got {best / ONE_SUCCESS}: "
                "no way of choosing can succeed more often than the best option"
            )
        ceiling = positive_float("safe_cost", safe_cost) * ONE_SUCCESS / (best - share)
        forgives = flag("forgiving", forgiving)
        if rule is not None:
            if (max_debt, in_flight, max_surplus) != (MAX_DEBT, IN_FLIGHT, None):
                raise InvalidArgument(
                    "max_debt, in_flight and max_surplus must be left out beside a rule, which sets them"
                )
            return _ruled(rule, share, ceiling, best, forgives)
        return Promise(
            target=share,
            max_debt=_debt_units(max_debt),
            in_flight=min(positive_int("in_flight", in_flight, 0), MOST),
            max_surplus=None if max_surplus is None else positive_float("max_surplus", max_surplus),
            cap=ceiling,
            safe_success=best,
            forgiving=forgives,
        )

    @property
    def rate(self) -> float:
        """The target as a share."""
        return self.target / ONE_SUCCESS

    @property
    def rule(self) -> Rule | None:
        """The rule that sets the limits, without its horizon; None if there is none."""
        if self.start is None:
            return None
        start = "safe" if self.start == self.cap else self.start
        return Rule(start, self.step, self.cap, None, self.max_surplus if self.step is None else None)

    def state(self) -> dict[str, object]:
        """The rules in JSON's terms."""
        return asdict(self)

    @staticmethod
    def from_state(state: Mapping[str, object]) -> "Promise":
        """The rules that `state` returned, checked like the arguments of a user."""
        cap, best = positive_float("cap", state["cap"]), positive_int("safe_success", state["safe_success"])
        share, start = positive_int("target", state["target"]), state["start"]
        owed, surplus = positive_int("max_debt", state["max_debt"], 0), state["max_surplus"]
        if not 0 < share < best <= ONE_SUCCESS or owed > UNLIMITED:
            raise InvalidArgument(f"target must be below safe_success, got {share} and {best} billionths")
        return Promise(
            target=share,
            max_debt=owed,
            in_flight=min(positive_int("in_flight", state["in_flight"], 0), MOST),
            max_surplus=None if surplus is None else positive_float("max_surplus", surplus),
            cap=cap,
            safe_success=best,
            forgiving=flag("forgiving", state["forgiving"]),
            start=None if start is None else _start_price(start, cap),
            step=None if state["step"] is None else positive_float("step", state["step"]),
        )

    def open(self) -> Account:
        """An account with these rules and without outcomes."""
        account = Account(
            target=self.target,
            max_debt=self.max_debt,
            max_exposure=min(self.max_debt + self.target * self.in_flight, UNLIMITED),
            in_flight=self.in_flight,
            forgives=int(self.forgiving),
        )
        if self.max_surplus is not None:
            # Rounded down: where surplus is forgiven the price stays above 0, and of equal costs the better option is played.
            share = 1.0 if self.start is None else self.start / self.cap
            account.max_surplus = math.floor(share * min(self.max_surplus, MOST) * SNAP * ONE_SUCCESS)
        else:
            account.surplus_growth = ONE_SUCCESS
            account.surplus_most = MAX_SURPLUS * ONE_SUCCESS if self.start is None else UNLIMITED
            grow(account)
        if self.safe_success < ONE_SUCCESS:
            account.allowance = math.ceil(ONE_SUCCESS / lundberg(self.target, self.safe_success))
        return account


def limit_arguments(promise: Promise, horizon: int | None) -> dict[str, Any]:
    """The limits of a promise as a selector's constructor takes them."""
    if promise.rule is not None:
        return {"rule": replace(promise.rule, horizon=horizon)}
    owed = Fraction(promise.max_debt, ONE_SUCCESS)
    return {"max_debt": owed, "in_flight": promise.in_flight, "max_surplus": promise.max_surplus}


def _ruled(rule: Rule, target: int, ceiling: float, best: int, forgiving: bool) -> Promise:
    """The promise of a rule: its cap and its start set how many successes may be owed."""
    cap = ceiling if rule.cap is None else float(rule.cap)
    start = _start_price(rule.start, cap)
    width = rule.max_surplus
    if rule.step is not None:
        width = cap / rule.step
    elif width is None and rule.horizon is not None:
        width = math.sqrt(rule.horizon)
    behind = 0 if width is None else math.ceil((1.0 - start / cap) * min(width, MOST) * SNAP * ONE_SUCCESS)
    # A debt of 0 is at the upper limit of a safe start: one billionth less is between the limits.
    return Promise(target, min(target - 1 + behind, UNLIMITED), MOST, width, cap, best, forgiving, start, rule.step)


def _debt_units(max_debt: object) -> int:
    """The most successes that may be owed, in billionths, rounded down."""
    number = as_fraction("max_debt", max_debt)
    if not 0 <= number <= MOST // 2:
        raise InvalidArgument(f"max_debt must lie between 0 and {MOST // 2}, got {quoted(max_debt)}")
    return number.numerator * ONE_SUCCESS // number.denominator


def _target_units(target: object) -> int:
    """A target in billionths, rounded up: the promised rate is never below the target."""
    share = rate("target", target)
    units = -(-share.numerator * ONE_SUCCESS // share.denominator)
    if units == ONE_SUCCESS:
        raise InvalidArgument(f"target must be at most 0.999999999, got {quoted(target)}")
    return units


def _start_price(start: object, cap: float) -> float:
    if isinstance(start, str) and start in ("safe", "cheap"):
        return cap if start == "safe" else 0.0
    if isinstance(start, str):
        raise InvalidArgument(
            f'start must be "safe", "cheap" or a number from 0 to the cap {cap:g}, got {quoted(start)}'
        )
    price = float(as_fraction("start", start))
    if not 0.0 <= price <= cap:
        raise InvalidArgument(f"start must lie between 0 and the cap {cap:g}, got {quoted(start)}")
    return price


@functools.cache
def lundberg(target: int, safe_success: int) -> float:
    """The r > 0 at which fail·exp(r·target) + (1 − fail)·exp(−r·(1 − target)) = 1, from below, by bisection."""
    up, down = target / ONE_SUCCESS, (ONE_SUCCESS - target) / ONE_SUCCESS
    failing = (ONE_SUCCESS - safe_success) / ONE_SUCCESS

    def above(r: float) -> bool:
        # 1 − (1 − fail)·exp(−r·down), without cancellation
        rest = -math.expm1(-r * down) + failing * math.exp(-r * down)
        return math.log(failing) + r * up > math.log(rest)

    low, high = 0.0, 1.0
    while not above(high):
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if above(middle) else (middle, high)
    return low if low > 0.0 else high
