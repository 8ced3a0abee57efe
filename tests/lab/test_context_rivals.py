"""Contextual rivals: what each learns from contexts, its formula a second time, and the context of each outcome."""

import copy
import math
from typing import Any

import numpy as np
import pytest

from suffice import InvalidArgument, Menu, optimum, simulate
from suffice.best_mix import contextual_optimum
from suffice.lab.rivals import LinUCB, Rival
from suffice.lab.rivals.regression import Regression

KINDS = [LinUCB]
MENU = Menu({"cheap": 0.1, "dear": 0.4}, safe="all", skip="none", safe_cost=1.0)
TARGET = 0.8


class Sizes:
    """Small requests succeed with the cheap option, large ones only with the dear one; the size is known, or is not."""

    menu = MENU
    large = 0.6  # where large requests begin

    def __init__(self, seen: bool = True) -> None:
        self.seen = seen

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Any:
        return rng.random((count, 3))

    def context(self, latent: Any) -> dict[str, float]:
        return {"size": float(latent[0] if self.seen else latent[2])}

    def outcome(self, latent: Any, arm: int, price: float) -> tuple[float, float]:
        return float(latent[1] < self.cases()[1][int(latent[0] >= self.large), arm]), MENU.known_cost(arm) or 0.0

    def truth(self) -> tuple[Any, Any]:
        weights, success, cost = self.cases()
        return weights @ success, cost[0]

    def cases(self) -> tuple[Any, Any, Any]:
        success = np.array([[0.0, 0.95, 0.95, 1.0], [0.0, 0.05, 0.9, 1.0]])
        return np.array([self.large, 1.0 - self.large]), success, np.tile([0.0, 0.1, 0.4, 1.0], (2, 1))


def make(kind: Any, **more: Any) -> Any:
    return kind(MENU, TARGET, horizon=4000, **more)


# --- what contexts are worth


@pytest.mark.parametrize("kind", KINDS)
def test_it_learns_from_contexts(kind: type[Rival]) -> None:
    looking, blind = (simulate(make(kind), Sizes(seen), 4000) for seen in (True, False))
    late = slice(2000, None)
    for trace in (looking, blind):  # the price chases the rate of either
        assert trace.successes[late].mean() == pytest.approx(TARGET, abs=0.03)
    best, with_a_look = optimum(*Sizes().truth(), TARGET).cost, contextual_optimum(*Sizes().cases(), TARGET).cost
    assert blind.costs[late].mean() > best - 0.02
    assert looking.costs[late].mean() < 0.5 * (best + with_a_look)
    assert looking.costs[late].mean() < 0.8 * blind.costs[late].mean()


# --- contexts and their decisions


class Recording(Rival):
    """Records the contexts that it is shown."""

    name, source, read, feedback, guarantee, contextual = "recording", "", "", "", "", True

    def __init__(self, menu: Menu, target: float) -> None:
        super().__init__(menu, target)
        self.chosen: list[Any] = []
        self.learned: list[Any] = []

    def _choose(self) -> int:
        self.chosen.append(self._context)
        return 1

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        self.learned.append((self._context, success))


def test_a_late_outcome_has_the_context_of_its_decision() -> None:
    rival = Recording(MENU, TARGET)
    row = np.zeros(2)
    decisions = []
    for place in range(6):
        row[:] = place  # the same row, filled again
        decisions.append(rival.ask(context=row))
    for place in (3, 0, 5, 1, 4, 2):
        rival.tell(decisions[place], place / 10)
    assert [(int(row[0]), success) for row, success in rival.learned] == [(p, p / 10) for p in (3, 0, 5, 1, 4, 2)]
    assert not rival._outstanding


def test_methods_that_are_not_contextual_ignore_the_context() -> None:
    class WithoutContexts(Recording):
        contextual = False

    rival = WithoutContexts(MENU, TARGET)
    rival.tell(rival.ask(context={"size": 1.0}), 1.0)
    rival.tell(rival.ask(), 1.0)
    assert (rival.chosen, rival.learned) == ([None, None], [(None, 1.0), (None, 1.0)])


@pytest.mark.parametrize("kind", KINDS)
def test_a_context_must_be_given(kind: type[Rival]) -> None:
    rival = make(kind)
    with pytest.raises(InvalidArgument, match=f"context must be given to {kind.name!r}, which needs it"):
        rival.ask()
    rival.tell(rival.ask(context={"size": 0.5}), True)
    with pytest.raises(InvalidArgument, match="context must have no other fields than 'size'"):
        rival.ask(context={"length": 0.5})
    assert (rival.pending, rival.outcomes, len(rival._outstanding)) == (0, 1, 0)
    rival.tell(rival.ask(context={"size": None}), True)  # what is missing is no error
    assert rival.outcomes == 2


# --- the formulas


def test_the_price_chases_the_target() -> None:
    rival = LinUCB(Menu({"a": 0.1}, safe="all", safe_cost=1.0), 0.75, horizon=25)
    prices = []
    for success in (0.0, 0.0, 1.0):
        rival.tell(rival.ask(context={"size": 0.5}), success)
        prices.append(rival.price)
    assert prices == pytest.approx([0.15, 0.3, 0.25])


def test_linucb() -> None:
    rival, rng = make(LinUCB, width=1.5), np.random.default_rng(3)
    outcomes: dict[int, list[tuple[Any, float]]] = {1: [], 2: []}
    features = rival._regression.features
    for task in ("code", "chat"):  # from then on no vector changes
        rival._regression.vector({"task": task})
    vectors = {task: features.vector(features.row({"task": task})) for task in ("code", "chat")}
    for _ in range(300):
        rival._price = 0.9
        task = str(rng.choice(["chat", "code"]))
        x, losses = vectors[task], []
        for arm, cost in ((1, 0.1), (2, 0.4)):
            a = np.eye(x.size) + sum((np.outer(z, z) for z, _ in outcomes[arm]), np.zeros((x.size, x.size)))
            b = sum((z * success for z, success in outcomes[arm]), np.zeros(x.size))
            mean = min(max(float(np.linalg.solve(a, b) @ x), 0.0), 1.0)
            losses.append(cost - 0.9 * min(1.0, mean + 1.5 * math.sqrt(x @ np.linalg.solve(a, x))))
        losses = [0.0, *losses, 1.0 - 0.9]
        decision = rival.ask(context={"task": task})
        assert losses[decision.arm] == pytest.approx(min(losses), abs=1e-9)
        success = float(rng.random() < (0.9 if task == "chat" else 0.3))
        rival.tell(decision, success)
        if decision.arm in outcomes:
            outcomes[decision.arm].append((x, success))
    assert min(map(len, outcomes.values())) > 2


def test_means_survive_new_knots() -> None:
    regression, rng, changes = Regression(MENU), np.random.default_rng(1), 0
    for _ in range(600):
        size, twin = float(rng.random()), copy.deepcopy(regression)
        regression.vector({"size": size})
        knots = regression.features.report()["size"]["knots"]
        if twin.features.observed and knots != twin.features.report()["size"]["knots"]:
            changes += 1
            for knot in knots:
                before, after = (one.means(_vector(one, knot))[0] for one in (twin, regression))
                assert after == pytest.approx(before)
        regression.add(1, {"size": size}, success=float(size < 0.6), cost=0.1)
    assert changes >= 4
    assert regression.means(_vector(regression, 0.3))[0][1] > 0.9
    assert regression.means(_vector(regression, 0.9))[0][1] < 0.1
    assert regression.deviations(_vector(regression, 0.5))[1] < 0.2
    assert regression.deviations(_vector(regression, 0.5))[2] > 0.9  # never played
    assert regression.deviations(_vector(regression, 0.5))[[0, 3]].tolist() == [0.0, 0.0]


def _vector(regression: Regression, size: float) -> Any:
    return regression.features.vector(regression.features.row({"size": size}))


def test_unknown_costs_are_learned_by_the_context() -> None:
    menu = Menu(["a", "b"], safe="all", safe_cost=5.0)
    regression, rng = Regression(menu), np.random.default_rng(2)
    for _ in range(600):
        size = float(rng.random())
        regression.vector({"size": size})
        regression.add(0, {"size": size}, success=1.0, cost=4.0 * size)
    for size in (0.3, 0.8):
        success, cost = regression.means(_vector(regression, size))
        assert cost[0] == pytest.approx(4.0 * size, abs=0.2)
        assert (success[-1], cost[-1]) == (1.0, 5.0)
    rival = LinUCB(menu, TARGET, 1000)
    assert [rival.ask(context={"size": 0.5}).arm for _ in range(3)] == [0, 0, 0]  # it could be free
