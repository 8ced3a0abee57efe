"""Attacks on the promise: whoever chooses the outcomes, their order, delay and loss, and whatever the bounds say."""

import logging
import math
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import suffice
from suffice import Learning, Menu, Selector, ThresholdSelector
from suffice.learning.bounds import Tally
from suffice.learning.choosers import Optimist
from tests.support.book import OTHER, SAFE, SKIP, Book, promised

pytestmark = pytest.mark.filterwarnings("ignore::suffice.SufficeWarning")  # what falls over here does so on purpose

TARGETS = st.one_of(
    st.integers(1, 99).map(lambda k: k / 100),
    st.sampled_from([0.7, 0.9, 0.999, Fraction(2, 3), Fraction(1, 7), 1 / 3]),
)


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger("suffice"), "disabled", True)


@pytest.fixture(autouse=True, scope="module")
def _warm() -> None:
    """Once warm, small menus run compiled as well; half of the attacks switch that off for theirs."""
    suffice.warmup()


class Liar:
    """Bounds that say whatever they like, and sometimes fall over."""

    name = "liar"

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def start(self, menu: Menu, horizon: int | None) -> None:
        self.upper = self.rng.normal(size=menu.n_arms)
        self.lower = self.rng.normal(size=menu.n_arms)

    def update(self, tally: Tally, arm: int, told: int) -> None:
        self.upper[arm] = self.rng.choice([-1e9, 0.0, 1.0, np.nan, np.inf])
        self.lower[arm] = self.rng.normal()
        if self.rng.random() < 0.2:
            raise RuntimeError("bounds fell over")

    def refresh(self, tally: Tally, told: int) -> None:
        self.upper[:] = self.rng.normal(size=self.upper.size)


class Hostile:
    """A chooser that proposes anything at all."""

    name = "hostile"

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def choose(self, price: float, bounds: Any, allowed: Any) -> Any:
        pick = self.rng.integers(6)
        if pick == 0:
            raise RuntimeError("chooser fell over")
        return [None, math.nan, -1, 10**9, 1, "arm"][pick - 1] if pick < 3 else int(self.rng.integers(0, 4))


class Attack(RuleBasedStateMachine):
    """Every rule is something a hostile world may do; after each the independent book checks every bound."""

    seen: dict[int, suffice.Decision]
    expired: list[int]

    @initialize(
        goal=TARGETS,
        options=st.one_of(st.integers(1, 8), st.sampled_from([50, 500])),
        has_skip=st.booleans(),
        known=st.booleans(),
        moves=st.sampled_from(["decaying", "horizon", "max_surplus", "step"]),
        size=st.floats(0.5, 60),
        start=st.sampled_from(["safe", "safe", "cheap", 0.3]),
        bounds=st.sampled_from(["half-log", "kl", "hoeffding", "paper", "liar"]),
        chooser=st.sampled_from(["optimist", "hostile"]),
        max_pending=st.sampled_from([None, None, 1, 3]),
        patience=st.sampled_from([None, None, 5.0]),
        seed=st.integers(0, 10**6),
        compiled=st.booleans(),
    )
    def set_up(
        self, goal: Any, options: int, has_skip: bool, known: bool, moves: str, size: float, start: Any, bounds: str,
        chooser: str, max_pending: int | None, patience: float | None, seed: int, compiled: bool,
    ) -> None:  # fmt: skip
        phi = promised(goal)
        costs = np.linspace(0.01, 0.9, options) if known else None
        boundary: dict[str, Any] = {"skip": "none"} if has_skip else {}
        self.menu = Menu([f"o{i}" for i in range(options)], safe="all", costs=costs, **boundary, safe_cost=1.0)
        cap = float(1 / (1 - phi))
        arguments: dict[str, Any] = {"start": start if isinstance(start, str) else start * cap}
        max_surplus: float | None = None
        if moves == "horizon":
            arguments["horizon"] = int(size * 20)
            max_surplus = math.sqrt(int(size * 20))
        elif moves == "max_surplus":
            arguments["max_surplus"] = max_surplus = size
        elif moves == "step":
            arguments["step"] = cap / size
            max_surplus = float((1 / (1 - phi)) / Fraction(str(cap / size)))
        self.now = 0.0
        self.own = Learning(
            bounds=Liar(seed) if bounds == "liar" else bounds,
            chooser=Hostile(seed) if chooser == "hostile" else chooser,
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SUFFICE_NO_COMPILE", "" if compiled else "1")
            self.selector = Selector(
                self.menu, goal, learning=self.own,
                max_pending=max_pending, expire_after=patience, clock=lambda: self.now, **arguments,
            )  # fmt: skip
        safe = {"safe": Fraction(1), "cheap": Fraction(0)}.get(start, Fraction(0.3 * cap) / Fraction(cap))
        self.book = Book(phi, max_surplus, safe, has_skip, max_pending)
        self.patience = patience
        self.asked_at: dict[int, float] = {}
        self.seen, self.expired = {}, []

    def kind(self, decision: suffice.Decision) -> str:
        return {"all": SAFE, "none": SKIP}.get(decision.option, OTHER)

    def age(self) -> None:
        """What the selector must do by itself at its next ask: give up on what is overdue, oldest first."""
        if self.patience is not None:
            for identity in [i for i in self.book.out if self.asked_at[i] < self.now - self.patience]:
                self.book.expire(identity)
                self.expired.append(identity)

    def note(self, decision: suffice.Decision) -> None:
        self.book.ask(decision.id, self.kind(decision))
        self.seen[decision.id] = decision
        self.asked_at[decision.id] = self.now

    def outcome(self, decision: suffice.Decision, wish: float) -> float:
        """The world may do as it likes, but the safe option succeeds and a skip fails."""
        return {SAFE: 1.0, SKIP: 0.0}.get(self.kind(decision), wish)

    def settle(self, identity: int, wish: float) -> None:
        decision = self.seen[identity]
        success = self.outcome(decision, wish)
        self.selector.tell(decision if identity % 2 else identity, success, 0.5)
        self.book.tell(identity, Fraction(int(success * 10**9), 10**9))

    @rule()
    def ask(self) -> None:
        self.age()
        self.note(self.selector.ask())

    @rule(count=st.integers(2, 6))
    def ask_many(self, count: int) -> None:
        self.age()
        for decision in self.selector.ask_many(count):
            self.note(decision)

    @rule(wish=st.sampled_from([0.0, 1.0]), count=st.integers(1, 40))
    def play(self, wish: float, count: int) -> None:
        """Prompt outcomes, all alike: the fastest way to either rail."""
        for _ in range(count):
            self.age()
            decision = self.selector.ask()
            self.note(decision)
            self.settle(decision.id, wish)

    @rule(count=st.integers(1, 40), towards=st.booleans())
    def play_against_the_price(self, count: int, towards: bool) -> None:
        """An adversary that sees the price and pushes it up, or always against where it is."""
        for _ in range(count):
            self.age()
            decision = self.selector.ask()
            self.note(decision)
            high = decision.price > 0.5 / (1 - float(self.book.target))
            self.settle(decision.id, 0.0 if high == towards else 1.0)

    @rule(available=st.lists(st.integers(0, 7), max_size=3), audit=st.booleans())
    def ask_specially(self, available: list[int], audit: bool) -> None:
        self.age()
        options = [option for option in (f"o{i}" for i in available) if option in self.menu.options]
        decision = self.selector.ask(available=options, audit=audit)
        assert decision.option in [*options, "all", "none"]
        if audit:
            self.note(decision)

    @precondition(lambda self: self.book.out)
    @rule(data=st.data(), wish=st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1)))
    def tell(self, data: st.DataObject, wish: float) -> None:
        self.settle(data.draw(st.sampled_from(sorted(self.book.out))), wish)

    @precondition(lambda self: self.book.out)
    @rule(wish=st.sampled_from([0.0, 1.0]), newest_first=st.booleans())
    def tell_all(self, wish: float, newest_first: bool) -> None:
        chosen = sorted(self.book.out, reverse=newest_first)
        outcomes = [(self.seen[i], self.outcome(self.seen[i], wish), 0.5) for i in chosen]
        self.selector.tell_many(outcomes)
        for decision, success, _ in outcomes:
            self.book.tell(decision.id, Fraction(success))

    @precondition(lambda self: self.book.out)
    @rule(data=st.data())
    def expire(self, data: st.DataObject) -> None:
        identity = data.draw(st.sampled_from(sorted(self.book.out)))
        self.selector.expire(identity)
        self.book.expire(identity)
        self.expired.append(identity)

    @precondition(lambda self: self.expired)
    @rule(data=st.data(), wish=st.sampled_from([0.0, 1.0]))
    def amend(self, data: st.DataObject, wish: float) -> None:
        identity = data.draw(st.sampled_from(self.expired))
        self.expired.remove(identity)
        before = self.selector.debt
        self.settle(identity, wish)
        assert self.selector.debt <= before

    @precondition(lambda self: self.seen)
    @rule(data=st.data())
    def tell_again(self, data: st.DataObject) -> None:
        identity = data.draw(st.sampled_from(sorted(self.seen)))
        if identity not in self.book.out and identity not in self.expired:
            before = self.selector.state()
            with pytest.raises(suffice.AlreadyTold):
                self.selector.tell(identity, True, 0.5)
            assert self.selector.state() == before

    @rule(seconds=st.floats(0.1, 4))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def save_and_load(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state.json"
            self.selector.save(path)
            loaded = Selector.load(path, clock=lambda: self.now, learning=self.own)
        assert loaded.state() == self.selector.state()
        self.selector = loaded

    @invariant()
    def the_selector_agrees_with_the_book(self) -> None:
        if not hasattr(self, "book"):
            return
        assert self.selector.outcomes == self.book.outcomes
        assert self.selector.debt == pytest.approx(float(self.book.debt), abs=1e-9)
        assert self.selector.pending == len(self.book.out)

    @invariant()
    def the_certificate_agrees_with_the_book(self) -> None:
        if not hasattr(self, "book"):
            return
        self.age()
        certificate = self.selector.certificate()
        assert certificate.holds
        assert certificate.consistent
        assert certificate.breaches == 0
        assert not certificate.breach
        assert certificate.amended == self.book.amended
        assert certificate.debt_at_most == pytest.approx(float(self.book.debt_at_most()))
        assert certificate.window(10**9) <= float(self.book.window_at_most()) + 1e-6
        assert str(certificate)


Attack.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestAttack = Attack.TestCase


class LongAttack(Attack):
    """The same, for hours if one likes."""


LongAttack.TestCase.settings = settings(max_examples=3000, stateful_step_count=120, deadline=None)
TestLongAttack = pytest.mark.long(LongAttack.TestCase)


# --- long prompt runs, where D = 1 and the promise is at its sharpest


def spiteful(rng: np.random.Generator, name: str, step: int, price: float, cap: float) -> float:
    """Adversaries that see the price."""
    return {
        "always fails": 0.0,
        "always succeeds": 1.0,
        "fails when dear": float(price < cap / 2),
        "fails when cheap": float(price > cap / 2),
        "near the top": float(price < 0.95 * cap),
        "coin": float(rng.random() < 0.5),
        "fractions": float(rng.random()),
        "blocks": float(step // 300 % 2),
    }[name]


@pytest.mark.parametrize(
    "adversary",
    [
        "always fails",
        "always succeeds",
        "fails when dear",
        "fails when cheap",
        "near the top",
        "coin",
        "fractions",
        "blocks",
    ],
)
@pytest.mark.parametrize("target", [0.01, 0.3, 0.7, Fraction(2, 3), 0.9, 0.99])
@pytest.mark.parametrize(
    ("has_skip", "max_surplus", "uncompiled"),
    [(True, None, "1"), (False, None, ""), (True, 7.5, ""), (False, 7.5, "1"), (True, None, ""), (False, 7.5, "")],
)
def test_never_behind_on_long_runs(
    adversary: str,
    target: Any,
    has_skip: bool,
    max_surplus: float | None,
    uncompiled: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SUFFICE_NO_COMPILE", uncompiled)
    boundary: dict[str, Any] = {"skip": "none"} if has_skip else {}
    menu = Menu({"a": 0.1, "b": 0.2, "c": 0.6}, safe="all", **boundary, safe_cost=1.0)
    selector = Selector(menu, target, max_surplus=max_surplus)
    phi = promised(target)
    book = Book(phi, max_surplus, Fraction(1), has_skip)
    rng = np.random.default_rng(0)
    for step in range(1500):
        decision = selector.ask()
        kind = {"all": SAFE, "none": SKIP}.get(decision.option, OTHER)
        wish = spiteful(rng, adversary, step, decision.price, menu.safe_cost / (1 - float(phi)))
        success = {SAFE: 1.0, SKIP: 0.0}.get(kind, wish)
        book.ask(decision.id, kind)
        selector.tell(decision, success)
        book.tell(decision.id, Fraction(int(success * 10**9), 10**9))
        assert selector.successes >= float(phi) * (selector.outcomes - 1) - 1e-9
    assert selector.certificate().holds


@pytest.mark.parametrize("adversary", ["always fails", "fails when dear", "fails when cheap", "coin", "blocks"])
@pytest.mark.parametrize("target", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("start", ["safe", "cheap", 7.0])
def test_the_threshold_is_never_behind(adversary: str, target: float, start: Any) -> None:
    selector = ThresholdSelector(low=2, high=12, target=target, max_surplus=20, start=start)
    safe = {"safe": Fraction(1), "cheap": Fraction(0)}.get(start, Fraction(1, 2))
    book = Book(promised(target), 20, safe, True)
    rng = np.random.default_rng(1)
    for step in range(1500):
        decision = selector.ask()
        assert 2 <= decision.option <= 12
        kind = {12.0: SAFE, 2.0: SKIP}.get(decision.option, OTHER)
        wish = spiteful(rng, adversary, step, decision.price, 10.0)
        success = {SAFE: 1.0, SKIP: 0.0}.get(kind, wish)
        book.ask(decision.id, kind)
        selector.tell(decision, success)
        book.tell(decision.id, Fraction(success))
        identity = selector.threshold - (2 + float(safe) * 10) - 10 / 20 * selector.debt
        assert identity == pytest.approx(0, abs=1e-9)  # the state is never clipped


def test_lies_are_told() -> None:
    """The attack is real: the lying bounds do reach the chooser."""
    menu = Menu({"a": 0.1, "b": 0.2}, safe="all", skip="none", safe_cost=1.0)
    liar = Liar(0)
    selector = Selector(menu, 0.5, learning=Learning(bounds=liar))
    for _ in range(20):
        decision = selector.ask()
        selector.tell(decision, decision.option == "all")
    assert selector.learning.bounds is liar
    assert Optimist().choose(1.0, liar, None) in range(4)
    assert selector.outcomes == 20
