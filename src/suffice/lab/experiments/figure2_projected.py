"""Figure 2: the projected baseline on the same intervals is cheaper, because it misses the target."""

from collections.abc import Sequence
from typing import ClassVar

from suffice.best_mix import optimum
from suffice.lab import run_results, statistics
from suffice.lab.experiment import Canvas, Experiment, Numbers, Settings, Task
from suffice.lab.paper_methods import make
from suffice.lab.streams import UnitPoints
from suffice.lab.verdict import TINY, Estimate, Verdict, judge

SOURCE = "Empirical Study, Interval Selection, Figure 2"
BASE: Settings = {"target": 0.8, "grid": 0.05, "scale": 20, "seeds": 20, "methods": ["paper", "projected", "suffice"]}


class ProjectedIntervals(Experiment):
    """The paper's method and its projected twin on the same points, a = 20."""

    name: ClassVar[str] = "projected"
    place: ClassVar[int] = 2
    title: ClassVar[str] = "Projected baseline diagnostic (Figure 2)"
    about: ClassVar[str] = (
        "The same intervals and points with step 20/√T. The baseline clips its price to [0, Λ] and always plays the option of "
        "least score: no boundary options are forced. What it saves, it saves by failing more often than it may."
    )
    levels: ClassVar = {
        "quick": {**BASE, "horizons": [10**4, 10**5]},
        "default": {**BASE, "horizons": [10**4, 10**5, 10**6]},
        "deep": {**BASE, "horizons": [10**4, 10**5, 10**6, 10**7]},
    }

    def tasks(self, settings: Settings) -> list[Task]:
        return [
            {"run": f"projected/{method}/T={horizon}/seed={seed}", "method": method, "horizon": horizon, "seed": seed,
             **{key: settings[key] for key in ("target", "grid", "scale")}}
            for method in settings["methods"] for horizon in settings["horizons"] for seed in range(settings["seeds"])
        ]  # fmt: skip

    @staticmethod
    def work(task: Task) -> Numbers:
        stream = UnitPoints.from_settings(step=task["grid"])
        best = optimum(*stream.truth(), task["target"])
        method = make(task["method"], stream.menu, task["target"], task["horizon"], task["scale"])
        marks = run_results.even(task["horizon"])
        return {
            **run_results.measure(method, stream, task["horizon"], task["seed"], best, marks=marks),
            "method": task["method"],
        }

    def collect(self, settings: Settings, results: Sequence[Numbers]) -> Numbers:
        best = optimum(*UnitPoints.from_settings(step=settings["grid"]).truth(), settings["target"])
        last = max(settings["horizons"])
        rows, curves, gaps = [], {}, {}
        for method in settings["methods"]:
            for horizon in settings["horizons"]:
                some = run_results.pick(results, method=method, horizon=horizon)
                rows.append(run_results.aggregate(some, method=method, scale=settings["scale"], horizon=horizon))
            curves[method] = run_results.curve(
                run_results.pick(results, method=method, horizon=last), settings["target"], best.cost
            )
        pairs = zip(
            run_results.pick(results, method="projected", horizon=last),
            run_results.pick(results, method="paper", horizon=last),
            strict=True,
        )
        differences = [(one["cost"] - other["cost"], one["rate"] - settings["target"]) for one, other in pairs]
        for name, values in zip(("cost", "rate"), zip(*differences, strict=True), strict=True):
            estimate = statistics.mean(values)
            gaps[name] = [estimate.value, estimate.low, estimate.high]
        # From a tenth of the run on, so that the first round and the start do not count.
        late = [
            successes / step
            for one in run_results.pick(results, method="projected", horizon=last)
            for step, successes, *_ in one["marks"]
            if step >= last / 10
        ]
        return {"optimum": best.cost, "price": best.price, "target": settings["target"], "horizon": last, "rows": rows,
                "curves": curves, "gaps": gaps, "highest_rate_of_projected": max(late)}  # fmt: skip

    def verdicts(self, numbers: Numbers) -> list[Verdict]:
        final = {row["method"]: row for row in numbers["rows"] if row["horizon"] == numbers["horizon"]}
        paper = final["paper"]
        return [
            judge("cheaper", SOURCE, "the projected baseline has lower cumulative cost",
                  "its mean cost less that of the paper's method, on the same points", Estimate(*numbers["gaps"]["cost"]),
                  at_most=-TINY),
            judge("under-covers", SOURCE, "its cumulative success rate stays below the target",
                  "its final rate less φ", Estimate(*numbers["gaps"]["rate"]), at_most=-TINY),
            judge("stays below", SOURCE, "its cumulative success rate stays below the target",
                  "its highest rate in any run, from a tenth of the run on",
                  Estimate.exact(numbers["highest_rate_of_projected"]), at_most=numbers["target"]),
            judge("boundary rule covers", "Theorem 1", "the boundary rule keeps the rate near φ",
                  "rate of the paper's method less φ", Estimate(*(paper[key] - numbers["target"] for key in
                  ("rate", "rate_low", "rate_high"))), at_least=-0.02),
        ]  # fmt: skip

    def draw(self, numbers: Numbers, canvas: Canvas) -> None:
        rate, cost, debt = canvas.panels("projected", 3)
        for label, curve in numbers["curves"].items():
            colour = canvas.colour(label)
            for panel, name in ((rate, "rate"), (cost, "cost"), (debt, "debt")):
                panel.plot(curve["step"], curve[name], color=colour, label=label)
                panel.fill_between(
                    curve["step"], curve[f"{name}_low"], curve[f"{name}_high"], color=colour, alpha=0.2, linewidth=0
                )
        steps = numbers["curves"]["paper"]["step"]
        cost.plot(steps, [numbers["optimum"] * step for step in steps], linestyle=":", color=canvas.colour("target"),
                  label="C*·t")  # fmt: skip
        rate.axhline(numbers["target"], linestyle=":", color=canvas.colour("target"))
        rate.set(xlabel="steps", ylabel="success rate so far", ylim=(0.5, 1.0))
        cost.set(xlabel="steps", ylabel="cumulative cost")
        debt.set(xlabel="steps", ylabel="successes owed (debt)")
        cost.legend(fontsize=8)
