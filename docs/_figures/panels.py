"""How the runs of `runs` are drawn: one function per figure, on a canvas in light or dark ink."""

import itertools
from typing import Any

import numpy as np

from suffice.lab.experiment import Canvas

from . import runs

WIDE = {"width": 7.4, "height": 3.1}
PAIR = {"width": 3.7, "height": 3.0}


def walk(canvas: Canvas, run: runs.Walk) -> None:
    """The surplus of successes, between its two limits."""
    panel = canvas.panels("how_walk", 1, **WIDE)
    ink, size = panel.title.get_color(), run.banked.size
    steps = np.arange(1, size + 1)
    panel.axhspan(run.max_surplus, run.max_surplus + 4, color=canvas.colour("best fixed"), alpha=0.2, linewidth=0)
    panel.axhspan(-9, -runs.MAX_DEBT, color=canvas.colour("paper"), alpha=0.2, linewidth=0)
    panel.axvspan(*run.hard, color=canvas.colour("safe"), alpha=0.16, linewidth=0)
    panel.plot(steps, run.banked, color=canvas.colour("suffice"), linewidth=1.4)
    for played, colour, label in (
        (run.safe, "paper", "safe option played"),
        (run.skip, "best fixed", "skipped"),
    ):
        dots = {"linestyle": "none", "marker": "o", "markersize": 3.5, "label": label}
        panel.plot(steps[played], run.banked[played], color=canvas.colour(colour), **dots)
    said = {"va": "center", "color": ink, "fontsize": 8}
    panel.text(12, run.max_surplus + 2, "the surplus is max_surplus: skip", **said)
    panel.text(12, -7, "five are owed: play the safe option", **said)
    panel.text(160, 6, "between: any option, at a price", **said)
    panel.text(sum(run.hard) / 2, run.max_surplus + 2, "hard images", ha="center", **said)
    panel.set(xlabel="outcomes", ylabel="surplus of successes", ylim=(-9, run.max_surplus + 4), xlim=(0, size))
    panel.legend(fontsize=7.5, loc="lower right", bbox_to_anchor=(1.0, 0.2))


def shift(canvas: Canvas, run: runs.Shift) -> None:
    """The debts of three methods, and ours seen close by, between its bounds."""
    whole, close = canvas.panels("how_shift", 2, **PAIR)
    steps, end = np.arange(1, run.ends[-1] + 1), run.ends[-1]
    for name, debts in run.debts.items():
        whole.plot(steps, debts, color=canvas.colour(name), linewidth=1.6, label=f"{name} (cost {run.cost[name]:.2f})")
    whole.set(xlabel="outcomes", ylabel="debt: successes owed", ylim=(-440, 700))
    whole.legend(fontsize=7, loc="lower right")
    close.plot(steps, run.debts["suffice"], color=canvas.colour("suffice"), linewidth=1.4)
    some = np.linspace(1, end, 200)
    least = -np.minimum(np.sqrt(some), 40.0) - 0.1
    close.fill_between(some, least, runs.MAX_DEBT, color=canvas.colour("suffice"), alpha=0.13, linewidth=0)
    close.set(xlabel="outcomes", ylim=(-48, 14))
    said = {"fontsize": 8, "color": close.title.get_color()}
    close.text(end, 6.0, "never above 5", ha="right", va="bottom", **said)
    close.text(end, -41.5, "never below −√t − 0.1, nor below −40.1", ha="right", va="top", **said)
    for panel, title in ((whole, "three methods"), (close, "suffice, close by")):
        panel.axvspan(*run.ends[:2], color=canvas.colour("safe"), alpha=0.16, linewidth=0)
        panel.set_title(title, fontsize=9)
        panel.set_xlim(0, end)
        panel.set_xticks(range(0, end + 1, 2000), [f"{tick:,}" for tick in range(0, end + 1, 2000)])
    whole.text(300, 640, "hard images", va="top", **said)
    whole.annotate(
        "", (run.ends[0], 600), (2900, 600), arrowprops={"arrowstyle": "->", "color": said["color"], "linewidth": 0.8}
    )


def price(canvas: Canvas, run: runs.Price) -> None:
    """The price over time, straight and on the curve."""
    panels = canvas.panels("how_price", 2, **PAIR)
    steps = np.arange(1, run.straight.size + 1)
    for panel, kind, colour in ((panels[0], "straight", "paper"), (panels[1], "curve", "suffice")):
        prices = getattr(run, kind)
        panel.plot(steps, prices, color=canvas.colour(colour), linewidth=0.8)
        panel.axhline(run.shadow, linestyle="--", linewidth=1.2, color=canvas.colour("best fixed"))
        panel.axhline(run.cap, linestyle=":", linewidth=1.2, color=canvas.colour("target"))
        panel.axhline(0, linestyle=":", linewidth=1.2, color=canvas.colour("target"))
        panel.set(xlabel="outcomes", xlim=(0, steps[-1]), ylim=(-0.5, run.cap + 0.7))
        panel.set_xticks(range(0, steps.size + 1, 5000), [f"{tick:,}" for tick in range(0, steps.size + 1, 5000)])
        debt = run.largest_debt[kind]
        panel.set_title(f"{kind}: cost {run.cost[kind]:.4f}, largest debt {debt:.1f}", fontsize=9)
    ink = panels[0].title.get_color()
    panels[0].set_ylabel("price of a success")
    panels[1].text(steps[-1], run.cap - 0.15, "safe", ha="right", va="top", fontsize=8, color=ink)
    panels[1].text(steps[-1], 0.1, "skip", ha="right", va="bottom", fontsize=8, color=ink)
    panels[1].text(steps[-1], run.shadow + 0.7, "the right price", ha="right", va="bottom", fontsize=8, color=ink)


def hull(canvas: Canvas, run: runs.Hull) -> None:
    """Every option as a point, and the cheapest mixes below them all."""
    panel = canvas.panels("how_hull", 1, **WIDE)
    ink = panel.title.get_color()
    inner = [arm for arm in range(run.cost.size) if arm not in run.corners]
    corners = sorted(run.corners, key=lambda arm: run.success[arm])
    panel.plot(
        run.success[inner],
        run.cost[inner],
        linestyle="none",
        marker="o",
        markersize=4,
        color=canvas.colour("safe"),
    )
    panel.plot(
        run.success[corners], run.cost[corners], marker="o", markersize=5, color=canvas.colour("suffice"), linewidth=1.6
    )
    panel.axvline(runs.TARGET, linestyle="--", linewidth=1.2, color=canvas.colour("target"))
    panel.plot([runs.TARGET], [run.optimum.cost], marker="*", markersize=13, color=canvas.colour("projected"))
    for arm in corners[1:-1]:
        right = run.success[arm] > runs.TARGET
        panel.annotate(
            run.names[arm], (run.success[arm], run.cost[arm]), xytext=(7, -8) if right else (-6, 5),
            textcoords="offset points", ha="left" if right else "right", fontsize=7.5, color=ink,
        )  # fmt: skip
    panel.annotate(
        f"the least possible: {run.optimum.cost:.3f}", (runs.TARGET, run.optimum.cost), xytext=(0.895, 0.152),
        fontsize=8, color=ink, ha="right", arrowprops={"arrowstyle": "-", "color": ink, "linewidth": 0.7},
    )  # fmt: skip
    panel.text(runs.TARGET - 0.003, 0.178, "target", ha="right", fontsize=8, color=ink)
    panel.set(
        xlabel="success rate of an option", ylabel="its cost (a person: 1)", xlim=(0.62, 1.0), ylim=(-0.006, 0.19)
    )


def envelope(canvas: Canvas, run: runs.Envelope) -> None:
    """A line per option: what it gains over the safe option, as far as is known. At each price the highest one is played."""
    panel = canvas.panels("how_envelope", 1, **WIDE)
    ink, prices = panel.title.get_color(), np.linspace(0, 8, 1601)
    lines = prices * run.success[:, None] - run.cost[:, None]
    lines -= lines[-1]
    best, highest = lines.argmax(axis=0), lines.max(axis=0)
    for line in lines:
        panel.plot(prices, line, color=canvas.colour("safe"), linewidth=0.7, alpha=0.8)
    panel.plot(prices, highest, color=canvas.colour("suffice"), linewidth=2.6)
    starts = [0, *(np.flatnonzero(np.diff(best)) + 1).tolist(), prices.size]
    for begin, end in itertools.pairwise(starts):
        if begin:
            panel.plot(prices[begin], highest[begin], marker="o", markersize=4, color=canvas.colour("suffice"))
        if end - begin > 80:  # room for a name
            middle = (begin + end) // 2
            panel.annotate(
                run.names[best[middle]].replace(" + ", "\n+ "), (prices[middle], highest[middle]), xytext=(0, 7),
                textcoords="offset points", ha="center", va="bottom", fontsize=7, color=ink,
            )  # fmt: skip
    panel.text(7.95, 0.02, "safe", ha="right", va="bottom", fontsize=7, color=ink)
    panel.set(xlabel="price of a success", ylabel="gain over the safe option", xlim=(0, 8), ylim=(-0.12, 1.1))


def late(canvas: Canvas, run: runs.Late) -> None:
    """The debt after a shift, for feedback that comes late, and its largest value beside its bound."""
    course, largest = canvas.panels("how_late", 2, **PAIR)
    ink = course.title.get_color()
    for (lag, debts), colour in zip(run.debts.items(), ("suffice", "paper", "projected"), strict=True):
        steps = np.arange(1, debts.size + 1) - run.shift
        course.plot(
            steps, debts, color=canvas.colour(colour), linewidth=1.4, label=f"{lag} out (cost {run.cost[lag]:.2f})"
        )
    course.axvline(0, color=canvas.colour("target"), linestyle="--", linewidth=1.0)
    course.set(xlabel="outcomes since the shift", ylabel="debt: successes owed", xlim=(-600, 2400), ylim=(-70, 390))
    course.legend(fontsize=7, loc="upper left", title="decisions out at a time", title_fontsize=7)
    lags = np.array(list(run.largest))
    largest.plot(lags, [run.bound[lag] for lag in lags], color=canvas.colour("target"), linestyle="--", label="limit")
    largest.plot(lags, list(run.largest.values()), color=canvas.colour("suffice"), marker="o", label="largest debt")
    largest.set(xscale="log", yscale="log", xlabel="decisions out at a time", ylabel="successes owed")
    largest.legend(fontsize=7, loc="upper left")
    for lag in (1, 10, 100, 1000):
        largest.annotate(
            f"cost {run.cost[lag]:.2f}", (lag, run.largest[lag]), xytext=(6, -9), textcoords="offset points", fontsize=7,
            color=ink, annotation_clip=False,
        )  # fmt: skip
    largest.set(xlim=(0.7, 6000), ylim=(0.25, 2000))


def cost(canvas: Canvas, run: runs.Cost) -> None:
    """What a decision costs, stretch by stretch."""
    panel = canvas.panels("how_cost", 1, **WIDE)
    for name, course in run.courses.items():
        label = f"{name} (largest debt {run.largest_debt[name]:,.1f})"
        panel.stairs(course, run.edges, baseline=None, color=canvas.colour(name), linewidth=1.8, label=label)
    panel.axhline(1.0, color=canvas.colour("safe"), linewidth=1.2, label="always the safe option")
    panel.axhline(
        run.optimum,
        color=canvas.colour("best fixed"),
        linestyle="--",
        linewidth=1.2,
        label=f"the least possible, {run.optimum:.3f}",
    )
    panel.set(xscale="log", xlabel="outcomes", ylabel="cost of a decision", xlim=(1, run.edges[-1]), ylim=(0, 1.05))
    panel.legend(fontsize=7.5, loc="lower right")


FIGURES: dict[str, Any] = {
    "walk": walk, "shift": shift, "hull": hull, "envelope": envelope, "price": price, "late": late, "cost": cost,
}  # fmt: skip
