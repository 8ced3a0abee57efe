"""Figures for the screen and for print, light and dark. The same data give the same file."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

from suffice.lab.experiment import Canvas, Experiment, Numbers

# Okabe and Ito's colours, which readers with any colour vision can tell apart.
COLOURS = {
    "paper": "#0072B2", "projected": "#D55E00", "suffice": "#009E73", "safe": "#999999",
    "always_safe": "#999999",
    "a = 1": "#56B4E9", "a = 5": "#0072B2", "a = 20": "#CC79A7", "best fixed": "#E69F00", "target": "#777777",
}  # fmt: skip
SPARE = ("#E69F00", "#56B4E9", "#CC79A7", "#F0E442")
# With this salt and no date, the same numbers give the same file; text stays text.
SVG: Final[dict[Any, Any]] = {"svg.hashsalt": "suffice", "svg.fonttype": "none", "font.size": 9}
INK = {"light": ("#222222", "#FFFFFF", "#DDDDDD"), "dark": ("#E6E6E6", "#16181C", "#3A3D42")}


class Sheet(Canvas):
    """The figures of one experiment in one of the two styles."""

    def __init__(self, style: str) -> None:
        self.style = style
        self.figures: dict[str, Figure] = {}

    def panels(self, name: str, count: int, *, width: float = 3.6, height: float = 3.0) -> Any:
        figure = Figure(figsize=(width * count, height), layout="constrained", facecolor=INK[self.style][1])
        axes = figure.subplots(1, count, squeeze=False)[0]
        for panel in axes:
            dress(panel, self.style)
        self.figures[name] = figure
        return axes if count > 1 else axes[0]

    def colour(self, label: str) -> str:
        return COLOURS.get(label) or SPARE[sum(map(ord, label)) % len(SPARE)]

    def finish(self) -> None:
        """Give legends, which experiments make, the colours of the style."""
        ink, page, grid = INK[self.style]
        for figure in self.figures.values():
            for legend in [*figure.legends, *(panel.get_legend() for panel in figure.axes)]:
                if legend is not None:
                    legend.get_frame().set(facecolor=page, edgecolor=grid)
                    for text in (*legend.get_texts(), legend.get_title()):
                        text.set_color(ink)


def dress(panel: Any, style: str) -> None:
    """Give axes the colours of a style."""
    ink, page, grid = INK[style]
    panel.set_facecolor(page)
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["left", "bottom"]].set_color(ink)
    panel.tick_params(colors=ink, which="both", labelsize=8)
    panel.xaxis.label.set_color(ink)
    panel.yaxis.label.set_color(ink)
    panel.title.set_color(ink)
    panel.grid(True, which="major", color=grid, linewidth=0.5)
    panel.set_axisbelow(True)


def draw(experiment: Experiment, numbers: Numbers, folder: Path) -> list[str]:
    """Write NAME.svg, NAME-dark.svg and NAME.png for every figure of an experiment; their names."""
    return twins(lambda sheet: experiment.draw(numbers, sheet), folder)


def twins(
    paint: Callable[[Sheet], None], folder: Path, *, png: bool = True, look: Mapping[Any, Any] = SVG
) -> list[str]:
    """Write NAME.svg, NAME-dark.svg and, unless `png` is False, NAME.png for every figure that is painted; their names."""
    names: list[str] = []
    for style, ending in (("light", ""), ("dark", "-dark")):
        sheet = Sheet(style)
        with mpl.rc_context(dict(look)):
            paint(sheet)
            sheet.finish()
            for name, figure in sheet.figures.items():
                figure.savefig(
                    folder / f"{name}{ending}.svg", metadata={"Date": None}, facecolor=figure.get_facecolor()
                )
                if png and style == "light":
                    figure.savefig(folder / f"{name}.png", dpi=200, metadata={"Software": None})
        names = list(sheet.figures)
    return names
