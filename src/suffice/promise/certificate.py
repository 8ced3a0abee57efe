"""The certificate: what is promised, whether it holds, and if not, which assumption broke and what to do.

It speaks of everything that was asked, not only of what was reported.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from suffice.numbers import ONE_SUCCESS, as_number, positive_int
from suffice.promise.account import (
    allowance,
    asked,
    at_outcomes,
    debt,
    debt_bound,
    debt_ceiling,
    exposure,
    grow,
    owed_if_failed,
    surplus_bound,
    totals,
    window_bound,
)
from suffice.promise.divergence import kl_lower, kl_upper
from suffice.promise.record import CONFIDENCE, Account
from suffice.promise.rules import Promise
from suffice.promise.wording import count, percent

STATUSES: Final = ("bug", "infeasible", "broken", "unproven", "within", "kept")  # the worst first
HOLDS: Final = ("within", "kept")
WINDOW: Final = 500
# The failure rate of a safe option that is declared perfect is called worse than declared from this share of 1 − target on.
NEGLIGIBLE: Final = 0.01
BETS: Final[tuple[float, ...]] = tuple(
    0.02 * 100.0 ** (step / 29.0) for step in range(30)
)  # from .02 to 2 in equal ratios


@dataclass(frozen=True, slots=True)
class Certificate:
    """The state of a promise. Print it to read it.

    `status` is the verdict in one word, and `holds` is whether it is "kept" or "within". `debt_at_most` is the limit: the
    debt never exceeds it while the safe option behaves as declared. `owed_at_most` is the debt if everything without an
    outcome failed. `assumption_violated`: the safe option is worse than declared, or the skip option succeeded.
    """

    target: float
    asked: int
    outcomes: int
    successes: float
    rate: float | None
    debt: float
    owed_at_most: float
    debt_at_most: float
    ahead_at_most: float
    pending: int
    forgiven: float
    skipped: int
    cancelled: int
    expired: int
    amended: int
    unaudited: int
    insisted: int
    uncovered: float  # what the theorem does not cover; it is part of `debt_at_most`
    safe_plays: int
    safe_failures: int
    safe_lost: int
    safe_failure_at_least: float  # its failure rate where it was played, 99% sure at all times together
    safe_failure_at_most: float
    safe_fails_too_often: (
        bool  # more often than `safe_success` declares, 99% sure, or so that the debt is above the limit
    )
    skip_successes: float
    violations: int  # outcomes after which the debt was above the limit
    evidence: float  # of the safe option's failures against the target: a log-likelihood ratio, see `evidence_against`
    consistent: bool
    promise: Promise = field(repr=False)
    account: Account = field(repr=False)

    @staticmethod
    def make(promise: Promise, account: Account, *, expires: bool = False) -> "Certificate":
        """The certificate of this account, which is copied. `expires`: whether decisions without an outcome expire."""
        account = replace(account)
        grow(account)
        least, most = failure_rate(account)
        behind, ahead = _bounds_of(account)
        _, successes, forgiven = totals(account)
        declared = max(1.0 - promise.safe_success / ONE_SUCCESS, NEGLIGIBLE * (1.0 - promise.rate))
        return Certificate(
            target=promise.rate,
            asked=asked(account),
            outcomes=account.outcomes,
            successes=as_number(successes),
            rate=successes / ONE_SUCCESS / account.outcomes if account.outcomes else None,
            debt=debt(account) / ONE_SUCCESS,
            owed_at_most=owed_if_failed(account, expires) / ONE_SUCCESS,
            debt_at_most=behind,
            ahead_at_most=ahead,
            pending=account.pending,
            forgiven=forgiven / ONE_SUCCESS,
            skipped=account.skipped,
            cancelled=account.cancelled,
            expired=account.expired,
            amended=account.amended,
            unaudited=account.unaudited,
            insisted=account.insisted,
            uncovered=account.uncovered / ONE_SUCCESS,
            safe_plays=account.safe_plays,
            safe_failures=account.safe_failures,
            safe_lost=account.safe_lost,
            safe_failure_at_least=least,
            safe_failure_at_most=most,
            safe_fails_too_often=least > declared or debt(account) > debt_bound(account),
            skip_successes=account.skip_successes / ONE_SUCCESS,
            violations=account.violations,
            evidence=evidence_against(account),
            consistent=exposure(account) <= debt_ceiling(account),
            promise=promise,
            account=account,
        )

    @property
    def status(self) -> str:
        """In one word. The first of these that is true:

        bug: a debt that no behaviour of the options can explain. infeasible: the safe option failed on more than 1 − target
        of everything that was asked, 99% sure. broken: the debt is above the limit. unproven: above the limit if everything
        without an outcome failed. within: behind, or perhaps behind, by no more than the limit. kept: not behind.
        """
        return self.judged(1)

    def judged(self, groups: int) -> str:
        """The status, as one of so many groups: the chance that any is called infeasible by mistake is 1% for all of them."""
        if not self.consistent:
            return "bug"
        if self.evidence >= math.log(groups / (1.0 - CONFIDENCE)):
            return "infeasible"
        if self.debt > self.debt_at_most:
            return "broken"
        if self.owed_at_most > self.debt_at_most:
            return "unproven"
        return "within" if self.owed_at_most > 0 else "kept"

    @property
    def feasible(self) -> bool:
        """False once the safe option itself fails too often for the target, 99% sure."""
        return self.status != "infeasible"

    @property
    def holds(self) -> bool:
        """Whether the promise is shown to hold."""
        return self.status in HOLDS

    @property
    def verdict(self) -> str:
        """The first sentence of the printed certificate."""
        return self._lines()[0]

    @property
    def assumption_violated(self) -> bool:
        """Whether the safe or the skip option does not behave as the menu declares."""
        return self.safe_fails_too_often or self.skip_successes > 0

    @property
    def may_endanger(self) -> bool:
        """Whether failures of a safe option that is declared perfect may be as many as the target allows, 99% sure."""
        perfect = self.promise.safe_success == ONE_SUCCESS
        return perfect and self.safe_failures > 0 and self.safe_failure_at_most > 1.0 - self.target

    def bounds_after(self, outcomes: Iterable[int]) -> list[tuple[float, float]]:
        """`debt_at_most` and `ahead_at_most` after each of these numbers of outcomes; other counts are the present ones."""
        return [_bounds_of(at_outcomes(self.account, number)) for number in outcomes]

    def window(self, length: int) -> float:
        """The most failures beyond the allowed ones that any window of so many outcomes can hold."""
        return window_bound(self.account, positive_int("length", length)) / ONE_SUCCESS

    def everyone(self) -> tuple[float, float] | None:
        """About 95% sure: the success rate of all decisions, audited or not.

        None if every decision was audited, or none has an outcome. Assumes that a coin chose the audited ones before asking.
        """
        if self.rate is None or not self.unaudited:
            return None
        sample = self.outcomes * (
            1.0 + self.outcomes / self.unaudited
        )  # outcomes/(1 − share audited): a finite population
        z2 = 1.96**2
        middle = (self.rate + z2 / (2 * sample)) / (1 + z2 / sample)
        half = math.sqrt(z2 * (self.rate * (1 - self.rate) / sample + z2 / (4 * sample * sample))) / (1 + z2 / sample)
        return max(0.0, middle - half), min(1.0, middle + half)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        from suffice.promise.wording import as_html

        return as_html(self.status, self._lines())

    def _lines(self) -> list[str]:
        if not self.consistent:
            return [
                f"BUG: the debt may be {number(exposure(self.account))}, above {number(debt_ceiling(self.account))}, which no "
                "behaviour of the options can explain.",
                "Please report it with the saved state; until then play the safe option.",
            ]
        return [self._position(), self._limits(), *self._windows(), *self._bookkeeping(), *self._evidence()]

    def _position(self) -> str:
        """The rate against the target."""
        if self.rate is None:
            rates = f"no outcome has been reported yet (target {percent(self.target)})"
        else:
            of = count(self.outcomes, "audited outcome" if self.unaudited else "outcome")
            rates = f"{percent(self.rate)} of {of} succeeded (target {percent(self.target)})"
        status, limit = self.status, f"limit {self.debt_at_most:.4g}"
        if status == "infeasible":
            return f"OUT OF REACH: {rates}, and the safe option itself fails too often for this target."
        if status == "broken":
            return (
                f"BROKEN: {self.debt:.4g} behind ({limit}); {rates}. The safe option failed more often than declared."
            )
        if status == "unproven":
            return f"UNPROVEN: perhaps {self.owed_at_most:.4g} behind ({limit}); {rates}, and {self._silent()}."
        if status == "within":
            return f"At most {self.owed_at_most:.4g} behind ({limit}): {rates}."
        return f"{rates[0].upper()}{rates[1:]}." if self.rate is None else f"Kept: {rates}."

    def _silent(self) -> str:
        """How many decisions have no outcome."""
        waiting = self.pending + self.safe_lost
        if waiting == 1:
            return "1 decision has no outcome. Report it"
        return f"{waiting:,} decisions have no outcome. Report them all"

    def _limits(self) -> str:
        """The most that can ever be owed, and the surplus now."""
        sure = "" if self.promise.safe_success == ONE_SUCCESS else f" ({percent(CONFIDENCE)} sure)"
        ahead = "" if math.isinf(self.ahead_at_most) else f", nor ahead by more than {self.ahead_at_most:.4g}"
        where = "level" if self.debt == 0 else f"{abs(self.debt):.4g} {'behind' if self.debt > 0 else 'ahead'}"
        return f"{self._never()} behind by more than {self.debt_at_most:.4g}{self._parts()}{sure}{ahead}; now {where}."

    def _never(self) -> str:
        """Where the promise is not shown to hold, its limits are what was promised."""
        return "Never" if self.holds and not self.violations else "Promised: never"

    def _parts(self) -> str:
        """What the limit consists of, where it is more than `max_debt`."""
        account, parts = self.account, []
        late = account.most_outstanding - 1
        most = self.promise.max_debt
        if late > 0 and account.max_debt + account.target * late <= account.max_exposure:
            parts.append(f"what {count(late + 1, 'decision')} outstanding at once can add")
        elif late > 0 and account.in_flight > 0:
            parts.append(f"what in_flight={account.in_flight:,} allows to be outstanding")
        if self.insisted:
            parts.append(f"{count(self.insisted, 'decision')} insisted on")
        if account.uncovered > account.target * self.insisted:
            parts.append("lost plays of the safe option that failed")
        if allowance(account):
            parts.append(f"{number(allowance(account))} for declared failures of the safe option")
        return f" ({number(most)}, and {', and '.join(parts)})" if parts else ""

    def _windows(self) -> list[str]:
        """The worst window as a success rate, and what the audited say about all."""
        lines = []
        if self.outcomes >= WINDOW:
            least = max(0.0, self.target - self.window(WINDOW) / WINDOW)
            lines.append(f"Any {WINDOW} outcomes in a row: at least {percent(least)} succeeded.")
        everyone = self.everyone()
        if everyone is not None:
            lines.append(
                f"All {self.asked + self.unaudited:,} decisions, audited or not: between {percent(everyone[0])} and "
                f"{percent(everyone[1])} succeeded (95% sure, if a coin chose the audited ones)."
            )
        return lines

    def _bookkeeping(self) -> list[str]:
        parts = [
            f"{self.pending:,} outstanding" if self.pending else "",
            f"{self.skipped:,} skipped and counted as failures" if self.skipped else "",
            f"{self.expired:,} expired and counted as failures" if self.expired else "",
            f"{self.amended:,} amended by a late success" if self.amended else "",
            f"{self.forgiven:.4g} surplus success{'' if self.forgiven == 1 else 'es'} forgiven"
            if self.forgiven
            else "",
        ]
        text = ", ".join(part for part in parts if part)
        lines = [text[0].upper() + text[1:] + "."] if text else []
        if self.cancelled:
            would = self.debt + self.target * self.cancelled
            where = f"{would:.4g} would be owed" if would > 0 else "nothing would be owed"
            lines.append(f"{count(self.cancelled, 'decision')} cancelled: had they all failed, {where}.")
        if self.violations:
            lines.append(f"The debt was above the limit on {count(self.violations, 'occasion')}.")
        return lines

    def _evidence(self) -> list[str]:
        lines = []
        if self.safe_lost:
            one = "play of the safe option has no outcome and counts as neither: report it"
            many = "plays of the safe option have no outcome and count as neither: report them"
            lines.append(f"{self.safe_lost:,} {one if self.safe_lost == 1 else many} too, also when a person did it.")
        if self.safe_failures:
            lines.append(
                f"The safe option failed in {self.safe_failures:,} of {count(self.safe_plays, 'play')}: where it was played, "
                f"it fails {percent(self.safe_failure_at_least)} to {percent(self.safe_failure_at_most)} of the time "
                f"({percent(CONFIDENCE)} sure)."
            )
            lines.append(self.advice())
        if self.skip_successes:
            times = "time" if self.skip_successes == 1 else "times"
            lines.append(
                f"The skip option succeeded {self.skip_successes:,.10g} {times}, which it never should: successes may run "
                "further ahead. If it is an option that can succeed, list it as one and leave the skip out of the menu."
            )
        return lines

    def advice(self) -> str:
        """What to do about failures of the safe option, in one sentence."""
        if not self.safe_failures:
            return "The safe option has not failed."
        if not self.feasible:
            return (
                f"What to do: lower the target below {percent(1.0 - self.safe_failure_at_least)}, or give the menu a better "
                "safe option."
            )
        allowed = 1.0 - self.target
        if not self.safe_fails_too_often:
            if self.may_endanger:
                return f"Whether that endangers the target, which allows {percent(allowed)}, is not known yet."
            declared = "" if self.promise.safe_success == ONE_SUCCESS else " and is within what safe_success declares"
            return f"That does not endanger the target, which allows {percent(allowed)}{declared}."
        honest = 1.0 - self.safe_failure_at_most
        if honest <= self.target:
            return (
                f"What to do: find out why it failed. The target allows {percent(allowed)}; whether that can be held is "
                "not known yet."
            )
        digits = max(2, 1 - math.floor(math.log10(self.safe_failure_at_most)))
        return (
            f"The target allows {percent(allowed)}. What to do: find out why it failed; if that is its nature, declare "
            f"safe_success={math.floor(honest * 10**digits) / 10**digits:.{digits}f} or so."
        )


def _bounds_of(account: Account) -> tuple[float, float]:
    """The most successes owed, and the most by which they may run ahead."""
    ahead = surplus_bound(account)
    return debt_bound(account) / ONE_SUCCESS, math.inf if ahead is None else ahead / ONE_SUCCESS


def worst(statuses: Iterable[str]) -> str:
    """The worst of several statuses."""
    return min(statuses, key=STATUSES.index)


def evidence_against(account: Account) -> float:
    """How much the failures of the safe option speak against the target: the log of a wealth that starts at 1 (theory 18).

    If the safe option were good enough on average, the failures that it would have had on everything that was asked, given
    the past, would sum to at most (1 − target)·asked; and so would those on the asks that it got, whichever they were and why.
    Then the mean over bets λ of exp(λ·failures − (e^λ − 1)·(1 − target)·asked) is a supermartingale, which ever reaches 100
    with a probability of at most 1%. Whatever was not played counts as its success, so no selection can mislead it.
    """
    failures = account.safe_shortage / ONE_SUCCESS
    allowed = (ONE_SUCCESS - account.target) / ONE_SUCCESS * asked(account)
    logs = [bet * failures - math.expm1(bet) * allowed for bet in BETS]
    top = max(logs)
    return top + math.log(sum(math.exp(log - top) for log in logs) / len(logs))


def failure_rate(account: Account) -> tuple[float, float]:
    """Bounds on the safe option's failure rate that hold at all times at once: the KL mixture, not Clopper–Pearson."""
    plays = account.safe_plays
    if plays == 0:
        return 0.0, 1.0
    rate = account.safe_shortage / ONE_SUCCESS / plays
    level = math.log((plays + 1) / (1.0 - CONFIDENCE)) / plays
    return max(0.0, kl_lower(rate, level)), kl_upper(rate, level)


def number(units: int) -> str:
    """Billionths as a number of successes with four digits."""
    return f"{units / ONE_SUCCESS:.4g}"
