"""An account and its transcription side by side: what is done to one is done to the other, and every number is compared."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from types import ModuleType
from typing import Any

from suffice.kernels.rows import to_rows
from suffice.promise import account as original
from suffice.promise.account import Account
from suffice.promise.rules import Promise
from tests.support.ledger import ONE, SAFE, SKIP, Decision, Ledger

FOREVER = 10**9


class Pair:
    """The functions of a module (that of accounts, or a mutant) on an account, beside a ledger."""

    def __init__(
        self, target: Fraction, max_surplus: float | None, safe: float, forgives: bool, *, most: int | None = None,
        fails: bool = False, begin: int = 0, module: ModuleType = original, compiled: Callable[[Any], Any] | None = None,
    ) -> None:  # fmt: skip
        best = (1 + target) / 2 if fails else 1
        cap = float(1 / (1 - target))
        promise = Promise.make(
            target, max_surplus=max_surplus, cap=cap, start=safe * cap, safe_success=best, forgiving=forgives
        )
        self.module, self.account = module, promise.open(most)
        self.begin = begin  # what both sums begin with, so that they are carried over soon
        self.account.owed = self.account.successes = begin
        self.ledger = Ledger(
            Fraction(promise.target, ONE), None if max_surplus is None else Fraction(max_surplus), Fraction(str(safe)),
            forgives, most, self.account.allowance,
        )  # fmt: skip
        self.out: list[Decision] = []
        self.gone: list[Decision] = []
        self.rows = to_rows(Account, [self.account])
        self.compiled = compiled

    def do(self, name: str, *given: Any) -> None:
        """Call a function on the account, and its twin on a row."""
        getattr(self.module, name)(self.account, *given)
        if self.compiled is not None:
            self.compiled(getattr(self.module, name))(self.rows[0], *given)

    # --- changes

    def roles(self) -> list[int]:
        """The roles that may be played now."""
        found = self.module.limit(self.account)
        assert found == self.ledger.limit()
        if self.compiled is not None:
            assert self.compiled(self.module.limit)(self.rows[0]) == found
        if found == SAFE:
            return [SAFE]
        if self.ledger.forgives:
            return [0, SAFE]
        return [SKIP] if found == SKIP else [0, SAFE, SKIP]

    def ask(self, role: int) -> Decision:
        self.do("reserve", role)
        made = self.ledger.ask(role)
        self.out.append(made)
        return made

    def tell(self, decision: Decision, units: int) -> None:
        if decision in self.gone:
            self.gone.remove(decision)
            before = self.module.debt(self.account)
            self.do("amend", decision.role, self.account.target, units)
            assert self.module.debt(self.account) <= before
        else:
            self.out.remove(decision)
            self.settle(decision, units, expired=False)
        self.ledger.tell(decision, Fraction(units, ONE))

    def settle(self, decision: Decision, units: int, *, expired: bool) -> None:
        self.do("settle", decision.role, self.account.target, units, expired)
        # An amendment may leave both sums beyond it until the next outcome: each was an outcome before, so they are few.
        assert min(self.account.owed, self.account.successes) < self.module.CARRIED

    def expire(self, decision: Decision) -> None:
        self.out.remove(decision)
        self.gone.append(decision)
        self.settle(decision, 0, expired=True)
        self.ledger.expire(decision)

    # --- comparing

    def check(self, *, honest: bool) -> None:
        """Every number; and where the ends do what the menu says of them (`honest`), that all bounds hold."""
        module, ledger = self.module, self.ledger
        account = replace(self.account)
        module.grow(account)  # as whoever reads the limits does
        settled = len(ledger.settled())
        assert self.counts(account) == {
            "outcomes": settled, "expired": ledger.expired(), "amended": ledger.amended(), "forced": ledger.forced,
            "violations": ledger.violations, "safe_plays": len(ledger.safe_told()), "safe_failures": ledger.failures(),
            "safe_lost": ledger.safe_lost(), "outstanding": ledger.out(SAFE), "not_skips": ledger.out(SKIP),
            "most_outstanding": ledger.late, "most_not_skips": ledger.mirror,
        }  # fmt: skip
        worst = ledger.shortfalls() or [Fraction(0)]
        told = sum((1 - success for success in ledger.safe_told()), Fraction(0))
        assert account.forgiven == ledger.forgiven() * ONE
        assert account.safe_shortage == told * ONE
        assert account.skip_successes == ledger.skip_successes() * ONE
        assert account.shortfall == worst[-1] * ONE
        assert account.worst_shortfall == max(worst) * ONE
        assert account.max_surplus == ledger.bottom() * ONE
        assert account.max_debt + 1 == (ledger.top() + ledger.target) * ONE
        assert module.debt(account) == ledger.debt() * ONE
        assert module.tracked_debt(account) == (ledger.debt() + ledger.forgiven()) * ONE
        assert module.totals(account)[0] - self.begin == ledger.target * settled * ONE
        assert module.totals(account)[1] - self.begin == ledger.successes() * ONE
        self.check_bounds(account, honest)
        if self.compiled is not None:
            assert Account(*self.rows[0].item()) == self.account

    @staticmethod
    def counts(account: Account) -> dict[str, int]:
        names = (
            "outcomes", "expired", "amended", "forced", "violations", "safe_plays", "safe_failures", "safe_lost",
            "outstanding", "not_skips", "most_outstanding", "most_not_skips",
        )  # fmt: skip
        return {name: getattr(account, name) for name in names}

    def check_bounds(self, account: Account, honest: bool) -> None:
        module, ledger = self.module, self.ledger
        debt, surplus = ledger.debt() * ONE, module.surplus_bound(account)
        assert module.base_bound(account) == ledger.base_bound() * ONE
        assert module.debt_bound(account) == ledger.debt_bound() * ONE
        assert module.debt_ceiling(account) == ledger.ceiling() * ONE
        assert surplus == (None if ledger.forgives else ledger.surplus_bound() * ONE)
        for length in (1, 50, FOREVER):
            assert module.window_bound(account, length) == ledger.window_bound(length) * ONE
        for outcomes in (0, 1, 7, 400):
            earlier = module.at_outcomes(account, outcomes)
            assert earlier.max_surplus == ledger.bottom(outcomes) * ONE
            assert earlier.max_debt + 1 == (ledger.top(outcomes) + ledger.target) * ONE
            assert earlier.outcomes == outcomes
        assert debt <= module.debt_ceiling(account)  # in every world
        assert surplus is None or -debt <= surplus
        if honest:
            assert debt <= module.debt_bound(account)
            assert account.violations == 0
            assert ledger.worst_window() * ONE <= module.window_bound(account, FOREVER)
