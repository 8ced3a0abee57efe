"""The certificate: what is promised, whether it holds, and if not, which assumption broke and what to do."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from suffice.numbers import ONE_SUCCESS, as_number, positive_int
from suffice.promise.account import (
    CONFIDENCE,
    Account,
    at_outcomes,
    debt,
    debt_bound,
    debt_ceiling,
    grow,
    surplus_bound,
    totals,
    window_bound,
)
from suffice.promise.divergence import kl_lower, kl_upper
from suffice.promise.rules import Promise

STATUSES: Final = ("bug", "infeasible", "breach", "unknown", "warned", "kept", "waiting")  # the worst first


@dataclass(frozen=True, slots=True)
class Certificate:
    """The state of a promise. Print it to read it.

    `holds`: the debt is within `debt_at_most`. `breach`: an assumption about the safe or the skip option failed, whether or
    not that did harm. `feasible` is False once the safe option fails, with 99% confidence, more often than the target
    allows. `consistent` is False only if suffice itself is wrong.
    """

    target: float
    outcomes: int
    successes: float
    rate: float | None
    debt: float
    debt_at_most: float
    ahead_at_most: float
    pending: int
    forgiven: float
    expired: int
    amended: int
    unaudited: int
    safe_plays: int
    safe_failures: int
    safe_lost: int
    safe_failure_at_least: float  # its failure rate, 99% sure at all times together
    safe_failure_at_most: float
    skip_successes: float
    breaches: int  # outcomes after which the debt was above its bound
    holds: bool
    breach: bool
    feasible: bool
    consistent: bool
    promise: Promise = field(repr=False)
    account: Account = field(repr=False)

    @staticmethod
    def make(promise: Promise, account: Account, pending: int) -> "Certificate":
        """The certificate of this account, which is copied."""
        account = replace(account)
        grow(account)
        least, most = failure_rate(account)
        owed, (behind, ahead) = debt(account), _bounds_of(account)
        holds = owed <= debt_bound(account)
        failing = _fails_too_often(promise, account.safe_failures, least, holds)
        _, successes, forgiven = totals(account)
        return Certificate(
            target=promise.rate,
            outcomes=account.outcomes,
            successes=as_number(successes),
            rate=successes / ONE_SUCCESS / account.outcomes if account.outcomes else None,
            debt=owed / ONE_SUCCESS,
            debt_at_most=behind,
            ahead_at_most=ahead,
            pending=pending,
            forgiven=forgiven / ONE_SUCCESS,
            expired=account.expired,
            amended=account.amended,
            unaudited=account.unaudited,
            safe_plays=account.safe_plays,
            safe_failures=account.safe_failures,
            safe_lost=account.safe_lost,
            safe_failure_at_least=least,
            safe_failure_at_most=most,
            skip_successes=account.skip_successes / ONE_SUCCESS,
            breaches=account.violations,
            holds=holds,
            breach=failing or account.skip_successes > 0,
            feasible=least <= (ONE_SUCCESS - promise.target) / ONE_SUCCESS,
            consistent=owed <= debt_ceiling(account),
            promise=promise,
            account=account,
        )

    @property
    def status(self) -> str:
        """In one word: kept; warned (kept, but an assumption failed); unknown (kept if plays of the safe option without an
        outcome succeeded); breach (behind by more than promised); infeasible (no choice reaches the target); waiting (no
        outcome yet); or bug."""
        if not self.consistent:
            return "bug"
        if not self.outcomes:
            return "waiting"
        if not self.feasible:
            return "infeasible"
        if not self.holds:
            return "breach"
        if self._unknown:
            return "unknown"
        return "warned" if self.breach or self.breaches else "kept"

    @property
    def verdict(self) -> str:
        """The first sentence of the printed certificate."""
        return self._lines()[0]

    @property
    def safe_fails_too_often(self) -> bool:
        """Whether the safe option fails more often than `safe_success` declares."""
        return _fails_too_often(self.promise, self.safe_failures, self.safe_failure_at_least, self.holds)

    @property
    def _unknown(self) -> bool:
        """Whether it holds only if the plays of the safe option without an outcome succeeded."""
        bound = (
            debt_bound(self.account) - ONE_SUCCESS * self.safe_lost
        )  # whole numbers: a debt at the bound is within it
        return self.holds and self.safe_lost > 0 and debt(self.account) > bound

    def bounds_after(self, outcomes: Iterable[int]) -> list[tuple[float, float]]:
        """`debt_at_most` and `ahead_at_most` after each of these numbers of outcomes; all other counts are the present ones.

        They held then, unless more plays of the safe option were lost then than are now: add those to `debt_at_most`.
        """
        return [_bounds_of(at_outcomes(self.account, count)) for count in outcomes]

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

    def _lines(self) -> list[str]:
        if not self.consistent:
            return [
                f"BUG: the debt is {self.debt:.4g}, above {debt_ceiling(self.account) / ONE_SUCCESS:.4g}, which no behaviour "
                "of the options can explain.",
                "Please report it with the saved state; until then play the safe option.",
            ]
        return [self._position(), *self._bounds(), *self._bookkeeping(), *self._evidence()]

    def _position(self) -> str:
        if self.rate is None:
            return f"Nothing told yet (target {percent(self.target)})."
        rates = f"{percent(self.rate)} of {self.outcomes:,} succeeded (target {percent(self.target)})"
        if not self.feasible:
            return f"TARGET OUT OF REACH: {rates}, and the safe option itself fails too often for it."
        if self._unknown:
            return (
                f"NOT KNOWN: {rates}, counting as failures {self.safe_lost:,} plays of the safe option whose outcome was "
                "never told; the promise holds if they succeeded. Look after the feedback."
            )
        if not self.holds:
            return f"BROKEN: {rates}; behind by {self.debt:.4g}, where {self.debt_at_most:.4g} was promised at most."
        if self.breaches:
            return f"Kept now: {rates}; it was behind by more than promised after {self.breaches:,} outcomes."
        return f"Kept: {rates}."

    def _bounds(self) -> list[str]:
        where = "level" if self.debt == 0 else f"{abs(self.debt):.4g} {'behind' if self.debt > 0 else 'ahead'}"
        sure = "" if self.promise.safe_success == ONE_SUCCESS else f" ({percent(CONFIDENCE)} sure)"
        limit = "" if math.isinf(self.ahead_at_most) else f", never ahead by more than {self.ahead_at_most:.4g}"
        never = "Promised: never" if self.breaches else "Never"
        lines = [f"{never} behind by more than {self.debt_at_most:.4g}{sure}{limit}; now {where}."]
        length = 500
        if self.outcomes >= length:
            allowed = (1.0 - self.target) * length
            lines.append(
                f"No {length} outcomes in a row so far can hold more than {min(length, allowed + self.window(length)):.4g} "
                f"failures ({allowed:.4g} allowed)."
            )
        everyone = self.everyone()
        if everyone is not None:
            lines.append(
                f"All {self.outcomes + self.unaudited:,} decisions, audited or not: between {percent(everyone[0])} and "
                f"{percent(everyone[1])} succeeded (95% sure, if a coin chose the audited ones)."
            )
        return lines

    def _bookkeeping(self) -> list[str]:
        parts = [
            f"{self.pending:,} pending" if self.pending else "",
            f"{self.expired:,} expired and counted as failures" if self.expired else "",
            f"{self.amended:,} of those amended by a late success" if self.amended else "",
            f"{self.forgiven:.4g} surplus successes forgiven" if self.forgiven else "",
        ]
        text = ", ".join(part for part in parts if part)
        return [text[0].upper() + text[1:] + "."] if text else []

    def _evidence(self) -> list[str]:
        lines = []
        if self.safe_failures:
            lines.append(
                f"The safe option fell short in {self.safe_failures:,} of {self.safe_plays:,} plays; its failure "
                f"rate is {percent(self.safe_failure_at_least)} to {percent(self.safe_failure_at_most)} "
                f"({percent(CONFIDENCE)} sure)."
            )
            lines.append(self.advice())
        if self.skip_successes:
            lines.append(
                f"The skip option succeeded {self.skip_successes:,.10g} times, which it never should: successes may run "
                "further ahead. If it is an option that can succeed, list it as one and leave the skip out of the menu."
            )
        return lines

    def advice(self) -> str:
        """What to do about failures of the safe option, in one sentence."""
        if not self.feasible:
            return (
                f"What to do: the safe option itself does not reach {percent(self.target)}; lower the target (less than "
                f"{percent(1.0 - self.safe_failure_at_most)} can be met as far as is known, more than "
                f"{percent(1.0 - self.safe_failure_at_least)} cannot), or give the menu a better safe option."
            )
        if not self.safe_fails_too_often:
            return "That is within what safe_success declares."
        honest = 1.0 - self.safe_failure_at_most
        if honest <= self.target:
            return (
                "What to do: find out why the safe option failed; if it goes on at this rate, the target may be out of "
                "reach."
            )
        digits = max(2, 1 - math.floor(math.log10(self.safe_failure_at_most)))
        return (
            "What to do: find out why the safe option failed; if that is its nature, declare safe_success="
            f"{math.floor(honest * 10**digits) / 10**digits:.{digits}f} or so, and expect to pay more."
        )


def _bounds_of(account: Account) -> tuple[float, float]:
    """The most successes owed, and the most by which they may run ahead."""
    ahead = surplus_bound(account)
    return debt_bound(account) / ONE_SUCCESS, math.inf if ahead is None else ahead / ONE_SUCCESS


def _fails_too_often(promise: Promise, failures: int, least: float, holds: bool) -> bool:
    """Where failures are declared, a debt above its 99% bound is as much evidence as the failure rate itself."""
    allowed = (ONE_SUCCESS - promise.safe_success) / ONE_SUCCESS
    return failures > 0 if allowed == 0.0 else least > allowed or not holds


def worst(certificates: Iterable[Certificate]) -> str:
    """The worst status of several certificates."""
    return min((certificate.status for certificate in certificates), key=STATUSES.index)


def failure_rate(account: Account) -> tuple[float, float]:
    """Bounds on the safe option's failure rate that hold at all times at once: the KL mixture, not Clopper–Pearson."""
    plays = account.safe_plays
    if plays == 0:
        return 0.0, 1.0
    rate = account.safe_shortage / ONE_SUCCESS / plays
    level = math.log((plays + 1) / (1.0 - CONFIDENCE)) / plays
    return max(0.0, kl_lower(rate, level)), kl_upper(rate, level)


def percent(share: float) -> str:
    """A share in percent, with enough digits to distinguish it from 0% and from 100%.

    >>> percent(0.9), percent(0.90312), percent(0.99999), percent(0.00002)
    ('90%', '90.3%', '99.999%', '0.002%')
    """
    digits = 1
    while digits < 14 and 0.0 < share < 1.0 and round(100.0 * share, digits) in (0.0, 100.0):
        digits += 1
    return f"{100.0 * share:.{digits}f}".rstrip("0").rstrip(".") + "%"
