"""Figure 4: how many of 100 labels to show, on real ranks that shift from easy to hard without notice."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from suffice.lab import run_results
from suffice.lab.experiment import Canvas, Experiment, Numbers, Settings, Task
from suffice.lab.paper_methods import make
from suffice.lab.streams import LabelRanks, Phases
from suffice.lab.verdict import TINY, Estimate, Verdict, judge
from suffice.simulator import simulate

SOURCE = "Empirical Study, CIFAR-100, Figure 4"
BASE: Settings = {"target": 0.8, "scale": 20, "window": 200, "methods": ["paper", "projected", "suffice"]}


class Labels(Experiment):
    """Ranks of at most 5, then of at least 80. The paper leaves the lengths open: several are run, the first is drawn."""

    name: ClassVar[str] = "labels"
    place: ClassVar[int] = 4
    title: ClassVar[str] = "CIFAR-100 shift (Figure 4)"
    about: ClassVar[str] = (
        "Show the first k of 100 labels, k in {0, 5, 10, 20, 50, 100}; success if the true label is among them, cost k/100. "
        "First images whose label has rank 5 or better, then ones of rank 80 or worse, where only k = 100 works. Ranks are "
        "those of a VGG16 on the CIFAR-100 test images, of which six are of rank 80 or worse; the step is 20/√T. The paper "
        "does not say how long the phases are. Any k from 5 on works in the first phase and only 100 in the second, so "
        "chance plays no part, and one run is enough."
    )
    levels: ClassVar = {
        "quick": {**BASE, "phases": [[4000, 2000], [2000, 4000]]},
        "default": {**BASE, "phases": [[4000, 2000], [2000, 4000], [20_000, 10_000], [20_000, 1000]]},
        "deep": {**BASE, "phases": [[4000, 2000], [2000, 4000], [20_000, 10_000], [20_000, 1000], [200_000, 100_000]]},
    }

    def tasks(self, settings: Settings) -> list[Task]:
        return [
            {"run": f"labels/{method}/{easy}+{hard}", "method": method, "easy": easy, "hard": hard, "horizon": easy + hard,
             "drawn": [easy, hard] == settings["phases"][0],
             **{key: settings[key] for key in ("target", "scale", "window")}}
            for method in settings["methods"] for easy, hard in settings["phases"]
        ]  # fmt: skip

    @staticmethod
    def work(task: Task) -> Numbers:
        easy, horizon, window = task["easy"], task["horizon"], task["window"]
        stream = Phases((LabelRanks.cifar100(most=5), easy), (LabelRanks.cifar100(least=80), task["hard"]))
        method = make(task["method"], stream.menu, task["target"], horizon, task["scale"])
        trace = simulate(method, stream, horizon)
        sums = np.cumsum(np.concatenate([[0.0], trace.successes]))
        local = (sums[window:] - sums[:-window]) / window  # the last `window` steps, after step window, window + 1, ...
        after = local[easy + 1 - window :]  # after each step of the hard phase
        shown = np.array([0, 5, 10, 20, 50, 100])[trace.arms]
        numbers: Numbers = {
            "method": task["method"], "phases": f"{easy}+{task['hard']}", "horizon": horizon,
            "rate": trace.rate, "cost": trace.mean_cost, "debt": trace.debt, "largest_debt": trace.largest_debt,
            "worst_window": trace.worst_window(window), "rate_after": float(trace.successes[easy:].mean()),
            "debt_after": float((task["target"] - trace.successes[easy:]).sum()),
            "failing": float((after < task["target"] - 0.05).mean()),
            "cheap_before": float((shown[easy // 2 : easy] <= 5).mean()), "all_after": float((shown[easy:] == 100).mean()),
        }  # fmt: skip
        if task["drawn"]:
            marks = np.array(run_results.even(horizon, 300))
            marks = marks[marks >= window]
            numbers["path"] = {
                "step": marks.tolist(), "local": local[marks - window].tolist(), "debt": trace.debts[marks - 1].tolist(),
                "shown": [float(shown[mark - window : mark].mean()) for mark in marks.tolist()],
            }  # fmt: skip
        return numbers

    def collect(self, settings: Settings, results: Sequence[Numbers]) -> Numbers:
        rows = [{key: value for key, value in one.items() if key != "path"} for one in results]
        easy, hard = settings["phases"][0]
        paths = {one["method"]: one["path"] for one in results if "path" in one}
        return {"target": settings["target"], "window": settings["window"], "easy": easy, "hard": hard, "rows": rows,
                "paths": paths}  # fmt: skip

    def verdicts(self, numbers: Numbers) -> list[Verdict]:
        verdicts = []
        for phases in dict.fromkeys(row["phases"] for row in numbers["rows"]):
            rows = {row["method"]: row for row in numbers["rows"] if row["phases"] == phases}
            paper, projected = rows["paper"], rows["projected"]
            exact, window, hard = Estimate.exact, numbers["window"], int(phases.split("+")[1])
            verdicts += [
                judge(f"long failure, {phases}", SOURCE, "the projected baseline suffers a long local validity failure",
                      f"steps of the hard phase in which its rate over the last {window} is more than 0.05 below φ",
                      exact(projected["failing"] * hard), at_least=3.0 * window),
                judge(f"returns, {phases}", SOURCE, "the boundary rule quickly returns to the target success rate",
                      "such steps of the boundary rule, over those of the projected",
                      exact(paper["failing"] / max(1e-9, projected["failing"])), at_most=0.5),
                judge(f"debt, {phases}", SOURCE, "the projected gathers debt; the unprojected keeps it near zero",
                      "debt gathered after the shift, boundary rule over projected",
                      exact(paper["debt_after"] / max(1e-9, projected["debt_after"])), at_most=0.5),
                judge(f"cheap before, {phases}", SOURCE, "before the shift both methods use the cheap top-5 arm",
                      "share of k = 5 (or 0, when ahead) in the later half of the easy phase, lesser of both",
                      exact(min(paper["cheap_before"], projected["cheap_before"])), at_least=0.9,
                      reached=sum(map(int, phases.split("+")))),
                judge(f"the safe option after, {phases}", SOURCE, "after the shift the boundary rule moves to k = 100",
                      "share of k = 100 in the hard phase, boundary rule less projected",
                      exact(paper["all_after"] - projected["all_after"]), at_least=TINY),
            ]  # fmt: skip
        return verdicts

    def draw(self, numbers: Numbers, canvas: Canvas) -> None:
        local, debt, shown = canvas.panels("labels", 3)
        for label, path in numbers["paths"].items():
            colour = canvas.colour(label)
            local.plot(path["step"], path["local"], color=colour, label=label, linewidth=1)
            debt.plot(path["step"], path["debt"], color=colour, linewidth=1)
            shown.plot(path["step"], path["shown"], color=colour, linewidth=1)
        for panel in (local, debt, shown):
            panel.axvline(numbers["easy"], linestyle="--", color=canvas.colour("target"), linewidth=1)
            panel.set_xlabel("steps (dashed: the shift)")
        local.axhline(numbers["target"], linestyle=":", color=canvas.colour("target"))
        local.set_ylabel(f"success rate of the last {numbers['window']}")
        debt.set_ylabel("successes owed (debt)")
        shown.set_ylabel(f"labels shown, mean of the last {numbers['window']}")
        local.legend(fontsize=8)
