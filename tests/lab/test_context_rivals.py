"""Rivals that look at the context: what each learns from it, its formula a second time, and whose context is whose."""

import copy
import importlib.util
import math
import pickle
import sys
import types
from typing import Any

import numpy as np
import pytest

from suffice import InvalidArgument, Menu, SufficeError, optimum, simulate
from suffice.best_mix import contextual_optimum
from suffice.lab.rivals import EpsilonGreedy, LinUCB, Rival, SquareCB, VowpalWabbit
from suffice.lab.rivals.base import own_rng
from suffice.lab.rivals.contextual import Contextual
from suffice.lab.rivals.prices import Price
from suffice.lab.rivals.regression import Regression
from suffice.promise.rules import Promise

wabbit = pytest.mark.skipif(importlib.util.find_spec("vowpalwabbit") is None, reason="needs vowpalwabbit")
LINEAR = [SquareCB, LinUCB, EpsilonGreedy]
ALL = [*LINEAR, pytest.param(VowpalWabbit, marks=wabbit)]
MENU = Menu({"cheap": 0.1, "dear": 0.4}, safe="all", skip="none")
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

    def judge(self, latent: Any, arm: int, price: float) -> tuple[float, float]:
        return float(latent[1] < self.cases()[1][int(latent[0] >= self.large), arm]), MENU.known_cost(arm) or 0.0

    def truth(self) -> tuple[Any, Any]:
        weights, success, cost = self.cases()
        return weights @ success, cost[0]

    def cases(self) -> tuple[Any, Any, Any]:
        success = np.array([[0.0, 0.95, 0.95, 1.0], [0.0, 0.05, 0.9, 1.0]])
        return np.array([self.large, 1.0 - self.large]), success, np.tile([0.0, 0.1, 0.4, 1.0], (2, 1))


def make(kind: type[Rival], **more: Any) -> Any:
    return kind(MENU, TARGET, **({} if kind is VowpalWabbit else {"horizon": 4000}), **{"stream": Sizes(), **more})


# --- what looking is worth


@pytest.mark.parametrize("kind", LINEAR)
def test_it_learns_from_what_it_sees(kind: type[Rival]) -> None:
    looking, blind = (simulate(make(kind), Sizes(seen), 4000) for seen in (True, False))
    late = slice(2000, None)
    for trace in (looking, blind):  # the price chases the rate of either
        assert trace.successes[late].mean() == pytest.approx(TARGET, abs=0.03)
    best, with_a_look = optimum(*Sizes().truth(), TARGET).cost, contextual_optimum(*Sizes().cases(), TARGET).cost
    assert blind.costs[late].mean() > best - 0.02
    assert looking.costs[late].mean() < 0.5 * (best + with_a_look)
    assert looking.costs[late].mean() < 0.8 * blind.costs[late].mean()


@wabbit
def test_vowpal_wabbit_learns_from_what_it_sees() -> None:
    price = optimum(*Sizes().truth(), TARGET).price
    looking, blind = (simulate(make(VowpalWabbit), Sizes(seen), 4000) for seen in (True, False))
    losses = [trace.costs[2000:].mean() - price * trace.successes[2000:].mean() for trace in (looking, blind)]
    weights, success, cost = Sizes().cases()
    least = weights @ (cost - price * success).min(axis=1)
    alike = (weights @ (cost - price * success)).min()
    assert least < losses[0] < 0.5 * (least + alike)
    assert losses[1] > alike - 0.02


@pytest.mark.parametrize("kind", ALL)
def test_a_fixed_price_does_not_move(kind: type[Rival]) -> None:
    shadow = optimum(*Sizes().truth(), TARGET).price
    assert make(kind, price="shadow").price == pytest.approx(shadow)
    trace = simulate(make(kind, price=0.7), Sizes(), 300)
    assert set(trace.prices.tolist()) == {0.7}


def test_the_price_is_projected() -> None:
    promise = Promise.make(TARGET)
    price, value = Price("tracked", promise, step=0.3), 0.0
    for success in [0.0] * 30 + [1.0] * 200:
        price.move(success)
        value = min(max(value + 0.3 * (0.8 - success), 0.0), 1.0 / (1.0 - 0.8))
        assert price.value == pytest.approx(value)
    assert value == 0.0


@pytest.mark.parametrize("kind", ALL)
def test_prices_that_are_none(kind: type[Rival]) -> None:
    for wrong, said in (
        ("high", "price must be "),
        (None, "price must be "),
        (-1.0, "price must be at least 0, got -1.0"),
        (math.nan, "price must be finite"),
    ):
        with pytest.raises(InvalidArgument, match=said):
            make(kind, price=wrong)
    with pytest.raises(InvalidArgument, match="price must be a number where no stream is given"):
        make(kind, price="shadow", stream=None)
    with pytest.raises(InvalidArgument, match=r"stream must have truth\(\)"):
        make(kind, price="shadow", stream=object())


# --- contexts and their decisions


class Keeper(Rival):
    """Notes what it is shown, and when."""

    name, source, read, feedback, guarantee, contextual = "keeper", "", "", "", "", True

    def __init__(self, menu: Menu, target: float) -> None:
        super().__init__(menu, target)
        self.chosen: list[Any] = []
        self.learned: list[Any] = []

    def _choose(self) -> int:
        self.chosen.append(self._context)
        return 1

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        self.learned.append((self._context, success))


def test_late_outcomes_come_with_their_own_context() -> None:
    rival = Keeper(MENU, TARGET)
    row = np.zeros(2)
    decisions = []
    for place in range(6):
        row[:] = place  # the same row, filled again
        decisions.append(rival.ask(context=row))
    for place in (3, 0, 5, 1, 4, 2):
        rival.tell(decisions[place], place / 10)
    assert [(int(row[0]), success) for row, success in rival.learned] == [(p, p / 10) for p in (3, 0, 5, 1, 4, 2)]
    assert not rival._waiting


def test_who_does_not_look_leaves_the_context_aside() -> None:
    class Blind(Keeper):
        contextual = False

    rival = Blind(MENU, TARGET)
    rival.tell(rival.ask(context={"size": 1.0}), 1.0)
    rival.tell(rival.ask(), 1.0)
    assert (rival.chosen, rival.learned) == ([None, None], [(None, 1.0), (None, 1.0)])


@pytest.mark.parametrize("kind", LINEAR)
def test_outcomes_that_come_late_teach_the_same(kind: type[Contextual]) -> None:
    """What was learned is the ridge regression on each outcome with the context that its decision was asked with."""
    curious = {"share": 0.9} if kind is EpsilonGreedy else {}  # else it would try nothing while it is told nothing
    rival, rng = make(kind, price=1.0, **curious), np.random.default_rng(0)
    asked = []
    for _ in range(60):
        context = {"task": str(rng.choice(["chat", "code", "mail"]))}
        asked.append((rival.ask(context=context), context, float(rng.random() < 0.5)))
    for place in rng.permutation(60):
        decision, _, success = asked[place]
        rival.tell(decision, success)
    regression = rival._regression
    for arm in (1, 2):
        mine = [(context, success) for decision, context, success in asked if decision.arm == arm]
        if not mine:
            continue
        x = np.array([regression.features.vector(regression.features.row(context)) for context, _ in mine])
        y = np.array([success for _, success in mine])
        assert regression._weights[arm - 1] == pytest.approx(np.linalg.solve(np.eye(x.shape[1]) + x.T @ x, x.T @ y))
    assert any(decision.arm in (1, 2) for decision, _, _ in asked)


@pytest.mark.parametrize("kind", ALL)
def test_a_context_must_be_given(kind: type[Rival]) -> None:
    rival = make(kind)
    with pytest.raises(InvalidArgument, match=f"context must be given to {kind.name!r}, which looks at it"):
        rival.ask()
    rival.tell(rival.ask(context={"size": 0.5}), True)
    with pytest.raises(InvalidArgument, match="context must have no other fields than 'size'"):
        rival.ask(context={"length": 0.5})
    assert (rival.pending, rival.outcomes, len(rival._waiting)) == (0, 1, 0)
    rival.tell(rival.ask(context={"size": None}), True)  # what is missing is no error
    assert rival.outcomes == 2


# --- the formulas


def settled(kind: type[Contextual], **more: Any) -> tuple[Any, Any]:
    rival = simulate(make(kind, **more), Sizes(), 500).method
    return rival, rival._regression.look({"size": 0.3})


def test_squarecb() -> None:
    rival, vector = settled(SquareCB, scale=3.0)
    success, cost = rival._regression.means(vector)
    losses = (cost - rival.price * success) / (1.0 + rival.price)
    best = int(losses.argmin())
    shares = [1.0 / (4 + 3.0 * math.sqrt(500) * (losses[arm] - losses[best])) for arm in range(4)]
    shares[best] = 1.0 - sum(share for arm, share in enumerate(shares) if arm != best)
    assert rival.probabilities(vector) == pytest.approx(shares)
    draws = [rival._pick(vector) for _ in range(2000)]
    assert np.bincount(draws, minlength=4) / 2000 == pytest.approx(shares, abs=0.05)
    with pytest.raises(InvalidArgument, match="scale must be above 0, got 0"):
        make(SquareCB, scale=0)


def test_linucb() -> None:
    rival, rng = make(LinUCB, price=0.9, width=1.5), np.random.default_rng(3)
    seen: dict[int, list[tuple[Any, float]]] = {1: [], 2: []}
    vectors = {}
    for task in ("code", "chat"):  # after that no vector changes
        rival.tell(rival.ask(context={"task": task}), True)
    for task in ("code", "chat"):
        vectors[task] = rival._regression.features.vector(rival._regression.features.row({"task": task}))
    rival = make(LinUCB, price=0.9, width=1.5)
    rival._regression.look({"task": "code"})
    rival._regression.look({"task": "chat"})
    for _ in range(300):
        task = str(rng.choice(["chat", "code"]))
        x, hopes = vectors[task], []
        for arm, cost in ((1, 0.1), (2, 0.4)):
            a = np.eye(x.size) + sum((np.outer(z, z) for z, _ in seen[arm]), np.zeros((x.size, x.size)))
            b = sum((z * success for z, success in seen[arm]), np.zeros(x.size))
            mean = min(max(float(np.linalg.solve(a, b) @ x), 0.0), 1.0)
            hopes.append(cost - 0.9 * min(1.0, mean + 1.5 * math.sqrt(x @ np.linalg.solve(a, x))))
        hopes = [0.0, *hopes, 1.0 - 0.9]
        decision = rival.ask(context={"task": task})
        assert hopes[decision.arm] == pytest.approx(min(hopes), abs=1e-9)
        success = float(rng.random() < (0.9 if task == "chat" else 0.3))
        rival.tell(decision, success)
        if decision.arm in seen:
            seen[decision.arm].append((x, success))
    assert min(map(len, seen.values())) > 2


def test_epsilon_greedy() -> None:
    rival, vector = settled(EpsilonGreedy, share=0.2)
    best = int(rival.losses(vector).argmin())
    draws = np.bincount([rival._pick(vector) for _ in range(4000)], minlength=4) / 4000
    assert draws == pytest.approx([0.85 if arm == best else 0.05 for arm in range(4)], abs=0.02)
    for wrong in (0, 1, 1.5):
        with pytest.raises(InvalidArgument, match="share must lie strictly between 0 and 1"):
            make(EpsilonGreedy, share=wrong)


def test_what_was_learned_outlives_new_knots() -> None:
    regression, rng, changes = Regression(MENU), np.random.default_rng(1), 0
    for _ in range(600):
        size, twin = float(rng.random()), copy.deepcopy(regression)
        regression.look({"size": size})
        knots = regression.features.report()["size"]["knots"]
        if twin.features.noted and knots != twin.features.report()["size"]["knots"]:
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


def test_costs_that_nobody_knows_are_learned_by_the_context() -> None:
    menu = Menu(["a", "b"], safe="all", safe_cost=5.0)
    regression, rng = Regression(menu), np.random.default_rng(2)
    for _ in range(600):
        size = float(rng.random())
        regression.look({"size": size})
        regression.add(0, {"size": size}, success=1.0, cost=4.0 * size)
    for size in (0.3, 0.8):
        success, cost = regression.means(_vector(regression, size))
        assert cost[0] == pytest.approx(4.0 * size, abs=0.2)
        assert (success[-1], cost[-1]) == (1.0, 5.0)
    rival = LinUCB(menu, TARGET, 1000, price=0.0)
    assert [rival.ask(context={"size": 0.5}).arm for _ in range(3)] == [0, 0, 0]  # it could be free


# --- Vowpal Wabbit


@wabbit
def test_vowpal_wabbit_reads_contexts_as_text() -> None:
    assert VowpalWabbit.text({"how sure": 0.25, "task|kind": "a b:c", "gone": None}) == "how_sure:0.25 task_kind=a_b_c"
    rival = make(VowpalWabbit)
    told: list[list[str]] = []
    rival._wabbit = types.SimpleNamespace(predict=rival._wabbit.predict, learn=told.append)
    decision = rival.ask(context={"size": 0.5, "task": "chat"})
    share = rival._waiting[decision.id][2]
    rival.tell(decision, True)
    cost, price = MENU.known_cost(decision.arm) or 0.0, rival.price
    assert told[0][0] == "shared |c size:0.5 task=chat"
    label, rest = told[0][decision.arm + 1].split(" ", 1)
    assert [float(part) for part in label.split(":")] == pytest.approx([0.0, (cost - price) / (1.0 + price), share])
    assert rest == f"|a arm{decision.arm}"


@wabbit
def test_vowpal_wabbit_is_pickled_with_what_it_learned() -> None:
    rival = simulate(make(VowpalWabbit), Sizes(), 500).method
    twin, fresh = pickle.loads(pickle.dumps(rival)), make(VowpalWabbit)
    for size in (0.1, 0.5, 0.9):
        assert twin.probabilities({"size": size}).tolist() == rival.probabilities({"size": size}).tolist()
        assert fresh.probabilities({"size": size}).tolist() != rival.probabilities({"size": size}).tolist()
    arms = [[method.ask(context={"size": 0.5}).arm for _ in range(50)] for method in (rival, twin)]
    assert arms[0] == arms[1]


@wabbit
def test_vowpal_wabbit_takes_its_own_options() -> None:
    shares = make(VowpalWabbit, options="--epsilon 0.4").probabilities({"size": 0.5})
    assert sorted(shares.tolist()) == pytest.approx([0.25] * 4, abs=0.16)
    with pytest.raises(InvalidArgument, match="options must be some that Vowpal Wabbit takes"):
        make(VowpalWabbit, options="--bogus")
    with pytest.raises(InvalidArgument, match="options must be text, got 3"):
        make(VowpalWabbit, options=3)


def test_without_vowpal_wabbit_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vowpalwabbit", None)
    with pytest.raises(SufficeError, match=r"needs vowpalwabbit: pip install 'suffice\[peers\]'"):
        make(VowpalWabbit)


def test_chance_is_its_own() -> None:
    one, same, other = (simulate(make(SquareCB, seed=seed), Sizes(), 200).arms for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()
    assert own_rng(1).random() != np.random.default_rng(1).random()
