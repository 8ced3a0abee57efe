"""Time per decision against n, as a figure for the screen and for print."""

import math
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.contestants import CONTESTANTS, Holder, Suffice
from benchmarks.measure import Kind, Timing

# Okabe and Ito: told apart with any kind of colour vision. Markers and dashes do it again, for print without colour.
COLOURS = (
    "#D55E00",
    "#D55E00",
    "#000000",
    "#000000",
    "#777777",
    "#777777",
    "#0072B2",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#E69F00",
)
MARKERS = "ososos^vDP*"
GAP = 0.24  # between labels, in powers of ten

End = tuple[float, int, str, str]  # time and n at which a line ends, its label and its colour


def draw(timings: Sequence[Timing], folder: Path) -> None:
    """Write decision_time.svg."""
    lines: dict[Kind, list[tuple[int, float]]] = {}
    for timing in timings:
        if not timing.reason:
            lines.setdefault(timing.kind, []).append((timing.n, timing.median))
    figure = Figure(figsize=(8.0, 5.2), layout="constrained")  # without pyplot, so no screen is looked for
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_yscale("log")
    ends: list[End] = []
    for kind, points in lines.items():
        place = CONTESTANTS.index(kind)
        dashed = issubclass(kind, Holder) and kind.bounds == "hoeffding"
        x, y = zip(*points, strict=True)
        axes.plot(
            x,
            y,
            color=COLOURS[place],
            marker=MARKERS[place],
            markersize=5,
            linewidth=2.4 if issubclass(kind, Suffice) else 1.4,
            linestyle="--" if dashed else "-",
            zorder=3 if issubclass(kind, Suffice) else 2,
        )
        ends.append((y[-1], x[-1], kind.label + (", dashed" if dashed else ""), COLOURS[place]))
    axes.set_xlabel("n, the number of arms (for MAPIE: of calibration scores)")
    axes.set_ylabel("CPU time per decision, ask + tell (µs)")
    axes.grid(True, which="major", color="#DDDDDD", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    _label(axes, sorted(ends))
    with mpl.rc_context({"svg.hashsalt": "suffice"}):  # with this and no date, the same data give the same file
        figure.savefig(folder / "decision_time.svg", metadata={"Date": None})


def _label(axes: Axes, ends: list[End]) -> None:
    """A name at the right for each line, moved apart where they would overlap, dotted to where the line ends."""
    heights = [math.log10(y) for y, *_ in ends]
    for _ in range(200):  # push neighbours apart until none overlap; a handful of labels needs far fewer rounds
        for i in range(1, len(heights)):
            short = GAP - (heights[i] - heights[i - 1])
            if short > 0:
                heights[i - 1] -= short / 2
                heights[i] += short / 2
    for height, (y, x, label, colour) in zip(heights, ends, strict=True):
        axes.annotate(
            label,
            xy=(x, y),
            xytext=(1.03, 10.0**height),
            textcoords=axes.get_yaxis_transform(),
            color=colour,
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.8,
                "linestyle": ":",
                "shrinkA": 0,
                "shrinkB": 5,
                "relpos": (0.0, 0.5),  # from the middle of the label's left edge
            },
        )
