"""Figure 1: intervals that cover a Beta(2,5) point, for three steps, over horizons that grow."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from suffice.best_mix import optimum
from suffice.lab import run_results, statistics
from suffice.lab.experiment import Canvas, Experiment, Numbers, Settings, Task
from suffice.lab.paper_methods import make
from suffice.lab.streams import UnitPoints
from suffice.lab.verdict import TINY, Estimate, Verdict, judge

SOURCE = "Empirical Study, Interval Selection, Figure 1"
BASE: Settings = {"target": 0.8, "grid": 0.05, "scales": [1, 5, 20], "seeds": 20}


class Intervals(Experiment):
    """The paper's method with step a/sqrt(T), and suffice beside it."""

    name: ClassVar[str] = "intervals"
    place: ClassVar[int] = 1
    title: ClassVar[str] = "Interval selection (Figure 1)"
    about: ClassVar[str] = (
        "Points are drawn from Beta(2,5); an option is an interval with ends on a grid of 0.05 (211 arms), it succeeds if it "
        "covers the point and costs its length. The paper's method runs with step a/√T; suffice needs no step and no horizon."
    )
    levels: ClassVar = {
        "quick": {**BASE, "horizons": [10**3, 10**4, 10**5]},
        "default": {**BASE, "horizons": [10**3, 10**4, 10**5, 10**6]},
        "deep": {**BASE, "horizons": [10**3, 10**4, 10**5, 10**6, 10**7]},
    }

    def tasks(self, settings: Settings) -> list[Task]:
        last = max(settings["horizons"])
        labels = [("paper", scale) for scale in settings["scales"]] + [("suffice", 0)]
        return [
            {"run": f"intervals/{method}/a={scale}/T={horizon}/seed={seed}", "method": method, "scale": scale,
             "horizon": horizon, "seed": seed, "target": settings["target"], "grid": settings["grid"],
             "marked": horizon == last}
            for method, scale in labels for horizon in settings["horizons"] for seed in range(settings["seeds"])
        ]  # fmt: skip

    @staticmethod
    def work(task: Task) -> Numbers:
        stream = UnitPoints.from_settings(step=task["grid"])
        best = optimum(*stream.truth(), task["target"])
        method = make(task["method"], stream.menu, task["target"], task["horizon"], task["scale"] or 1)
        marks = run_results.geometric(task["horizon"]) if task["marked"] else ()
        numbers = run_results.measure(method, stream, task["horizon"], task["seed"], best, marks=marks)
        return {**numbers, "method": task["method"], "scale": task["scale"]}

    def collect(self, settings: Settings, results: Sequence[Numbers]) -> Numbers:
        stream = UnitPoints.from_settings(step=settings["grid"])
        best = optimum(*stream.truth(), settings["target"])
        last, horizons = max(settings["horizons"]), settings["horizons"]
        labels = [("paper", scale) for scale in settings["scales"]] + [("suffice", 0)]
        rows, curves, regrets, errors = [], {}, {}, 0.0
        for method, scale in labels:
            label = f"a = {scale}" if method == "paper" else "suffice"
            table = []
            for horizon in horizons:
                some = run_results.pick(results, method=method, scale=scale, horizon=horizon)
                rows.append(run_results.aggregate(some, method=method, scale=scale, horizon=horizon))
                table.append([one["regret"] for one in some])
                if method == "paper":
                    step = scale / horizon**0.5
                    bound = (1.0 / (1.0 - settings["target"]) + 2.0 * step) / step
                    errors = max(errors, *(abs(one["counted_debt"]) / bound for one in some))
            regrets[label] = np.array(table).T.tolist()  # a row per seed
            curves[label] = run_results.curve(
                run_results.pick(results, method=method, scale=scale, horizon=last), settings["target"], best.cost
            )
        return {"optimum": best.cost, "price": best.price, "target": settings["target"], "horizons": horizons, "rows": rows,
                "regrets": regrets, "curves": curves, "worst_error_by_bound": errors,
                "settling": _settling(results, settings["target"], last),
                "exponents": {label: _exponents(horizons, table) for label, table in regrets.items()}}  # fmt: skip

    def verdicts(self, numbers: Numbers) -> list[Verdict]:
        last = numbers["horizons"][-1]
        verdicts = [
            judge("validity", "Theorem 1", "every run is within (Λ+2η)/η of the target", "largest |S − φN| over its bound",
                  Estimate.exact(numbers["worst_error_by_bound"]), at_most=1.0),
        ]  # fmt: skip
        for label, parts in numbers["exponents"].items():
            if label == "suffice":
                continue
            verdicts.append(
                judge(f"sublinear, {label}", SOURCE, "regret against C* grows more slowly than T",
                      "exponent over the last decade", Estimate(*parts["decades"][-1]), at_most=0.999)
            )  # fmt: skip
            # √(T ln T) has the local exponent ½ + 1/(2 ln T): what a finite horizon can show of Õ(√T).
            limit = 0.5 + 0.5 / float(np.log(last))
            verdicts.append(
                judge(f"square root, {label}", f"{SOURCE}; Theorem 2", "final regret grows like √T up to logarithms",
                      "exponent over the last decade", Estimate(*parts["decades"][-1]), at_most=limit, reached=last)
            )  # fmt: skip
        verdicts.append(
            judge("larger step, faster validity", SOURCE, "increasing η accelerates validity convergence",
                  "first step from which the rate stays within 0.02 of φ, a = 20 over a = 1, mean over seeds",
                  Estimate(*numbers["settling"]), at_most=0.999)
        )  # fmt: skip
        costs = {row["scale"]: row for row in numbers["rows"] if row["horizon"] == last and row["method"] == "paper"}
        gain = Estimate(costs[20]["cost"] - costs[1]["cost"], costs[20]["cost_low"] - costs[1]["cost_high"],
                        costs[20]["cost_high"] - costs[1]["cost_low"])  # fmt: skip
        verdicts.append(
            judge("larger step, larger cost", SOURCE, "increasing η increases resource consumption",
                  "mean cost at a = 20 less that at a = 1", gain, at_least=TINY)
        )  # fmt: skip
        return verdicts

    def draw(self, numbers: Numbers, canvas: Canvas) -> None:
        rate, regret, final = canvas.panels("intervals", 3)
        for label, curve in numbers["curves"].items():
            colour = canvas.colour(label)
            rate.plot(curve["step"], curve["rate"], color=colour, label=label)
            rate.fill_between(
                curve["step"], curve["rate_low"], curve["rate_high"], color=colour, alpha=0.2, linewidth=0
            )
            regret.plot(curve["step"], curve["regret"], color=colour)
            regret.fill_between(
                curve["step"], curve["regret_low"], curve["regret_high"], color=colour, alpha=0.2, linewidth=0
            )
            rows = [row for row in numbers["rows"] if _label(row) == label]
            x, y = [row["horizon"] for row in rows], np.array([row["regret"] for row in rows])
            ends = np.array([[row["regret_low"], row["regret_high"]] for row in rows]).T
            slope = numbers["exponents"][label]["decades"][-1]
            final.errorbar(x, y, np.abs(ends - y), color=colour, marker="o", markersize=3, capsize=2,
                           label=f"{label}: {slope[0]:.2f}")  # fmt: skip
        rate.axhline(numbers["target"], linestyle=":", color=canvas.colour("target"))
        rate.set(xscale="log", xlabel="steps", ylabel="success rate so far", ylim=(0.0, 1.02))
        rate.legend(fontsize=8)
        regret.set(xscale="log", yscale="symlog", xlabel="steps", ylabel="regret against C* so far")
        final.set(xscale="log", yscale="log", xlabel="horizon T", ylabel="final regret")
        final.legend(fontsize=8, loc="upper left", title="exponent, last decade", title_fontsize=8)


def _label(row: Numbers) -> str:
    return f"a = {row['scale']}" if row["method"] == "paper" else "suffice"


def _exponents(horizons: list[int], table: list[list[float]]) -> Numbers:
    """Over all horizons, and per decade."""
    data = np.array(table)

    def one(first: int, last: int) -> list[float]:
        estimate = statistics.exponent(horizons[first:last], data[:, first:last])
        return [estimate.value, estimate.low, estimate.high]

    return {"all": one(0, len(horizons)), "decades": [one(place, place + 2) for place in range(len(horizons) - 1)]}


def _settling(results: Sequence[Numbers], target: float, horizon: int) -> list[float]:
    """The first step from which the rate stays near the target: with the largest step size over with the least."""
    slow, fast = (
        [
            _settled(one["marks"], target)
            for one in run_results.pick(results, method="paper", scale=scale, horizon=horizon)
        ]
        for scale in (1, 20)
    )
    estimate = statistics.mean([quick / late for quick, late in zip(fast, slow, strict=True)])
    return [estimate.value, estimate.low, estimate.high]


def _settled(marks: list[list[float]], target: float, within: float = 0.02) -> float:
    """The first mark from which the rate stays within so much of the target."""
    off = [step for step, successes, *_ in marks if abs(successes / step - target) > within]
    later = [step for step, *_ in marks if not off or step > off[-1]]
    return later[0] if later else 10.0 * marks[-1][0]
