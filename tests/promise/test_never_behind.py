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
from suffice import Learning, Menu, Rule, Selector, ThresholdSelector
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

    @initialize(
        goal=TARGETS,
        options=st.one_of(st.integers(1, 8), st.sampled_from([50, 500])),
        has_skip=st.booleans(),
        known=st.booleans(),
        max_debt=st.one_of(st.sampled_from([0, 0.4, 1, 5]), st.floats(0, 20).map(lambda x: round(x, 9))),
        in_flight=st.sampled_from([0, 0, 1, 3, 20, 200]),
        max_surplus=st.one_of(st.none(), st.floats(0.5, 60)),
        limits=st.sampled_from(["two", "two", "two", "rule", "cheap"]),
        bounds=st.sampled_from(["half-log", "kl", "hoeffding", "paper", "liar"]),
        chooser=st.sampled_from(["optimist", "hostile"]),
        patience=st.sampled_from([None, None, 5.0]),
        seed=st.integers(0, 10**6),
        compiled=st.booleans(),
    )
    def set_up(
        self, goal: Any, options: int, has_skip: bool, known: bool, max_debt: float, in_flight: int,
        max_surplus: float | None, limits: str, bounds: str, chooser: str, patience: float | None, seed: int, compiled: bool,
    ) -> None:  # fmt: skip
        phi = promised(goal)
        costs = np.linspace(0.01, 0.9, options) if known else None
        boundary: dict[str, Any] = {"skip": "none"} if has_skip else {}
        self.menu = Menu([f"o{i}" for i in range(options)], safe="all", costs=costs, safe_cost=1.0, **boundary)
        self.now = 0.0
        self.own = Learning(
            bounds=Liar(seed) if bounds == "liar" else bounds,
            chooser=Hostile(seed) if chooser == "hostile" else chooser,
        )
        arguments: dict[str, Any] = {"max_debt": max_debt, "in_flight": in_flight, "max_surplus": max_surplus}
        owed, most_surplus = Fraction(str(max_debt)), 40.0
        if limits != "two":  # those of the paper: the start and the surplus set how much may be owed
            start, banked = ("safe", max_surplus) if limits == "rule" else ("cheap", max_surplus or 7.0)
            arguments = {"rule": Rule(start, max_surplus=banked)}
            in_flight_of_book, max_surplus = None, banked if limits == "rule" else 0.0
            wide = math.ceil((banked or 0) * (1 - 2.0**-40) * 10**9) if limits == "cheap" else 0
            owed, most_surplus = phi + Fraction(wide - 1, 10**9), math.inf
        else:
            in_flight_of_book = in_flight
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SUFFICE_NO_COMPILE", "" if compiled else "1")
            self.selector = Selector(
                self.menu, goal, learning=self.own, expire_after=patience, clock=lambda: self.now, **arguments
            )
        self.book = Book(phi, owed, in_flight_of_book, max_surplus, has_skip, most_surplus)
        self.patience = patience
        self.asked_at: dict[int, float] = {}
        self.seen = {}

    def kind(self, decision: suffice.Decision) -> str:
        return {"all": SAFE, "none": SKIP}.get(decision.option, OTHER)

    def age(self) -> None:
        """What the selector must do by itself at its next ask: give up on what is overdue, oldest first."""
        if self.patience is not None:
            for identity in [i for i in self.book.out if self.asked_at[i] < self.now - self.patience]:
                self.book.expire(identity)

    def note(self, decision: suffice.Decision, insisted: bool = False, emergency: bool = False) -> None:
        self.book.ask(decision.id, self.kind(decision), insisted, emergency)
        self.seen[decision.id] = decision
        self.asked_at[decision.id] = self.now

    def outcome(self, decision: suffice.Decision, wish: float) -> float:
        """The world may do as it likes, but the safe option succeeds and a skip fails."""
        return {SAFE: 1.0, SKIP: 0.0}.get(self.kind(decision), wish)

    def settle(self, identity: int, wish: float) -> None:
        decision = self.seen[identity]
        success = self.outcome(decision, wish)
        self.selector.tell(decision if identity % 2 else identity, success, 0.5)
        if self.kind(decision) != SKIP:
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
        """Prompt outcomes, all alike: the fastest way to either limit."""
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

    @rule(
        available=st.lists(st.integers(0, 7), max_size=3), safe=st.booleans(), audit=st.booleans(), insist=st.booleans()
    )
    def ask_specially(self, available: list[int], safe: bool, audit: bool, insist: bool) -> None:
        self.age()
        options = [option for option in (f"o{i}" for i in available) if option in self.menu.options]
        options += ["all"] if safe or not options else []
        needs_safe = self.book.must_be_safe()
        if needs_safe and "all" not in options and not insist:
            self.selector.certificate()  # what is overdue expires, in any case
            before = self.selector.state()
            with pytest.raises(suffice.SafeUnavailable, match="insist"):
                self.selector.ask(available=options, audit=audit)
            assert self.selector.state() == before
            return
        decision = self.selector.ask(available=options, audit=audit, insist=insist)
        assert decision.option in [*options, "none"]
        if audit:
            self.note(decision, insisted="all" not in options)

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

    @precondition(lambda self: self.book.out)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        identity = data.draw(st.sampled_from(sorted(self.book.out)))
        before = self.selector.debt
        self.selector.cancel(identity)
        self.book.cancel(identity)
        assert self.selector.debt == before

    @precondition(lambda self: self.book.gone)
    @rule(data=st.data(), wish=st.sampled_from([0.0, 1.0]), lies=st.booleans())
    def amend(self, data: st.DataObject, wish: float, lies: bool) -> None:
        """A late report; a safe play that was lost may turn out to have failed, which the theorem does not cover."""
        identity = data.draw(st.sampled_from(sorted(self.book.gone)))
        success = wish if lies else self.outcome(self.seen[identity], wish)
        self.selector.tell(identity, success, 0.5)
        self.book.tell(identity, Fraction(success))

    @precondition(lambda self: self.seen)
    @rule(data=st.data())
    def tell_again(self, data: st.DataObject) -> None:
        identity = data.draw(st.sampled_from(sorted(self.seen)))
        if identity in self.book.out or identity in self.book.gone:
            return
        before = self.selector.state()
        if self.kind(self.seen[identity]) == SKIP:
            self.selector.tell(identity, False)  # it was settled when it was asked
        else:
            with pytest.raises(suffice.AlreadyTold):
                self.selector.tell(identity, True, 0.5)
        assert self.selector.state() == before

    @rule(seconds=st.floats(0.1, 4))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(on=st.booleans())
    def play_safe(self, on: bool) -> None:
        self.selector.play_safe(on)
        if on:
            self.age()
            decision = self.selector.ask()
            assert decision.is_safe
            self.note(decision, emergency=True)
            self.selector.play_safe(False)

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
        assert self.selector.pending == self.book.pending

    @invariant()
    def the_certificate_agrees_with_the_book(self) -> None:
        if not hasattr(self, "book"):
            return
        self.age()
        book = self.book
        book.recount()
        certificate = self.selector.certificate()
        bound = book.debt_at_most()
        assert round(certificate.debt_at_most * 10**9) == bound * 10**9  # to the last billionth
        assert certificate.owed_at_most == pytest.approx(float(book.owed_at_most(self.patience is not None)), abs=1e-9)
        assert certificate.window(10**9) <= float(book.window_at_most()) + 1e-6
        assert certificate.consistent
        assert certificate.violations == 0
        assert certificate.status in ("kept", "within", "unproven", "infeasible")
        assert (certificate.status == "unproven") <= (book.owed_at_most(self.patience is not None) > bound)
        assert certificate.amended == book.late_successes
        assert certificate.safe_lost == book.lost
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


ADVERSARIES = [
    "always fails", "always succeeds", "fails when dear", "fails when cheap", "near the top", "coin", "fractions", "blocks"
]  # fmt: skip


@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("target", [0.01, 0.3, 0.7, Fraction(2, 3), 0.9, 0.99])
@pytest.mark.parametrize(
    ("has_skip", "max_debt", "max_surplus", "uncompiled"),
    [(True, 0, None, "1"), (False, 5, None, ""), (True, 5, 7.5, ""), (False, 1, 7.5, "1"), (True, 1.5, None, "")],
)
def test_never_behind_on_long_runs(
    adversary: str,
    target: Any,
    has_skip: bool,
    max_debt: float,
    max_surplus: float | None,
    uncompiled: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SUFFICE_NO_COMPILE", uncompiled)
    boundary: dict[str, Any] = {"skip": "none"} if has_skip else {}
    menu = Menu({"a": 0.1, "b": 0.2, "c": 0.6, "all": 1.0}, safe="all", **boundary)
    selector = Selector(menu, target, max_debt=max_debt, max_surplus=max_surplus)
    phi = promised(target)
    book = Book(phi, Fraction(str(max_debt)), 200, max_surplus, has_skip)
    rng = np.random.default_rng(0)
    for step in range(1500):
        decision = selector.ask()
        kind = {"all": SAFE, "none": SKIP}.get(decision.option, OTHER)
        wish = spiteful(rng, adversary, step, decision.price, menu.safe_cost / (1 - float(phi)))
        success = {SAFE: 1.0, SKIP: 0.0}.get(kind, wish)
        book.ask(decision.id, kind)
        selector.tell(decision, success)
        if kind != SKIP:
            book.tell(decision.id, Fraction(int(success * 10**9), 10**9))
        assert selector.debt <= max_debt
    assert selector.certificate().holds


@pytest.mark.parametrize("adversary", ["always fails", "fails when dear", "fails when cheap", "coin", "blocks"])
@pytest.mark.parametrize("target", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("max_debt", [0, 1, 5])
def test_the_threshold_is_never_behind(adversary: str, target: float, max_debt: float) -> None:
    selector = ThresholdSelector(low=2, high=12, target=target, max_debt=max_debt, max_surplus=20)
    book = Book(promised(target), Fraction(max_debt), 200, 20, True)
    rng = np.random.default_rng(1)
    for step in range(1500):
        decision = selector.ask()
        assert 2 <= decision.option <= 12
        kind = {12.0: SAFE, 2.0: SKIP}.get(decision.option, OTHER)
        wish = spiteful(rng, adversary, step, decision.price, 10.0)
        success = {SAFE: 1.0, SKIP: 0.0}.get(kind, wish)
        book.ask(decision.id, kind)
        selector.tell(decision, success)
        if kind != SKIP:
            book.tell(decision.id, Fraction(success))
        if not book.must_be_safe():  # the state is never clipped: the threshold is linear in the debt
            banked, top = float(book.banked), max_debt - target + 1e-9
            assert selector.threshold == pytest.approx(2 + 10 * (selector.debt + banked) / (top + banked), abs=1e-6)


@pytest.mark.parametrize("start", ["safe", "cheap", 7.0])
def test_the_threshold_of_a_rule_is_linear_in_the_debt(start: Any) -> None:
    selector = ThresholdSelector(low=2, high=12, target=0.5, rule=Rule(start, max_surplus=20))
    begins = {"safe": 12.0, "cheap": 2.0}.get(start, 7.0)
    rng = np.random.default_rng(1)
    for _ in range(1500):
        decision = selector.ask()
        kind = {12.0: SAFE, 2.0: SKIP}.get(decision.option, OTHER)
        selector.tell(decision, {SAFE: 1.0, SKIP: 0.0}.get(kind, float(rng.random() < 0.5)))
        assert selector.threshold == pytest.approx(begins + 10 / 20 * selector.debt, abs=1e-9)


def test_lies_are_told() -> None:
    """The attack is real: the lying bounds do reach the chooser."""
    menu = Menu({"a": 0.1, "b": 0.2, "all": 1.0}, safe="all", skip="none")
    liar = Liar(0)
    selector = Selector(menu, 0.5, learning=Learning(bounds=liar))
    for _ in range(20):
        decision = selector.ask()
        selector.tell(decision, decision.option == "all")
    assert selector.learning.bounds is liar
    assert Optimist().choose(1.0, liar, None) in range(4)
    assert selector.outcomes == 20
