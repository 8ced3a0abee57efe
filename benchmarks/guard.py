"""What the guard costs a good chooser and saves with a bad one: `python -m benchmarks.guard`, some eight minutes.

The regret is that of the plays, Σ (cost − λ*·success) in their true means, against the optimum: no luck of the outcomes in it.
"""

import argparse
import statistics
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import suffice
from suffice.kernels.compiler import compiled
from suffice.lab.streams import LabelRanks, PredictionApis, Rides, UnitPoints
from suffice.learning.arm_table import catch_up, fit_is_due, learn, propose
from suffice.learning.guard import follows
from suffice.learning.tables import table_at
from suffice.learning.thompson import fit
from suffice.promise.account import limit
from suffice.promise.record import FREE
from suffice.selector.compiled_calls import parts_at
from suffice.selector.runs import charge_of, judged, step_account
from suffice.selector.verbs import decide, is_open, lesson_of, price_of, role_of
from suffice.simulator import compiled_world

KAPPAS = (0.03, 0.1, 0.3, 1.0, 3.0, None)
WORLDS: dict[str, tuple[Callable[[], Any], float]] = {
    "intervals, Beta(2,5)": (UnitPoints, 0.8),
    "APIs, IMDB": (lambda: PredictionApis("IMDB"), 0.95),
    "APIs, COMMAND": (lambda: PredictionApis("COMMAND"), 0.95),
    "CIFAR-100 top-k, 99 options": (lambda: LabelRanks.cifar100(tuple(range(1, 100))), 0.8),
    "rides": (Rides, 0.9),
}


class Row(NamedTuple):
    """One world at one horizon: per κ the mean regret, its standard error, and the share of steps the guard took over."""

    name: str
    steps: int
    cells: list[tuple[float, float, float]]


class Dearest:
    """The worst that can be proposed: the safe option, always."""

    name = "dearest"

    def choose(self, price: float, bounds: Any, allowed: Any) -> int:
        return len(bounds.upper) - 1


def bound_in(address: int, latents: Any, low: Any, high: Any, costs: Any, units: Any, prices: Any, plays: Any) -> int:
    """A run as `selector.runs.play` does it, but for what it notes: plays per arm, and how often the guard bound."""
    header, account, pricing, main = parts_at(address, 0)
    table = table_at(header.table)
    bound = 0
    for step in range(len(latents)):
        now, arm = limit(account), -1
        price = price_of(account, pricing, main, False, now)
        if now == FREE and not follows(table.head):
            bound += 1
        if is_open(now, table.head):
            if fit_is_due(table):
                fit(table)
            arm = propose(table, max(0.0, price))
        arm = decide(now, table.head, arm)
        header.next_id += 1
        success, cost = judged(latents[step], arm, low, high, units), charge_of(latents[step], arm, costs, prices)
        step_account(account, role_of(table.head, arm), success)
        lesson = lesson_of(pricing, arm, success, cost, price, True, True, True)
        due = learn(table, main, pricing, account, lesson, False)
        if due > 0:
            catch_up(table, due, arm, pricing.now)
        plays[arm] += 1
    return bound


def regret_of(stream: Any, target: float, plays: NDArray[np.int64]) -> float:
    """What these plays cost above the optimum on average, missing and surplus successes at their shadow price."""
    success, cost = stream.truth()
    best = suffice.optimum(success, cost, target)
    return float(plays @ (cost - best.price * success) - plays.sum() * (best.cost - best.price * target))


def guarded(stream: Any, target: float, kappa: float | None, steps: int, seed: int) -> tuple[float, float]:
    """The default selector's regret with this κ, and the share of steps on which the guard bound."""
    selector = suffice.Selector(stream.menu, target, learning=suffice.Learning(guard=kappa))
    selector.reseed(seed)
    world = compiled_world(selector, stream)
    if world is None:
        raise SystemExit("this needs the extra `fast`: pip install '.[fast]'")
    latents = np.asarray(stream.draw(np.random.default_rng(seed), steps), dtype=np.float64)
    plays = np.zeros(stream.menu.n_arms, dtype=np.int64)
    bound = compiled(bound_in)(selector._address, latents, *world, plays)
    return regret_of(stream, target, plays), bound / steps


def hostile(stream: Any, target: float, kappa: float | None, steps: int, seed: int) -> float:
    """The regret with a chooser that always proposes the safe option."""
    selector = suffice.Selector(stream.menu, target, learning=suffice.Learning(guard=kappa, chooser=Dearest()))
    run = suffice.summarize(selector, stream, steps, seed)
    return regret_of(stream, target, np.array(run.plays))


def good(scale: int) -> Iterator[Row]:
    """The default selector."""
    for name, (make, target) in WORLDS.items():
        stream = make()
        horizons = [(100_000 // scale, 8)] + [(1_000_000 // scale, 4)] * isinstance(stream, UnitPoints)
        for steps, seeds in horizons:
            row = Row(name, steps, [])
            for kappa in KAPPAS:
                runs = [guarded(stream, target, kappa, steps, seed) for seed in range(seeds)]
                regrets = [regret for regret, _ in runs]
                error = statistics.stdev(regrets) / len(regrets) ** 0.5
                row.cells.append((statistics.mean(regrets), error, statistics.mean(share for _, share in runs)))
            yield row


def bad(scale: int) -> Iterator[Row]:
    """The chooser that proposes the safe option."""
    for name, (make, target) in WORLDS.items():
        stream = make()
        steps = 10_000 // scale
        yield Row(name, steps, [(hostile(stream, target, kappa, steps, 0), 0.0, 0.0) for kappa in KAPPAS])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard", description="What the guard costs and saves.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the steps")
    scale = 10 if parser.parse_args().quick else 1
    heads = " | ".join("none" if kappa is None else f"{kappa:g}" for kappa in KAPPAS)
    print(f"| stream | T | κ = {heads} |\n|---|---|{'---|' * len(KAPPAS)}")
    for row in good(scale):
        cells = [f"{mean:,.0f} ± {error:,.0f} ({share:.1%})" for mean, error, share in row.cells]
        print(f"| {row.name} | {row.steps:,} | {' | '.join(cells)} |", flush=True)
    print(f"\n| stream | T | κ = {heads} |\n|---|---|{'---|' * len(KAPPAS)}")
    for row in bad(scale):
        print(f"| {row.name} | {row.steps:,} | {' | '.join(f'{mean:,.0f}' for mean, _, _ in row.cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
