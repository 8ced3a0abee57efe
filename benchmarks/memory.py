"""What each memory costs through a shift, and where nothing shifts. Run with `python -m benchmarks.memory`.

Prints the tables of docs/memory.md and draws its figure. What is counted is the pseudo-regret of each phase: what the arms
played cost in the mean, successes at the shadow price of that phase's own truth, above its optimum. Luck is not in it.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice import Learning, Selector, optimum, simulate
from suffice.lab.drawing import Sheet, twins
from suffice.lab.statistics import mean
from suffice.lab.streams import LabelRanks, Phases, PredictionApis, Rides, UnitPoints
from suffice.lab.streams.shapes import Beta

Floats = NDArray[np.float64]

MEMORIES: Final = ("full", "reset", "window 2000", "discount 2000")
# Okabe and Ito's, as in the lab; dashes tell them apart again, for print without colour.
LOOKS: Final = {
    "full": ("#0072B2", "-"),
    "reset": ("#009E73", "-"),
    "window 2000": ("#D55E00", "--"),
    "discount 2000": ("#CC79A7", ":"),
}
FIGURES: Final = Path(__file__).parent.parent / "docs" / "figures"


class World(NamedTuple):
    """Streams one after the other, how long each lasts, and the target."""

    name: str
    phases: tuple[tuple[Any, int], ...]
    target: float

    @property
    def length(self) -> int:
        return sum(length for _, length in self.phases)


def points(a: float, b: float) -> UnitPoints:
    return UnitPoints(distribution=Beta(a, b))


def outage(task: str, api: int) -> PredictionApis:
    """The APIs of a task with one of them always wrong: each pattern becomes the one without it."""
    stream = PredictionApis(task)
    moved = np.zeros_like(stream.frequency)
    for pattern, share in enumerate(stream.frequency.tolist()):
        moved[pattern & ~(1 << api)] += share
    stream.frequency = moved
    return stream


def shifting() -> list[World]:
    easy, hard = LabelRanks.cifar100(most=5), LabelRanks.cifar100(least=80)
    return [
        World(
            "Beta(2,5) → (5,2) → (2,5)", ((points(2, 5), 10_000), (points(5, 2), 10_000), (points(2, 5), 20_000)), 0.8
        ),
        World(
            "Beta(20,50) → (2,5) → (20,50)",
            ((points(20, 50), 10_000), (points(2, 5), 10_000), (points(20, 50), 20_000)),
            0.8,
        ),
        World(
            "SHOP, Amazon out",
            ((PredictionApis("SHOP"), 10_000), (outage("SHOP", 1), 10_000), (PredictionApis("SHOP"), 20_000)),
            0.9,
        ),
        World("CIFAR-100, easy → hard → easy", ((easy, 10_000), (hard, 5_000), (easy, 10_000)), 0.8),
        World("Beta(2 + 0.3i, 5), i < 10", tuple((points(2 + 0.3 * i, 5), 4_000) for i in range(10)), 0.8),
    ]


def stationary() -> list[World]:
    length = 100_000
    return [
        World("Beta(2,5), 0.8", ((points(2, 5), length),), 0.8),
        World("IMDB, 0.95", ((PredictionApis("IMDB"), length),), 0.95),
        World("CIFAR-100, 99 options, 0.8", ((LabelRanks.cifar100(tuple(range(1, 100))), length),), 0.8),
        World("rides, 0.9", ((Rides(), length),), 0.9),
    ]


class Found(NamedTuple):
    """The pseudo-regret after each step, in one row per seed; and the most that was ever owed."""

    regret: Floats
    largest_debt: float


def run(world: World, memory: str, chooser: str, seeds: int) -> Found:
    """All seeds of one selector in a world; the same seed is the same world for all of them."""
    stream: Any = Phases(*world.phases) if len(world.phases) > 1 else world.phases[0][0]
    gaps = []
    for source, length in world.phases:
        success, cost = source.truth()
        best = optimum(success, cost, world.target)
        gaps.append((length, cost - best.price * success - (best.cost - best.price * world.target)))

    def one(seed: int) -> tuple[Floats, float]:
        selector = Selector(stream.menu, world.target, learning=Learning(memory=memory, chooser=chooser), seed=seed)
        trace = simulate(selector, stream, world.length, seed)
        steps, begins = [], 0
        for length, gap in gaps:
            steps.append(gap[trace.arms[begins : begins + length]])
            begins += length
        return np.cumsum(np.concatenate(steps)), trace.largest_debt

    with ThreadPoolExecutor() as pool:
        rows = list(pool.map(one, range(seeds)))
    largest = max(debt for _, debt in rows)
    if largest > world.target:
        raise RuntimeError(f"behind by {largest} in {world.name}: the promise is broken")
    return Found(np.array([row for row, _ in rows]), largest)


def per_phase(world: World, found: Found) -> Floats:
    """The regret of each phase, in one row per seed; of many short phases the sum alone."""
    ends = np.cumsum([length for _, length in world.phases])
    if len(world.phases) > 4:
        ends = ends[-1:]
    return np.diff(found.regret[:, ends - 1], axis=1, prepend=0.0)


def shown(values: Floats) -> str:
    """A mean and how far its 95% interval reaches."""
    found = mean(values)
    return f"{found.value:,.0f} ± {found.high - found.value:,.0f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def draw(curves: dict[str, dict[str, Floats]], world: World, folder: Path) -> None:
    """The regret over time through a shift: a panel per chooser, the mean over seeds of each memory. Light and dark."""

    def paint(sheet: Sheet) -> None:
        panels = sheet.panels("memory", len(curves), width=4.2, height=3.2)
        for panel, (chooser, lines) in zip(panels, curves.items(), strict=True):
            for memory, rows in lines.items():
                colour, dashes = LOOKS[memory]
                steps = np.arange(0, rows.shape[1], 50)
                panel.plot(steps, rows.mean(axis=0)[steps], color=colour, linestyle=dashes, linewidth=1.6, label=memory)
            for end in np.cumsum([length for _, length in world.phases])[:-1].tolist():
                panel.axvline(end, color=sheet.colour("target"), linewidth=0.8, linestyle=":")
            panel.set_title(f"{world.name}, {chooser}", loc="left", fontsize=9, color=panel.title.get_color())
            panel.set_xlabel("step (dotted: the world shifts)")
            panel.set_xticks(range(0, world.length + 1, 10_000))
            panel.xaxis.set_major_formatter("{x:,.0f}")
            panel.yaxis.set_major_formatter("{x:,.0f}")
        panels[0].set_ylabel("pseudo-regret so far")
        panels[0].legend(loc="upper left", fontsize=8)

    folder.mkdir(parents=True, exist_ok=True)
    twins(paint, folder, png=False)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description="What each memory costs.")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=FIGURES, help="where the figure goes")
    given = parser.parse_args()
    start = time.monotonic()

    def say(what: str) -> None:
        print(f"{time.monotonic() - start:6.1f} s  {what}", file=sys.stderr, flush=True)

    curves: dict[str, dict[str, Floats]] = {}
    for title, worlds in (("shifting", shifting()), ("stationary", stationary())):
        for chooser in ("thompson", "optimist"):
            rows = []
            for place, world in enumerate(worlds):
                for memory in MEMORIES:
                    found = run(world, memory, chooser, given.seeds)
                    if title == "shifting" and place == 0:
                        curves.setdefault(chooser, {})[memory] = found.regret
                    phases = per_phase(world, found)
                    cells = [shown(column) for column in phases.T] if phases.shape[1] > 1 else []
                    cells += [""] * (3 - len(cells)) if title == "shifting" else []
                    rows.append([world.name, memory, *cells, shown(found.regret[:, -1]), f"{found.largest_debt:.2f}"])
                    say(f"{chooser}: {' | '.join(rows[-1])}")
            middle = ["first phase", "second", "third"] if title == "shifting" else []
            head = ["world", "memory", *middle, "all" if middle else "regret", "largest debt"]
            print(f"\n{title}, chooser {chooser}, {given.seeds} seeds\n\n{table(head, rows)}\n", flush=True)
    draw(curves, shifting()[0], given.out)
    say("drew memory.svg and memory-dark.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
