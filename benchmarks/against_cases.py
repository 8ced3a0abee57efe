"""What is timed of two versions, in terms of the public API alone. Each case is made anew in each session.

Parts: core (ask and tell on menus of all sizes), choose (bounds and choosers), memory, guard, simulate, fleet, context,
groups, create, import, service, cliffs (what used to leave the short way through ask and tell, beside what does not), plain
(without a compiler). A case that stands `beside` another is timed in turns with it, so that the two have a ratio, too.
"""

import itertools
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

import numpy as np

import suffice
from benchmarks.against_names import called, field, streams
from benchmarks.world import SEED, TARGET, World

Steps = Callable[[int], None]
WARM_STEPS: Final = 5_000
MOST_WARM_STEPS: Final = 50_000
MANY: Final = 100_000  # so many decisions may be outstanding where that is no part of what is timed
MOSTLY: Final = 0.8  # of the last asks before timing begins must be between the safe option and a skip


class Player:
    """Makes steps, so many at a time, and says what they took: CPU time of this process, unless it knows better."""

    def __init__(self, steps: Steps, *, unit: int = 1) -> None:
        self.steps, self.unit = steps, unit  # decisions in each step

    def timed(self, count: int) -> float:
        """Seconds of CPU that so many steps take."""
        start = time.process_time()
        self.steps(count)
        return time.process_time() - start

    def close(self) -> None:
        """Give up what it holds."""


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table."""

    part: str
    label: str
    make: Callable[[], Player]
    beside: str = ""  # the label of the case of the same part that it is held against
    plain: bool = False  # without a compiler
    block: float = 0.004  # seconds, about; a block is at least one step
    quick: bool = True  # also with --quick

    @property
    def key(self) -> str:
        """Its name among all."""
        return f"{self.part}: {self.label}"


# --- ask and tell


def menu_of(n: int) -> Any:
    """A menu of n arms in all, with the world's costs, known."""
    return called(suffice.Menu, range(1, n - 1), safe=n - 1, skip=0, costs=World(n).costs, safe_cost=1.0)


def chain_of(n: int) -> Any:
    """A chain of n arms in all."""
    return called(suffice.Menu.top_k, range(1, n - 1), classes=n - 1, skip=True)


def loop(selector: Any, n: int, **asking: Any) -> Steps:
    """Steps of one ask and one tell each in the world of n arms."""
    world = World(n)
    chances = world.chances

    def steps(count: int) -> None:
        for luck in world.luck(count):
            decision = selector.ask(**asking)
            selector.tell(decision, luck < chances[decision.arm])

    def bare(count: int) -> None:  # without **asking, which would be in the time
        for luck in world.luck(count):
            decision = selector.ask()
            selector.tell(decision, luck < chances[decision.arm])

    return steps if asking else bare


def warmed(selector: Any, n: int, steps: Steps) -> Player:
    """A player whose selector plays between the limits most of the time, if it gets there early enough."""
    least, chances, world = min(5 * n, WARM_STEPS), World(n).chances, World(n)
    done = inside = 0
    while done < least or (inside < MOSTLY * 250 and done < MOST_WARM_STEPS):
        inside = 0
        for luck in world.luck(250):
            decision = selector.ask()
            inside += 0 < decision.arm < n - 1
            selector.tell(decision, luck < chances[decision.arm])
        done += 250
    return Player(steps)


def asked(n: int, menu: Callable[[int], Any] = menu_of, **settings: Any) -> Callable[[], Player]:
    """Ask and tell on a menu of n arms, with these settings of the selector."""

    def make() -> Player:
        selector = called(suffice.Selector, menu(n), TARGET, **settings)
        return warmed(selector, n, loop(selector, n))

    return make


def reading(n: int) -> Callable[[], Player]:
    """Ask, read all that a decision says, and tell."""

    def make() -> Player:
        selector = suffice.Selector(menu_of(n), TARGET)
        world = World(n)
        chances, price = world.chances, attrgetter(field("price"))

        def steps(count: int) -> None:
            for luck in world.luck(count):
                decision = selector.ask()
                _ = decision.id, decision.option, price(decision)
                selector.tell(decision, luck < chances[decision.arm])

        return warmed(selector, n, steps)

    return make


class Dearest:
    """A chooser of the user's own: the safe option, always."""

    name = "dearest"

    def choose(self, price: float, bounds: Any, allowed: Any) -> int:
        """The last arm."""
        return len(bounds.upper) - 1


def core() -> Iterator[Case]:
    for bounds in ("half-log", "hoeffding"):
        for n in (3, 210, 1_000, 10_000, 100_000):
            yield Case("core", f"{bounds}, n = {n:,}", asked(n, bounds=bounds), quick=n in (3, 210, 10_000))
    yield Case("core", "all defaults, n = 210", asked(210))
    yield Case("core", "half-log, every field read, n = 210", reading(210))


def choose() -> Iterator[Case]:
    for n in (10, 72):
        yield Case("choose", f"thompson on a chain, n = {n}", asked(n, chain_of, chooser="thompson"))
    yield Case("choose", "optimist on a chain, n = 72", asked(72, chain_of, chooser="optimist"))
    for bounds in ("kl", "ordered"):
        yield Case("choose", f"{bounds} on a chain, n = 72", asked(72, chain_of, bounds=bounds), quick=False)


def memory() -> Iterator[Case]:
    for kind in ("full", "reset", "window 2000", "discount 2000"):
        yield Case("memory", f"{kind}, optimist, n = 210", asked(210, memory=kind, chooser="optimist"))
        yield Case("memory", f"{kind}, thompson, a chain of 72", asked(72, chain_of, memory=kind), quick=False)


def guard() -> Iterator[Case]:
    yield Case("guard", "thompson without a guard, a chain of 72", asked(72, chain_of, guard=None))
    yield Case("guard", "a chooser of the user's own, n = 20", asked(20, chooser=Dearest()), block=0.01)


# --- simulating


class Coverage:
    """Intervals with ends on a grid of so many cells: success if the interval covers a Beta(2, 5) draw."""

    def __init__(self, cells: int) -> None:
        self.menu = called(suffice.Menu.intervals, step=1 / cells, skip=True)
        options = [self.menu.option(arm) for arm in range(getattr(self.menu, field("n_arms", self.menu)))]
        ends = [option if isinstance(option, tuple) else (2.0, 2.0) for option in options]  # the skip covers nothing
        self.low, self.high = np.array([low for low, _ in ends]), np.array([high for _, high in ends])

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Any:
        """So many values to be covered."""
        return rng.beta(2.0, 5.0, count)

    def outcome(self, latent: Any, arm: int, price: float) -> tuple[float, float]:
        """Whether an arm covers it, and what that costs."""
        return float(self.low[arm] <= latent <= self.high[arm]), self.menu.known_cost(arm) or 0.0

    def windows(self) -> Any:
        """The same for compiled runs."""
        return streams().Windows(self.low, self.high, self.high - self.low)


def simulated(cells: int, steps: int, whole: bool = False, **settings: Any) -> Callable[[], Player]:
    """Runs of so many steps each, every one from the start; as a trace, or as a summary."""

    def make() -> Player:
        stream = Coverage(cells)
        selector = called(suffice.Selector, stream.menu, TARGET, **settings)
        run: Any = suffice.simulate if whole else suffice.summarize

        def play(count: int) -> None:
            for _ in range(count):
                run(selector, stream, steps, seed=SEED)

        play(1)
        return Player(play, unit=steps)

    return make


def simulate() -> Iterator[Case]:
    # Forty blocks of these are a million steps and more.
    for cells, n in ((2, 4), (20, 211)):
        for bounds in ("hoeffding", "half-log"):
            yield Case("simulate", f"summarize, {bounds}, n = {n}", simulated(cells, 30_000, bounds=bounds))
    yield Case("simulate", "simulate, half-log, n = 211", simulated(20, 30_000, whole=True, bounds="half-log"))
    yield Case("simulate", "summarize, all defaults, n = 211", simulated(20, 5_000))
    for kind in ("reset", "window 2000", "discount 2000"):
        run = simulated(20, 5_000, memory=kind, chooser="optimist")
        yield Case("simulate", f"summarize, memory {kind}, n = 211", run, quick=False)


# --- fleets


def fleet_of(size: int, n: int, shuffled: bool) -> Callable[[], Player]:
    """A decision and an outcome of every selector of a fleet."""

    def make() -> Player:
        fleet = suffice.Fleet(menu_of(n), TARGET, size)
        rng, chances = np.random.default_rng(SEED), np.array(World(n).chances)
        which = rng.permutation(size) if shuffled else np.arange(size)
        luck = [rng.random(size) for _ in range(16)]
        lucks = itertools.cycle(luck)

        def steps(count: int) -> None:
            for _ in range(count):
                arms = fleet.ask(which)
                fleet.tell(which, next(lucks) < chances[arms])

        steps(30)  # the first play the safe option
        return Player(steps, unit=size)

    return make


def fleet() -> Iterator[Case]:
    yield Case("fleet", "20,000 selectors in order, n = 8", fleet_of(20_000, 8, False))
    yield Case("fleet", "20,000 selectors in random order, n = 8", fleet_of(20_000, 8, True))


# --- contexts and groups


def looking(n: int, warm: int, numbers: int = 20, **asking: Any) -> Callable[[], Player]:
    """Ask and tell with so many numbers as context."""

    def make() -> Player:
        rng = np.random.default_rng(0)
        rows = [{f"f{i}": value for i, value in enumerate(row)} for row in rng.random((2_000, numbers)).tolist()]
        lucks, turns = itertools.cycle(rng.random(4_999).tolist()), itertools.cycle(rows)
        costs = {arm: 0.05 + 0.4 * arm / n for arm in range(n)}
        menu = called(suffice.Menu, costs, safe="all", skip="none", safe_cost=1.0)
        selector = suffice.Selector(menu, TARGET, model="auto")
        last = getattr(menu, field("n_arms", menu)) - 1

        def steps(count: int) -> None:
            for row, luck in zip(itertools.islice(turns, count), itertools.islice(lucks, count), strict=True):
                decision = selector.ask(context=row, **asking)
                arm = decision.arm
                works = 0 < arm < last and luck < 0.55 + 0.4 * (arm - 1) / n + 0.3 * (row["f0"] - 0.5)
                selector.tell(decision, arm == last or works)

        steps(warm)
        return Player(steps)

    return make


def context() -> Iterator[Case]:
    yield Case("context", "20 numbers, 16 options", looking(16, 3_000), block=0.01)
    yield Case("context", "20 numbers, 200 options", looking(200, 600), block=0.02, quick=False)


def many_groups(n: int, groups: int) -> Callable[[], Player]:
    """Ask and tell in groups whose sizes follow Zipf's law."""

    def make() -> Player:
        selector = suffice.Selector(menu_of(n), TARGET)
        world, rng = World(n), random.Random(SEED)
        chances = world.chances
        names = [f"group {one}" for one in range(groups)]
        chosen = itertools.cycle(rng.choices(names, [1 / (1 + one) for one in range(groups)], k=10_007))

        def steps(count: int) -> None:
            for luck, group in zip(world.luck(count), itertools.islice(chosen, count), strict=True):
                decision = selector.ask(group=group)
                selector.tell(decision, luck < chances[decision.arm])

        steps(WARM_STEPS)
        return Player(steps)

    return make


def groups() -> Iterator[Case]:
    for count in (10, 1_000):
        yield Case("groups", f"{count:,} groups, n = 210", many_groups(210, count), block=0.01, quick=count == 10)


# --- creating and importing


def created(n: int, what: str) -> Callable[[], Player]:
    """Making menus, or selectors on one of them."""

    def make() -> Player:
        costs, menu = World(n).costs, menu_of(n)

        def selectors(count: int) -> None:
            for _ in range(count):
                suffice.Selector(menu, TARGET)

        def menus(count: int) -> None:
            for _ in range(count):
                called(suffice.Menu, range(1, n - 1), safe=n - 1, skip=0, costs=costs, safe_cost=1.0)

        return Player(selectors if what == "selector" else menus)

    return make


class Fresh(Player):
    """A statement in a process that has imported nothing, once for each step."""

    def __init__(self, statement: str) -> None:
        self._statement, self.spent = statement, 0.0
        super().__init__(self._run)
        self._run(1)  # the first may write what Python compiles

    def _run(self, count: int) -> None:
        for _ in range(count):
            pid = os.posix_spawn(sys.executable, [sys.executable, "-c", self._statement], os.environ)
            _, status, used = os.wait4(pid, 0)
            if status:
                raise RuntimeError(f"{self._statement!r} ended with {status}")
            self.spent += used.ru_utime + used.ru_stime

    def timed(self, count: int) -> float:
        """User and system time of the processes."""
        before = self.spent
        self._run(count)
        return self.spent - before


def create() -> Iterator[Case]:
    for n in (3, 210, 10_000):
        for what in ("menu", "selector"):
            yield Case("create", f"a {what}, n = {n:,}", created(n, what), quick=n != 10_000)


def imported() -> Iterator[Case]:
    yield Case("import", "import suffice", lambda: Fresh("import suffice"), block=0.2)


# --- the service


def service() -> Iterator[Case]:
    from benchmarks.against_service import asking, pairing

    for store in ("memory", "SQLite"):
        for what, make in (("ask", asking(store)), ("ask and tell", pairing(store))):
            yield Case("service", f"{what}, {store}", make, block=0.02, quick=what != "ask")


# --- cliffs


def outstanding(n: int, many: int, **settings: Any) -> Callable[[], Player]:
    """Ask and tell while so many decisions are outstanding; each tell is of the oldest."""

    def make() -> Player:
        selector = called(suffice.Selector, menu_of(n), TARGET, **settings)
        player = warmed(selector, n, lambda count: None)
        world = World(n)
        chances = world.chances
        out = [selector.ask() for _ in range(many)]
        at = 0

        def steps(count: int) -> None:
            nonlocal at
            for luck in world.luck(count):
                decision, out[at] = out[at], selector.ask()
                at = at + 1 if at + 1 < many else 0
                selector.tell(decision, luck < chances[decision.arm])

        player.steps = steps
        return player

    return make


def listed(n: int, many: int) -> Callable[[], Player]:
    """Decisions asked for in lists and told one by one."""

    def make() -> Player:
        selector = suffice.Selector(menu_of(n), TARGET)
        player = warmed(selector, n, lambda count: None)
        world = World(n)
        chances = world.chances

        def steps(count: int) -> None:
            for _ in range(count):
                for decision, luck in zip(selector.ask_many(many), world.luck(many), strict=True):
                    selector.tell(decision, luck < chances[decision.arm])

        player.steps, player.unit = steps, many
        return player

    return make


def in_group(n: int) -> Callable[[], Player]:
    """All in one group."""

    def make() -> Player:
        selector = suffice.Selector(menu_of(n), TARGET)
        steps = loop(selector, n, group="one")
        steps(WARM_STEPS)
        return Player(steps)

    return make


def cliffs() -> Iterator[Case]:
    few, seen = "ask + tell, n = 210", "context, 5 numbers, 16 options"
    yield Case("cliffs", few, asked(210))
    for label, make in {
        "one group": in_group(210),
        "expire_after set": asked(210, expire_after=1e6),
        "in_flight set": asked(210, in_flight=MANY),
        "8 outstanding": outstanding(210, 8),
        "600 outstanding": outstanding(210, 600, in_flight=MANY),
        "10,000 outstanding": outstanding(210, 10_000, in_flight=MANY),
        "ask_many(100), per decision": listed(210, 100),
    }.items():
        yield Case("cliffs", label, make, beside=few)
    yield Case("cliffs", seen, looking(16, 2_000, numbers=5))
    yield Case("cliffs", "context and group", looking(16, 2_000, numbers=5, group="one"), beside=seen)


def plain() -> Iterator[Case]:
    for n in (3, 5, 20):
        yield Case("plain", f"n = {n}", asked(n), plain=True)


PARTS: Final[dict[str, Callable[[], Iterator[Case]]]] = {
    "core": core, "choose": choose, "memory": memory, "guard": guard, "simulate": simulate, "fleet": fleet,
    "context": context, "groups": groups, "create": create, "import": imported, "service": service, "cliffs": cliffs,
    "plain": plain,
}  # fmt: skip


def find(key: str) -> Case:
    """The case of this name."""
    part = key.partition(":")[0]
    return next(case for case in PARTS[part]() if case.key == key)
