"""The picture of README.md: a shift and its end; a tuned threshold stays as it is, suffice adapts."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import suffice
from suffice.lab.experiment import Canvas
from suffice.lab.rivals import AlwaysSafe
from suffice.lab.streams import LabelRanks, Phases

Floats = NDArray[np.float64]

TARGET = 0.9
PHASE = 10_000  # decisions of each of three phases
WINDOW = 800
HARD = 4  # in the second phase the true label is never among the first three
TUNED = 5  # labels shown by the fixed one: the fewest that reach the target before the change


@dataclass(frozen=True, slots=True)
class Hero:
    """Per method whether each decision worked and what it cost; and how each did in all."""

    successes: dict[str, Floats]
    costs: dict[str, Floats]
    rate: dict[str, float]
    cost: dict[str, float]
    largest_debt: dict[str, float]
    optimum: float


def hero(seed: int = 1) -> Hero:
    """Ranks of a real classifier's labels on CIFAR-100: all images, then only the hard ones, then all again."""
    usual, hard = LabelRanks.cifar100(), LabelRanks.cifar100(least=HARD)
    stream = Phases((usual, PHASE), (hard, PHASE), (usual, PHASE))
    ours = suffice.simulate(suffice.Selector(usual.menu, TARGET), stream, 3 * PHASE, seed)
    always = suffice.simulate(AlwaysSafe(usual.menu, TARGET), stream, 3 * PHASE, seed)
    # The fixed one needs no method: the outcomes of the same images at one arm.
    draws = stream.draw(np.random.default_rng(seed), 3 * PHASE)
    arm = int(np.flatnonzero(usual.shown == TUNED)[0])
    judged = [stream.outcome(one, arm, 0.0) for one in draws]
    successes = {"suffice": ours.successes, "safe": always.successes, "tuned": np.array([s for s, _ in judged])}
    costs = {"suffice": ours.costs, "safe": always.costs, "tuned": np.array([c for _, c in judged])}
    debts = {name: TARGET * np.arange(1, 3 * PHASE + 1) - np.cumsum(found) for name, found in successes.items()}
    least = [suffice.optimum(*one.truth(), TARGET).cost for one in (usual, hard, usual)]
    return Hero(
        successes=successes,
        costs=costs,
        rate={name: float(found.mean()) for name, found in successes.items()},
        cost={name: float(found.mean()) for name, found in costs.items()},
        largest_debt={name: float(found.max()) for name, found in debts.items()},
        optimum=float(np.mean(least)),
    )


def draw(canvas: Canvas, run: Hero) -> None:
    """Success and cost side by side, as means of the last outcomes."""
    panels = canvas.panels("hero", 2, width=4.1, height=2.9)
    for panel, columns, what in zip(panels, (run.successes, run.costs), ("rate", "cost"), strict=True):
        panel.axvspan(PHASE, 2 * PHASE, color=canvas.colour("safe"), alpha=0.16, linewidth=0)
        for name, colour in (("safe", "a = 1"), ("tuned", "projected"), ("suffice", "suffice")):
            wide = 2.2 if name == "suffice" else 1.4
            panel.plot(*_recent(columns[name]), color=canvas.colour(colour), linewidth=wide)
        panel.set(xlim=(0, 3 * PHASE), ylim=(0, 1.08), xlabel="decisions")
        panel.set_xticks(range(0, 3 * PHASE + 1, PHASE), [f"{tick:,}" for tick in range(0, 3 * PHASE + 1, PHASE)])
        _label(canvas, panel, run, what)
    panels[0].axhline(TARGET, linestyle="--", linewidth=1.0, color=canvas.colour("target"))
    for panel, title in zip(panels, ("how often it worked", "what it cost"), strict=True):
        panel.set_title(title, loc="left", fontsize=10, color=panel.title.get_color())


def _recent(values: Floats) -> tuple[Floats, Floats]:
    sums = np.append(0.0, np.cumsum(values))
    at = np.arange(WINDOW, values.size + 1, 50)
    return at.astype(np.float64), (sums[at] - sums[at - WINDOW]) / WINDOW


def _label(canvas: Canvas, panel: Any, run: Hero, what: str) -> None:
    """Names beside the lines: no legend to look up."""
    ink = panel.title.get_color()
    said = {"fontsize": 8.5, "ha": "left", "va": "center"}
    if what == "rate":
        panel.text(500, 1.04, "always the safe option: 100%", color=canvas.colour("a = 1"), **said)
        ours = f"suffice: {run.rate['suffice']:.1%} (target {TARGET:.0%})"
        panel.text(500, 0.79, ours, color=canvas.colour("suffice"), weight="bold", **said)
        tuned = f"a threshold tuned\nbeforehand: {run.rate['tuned']:.1%}"
        panel.text(11_200, 0.52, tuned, color=canvas.colour("projected"), **said)
        panel.text(1.5 * PHASE, 0.06, "the world is harder", color=ink, **{**said, "ha": "center"})
    else:
        panel.text(500, 1.04, f"always the safe option: {run.cost['safe']:.2f}", color=canvas.colour("a = 1"), **said)
        panel.text(
            500, 0.2, f"suffice: {run.cost['suffice']:.2f}", color=canvas.colour("suffice"), weight="bold", **said
        )
        panel.text(21_600, 0.115, f"tuned: {run.cost['tuned']:.2f}", color=canvas.colour("projected"), **said)
