"""The figures of the gallery: rate, cost, debt, and what was chosen, over the course of a run. `watch.draw` calls it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter
from numpy.typing import NDArray
from watch import Floats, Story, Watch

from suffice.lab.drawing import INK, SVG, dress

POINTS = 120  # of a curve
RUNS = (
    ("#009E73", "-"),
    ("#D55E00", "-"),
    ("#0072B2", "-"),
    ("#E69F00", "-"),
    ("#CC79A7", (0, (2, 2))),
)  # Okabe and Ito's
ENDS = {"skip": "#BBBBBB", "safe": "#777777"}
GREY = "#888888"


def save(path: Path, runs: Mapping[str, Watch], story: Story) -> None:
    """Draw NAME.svg and NAME-dark.svg: the same numbers, the same files."""
    for style, ending in (("light", ""), ("dark", "-dark")):
        ink, page, _ = INK[style]
        with mpl.rc_context(SVG):
            figure = Figure(figsize=(7.6, 5.4), layout="constrained", facecolor=page)
            panels = figure.subplots(2, 2, sharex=True).ravel()
            for panel in panels:
                dress(panel, style)
            _runs(panels, runs)
            _references(panels, len(next(iter(runs.values())).steps), story, ink)
            _choices(panels[3], runs, story)
            _words(panels, story, ink, page)
            _legends(figure, panels, ink)
            figure.savefig(path.with_stem(path.stem + ending), metadata={"Date": None}, facecolor=page)


def smooth(values: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Places, and the mean of the last sixteenth of all values at each."""
    window, sums = max(1, len(values) // 16), np.append(0.0, np.cumsum(values))
    at = np.unique(np.linspace(window - 1, len(values) - 1, POINTS).astype(np.int64))
    return at, (sums[at + 1] - sums[at + 1 - window]) / window


def _runs(panels: Any, runs: Mapping[str, Watch]) -> None:
    for (label, run), (colour, line) in zip(runs.items(), RUNS, strict=False):
        look = {"color": colour, "linestyle": line, "linewidth": 1.4, "label": label}
        panels[0].plot(*smooth(run.column("success")), **look)
        at, costs = smooth(run.column("cost"))
        panels[1].plot(at, costs, **look)
        panels[2].plot(at, run.column("debt")[at], **look)


def _references(panels: Any, count: int, story: Story, ink: str) -> None:
    tallest = max([float(np.max(line.get_ydata())) for line in panels[1].lines] + [cost for _, cost in story.optimum])
    panels[0].axhline(story.target, color=ink, linewidth=0.8, label="target")
    if story.optimum:
        at, costs = zip(*story.optimum, (count, story.optimum[-1][1]), strict=True)
        panels[1].step(at, costs, where="post", color=GREY, linewidth=1.2, linestyle="--", label=story.least)
    safe = {
        "color": GREY,
        "linewidth": 1.2,
        "linestyle": ":",
        "label": f"always the safe option ({story.safe:g})",
    }
    panels[1].axhline(story.safe, **safe)
    panels[1].set_ylim(0, min(1.08 * story.safe, 1.8 * tallest))  # far above the others it would leave them no room
    panels[2].axhline(0.0, color=ink, linewidth=0.8)
    for place in story.marks:
        for panel in panels:
            panel.axvline(place, color=GREY, linewidth=0.7, linestyle=(0, (1, 2)))


def _choices(panel: Any, runs: Mapping[str, Watch], story: Story) -> None:
    if not story.order:
        for run, (colour, line) in zip(runs.values(), RUNS, strict=False):
            panel.plot(*smooth(run.column("chosen")), color=colour, linestyle=line, linewidth=1.4)
        return
    names = [step.chosen for step in next(iter(runs.values())).steps]
    shares = [smooth(np.array([one == name for one in names], dtype=np.float64)) for name in story.order]
    between = iter(np.linspace(0.12, 0.85, sum(name.split()[0] not in ENDS for name in story.order)))
    ramp = mpl.colormaps["viridis_r"]  # from cheap to expensive, safe for colour blindness
    colours = [ENDS.get(name.split()[0]) or ramp(next(between)) for name in story.order]
    panel.stackplot(shares[0][0], *(share for _, share in shares), labels=story.order, colors=colours, linewidth=0)
    panel.set_ylim(0, 1)
    panel.yaxis.set_major_formatter(PercentFormatter(1.0))


def _words(panels: Any, story: Story, ink: str, page: str) -> None:
    titles = "success rate", "cost per decision", "debt: successes owed (below 0: ahead)", story.chosen
    for panel, title in zip(panels, titles, strict=True):
        panel.set_title(title, loc="left", fontsize=9, color=ink)
        panel.xaxis.set_major_locator(MaxNLocator(5))
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    panels[0].yaxis.set_major_formatter(PercentFormatter(1.0))
    for panel in panels[2:]:
        panel.set_xlabel(story.unit)
    behind = {"facecolor": page, "edgecolor": "none", "alpha": 0.7, "pad": 0.5}
    look = {"rotation": 90, "fontsize": 7, "color": ink, "va": "bottom", "bbox": behind, "textcoords": "offset points"}
    for place, said in story.marks.items():
        panels[0].annotate(said, (place, 0.02), xycoords=("data", "axes fraction"), xytext=(3, 0), **look)


def _legends(figure: Any, panels: Any, ink: str) -> None:
    """Lines are explained above all panels, shares below."""
    above: dict[str, Any] = {}
    below: dict[str, Any] = {}
    for place, panel in enumerate(panels):
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            (below if place == 3 else above)[label] = handle
    look = {"fontsize": 8, "frameon": False, "labelcolor": ink, "handlelength": 1.8, "columnspacing": 1.2}
    figure.legend(above.values(), above, loc="outside upper center", ncols=min(len(above), 4), **look)
    if below:
        figure.legend(below.values(), below, loc="outside lower center", ncols=min(len(below), 5), **look)
