"""`python -m docs._figures` (or with the name of another folder): write every figure, light and dark, as SVG."""

import sys
from pathlib import Path

from suffice.lab.drawing import SVG, Sheet, twins

from . import decision_path, hero, panels, runs


def write(folder: Path) -> list[Path]:
    """Write NAME.svg and NAME-dark.svg for every figure; their paths. The same runs give the same files."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers, first = {name: getattr(runs, name)() for name in panels.FIGURES}, hero.hero()

    def paint(sheet: Sheet) -> None:
        for name, draw in panels.FIGURES.items():
            draw(sheet, numbers[name])
        hero.draw(sheet, first)

    names = twins(paint, folder, png=False, look={**SVG, "path.simplify_threshold": 0.6})  # thousands of points
    drawn = [folder / f"{name}{ending}.svg" for ending in ("", "-dark") for name in names]
    return [*drawn, *decision_path.write(folder)]


if __name__ == "__main__":
    for path in write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "figures"):
        print(path.name)
