"""The certificate of several groups together: each promise is kept, so their sum is kept."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from suffice.promise.certificate import Certificate, failure_rate, worst
from suffice.promise.record import MAX, SUM, Account, merge_of
from suffice.promise.wording import count, percent

LISTED: Final = 3  # the most groups that a sentence names
WRONG: Final = {"infeasible": "OUT OF REACH", "broken": "BROKEN", "unproven": "UNPROVEN"}  # by status
# Fields that are never summed over servers, and are summed over groups: the bound of all is the sum of their bounds.
OWN_ADDED: Final = ("max_debt", "max_surplus", "forgiven", "shortfall", "worst_shortfall")
ADDED: Final = (*OWN_ADDED, *(name for name, merge in merge_of.items() if merge == SUM))
SUMMED: Final = (
    "asked", "outcomes", "successes", "debt", "owed_at_most", "debt_at_most", "ahead_at_most", "pending", "forgiven",
    "skipped", "cancelled", "expired", "amended", "unaudited", "insisted", "uncovered", "safe_plays", "safe_failures",
    "safe_lost", "skip_successes", "violations",
)  # fmt: skip
LARGEST: Final = tuple(name for name, merge in merge_of.items() if merge == MAX and name not in OWN_ADDED)


@dataclass(frozen=True, slots=True)
class GroupCertificate(Certificate):
    """The certificate of all groups: every number is the sum over groups, and it `holds` if it holds for each.

    A window of all outcomes consists of one window per group, so its bound is the sum of theirs. `groups` has the
    certificates of the groups.
    """

    groups: Mapping[str, Certificate] = field(default_factory=dict, repr=False)

    @property
    def status(self) -> str:
        """The worst of any group."""
        return worst(part.judged(len(self.groups)) for part in self.groups.values())

    def bounds_after(self, outcomes: Iterable[int]) -> list[tuple[float, float]]:
        """The present bounds, which are no tighter than earlier ones: the outcomes per group at earlier times are unknown."""
        return [(self.debt_at_most, self.ahead_at_most) for _ in outcomes]

    def window(self, length: int) -> float:
        """The most failures beyond the allowed ones that any window of so many outcomes can hold, of all groups."""
        return min(self.target * length, sum(part.window(length) for part in self.groups.values()))

    def _position(self) -> str:
        sentence = super(GroupCertificate, self)._position()
        if self.rate is None:
            return sentence
        status = self.status  # of the worst group: the surplus of others does not count for it
        rates = f"{percent(self.rate)} of {count(self.outcomes, 'outcome')} succeeded (target {percent(self.target)})"
        if status in WRONG:
            names = [name for name, part in self.groups.items() if part.judged(len(self.groups)) == status]
            listed = ", ".join(repr(name) for name in names[:LISTED]) + (", ..." if len(names) > LISTED else "")
            return (
                f"{WRONG[status]} in {len(names):,} of {count(len(self.groups), 'group')} ({listed}); in all {rates}. Ask for "
                "the certificate of such a group."
            )
        if len(self.groups) == 1:
            return sentence
        if status == "within":
            most = max(part.owed_at_most for part in self.groups.values())
            return f"At most {most:.4g} behind in any of {len(self.groups):,} groups: in all {rates}."
        return f"Kept in each of {len(self.groups):,} groups: in all {rates}."

    def _limits(self) -> str:
        furthest = max(self.groups, key=lambda name: self.groups[name].debt)
        part = self.groups[furthest]
        where = "level" if part.debt == 0 else f"{abs(part.debt):.4g} {'behind' if part.debt > 0 else 'ahead'}"
        most = max(group.debt_at_most for group in self.groups.values())
        return (
            f"{self._never()} behind by more than {most:.4g} in any group, nor by more than {self.debt_at_most:.4g} in all; "
            f"the group furthest behind is {_title(furthest)}, now {where}."
        )

    def advice(self) -> str:
        """What to do about the group whose safe option is worst: no group has the failure rate of all together."""
        wrong = {name: part for name, part in self.groups.items() if part.safe_fails_too_often or not part.feasible}
        if len(self.groups) == 1:
            return super(GroupCertificate, self).advice()
        if not wrong and any(part.may_endanger for part in self.groups.values()):
            return "Whether that endangers the target of a group is not known yet."
        if not wrong:
            return "That does not endanger the target in any group."
        name = max(wrong, key=lambda name: (not wrong[name].feasible, wrong[name].safe_failure_at_least))
        return f"The group where it is worst is {_title(name)}. {wrong[name].advice()}"


def _title(name: str) -> str:
    return repr(name) if name else "that of decisions without a group"


def combine(own: Certificate, parts: Mapping[str, Certificate]) -> GroupCertificate:
    """The certificate of all groups and of the decisions without a group, if there are any; all with one menu and target."""
    groups = {"": own, **parts} if own.asked or own.unaudited else dict(parts)
    first, *others = certificates = list(groups.values())
    account = add_counts(replace(first.account), [part.account for part in others], ADDED, LARGEST)
    least, most = failure_rate(account)
    summed = {name: sum(getattr(part, name) for part in certificates) for name in SUMMED}
    return GroupCertificate(
        target=first.target,
        rate=summed["successes"] / summed["outcomes"] if summed["outcomes"] else None,
        safe_failure_at_least=least,
        safe_failure_at_most=most,
        safe_fails_too_often=any(part.safe_fails_too_often for part in certificates),
        evidence=max(part.evidence for part in certificates),
        consistent=all(part.consistent for part in certificates),
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
