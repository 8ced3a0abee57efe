"""The demo: CIFAR-100 label ranks, first easy, then hard, and four ways to choose how many labels to show."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from suffice.best_mix import optimum
from suffice.lab.board import Board, Setting, make_board
from suffice.lab.method_specs import feedback_of
from suffice.lab.rivals import AlwaysSafe, Projected
from suffice.lab.run_results import outcome
from suffice.lab.streams import LabelRanks, Phases
from suffice.selector.paper import paper
from suffice.selector.selector import Selector
from suffice.simulator import Method, summarize

Progress = Callable[[str, int, int], None]  # the method, steps done, steps in all

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

    board: Board
    costs: dict[str, PhaseCosts]
    optimum: PhaseCosts


def methods(target: float, horizon: int) -> dict[str, Method]:
    """The four methods of the demo."""
    menu, step = EASY.menu, SCALE / horizon**0.5
    return {
        "suffice": Selector(menu, target),
        "the paper": paper(menu, target, horizon, step=step),
        "projected price": Projected(menu, target, horizon, step=step),
        "always safe": AlwaysSafe(menu, target),
    }


def run_demo(target: float, easy: int, hard: int, seed: int = 0, progress: Progress = lambda *_: None) -> Demo:
    """Play all methods on the same images."""
    steps, about = easy + hard, "labels of CIFAR-100, first easy, then hard"
    stream = Phases((EASY, easy), (HARD, hard))
    setting = Setting("label ranks", about, stream, target, steps, (seed,), min(500, steps))
    feedback, outcomes, certificates, costs = {}, {}, {}, {}
    for name, method in methods(target, steps).items():
        summary = summarize(
            method, stream, steps, seed, window=setting.window, marks=[easy],
            progress=_named(progress, name, steps),
        )  # fmt: skip
        feedback[name], outcomes[name] = feedback_of(method), [outcome(summary, None)]
        if hasattr(summary.method, "certificate"):
            certificates[name] = summary.method.certificate()
        first = next(mark.cost for mark in summary.marks if mark.step == easy)
        costs[name] = PhaseCosts(summary.cost / steps, first / easy, (summary.cost - first) / hard)
    best_easy, best_hard = optimum(*EASY.truth(), target).cost, optimum(*HARD.truth(), target).cost
    best = PhaseCosts((easy * best_easy + hard * best_hard) / steps, best_easy, best_hard)
    return Demo(make_board(setting, feedback, outcomes, {}, certificates), costs, best)


def _named(progress: Progress, name: str, total: int) -> Callable[[int], None]:
    return lambda done: progress(name, done, total)
