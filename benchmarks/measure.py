"""Timing in one process: all contestants of a size take turns in short blocks, and the median block counts.

Taking turns spreads whatever else the machine does over all of them alike; the median drops what hit one block. What is
measured is CPU time of this process: waiting for a core is not counted, and work in other threads is.
"""

import gc
import math
import random
import re
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from benchmarks.contestants import Contestant, Holder

Kind = type[Contestant]
now = time.process_time


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure."""

    sizes: tuple[int, ...] = (3, 210, 1_000, 10_000, 100_000, 500_000)
    rounds: int = 60  # turns, each a block per contestant
    least_rounds: int = 7  # even of the slowest
    block: float = 0.004  # seconds per block, if one step is not longer
    budget: float = 3.0  # seconds per contestant and size
    slowest: float = 0.5  # seconds per decision, beyond which a contestant is left out
    slowest_setup: float = 120.0  # seconds
    repeats: int = 7  # of what is timed as a whole: imports, creating selectors
    compiled: int = 20_000_000  # simulated steps
    quick: bool = False


QUICK = Plan(
    rounds=20, least_rounds=3, block=0.002, budget=0.3, slowest_setup=5.0, repeats=3, compiled=1_000_000, quick=True
)


@dataclass(slots=True)
class Timing:
    """One contestant at one size: either its times or the reason why there are none."""

    kind: Kind
    n: int
    reason: str = ""
    setup: float = 0.0  # seconds
    blocks: list[float] = field(default_factory=list)  # seconds per step, one number per block
    steps: int = 0
    note: str = ""

    @property
    def median(self) -> float:
        """Microseconds per decision."""
        return statistics.median(self.blocks) * 1e6

    @property
    def mean(self) -> float:
        """The same as a mean, in which rare expensive steps show (a new epoch of the bounds recomputes every line)."""
        return statistics.fmean(self.blocks) * 1e6

    @property
    def quartiles(self) -> tuple[float, float]:
        cuts = statistics.quantiles(self.blocks, n=4, method="inclusive")
        return cuts[0] * 1e6, cuts[2] * 1e6


def measure(kinds: Iterable[Kind], plan: Plan, say: Callable[[str], None]) -> Iterator[Timing]:
    """Time every contestant at every size; the timings of a size come together."""
    kinds = list(kinds)
    before: dict[Kind, list[Timing]] = {kind: [] for kind in kinds}
    for n in plan.sizes:
        timings, entrants = [], []
        for kind in kinds:
            say(f"n = {n:,}: {kind.label}")
            timing = Timing(kind, n, reason=_hopeless(before[kind], n, plan))
            entrant = None if timing.reason else _enter(timing, plan)
            if entrant is not None:
                entrants.append(entrant)
            before[kind].append(timing)
            timings.append(timing)
        say(f"n = {n:,}: {len(entrants)} contestants take turns")
        _take_turns(entrants, plan)
        yield from timings


@dataclass(slots=True)
class Entrant:
    """A contestant that is ready, with the size of its blocks."""

    contestant: Contestant
    timing: Timing
    per_block: int
    rounds: int


def _hopeless(before: list[Timing], n: int, plan: Plan) -> str:
    """Why not even to try at n, judged from the sizes before; empty if nothing speaks against it."""
    if not before:
        return ""
    last = before[-1]
    if last.reason:
        return last.reason  # what fails or takes too long does so with more arms, too
    growth = n / last.n
    # Half as much again as the limit, because this is a guess; nearer to it, one decision is made and timed.
    step = last.median * 1e-6 * growth
    if last.n >= 1_000 and step > 1.5 * plan.slowest:
        return f"about {step:.1f} s per decision expected from n = {last.n:,}; the limit is {plan.slowest:g} s"
    # Setting up takes linear time in one peer and quadratic time in another; the last two sizes tell which. Small sizes
    # tell nothing, for there it is mostly imports; ours and plain NumPy limit their warming up themselves.
    if len(before) > 1 and before[-2].n >= 1_000 and not issubclass(last.kind, Holder):
        power = math.log(last.setup / before[-2].setup) / math.log(last.n / before[-2].n)
        setup = last.setup * growth ** min(2.0, max(1.0, power))
        if setup > plan.slowest_setup:
            return f"about {setup:.0f} s to set up expected from n = {last.n:,}; the limit is {plan.slowest_setup:g} s"
    return ""


def _enter(timing: Timing, plan: Plan) -> Entrant | None:
    """Set up and time the first steps; note the reason if that fails or takes too long."""
    contestant = timing.kind()
    try:
        start = now()
        contestant.setup(timing.n)
        timing.setup = now() - start
        contestant.steps(1)  # the first may compile or cache
        start, steps = now(), 0
        while steps < 1 or (now() - start < plan.block and steps < 1000):
            contestant.steps(1)
            steps += 1
        step = (now() - start) / steps
    except Exception as error:
        timing.reason = why(error)
        return None
    if step > plan.slowest:
        timing.reason = f"one decision takes {step:.2f} s; the limit is {plan.slowest:g} s"
        return None
    per_block = max(1, round(plan.block / step))
    rounds = min(plan.rounds, max(plan.least_rounds, int(plan.budget / (per_block * step))))
    return Entrant(contestant, timing, per_block, rounds)


def _take_turns(entrants: list[Entrant], plan: Plan) -> None:
    order = random.Random(plan.rounds)
    gc.collect()
    gc.freeze()  # one contestant's objects must not be searched on another's time
    gc.disable()
    try:
        for turn in range(plan.rounds):
            # Who has fewer rounds than others sits out in between, so that all are spread over the same time.
            due = [e for e in entrants if (turn + 1) * e.rounds // plan.rounds > turn * e.rounds // plan.rounds]
            order.shuffle(due)
            for entrant in due:
                _block(entrant)
            gc.collect()
    finally:
        gc.enable()
        gc.unfreeze()
    for entrant in entrants:
        entrant.timing.note = entrant.contestant.note()


def _block(entrant: Entrant) -> None:
    timing = entrant.timing
    if timing.reason:
        return
    try:
        start = now()
        entrant.contestant.steps(entrant.per_block)
        spent = now() - start
    except Exception as error:
        timing.reason = why(error)
        return
    timing.blocks.append(spent / entrant.per_block)
    timing.steps += entrant.per_block


def why(error: Exception) -> str:
    """An exception in one line, without paths: they say nothing elsewhere."""
    text = str(error).strip().splitlines()
    line = re.sub(r"(?:/[\w.+-]+){2,}", "…", text[0]) if text else "no message"
    return f"{type(error).__name__}: {line[:150]}"
