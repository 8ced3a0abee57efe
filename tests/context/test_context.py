"""Contexts: whatever looks at them, the promise holds; both ways through the code are one; outcomes find their context."""

import contextlib
import copy
import json
import math
import pickle
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suffice
from suffice import InvalidArgument, Menu, Selector, StateError
from suffice.context.trust import Trust
from suffice.errors import InvalidContext
from suffice.kernels.compiler import available
from suffice.selector.compiled import SLOTS
from suffice.selector.context_engine import CompiledContextEngine
from suffice.selector.plain import PlainEngine
from suffice.selector.records import Decision
from tests.support.book import OTHER, SAFE, SKIP, Book
from tests.support.interrupt import InterruptAt
from tests.support.looking import in_slots, learner_of, model_of, noted, trust_of, unfair
from tests.support.paths import DATA

WITH = Menu({"a": 0.1, "b": 0.4}, safe="all", skip="none")
WITHOUT = Menu({"a": 0.1, "b": 0.4}, safe="all")
TOLD = Menu(["a", "b"], safe="all", skip="none")
MENUS = {"with a skip": WITH, "without": WITHOUT, "told costs": TOLD}
TARGET = Fraction(4, 5)
KINDS = {1: SAFE, 0: OTHER, -1: SKIP}
WAYS = ["plain", "compiled"] if available() else ["plain"]


@pytest.fixture(autouse=True, scope="module")
def _warm() -> None:
    suffice.warmup()  # small menus are compiled only where the compiler has been started


def compiling(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUFFICE_NO_COMPILE", "1" if way == "plain" else "")


def drawn(rng: random.Random) -> dict[str, Any]:
    """A context with numbers and a category, now and then with something missing or out of range."""
    context: dict[str, Any] = {"x": rng.random(), "y": rng.gauss(0.0, 1.0), "task": rng.choice("abcdefg")}
    if rng.random() < 0.1:
        context[rng.choice("xy")] = rng.choice([math.nan, math.inf, -math.inf, None, 1e308])
    if rng.random() < 0.1:
        del context[rng.choice(["x", "y", "task"])]
    return context


def chance(context: dict[str, Any], arm: int, arms: int) -> float:
    x = context.get("x")
    known = x if x is not None and math.isfinite(x) and x < 1.0 else 0.5
    return min(max(0.2 + 0.75 * arm / arms + 0.6 * (known - 0.5), 0.0), 1.0)


# --- models of every bad sort


class Half:
    """Knows nothing; a kind of it changes what is said."""

    name = "half"

    def __init__(self) -> None:
        self.calls = 0

    def open(self, menu: Menu) -> None:
        self.menu = menu

    def predict(self, context: Any) -> Any:
        self.calls += 1
        return self.say(context), np.full(self.menu.n_arms, 0.1)

    def say(self, context: Any) -> Any:
        return np.full(self.menu.n_arms, 0.5)

    def update(self, context: Any, arm: int, success: float, cost: float | None) -> None:
        pass


class Says(Half):
    """Says what a function of the menu, the context and a generator makes of it."""

    def __init__(self, what: Callable[[Menu, Any, np.random.Generator], Any]) -> None:
        super().__init__()
        self.what, self.rng = what, np.random.default_rng(0)

    def say(self, context: Any) -> Any:
        return self.what(self.menu, context, self.rng)


class Raises(Half):
    """Raises when it is asked, told, both, or at random."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where, self.rng = where, random.Random(0)

    def say(self, context: Any) -> Any:
        if self.where in ("predict", "both") or (self.where == "random" and self.rng.random() < 0.5):
            raise RuntimeError("no")
        return super().say(context)

    def update(self, context: Any, arm: int, success: float, cost: float | None) -> None:
        if self.where in ("update", "both") or (self.where == "random" and self.rng.random() < 0.5):
            raise ValueError("no")


class Slow(Half):
    """Takes its time, once."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def say(self, context: Any) -> Any:
        time.sleep(self.seconds)
        self.seconds = 0.0
        return super().say(context)


class Talks(Half):
    """Calls the selector that it works for."""

    def say(self, context: Any) -> Any:
        self.selector.ask(context=context)
        return super().say(context)

    selector: Any = None


def sure_of(arm: int) -> Callable[[], Says]:
    """One option always succeeds, and the others never do."""
    return lambda: Says(lambda menu, context, rng: np.eye(menu.n_arms)[range(menu.n_arms)[menu.interior][arm]])


# Who plays by its own choice once it is trusted, right or wrong; and who cannot.
ABLE: dict[str, Callable[[], Any]] = {
    "default": lambda: "auto",
    "half": Half,
    "opposite": lambda: Says(lambda menu, context, rng: [1.0 - ((context.get("x") or 0.0) > 0.5)] * menu.n_arms),
    "sure of the cheapest": sure_of(0),
    "sure of the dearest": sure_of(-1),
    "random": lambda: Says(lambda menu, context, rng: rng.random(menu.n_arms)),
    "nan": lambda: Says(lambda menu, context, rng: np.full(menu.n_arms, math.nan)),
    "negative": lambda: Says(lambda menu, context, rng: np.full(menu.n_arms, -3.0)),
    "above 1": lambda: Says(lambda menu, context, rng: np.full(menu.n_arms, 1e300)),
    "infinite": lambda: Says(lambda menu, context, rng: rng.choice([math.inf, -math.inf], menu.n_arms)),
    "raises in update": lambda: Raises("update"),
}
NONSENSE = ("nan", "negative", "above 1", "infinite")
UNABLE: dict[str, Callable[[], Any]] = {
    "raises in predict": lambda: Raises("predict"),
    "raises in both": lambda: Raises("both"),
    "too few": lambda: Says(lambda menu, context, rng: [0.5]),
    "a table": lambda: Says(lambda menu, context, rng: np.zeros((menu.n_arms, 2))),
    "text": lambda: Says(lambda menu, context, rng: ["a lot"] * menu.n_arms),
    "nothing at all": lambda: Says(lambda menu, context, rng: None),
}
MODELS: dict[str, Callable[[], Any]] = {**ABLE, **UNABLE, "raises at random": lambda: Raises("random")}


class Player:
    """Asks and tells, late and badly, and keeps a book of its own that checks every prefix."""

    def __init__(
        self, selector: Selector, menu: Menu, seed: int, *, trusted: bool = False, max_pending: int | None = None
    ) -> None:
        self.selector, self.menu, self.rng = selector, menu, random.Random(seed)
        self.trusted, self.spite = trusted, True
        self.book = Book(TARGET, None, Fraction(1), menu.has_skip, max_pending)
        self.out: list[Decision] = []
        self.unaudited = 0

    def context(self) -> Any:
        """What an enemy shows who sees the price: junk where it hurts, and the price itself."""
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
        wish = self.rng.random() < 0.7 if decision.price < 2.0 or not self.spite else False  # fails when it is dear
        success = {1: 1.0, -1: 0.0}.get(decision.role, self.rng.choice([0.0, 0.25]) if not wish else 1.0)
        cost = self.rng.random() if self.menu is TOLD and decision.role == 0 else None
        self.selector.tell(decision, success, cost)
        self.book.tell(decision.id, Fraction(success))
        assert self.selector.debt == pytest.approx(float(self.book.debt), abs=1e-6)

    def expire(self, place: int) -> None:
        decision = self.out[place]
        self.selector.expire(decision)
        self.book.expire(decision.id)
        if self.rng.random() < 0.5:
            self.out.pop(place)  # lost for good; of the others the outcome comes late

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


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MODELS)
def test_never_behind_whatever_looks(name: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told one by one: successes are at least target·(told − 1) at every prefix, for every menu, trusted or not."""
    compiling(way, monkeypatch)
    for trusted in (False, True):
        for seed, menu in enumerate(MENUS.values()):
            player = Player(Selector(menu, TARGET, model=MODELS[name](), guard=None), menu, seed, trusted=trusted)
            for _ in range(80):
                player.ask(context=player.context())
                player.tell(0)
            player.check()
            assert player.book.late == 1
            context_report = player.selector.context_report()
            if trusted:
                assert (context_report.followed > 5) == (name in ABLE or name == "raises at random")
                assert (context_report.failures > 0) == (
                    name in UNABLE or name in NONSENSE or name.startswith("raises")
                )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["default", "opposite", "raises at random", "nan"])
@pytest.mark.parametrize("limit", [None, 3])
def test_late_lost_and_limited(name: str, limit: int | None, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outcomes late, lost, amended; few options at hand, nobody to judge, contexts or none: the certificate is right."""
    compiling(way, monkeypatch)
    for seed, menu in enumerate(MENUS.values()):
        selector = Selector(menu, TARGET, model=MODELS[name](), guard=None, max_pending=limit)
        player = Player(selector, menu, seed, trusted=seed % 2 == 0, max_pending=limit)
        rng, player.spite = player.rng, False
        for _ in range(200):
            given: dict[str, Any] = {"context": player.context()} if rng.random() < 0.9 else {}
            given |= {"available": rng.choice([["a"], [], ["b", "a"]])} if rng.random() < 0.2 else {}
            player.ask(**given, **({"audit": False} if rng.random() < 0.1 else {}))
            while player.out and rng.random() < 0.55:
                place = rng.randrange(len(player.out))
                fresh = player.out[place].id in player.book.out
                player.expire(place) if fresh and rng.random() < 0.2 else player.tell(place)
        player.check()
        assert player.book.late > 2
        assert player.book.amended > 0


@pytest.mark.parametrize("name", ["default", "half"])
def test_what_is_overdue_is_given_up(name: str) -> None:
    now = [0.0]
    selector = Selector(WITH, TARGET, model=MODELS[name](), expire_after=5.0, clock=lambda: now[0])
    player = Player(selector, WITH, 1, trusted=True)
    asked: dict[int, float] = {}
    for _ in range(300):
        now[0] += player.rng.random()
        for decision in list(player.out):
            if asked[decision.id] < now[0] - 5.0 and decision.id in player.book.out:
                player.book.expire(decision.id)
        asked[player.ask(context=player.context()).id] = now[0]
        if player.rng.random() < 0.8:
            player.tell(player.rng.randrange(len(player.out)))
    player.check()
    assert player.book.amended > 0


@pytest.mark.parametrize("seconds", [0.2, pytest.param(10.0, marks=pytest.mark.long)])
def test_a_model_that_takes_long_once(seconds: float) -> None:
    selector = Selector(WITH, TARGET, model=Slow(seconds), guard=None)
    player = Player(selector, WITH, 0, trusted=True)
    for _ in range(100):
        player.ask(context=player.context())
        player.tell(0)
    player.check()


def test_a_model_that_calls_its_selector_is_refused() -> None:
    model = Talks()
    selector = model.selector = Selector(WITH, TARGET, model=model)
    player = Player(selector, WITH, 0, trusted=True)
    for _ in range(30):
        player.ask(context=player.context())
        player.tell(0)
    player.check()
    assert selector.context_report().failures > 5


def test_a_trusted_model_that_fails_is_asked_once() -> None:
    model = Raises("predict")
    selector = Selector(WITH, TARGET, model=model, guard=None)
    player = Player(selector, WITH, 0, trusted=True)
    between = 0
    for _ in range(40):
        between += player.ask(context=player.context()).role == 0
        player.tell(0)
    assert 0 < between <= model.calls == selector.context_report().failures <= 40


# --- nothing but what is played between the rails changes


def worlds(menu: Menu, steps: int, seed: int) -> list[tuple[dict[str, Any], float]]:
    rng = random.Random(seed)
    return [(drawn(rng), rng.random()) for _ in range(steps)]


def outcome(menu: Menu, context: dict[str, Any], luck: float, arm: int) -> bool:
    kind = menu.kind_of(arm)
    return kind > 0 or (kind == 0 and luck < chance(context, arm, menu.n_arms))


SEVERAL = {
    "few": Menu({i: 0.05 + 0.4 * i / 8 for i in range(8)}, safe="all", skip="none"),
    "chain": Menu.top_k([1, 2, 5, 10, 20], classes=40),
    "told": Menu(range(4), safe="all"),
    "many": Menu({i: 0.01 + i / 150 for i in range(80)}, safe="all"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["few", "chain", "many"])
@pytest.mark.parametrize("model", ["auto", Half, lambda: Raises("both")])
def test_without_trust_it_is_the_plain_selector(
    name: str, model: Any, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same arms, prices, debts and certificate as without a model, with outcomes that come late."""
    compiling(way, monkeypatch)
    menu = SEVERAL[name]
    looking = Selector(menu, 0.8, model=model if isinstance(model, str) else model(), seed=3)
    trust_of(looking).waits = 1e18
    plain = Selector(menu, 0.8, seed=3)
    rng, out = random.Random(0), []
    for context, luck in worlds(menu, 400, 1):
        one, other = looking.ask(context=context), plain.ask()
        assert (one.id, one.arm, one.price) == (other.id, other.arm, other.price)
        out.append((one, other, outcome(menu, context, luck, one.arm)))
        while len(out) > rng.randrange(6):
            one, other, success = out.pop(rng.randrange(len(out)))
            looking.tell(one, success)
            plain.tell(other, success)
    assert looking.context_report().followed == 0
    assert str(looking.certificate()) == str(plain.certificate())
    assert looking.options() == plain.options()
    assert looking.cost == pytest.approx(plain.cost)
    assert learner_of(looking).plain.state() == plain.learner.state()


# --- two ways, and with or without a compiler


def closed(selector: Selector) -> Selector:
    """The same selector with the quick ways closed for good."""
    selector.__dict__.update(open_quick_ways=lambda: None)
    selector.close_quick_ways()
    return selector


def weights(selector: Selector) -> list[Any]:
    """All that was learned."""
    learner, trust = learner_of(selector), trust_of(selector)
    state = learner.model.state()
    state.pop("features")
    return [state, [getattr(trust, one.name) for one in fields(Trust)], learner.tally.tolist()]


class Twins:
    """Two selectors that are asked and told the same, and must do the same."""

    def __init__(self, one: Selector, other: Selector, menu: Menu, seed: int) -> None:
        self.both, self.menu, self.rng = (one, other), menu, random.Random(seed)
        self.out: list[tuple[tuple[Decision, ...], dict[str, Any], float]] = []

    def each(self, number: int, call: Callable[[Selector, int], Any]) -> Any:
        return call(self.both[number], number)

    def ask(self) -> None:
        rng, context = self.rng, drawn(self.rng)
        kind = rng.random()
        given: dict[str, Any] = {"context": context}
        if kind < 0.03:
            given["available"] = [self.menu.option(self.menu.interior.start or 0)]
        elif kind < 0.06:
            given["audit"] = False
        elif kind < 0.09:
            del given["context"]
        decisions = tuple(self.each(number, lambda selector, _: selector.ask(**given)) for number in (0, 1))
        assert decisions[0][:3] == decisions[1][:3]
        assert decisions[0].price == decisions[1].price
        if given.get("audit", True):
            self.out.append((decisions, context, rng.random()))

    def tell(self) -> None:
        rng = self.rng
        decisions, context, luck = self.out.pop(rng.randrange(len(self.out)) if rng.random() < 0.7 else 0)
        success: float = outcome(self.menu, context, luck, decisions[0].arm)
        if decisions[0].role == 0 and rng.random() < 0.1:
            success *= 0.5
        cost = rng.random() if self.menu.costs is None and decisions[0].role == 0 else None
        way = rng.random()

        def told(selector: Selector, number: int) -> None:
            decision = decisions[number]
            if way < 0.02:
                selector.expire(decision)
            selector.tell(decision.id if way > 0.9 else decision, success, cost)
            with pytest.raises(suffice.AlreadyTold):
                selector.tell(decision, success, cost)

        for number in (0, 1):
            self.each(number, told)

    def play(self, steps: int, late: int) -> None:
        for step in range(steps):
            self.ask()
            while len(self.out) > late * self.rng.random():
                self.tell()
            if step % 500 == 0:
                self.each(self.rng.randrange(2), lambda selector, _: selector.state())  # who looks changes nothing


@pytest.mark.skipif(not available(), reason="needs the extra fast")
@pytest.mark.parametrize(
    ("name", "steps", "late"), [("few", 2500, 1), ("few", 2500, 4 * SLOTS), ("chain", 1500, 20), ("told", 1500, 700)]
)
def test_the_short_way_and_the_long_way_are_one(name: str, steps: int, late: int) -> None:
    """The same arms, trust and weights: also where more decisions are out than have seats, and some are told by id."""
    menu = SEVERAL[name]
    short = Selector(menu, 0.75, model="auto", seed=5)
    twins = Twins(short, closed(Selector(menu, 0.75, model="auto", seed=5)), menu, 6)
    twins.play(steps, late)
    assert isinstance(short._engine, CompiledContextEngine)
    assert short._engine._made > 0
    assert short.context_report().followed > 100
    assert late == 1 or len(twins.out) > late // 8
    assert weights(short) == weights(twins.both[1])
    assert str(short.certificate()) == str(twins.both[1].certificate())
    states = [one.state() for one in twins.both]
    assert states[0]["outstanding"] == states[1]["outstanding"]
    assert states[0]["expired"] == states[1]["expired"]
    assert len(noted(short)) <= len(twins.out)
    while twins.out:
        twins.tell()
    assert not noted(short)
    assert not unfair(short)
    assert weights(short) == weights(twins.both[1])


@pytest.mark.skipif(not available(), reason="needs the extra fast")
@pytest.mark.parametrize("name", ["few", "chain", "told"])
def test_compiled_or_not_it_plays_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    menu = SEVERAL[name]

    class Both(Twins):
        def each(self, number: int, call: Callable[[Selector, int], Any]) -> Any:
            compiling(WAYS[number], monkeypatch)
            return super().each(number, call)

    made = []
    for way in WAYS:
        compiling(way, monkeypatch)
        made.append(Selector(menu, 0.75, model="auto", seed=7))
    plain, compiled = made
    twins = Both(plain, compiled, menu, 8)
    twins.play(1500, 12)
    assert isinstance(plain._engine, PlainEngine)
    assert not isinstance(compiled._engine, PlainEngine)
    assert compiled.context_report().followed > 100
    for one, other in zip(weights(plain)[1], weights(compiled)[1], strict=True):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-9)


@pytest.mark.skipif(not available(), reason="needs the extra fast")
def test_an_outcome_is_learned_however_its_decision_was_asked() -> None:
    """Where few options are at hand, many are asked at once or somebody saves: such decisions are no others."""
    selector = Selector(SEVERAL["few"], 0.6, model="auto")
    rng = random.Random(0)
    for _ in range(300):
        decision = selector.ask(context={"x": rng.random()})
        selector.tell(decision, decision.role > 0 or (decision.role == 0 and rng.random() < 0.6))
    eye = model_of(selector)
    ways: list[Callable[[], Decision]] = [
        lambda: selector.ask(context={"x": 0.5}, available=[0, 1]),
        lambda: selector.ask_many(1, contexts=[{"x": 0.5}])[0],
        lambda: (selector.ask(context={"x": 0.5}), selector.state())[0],
        lambda: (selector.ask(context={"x": 0.5}), pickle.dumps(selector))[0],
    ]
    for ask in ways:
        learned = 0
        for _ in range(40):
            decision, before = ask(), eye._learned["means"][0].copy()
            selector.tell(decision, decision.role > 0)
            assert not noted(selector)
            assert not unfair(selector)
            changed = not np.array_equal(before, eye._learned["means"][0])
            assert changed == (decision.role == 0)
            learned += changed
        assert learned > 0


# --- late outcomes find the context that their decision was asked with


class Recorder(Half):
    """Keeps what it hears."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[Any, int, float]] = []

    def update(self, context: Any, arm: int, success: float, cost: float | None) -> None:
        self.heard.append((context, arm, success))

    def state(self) -> list[Any]:
        return [len(self.heard)]

    def restore(self, state: list[Any]) -> None:
        self.before = state[0]


CONTEXTS: list[Any] = [
    {"x": 1.5, "task": "chat", "n": 3, "flag": True, "gone": None},
    {"x": math.nan, "y": -math.inf, "nested": {"deep": [1, (2, "three")]}, 4: "four"},
    {"float": "a field that is called like this"},
    {"array": [1, 2]},
    {},
    (1, 2.0, "three"),
    [0.5, None, [True]],
    "just text",
    17,
    np.array([1.0, math.nan, 3.0]),
    np.array([[1, 2], [3, 4]], dtype=np.int32),
    np.float32(0.25),
]


def between(selector: Selector, contexts: list[Any]) -> list[tuple[Decision, Any]]:
    """Decisions between the rails, asked with these contexts."""
    found = []
    for context in contexts:
        for _ in range(1000):
            decision = selector.ask(context=context)
            if decision.role == 0:
                found.append((decision, context))
                break
            selector.tell(decision, decision.role > 0)
        else:
            raise AssertionError("it never left the rails")
    return found


def same(one: Any, other: Any) -> bool:
    """Equal, also where there is a NaN or an array in it."""
    return type(one) is type(other) and repr(one) == repr(other)


def reloaded(selector: Selector, model: Any) -> Selector:
    return Selector.from_state(json.loads(json.dumps(selector.state(), allow_nan=False)), model=model)


AGAIN: dict[str, Callable[[Selector], Selector]] = {
    "itself": lambda selector: selector,
    "deepcopy": copy.deepcopy,
    "pickle": lambda selector: pickle.loads(pickle.dumps(selector)),
    "reload": lambda selector: reloaded(selector, Recorder()),
}


@pytest.mark.parametrize("how", AGAIN)
@pytest.mark.parametrize("expired", [False, True], ids=["late", "expired"])
def test_late_outcomes_come_with_their_own_context(how: str, expired: bool) -> None:
    selector = Selector(WITH, 0.5, model=Recorder())
    pairs = between(selector, CONTEXTS)
    if expired:
        for decision, _ in pairs:
            selector.expire(decision)
    again = AGAIN[how](selector)
    model = model_of(again).model
    model.heard.clear()
    random.Random(0).shuffle(pairs)
    for decision, context in pairs:
        again.tell(decision, True)
        heard, arm, success = model.heard.pop()
        expected = context.item() if isinstance(context, np.generic) and how == "reload" else context
        assert same(heard, expected)
        assert (arm, success) == (decision.arm, 1.0)
    assert not model.heard
    assert not noted(again)
    assert how == "itself" or len(noted(selector)) == len(CONTEXTS)  # the other one has a life of its own


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", ["itself", "deepcopy", "pickle", "reload"])
def test_the_default_model_learns_late_outcomes_alike(how: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copied or loaded in between, outcomes that come late teach the same weights."""
    compiling(way, monkeypatch)
    selector = Selector(SEVERAL["few"], 0.5, model="auto")
    rng = random.Random(1)
    for context, luck in worlds(SEVERAL["few"], 200, 2):
        decision = selector.ask(context=context)
        selector.tell(decision, outcome(SEVERAL["few"], context, luck, decision.arm))
    pairs = between(selector, [drawn(rng) for _ in range(30)])
    for decision, _ in pairs[::5]:
        selector.expire(decision)
    other = Selector.from_state(selector.state()) if how == "reload" else AGAIN[how](selector)
    if other is selector:
        selector = copy.deepcopy(other)
    for decision, _ in pairs:
        for one in (selector, other):
            one.tell(decision, decision.id % 3 > 0)
    assert weights(selector) == weights(other)
    assert not noted(other)


def test_a_context_may_be_changed_once_it_was_asked_with() -> None:
    """One dict, one list or one array that is filled anew each time: what it held then is what counts."""
    model = Recorder()
    selector = Selector(WITH, 0.5, model=model)
    for fresh in ({"x": 0}, [0], np.zeros(1)):
        held: Any = fresh
        place: Any = "x" if isinstance(held, dict) else 0
        out = []
        for number in range(200):
            held[place] = number
            out.append((selector.ask(context=held), number))
            if len(out) > 3:
                decision, then = out.pop(0)
                selector.tell(decision, decision.role > 0)
                if decision.role == 0:
                    assert model.heard[-1][0][place] == then
    assert len(model.heard) > 50


def test_one_context_again_and_again_is_predicted_anew() -> None:
    """The same object in every decision: what the model says of it is asked for each time."""
    model = Half()
    selector = Selector(WITH, 0.5, model=model)
    between_rails = 0
    for _ in range(100):
        decision = selector.ask(context="always the same")
        between_rails += decision.role == 0
        selector.tell(decision, decision.role > 0)
    assert model.calls == between_rails > 10


def test_what_json_cannot_say_is_not_told_to_the_model() -> None:
    selector = Selector(WITH, 0.5, model=Recorder())
    pairs = between(selector, [object(), {"x": object()}, {"x": 1.0}])
    again = reloaded(selector, Recorder())
    for decision, _ in pairs:
        again.tell(decision, True)
    assert [context for context, _, _ in model_of(again).model.heard] == [{"x": 1.0}]
    assert again.outcomes == selector.outcomes + 3
    assert not noted(again)


def test_outcomes_of_the_rails_and_without_context_are_not_told() -> None:
    model = Recorder()
    selector = Selector(WITH, 0.5, model=model)
    told = 0
    for step in range(200):
        decision = selector.ask(context={"x": step}) if step % 2 else selector.ask()
        selector.tell(decision, decision.role > 0)
        told += decision.role == 0 and step % 2 == 1
    assert len(model.heard) == told > 10
    assert selector.outcomes == 200


# --- saving


def grown(menu: Menu = SEVERAL["few"], steps: int = 400, **given: Any) -> Selector:
    """A selector with a model that has earned trust, and decisions told, out, expired and asked without a context."""
    selector = Selector(menu, 0.7, **{"model": "auto", **given})
    rng = random.Random(0)
    for step, (context, luck) in enumerate(worlds(menu, steps, 3)):
        decision = selector.ask(context=context) if step % 20 else selector.ask()
        if step % 10 < 8:
            selector.tell(decision, outcome(menu, context, luck, decision.arm), *COSTS[menu.costs is None](rng))
        elif step % 10 == 8:
            selector.expire(decision)
        if step == steps // 4:
            trust_of(selector).given = 1
    return selector


COSTS: dict[bool, Callable[[random.Random], list[float]]] = {True: lambda rng: [rng.random()], False: lambda rng: []}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["few", "chain", "told"])
def test_a_loaded_selector_goes_on_like_the_original(
    name: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiling(way, monkeypatch)
    menu = SEVERAL[name]
    selector = grown(menu)
    selector.save(tmp_path / "state.json")
    again = Selector.load(tmp_path / "state.json")
    first, second = selector.state(), again.state()
    assert first == second
    assert json.loads(json.dumps(first, allow_nan=False)) == first
    assert again.context_report() == selector.context_report()
    assert again.options() == selector.options()
    assert str(again.certificate()) == str(selector.certificate())
    assert again.context_report().followed > 20
    rng = random.Random(4)
    for context, luck in worlds(menu, 200, 5):
        one, other = selector.ask(context=context), again.ask(context=context)
        assert (one.id, one.arm, one.price) == (other.id, other.arm, other.price)
        success, cost = outcome(menu, context, luck, one.arm), COSTS[menu.costs is None](rng)
        selector.tell(one, success, *cost)
        again.tell(other, success, *cost)
    assert weights(selector) == weights(again)
    assert again.cost == pytest.approx(selector.cost)


@pytest.mark.skipif(not available(), reason="needs the extra fast")
@pytest.mark.parametrize("name", ["few", "told"])
def test_moved_to_where_there_is_no_compiler(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pickled or saved with decisions in their slots, and taken up again without: outcomes teach the same."""
    compiling("compiled", monkeypatch)
    menu = SEVERAL[name]
    selector = grown(menu)
    out = [selector.ask(context={"x": 0.5}) for _ in range(8)]
    cost = None if menu.costs is not None else 0.3
    packed, state = pickle.dumps(selector), selector.state()
    for decision in out:
        selector.tell(decision, True, cost)
    compiling("plain", monkeypatch)
    for again in (pickle.loads(packed), Selector.from_state(state)):
        assert isinstance(again._engine, PlainEngine)
        for decision in out:
            again.tell(decision, True, cost)
        for one, other in zip(weights(selector)[1], weights(again)[1], strict=True):
            assert one == pytest.approx(other, rel=1e-9, abs=1e-9)
        assert again.cost == pytest.approx(selector.cost)
        assert unfair(again) == unfair(selector)


def test_a_model_of_ones_own_is_passed_again(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    selector = grown(model=Recorder())
    selector.save(path)
    with pytest.raises(StateError, match=r"saved with model of your own \(half\): pass model="):
        Selector.load(path)
    model = Recorder()
    again = Selector.load(path, model=model)
    assert model.before == len(model_of(selector).model.heard)
    assert again.state()["outstanding"] == selector.state()["outstanding"]
    assert again.state()["expired"] == selector.state()["expired"]
    assert again.context_report() == selector.context_report()
    with pytest.raises(StateError):
        Selector.load(path, model="auto")  # which cannot make anything of what the other one has learned


class Forgetful(Half):
    """Its state is none of JSON's, raises, or cannot be taken over."""

    def __init__(self, state: Any) -> None:
        super().__init__()
        self.kept = state

    def state(self) -> Any:
        if isinstance(self.kept, Exception):
            raise self.kept
        return self.kept

    def restore(self, state: Any) -> None:
        raise RuntimeError("cannot")


@pytest.mark.parametrize("state", [RuntimeError("no"), object(), {"x": math.nan}, {1, 2}])
def test_a_model_cannot_keep_the_promise_from_being_saved(state: Any, tmp_path: Path) -> None:
    selector = grown(model=Forgetful(state), steps=60)
    selector.save(tmp_path / "state.json")
    again = Selector.load(tmp_path / "state.json", model=Forgetful(state))  # there is nothing to restore
    assert (again.outcomes, again.debt, again.pending) == (selector.outcomes, selector.debt, selector.pending)


def test_a_model_that_cannot_be_restored_is_a_state_error(tmp_path: Path) -> None:
    grown(model=Forgetful([1]), steps=60).save(tmp_path / "state.json")
    with pytest.raises(StateError, match="the model must take over what it wrote down: RuntimeError: cannot"):
        Selector.load(tmp_path / "state.json", model=Forgetful([1]))


def paths(state: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a state, of long lists only the ends."""
    yield at
    items: list[Any] = []
    if isinstance(state, dict):
        items = list(state.items())
    elif isinstance(state, list):
        items = [*enumerate(state[:2]), (len(state) - 1, state[-1])] if state else []
    for key, value in items:
        yield from paths(value, (*at, key))


def tampered(state: Any, at: tuple[Any, ...], value: Any) -> Any:
    """The state with another value in one place; without it, if that is None and it stands in a mapping."""
    if not at:
        return value
    twin = copy.copy(state)
    if value is GONE and len(at) == 1:
        del twin[at[0]]
        return twin
    twin[at[0]] = tampered(twin[at[0]], at[1:], value)
    return twin


GONE = object()


def test_tampered_states_are_refused_and_never_crash() -> None:
    """Whatever stands in whatever place: it is read, and then the promise holds, or it is a StateError."""
    state = grown(TOLD, 60).state()
    parts = ("model", "learner", "outstanding", "expired", "accounts")
    places = [at for at in paths(state) if at and at[0] in parts]
    values = [None, -1, 10**30, 1e300, math.nan, math.inf, "x", [], {}, [[]], True, 0.5, GONE]
    rng = random.Random(0)
    refused = read = 0
    for at in places:
        for value in [GONE, *rng.sample(values, 3)]:
            try:
                again = Selector.from_state(tampered(state, at, value))
            except StateError:
                refused += 1
                continue
            read += 1
            for _ in range(3):
                with contextlib.suppress(InvalidContext):  # the fields may have other names now
                    again.ask(context={"x": 0.5})
                decision = again.ask()
                again.tell(decision, decision.role > 0, 0.5)
            assert again.certificate().consistent
    assert refused > 200
    assert read > 20


def test_files_from_before_there_were_contexts() -> None:
    for file in (DATA).glob("selector-*.json"):
        selector = Selector.load(file)
        assert (selector.model, selector.contextual, dict(selector.groups)) == (None, False, {})
        with pytest.raises(InvalidArgument, match="context must be left out"):
            selector.ask(context={"x": 1})
        again = Selector.from_state(selector.state())
        assert again.state() == selector.state()


# --- interrupts, handlers, copies


def released(selector: Selector) -> None:
    """A line event strikes where no signal can: on leaving a `with`, before its exit is called."""
    if "unlocked" not in repr(selector.lock):
        selector.lock.release()


def at_the_change(model: Any) -> Selector:
    """The next context is the 32nd, after which the features mean something else."""
    selector = Selector(WITH, 0.6, model=model)
    rng = random.Random(1)
    for step in range(31):
        decision = selector.ask(context={"x": rng.random(), "task": "ab"[step % 2]})
        selector.tell(decision, decision.role > 0 or rng.random() < 0.6)
    return selector


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", ["ask", "tell"])
def test_an_interrupt_at_any_line(what: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while features and weights change: what is left can be used, saved and loaded."""
    compiling(way, monkeypatch)
    ready = at_the_change("auto")
    stride = 7 if way == "plain" else 3
    for line in range(1, 2000, stride):
        selector = copy.deepcopy(ready)
        decision = selector.ask(context={"x": 0.4, "task": "b"}) if what == "tell" else None
        told = selector.outcomes
        try:
            with InterruptAt(line):
                if decision is None:
                    selector.ask(context={"x": 0.3, "task": "new"})
                else:
                    selector.tell(decision, True)
        except KeyboardInterrupt:
            released(selector)
        else:
            break
        again = Selector.from_state(selector.state())
        for one in (again, selector):
            assert one.outcomes in (told, told + 1)
            assert one.certificate().holds
            for step in range(6):
                new = one.ask(context={"x": step / 6, "task": "abcxyz"[step]})
                one.tell(new, new.role > 0)
    assert line > 10


class StrikeAt(InterruptAt):
    """Calls something at a line, as a signal handler would."""

    def __init__(self, line: int, call: Callable[[], object]) -> None:
        super().__init__(line)
        self.call = call

    def strike(self) -> None:
        self.call()


def test_a_handler_in_the_middle_is_refused_or_done_whole() -> None:
    ready = at_the_change("auto")
    refused = done = 0
    for line in range(1, 400, 3):
        selector = copy.deepcopy(ready)
        out = selector.ask(context={"x": 0.4, "task": "a"})
        found: list[Any] = []

        def handler(selector: Selector = selector, found: list[Any] = found, out: Decision = out) -> None:
            try:
                selector.tell(out, True)
                found.append(selector.ask(context={"x": 0.7, "task": "another"}))
            except suffice.ReentrantCall as error:
                found.append(error)
            found.append(Selector.from_state(selector.state()))  # a look is never refused, and what is saved is whole

        with StrikeAt(line, handler):
            decision = selector.ask(context={"x": 0.3, "task": "new"})
        selector.tell(decision, decision.role > 0)
        if not found:
            break
        refused += isinstance(found[0], suffice.ReentrantCall)
        done += isinstance(found[0], Decision)
        asked = 2 + isinstance(found[0], Decision)
        assert selector.outcomes + selector.pending == ready.outcomes + ready.pending + asked
        assert selector.certificate().holds
        eye = model_of(selector)
        assert eye._learned["means"].shape[1] == eye.features.width
    assert refused > 5
    assert done > 0


def test_threads_with_contexts() -> None:
    """Short way and long way at once, saved and copied in between: no outcome is lost, and none is kept for good."""
    selector = Selector(SEVERAL["few"], 0.7, model="auto")
    selector.ask(context={"x": 0.5, "task": "a"}, audit=False)
    told, problems = [0] * 4, []

    def work(number: int) -> None:
        rng = random.Random(number)
        out: list[Decision] = []
        try:
            for step in range(200):
                context = {"x": rng.random(), "task": rng.choice("abcdefgh")}
                if step % 20 == 7:
                    out += selector.ask_many(2, contexts=[context, {"x": 0.1}])
                else:
                    out.append(selector.ask(context=context, available=[1, 2] if step % 20 == 3 else None))
                if step % 50 == 9:
                    assert Selector.from_state(selector.state()).certificate().consistent
                    assert copy.deepcopy(selector).certificate().consistent
                while len(out) > rng.randrange(150):
                    decision = out.pop(rng.randrange(len(out)))
                    success = decision.role > 0 or (decision.role == 0 and rng.random() < 0.5)
                    selector.tell(decision.id if step % 3 else decision, success)
                    told[number] += 1
            for decision in out:
                selector.tell(decision, decision.role > 0)
                told[number] += 1
        except BaseException as problem:
            problems.append(problem)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    sys.setswitchinterval(before)
    assert not problems
    assert selector.outcomes == sum(told) == 4 * 210
    assert sum(row.plays for row in selector.options()) == selector.outcomes
    assert (selector.pending, len(noted(selector)), len(unfair(selector)), len(in_slots(selector))) == (0, 0, 0, 0)


# --- what is refused


def test_errors_name_the_field_and_change_nothing() -> None:
    selector = Selector(WITH, 0.5, model="auto")
    selector.tell(selector.ask(context={"length": 3, "task": "chat"}), True)
    before = selector.state()
    bad: dict[str, Any] = {
        "'weather'": {"length": 3, "weather": 1.0},
        "'length'": {"length": "long"},
        "'task'": {"task": 2.5},
        "a row of 2 without names": [1.0, 2.0],
        "got 7": 7,
    }
    for match, context in bad.items():
        with pytest.raises(InvalidContext, match=match):
            selector.ask(context=context)
        with pytest.raises(InvalidContext, match=match):
            selector.ask_many(2, contexts=[{"length": 1.0}, context])
        with pytest.raises(InvalidContext, match=match):
            selector.ask(context=context, audit=False)
    assert selector.state() == before


def test_contexts_and_models_that_cannot_be() -> None:
    plain = Selector(WITH, 0.5)
    for ask in (lambda: plain.ask(context={}), lambda: plain.ask_many(1, contexts=[{}])):
        with pytest.raises(
            InvalidArgument, match=r'context must be left out where no model looks at it: .*model="auto"'
        ):
            ask()
    with pytest.raises(InvalidArgument, match="a model must look at contexts"):
        plain.context_report()
    assert (plain.outcomes, plain.pending) == (0, 0)
    looking = Selector(WITH, 0.5, model="auto")
    for contexts, match in (
        ([{}], "must hold 2, one per decision"),
        (7, "must list one per decision"),
        ("ab", "must list one"),
    ):
        with pytest.raises(InvalidArgument, match=match):
            looking.ask_many(2, contexts=contexts)  # type: ignore[arg-type]
    with pytest.raises(InvalidContext, match="at least one field"):
        looking.ask(context={})
    with pytest.raises(InvalidArgument, match="model must be"):
        Selector(WITH, 0.5, model="the best there is")

    class Own(suffice.learning.choosers.Optimist):
        pass

    with pytest.raises(InvalidArgument, match="bounds and chooser must be ours"):
        Selector(WITH, 0.5, model="auto", chooser=Own())


def test_no_context_where_a_model_looks() -> None:
    """It is the chooser's decision then, and the model hears nothing of it."""
    selector, plain = Selector(WITH, 0.5, model="auto"), Selector(WITH, 0.5)
    for _ in range(100):
        one, other = selector.ask(context=None), plain.ask()
        assert one.arm == other.arm
        selector.tell(one, one.role > 0)
        plain.tell(other, other.role > 0)
    assert [decision.arm for decision in selector.ask_many(3)] == [decision.arm for decision in plain.ask_many(3)]
    assert selector.context_report().fields == {}
    assert selector.ask(context={"x": 1}).arm in range(4)


def test_many_at_once_are_as_if_asked_one_after_the_other() -> None:
    """The first context says which fields there are, also where later ones lack some of them."""
    contexts = [{"x": 0.5, "task": "b"}, {"x": 0.1}, {"task": "a", "x": None}]
    one, other = Selector(WITH, 0.5, model="auto"), Selector(WITH, 0.5, model="auto")
    many = one.ask_many(3, contexts=iter(contexts))
    single = [other.ask(context=context) for context in contexts]
    assert [decision.arm for decision in many] == [decision.arm for decision in single]
    assert one.context_report() == other.context_report()
    assert list(one.context_report().fields) == ["x", "task"]


def test_context_report_survives_what_a_model_reports() -> None:
    class Report(Half):
        def report(self) -> Any:
            raise RuntimeError("nothing to say")

    selector = Selector(WITH, 0.5, model=Report())
    selector.tell(selector.ask(context=1), True)
    assert selector.context_report().fields == {}
    assert "half" in str(selector.context_report())


def test_a_model_that_cannot_begin_anew() -> None:
    """The world moves, the model is to forget and raises: trust begins anew all the same, and only once."""

    class Clings(Half):
        def say(self, context: Any) -> Any:
            return np.full(self.menu.n_arms, 0.999)

        def forget(self) -> None:
            raise RuntimeError("never")

    selector = Selector(WITH, 0.5, model=Clings(), guard=None)
    for step in range(400):
        decision = selector.ask(context=step)
        selector.tell(decision, decision.role > 0)
    context_report = selector.context_report()
    assert 0 < context_report.anew == context_report.failures < 40
