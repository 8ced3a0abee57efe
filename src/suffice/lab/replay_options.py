"""Option logs: rates of what was chosen, and the mixes that follow from them."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import numpy as np

from suffice.errors import InvalidArgument
from suffice.kernels.rows import Floats, Ints
from suffice.lab.replay_files import Decisions
from suffice.lab.replay_records import ALWAYS, PAST, UNKNOWN, Answer, OptionRates, Replay, best_mix, sure
from suffice.lab.verdict import Estimate

CONFOUNDED: Final = (
    "If options were chosen after a look at the request, hard requests may have gone to some options more than to others, and "
    "their rates are confounded: nothing in such a log can tell."
)


def replay_options(log: Decisions, goal: Fraction) -> Replay:
    """What would have held the target, if the rates of the chosen options hold for all requests."""
    if log.chosen is None:
        raise InvalidArgument("log must say which option each row chose")
    success, cost = log.columns["success"], log.columns.get("cost")
    rows = _rates(log.options, log.chosen, success, cost)
    notes = []
    if cost is None:
        notes.append("There is no column cost, so which is cheapest is not known: the answers name the best rates.")
    return Replay(
        kind="option",
        target=float(goal),
        rows=log.rows,
        success=float(success.mean()),
        cost=None if cost is None else float(cost.mean()),
        answers=tuple(_answers(rows, float(goal))),
        limits=(
            UNKNOWN,
            CONFOUNDED,
            "An interval is 95% sure for its option, at all times together; costs are plain averages.",
            PAST,
            ALWAYS,
        ),
        options=tuple(rows),
        notes=tuple(notes),
    )


def _sums(chosen: Ints, weights: Floats, count: int) -> Floats:
    return np.bincount(chosen, weights=weights, minlength=count).astype(np.float64)


def _rates(names: tuple[str, ...], chosen: Ints, success: Floats, cost: Floats | None) -> list[OptionRates]:
    plays = np.bincount(chosen, minlength=len(names))
    means = np.minimum(1.0, _sums(chosen, success, len(names)) / plays)
    costs = [None] * len(names) if cost is None else (_sums(chosen, cost, len(names)) / plays).tolist()
    return [
        OptionRates(name, int(count), Estimate(mean, *sure(mean, int(count))), paid)
        for name, count, mean, paid in zip(names, plays, means.tolist(), costs, strict=True)
    ]


def _answers(rows: list[OptionRates], target: float) -> Iterator[Answer]:
    names = [row.option for row in rows]
    paid = None if rows[0].cost is None else np.array([row.cost for row in rows], dtype=np.float64)
    yield best_mix("estimates", names, np.array([row.success.value for row in rows]), paid, target)
    yield best_mix("lower bounds, cautious", names, np.array([row.success.low for row in rows]), paid, target)
