"""What a promise to each group costs, beside one promise to all: `python -m benchmarks.groups`.

Prediction APIs with a person to fall back on (FrugalML's recordings), in 1, 10, 100 and 1,000 groups whose sizes follow
Zipf's law. One group is the plain selector. All that is learned is shared, unless --alone gives each group a selector of its
own. Costs stand beside what was owed: the largest debt of any group after any of its outcomes is at most the target.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Final, NamedTuple

import numpy as np

import suffice
from suffice import Decision, Selector, optimum
from suffice.lab.statistics import mean
from suffice.lab.streams import PredictionApis

GROUPS: Final = (1, 10, 100, 1000)
STEPS: Final = (100_000, 1_000_000)


class Case(NamedTuple):
    """One run."""

    task: str
    target: float
    steps: int
    groups: int
    seed: int
    alone: bool = False


class Found(NamedTuple):
    """What it came to."""

    cost: float  # per decision
    rate: float
    largest_debt: float  # of any group, after any outcome
    debt: float  # of all groups, at the end
    smallest: int  # decisions of the smallest group


def zipf(groups: int, steps: int, rng: np.random.Generator) -> list[int]:
    """The group of each decision: the k-th is 1/k times as likely as the first."""
    weights = 1.0 / np.arange(1, groups + 1)
    chosen: list[int] = rng.choice(groups, size=steps, p=weights / weights.sum()).tolist()
    return chosen


class Ones:
    """The selectors of one case: one with groups, or one for each."""

    def __init__(self, case: Case, stream: PredictionApis) -> None:
        self.names = None if case.groups == 1 or case.alone else [f"group {one}" for one in range(case.groups)]
        count = case.groups if case.alone else 1
        self.selectors = [Selector(stream.menu, case.target, seed=case.seed + 1000 * one) for one in range(count)]

    def ask(self, group: int) -> Decision:
        if self.names is None:
            return self.selectors[group].ask()
        return self.selectors[0].ask(group=self.names[group])

    def tell(self, group: int, decision: Decision, success: float) -> None:
        self.selectors[group if self.names is None else 0].tell(decision, success)


def run(case: Case) -> Found:
    """The same seed gives the same world to each method."""
    suffice.warmup()
    stream, rng = PredictionApis(case.task), np.random.default_rng(case.seed)
    patterns = stream.draw(rng, case.steps).tolist()
    chosen = zipf(case.groups, case.steps, rng)
    table = stream.table()
    successes, costs = table.successes.tolist(), table.costs.tolist()
    ones = Ones(case, stream)
    outcomes, succeeded = [0] * case.groups, [0.0] * case.groups
    spent = largest = 0.0
    for pattern, group in zip(patterns, chosen, strict=True):
        decision = ones.ask(group)
        success = successes[pattern][decision.arm]
        ones.tell(group, decision, success)
        spent += costs[pattern][decision.arm]
        outcomes[group] += 1
        succeeded[group] += success
        largest = max(largest, case.target * outcomes[group] - succeeded[group])
    if largest > case.target + 1e-9:
        raise RuntimeError(f"a group is behind by {largest}: the promise is broken")
    total = sum(succeeded)
    return Found(spent / case.steps, total / case.steps, largest, case.target * case.steps - total, min(outcomes))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rows))


def row(found: list[Found], pooled: list[Found], best: float) -> list[str]:
    """Means over seeds; the extra cost is of the same worlds in one promise, seed by seed."""
    cost = mean(np.array([one.cost for one in found]))
    extra = mean(np.array([one.cost / other.cost - 1.0 for one, other in zip(found, pooled, strict=True)]))
    debts = [one.debt for one in found]
    return [
        f"{cost.value:.4f} ± {cost.high - cost.value:.4f}",
        f"{cost.value / best:.3f}",
        "" if found is pooled else f"{extra.value:+.1%} ± {extra.high - extra.value:.1%}",
        f"{np.mean([one.rate for one in found]):.2%}",
        f"{max(one.largest_debt for one in found):.2f}",
        f"{np.mean(debts):,.0f}",
        f"{min(one.smallest for one in found):,}",
    ]


HEAD: Final = (
    "decisions", "groups", "cost per decision", "of the optimum", "beside one promise", "succeeded", "largest debt of a group",
    "debt of all at the end", "smallest group",
)  # fmt: skip


def main() -> int:
    """Run all cases and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.groups", description="What groups cost.")
    parser.add_argument("--task", default="COMMAND")
    parser.add_argument("--target", type=float, default=0.95)
    parser.add_argument("--steps", type=int, nargs="+", default=STEPS)
    parser.add_argument("--groups", type=int, nargs="+", default=GROUPS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--alone", action="store_true", help="a selector for each group, which shares nothing")
    parser.add_argument("--workers", type=int, default=None)
    given = parser.parse_args()
    best = optimum(*PredictionApis(given.task).truth(), given.target).cost
    start, rows = time.monotonic(), []
    with ProcessPoolExecutor(given.workers) as pool:
        for steps in given.steps:
            pooled: list[Found] = []
            for groups in sorted({1, *given.groups}):
                alone = given.alone and groups > 1
                cases = [Case(given.task, given.target, steps, groups, seed, alone) for seed in range(given.seeds)]
                found = list(pool.map(run, cases))
                pooled = pooled or found
                rows.append([f"{steps:,}", f"{groups:,}", *row(found, pooled, best)])
                print(f"{time.monotonic() - start:6.0f} s  {' | '.join(rows[-1])}", file=sys.stderr, flush=True)
    print(f"{given.task} at {given.target:g}, {given.seeds} seeds; the optimum costs {best:.4f}\n\n{table(HEAD, rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
