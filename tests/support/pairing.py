"""An account and its transcription side by side: what is done to one is done to the other, and every number is compared."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Any

from suffice.kernels.rows import to_rows
from suffice.promise import account as original
from suffice.promise.record import CARRIED, Account, Reservation
from suffice.promise.rules import Promise, Rule
from tests.support.ledger import FREE, ONE, SAFE, SKIP, Decision, Ledger

FOREVER = 10**9


@dataclass(frozen=True)
class Case:
    """The arguments of a promise: its own, or, where `safe` is given, those of the paper's rule."""

    target: Fraction
    max_surplus: float | None = None
    forgives: bool = False
    max_debt: Fraction = Fraction(5)
    in_flight: int = 200
    safe: float | None = None  # where the price of the rule starts, as a share of the cap
    fails: bool = False  # the safe option is declared to fail sometimes
    begin: int = 0  # what both sums begin with, so that they are carried over soon

    def promise(self) -> Promise:
        best = (1 + self.target) / 2 if self.fails else 1
        if self.safe is None:
            return Promise.make(
                self.target, max_debt=self.max_debt, in_flight=self.in_flight, max_surplus=self.max_surplus,
                safe_success=best, forgiving=self.forgives,
            )  # fmt: skip
        cap = float(1 / (1 - self.target))
        rule = Rule(cap=cap, start="safe" if self.safe == 1.0 else self.safe * cap, max_surplus=self.max_surplus)
        return Promise.make(self.target, rule=rule, safe_success=best, forgiving=self.forgives)

    def ledger(self, allowance: int) -> Ledger:
        target = Fraction(-(-self.target.numerator * ONE // self.target.denominator), ONE)
        width = None if self.max_surplus is None else Fraction(self.max_surplus)
        if self.safe is not None:
            safe = Fraction(str(self.safe))
            return Ledger.of_rule(target, width, safe, forgives=self.forgives, allowance=allowance)
        most = Fraction(int(self.max_debt * ONE), ONE)
        return Ledger(target, most, self.in_flight, width, forgives=self.forgives, allowance=allowance)


class Pair:
    """The functions of a module (that of accounts, or a mutant) on an account, beside a ledger."""

    def __init__(
        self, case: Case, *, module: ModuleType = original, compiled: Callable[[Any], Any] | None = None
    ) -> None:
        self.case, self.module, self.compiled = case, module, compiled
        self.account = case.promise().open()
        self.account.owed = self.account.successes = case.begin
        self.ledger = case.ledger(self.account.allowance)
        self.out: list[Decision] = []
        self.gone: list[Decision] = []  # expired decisions and skips: a success may still be told
        self.rows = to_rows(Account, [self.account])

    def do(self, name: str, *given: Any) -> Any:
        """Call a function on the account, and its twin on a row."""
        found = getattr(self.module, name)(self.account, *given)
        if self.compiled is not None:
            assert self.compiled(getattr(self.module, name))(self.rows[0], *given) == found
        return found

    def played(self, decision: Decision) -> Reservation:
        return Reservation(decision.role, self.account.target, decision.expects, int(decision.exempt))

    # --- changes

    def roles(self) -> list[int]:
        """The roles that may be played now, without insisting."""
        found = self.do("limit")
        assert found == self.ledger.limit()
        if found == SAFE:
            return [SAFE]
        if self.ledger.forgives:
            return [FREE, SAFE]
        return [SKIP, SAFE] if found == SKIP else [FREE, SAFE, SKIP]

    def ask(self, role: int) -> Decision:
        """Also a free play where a limit forces the safe option: somebody insists."""
        expects = 0 if role == SKIP else self.account.target - ONE * (len(self.ledger.decisions) % 4) // 3
        made = self.ledger.ask(role, expects)
        if role == SKIP:
            self.do("skip")
            self.gone.append(made)
        else:
            assert self.do("reserve", role, expects) == made.exempt
            self.out.append(made)
        return made

    def tell(self, decision: Decision, units: int) -> None:
        if decision in self.gone:
            if decision.role == SKIP and units == 0:
                return  # it counted as a failure when it was asked
            self.gone.remove(decision)
            before = self.module.debt(self.account) - self.account.uncovered
            self.do("amend", self.played(decision), units)
            assert self.module.debt(self.account) - self.account.uncovered <= before
        else:
            self.out.remove(decision)
            self.settle(decision, units, expired=False)
        self.ledger.tell(decision, Fraction(units, ONE))

    def settle(self, decision: Decision, units: int, *, expired: bool) -> None:
        self.do("settle", self.played(decision), units, expired)
        # An amendment may leave both sums beyond it until the next outcome: each was an outcome before, so they are few.
        if not (expired and decision.role == SAFE):
            assert min(self.account.owed, self.account.successes) < CARRIED

    def expire(self, decision: Decision) -> None:
        self.out.remove(decision)
        self.gone.append(decision)
        self.settle(decision, 0, expired=True)
        self.ledger.expire(decision)

    def cancel(self, decision: Decision) -> None:
        self.out.remove(decision)
        self.do("cancel", self.played(decision))
        self.ledger.cancel(decision)

    # --- comparing

    def check(self, *, honest: bool) -> None:
        """Every number; and where the ends do what the menu says of them (`honest`), that all bounds hold."""
        module, ledger, account = self.module, self.ledger, self.account
        settled, begin = len(ledger.settled()), self.case.begin
        counts = {
            "outcomes": settled, "expired": ledger.expired(), "amended": ledger.amended(),
            "skipped": ledger.count(lambda one: one.role == SKIP), "forced": ledger.count(lambda one: one.exempt),
            "forced_ahead": ledger.forced_ahead(), "violations": ledger.violations, "expected": ledger.expected(),
            "safe_plays": len(ledger.safe_told()), "safe_failures": ledger.failures(),
            "safe_lost": ledger.count(lambda one: one.lost), "outstanding": ledger.outstanding(),
            "most_outstanding": ledger.most_outstanding(), "pending": ledger.pending(), "most_pending": ledger.most_pending(),
            "insisted": ledger.count(lambda one: one.insisted),
            "cancelled": ledger.count(lambda one: one.cancelled_at > 0),
            "forced_by_waiting": ledger.count(lambda one: one.exempt and one.waited),
        }  # fmt: skip
        assert {name: getattr(account, name) for name in counts} == counts
        shortfalls, safe = ledger.shortfalls(), ledger.safe_told()
        sums = {
            "reserved": ledger.target * ledger.outstanding(), "forgiven": ledger.forgiven(),
            "safe_shortage": sum((1 - success for success in safe), Fraction(0)),
            "skip_successes": ledger.skip_successes(), "shortfall": shortfalls[-1], "worst_shortfall": max(shortfalls),
            "uncovered": ledger.uncovered(), "max_surplus": ledger.bottom(), "max_debt": ledger.max_debt,
        }  # fmt: skip
        assert {name: Fraction(getattr(account, name), ONE) for name in sums} == sums
        assert module.debt(account) == ledger.debt() * ONE
        assert module.exposure(account) == ledger.exposure() * ONE
        assert module.tracked_debt(account) == (ledger.debt() + ledger.forgiven()) * ONE
        assert module.asked(account) == len(ledger.decisions)
        for expires in (False, True):
            assert module.owed_if_failed(account, expires) == ledger.owed_if_failed(expires=expires) * ONE
        assert module.totals(account)[0] - begin == ledger.target * settled * ONE
        assert module.totals(account)[1] - begin == ledger.successes() * ONE
        self.check_bounds(honest)
        if self.compiled is not None:
            assert Account(*self.rows[0].item()) == account

    def check_bounds(self, honest: bool) -> None:
        module, ledger, account = self.module, self.ledger, self.account
        debt, exposure, surplus = ledger.debt() * ONE, ledger.exposure() * ONE, module.surplus_bound(account)
        assert module.base_bound(account) == ledger.base_bound() * ONE
        assert module.debt_bound(account) == ledger.debt_bound() * ONE
        assert module.debt_ceiling(account) == ledger.ceiling() * ONE
        assert surplus == (None if ledger.forgives else ledger.surplus_bound() * ONE)
        for length in (1, 50, FOREVER):
            assert module.window_bound(account, length) == ledger.window_bound(length) * ONE
        for outcomes in (0, 1, 7, 400):
            earlier = module.at_outcomes(account, outcomes)
            assert (earlier.outcomes, earlier.max_surplus) == (outcomes, ledger.bottom(outcomes) * ONE)
        assert debt <= exposure <= module.debt_ceiling(account)  # in every world
        assert surplus is None or -debt <= surplus
        if honest:
            assert exposure <= module.debt_bound(account)
            assert account.violations == 0
            assert ledger.worst_window() * ONE <= module.window_bound(account, FOREVER)
