"""The certificate of several groups together: each keeps its promise, and so their sum is kept, too."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from suffice.promise.account import MAX, SUM, Account, merge_of
from suffice.promise.certificate import Certificate, failure_rate, percent, worst

LISTED: Final = 3  # groups that are named where something is wrong
WRONG: Final = {"infeasible": "TARGET OUT OF REACH", "breach": "BROKEN", "unknown": "NOT KNOWN"}  # by status
# What one account keeps for itself and still has a sum over groups: the bound of all is the sum of their bounds.
OWN_ADDED: Final = ("max_debt", "max_surplus", "forgiven", "shortfall", "worst_shortfall")
ADDED: Final = (*OWN_ADDED, *(name for name, how in merge_of.items() if how == SUM))
LARGEST: Final = tuple(name for name, how in merge_of.items() if how == MAX and name not in OWN_ADDED)


@dataclass(frozen=True, slots=True)
class GroupCertificate(Certificate):
    """What holds of all groups: every number is the sum over them, and it `holds` if it holds of each.

    A window of all outcomes is made of one window per group, so what is said of one is their sum. The certificates of the
    groups are in `groups`.
    """

    groups: Mapping[str, Certificate] = field(default_factory=dict, repr=False)

    @property
    def status(self) -> str:
        """The worst of any group."""
        return worst(self.groups.values())

    def bounds_after(self, tolds: Iterable[int]) -> list[tuple[float, float]]:
        """The bounds of now, which are no tighter than any before: how outcomes fell on groups then is not known."""
        return [(self.debt_at_most, self.ahead_at_most) for _ in tolds]

    def window(self, length: int) -> float:
        """The most failures beyond the allowed ones that any window of so many outcomes can hold, of all groups."""
        return min(self.target * length, sum(part.window(length) for part in self.groups.values()))

    def _standing(self) -> str:
        said = super(GroupCertificate, self)._standing()
        if self.rate is None:
            return said
        status = self.status  # of a group: what others have banked says nothing of it
        if status in WRONG:
            names = [name for name, part in self.groups.items() if part.status == status]
            listed = ", ".join(repr(name) for name in names[:LISTED]) + (", ..." if len(names) > LISTED else "")
            return (
                f"{WRONG[status]} in {len(names):,} of {len(self.groups):,} groups ({listed}): {percent(self.rate)} of "
                f"{self.outcomes:,} succeeded (target {percent(self.target)}). Ask for the certificate of such a group."
            )
        if self.breaches or len(self.groups) == 1:
            return said
        return f"{said.rstrip('.')}, in each of {len(self.groups):,} groups."

    def _bounds(self) -> list[str]:
        furthest = max(self.groups, key=lambda name: self.groups[name].debt)
        part = self.groups[furthest]
        where = "level" if part.debt == 0 else f"{abs(part.debt):.4g} {'behind' if part.debt > 0 else 'ahead'}"
        most = max(one.debt_at_most for one in self.groups.values())
        called = _called(furthest)
        never = "Promised: never" if self.breaches else "Never"
        return [
            f"{never} behind by more than {most:.4g} in any group, nor by more than {self.debt_at_most:.4g} in all; the group "
            f"furthest behind is {called}, now {where}."
        ]

    def _advice(self) -> str:
        """What to do about the group whose safe option is worst: the rate of all together is no group's."""
        wrong = {name: part for name, part in self.groups.items() if part._failed or not part.feasible}
        if not wrong:
            return "That is within what safe_success declares, in each group."
        if len(self.groups) == 1:
            return super(GroupCertificate, self)._advice()
        name = max(wrong, key=lambda name: (not wrong[name].feasible, wrong[name].safe_failure_at_least))
        return f"The group where it is worst is {_called(name)}. {wrong[name]._advice()}"


def _called(name: str) -> str:
    return repr(name) if name else "that of decisions without a group"


def combine(own: Certificate, parts: Mapping[str, Certificate]) -> GroupCertificate:
    """The certificate of all groups and, if there were any, of the decisions without one: of one menu and one target."""
    groups = {"": own, **parts} if own.outcomes or own.pending or own.unaudited else dict(parts)
    some = list(groups.values())
    account = add_counts(replace(some[0].account), [part.account for part in some[1:]], ADDED, LARGEST)
    least, most = failure_rate(account)
    first = some[0]
    summed = {
        name: sum(getattr(part, name) for part in some)
        for name in (
            "outcomes", "successes", "debt", "debt_at_most", "ahead_at_most", "pending", "forgiven", "expired", "amended",
            "unaudited", "safe_plays", "safe_failures", "safe_lost", "skip_successes", "breaches",
        )
    }  # fmt: skip
    return GroupCertificate(
        target=first.target,
        rate=summed["successes"] / summed["outcomes"] if summed["outcomes"] else None,
        safe_failure_at_least=least,
        safe_failure_at_most=most,
        holds=all(part.holds for part in some),
        breach=any(part.breach for part in some),
        feasible=all(part.feasible for part in some),
        consistent=all(part.consistent for part in some),
        promise=first.promise,
        account=account,
        groups=groups,
        **summed,
    )


def add_counts(whole: Account, parts: Iterable[Account], added: Iterable[str], largest: Iterable[str]) -> Account:
    """Add the counts of several accounts to those of one: sums of some fields, the largest of others."""
    for part in parts:
        for name in added:
            setattr(whole, name, getattr(whole, name) + getattr(part, name))
        for name in largest:
            setattr(whole, name, max(getattr(whole, name), getattr(part, name)))
    return whole
