"""The rules of a promise: the arguments of a user, checked, and the account that follows from them."""

import functools
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

from suffice.errors import InvalidArgument, quoted
from suffice.numbers import ONE_SUCCESS, as_fraction, flag, positive_float, positive_int, rate
from suffice.promise.account import SNAP, UNLIMITED, Account, grow

MOST: Final = UNLIMITED / ONE_SUCCESS


@dataclass(frozen=True, slots=True)
class Promise:
    """The rules of one promise. It holds no counts: `open` makes the account that does.

    >>> from suffice.promise.account import FREE, SAFE, debt, limit, reserve, settle
    >>> promise = Promise.make(0.7)
    >>> account = promise.open()
    >>> limit(account) == SAFE  # debt 0: the safe start
    True
    >>> reserve(account, SAFE); settle(account, SAFE, account.target, ONE_SUCCESS, False)
    >>> debt(account) / ONE_SUCCESS, limit(account) == FREE
    (-0.3, True)
    """

    target: int  # in billionths, rounded up
    cap: float  # the price at which the safe option is played
    max_surplus: float | None  # the most successes that may be banked; None: the square root of the outcomes
    step: float | None  # how far one success owed moves the price; None: cap/max_surplus
    start: float  # the price before any outcome, from 0 (cheap) to cap (safe)
    safe_success: int  # in billionths
    forgiving: bool  # the menu has no skip

    @staticmethod
    def make(
        target: object,
        horizon: object = None,
        *,
        max_surplus: object = None,
        step: object = None,
        cap: object = None,
        start: object = "safe",
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
        if max_surplus is not None and step is not None:
            raise InvalidArgument("give max_surplus or step, not both: step = cap/max_surplus")
        if cap is not None:
            ceiling = positive_float("cap", cap)
        else:
            ceiling = positive_float("safe_cost", safe_cost) * ONE_SUCCESS / (best - share)
        price_step = None if step is None else positive_float("step", step)
        if max_surplus is not None:
            fixed: float | None = positive_float("max_surplus", max_surplus)
        elif price_step is not None:
            fixed = ceiling / price_step
        else:
            fixed = None if horizon is None else math.sqrt(positive_int("horizon", horizon))
        return Promise(
            target=share,
            cap=ceiling,
            max_surplus=fixed,
            step=price_step,
            start=_start_price(start, ceiling),
            safe_success=best,
            forgiving=flag("forgiving", forgiving),
        )

    @property
    def rate(self) -> float:
        """The target as a share."""
        return self.target / ONE_SUCCESS

    def state(self) -> dict[str, object]:
        """The rules in JSON's terms."""
        return asdict(self)

    @staticmethod
    def from_state(state: Mapping[str, object]) -> "Promise":
        """The rules that `state` returned, checked like the arguments of a user."""
        return Promise.make(
            positive_int("target", state["target"]) / ONE_SUCCESS,
            max_surplus=state["max_surplus"] if state["step"] is None else None,
            step=state["step"],
            cap=state["cap"],
            start=state["start"],
            safe_success=positive_int("safe_success", state["safe_success"]) / ONE_SUCCESS,
            forgiving=state["forgiving"],
        )

    def open(self, max_outstanding: int | None = None) -> Account:
        """An account with these rules and without outcomes."""
        safe = self.start / self.cap
        account = Account(
            target=self.target,
            max_debt=self.target - 1,
            max_outstanding=UNLIMITED if max_outstanding is None else max_outstanding,
            forgives=int(self.forgiving),
        )
        if self.max_surplus is None:
            account.debt_growth = round((1.0 - safe) * ONE_SUCCESS)
            account.surplus_growth = round(safe * ONE_SUCCESS)
            grow(account)
        else:
            width = min(self.max_surplus, MOST) * SNAP * ONE_SUCCESS
            account.max_debt += math.ceil((1.0 - safe) * width)
            # Rounded down: where surplus is forgiven the price stays above 0, and of equal costs the better option is played.
            account.max_surplus = math.floor(safe * width)
        if self.safe_success < ONE_SUCCESS:
            account.allowance = math.ceil(ONE_SUCCESS / lundberg(self.target, self.safe_success))
        return account


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
