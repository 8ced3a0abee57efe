"""Theorem 1 under attack: an adversary that knows the price tries to make the worst window of every method."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from suffice.kernels.rows import Floats
from suffice.lab.experiment import Experiment, Numbers, Settings, Task
from suffice.lab.paper_methods import make
from suffice.lab.verdict import OURS, Estimate, Verdict, judge
from suffice.menu.menu import Menu
from suffice.promise.rules import MAX_DEBT, MAX_SURPLUS
from suffice.simulator import simulate

TACTICS = ("pump", "spoil", "tease", "coin", "blind")
BASE: Settings = {"target": 0.8, "scales": [1, 20], "methods": ["paper", "projected", "suffice"]}


class Adversary:
    """Six options whose outcomes are decided after the price is known; the safe option succeeds and the skip fails.

    pump: all succeed until the method skips (price at 0), then all fail until it plays the safe option (price at the cap),
    and so on: the widest swing possible. spoil: all fail. tease: fail below half of the cap, succeed above. coin: like pump,
    but one in ten fails. blind: all succeed, then all fail for the second half, whatever the price.
    """

    def __init__(self, tactic: str, target: float, horizon: int) -> None:
        self.menu = Menu({f"option {k}": k / 8 for k in range(1, 7)}, safe="all", skip="none", safe_cost=1.0)
        self.tactic, self.horizon, self.cap = tactic, horizon, 1.0 / (1.0 - target)
        self.generous = True

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> list[tuple[int, float]]:
        return list(zip(range(start, start + count), rng.random(count).tolist(), strict=True))

    def outcome(self, latent: tuple[int, float], arm: int, price: float) -> tuple[float, float]:
        if arm == 0 or arm == self.menu.n_arms - 1:
            return float(arm > 0), float(arm > 0)
        step, chance = latent
        return float(self._succeeds(step, chance, price)), float(self.menu.known_cost(arm) or 0.0)

    def _succeeds(self, step: int, chance: float, price: float) -> bool:
        if self.tactic == "spoil":
            return False
        if self.tactic == "blind":
            return step < self.horizon // 2
        if self.tactic == "tease":
            return price >= self.cap / 2
        if price <= 0.02 * self.cap:
            self.generous = False
        elif price >= 0.98 * self.cap:
            self.generous = True
        return self.generous != (self.tactic == "coin" and chance < 0.1)


class Attack(Experiment):
    """The most that any window's successes strayed from what they should be, over what the theorem allows."""

    name: ClassVar[str] = "attack"
    place: ClassVar[int] = 5
    title: ClassVar[str] = "Theorem 1 under attack"
    about: ClassVar[str] = (
        "Five hostile tactics, each of which knows the price before it decides which options succeed. The worst window is the "
        "one whose successes stray most from φ times its length; it is divided by the bound that holds for every window: "
        "Λ/η + 2 for the paper, √N + 1 for suffice. A projected price has no bound; it is held against the paper's."
    )
    levels: ClassVar = {
        "quick": {**BASE, "horizon": 4000},
        "default": {**BASE, "horizon": 20_000},
        "deep": {**BASE, "horizon": 200_000},
    }

    def tasks(self, settings: Settings) -> list[Task]:
        labels = [
            (m, a) for m in settings["methods"] for a in (settings["scales"] if m in ("paper", "projected") else [1])
        ]
        return [
            {"run": f"attack/{method}/a={scale}/{tactic}", "method": method, "scale": scale, "tactic": tactic,
             "target": settings["target"], "horizon": settings["horizon"]}
            for method, scale in labels for tactic in TACTICS
        ]  # fmt: skip

    @staticmethod
    def work(task: Task) -> Numbers:
        horizon, target = task["horizon"], task["target"]
        stream = Adversary(task["tactic"], target, horizon)
        trace = simulate(make(task["method"], stream.menu, target, horizon, task["scale"]), stream, horizon)
        first_round = 6 if task["method"] in ("paper", "projected") else 0  # a first round is not counted
        owed = np.concatenate([[0.0], np.cumsum(target - trace.successes[first_round:])]).round(9)
        low = np.minimum.accumulate(owed)
        high = np.maximum.accumulate(owed)
        count = np.arange(owed.size)
        if task["method"] in ("paper", "projected"):
            step = task["scale"] / horizon**0.5
            bound: Floats | float = 1.0 / (1.0 - target) / step + 2.0
        else:
            surplus = np.minimum(np.sqrt(np.maximum(count, 1)), MAX_SURPLUS)  # at the window's end
            bound = MAX_DEBT + surplus + 1.0 - target
        strays = np.maximum(owed - low, high - owed)
        return {"method": task["method"], "scale": task["scale"], "tactic": task["tactic"], "rate": trace.rate,
                "cost": trace.mean_cost, "debt": trace.debt, "largest_debt": float(owed.max()),
                "worst_window": float(strays.max()), "by_bound": float((strays / bound).max())}  # fmt: skip

    def collect(self, settings: Settings, results: Sequence[Numbers]) -> Numbers:
        return {"target": settings["target"], "horizon": settings["horizon"], "rows": list(results)}

    def verdicts(self, numbers: Numbers) -> list[Verdict]:
        worst = {
            method: max((row["by_bound"] for row in numbers["rows"] if row["method"] == method), default=0.0)
            for method in ("paper", "projected", "suffice")
        }
        behind = max(row["largest_debt"] for row in numbers["rows"] if row["method"] == "suffice")
        exact = Estimate.exact
        return [
            judge("bound holds", "Theorem 1", "no window strays by more than (Λ+2η)/η, on any input",
                  "worst window found, over the bound", exact(worst["paper"]), at_most=1.0),
            judge("bound is tight", "Theorem 1", "an adversary comes close to the bound",
                  "worst window found, over the bound", exact(worst["paper"]), at_least=0.5),
            judge("projection breaks it", "Failure of projected dual updates", "a projected price hides a linear debt",
                  "worst window found, over the same bound", exact(worst["projected"]), at_least=1.0),
            judge("suffice, windows", OURS,
                  f"no window strays by more than {MAX_DEBT} + min(√N, {MAX_SURPLUS}) + 1 − φ",
                  "worst window found, over the bound", exact(worst["suffice"]), at_most=1.0),
            judge("suffice, never far behind", OURS, f"debt is at most {MAX_DEBT} at every step", "largest debt",
                  exact(behind), at_most=MAX_DEBT),
        ]  # fmt: skip
