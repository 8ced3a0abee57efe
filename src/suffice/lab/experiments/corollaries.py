"""The corollaries: grids that get finer with the horizon, thresholds by T^(-1/3) and intervals by T^(-1/4)."""

import functools
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from suffice.best_mix import Optimum, optimum
from suffice.kernels.rows import Floats
from suffice.lab import run_results, statistics
from suffice.lab.experiment import Experiment, Numbers, Settings, Task
from suffice.lab.paper_methods import make
from suffice.lab.streams import RequiredThreshold, UnitPoints
from suffice.lab.streams.shapes import Beta
from suffice.lab.verdict import OURS, Estimate, Verdict, judge
from suffice.menu.menu import Menu
from suffice.promise.rules import MAX_DEBT

CLAIMS = {"thresholds": 2.0 / 3.0, "intervals": 3.0 / 4.0}
SOURCES = {"thresholds": "Corollary (scoring rules)", "intervals": "Corollary (interval selection)"}
BASE: Settings = {"target": 0.8, "seeds": 20, "methods": ["paper", "suffice"], "scale": 1}


class Corollaries(Experiment):
    """Regret against the best of *all* thresholds or intervals, not only those on the grid."""

    name: ClassVar[str] = "corollaries"
    place: ClassVar[int] = 6
    title: ClassVar[str] = "Corollaries: finer grids for longer horizons"
    about: ClassVar[str] = (
        "A threshold succeeds where it is at least what the request needs and costs its height; an interval succeeds where it "
        "holds the point and costs its length; needs and points are Beta(2,5). The grid's width is T^(-1/3) and T^(-1/4). "
        "Regret is measured against the best mix of all thresholds or intervals, computed to nine digits. The paper's widths "
        "√(2 ln(nT)/plays) are so wide that short horizons are spent on exploring; ours are half-log (docs/bounds.md)."
    )
    levels: ClassVar = {
        "quick": {**BASE, "horizons": [10**3, 10**4, 10**5]},
        "default": {**BASE, "horizons": [10**3, 10**4, 10**5, 10**6]},
        "deep": {**BASE, "horizons": [10**3, 10**4, 10**5, 10**6, 10**7, 10**8]},
    }

    def tasks(self, settings: Settings) -> list[Task]:
        return [
            {"run": f"corollaries/{setting}/{method}/T={horizon}/seed={seed}", "setting": setting, "method": method,
             "horizon": horizon, "seed": seed, "target": settings["target"], "scale": settings["scale"]}
            for setting in CLAIMS for method in settings["methods"] for horizon in settings["horizons"]
            for seed in range(settings["seeds"])
        ]  # fmt: skip

    @staticmethod
    def work(task: Task) -> Numbers:
        stream = grid(task["setting"], task["horizon"])
        method = make(task["method"], stream.menu, task["target"], task["horizon"], task["scale"])
        numbers = run_results.measure(
            method, stream, task["horizon"], task["seed"], best_of_all(task["setting"], task["target"])
        )
        return {**numbers, "setting": task["setting"], "method": task["method"], "arms": stream.menu.n_arms}

    def collect(self, settings: Settings, results: Sequence[Numbers]) -> Numbers:
        rows, exponents, regrets = [], {}, {}
        for setting in CLAIMS:
            for method in settings["methods"]:
                table = []
                for horizon in settings["horizons"]:
                    some = run_results.pick(results, setting=setting, method=method, horizon=horizon)
                    rows.append(
                        run_results.aggregate(
                            some, setting=setting, method=method, horizon=horizon, arms=some[0]["arms"]
                        )
                    )
                    table.append([one["regret"] for one in some])
                regrets[f"{setting}/{method}"] = np.array(table).T.tolist()
                exponents[f"{setting}/{method}"] = [
                    _listed(statistics.exponent(settings["horizons"][k : k + 2], np.array(table).T[:, k : k + 2]))
                    for k in range(len(settings["horizons"]) - 1)
                ]
        optima = {setting: best_of_all(setting, settings["target"]).cost for setting in CLAIMS}
        return {"target": settings["target"], "horizons": settings["horizons"], "optima": optima, "rows": rows,
                "exponents": exponents, "regrets": regrets}  # fmt: skip

    def verdicts(self, numbers: Numbers) -> list[Verdict]:
        verdicts = []
        for key, decades in numbers["exponents"].items():
            setting, method = key.split("/")
            claim, last = CLAIMS[setting], numbers["horizons"][-1]
            # From here on every later decade is below the claim, too.
            from_decade = next((k for k in range(len(decades)) if all(d[2] <= claim for d in decades[k:])), None)
            when = "" if from_decade is None else f", from T = {numbers['horizons'][from_decade]:,} on"
            bounds = "the paper's bounds" if method == "paper" else "our bounds"
            verdicts.append(
                judge(f"{setting}, {method}", SOURCES[setting],
                      f"regret grows at most like T^{claim:.3g} up to logarithms ({bounds})",
                      f"exponent over the last decade{when}", Estimate(*decades[-1]), at_most=claim, reached=last)
            )  # fmt: skip
            worst = max(
                row["largest_debt"] for row in numbers["rows"] if (row["setting"], row["method"]) == (setting, method)
            )
            if method == "suffice":
                verdicts.append(judge(f"never far behind, {setting}", OURS, f"debt is at most {MAX_DEBT} at every step",
                                   "largest debt of any run", Estimate.exact(worst), at_most=MAX_DEBT))  # fmt: skip
        return verdicts


def grid(setting: str, horizon: int) -> UnitPoints | RequiredThreshold:
    """The stream with the grid that the corollary prescribes for this horizon."""
    if setting == "intervals":
        return UnitPoints(Menu.intervals(step=1.0 / round(horizon**0.25), skip=True))
    return RequiredThreshold(step=1.0 / round(horizon ** (1.0 / 3.0)))


@functools.cache
def best_of_all(setting: str, target: float) -> Optimum:
    """The optimum over all thresholds or intervals, on or off a grid."""
    shape = Beta(2, 5)
    if setting == "thresholds":
        places = np.linspace(0.0, 1.0, 1_000_001)
        return optimum(shape.at_most(places), places, target)
    # The shortest interval of a given mass holds the points above some density; both ends have that density.
    mode = 0.2
    left = mode * (1.0 - np.linspace(1.0, 0.0, 200_001) ** 2)[:-1]
    low, high = np.full(left.size, mode), np.ones(left.size)
    for _ in range(60):
        middle = 0.5 * (low + high)
        denser = _density(middle) > _density(left)
        low, high = np.where(denser, middle, low), np.where(denser, high, middle)
    mass = shape.at_most(high) - shape.at_most(left)
    return optimum(np.concatenate([[0.0], mass, [1.0]]), np.concatenate([[0.0], high - left, [1.0]]), target)


def _density(x: Floats) -> Floats:
    density: Floats = x * (1.0 - x) ** 4  # of Beta(2, 5), up to a factor
    return density


def _listed(estimate: Estimate) -> list[float]:
    return [estimate.value, estimate.low, estimate.high]
