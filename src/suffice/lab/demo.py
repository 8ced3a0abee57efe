"""The demo: CIFAR-100 label ranks, first easy, then hard, and four ways to choose how many labels to show."""

from dataclasses import dataclass
from typing import Final

from suffice.best_mix import optimum
from suffice.lab.method_specs import Make
from suffice.lab.rivals import AlwaysSafe, Projected
from suffice.lab.run import Progress, Run, run_methods, setting_of
from suffice.lab.streams import LabelRanks, Phases
from suffice.selector.paper import paper
from suffice.selector.selector import Selector

EASY: Final = LabelRanks.cifar100(most=5)  # the true label is among the first five
HARD: Final = LabelRanks.cifar100(least=80)  # it is at rank 80 or beyond: only showing all 100 succeeds
SCALE: Final = 20  # the paper's step is SCALE/sqrt(horizon): of the three it tries, the one with the least debt


@dataclass(frozen=True, slots=True)
class PhaseCosts:
    """The mean cost of both phases together and of each."""

    both: float
    easy: float
    hard: float


@dataclass(frozen=True, slots=True)
class Demo:
    """The run, the costs of each method by phase, and the least cost possible."""

    run: Run
    costs: dict[str, PhaseCosts]
    optimum: PhaseCosts


def methods(target: float, horizon: int) -> dict[str, Make]:
    """How to make the four methods of the demo."""
    menu, step = EASY.menu, SCALE / horizon**0.5
    return {
        "suffice": lambda _: Selector(menu, target),
        "the paper": lambda _: paper(menu, target, horizon, step=step),
        "projected price": lambda _: Projected(menu, target, horizon, step=step),
        "always safe": lambda _: AlwaysSafe(menu, target),
    }


def run_demo(target: float, easy: int, hard: int, seed: int = 0, progress: Progress | None = None) -> Demo:
    """Play all methods on the same images."""
    about = "labels of CIFAR-100, first easy, then hard"
    setting = setting_of("label ranks", about, Phases((EASY, easy), (HARD, hard)), target, easy + hard, seed)
    played = run_methods(setting, methods(target, easy + hard), marks=[easy], progress=progress)
    costs = {}
    for name, curve in played.curves.items():
        first, both = curve["cost"][curve["step"].index(easy)], curve["cost"][-1]
        costs[name] = PhaseCosts(both, first, (both * (easy + hard) - first * easy) / hard)
    best_easy, best_hard = optimum(*EASY.truth(), target).cost, optimum(*HARD.truth(), target).cost
    best = PhaseCosts((easy * best_easy + hard * best_hard) / (easy + hard), best_easy, best_hard)
    return Demo(played, costs, best)
