"""Thompson sampling over cell masses: one distribution behind all options, and a sample of it at every decision.

Where options contain one another, each is a union of cells of one partition: the success of an interval is the mass of the
grid points and gaps in it, that of a subset the mass of the patterns in which one of its items is right. So a play of any
option says something of all. With θ the masses and v the cells of an option, its success is v·θ.

θ is fitted from time to time to all outcomes by expectation maximisation, with a pseudo-count PRIOR in each cell. Around the
fit the posterior is taken as normal with precision Σ plays/(p(1−p))·v vᵀ + PRIOR/θ² on the diagonal; a sample is clipped at
0 and made to sum to 1. Played is the arm that would be cheapest at this price if the sample were the truth. Options of no
common order (OWN) each have a success of their own.

No theorem speaks for it; the guard does (docs/choosers.md). The block, at MIDDLE: CELLS, FORM, FIT_AT, SEEN and the state of
the generator; then per cell the fit, the sample, and room to work in; the factor of the precision, row by row; and the cells
of each arm: the first and the one after the last (SPANS), or a 0 or 1 for each (LISTS).
"""

import math
from typing import Any

from suffice.kernels.layout import (
    ARMS,
    COSTS,
    HAS_NOTHING,
    KNOWN,
    LOWER,
    MIDDLE,
    MOST,
    PLAYS,
    PRICED,
    SUCCESSES,
    UPPER,
    cell,
)
from suffice.kernels.random import draw, normals

SPANS, LISTS, OWN = range(3)
CELLS, FORM, FIT_AT, SEEN = range(4)
STATE = 4  # of the generator: WORDS cells
FIRST = 16
PRIOR = 1.0
# A quarter of the samples spread as far as the posterior does, the others less. Less alone is cheaper in most runs and now and
# then never finds out that it is wrong; the quarter finds out.
WIDE, NARROW, OFTEN = 1.0, 0.6, 0.25
GROWTH = 1.03  # how many more outcomes call for a new fit
ROUNDS = 40  # of expectation maximisation, each fit beginning where the last one ended
TINY = 1e-12
SUREST = 1e12  # the precision of one option's success beyond which rounding would outweigh the prior of a cell


def room_of(form: int, cells: int, count: int) -> int:
    """How many cells of memory the block takes."""
    if form == OWN:
        return FIRST + 4 * cells + 1
    return FIRST + 4 * cells + 1 + cells * cells + (2 * count if form == SPANS else cells * count)


def fit_at(arms: Any) -> int:
    """Where the masses lie; behind them the sample, and then room for one number per cell and one more, twice."""
    return int(arms[MIDDLE]) + FIRST


def factor_at(arms: Any) -> int:
    block = int(arms[MIDDLE])
    return block + FIRST + 4 * int(arms[block + CELLS]) + 1


def spans_at(arms: Any) -> int:
    cells = int(arms[int(arms[MIDDLE]) + CELLS])
    return factor_at(arms) + cells * cells


def begin(arms: Any) -> None:
    """All masses alike, to be fitted before the first sample."""
    block, theta = int(arms[MIDDLE]), fit_at(arms)
    cells = int(arms[block + CELLS])
    for c in range(cells):
        arms[theta + c] = 1.0 / cells
    arms[block + FIT_AT] = 0.0
    arms[block + SEEN] = 0.0


def _sums(arms: Any, values: int, out: int, cells: int) -> None:
    """Running sums of one number per cell: cells + 1 of them, beginning with 0."""
    total = 0.0
    arms[out] = 0.0
    for c in range(cells):
        total += arms[values + c]
        arms[out + c + 1] = total


def _mass(arms: Any, values: int, sums: int, arm: int, form: int, cells: int, spans: int) -> float:
    """What the cells of an arm sum to."""
    if form == SPANS:
        return float(arms[sums + int(arms[spans + 2 * arm + 1])] - arms[sums + int(arms[spans + 2 * arm])])
    total = 0.0
    for c in range(cells):
        total += arms[spans + cells * arm + c] * arms[values + c]
    return total


def fit(arms: Any) -> None:
    """Some rounds of expectation maximisation from the last fit on, and the factor of the precision there."""
    block, theta, spans = int(arms[MIDDLE]), fit_at(arms), spans_at(arms)
    cells, form = int(arms[block + CELLS]), int(arms[block + FORM])
    expected, sums = theta + 2 * cells, theta + 3 * cells
    first, last = int(arms[HAS_NOTHING]), int(arms[ARMS]) - 1
    for _ in range(ROUNDS):
        _sums(arms, theta, sums, cells)
        for c in range(cells):
            arms[expected + c] = 0.0
        # Every cell gets what a failure would give it; those inside an arm get what a success gives instead.
        outside = 0.0
        for arm in range(first, last):
            plays = arms[cell(PLAYS, arm)]
            if plays == 0.0:
                continue
            mass = min(max(_mass(arms, theta, sums, arm, form, cells, spans), TINY), 1.0 - TINY)
            successes = arms[cell(SUCCESSES, arm)]
            missed = (plays - successes) / (1.0 - mass)
            outside += missed
            more = successes / mass - missed
            if form == SPANS:
                begins, ends = int(arms[spans + 2 * arm]), int(arms[spans + 2 * arm + 1])
                arms[expected + begins] += more
                if ends < cells:
                    arms[expected + ends] -= more
            else:
                for c in range(cells):
                    arms[expected + c] += more * arms[spans + cells * arm + c]
        total = running = 0.0
        for c in range(cells):
            running = running + arms[expected + c] if form == SPANS else arms[expected + c]
            arms[theta + c] = PRIOR + max(arms[theta + c] * (outside + running), 0.0)
            total += arms[theta + c]
        for c in range(cells):
            arms[theta + c] /= total
    _precision(arms, theta, sums, form, cells, spans)
    _factor(arms, factor_at(arms), cells)


def _precision(arms: Any, theta: int, sums: int, form: int, cells: int, spans: int) -> None:
    """The lower half of Σ weight·v vᵀ + PRIOR/θ²."""
    rows = factor_at(arms)
    _sums(arms, theta, sums, cells)
    for at in range(rows, rows + cells * cells):
        arms[at] = 0.0
    for arm in range(int(arms[HAS_NOTHING]), int(arms[ARMS]) - 1):
        plays = arms[cell(PLAYS, arm)]
        if plays == 0.0:
            continue
        mass = (plays * _mass(arms, theta, sums, arm, form, cells, spans) + 0.5) / (plays + 1.0)
        mass = min(max(mass, TINY), 1.0 - TINY)
        weight = min(plays / (mass * (1.0 - mass)), SUREST)
        if form == SPANS:
            # In the corner of its square only; the sums below carry it to all of the square.
            begins, ends = int(arms[spans + 2 * arm]), int(arms[spans + 2 * arm + 1])
            arms[rows + cells * (ends - 1) + begins] += weight
        else:
            for a in range(cells):
                if arms[spans + cells * arm + a] > 0.0:
                    for b in range(a + 1):
                        arms[rows + cells * a + b] += weight * arms[spans + cells * arm + b]
    if form == SPANS:
        for a in range(cells - 1, -1, -1):
            running = 0.0
            for b in range(a + 1):
                running += arms[rows + cells * a + b]
                above = arms[rows + cells * (a + 1) + b] if a + 1 < cells else 0.0
                arms[rows + cells * a + b] = running + above
    for c in range(cells):
        arms[rows + cells * c + c] += PRIOR / (arms[theta + c] * arms[theta + c])


def _factor(arms: Any, rows: int, cells: int) -> None:
    """Cholesky's factor in place of the lower half of a matrix."""
    for a in range(cells):
        row = rows + cells * a
        for b in range(a + 1):
            other = rows + cells * b
            total = arms[row + b]
            for c in range(b):
                total -= arms[row + c] * arms[other + c]
            if a == b:
                arms[row + a] = math.sqrt(max(total, PRIOR))  # less than the prior's is rounding
            else:
                arms[row + b] = total / arms[other + b]


def sample(arms: Any) -> None:
    """A sample of the masses: the fit plus normal noise of the inverse precision, clipped at 0 and made to sum to 1."""
    block, theta, rows = int(arms[MIDDLE]), fit_at(arms), factor_at(arms)
    cells = int(arms[block + CELLS])
    drawn = theta + cells
    spread = WIDE if draw(arms, block + STATE) < OFTEN else NARROW
    normals(arms, block + STATE, drawn, cells)
    for a in range(cells - 1, -1, -1):
        row = rows + cells * a
        value = arms[drawn + a] / arms[row + a]
        arms[drawn + a] = value
        for b in range(a):
            arms[drawn + b] -= arms[row + b] * value
    total = 0.0
    for c in range(cells):
        arms[drawn + c] = max(arms[theta + c] + spread * arms[drawn + c], 0.0)
        total += arms[drawn + c]
    for c in range(cells):
        arms[drawn + c] = arms[drawn + c] / total if total > 0.0 else arms[theta + c]


def thompson(arms: Any, price: float, allowed: Any) -> int:
    """The arm that is cheapest at this price in a fresh sample; of those `allowed`, if that says of each whether it is."""
    block = int(arms[MIDDLE])
    form = int(arms[block + FORM])
    if form == OWN:
        return _own(arms, price, allowed)
    if arms[block + SEEN] >= arms[block + FIT_AT]:
        fit(arms)
        arms[block + FIT_AT] = max(arms[block + SEEN] + 1.0, GROWTH * arms[block + SEEN])
    sample(arms)
    cells, spans = int(arms[block + CELLS]), spans_at(arms)
    drawn = fit_at(arms) + cells
    sums = drawn + 2 * cells
    luck = _luck(arms, block)
    _sums(arms, drawn, sums, cells)
    first, last = int(arms[HAS_NOTHING]), int(arms[ARMS]) - 1
    best, found = arms[cell(LOWER, last)] - price * arms[cell(UPPER, last)], last
    for arm in range(last - 1, first - 1, -1):
        if len(allowed) > 0 and not allowed[arm]:
            continue
        score = _cost(arms, arm, luck) - price * _mass(arms, drawn, sums, arm, form, cells, spans)
        if score <= best:
            best, found = score, arm
    return 0 if first == 1 and best >= 0.0 else found


def expected(arms: Any, arm: int) -> float:
    """The mean success of an interior arm by the last fit, or by its own plays where there are no cells."""
    block = int(arms[MIDDLE])
    if block == 0 or arms[block + FORM] == OWN:
        return float((arms[cell(SUCCESSES, arm)] + 0.5) / (arms[cell(PLAYS, arm)] + 1.0))
    cells, form, theta = int(arms[block + CELLS]), int(arms[block + FORM]), fit_at(arms)
    sums = theta + 3 * cells
    _sums(arms, theta, sums, cells)
    return _mass(arms, theta, sums, arm, form, cells, spans_at(arms))


def _luck(arms: Any, block: int) -> float:
    """One normal number for the costs of all arms of a decision, where they are told; 0 where they are known."""
    if arms[KNOWN] > 0.0:
        return 0.0
    spread = WIDE if draw(arms, block + STATE) < OFTEN else NARROW
    return (
        spread
        * math.sqrt(-2.0 * math.log(draw(arms, block + STATE)))
        * math.cos(2.0 * math.pi * draw(arms, block + STATE))
    )


def _cost(arms: Any, arm: int, luck: float) -> float:
    """What an arm costs in a sample: as known, or its mean and as many standard errors of a coin as luck has it.

    The same luck for all arms: those that were seldom told move furthest. One that was never told costs nothing.
    """
    told = arms[cell(PRICED, arm)]
    if arms[KNOWN] > 0.0 or told == 0.0:
        return float(arms[cell(LOWER, arm)])
    mean = arms[cell(COSTS, arm)] / told
    wide = math.sqrt(mean * max(arms[MOST] - mean, 0.0) / told)
    return float(min(max(mean + luck * wide, 0.0), arms[MOST]))


def _own(arms: Any, price: float, allowed: Any) -> int:
    """The same where each arm has a success of its own."""
    block, theta = int(arms[MIDDLE]), fit_at(arms)
    first, last = int(arms[HAS_NOTHING]), int(arms[ARMS]) - 1
    normals(arms, block + STATE, theta, last - first)
    luck = _luck(arms, block)
    best, found = arms[cell(LOWER, last)] - price * arms[cell(UPPER, last)], last
    for arm in range(last - 1, first - 1, -1):
        if len(allowed) > 0 and not allowed[arm]:
            continue
        count = arms[cell(PLAYS, arm)] + 1.0
        mean = (arms[cell(SUCCESSES, arm)] + 0.5) / count
        success = mean + math.sqrt(mean * (1.0 - mean) / count) * arms[theta + arm - first]
        score = _cost(arms, arm, luck) - price * min(max(success, 0.0), 1.0)
        if score <= best:
            best, found = score, arm
    return 0 if first == 1 and best >= 0.0 else found
