"""The figures of the experiment `context`: what a model of contexts saves per task, and how the cost falls over time."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from suffice.kernels.rows import Floats
from suffice.lab.experiment import Canvas, Numbers
from suffice.promise.wording import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def ratios(canvas: Canvas, rows: Sequence[tuple[Numbers, Numbers, Numbers]], wanted: Mapping[str, float]) -> None:
    """Bars per task: without contexts, with them, and the per-context optimum; the claim as a line."""
    panel = canvas.panels("context_ratios", 1, width=7.2, height=3.6)
    places = np.arange(len(rows), dtype=np.float64)
    ink = panel.title.get_color()
    plain, contextual, shuffled = ([triple[kind] for triple in rows] for kind in range(3))
    _bars(panel, places - 0.28, plain, canvas.colour("safe"), "without a look", ink)
    _bars(panel, places, contextual, canvas.colour("suffice"), "with a look", ink)
    least = [row["contextual_optimum"] for row in contextual]
    panel.bar(places + 0.28, least, 0.26, color=canvas.colour("best fixed"), label="per-context optimum")
    for place, value in zip(places + 0.28, least, strict=True):
        panel.text(place, value + 0.015, f"{value:.2f}", ha="center", fontsize=7, color=ink)
    panel.plot(places, [row["of_optimum"] for row in shuffled], linestyle="none", marker="D", markersize=5,
               markerfacecolor="none", markeredgecolor=ink, label="with a look at shuffled contexts")  # fmt: skip
    panel.hlines([wanted[row["task"]] for row in contextual], places - 0.13, places + 0.13, color=ink, linestyle=(0, (2, 1)),
                 linewidth=1.2, label="claimed at most")  # fmt: skip
    panel.axhline(1.0, linestyle=":", color=canvas.colour("target"), linewidth=1.0)
    panel.set_xticks(places, [_task(row) for row in contextual])
    panel.grid(False, axis="x")
    highest = max(float(row["of_optimum_high"]) for row in (*plain, *contextual))
    panel.set(ylabel="cost, as a share of C*", ylim=(0, min(max(1.2, 1.03 * highest), 2.0)))
    handles = {label: handle for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)}
    first = ("without a look", "with a look", "per-context optimum")
    order = [*first, *(label for label in handles if label not in first)]
    panel.figure.legend([handles[label] for label in order], order, fontsize=8, loc="outside upper center", ncols=5,
                        handlelength=1.4, columnspacing=1.2)  # fmt: skip


def _bars(panel: "Axes", places: Floats, rows: Sequence[Numbers], colour: str, label: str, ink: str) -> None:
    values = np.array([row["of_optimum"] for row in rows])
    ends = np.array([[row["of_optimum_low"], row["of_optimum_high"]] for row in rows]).T
    panel.bar(places, values, 0.26, color=colour, label=label, yerr=np.abs(ends - values), ecolor=ink, capsize=2,
              error_kw={"linewidth": 0.8})  # fmt: skip
    for place, value in zip(places, values, strict=True):
        panel.text(place, 0.03, f"{value:.2f}", ha="center", fontsize=7, color="#FFFFFF")


def _task(row: Numbers) -> str:
    return f"{row['task']}, {percent(row['target'])}\nlargest debt {row['largest_debt']:.2g}"


def time_course(canvas: Canvas, numbers: Numbers, names: Sequence[str], plain: str, contextual: str) -> None:
    """The cost of a decision over time, without contexts and with them, a panel per task."""
    panels = np.atleast_1d(canvas.panels("context_time", len(names), width=3.6, height=3.2))
    for panel, name in zip(panels, names, strict=True):
        best, least = numbers["optima"][name]
        for method, colour, label in ((plain, "safe", "without a look"), (contextual, "suffice", "with a look")):
            steps, costs = _mean_costs(numbers["curves"][f"{name}/{method}"])
            panel.stairs(costs / best, steps, baseline=None, color=canvas.colour(colour), linewidth=1.6, label=label)
        panel.axhline(1.0, linestyle=":", color=canvas.colour("target"), label="C*")
        panel.axhline(least / best, linestyle="--", color=canvas.colour("best fixed"), label="per-context optimum")
        panel.set(xscale="log", yscale="log", xlabel="decisions", xlim=(steps[0], steps[-1]))
        panel.set_title(name, fontsize=9)
        panel.yaxis.set_major_formatter("{x:g}")
        panel.yaxis.set_minor_formatter("")
        panel.set_yticks(
            [tick for tick in (0.25, 0.5, 1, 2, 5, 10) if panel.get_ylim()[0] <= tick <= panel.get_ylim()[1]]
        )
    panels[0].set_ylabel("cost of a decision / C*")
    panels[0].figure.legend(*panels[0].get_legend_handles_labels(), fontsize=8, loc="outside upper center", ncols=4)


def _mean_costs(curve: Mapping[str, Sequence[float]]) -> tuple[Floats, Floats]:
    """The steps of the marks, and the mean cost between them."""
    steps, costs = np.array(curve["step"]), np.array(curve["cost"])
    return steps, np.diff(costs) / np.diff(steps)
