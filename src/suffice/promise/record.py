"""The record of one promise: its limits and its counts, in whole numbers.

Standard library only. Successes and targets are counted in billionths of a success (ONE_SUCCESS is one), so that no decision
depends on rounding; everything else here counts decisions. What may be done with it is in `account`.
"""

from dataclasses import dataclass, field, fields
from typing import Final, NamedTuple, Protocol

SKIP: Final = -1
FREE: Final = 0
SAFE: Final = 1

CONFIDENCE: Final = 0.99  # of statements about a safe option that may fail

# A limit that was computed in floating point, such as cap/(5/sqrt(900)), differs in its last bits from the exact number.
# Limits are moved inwards by this factor, so that a debt which equals the exact number is at the limit. Outcomes of 0 and
# 1 move the debt by far more, so no other decision changes.
SNAP: Final = 1.0 - 2.0**-40

UNLIMITED: Final = 1 << 60  # billionths: a limit that no account reaches
CARRIED: Final = 1 << 61  # billionths: from here on a sum is carried over, long before 64 bits are full
SUM, MAX, OWN = "sum", "max", "own"  # how the counts of several servers are merged; see `merge_of`


def _counts(how: str = SUM) -> int:
    return field(default=0, metadata={"merge": how})


@dataclass(slots=True)
class Account:
    """The limits and the counts of one promise. A selector has one account, and one for each group.

    Several servers may each hold counts of one account. Merged, each field is the SUM or the MAX over servers, or the
    OWN value of one server: limits, and the running shortfall of the safe option (a sum of those is an upper bound).
    """

    # Limits, in billionths, except `in_flight`. New decisions have this target.
    target: int = _counts(OWN)
    max_debt: int = _counts(OWN)  # of what was reported
    max_exposure: int = _counts(OWN)  # of what was reported and what is outstanding: max_debt + target·in_flight
    max_surplus: int = _counts(OWN)  # the most successes that may be banked; never lowered
    in_flight: int = _counts(OWN)  # with more decisions outstanding, a surplus that grows must cover them
    surplus_growth: int = _counts(OWN)  # `max_surplus` is the root of the outcomes, times this; 0: constant
    surplus_most: int = _counts(OWN)  # and up to this
    forgives: int = _counts(OWN)  # 1 where the menu has no skip: surplus beyond max_surplus is written off
    allowance: int = _counts(OWN)  # times a logarithm: the debt that declared failures of the safe option may add

    # Sums over outcomes, in billionths of a success.
    owed: int = _counts()  # the targets of all settled decisions
    successes: int = _counts()
    carried: int = _counts()  # how often both sums were lowered by CARRIED, which does not change their difference
    forgiven: int = _counts(MAX)
    forgiven_carried: int = _counts(OWN)  # how often `successes` and `forgiven` were lowered by it: see `fold`

    # Outstanding decisions. Those that a limit forced to be safe plays are pending, and reserve nothing.
    reserved: int = _counts()  # the sum of the targets, in billionths
    expected: int = _counts()  # what all that is pending will add to the debt, as far as is known: for prices only
    outstanding: int = _counts()  # with a reserve
    most_outstanding: int = _counts(MAX)  # at once, the newest decision included
    pending: int = _counts()  # all of them
    most_pending: int = _counts(MAX)

    # Counts.
    outcomes: int = _counts()  # reported, or expired, or skipped
    skipped: int = _counts()
    expired: int = _counts()  # counted as failures because no outcome arrived
    amended: int = _counts()  # a late success corrected the failure that was counted, or the safe play that was lost
    unaudited: int = _counts()  # asked with audit=False: never counted, never outstanding
    cancelled: int = _counts()  # never carried out: they count as neither
    forced: int = _counts()  # safe plays that a limit forced
    forced_by_waiting: int = _counts()  # of those, the ones that what was reported alone would not have forced
    forced_ahead: int = _counts()  # plays of something else where a skip was due: a limit forced them, or the user
    violations: int = _counts()  # outcomes after which the debt was above its bound

    # The safe option and the skip option.
    safe_plays: int = _counts()  # with a reported outcome
    safe_shortage: int = _counts()  # the sum of 1 − success over those plays, in billionths
    safe_failures: int = _counts()  # of those plays, the ones whose success was below their target
    safe_lost: int = _counts()  # expired: neither a success nor a failure until an outcome arrives
    skip_successes: int = _counts()  # in billionths; more than zero violates an assumption
    shortfall: int = _counts(OWN)  # of forced safe plays in their worst recent window, in billionths
    worst_shortfall: int = _counts(OWN)  # the largest that shortfall ever was

    # What the theorem does not cover, in billionths; it is added to every bound.
    uncovered: int = _counts()
    insisted: int = _counts()  # decisions in place of a safe play that was forced and not available


class Played(Protocol):
    """What settling must know of a decision: the kind of option, and what it reserved."""

    @property
    def role(self) -> int: ...
    @property
    def target(self) -> int: ...
    @property
    def expects(self) -> int: ...
    @property
    def exempt(self) -> int: ...


class Reservation(NamedTuple):
    """A decision as far as its account is concerned."""

    role: int  # SAFE, SKIP or FREE
    target: int
    expects: int  # target − the success that is expected of it, in billionths
    exempt: int  # 1 for a safe play that a limit forced: it reserves nothing


FIELDS: Final = tuple(column.name for column in fields(Account))
# What `reserve` changes.
RESERVED: Final = (
    "max_surplus", "reserved", "expected", "outstanding", "most_outstanding", "pending", "most_pending", "forced",
    "forced_by_waiting", "forced_ahead", "uncovered", "insisted",
)  # fmt: skip
merge_of: Final = {column.name: column.metadata["merge"] for column in fields(Account)}
