"""Appendix A: one number, moved by the outcomes alone. It needs rewards that are not flat, and fails where they are."""

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np

from suffice.lab import run_results, statistics
from suffice.lab.experiment import Experiment, Numbers, Settings, Task
from suffice.lab.streams import RequiredThreshold
from suffice.lab.verdict import Estimate, Verdict, judge
from suffice.promise.rules import Rule
from suffice.selector.threshold import ThresholdSelector
from suffice.simulator import blocks, simulate

SOURCE = "Appendix A"
BASE: Settings = {"target": 0.8, "seeds": 20, "starts": {"beta": 0.0, "flat": 1.0}}


class Threshold(Experiment):
    """threshold ← threshold + step·(target − success), step 1/sqrt(T)."""

    name: ClassVar[str] = "threshold"
    place: ClassVar[int] = 7
    title: ClassVar[str] = "The success-only controller (Appendix A)"
    about: ClassVar[str] = (
        "The controller is told whether a threshold sufficed, never its cost. Its regret counts only the steps on which it "
        "spends more than the best fixed threshold. Where success keeps rising beyond that threshold (Beta(2,5) needs), the "
        "exponent is at most 3/4. Where no request needs anything between 0.4 and 0.8, all thresholds there succeed equally "
        "often, nothing pushes it down, and regret is linear: the paper's counterexample."
    )
    levels: ClassVar = {
        "quick": {**BASE, "horizons": [10**4, 10**5, 10**6]},
        "default": {**BASE, "horizons": [10**4, 10**5, 10**6, 10**7]},
        "deep": {**BASE, "horizons": [10**4, 10**5, 10**6, 10**7, 10**8]},
    }

    def tasks(self, settings: Settings) -> list[Task]:
        return [
            {"run": f"threshold/{world}/T={horizon}/seed={seed}", "world": world, "horizon": horizon, "seed": seed,
             "target": settings["target"], "start": settings["starts"][world]}
            for world in ("beta", "flat") for horizon in settings["horizons"] for seed in range(settings["seeds"])
        ]  # fmt: skip

    @staticmethod
    def work(task: Task) -> Numbers:
        stream, best = world_of(task["world"], task["target"])
        step = task["horizon"] ** -0.5
        method = ThresholdSelector(0, 1, task["target"], rule=Rule(task["start"], step=step))
        positive = cost = successes = 0.0
        largest, steps = -np.inf, 0
        for block in blocks(method, stream, task["horizon"], task["seed"]):
            positive += float(np.maximum(block.costs - best, 0.0).sum())
            cost += float(block.costs.sum())
            owed = (
                task["target"] * np.arange(steps + 1, steps + block.costs.size + 1)
                - successes
                - np.cumsum(block.successes)
            )
            largest, steps = max(largest, float(owed.max())), steps + block.costs.size
            successes += float(block.successes.sum())
        return {"world": task["world"], "horizon": task["horizon"], "seed": task["seed"], "regret": positive,
                "rate": successes / steps, "cost": cost / steps, "debt": task["target"] * steps - successes,
                "largest_debt": largest,
                "by_bound": abs(task["target"] * steps - successes) * step / (1.0 + 2.0 * step)}  # fmt: skip

    def collect(self, settings: Settings, results: Sequence[Numbers]) -> Numbers:
        rows: list[Numbers] = []
        exponents = {}
        for world in ("beta", "flat"):
            table = []
            for horizon in settings["horizons"]:
                some = run_results.pick(results, world=world, horizon=horizon)
                row: Numbers = {"world": world, "horizon": horizon, "seeds": len(some)}
                for key in ("regret", "rate", "cost", "debt"):
                    estimate = statistics.mean([one[key] for one in some])
                    row |= {key: estimate.value, f"{key}_low": estimate.low, f"{key}_high": estimate.high}
                row["largest_debt"] = max(one["largest_debt"] for one in some)
                row["largest_error_by_bound"] = max(one["by_bound"] for one in some)
                rows.append(row)
                table.append([one["regret"] for one in some])
            slope = statistics.exponent(settings["horizons"], np.array(table).T)
            exponents[world] = [slope.value, slope.low, slope.high]
        return {"target": settings["target"], "horizons": settings["horizons"], "rows": rows, "exponents": exponents,
                "optima": {world: world_of(world, settings["target"])[1] for world in ("beta", "flat")},
                "identity_error": identity_error(settings["target"])}  # fmt: skip

    def verdicts(self, numbers: Numbers) -> list[Verdict]:
        last = max(numbers["horizons"])
        final = {row["world"]: row for row in numbers["rows"] if row["horizon"] == last}
        per_step = Estimate(*(final["flat"][key] / last for key in ("regret", "regret_low", "regret_high")))
        worst = max(row["largest_error_by_bound"] for row in numbers["rows"])
        return [
            judge("identity", f"{SOURCE}, validity", "S − φN = −(τ_end − τ_start)/η, exactly, at every step",
                  "largest difference in τ over 20,000 steps, against fractions", Estimate.exact(numbers["identity_error"]),
                  at_most=1e-9),
            judge("validity", f"{SOURCE}, validity", "the error is at most (Q + 2η)/(ηL)", "largest error over its bound",
                  Estimate.exact(worst), at_most=1.0),
            judge("exponent", f"{SOURCE}, efficiency", "regret grows at most like T^(3/4)", "fitted exponent",
                  Estimate(*numbers["exponents"]["beta"]), at_most=0.75, reached=last),
            judge("flat rewards", f"{SOURCE}, the margin is needed", "where rewards are flat the regret is linear",
                  "fitted exponent", Estimate(*numbers["exponents"]["flat"]), at_least=0.9),
            judge("flat rewards, per step", f"{SOURCE}, the margin is needed", "a constant regret per step",
                  f"regret per step at T = {last:,}", per_step, at_least=0.02),
        ]  # fmt: skip


def world_of(name: str, target: float) -> tuple[RequiredThreshold, float]:
    """The stream and the cost of its best fixed threshold: the smallest that succeeds often enough."""
    if name == "flat":
        return RequiredThreshold.flat(target, bottom=0.4, top=0.8), 0.4
    stream = RequiredThreshold()
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if float(stream.shape.at_most(np.array([middle]))[0]) < target else (low, middle)
    return stream, high


def identity_error(target: float, horizon: int = 20_000) -> float:
    """How far the threshold strays from start + step·(target·N − S), worked out in fractions step by step."""
    step, phi = Fraction(1, 128), Fraction(str(target))
    trace = simulate(ThresholdSelector(0, 1, target, rule=Rule(0.25, step=float(step))), RequiredThreshold(), horizon)
    place, worst = Fraction(1, 4), 0.0
    for price, success in zip(trace.prices.tolist(), trace.successes.tolist(), strict=True):
        worst = max(worst, abs(price - float(place)))
        place += step * (phi - int(success))
    return worst
