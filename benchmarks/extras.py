"""What is timed as a whole: importing, compiling, creating, simulating, a fleet. Each row is what, value, remark."""

import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import suffice
from benchmarks.measure import Plan, why
from benchmarks.world import SEED, TARGET, World
from suffice.lab.streams import Windows

Row = tuple[str, str, str]
now = time.process_time

FLEET, FLEET_ARMS, LOOP = 1_000_000, 8, 1_000
ROUNDS, TIMED = 40, 10  # one decision of every selector each; the first rounds play the safe option and are not timed


def extras(plan: Plan, say: Callable[[str], None]) -> list[Row]:
    """All rows."""
    rows: list[Row] = []
    for part in (_imports, _compiling, _simulating, _choosing, _contexts, _fleet):
        say(part.__name__.strip("_"))
        try:
            rows += part(plan)
        except Exception as error:
            rows.append((part.__name__.strip("_"), "failed", why(error)))
    return rows


# --- importing and compiling, each in a process of its own


def _fresh(code: str, repeats: int, **environment: str) -> float:
    """The median CPU time in seconds that a statement takes in a fresh process, which has imported nothing."""
    script = f"import time; start = time.process_time(); {code}; print(time.process_time() - start)"
    times = []
    for _ in range(repeats):
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, **environment}
        )
        if done.returncode:
            raise RuntimeError(done.stderr.strip().splitlines()[-1])
        times.append(float(done.stdout))
    return statistics.median(times)


def _imports(plan: Plan) -> list[Row]:
    alone = _fresh("import numpy", plan.repeats)
    ours = _fresh("import suffice", plan.repeats)
    return [("`import suffice`", f"{ours * 1e3:.0f} ms", f"fresh process; `import numpy` alone {alone * 1e3:.0f} ms")]


def _compiling(plan: Plan) -> list[Row]:
    if getattr(suffice, "warmup", None) is None:
        return [("`suffice.warmup()`", "–", "this version of suffice compiles nothing")]
    code = "import suffice; start = time.process_time(); suffice.warmup()"
    with tempfile.TemporaryDirectory() as cache:  # a cache of its own: what was compiled before must not count
        first = _fresh(code, 1, NUMBA_CACHE_DIR=cache)
        later = _fresh(code, plan.repeats, NUMBA_CACHE_DIR=cache)
    return [("`suffice.warmup()`", f"{first:.2f} s", f"first on a machine; {later:.2f} s in later processes")]


# --- creating


def creation(plan: Plan) -> list[Row]:
    """Per size: seconds to create a menu, and a selector on it."""
    rows: list[Row] = []
    for n in plan.sizes:
        repeats = plan.repeats if n <= 10_000 else 1
        costs, menus, selectors = World(n).costs, [], []
        for _ in range(repeats):
            start = now()
            menu = suffice.Menu(range(1, n - 1), safe=n - 1, skip=0, costs=costs, safe_cost=1.0)
            middle = now()
            suffice.Selector(menu, TARGET)
            menus.append(middle - start)
            selectors.append(now() - middle)
        rows.append((f"{n:,}", _span(statistics.median(menus)), _span(statistics.median(selectors))))
    return rows


def _span(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1.0 else f"{seconds:.2f} s"


# --- simulating


class Coverage:
    """Intervals with ends on a grid of so many cells: success if the interval covers a Beta(2, 5) draw."""

    def __init__(self, cells: int = 20) -> None:
        self.menu = suffice.Menu.intervals(step=1 / cells, skip=True)
        ends = [(2.0, 2.0), *self.menu.options, self.menu.safe]  # the skip covers nothing
        self.low, self.high = np.array([low for low, _ in ends]), np.array([high for _, high in ends])

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Any:
        return rng.beta(2.0, 5.0, count)

    def outcome(self, latent: Any, arm: int, price: float) -> tuple[float, float]:
        return float(self.low[arm] <= latent <= self.high[arm]), self.menu.known_cost(arm) or 0.0

    def windows(self) -> Windows:
        return Windows(self.low, self.high, self.high - self.low)


def _simulating(plan: Plan) -> list[Row]:
    stream = Coverage()
    rows: list[Row] = []
    for bounds in ("half-log", "hoeffding"):
        selector = suffice.Selector(stream.menu, TARGET, learning=suffice.Learning(bounds=bounds))
        suffice.summarize(selector, stream, 200, seed=SEED)  # the first run may compile
        start = now()
        suffice.summarize(selector, stream, plan.compiled, seed=SEED)
        pace = f"{plan.compiled / (now() - start):,.0f} steps/s"
        rows.append(
            (f"`suffice.summarize`, n = {stream.menu.n_arms}, {bounds}", pace, f"{plan.compiled:,} steps, one core")
        )
    return rows


# --- bounds and choosers


PARTS = {
    'optimist, "ordered"': suffice.Learning(bounds="ordered"),
    'optimist, "interval-closure"': suffice.Learning(bounds="interval-closure"),
    "optimist, memory that resets": suffice.Learning(chooser="optimist"),
    "sampling, whole history": suffice.Learning(memory="full"),
    "as it comes": suffice.Learning(),
}


def _choosing(plan: Plan) -> list[Row]:
    """What structured bounds, memory and sampling take, in plain KL bounds: time per simulated step, interleaved."""
    rows: list[Row] = []
    for cells, many in ((20, 100_000), (100, 50_000), (500, 20_000)):
        stream = Coverage(cells)
        steps = many // (5 if plan.quick else 1)
        kinds = {"kl": suffice.Learning(bounds="kl"), **PARTS}
        if cells > 100:
            # All pairs of a thousand nodes at each refreshing, and samples of a thousand cells: too slow to time.
            del kinds['optimist, "interval-closure"'], kinds["sampling, whole history"]
        taken: dict[str, list[float]] = {kind: [] for kind in kinds}
        for _ in range(3):
            for kind, learning in kinds.items():
                selector = suffice.Selector(stream.menu, TARGET, learning=learning)
                suffice.summarize(selector, stream, 20)  # compiles, and draws the world's tables
                start = now()
                suffice.summarize(selector, stream, steps)
                taken[kind].append((now() - start) / steps)
        plain = min(taken.pop("kl"))
        for kind, times in taken.items():
            what = f"n = {stream.menu.n_arms:,}: {kind}"
            rows.append((what, f"{min(times) / plain:,.1f}x", f"of plain KL bounds; {min(times) * 1e6:,.1f} µs a step"))
    return rows


# --- a fleet


def _contexts(plan: Plan) -> list[Row]:
    """With a context of 20 numbers, beside Vowpal Wabbit in both of its forms; see `benchmarks.context`."""
    from benchmarks.context import FIELDS, Ours, Vowpal, VowpalLines
    from benchmarks.context import measure as measured

    rows = []
    for arms, block, warm in ((16, 50, 4000),) if plan.quick else ((16, 50, 4000), (1000, 5, 600)):
        times = measured(arms, rounds=20 if plan.quick else 60, block=block, warm=warm)
        ours, theirs, lines = (statistics.median(times[kind.label]) for kind in (Ours, Vowpal, VowpalLines))
        remark = (
            f"{ours / theirs:.2f}x Vowpal Wabbit's --cb_explore ({theirs:.0f} µs), {ours / lines:.2f}x --cb_explore_adf"
        )
        rows.append((f"ask + tell with {FIELDS} numbers as context, {arms:,} options", f"{ours:.0f} µs", remark))
    return rows


def _fleet(plan: Plan) -> list[Row]:
    """A fleet of many selectors beside a Python loop over fewer: decisions per second, bytes per selector and arm."""
    rng = np.random.default_rng(SEED)
    chances = np.linspace(0.8, 1.0, FLEET_ARMS)
    chances[0], chances[-1] = 0.0, 1.0
    fleet = suffice.Fleet(_small_menu(), TARGET, FLEET)
    rows: list[Row] = []
    for order in ("in order", "in random order"):
        spent = []
        for _ in range(ROUNDS // (4 if plan.quick else 2)):
            which = np.arange(FLEET) if order == "in order" else rng.permutation(FLEET)
            luck = rng.random(FLEET)
            start = now()
            arms = fleet.ask(which)
            asked = now() - start
            successes = luck < chances[arms]
            start = now()
            fleet.tell(which, successes)
            spent.append(asked + now() - start)
        between = float(np.mean((arms > 0) & (arms < FLEET_ARMS - 1)))
        pace = FLEET / statistics.median(spent[-TIMED:])
        size = len(pickle.dumps(fleet)) / (FLEET * FLEET_ARMS)
        remark = f"all, {order}; {between:.0%} between the ends; {size:.0f} bytes per selector and arm"
        rows.append((f"`suffice.Fleet` of {FLEET:,}, {FLEET_ARMS} arms", f"{pace:,.0f} decisions/s", remark))
    return [*rows, _loop("compiled", ""), _loop("as they are without a compiler", "1")]


def _small_menu() -> suffice.Menu:
    return suffice.Menu(
        range(1, FLEET_ARMS - 1), safe=FLEET_ARMS - 1, skip=0, costs=World(FLEET_ARMS, SEED).costs, safe_cost=1.0
    )


def _loop(how: str, switched_off: str) -> Row:
    os.environ["SUFFICE_NO_COMPILE"] = switched_off
    try:
        menu, world = _small_menu(), World(FLEET_ARMS)
        selectors = [
            suffice.Selector(menu, TARGET, learning=suffice.Learning(bounds="half-log")) for _ in range(LOOP)
        ]  # as in a fleet
        spent = []
        for _ in range(ROUNDS):
            between, start = 0, now()
            for selector in selectors:
                decision = selector.ask()
                between += 0 < decision.arm < FLEET_ARMS - 1
                selector.tell(decision, world.judge(decision.arm))
            spent.append(now() - start)
    finally:
        del os.environ["SUFFICE_NO_COMPILE"]
    pace = LOOP / statistics.median(spent[-TIMED:])
    what = f"a Python loop over {LOOP:,} selectors, {FLEET_ARMS} arms, {how}"
    return what, f"{pace:,.0f} decisions/s", f"one ask and tell each in turn; {between / LOOP:.0%} between the ends"
