"""What happened, noted for the gallery: a line for the terminal, and a figure for the page.

The examples note their decisions with it. Nothing of it is needed to use suffice: leave it out of what you copy.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Array = NDArray[Any]


def arguments(about: str | None) -> argparse.ArgumentParser:
    """The arguments that all examples take."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--figure", metavar="NAME.svg", help="draw NAME.svg, and NAME-dark.svg for dark pages (needs matplotlib)"
    )
    return parser


class Step(NamedTuple):
    """One decision: what was chosen (a name or a number), whether it worked, what it cost, and the debt after it."""

    chosen: Any
    success: float
    cost: float
    debt: float


class Watch:
    """The decisions of one run."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def note(self, chosen: Any, success: float, cost: float, debt: float) -> None:
        """Take down a decision."""
        self.steps.append(Step(chosen, success, cost, debt))

    def column(self, name: str, begin: int = 0, end: int | None = None) -> Floats:
        """One number per decision, of those from `begin` to `end`."""
        return np.array([getattr(step, name) for step in self.steps[begin:end]], dtype=np.float64)

    def said(self, begin: int = 0, end: int | None = None) -> str:
        """How it went, in a line: cost never without debt."""
        rate, cost = (self.column(name, begin, end).mean() for name in ("success", "cost"))
        return f"{rate:6.1%} worked, cost {cost:.3f}, largest debt {self.column('debt', begin, end).max():+.1f}"


class Story(NamedTuple):
    """What a figure tells beside the runs."""

    target: float
    safe: float = 1.0  # what it costs
    optimum: Sequence[tuple[int, float]] = ()  # from which decision on the least cost is what
    least: str = "optimum"
    marks: Mapping[int, str] = {}  # what happened at which decision
    order: Sequence[str] = ()  # what can be chosen, from cheap to expensive; the ends begin with "skip" and "safe"
    chosen: str = "what was chosen (share)"
    unit: str = "decisions"


def draw(name: str | None, runs: Mapping[str, Watch], story: Story) -> None:
    """Draw runs of one length, for a light page and for a dark one; nothing where no figure is asked for."""
    if name is not None:
        from figure import save  # here, because it takes matplotlib

        save(Path(name), runs, story)
