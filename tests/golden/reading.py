"""What comes back from the package, as numbers in a fixed order. All names of its certificates are here.

A part of a moment is a list of numbers, one per row of PARTS. Counts are whole numbers and compared exactly.
"""

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

import suffice

from .records import Moment, Number, Numbers, Run

STATUSES: Final = ("bug", "infeasible", "broken", "unproven", "within", "kept")


def number(value: Any) -> Number:
    """A number for JSON: booleans are 0 and 1, and floats have 12 digits, so that the last bit does not matter."""
    if value is None:
        return None
    if isinstance(value, bool | int | np.integer):
        return int(value)
    value = float(value)
    return str(value) if value != value or abs(value) == float("inf") else float(f"{value:.12g}")


def sum_of(value: Any) -> Number:
    """A sum of successes: a whole number where it is one."""
    return int(value) if value == int(value) else number(value)


def decimal(value: Any) -> Number:
    """A float; JSON of the service writes null where a bound is infinite."""
    return "inf" if value is None else number(float(value))


# --- certificates

# Per number its meaning, in words for people, the field of a certificate that it is read from, and how it is converted.
PARTS: Final[tuple[tuple[str, str, Callable[[Any], Number]], ...]] = (
    ("outcomes", "outcomes", int),
    ("successes", "successes", sum_of),
    ("share of successes", "rate", number),
    ("debt", "debt", decimal),
    ("debt at most", "debt_at_most", decimal),
    ("surplus at most", "ahead_at_most", decimal),
    ("window of 500", "", number),
    ("asked", "asked", int),
    ("outstanding", "pending", int),
    ("owed at most", "owed_at_most", decimal),
    ("evidence against the safe option", "evidence", decimal),
    ("safe option: plays", "safe_plays", int),
    ("safe option: failure rate at least", "safe_failure_at_least", decimal),
    ("safe option: failure rate at most", "safe_failure_at_most", decimal),
    ("status", "status", STATUSES.index),
    ("holds", "holds", int),
    ("consistent", "consistent", int),
    ("cost", "", decimal),
    ("assumption violated", "assumption_violated", int),
    ("forgiven", "forgiven", sum_of),
    ("skipped", "skipped", int),
    ("expired", "expired", int),
    ("amended", "amended", int),
    ("unaudited", "unaudited", int),
    ("safe option: failures", "safe_failures", int),
    ("safe option: lost", "safe_lost", int),
    ("skip option: successes", "skip_successes", sum_of),
    ("outcomes beyond the bound", "violations", int),
    ("safe option: fails too often", "safe_fails_too_often", int),
    ("insisted", "insisted", int),
    ("uncovered", "uncovered", sum_of),
    ("outcomes refused", "", int),
)
NAMES: Final = tuple(name for name, _, _ in PARTS)


def part(field: Callable[[str], Any], cost: float, refused: int = 0, window: float = 0) -> Numbers:
    """The numbers of a certificate, read by the names of its fields; what was spent; how many outcomes were refused."""
    others = {"cost": cost, "outcomes refused": refused, "window of 500": window}
    return [convert(field(source) if source else others[name]) for name, source, convert in PARTS]


def part_of(certificate: Any, cost: float, refused: int = 0) -> Numbers:
    """The same of a certificate in this process."""
    return part(lambda name: getattr(certificate, name), cost, refused, float(certificate.window(500)))


def moment(selector: Any, refused: int) -> Moment:
    """The certificates of a selector and of each of its groups."""
    groups: Mapping[str, Any] = getattr(selector, "groups", {})
    parts = [part_of(selector.certificate(name), group.cost) for name, group in groups.items()]
    return Moment((part_of(selector.certificate(), selector.cost, refused), *parts))


# --- simulations


def sums(outcomes: int, successes: float, cost: float, debt: float) -> Numbers:
    """A part of a moment inside a run, where there is no certificate."""
    known = {"outcomes": outcomes, "successes": sum_of(successes), "cost": number(cost), "debt": number(debt)}
    return [known.get(name, 0) for name in NAMES]


def simulated(trace: Any) -> Run:
    """Arms, prices and moments of a run."""
    successes, costs, steps = np.cumsum(trace.successes), np.cumsum(trace.costs), len(trace.arms)
    moments = [
        Moment((sums(done, float(successes[done - 1]), float(costs[done - 1]), float(trace.debts[done - 1])),))
        for done in (steps // 3, 2 * steps // 3, steps)
    ]
    moments.append(Moment((part_of(trace.method.certificate(), trace.method.cost),)))
    return Run(trace.arms.tolist(), trace.prices.tolist(), moments)


def summarized(summary: Any) -> Run:
    """Plays of each arm in the place of arms; and moments, the worst window and the largest debt in the last but one."""
    moments = [Moment((sums(m.step, m.successes, m.cost, m.largest_debt),)) for m in summary.marks]
    moments.append(Moment((sums(summary.steps, summary.successes, summary.worst_window, summary.largest_debt),)))
    moments.append(Moment((part_of(summary.method.certificate(), summary.method.cost),)))
    return Run(list(summary.plays), [None] * len(summary.plays), moments)


# --- fleets


def fleet_moment(fleet: Any, indices: Iterable[int], cost: float) -> Moment:
    """The outcomes and debts of all, and the certificates of some."""
    debts = fleet.debts
    total = sums(int(fleet.outcomes.sum()), float(np.abs(debts).sum()), cost, float(debts.sum()))
    return Moment((total, *(part_of(fleet.certificate(index), 0.0) for index in indices)))


def fleet_again(fleet: Any) -> Any:
    """A fleet that was saved and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fleet.npz"
        fleet.save(path)
        return suffice.Fleet.load(path)


# --- the service


def served(certificate: Mapping[str, Any], cost: float, refused: int) -> Moment:
    """The certificates of a selector of the service and of each of its groups."""
    groups: Mapping[str, Any] = certificate.get("groups") or {}
    parts = [part(groups[name].__getitem__, 0.0) for name in sorted(groups)]
    return Moment((part(certificate.__getitem__, cost, refused), *parts))
