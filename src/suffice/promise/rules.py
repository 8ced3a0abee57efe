"""The rules of a promise: what a user writes down, checked, and the account and the prices that follow from it."""

import functools
import math
from dataclasses import asdict, dataclass
from typing import Any, Final

from suffice.errors import InvalidArgument, quoted
from suffice.numbers import ONE_SUCCESS, as_fraction, best_rate, flag, positive_float, positive_int, rate
from suffice.promise.account import SNAP, UNLIMITED, Account, grow

MOST: Final = UNLIMITED / ONE_SUCCESS


@dataclass(frozen=True, slots=True)
class Promise:
    """The rules of one promise. Holds no state: `open` makes the account that keeps it.

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
    step: float | None  # how far one success owed moves the price, as it was given; else cap/max_surplus
    start: float  # the price before any outcome, from 0 (cheap) to cap (safe)
    safe_success: int  # in billionths
    forgiving: bool  # the menu has no skip

    @staticmethod
    def make(
        target: Any,
        horizon: int | None = None,
        *,
        max_surplus: Any = None,
        step: Any = None,
        cap: Any = None,
        start: Any = "safe",
        safe_cost: Any = 1.0,
        safe_success: Any = 1.0,
        forgiving: bool = False,
    ) -> "Promise":
        """A promise from what a user writes; every argument is checked here."""
        share, best = target_units(target), _best_units(safe_success)
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
        if max_surplus is not None:
            fixed: float | None = positive_float("max_surplus", max_surplus)
        elif step is not None:
            fixed = ceiling / positive_float("step", step)
        else:
            fixed = None if horizon is None else math.sqrt(positive_int("horizon", horizon))
        return Promise(
            target=share,
            cap=ceiling,
            max_surplus=fixed,
            step=None if step is None else float(step),
            start=_start(start, ceiling),
            safe_success=best,
            forgiving=flag("forgiving", forgiving),
        )

    @property
    def rate(self) -> float:
        """The target as a share."""
        return self.target / ONE_SUCCESS

    def state(self) -> dict[str, Any]:
        """The rules in JSON's terms."""
        return asdict(self)

    @staticmethod
    def from_state(state: dict[str, Any]) -> "Promise":
        """The rules that `state` wrote down, checked like those that a user writes."""
        return Promise.make(
            positive_int("target", state["target"]) / ONE_SUCCESS,
            max_surplus=state["max_surplus"] if state["step"] is None else None,
            step=state["step"],
            cap=state["cap"],
            start=float(state["start"]),
            safe_success=positive_int("safe_success", state["safe_success"]) / ONE_SUCCESS,
            forgiving=state["forgiving"],
        )

    def open(self, max_outstanding: int | None = None) -> Account:
        """An account with these rules, which was told nothing."""
        safe = self.start / self.cap
        account = Account(
            target=self.target,
            max_debt=self.target - 1,
            max_outstanding=UNLIMITED if max_outstanding is None else max_outstanding,
            forgives=int(self.forgiving),
        )
        if self.max_surplus is None:
            account.debt_growth, account.surplus_growth = (
                round((1.0 - safe) * ONE_SUCCESS),
                round(safe * ONE_SUCCESS),
            )
            grow(account)
        else:
            width = min(self.max_surplus, MOST) * SNAP * ONE_SUCCESS
            account.max_debt += math.ceil((1.0 - safe) * width)
            # Rounded down: where surplus is forgiven the price stays above 0, and of equal costs the best option is played.
            account.max_surplus = math.floor(safe * width)
        if self.safe_success < ONE_SUCCESS:
            account.allowance = math.ceil(ONE_SUCCESS / lundberg(self.target, self.safe_success))
        return account


def target_units(target: Any) -> int:
    """A target in billionths, rounded up: what is promised is never less than what was asked for."""
    if type(target) is float:
        return _float_units(target)
    return _units(target)


@functools.lru_cache(maxsize=64)
def _float_units(target: float) -> int:
    return _units(target)


def _units(target: Any) -> int:
    share = rate("target", target)
    units = -(-share.numerator * ONE_SUCCESS // share.denominator)
    if units == ONE_SUCCESS:
        raise InvalidArgument(f"target must be at most 0.999999999, got {quoted(target)}")
    return units


def _best_units(safe_success: Any) -> int:
    """The success of the safe option in billionths, rounded down."""
    return ONE_SUCCESS if safe_success == 1 else int(best_rate("safe_success", safe_success) * ONE_SUCCESS)


def _start(start: Any, cap: float) -> float:
    if isinstance(start, str):
        if start in ("safe", "cheap"):
            return cap if start == "safe" else 0.0
        raise InvalidArgument(
            f'start must be "safe", "cheap" or a number from 0 to the cap {cap:g}, got {quoted(start)}'
        )
    value = float(as_fraction("start", start))
    if not 0.0 <= value <= cap:
        raise InvalidArgument(f"start must lie between 0 and the cap {cap:g}, got {quoted(start)}")
    return value


@functools.cache
def lundberg(target: int, safe_success: int) -> float:
    """The r > 0 at which fail·exp(r·target) + (1 − fail)·exp(−r·(1 − target)) = 1, from below, by bisection."""
    up, down, failing = (
        target / ONE_SUCCESS,
        (ONE_SUCCESS - target) / ONE_SUCCESS,
        (ONE_SUCCESS - safe_success) / ONE_SUCCESS,
    )

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
