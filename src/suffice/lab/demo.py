"""The demo's numbers: CIFAR-100 labels, first easy, then hard, and four ways to choose how many to show."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from suffice.best_mix import optimum
from suffice.lab.rivals import AlwaysSafe, Projected
from suffice.lab.streams import LabelRanks, Phases
from suffice.promise.certificate import Certificate
from suffice.selector.paper import paper
from suffice.selector.selector import Selector
from suffice.simulator import Method, simulate

EASY = LabelRanks.cifar100(most=5)  # the true label is among the first five
SCALE = 20  # the paper's step is SCALE/sqrt(horizon): of those it tries, the one that owes least
HARD = LabelRanks.cifar100(least=80)  # it is at rank 80 or beyond: only showing all 100 succeeds


@dataclass(frozen=True, slots=True)
class Row:
    """How one method did, on both phases and on each."""

    name: str
    feedback: str
    rate: float
    debt: float
    largest_debt: float
    worst_window: float
    cost: float
    easy_cost: float
    hard_cost: float


@dataclass(frozen=True, slots=True)
class Demo:
    """All rows, what is best possible, and the selector's certificate."""

    rows: list[Row]
    optimum: float
    easy_optimum: float
    hard_optimum: float
    certificate: Certificate


def methods(target: float, horizon: int) -> dict[str, Method]:
    """The four methods of the demo, fresh."""
    menu = EASY.menu
    return {
        "suffice": Selector(menu, target),
        "the paper": paper(menu, target, horizon, step=SCALE / horizon**0.5),
        "projected price": Projected(menu, target, horizon, step=SCALE / horizon**0.5),
        "always safe": AlwaysSafe(menu, target),
    }


def run(target: float, easy: int, hard: int, seed: int, window: int, progress: Callable[[str, int], None]) -> Demo:
    """Play all methods on the same images."""
    stream = Phases((EASY, easy), (HARD, hard))
    rows, certificates = [], []
    for name, method in methods(target, easy + hard).items():
        trace = simulate(method, stream, easy + hard, seed, progress=partial(progress, name))
        if isinstance(trace.method, Selector):
            certificates.append(trace.method.certificate())
        rows.append(
            Row(
                name=name,
                feedback=getattr(method, "feedback", "success + cost"),
                rate=trace.rate,
                debt=trace.debt,
                largest_debt=trace.largest_debt,
                worst_window=trace.worst_window(window),
                cost=trace.mean_cost,
                easy_cost=float(trace.costs[:easy].mean()),
                hard_cost=float(trace.costs[easy:].mean()),
            )
        )
    best_easy, best_hard = optimum(*EASY.truth(), target).cost, optimum(*HARD.truth(), target).cost
    return Demo(rows, (easy * best_easy + hard * best_hard) / (easy + hard), best_easy, best_hard, certificates[0])
