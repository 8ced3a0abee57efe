"""Option logs: rates of what was chosen, plain and by inverse propensities, and the mixes that follow from them."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import numpy as np

from suffice.errors import InvalidArgument
from suffice.kernels.rows import Floats, Ints
from suffice.lab.replay_files import Decisions
from suffice.lab.replay_records import ALWAYS, DOUBT, PAST, UNKNOWN, Answer, OptionRates, Replay, best_mix, sure
from suffice.lab.verdict import Estimate

CONFOUNDED: Final = (
    "If options were chosen after a look at the request, hard requests may have gone to some options more than to others, and "
    "their rates are confounded: "
)
WEIGHTED: Final = "the weighted numbers correct that if the propensities are the probabilities of a real coin."
NOT_WEIGHTED: Final = (
    "a column propensity, the probability with which a coin chose this option for this request, would help."
)


def replay_options(log: Decisions, goal: Fraction) -> Replay:
    """What would have held the target, if the rates of the chosen options hold for all requests."""
    if log.chosen is None:
        raise InvalidArgument("log must say which option each row chose")
    success, cost, propensity = log.columns["success"], log.columns.get("cost"), log.columns.get("propensity")
    misfits: list[str] = []
    rows = _rates(log.options, log.chosen, success, cost)
    if propensity is not None:
        rows, misfits = _weighted(rows, log.chosen, success, cost, propensity)
    notes = [
        f"The propensities of {name!r} do not fit how often it was chosen: do not trust its weighted numbers."
        for name in misfits[:5]
    ]
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
            CONFOUNDED + (NOT_WEIGHTED if propensity is None else WEIGHTED),
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


def _weighted(
    rows: list[OptionRates], chosen: Ints, success: Floats, cost: Floats | None, propensity: Floats
) -> tuple[list[OptionRates], list[str]]:
    """The rows with rates by inverse propensity, and the options whose propensities do not add up.

    With q the least propensity of an option, q/propensity where it was chosen and succeeded, 0 elsewhere, lies in [0, 1] and
    has mean q·rate: the KL mixture bounds that, and so the rate. Failures bound it from above. The estimate itself is
    normalised by the weights, which makes it steadier.
    """
    count, total = len(rows), chosen.size
    least = np.ones(count)
    np.minimum.at(least, chosen, propensity)
    good, bad = (_sums(chosen, part / propensity, count) for part in (success, 1.0 - success))
    costs = [None] * count
    if cost is not None:
        costs = (_sums(chosen, cost / propensity, count) / _sums(chosen, 1.0 / propensity, count)).tolist()
    weighted, misfits = [], []
    for arm, row in enumerate(rows):
        q, value = float(least[arm]), float(good[arm] / (good[arm] + bad[arm]))
        works, fails = (sure(min(1.0, q * float(part[arm]) / total), total, DOUBT / 2)[0] / q for part in (good, bad))
        estimate = Estimate(value, min(value, works), max(value, 1.0 - min(1.0, fails)))
        weighted.append(OptionRates(row.option, row.chosen, row.success, row.cost, estimate, costs[arm]))
        low, high = sure(min(1.0, q * float(good[arm] + bad[arm]) / total), total, 0.01)
        if not low <= q <= high:
            misfits.append(row.option)
    return weighted, misfits


def _answers(rows: list[OptionRates], target: float) -> Iterator[Answer]:
    names = [row.option for row in rows]
    plain = [(row.success, row.cost) for row in rows]
    weighted = [(row.weighted, row.weighted_cost) for row in rows if row.weighted is not None]
    for kind, part in (("", plain), ("weighted ", weighted)):
        if part:
            paid = np.array([cost for _, cost in part], dtype=np.float64) if part[0][1] is not None else None
            values, lows = (np.array([getattr(rate, end) for rate, _ in part]) for end in ("value", "low"))
            yield best_mix(f"{kind}estimates", names, values, paid, target)
            yield best_mix(f"{kind}lower bounds, cautious", names, lows, paid, target)
