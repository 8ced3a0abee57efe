"""The time of a decision with a context, beside Vowpal Wabbit in the same run: `python -m benchmarks.context`.

All take turns in short blocks, and the median block counts; CPU time of this process. Each decision comes with the same 20
numbers, its outcome is told at once, and each contestant learns from all of them. Vowpal Wabbit is given the price of a
success, holds no rate, and is timed in both of its forms: one set of weights per action, the quickest there is
(`--cb_explore`), and a line of text per action (`--cb_explore_adf`). Texts are made within the time, as a user has to.
"""

import argparse
import statistics
import time
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

import suffice

FIELDS, TARGET, PRICE = 20, 0.9, 1.5
now = time.process_time


class Entrant(ABC):
    """One way to decide with a context."""

    label: ClassVar[str]

    def __init__(self, arms: int, rows: list[dict[str, float]], luck: list[float]) -> None:
        self.arms, self.rows, self.luck, self.at = arms, rows, luck, 0
        self.costs = [0.05 + 0.4 * arm / arms for arm in range(arms)]
        self.open()

    @abstractmethod
    def open(self) -> None: ...

    @abstractmethod
    def step(self, row: dict[str, float], luck: float) -> None: ...

    def works(self, row: dict[str, float], luck: float, arm: int) -> bool:
        return luck < 0.55 + 0.4 * arm / self.arms + 0.3 * (row["f0"] - 0.5)

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.at = (self.at + 1) % len(self.rows)
            self.step(self.rows[self.at], self.luck[self.at])


class Ours(Entrant):
    label = 'suffice, model="auto"'

    def open(self) -> None:
        menu = suffice.Menu(dict(enumerate(self.costs)), safe="all", skip="none", safe_cost=1.0)
        self.selector = suffice.Selector(menu, TARGET, model="auto")

    def step(self, row: dict[str, float], luck: float) -> None:
        decision = self.selector.ask(context=row)
        self.selector.tell(
            decision, decision.role == 1 or (decision.role == 0 and self.works(row, luck, decision.arm - 1))
        )


class Vowpal(Entrant):
    label = "Vowpal Wabbit, --cb_explore"

    def open(self) -> None:
        import vowpalwabbit

        self.workspace: Any = vowpalwabbit.Workspace(f"--cb_explore {self.arms} --epsilon 0.05 --quiet")
        self.draw = iter(np.random.default_rng(1).random(10**7).tolist()).__next__

    def step(self, row: dict[str, float], luck: float) -> None:
        text = "| " + " ".join([f"{name}:{value:.6g}" for name, value in row.items()])
        shares = self.workspace.predict(text)
        arm = picked(shares, self.draw())
        loss = self.costs[arm] - PRICE * self.works(row, luck, arm)
        self.workspace.learn(f"{arm + 1}:{loss:.6g}:{shares[arm]:.6g} {text}")


class VowpalLines(Vowpal):
    label = "Vowpal Wabbit, --cb_explore_adf"

    def open(self) -> None:
        super().open()
        import vowpalwabbit

        self.workspace = vowpalwabbit.Workspace("--cb_explore_adf -q sa --epsilon 0.05 --quiet")
        self.lines = [f"|a arm{arm}" for arm in range(self.arms)]

    def step(self, row: dict[str, float], luck: float) -> None:
        shared = "shared |s " + " ".join([f"{name}:{value:.6g}" for name, value in row.items()])
        shares = self.workspace.predict([shared, *self.lines])
        arm = picked(shares, self.draw())
        loss = self.costs[arm] - PRICE * self.works(row, luck, arm)
        lines = self.lines.copy()
        lines[arm] = f"0:{loss:.6g}:{shares[arm]:.6g} {lines[arm]}"
        self.workspace.learn([shared, *lines])


def picked(shares: list[float], draw: float) -> int:
    """An action by its share."""
    total = 0.0
    for arm, share in enumerate(shares):
        total += share
        if draw < total:
            return arm
    return len(shares) - 1


def measure(
    arms: int, kinds: tuple[type[Entrant], ...] = (Ours, Vowpal, VowpalLines), rounds: int = 60, block: int = 50,
    warm: int = 4000,
) -> dict[str, list[float]]:  # fmt: skip
    """Microseconds per decision, block by block."""
    rng = np.random.default_rng(0)
    rows = [{f"f{place}": value for place, value in enumerate(row)} for row in rng.random((5000, FIELDS)).tolist()]
    luck = rng.random(5000).tolist()
    suffice.warmup()
    entrants = [kind(arms, rows, luck) for kind in kinds]
    for one in entrants:
        one.steps(warm)
    times: dict[str, list[float]] = {one.label: [] for one in entrants}
    for turn in range(rounds):
        for one in entrants[turn % len(entrants) :] + entrants[: turn % len(entrants)]:
            start = now()
            one.steps(block)
            times[one.label].append((now() - start) / block * 1e6)
    return times


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and no menu of 1,000")
    quick = parser.parse_args().quick
    for arms in (16,) if quick else (16, 1000):
        times = measure(
            arms, rounds=20 if quick else 60, block=50 if arms == 16 else 5, warm=4000 if arms == 16 else 600
        )
        print(f"{arms} options, {FIELDS} numbers")
        yardstick = statistics.median(times[Vowpal.label])
        for label, blocks in times.items():
            median = statistics.median(blocks)
            print(f"  {label:34} {median:8.1f} us a decision, {median / yardstick:5.2f}x")


if __name__ == "__main__":
    main()
