"""What the two limits cost: late feedback under several values of in_flight, and what max_debt buys.

`python -m benchmarks.limits` prints both tables. Every method sees the same worlds (paired seeds); costs are shares of the
optimum, with a 95% interval over seeds; beside each the debt at the end and the largest at any time.
"""

import argparse
import math
import re
from collections import deque
from typing import Any, NamedTuple

import numpy as np

import suffice
from suffice import Menu, Rule, Selector

SEEDS, HOLD_OUT = 6, 100  # the seeds of the tables begin here; nothing was tuned on them


class World(NamedTuple):
    """Options, what they cost and how often each succeeds; the last is the safe one."""

    name: str
    target: float
    costs: dict[str, float]
    rates: dict[str, float]
    order: str | None = None

    def menu(self) -> Menu:
        return Menu(self.costs, safe=list(self.costs)[-1], order=self.order)  # type: ignore[arg-type]

    def optimum(self) -> float:
        return suffice.optimum(list(self.rates.values()), list(self.costs.values()), self.target).cost


def router(target: float) -> World:
    """Two models and a person; the first fails twice as often as allowed, the second half as often."""
    allowed = 1.0 - target
    rates = {"small": 1 - 2 * allowed, "large": 1 - 0.5 * allowed, "a person": 1.0}
    return World(f"router at {target}", target, {"small": 0.02, "large": 0.2, "a person": 1.0}, rates)


WORLDS = (
    World("chain .85 .95 at .01 .02", 0.9, {"a": 0.01, "b": 0.02, "all": 1.0}, {"a": 0.85, "b": 0.95, "all": 1.0}, "chain"),
    World(
        "chain .9 .97 .995 at .01 .03 .06", 0.99, {"a": 0.01, "b": 0.03, "c": 0.06, "all": 1.0},
        {"a": 0.9, "b": 0.97, "c": 0.995, "all": 1.0}, "chain",
    ),
    World(
        "chain of five at .02 to .4", 0.95, {"a": 0.02, "b": 0.05, "c": 0.1, "d": 0.2, "e": 0.4, "all": 1.0},
        {"a": 0.6, "b": 0.8, "c": 0.9, "d": 0.96, "e": 0.99, "all": 1.0}, "chain",
    ),
    router(0.9),
)  # fmt: skip


class Run(NamedTuple):
    cost: float  # per decision, as a share of the optimum
    debt: float
    largest: float
    forced: float  # the share of decisions
    named: int  # the largest in_flight that an event named; 0 if none did


def play(world: World, steps: int, outstanding: int, seed: int, **limits: Any) -> Run:
    """A run in which so many decisions are always outstanding."""
    events: list[suffice.Event] = []
    selector = Selector(world.menu(), world.target, seed=seed, on_event=events.append, **limits)
    selector.compile()
    luck, waiting, largest, cost = np.random.default_rng(seed).random(steps), deque[Any](), -math.inf, 0.0
    for step in range(steps):
        decision = selector.ask()
        cost += world.costs[decision.option]
        waiting.append((decision, bool(luck[step] < world.rates[decision.option])))
        if len(waiting) >= outstanding:
            selector.tell(*waiting.popleft())
            largest = max(largest, selector.debt)
    named = [int(found[1]) for event in events if (found := re.search(r"in_flight=(\d+)", event.text))]
    forced = selector.engine.sum_of("forced") / steps
    return Run(cost / steps / world.optimum(), selector.debt, largest, forced, max(named, default=0))


def over_seeds(world: World, steps: int, outstanding: int, **limits: Any) -> list[Run]:
    return [play(world, steps, outstanding, HOLD_OUT + seed, **limits) for seed in range(SEEDS)]


def cell(runs: list[Run]) -> str:
    """The mean cost with its interval, the mean debt at the end and the largest debt of any run."""
    costs = np.array([run.cost for run in runs])
    half = 2.571 * costs.std(ddof=1) / math.sqrt(len(costs))  # Student's t with 5 degrees of freedom
    debt, largest = np.mean([run.debt for run in runs]), max(run.largest for run in runs)
    return f"{costs.mean():.3f} ± {half:.3f} ({debt:.0f}, {largest:.1f})"


def late(steps: int) -> list[str]:
    """Late feedback: a row for each target and number of decisions that are always outstanding."""
    rows = [
        "| target | outstanding | defaults | forced | `in_flight=0` | the number the event names | rule of 1154a8b |",
        "|---|---|---|---|---|---|---|",
    ]
    for target in (0.9, 0.99):
        world = router(target)
        for outstanding in (10, 100, 1000):
            default = over_seeds(world, steps, outstanding)
            none = over_seeds(world, steps, outstanding, in_flight=0)
            number = max(run.named for run in (none if outstanding <= 200 else default))
            named = over_seeds(world, steps, outstanding, in_flight=number)
            old = over_seeds(world, steps, outstanding, rule=Rule())
            forced = np.mean([run.forced for run in default])
            rows.append(
                f"| {target} | {outstanding} | {cell(default)} | {forced:.1%} | {cell(none)} | {number}: {cell(named)} | "
                f"{cell(old)} |"
            )
            print(rows[-1], flush=True)
    return rows


def max_debts() -> list[str]:
    """What max_debt buys, with prompt outcomes."""
    rows = ["| world | decisions | `max_debt=0` | 1 | 5 | 20 |", "|---|---|---|---|---|---|"]
    for world in WORLDS:
        for steps in (100, 1_000, 10_000):
            cells = [cell(over_seeds(world, steps, 1, max_debt=owed)) for owed in (0, 1, 5, 20)]
            rows.append(f"| {world.name} | {steps:,} | {' | '.join(cells)} |")
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--only", choices=["late", "max_debt"])
    asked = parser.parse_args()
    suffice.warmup()
    print("cost / optimum ± 95% (debt at the end, largest debt)")
    if asked.only != "max_debt":
        late(asked.steps)
    if asked.only != "late":
        max_debts()


if __name__ == "__main__":
    main()
