"""Figure 3 and the lemma behind it: a cheap option that works until, for a while, it does not."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from suffice.lab.experiment import Canvas, Experiment, Numbers, Settings, Task
from suffice.lab.paper_methods import make
from suffice.lab.streams import Trap
from suffice.lab.verdict import Estimate, Verdict, judge
from suffice.simulator import simulate

LEMMA = "Lemma (three-arm failure of projected ACI)"
PATH = ("prices", "successes", "arms")
FIGURE = "Empirical Study, Figure 3"
BASE: Settings = {"target": 0.5, "step": 0.05, "horizon": 2000, "first": 800, "last": 1300,
                  "methods": ["paper", "projected", "suffice"]}  # fmt: skip


class ThreeArms(Experiment):
    """The skip, the trap, the safe option. No chance is involved: one run is enough."""

    name: ClassVar[str] = "trap"
    place: ClassVar[int] = 3
    title: ClassVar[str] = "Three-arm shift (Figure 3)"
    about: ClassVar[str] = (
        "A safe option of cost 1, a trap of cost 0.05 that works except in steps 800 to 1299, and a skip. Target 0.5, step "
        "0.05, Λ = 2. The projected price stays at Λ while the estimate of the trap is still good; at the same price the "
        "boundary rule plays the safe option."
    )
    levels: ClassVar = {"quick": BASE, "default": BASE, "deep": BASE}

    def tasks(self, settings: Settings) -> list[Task]:
        return [{**settings, "run": f"trap/{method}", "method": method} for method in settings["methods"]]

    @staticmethod
    def work(task: Task) -> Numbers:
        stream = Trap(task["first"], task["last"])
        method = make(
            task["method"], stream.menu, task["target"], task["horizon"], task["step"] * task["horizon"] ** 0.5
        )
        trace = simulate(method, stream, task["horizon"])
        return {"method": task["method"], "prices": trace.prices.tolist(), "arms": trace.arms.tolist(),
                "successes": trace.successes.tolist(), "cost": trace.mean_cost, "rate": trace.rate, "debt": trace.debt,
                "largest_debt": trace.largest_debt, "worst_window": trace.worst_window(500)}  # fmt: skip

    def collect(self, settings: Settings, results: Sequence[Numbers]) -> Numbers:
        keys = ("method", "rate", "cost", "debt", "largest_debt", "worst_window")
        first, last = settings["first"], settings["last"]
        outage: Numbers = {}
        for run in results:
            prices, successes = np.array(run["prices"]), np.array(run["successes"])
            # What the update would have been without projection, and what is missing from it.
            residuals = np.diff(prices) - settings["step"] * (settings["target"] - successes[:-1])
            inside = residuals[first:last]
            capped = np.flatnonzero(prices[first:last] >= 2.0 - 1e-9)  # many steps of 0.025, each rounded
            outage[run["method"]] = {
                "successes": float(successes[first:last].sum()),
                "safe": int((np.array(run["arms"][first:last]) == 2).sum()),
                "highest_price": float(prices.max()),
                "largest_residual": float(np.abs(residuals[1:]).max()),  # the first step opens the trap
                "capped_rounds": int((inside < -1e-12).sum()),
                "residual_least": float(inside[inside < -1e-12].min()) if (inside < -1e-12).any() else 0.0,
                "residual_most": float(inside[inside < -1e-12].max()) if (inside < -1e-12).any() else 0.0,
                "steps_to_cap": int(capped[0]) if capped.size else -1,
                "price_before": float(prices[first]),
                "owed_in_outage": float((settings["target"] - successes[first:last]).sum()),
                "owed_since_shift": float((settings["target"] - successes[first:]).sum()),
            }
        return {**{key: settings[key] for key in ("target", "step", "first", "last", "horizon")}, "outage": outage,
                "rows": [{key: run[key] for key in keys} for run in results],
                "paths": {one["method"]: {key: one[key] for key in PATH} for one in results}}  # fmt: skip

    def verdicts(self, numbers: Numbers) -> list[Verdict]:
        projected, paper = numbers["outage"]["projected"], numbers["outage"]["paper"]
        length = numbers["last"] - numbers["first"]
        eta_phi = numbers["step"] * numbers["target"]
        wait = int(np.ceil((2.0 - projected["price_before"]) / eta_phi - 1e-9))
        exact = Estimate.exact
        return [
            judge("no success", LEMMA, "the projected rule never plays the safe option on the outage, so it never succeeds",
                  "its successes in the outage", exact(projected["successes"] + projected["safe"]), at_most=0.0),
            judge("stuck", LEMMA, "after ⌈(Λ − λ)/(ηφ)⌉ steps the projected price is stuck at Λ = 2",
                  "steps to the cap less that number", exact(projected["steps_to_cap"] - wait), at_most=0, at_least=0),
            judge("never above", LEMMA, "the projected price is capped at Λ", "its highest value",
                  exact(projected["highest_price"]), at_most=2.0, at_least=2.0),
            judge("capped rounds", LEMMA, "every round after that is capped", "capped rounds in the outage",
                  exact(projected["capped_rounds"]), at_least=length - wait, at_most=length - wait),
            judge("residual", LEMMA, "each capped round has the residual −ηφ", "the least residual of a capped round",
                  exact(projected["residual_least"]), at_least=-eta_phi - 1e-12, at_most=-eta_phi + 1e-12),
            judge("residual, all", LEMMA, "each capped round has the residual −ηφ", "the greatest residual of a capped round",
                  exact(projected["residual_most"]), at_least=-eta_phi - 1e-12, at_most=-eta_phi + 1e-12),
            judge("no residual", "Theorem 1", "without projection the update is exact",
                  "largest residual of the paper's method", exact(paper["largest_residual"]), at_most=1e-9),
            judge("recovers", FIGURE, "the boundary rule quickly corrects and tracks validity",
                  "successes it fell behind in the outage, over those of the projected",
                  exact(paper["owed_in_outage"] / projected["owed_in_outage"]), at_most=0.5),
            judge("cannot recover", FIGURE, "even when the environment resets, the projected baseline cannot recover",
                  "successes it owes at the end, counted from the shift", exact(projected["owed_since_shift"]), at_least=1.0),
        ]  # fmt: skip

    def draw(self, numbers: Numbers, canvas: Canvas) -> None:
        price, rate, debt = canvas.panels("trap", 3)
        steps = np.arange(1, numbers["horizon"] + 1)
        for label, path in numbers["paths"].items():
            colour, successes = canvas.colour(label), np.array(path["successes"])
            price.plot(steps, path["prices"], color=colour, label=label, linewidth=1)
            rate.plot(steps, np.cumsum(successes) / steps, color=colour, linewidth=1)
            debt.plot(steps, numbers["target"] * steps - np.cumsum(successes), color=colour, linewidth=1)
        for panel in (price, rate, debt):
            panel.axvspan(numbers["first"], numbers["last"], color=canvas.colour("target"), alpha=0.15, linewidth=0)
            panel.set_xlabel("steps")
        price.axhline(2.0, linestyle=":", color=canvas.colour("target"))
        rate.axhline(numbers["target"], linestyle=":", color=canvas.colour("target"))
        price.set_ylabel("price (Λ = 2)")
        rate.set(ylabel="success rate so far", ylim=(0, 1))
        debt.set_ylabel("successes owed (debt)")
        price.legend(fontsize=8)
