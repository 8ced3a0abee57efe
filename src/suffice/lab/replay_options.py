"""Option logs: rates of what was chosen, plain and by inverse propensities, and the mixes that follow from them."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from suffice.errors import InvalidArgument
from suffice.lab.replay_files import Decisions
from suffice.lab.replay_records import ALWAYS, DOUBT, PAST, UNKNOWN, Choice, Floats, Replay, named_answer, sure
from suffice.lab.verdict import Estimate


def options(log: Decisions, goal: Fraction) -> Replay:
    if log.chosen is None:
        raise InvalidArgument("log must say which option each row chose")
    success, cost, propensity = (log.columns.get(name) for name in ("success", "cost", "propensity"))
    if success is None:
        raise InvalidArgument("log must say whether each row succeeded")
    count = len(log.options)

    def sums(weights: Floats | None) -> Floats:
        return np.bincount(log.chosen, weights=weights, minlength=count).astype(np.float64)  # type: ignore[arg-type]

    plays, worked = sums(None), sums(success)
    means = None if cost is None else sums(cost) / plays
    rates = [_interval(min(1.0, float(worked[arm] / plays[arm])), int(plays[arm])) for arm in range(count)]
    target, names = float(goal), list(log.options)
    weighted: list[Estimate] | None = None
    weighted_costs: Floats | None = None
    notes: list[str] = []
    if propensity is not None:
        weighted, misfits = _weighted(log.chosen, success, propensity, count)
        notes += [
            f"The propensities of {names[arm]!r} do not fit how often it was chosen: do not trust its weighted numbers."
            for arm in misfits[:5]
        ]
        weighted_costs = None if cost is None else sums(cost / propensity) / sums(1.0 / propensity)
    if cost is None:
        notes.append("There is no column cost, so which is cheapest is not known: the answers name the best rates.")
    answers = [
        named_answer(by, names, np.array([getattr(one, end) for one in found]), paid, target)
        for found, paid, kind in ((rates, means, ""), (weighted, weighted_costs, "weighted "))
        if found is not None
        for by, end in ((f"{kind}estimates", "value"), (f"{kind}lower bounds, cautious", "low"))
    ]
    return Replay(
        kind="option",
        target=target,
        rows=log.rows,
        success=float(success.mean()),
        cost=None if cost is None else float(cost.mean()),
        answers=tuple(answers),
        limits=_option_limits(propensity is not None),
        choices=tuple(
            Choice(
                names[arm],
                int(plays[arm]),
                rates[arm],
                None if means is None else float(means[arm]),
                None if weighted is None else weighted[arm],
                None if weighted_costs is None else float(weighted_costs[arm]),
            )
            for arm in range(count)
        ),
        notes=tuple(notes),
    )


def _option_limits(weighted: bool) -> tuple[str, ...]:
    looked = (
        "If options were chosen by somebody who looked at the request, hard requests may have gone to some options more "
        "than to others, and their rates are confounded: "
    )
    return (
        UNKNOWN,
        looked + "the weighted numbers correct that if the propensities are those with which a coin really decided."
        if weighted
        else looked
        + "a column propensity, the probability with which a coin chose this option for this request, would help.",
        "An interval is 95% sure for its option, at all times together; costs are plain averages.",
        PAST,
        ALWAYS,
    )


def _interval(mean: float, count: int) -> Estimate:
    return Estimate(mean, *sure(mean, count))


def _weighted(
    chosen: NDArray[np.int64], success: Floats, propensity: Floats, count: int
) -> tuple[list[Estimate], list[int]]:
    """Rates by inverse propensity, and the options whose propensities do not add up.

    With q the least propensity of an option, q/propensity where it was chosen and succeeded, 0 elsewhere, lies in [0, 1] and
    has mean q·rate: the KL mixture bounds that, and so the rate. Failures bound it from above. The estimate itself is
    normalised by the weights, which is steadier.
    """
    rows = chosen.size
    least = np.ones(count)
    np.minimum.at(least, chosen, propensity)
    good = np.bincount(chosen, weights=success / propensity, minlength=count)
    bad = np.bincount(chosen, weights=(1.0 - success) / propensity, minlength=count)
    estimates, misfits = [], []
    for arm in range(count):
        q, value = float(least[arm]), float(good[arm] / (good[arm] + bad[arm]))
        works, fails = (sure(min(1.0, q * float(part[arm]) / rows), rows, DOUBT / 2)[0] / q for part in (good, bad))
        estimates.append(Estimate(value, min(value, works), max(value, 1.0 - min(1.0, fails))))
        ends = sure(min(1.0, q * float(good[arm] + bad[arm]) / rows), rows, 0.01)
        if not ends[0] <= q <= ends[1]:
            misfits.append(arm)
    return estimates, misfits
