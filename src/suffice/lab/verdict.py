"""Verdicts: what a claim says, the number that was measured for it, and whether the two agree."""

import math
from dataclasses import dataclass
from typing import Final

REPRODUCED: Final = "reproduced"
NOT_REPRODUCED: Final = "not reproduced"
OURS: Final = "suffice's own promise"  # the source of what the paper does not claim
TINY: Final = 1e-9  # as a limit: more, or less, than 0


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95% interval; both ends equal the number where it is exact."""

    value: float
    low: float
    high: float

    @staticmethod
    def exact(value: float) -> "Estimate":
        return Estimate(float(value), float(value), float(value))


@dataclass(frozen=True, slots=True)
class Verdict:
    """One claim of the paper and what became of it."""

    claim: str  # a short name, unique in the experiment
    source: str  # where the paper says so
    says: str  # what it says
    measured: str  # what the number is
    value: float
    low: float
    high: float
    wanted: str  # what it must be
    status: str


def judge(claim: str, source: str, says: str, measured: str, estimate: Estimate, *, at_most: float | None = None,
          at_least: float | None = None, reached: int | None = None) -> Verdict:  # fmt: skip
    """A verdict by the interval: it must lie wholly on the right side of the limit.

    `reached` is the horizon of a claim about the long run: the verdict is then "not reached by T=..." instead of "not
    reproduced".
    """
    good = math.isfinite(estimate.value)
    wanted = []
    if at_most is not None:
        good = good and estimate.high <= at_most
        wanted.append("less than 0" if at_most == -TINY else f"at most {at_most:.4g}")
    if at_least is not None:
        good = good and estimate.low >= at_least
        wanted.append("more than 0" if at_least == TINY else f"at least {at_least:.4g}")
    bad = NOT_REPRODUCED if reached is None else f"not reached by T={power(reached)}"
    return Verdict(
        claim, source, says, measured, estimate.value, estimate.low, estimate.high, " and ".join(wanted),
        REPRODUCED if good else bad,
    )  # fmt: skip


def power(horizon: int) -> str:
    """A horizon as a power of ten where it is one.

    >>> power(100000), power(2000), power(31623)
    ('10^5', '2,000', '31,623')
    """
    exponent = round(math.log10(horizon))
    return f"10^{exponent}" if horizon == 10**exponent and exponent > 3 else f"{horizon:,}"
