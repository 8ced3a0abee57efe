"""Menus, contexts and models that the tests of contexts share."""

import math
import random
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from suffice import Menu, Selector
from suffice.context.trust import Trust
from suffice.kernels.compiler import available
from suffice.selector.records import Decision
from tests.support.looking import learner_of, trust_of

SMALL = Menu({"a": 0.1, "b": 0.4}, safe="all", skip="none", safe_cost=1.0)
UNKNOWN_COSTS = Menu(["a", "b"], safe="all", skip="none", safe_cost=1.0)
MENUS = {
    "few": Menu({i: 0.05 + 0.4 * i / 8 for i in range(8)}, safe="all", skip="none", safe_cost=1.0),
    "chain": Menu.top_k([1, 2, 5, 10, 20], classes=40, skip=True),
    "unknown costs": Menu(range(4), safe="all", safe_cost=1.0),
    "many": Menu({i: 0.01 + i / 150 for i in range(80)}, safe="all", safe_cost=1.0),
}
ENGINES = ["plain", "compiled"] if available() else ["plain"]
needs_compiler = pytest.mark.compiled


def use_engine(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make selectors from now on with this engine."""
    monkeypatch.setenv("SUFFICE_NO_COMPILE", "1" if engine == "plain" else "")


def random_context(rng: random.Random) -> dict[str, Any]:
    """A context with numbers and a category; one in ten has an extreme value, one in ten lacks a field."""
    context: dict[str, Any] = {"x": rng.random(), "y": rng.gauss(0.0, 1.0), "task": rng.choice("abcdefg")}
    if rng.random() < 0.1:
        context[rng.choice("xy")] = rng.choice([math.nan, math.inf, -math.inf, None, 1e308])
    if rng.random() < 0.1:
        del context[rng.choice(["x", "y", "task"])]
    return context


def rounds(count: int, seed: int) -> list[tuple[dict[str, Any], float]]:
    """Contexts, each with the random number that decides which options succeed."""
    rng = random.Random(seed)
    return [(random_context(rng), rng.random()) for _ in range(count)]


def outcome(menu: Menu, context: dict[str, Any], luck: float, arm: int) -> bool:
    """Whether an arm succeeds: the larger x, the more often."""
    x = context.get("x")
    known = x if x is not None and math.isfinite(x) and x < 1.0 else 0.5
    chance = 0.2 + 0.75 * arm / menu.n_arms + 0.6 * (known - 0.5)
    kind = menu.kind_of(arm)
    return kind > 0 or (kind == 0 and luck < chance)


def told_cost(menu: Menu, rng: random.Random) -> list[float]:
    """The cost to report, if the menu does not know it."""
    return [rng.random()] if menu.costs is None else []


def tell(selector: Selector, decision: Decision, success: bool = False) -> None:
    """Report an outcome; the safe option always succeeds, the skip option never."""
    selector.tell(decision, decision.is_safe or (success and not decision.is_skip))


def trained(menu: Menu = MENUS["few"], steps: int = 400, model: Any = "auto") -> tuple[Selector, list[Decision]]:
    """A trusted selector, and its outstanding and expired decisions; some were asked without a context."""
    selector = Selector(menu, 0.7, model=model)
    rng, late = random.Random(0), []
    for step, (context, luck) in enumerate(rounds(steps, 3)):
        decision = selector.ask(context=context) if step % 20 else selector.ask()
        if step % 10 < 8:
            selector.tell(decision, outcome(menu, context, luck, decision.arm), *told_cost(menu, rng))
        else:
            late.append(decision)
            if step % 10 == 8:
                selector.expire(decision)
        if step == steps // 4:
            trust_of(selector).given = 1
    return selector, late


def interior_decisions(selector: Selector, contexts: list[Any]) -> list[tuple[Decision, Any]]:
    """One decision between the limits for each of these contexts."""
    found = []
    for context in contexts:
        for _ in range(1000):
            decision = selector.ask(context=context)
            if decision.role == 0:
                found.append((decision, context))
                break
            tell(selector, decision)
        else:
            raise AssertionError("the selector stays at a limit")
    return found


def learned(selector: Selector) -> list[Any]:
    """Everything that a selector with a model has learned."""
    learner, trust = learner_of(selector), trust_of(selector)
    state: Any = learner.model.state()
    state.pop("features")
    return [state, [getattr(trust, field.name) for field in fields(Trust)], learner.tally.tolist()]


class HalfModel:
    """Predicts one half for every arm; subclasses change `means`."""

    name = "half"

    def __init__(self) -> None:
        self.calls = 0

    def open(self, menu: Menu) -> None:
        self.menu = menu

    def predict(self, context: Any) -> Any:
        self.calls += 1
        return self.means(context), np.full(self.menu.n_arms, 0.1)

    def means(self, context: Any) -> Any:
        return np.full(self.menu.n_arms, 0.5)

    def update(self, context: Any, arm: int, success: float, cost: float | None) -> None:
        pass


class FunctionOfContext(HalfModel):
    """Predicts what a function of the menu, the context and a random generator returns."""

    def __init__(self, function: Callable[[Menu, Any, np.random.Generator], Any]) -> None:
        super().__init__()
        self.function, self.rng = function, np.random.default_rng(0)

    def means(self, context: Any) -> Any:
        return self.function(self.menu, context, self.rng)


class Raises(HalfModel):
    """Raises in predict, in update, in both, or at random."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where, self.rng = where, random.Random(0)

    def raise_in(self, method: str) -> None:
        if self.where in (method, "both") or (self.where == "random" and self.rng.random() < 0.5):
            raise RuntimeError("no")

    def means(self, context: Any) -> Any:
        self.raise_in("predict")
        return super().means(context)

    def update(self, context: Any, arm: int, success: float, cost: float | None) -> None:
        self.raise_in("update")


class Recorder(HalfModel):
    """Records its updates."""

    def __init__(self) -> None:
        super().__init__()
        self.updates: list[tuple[Any, int, float]] = []

    def update(self, context: Any, arm: int, success: float, cost: float | None) -> None:
        self.updates.append((context, arm, success))

    def state(self) -> list[int]:
        return [len(self.updates)]

    def restore(self, state: list[int]) -> None:
        self.before = state[0]
