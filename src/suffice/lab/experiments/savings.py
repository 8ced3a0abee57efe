"""Ride-hailing and priced APIs: what is saved against the safe option, and against the best fixed option in hindsight."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np

from suffice.best_mix import Optimum, optimum
from suffice.kernels.rows import Floats
from suffice.lab import run_results, statistics
from suffice.lab.experiment import Canvas, Experiment, Numbers, Settings, Task
from suffice.lab.paper_methods import make
from suffice.lab.streams import Phases, PredictionApis, Rides, RidesGrid, Stream
from suffice.lab.streams.apis import TASKS
from suffice.lab.streams.base import truth_of
from suffice.lab.verdict import OURS, Estimate, Verdict, judge

BASE: Settings = {"target": 0.9, "seeds": 20, "methods": ["suffice", "paper"], "scale": 5}
SHIFTS = [["IMDB", "YELP"], ["YELP", "IMDB"], ["SHOP", "WAIMAI"], ["FLUENT", "DIGIT"], ["RAFDB", "FERPLUS"]]


class Savings(Experiment):
    """Twelve tasks of four APIs each, rides by one threshold and by two, and shifts from one task to another."""

    name: ClassVar[str] = "savings"
    place: ClassVar[int] = 8
    title: ClassVar[str] = "Ride-hailing and priced APIs"
    about: ClassVar[str] = (
        "Which of four prediction APIs to call (FrugalML's recordings; at least one must be right; the safe option is "
        "asking a person, at three times the price of all four), and which drivers to probe. Costs are shares of what the "
        "safe option costs. The best fixed option in hindsight is the cheapest single one whose true rate meets the target: "
        "it is not known beforehand, and may be the safe option itself. A mix of two can be cheaper still (C*). In the "
        "shifts the task changes in the middle without notice, and both comparators are fixed for the whole run. The paper's "
        "step is 5/√T."
    )
    levels: ClassVar = {
        "quick": {**BASE, "horizon": 20_000},
        "default": {**BASE, "horizon": 100_000},
        "deep": {**BASE, "horizon": 1_000_000},
    }

    def tasks(self, settings: Settings) -> list[Task]:
        worlds = [*TASKS, "rides", "rides-grid", *("→".join(pair) for pair in SHIFTS)]
        return [
            {"run": f"savings/{world}/{method}/seed={seed}", "world": world, "method": method, "seed": seed,
             **{key: settings[key] for key in ("target", "horizon", "scale")}}
            for world in worlds for method in settings["methods"] for seed in range(settings["seeds"])
        ]  # fmt: skip

    @staticmethod
    def work(task: Task) -> Numbers:
        stream, best, _ = world_of(task["world"], task["target"], task["horizon"])
        method = make(task["method"], stream.menu, task["target"], task["horizon"], task["scale"])
        numbers = run_results.measure(method, stream, task["horizon"], task["seed"], best)
        return {**numbers, "world": task["world"], "method": task["method"]}

    def collect(self, settings: Settings, results: Sequence[Numbers]) -> Numbers:
        rows: list[Numbers] = []
        for world in dict.fromkeys(result["world"] for result in results):
            _, best, fixed = world_of(world, settings["target"], settings["horizon"])
            for method in settings["methods"]:
                some = run_results.pick(results, world=world, method=method)
                row = run_results.aggregate(some, world=world, method=method, optimum=best.cost, best_fixed=fixed)
                more = statistics.mean([one["cost"] - fixed for one in some])
                row |= {"above_fixed": more.value, "above_fixed_low": more.low, "above_fixed_high": more.high}
                rows.append(row)
        return {"target": settings["target"], "horizon": settings["horizon"], "rows": rows}

    def verdicts(self, numbers: Numbers) -> list[Verdict]:
        ours = [row for row in numbers["rows"] if row["method"] == "suffice"]
        most_expensive = max(ours, key=lambda row: float(row["cost_high"]))
        # Where the best mix is hardly cheaper than the best option there is nothing to win; after a shift no theorem helps.
        fair = [row for row in ours if row["optimum"] <= 0.95 * row["best_fixed"] and "→" not in row["world"]]
        least = max(fair, key=lambda row: float(row["above_fixed_high"]))
        won = sum(row["above_fixed_high"] < 0.0 for row in ours)
        behind = max(row["largest_debt"] for row in ours)
        return [
            judge("against the safe option", "Introduction", "the target is held at less than the safe option costs",
                  f"cost, where always the safe option costs 1, worst of {len(ours)} worlds ({most_expensive['world']})",
                  Estimate(most_expensive["cost"], most_expensive["cost_low"], most_expensive["cost_high"]), at_most=0.999),
            judge("against the best fixed option", OURS, "… and at less than the best fixed option in hindsight",
                  f"cost less that of the best fixed option, worst of the {len(fair)} steady worlds where a mix gains 5% "
                  f"({least['world']}); of all {len(ours)} worlds it is below 0 in {won}",
                  Estimate(least["above_fixed"], least["above_fixed_low"], least["above_fixed_high"]), at_most=0.0,
                  reached=numbers["horizon"]),
            judge("never behind", OURS, "debt is at most φ at every step, also through the shifts",
                  "largest debt of suffice in any run", Estimate.exact(behind), at_most=numbers["target"]),
        ]  # fmt: skip

    def draw(self, numbers: Numbers, canvas: Canvas) -> None:
        worlds = list(dict.fromkeys(row["world"] for row in numbers["rows"]))
        panel = canvas.panels("savings", 1, width=6.5, height=0.25 * len(worlds) + 1.4)
        places = np.arange(len(worlds))[::-1]
        for method, marker in (("suffice", "o"), ("paper", "s")):
            rows = {row["world"]: row for row in numbers["rows"] if row["method"] == method}
            costs = np.array([rows[world]["cost"] for world in worlds])
            ends = np.array([[rows[world]["cost_low"], rows[world]["cost_high"]] for world in worlds]).T
            owing = [rows[world]["largest_debt"] > numbers["target"] for world in worlds]
            panel.errorbar(costs, places, xerr=np.abs(ends - costs), color=canvas.colour(method), marker=marker,
                           linestyle="none", markersize=5, markerfacecolor="none" if any(owing) else None,
                           label=_debts(method, rows))  # fmt: skip
        ours = {row["world"]: row for row in numbers["rows"] if row["method"] == "suffice"}
        panel.scatter([ours[world]["best_fixed"] for world in worlds], places, color=canvas.colour("best fixed"), marker="D",
                      s=22, label="best fixed option, in hindsight")  # fmt: skip
        panel.scatter([ours[world]["optimum"] for world in worlds], places, color=canvas.colour("target"), marker="x", s=22,
                      label="best mix, C*")  # fmt: skip
        panel.axvline(1.0, linestyle=":", color=canvas.colour("safe"))
        panel.set_yticks(places, worlds)
        panel.set(xscale="log", xlabel="cost per decision (the safe option = 1)")
        panel.figure.legend(fontsize=8, loc="outside lower center", ncols=2)


def _debts(method: str, rows: Mapping[str, Numbers]) -> str:
    debt = max(row["largest_debt"] for row in rows.values())
    return f"{method} (largest debt {debt:,.1f}{'; hollow: it owes' if debt > 1.0 else ''})"


def world_of(name: str, target: float, horizon: int) -> tuple[Stream, Optimum, float]:
    """The stream, its best fixed mix, and the cost of its best fixed option, over the whole run."""
    if "→" in name:
        halves = [PredictionApis(part) for part in name.split("→")]
        shifted = Phases((halves[0], horizon // 2), (halves[1], horizon - horizon // 2))
        # Over the whole run each option has the mean of both halves: the target is held in all, not in each half.
        truths = [half.truth() for half in halves]
        success, cost = ((one + other) / 2 for one, other in zip(*truths, strict=True))
        return shifted, optimum(success, cost, target), best_fixed(success, cost, target)
    rides: dict[str, Callable[[], Stream]] = {"rides": Rides, "rides-grid": RidesGrid}
    stream = rides[name]() if name in rides else PredictionApis(name)
    success, cost = truth_of(stream)
    return stream, optimum(success, cost, target), best_fixed(success, cost, target)


def best_fixed(success: Floats, cost: Floats, target: float) -> float:
    """The cost of the cheapest single option whose true rate meets the target."""
    return float(cost[success >= target].min())
