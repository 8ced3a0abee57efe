"""What comes back from the package, as numbers in a fixed order. All names of its decisions and certificates are here.

A part of a moment is the list of numbers that NAMES describes. Counts are whole numbers and compared exactly.
"""

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

import suffice

from .records import Moment, Number, Numbers

# What each number of a part is, in order. These are words for people: nothing is looked up by them.
NAMES: Final = (
    "outcomes",
    "successes",
    "share of successes",
    "owed",
    "owed at most",
    "ahead at most",
    "window of 500",
    "outstanding",
    "everything: plays",
    "everything: failure rate at least",
    "everything: failure rate at most",
    "status",
    "holds",
    "feasible",
    "consistent",
    "cost",
    "assumption seen to fail",
    "forgiven",
    "expired",
    "amended",
    "unaudited",
    "everything: failures",
    "everything: lost",
    "nothing: successes",
    "outcomes behind the bound",
    "told in vain",
)
STATUSES: Final = ("bug", "infeasible", "breach", "unknown", "warned", "kept", "waiting", "archived")


def number(value: Any) -> Number:
    """A number as JSON can say it: truths are 0 and 1, and so many digits are kept that the last bit does not show."""
    if value is None:
        return None
    if isinstance(value, bool | int | np.integer):
        return int(value)
    value = float(value)
    return str(value) if value != value or abs(value) == float("inf") else float(f"{value:.12g}")


def sum_of(value: Any) -> Number:
    """A sum of successes: a whole number where it is one."""
    return int(value) if value == int(value) else number(value)


# --- decisions


def price(decision: Any) -> float:
    """The price of a success when a decision was asked for."""
    return float(decision.price)


def arm(decision: Any) -> int:
    """The number of the option that was chosen."""
    return int(decision.arm)


def key(decision: Any) -> int:
    """The number that stands for a decision."""
    return int(decision.id)


# --- certificates


def part(certificate: Any, cost: float, in_vain: int = 0) -> Numbers:
    """The numbers of a certificate, of what was spent, and of how many outcomes were refused."""
    c = certificate
    return [
        int(c.outcomes),
        sum_of(c.successes),
        number(c.rate),
        number(float(c.debt)),
        number(float(c.debt_at_most)),
        number(float(c.ahead_at_most)),
        number(float(c.window(500))),
        int(c.pending),
        int(c.safe_plays),
        number(c.safe_failure_at_least),
        number(c.safe_failure_at_most),
        STATUSES.index(c.status),
        int(c.holds),
        int(c.feasible),
        int(c.consistent),
        number(float(cost)),
        int(c.breach),
        sum_of(c.forgiven),
        int(c.expired),
        int(c.amended),
        int(c.unaudited),
        int(c.safe_failures),
        int(c.safe_lost),
        sum_of(c.skip_successes),
        int(c.breaches),
        in_vain,
    ]


def moment(selector: Any, in_vain: int) -> Moment:
    """Where a selector stands, and each of its groups."""
    parts = [part(selector.certificate(), selector.cost, in_vain)]
    groups: Mapping[str, Any] = getattr(selector, "groups", {})
    parts += [part(selector.certificate(name), group.cost) for name, group in groups.items()]
    return Moment(tuple(parts))


# --- what is simulated


def sums(outcomes: int, successes: float, cost: float, owed: float) -> Numbers:
    """A part of a moment that nobody certified, inside a run."""
    some: dict[str, Number] = {
        "outcomes": outcomes,
        "successes": sum_of(successes),
        "cost": number(cost),
        "owed": number(owed),
    }
    return [some.get(name, 0) for name in NAMES]


def simulated(trace: Any) -> tuple[list[int], list[float | None], list[Moment]]:
    """Arms, prices and moments of a run."""
    successes, costs, steps = np.cumsum(trace.successes), np.cumsum(trace.costs), len(trace.arms)
    moments = [
        Moment((sums(done, float(successes[done - 1]), float(costs[done - 1]), float(trace.debts[done - 1])),))
        for done in (steps // 3, 2 * steps // 3, steps)
    ]
    moments.append(Moment((part(trace.method.certificate(), trace.method.cost),)))
    return trace.arms.tolist(), trace.prices.tolist(), moments


def summarized(summary: Any) -> tuple[list[int], list[float | None], list[Moment]]:
    """Plays of each arm in the place of arms; and moments, the worst window and the largest debt in the last but one."""
    moments = [Moment((sums(m.step, m.successes, m.cost, m.largest_debt),)) for m in summary.marks]
    moments.append(Moment((sums(summary.steps, summary.successes, summary.worst_window, summary.largest_debt),)))
    moments.append(Moment((part(summary.method.certificate(), summary.method.cost),)))
    return list(summary.plays), [None] * len(summary.plays), moments


# --- fleets


def fleet_prices(fleet: Any) -> list[float]:
    """The price of a success, of each."""
    prices: list[float] = fleet.prices.tolist()
    return prices


def fleet_moment(fleet: Any, ones: Iterable[int], cost: float) -> Moment:
    """What all were told and owe, and the certificates of some."""
    told, owed = fleet.outcomes, fleet.debts
    total = sums(int(told.sum()), float(np.abs(owed).sum()), cost, float(owed.sum()))
    return Moment((total, *(part(fleet.certificate(one), 0.0) for one in ones)))


def fleet_again(fleet: Any) -> Any:
    """A fleet that was saved and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fleet.npz"
        fleet.save(path)
        return suffice.Fleet.load(path)


# --- the service


def answered(decision: Mapping[str, Any]) -> tuple[int | None, int, float | None]:
    """Number, arm and price of a decision of the service."""
    identity, price = decision["decision"], decision["price"]
    return (None if identity is None else int(identity)), int(decision["arm"]), None if price is None else float(price)


def served(certificate: Mapping[str, Any], standing: Mapping[str, Any], in_vain: int) -> Moment:
    """Where a selector of the service stands, and each of its groups."""
    parts = [_served(certificate, standing["cost"], in_vain)]
    groups: Mapping[str, Any] = certificate.get("groups") or {}
    return Moment((*parts, *(_served(groups[name], 0.0, 0) for name in sorted(groups))))


def _served(c: Mapping[str, Any], cost: float, in_vain: int) -> Numbers:
    return [
        int(c["outcomes"]),
        sum_of(c["successes"]),
        number(c["rate"]),
        number(float(c["debt"])),
        _unbounded(c["debt_at_most"]),
        _unbounded(c["ahead_at_most"]),
        0,
        int(c["pending"]),
        int(c["safe_plays"]),
        number(float(c["safe_failure_at_least"])),
        number(float(c["safe_failure_at_most"])),
        STATUSES.index(c["status"]),
        int(c["holds"]),
        int(c["feasible"]),
        int(c["consistent"]),
        number(float(cost)),
        int(c["breach"]),
        sum_of(c["forgiven"]),
        int(c["expired"]),
        int(c["amended"]),
        int(c["unaudited"]),
        int(c["safe_failures"]),
        int(c["safe_lost"]),
        sum_of(c["skip_successes"]),
        int(c["breaches"]),
        in_vain,
    ]


def _unbounded(value: float | None) -> Number:
    """JSON of the service says null where there is no bound."""
    return "inf" if value is None else number(float(value))
