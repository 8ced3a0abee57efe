"""Thompson sampling over cell masses: one distribution behind all options, and a sample of it at every decision.

Where options contain one another, each is a union of cells of one partition: the success of an interval is the mass of the
grid points and gaps in it, that of a subset the mass of the patterns in which one of its items is right. So a play of any
option informs all options. With θ the masses and v the cells of an option, its success is v·θ.

θ is fitted from time to time to all outcomes by expectation maximisation, with a pseudo-count PRIOR in each cell. Around the
fit the posterior is approximated as normal with precision Σ plays/(p(1−p))·v vᵀ + PRIOR/θ² on the diagonal; a sample is
clipped at 0 and scaled to sum to 1. The arm that would be cheapest at this price if the sample were true is played.
Options without a common order (OWN) have independent successes.

It has no theorem of its own; the guard bounds its cost (docs/choosers.md). The block, at `cells_at`: per cell the fit, the
sample, and two numbers of working memory; the factor of the precision, row by row; and the cells of each arm: the first and
the one after the last (SPANS), or a 0 or 1 for each (LISTS). The state of the generator lies before it, at `rng_at`.
"""

import math
from collections.abc import MutableSequence, Sequence

from suffice.kernels.compiler import inlined
from suffice.learning.records import NO_CELLS, OWN, SPANS, Table
from suffice.learning.rng import WORDS, normals, uniform

PRIOR = 1.0
# A quarter of the samples have the spread of the posterior, the others a smaller one. A smaller spread alone is cheaper in
# most runs, and in a few never corrects an error; the wide samples do.
WIDE, NARROW, OFTEN = 1.0, 0.6, 0.25
GROWTH = 1.03  # the growth in outcomes after which a new fit is due
ROUNDS = 40  # of expectation maximisation; each fit begins where the last one ended
TINY = 1e-12
SUREST = 1e12  # the precision of one option's success beyond which rounding would outweigh the prior of a cell


def block_size(form: int, cells: int, count: int) -> int:
    """How many cells the block takes, the generator's state included."""
    if form == OWN:
        return WORDS + 4 * cells + 1
    return WORDS + 4 * cells + 1 + cells * cells + (2 * count if form == SPANS else cells * count)


def factor_at(table: Table) -> int:
    """Where the factor of the precision begins."""
    return table.head.cells_at + 4 * table.head.cells + 1


def spans_at(table: Table) -> int:
    """Where the cells of the arms begin."""
    return factor_at(table) + table.head.cells * table.head.cells


def reset_fit(table: Table) -> None:
    """Reset all masses to equal ones, which are fitted before the next sample."""
    head, room = table.head, table.room
    for c in range(head.cells):
        room[head.cells_at + c] = 1.0 / head.cells
    head.fit_at = 0.0
    head.seen = 0.0


def _sums(room: MutableSequence[float], values: int, out: int, cells: int) -> None:
    """Running sums of one number per cell: cells + 1 of them, beginning with 0."""
    total = 0.0
    room[out] = 0.0
    for c in range(cells):
        total += room[values + c]
        room[out + c + 1] = total


@inlined  # makes the loops over all arms a sixth quicker
def _mass(room: MutableSequence[float], values: int, sums: int, arm: int, form: int, cells: int, spans: int) -> float:
    """What the cells of an arm sum to."""
    if form == SPANS:
        return room[sums + int(room[spans + 2 * arm + 1])] - room[sums + int(room[spans + 2 * arm])]
    total = 0.0
    for c in range(cells):
        total += room[spans + cells * arm + c] * room[values + c]
    return total


def fit(table: Table) -> None:
    """Some rounds of expectation maximisation from the last fit on, and the factor of the precision there."""
    head, arms, room = table.head, table.arms, table.room
    cells, form, theta, spans = head.cells, head.form, head.cells_at, spans_at(table)
    expected, sums = theta + 2 * cells, theta + 3 * cells
    first, last = head.has_skip, head.arms - 1
    for _ in range(ROUNDS):
        _sums(room, theta, sums, cells)
        for c in range(cells):
            room[expected + c] = 0.0
        # Every cell gets the share of a failure; those inside an arm get that of a success instead.
        outside = 0.0
        for arm in range(first, last):
            plays = arms[arm].plays
            if plays == 0.0:
                continue
            mass = min(max(_mass(room, theta, sums, arm, form, cells, spans), TINY), 1.0 - TINY)
            successes = arms[arm].successes
            missed = (plays - successes) / (1.0 - mass)
            outside += missed
            more = successes / mass - missed
            if form == SPANS:
                begins, ends = int(room[spans + 2 * arm]), int(room[spans + 2 * arm + 1])
                room[expected + begins] += more
                if ends < cells:
                    room[expected + ends] -= more
            else:
                for c in range(cells):
                    room[expected + c] += more * room[spans + cells * arm + c]
        total = running = 0.0
        for c in range(cells):
            running = running + room[expected + c] if form == SPANS else room[expected + c]
            room[theta + c] = PRIOR + max(room[theta + c] * (outside + running), 0.0)
            total += room[theta + c]
        for c in range(cells):
            room[theta + c] /= total
    _precision(table, theta, sums, form, cells, spans)
    _factor(room, factor_at(table), cells)
    head.fit_at = max(head.seen + 1.0, GROWTH * head.seen)


def _precision(table: Table, theta: int, sums: int, form: int, cells: int, spans: int) -> None:
    """The lower half of Σ weight·v vᵀ + PRIOR/θ²."""
    arms, room, rows = table.arms, table.room, factor_at(table)
    _sums(room, theta, sums, cells)
    for at in range(rows, rows + cells * cells):
        room[at] = 0.0
    for arm in range(table.head.has_skip, table.head.arms - 1):
        plays = arms[arm].plays
        if plays == 0.0:
            continue
        mass = (plays * _mass(room, theta, sums, arm, form, cells, spans) + 0.5) / (plays + 1.0)
        mass = min(max(mass, TINY), 1.0 - TINY)
        weight = min(plays / (mass * (1.0 - mass)), SUREST)
        if form == SPANS:
            # Only in the corner of its square; the sums below spread it over the square.
            begins, ends = int(room[spans + 2 * arm]), int(room[spans + 2 * arm + 1])
            room[rows + cells * (ends - 1) + begins] += weight
        else:
            for a in range(cells):
                if room[spans + cells * arm + a] > 0.0:
                    for b in range(a + 1):
                        room[rows + cells * a + b] += weight * room[spans + cells * arm + b]
    if form == SPANS:
        for a in range(cells - 1, -1, -1):
            running = 0.0
            for b in range(a + 1):
                running += room[rows + cells * a + b]
                above = room[rows + cells * (a + 1) + b] if a + 1 < cells else 0.0
                room[rows + cells * a + b] = running + above
    for c in range(cells):
        room[rows + cells * c + c] += PRIOR / (room[theta + c] * room[theta + c])


def _factor(room: MutableSequence[float], rows: int, cells: int) -> None:
    """Replace the lower half of a matrix by its Cholesky factor."""
    for a in range(cells):
        row = rows + cells * a
        for b in range(a + 1):
            other = rows + cells * b
            total = room[row + b]
            for c in range(b):
                total -= room[row + c] * room[other + c]
            if a == b:
                room[row + a] = math.sqrt(max(total, PRIOR))  # anything below the prior is rounding
            else:
                room[row + b] = total / room[other + b]


def sample(table: Table) -> None:
    """A sample of the masses: the fit plus normal noise of the inverse precision, clipped at 0 and scaled to sum to 1."""
    head, room, rows = table.head, table.room, factor_at(table)
    cells, theta = head.cells, head.cells_at
    drawn = theta + cells
    spread = WIDE if uniform(room, head.rng_at) < OFTEN else NARROW
    normals(room, head.rng_at, drawn, cells)
    for a in range(cells - 1, -1, -1):
        row = rows + cells * a
        value = room[drawn + a] / room[row + a]
        room[drawn + a] = value
        for b in range(a):
            room[drawn + b] -= room[row + b] * value
    total = 0.0
    for c in range(cells):
        room[drawn + c] = max(room[theta + c] + spread * room[drawn + c], 0.0)
        total += room[drawn + c]
    for c in range(cells):
        room[drawn + c] = room[drawn + c] / total if total > 0.0 else room[theta + c]


def thompson(table: Table, price: float, allowed: Sequence[bool]) -> int:
    """The cheapest arm at this price in a new sample; among those allowed, if `allowed` is not empty."""
    head, arms, room = table.head, table.arms, table.room
    sample(table)
    cells, form, spans = head.cells, head.form, spans_at(table)
    drawn = head.cells_at + cells
    sums = drawn + 2 * cells
    noise = _cost_noise(table)
    _sums(room, drawn, sums, cells)
    first, last = head.has_skip, head.arms - 1
    best, chosen = arms[last].lower - price * arms[last].upper, last
    if len(allowed) > 0 and not allowed[last]:
        best = math.inf
    for arm in range(last - 1, first - 1, -1):
        if len(allowed) > 0 and not allowed[arm]:
            continue
        score = _cost(table, arm, noise) - price * _mass(room, drawn, sums, arm, form, cells, spans)
        if score <= best:
            best, chosen = score, arm
    return 0 if first == 1 and best >= 0.0 else chosen


def expected(table: Table, arm: int) -> float:
    """The mean success of an interior arm by the last fit, or by its own plays where there are no cells."""
    head = table.head
    if head.form == NO_CELLS or head.form == OWN:
        return (table.arms[arm].successes + 0.5) / (table.arms[arm].plays + 1.0)
    cells, theta = head.cells, head.cells_at
    sums = theta + 3 * cells
    _sums(table.room, theta, sums, cells)
    return _mass(table.room, theta, sums, arm, head.form, cells, spans_at(table))


def _cost_noise(table: Table) -> float:
    """One normal number for the costs of all arms of a decision; 0 where costs are known."""
    head, room = table.head, table.room
    if head.costs_known > 0:
        return 0.0
    spread = WIDE if uniform(room, head.rng_at) < OFTEN else NARROW
    radius = math.sqrt(-2.0 * math.log(uniform(room, head.rng_at)))
    return spread * radius * math.cos(2.0 * math.pi * uniform(room, head.rng_at))


def _cost(table: Table, arm: int, noise: float) -> float:
    """The cost of an arm in a sample: the known one, or its mean plus `noise` standard errors of a coin.

    All arms share the noise, so those with few reported costs move furthest. An arm without one costs nothing.
    """
    head, row = table.head, table.arms[arm]
    if head.costs_known > 0 or row.priced == 0.0:
        return row.lower
    mean = row.costs / row.priced
    wide = math.sqrt(mean * max(head.safe_cost - mean, 0.0) / row.priced)
    return min(max(mean + noise * wide, 0.0), head.safe_cost)


def sample_own(table: Table, price: float, allowed: Sequence[bool]) -> int:
    """Like `thompson`, where the arms have independent successes."""
    head, arms, room = table.head, table.arms, table.room
    drawn, first, last = head.cells_at, head.has_skip, head.arms - 1
    normals(room, head.rng_at, drawn, last - first)
    noise = _cost_noise(table)
    best, chosen = arms[last].lower - price * arms[last].upper, last
    if len(allowed) > 0 and not allowed[last]:
        best = math.inf
    for arm in range(last - 1, first - 1, -1):
        if len(allowed) > 0 and not allowed[arm]:
            continue
        row = arms[arm]
        count = row.plays + 1.0
        mean = (row.successes + 0.5) / count
        success = mean + math.sqrt(mean * (1.0 - mean) / count) * room[drawn + arm - first]
        score = _cost(table, arm, noise) - price * min(max(success, 0.0), 1.0)
        if score <= best:
            best, chosen = score, arm
    return 0 if first == 1 and best >= 0.0 else chosen
