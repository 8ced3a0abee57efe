"""The promise holds at every prefix, whatever a model predicts or raises and however late outcomes come."""

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from suffice import Learning, Menu, Selector
from suffice.selector.records import Decision
from tests.support.book import OTHER, SAFE, SKIP, Book
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

MENUS = (SMALL, Menu({"a": 0.1, "b": 0.4}, safe="all"), UNKNOWN_COSTS)
TARGET = Fraction(4, 5)
KINDS = {1: SAFE, 0: OTHER, -1: SKIP}

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


class Adversary:
    """Shows contexts and outcomes that hurt most, and recomputes the promise at every prefix."""

    def __init__(
        self, selector: Selector, menu: Menu, seed: int, *, trusted: bool = False, max_pending: int | None = None
    ) -> None:
        self.selector, self.menu, self.rng = selector, menu, random.Random(seed)
        self.trusted, self.hostile = trusted, True
        self.book = Book(TARGET, None, Fraction(1), menu.has_skip, max_pending)
        self.out: list[Decision] = []
        self.unaudited = 0

    def context(self) -> Any:
        """Extreme values, and the price itself."""
        price = self.selector.price
        return {
            "x": price if self.rng.random() < 0.9 else math.nan,
            "y": self.rng.choice([None, -math.inf, 1e-300, 0.0, 5]),
            **({"task": self.rng.choice("ab")} if price > 2.0 else {}),
        }

    def ask(self, **given: Any) -> Decision:
        if self.trusted:
            trust = trust_of(self.selector)
            trust.given, trust.compares = 1, 1e18
        decision = self.selector.ask(**given)
        if given.get("audit", True):
            self.book.ask(decision.id, KINDS[decision.role])
            self.out.append(decision)
        else:
            self.unaudited += 1
        return decision

    def tell(self, place: int) -> None:
        decision = self.out.pop(place)
        fails = self.hostile and decision.price >= 2.0  # when a failure is expensive
        worked = self.rng.random() < 0.7 and not fails
        success = {1: 1.0, -1: 0.0}.get(decision.role, 1.0 if worked else self.rng.choice([0.0, 0.25]))
        self.selector.tell(decision, success, *(told_cost(self.menu, self.rng) if decision.role == 0 else []))
        self.book.tell(decision.id, Fraction(success))
        assert self.selector.debt == pytest.approx(float(self.book.debt), abs=1e-6)

    def play(self, steps: int) -> None:
        for _ in range(steps):
            self.ask(context=self.context())
            self.tell(0)
        self.check()

    def check(self) -> None:
        certificate, book = self.selector.certificate(), self.book
        assert certificate.holds
        assert certificate.consistent
        assert not certificate.breach
        assert certificate.breaches == 0
        assert certificate.outcomes == self.selector.outcomes == book.outcomes
        assert certificate.successes == float(book.successes)
        assert certificate.debt == pytest.approx(float(book.debt), abs=1e-6)
        assert certificate.debt_at_most == pytest.approx(float(book.debt_at_most()))
        assert certificate.pending == len(book.out)
        assert (certificate.amended, certificate.safe_lost) == (book.amended, book.lost)
        assert certificate.unaudited == self.unaudited


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", MODELS)
def test_the_debt_is_bounded_at_every_prefix(name: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For prompt outcomes, on every menu, trusted or not."""
    use_engine(engine, monkeypatch)
    for trusted in (False, True):
        for seed, menu in enumerate(MENUS):
            selector = Selector(menu, TARGET, model=model_called(name), learning=Learning(guard=None))
            player = Adversary(selector, menu, seed, trusted=trusted)
            player.play(80)
            assert player.book.late == 1
            report = selector.context_report()
            if trusted:
                assert (report.followed > 5) == (name not in (*UNUSABLE, "predict", "both"))
                assert (report.failures > 0) == (name in (*UNUSABLE, *OUT_OF_RANGE, *RAISING))


def test_a_model_that_calls_its_selector_fails() -> None:
    class Reentrant(HalfModel):
        def means(self, context: Any) -> Any:
            selector.ask(context=context)

    selector = Selector(SMALL, TARGET, model=Reentrant())
    Adversary(selector, SMALL, 0, trusted=True).play(30)
    assert selector.context_report().failures > 5


def test_a_failed_prediction_is_not_repeated() -> None:
    model = Raises("predict")
    selector = Selector(SMALL, TARGET, model=model, learning=Learning(guard=None))
    player = Adversary(selector, SMALL, 0, trusted=True)
    between = 0
    for _ in range(40):
        between += player.ask(context=player.context()).role == 0
        player.tell(0)
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
