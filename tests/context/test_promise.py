"""The promise holds at every prefix, whatever a model predicts or raises. Late outcomes: `tests/selector/test_groups.py`."""

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from suffice import Learning, Menu, Selector
from tests.support.context_models import (
    ENGINES,
    SMALL,
    UNKNOWN_COSTS,
    FunctionOfContext,
    HalfModel,
    Raises,
    told_cost,
    use_engine,
)
from tests.support.looking import trust_of

MENUS = (SMALL, Menu({"a": 0.1, "b": 0.4}, safe="all", safe_cost=1.0), UNKNOWN_COSTS)
TARGET = Fraction(4, 5)

Predict = Callable[[Menu, Any, np.random.Generator], Any]


def certain_of(arm: int) -> Predict:
    """Predicts that one interior option always succeeds and the others never do."""
    return lambda menu, context, rng: np.eye(menu.n_arms)[range(menu.n_arms)[menu.interior][arm]]


VALID: dict[str, Predict] = {
    "opposite": lambda menu, context, rng: [1.0 - ((context.get("x") or 0.0) > 0.5)] * menu.n_arms,
    "certain of the cheapest": certain_of(0),
    "certain of the most expensive": certain_of(-1),
    "random": lambda menu, context, rng: rng.random(menu.n_arms),
}
OUT_OF_RANGE: dict[str, Predict] = {
    "nan": lambda menu, context, rng: np.full(menu.n_arms, math.nan),
    "negative": lambda menu, context, rng: np.full(menu.n_arms, -3.0),
    "above 1": lambda menu, context, rng: np.full(menu.n_arms, 1e300),
    "infinite": lambda menu, context, rng: rng.choice([math.inf, -math.inf], menu.n_arms),
}
UNUSABLE: dict[str, Predict] = {
    "too few": lambda menu, context, rng: [0.5],
    "a table": lambda menu, context, rng: np.zeros((menu.n_arms, 2)),
    "text": lambda menu, context, rng: ["a lot"] * menu.n_arms,
    "none": lambda menu, context, rng: None,
}
RAISING = ("predict", "update", "both", "random")
MODELS = ["auto", "half", *VALID, *OUT_OF_RANGE, *UNUSABLE, *RAISING]


def model_called(name: str) -> Any:
    if name in RAISING:
        return Raises(name)
    if name in ("auto", "half"):
        return "auto" if name == "auto" else HalfModel()
    return FunctionOfContext({**VALID, **OUT_OF_RANGE, **UNUSABLE}[name])


def play(selector: Selector, steps: int, seed: int, *, trusted: bool, max_debt: int = 5) -> tuple[int, Fraction]:
    """Contexts and outcomes that hurt most; the debt is recomputed at every prefix.

    How many decisions had no limit, and the largest debt.
    """
    rng, menu, trust = random.Random(seed), selector.menu, trust_of(selector)
    successes, between, most = Fraction(0), 0, Fraction(0)
    for outcomes in range(1, steps + 1):
        if trusted:
            trust.given, trust.compares = 1, 1e18
        price = selector.price
        context = {
            "x": price if rng.random() < 0.9 else math.nan,
            "y": rng.choice([None, -math.inf, 1e-300, 0.0, 5]),
            **({"task": rng.choice("ab")} if price > 2.0 else {}),
        }
        decision = selector.ask(context=context)
        between += decision.role == 0
        worked = rng.random() < 0.7 and decision.price < 2.0  # not when a failure is expensive
        success = {1: 1.0, -1: 0.0}.get(decision.role, 1.0 if worked else rng.choice([0.0, 0.25]))
        selector.tell(decision, success, *(told_cost(menu, rng) if decision.role == 0 else []))
        successes += Fraction(success)
        debt = TARGET * outcomes - successes
        most = max(most, debt)
        assert debt <= max_debt
        assert selector.debt == float(debt)
    certificate = selector.certificate()
    assert (certificate.consistent, certificate.assumption_violated, certificate.violations) == (True, False, 0)
    assert certificate.status == ("within" if debt > 0 else "kept")
    assert (certificate.outcomes, certificate.successes) == (steps, float(successes))
    assert certificate.debt_at_most == max_debt
    return between, most


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", MODELS)
def test_the_debt_is_bounded_at_every_prefix(name: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For prompt outcomes, on every menu, trusted or not, and whether or not anything may be owed."""
    use_engine(engine, monkeypatch)
    for trusted, max_debt in itertools.product((False, True), (0, 5)):
        largest = Fraction(0)
        for seed, menu in enumerate(MENUS):
            selector = Selector(
                menu, TARGET, max_debt=max_debt, model=model_called(name), learning=Learning(guard=None)
            )
            largest = max(largest, play(selector, 80, seed, trusted=trusted, max_debt=max_debt)[1])
            report = selector.context_report()
            if trusted:
                assert (report.followed > 5) == (name not in (*UNUSABLE, "predict", "both"))
                assert (report.failures > 0) == (name in (*UNUSABLE, *OUT_OF_RANGE, *RAISING))
        assert largest == 0 if max_debt == 0 else largest > max_debt / 2


def test_a_model_that_calls_its_selector_fails() -> None:
    class Reentrant(HalfModel):
        def means(self, context: Any) -> Any:
            selector.ask(context=context)

    selector = Selector(SMALL, TARGET, model=Reentrant())
    play(selector, 30, 0, trusted=True)
    assert selector.context_report().failures > 5


def test_a_failed_prediction_is_not_repeated() -> None:
    model = Raises("predict")
    selector = Selector(SMALL, TARGET, model=model, learning=Learning(guard=None))
    between, _ = play(selector, 40, 0, trusted=True)
    assert 0 < between <= model.calls == selector.context_report().failures <= 40


def test_a_model_that_cannot_forget_loses_trust_once_per_drift() -> None:
    class Overconfident(HalfModel):
        def means(self, context: Any) -> Any:
            return np.full(self.menu.n_arms, 0.999)

        def forget(self) -> None:
            raise RuntimeError("never")

    selector = Selector(SMALL, TARGET, model=Overconfident(), learning=Learning(guard=None))
    for step in range(400):
        decision = selector.ask(context=step)
        selector.tell(decision, decision.is_safe)
    report = selector.context_report()
    assert 0 < report.anew == report.failures < 40
