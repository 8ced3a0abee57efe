"""`python -m docs._figures` (or with the name of another folder): write every figure, light and dark, as SVG."""

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

from suffice.lab.drawing import Sheet

from . import hero, panels, runs

STYLE: Any = {"svg.hashsalt": "suffice", "svg.fonttype": "none", "font.size": 9, "path.simplify_threshold": 0.6}


def write(folder: Path) -> list[Path]:
    """Write NAME.svg and NAME-dark.svg for every figure; their paths. The same runs give the same files."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = {name: getattr(runs, name)() for name in panels.FIGURES}
    first = hero.hero()
    written = []
    for style, ending in (("light", ""), ("dark", "-dark")):
        sheet = Sheet(style)
        with mpl.rc_context(STYLE):
            for name, draw in panels.FIGURES.items():
                draw(sheet, numbers[name])
            hero.draw(sheet, first)
            sheet.finish()
            for name, figure in sheet.figures.items():
                path = folder / f"{name}{ending}.svg"
                figure.savefig(path, metadata={"Date": None}, facecolor=figure.get_facecolor())
                written.append(path)
    return written


if __name__ == "__main__":
    for path in write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "figures"):
        print(path.name)
