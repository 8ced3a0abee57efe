"""Groups: each keeps a promise of its own, whatever the others do; what is learned they share."""

import copy
import json
import math
import os
import pickle
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import suffice
from suffice import InvalidArgument, Learning, Menu, Selector, StateError, paper
from suffice.promise.group_certificate import GroupCertificate
from suffice.selector.records import Decision
from tests.support.book import OTHER, SAFE, SKIP, Book
from tests.support.looking import Clock, trust_of, unfair

pytestmark = pytest.mark.usefixtures("warm")

WITH = Menu({"a": 0.1, "b": 0.4}, safe="all", skip="none", safe_cost=1.0)
WITHOUT = Menu({"a": 0.1, "b": 0.4}, safe="all", safe_cost=1.0)
TOLD = Menu(["a", "b"], safe="all", skip="none", safe_cost=1.0)
TARGET = Fraction(7, 10)
KINDS = {1: SAFE, 0: OTHER, -1: SKIP}
NAMES = [None, "Berlin", "Łódź", "東京"]


class Own:
    """A custom model that knows nothing, and sometimes raises."""

    means: tuple[float, ...] = (0.5,)

    def __init__(self) -> None:
        self.outcomes_seen: list[Any] = []

    def open(self, menu: Menu) -> None:
        self.menu = menu

    def predict(self, context: Any) -> Any:
        if len(self.outcomes_seen) % 5 == 4:
            raise RuntimeError("not now")
        mean = self.means[len(self.outcomes_seen) % len(self.means)]
        return [mean] * self.menu.n_arms, [0.1] * self.menu.n_arms

    def update(self, context: Any, arm: int, success: float, cost: float | None) -> None:
        self.outcomes_seen.append(context)


class Wild(Own):
    """One whose predictions are wrong or impossible."""

    means = (0.0, 1.0, math.nan, 0.5, 1e300)


MODELS: dict[str | None, type[Own]] = {"Own": Own, "Wild": Wild}
COPIES: dict[str, Callable[[Selector], Selector]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda selector: pickle.loads(pickle.dumps(selector)),
    "reload": lambda selector: Selector.from_state(
        json.loads(json.dumps(selector.state(), allow_nan=False)),
        model=MODELS[selector.model]() if selector.model in MODELS else None,
        clock=selector._clock,
    ),
}


class Machine(RuleBasedStateMachine):
    """Asks, tells, expires, copies and saves at random; after each step every certificate is recounted."""

    @initialize(
        model=st.sampled_from([None, "auto", Own, Wild]),
        menu=st.sampled_from([WITH, WITHOUT]),
        plain=st.booleans(),
        limit=st.sampled_from([None, 2]),
        patience=st.sampled_from([None, 20.0]),
    )
    def begin(self, model: Any, menu: Menu, plain: bool, limit: int | None, patience: float | None) -> None:
        self.before = os.environ.get("SUFFICE_NO_COMPILE", "")
        os.environ["SUFFICE_NO_COMPILE"] = "1" if plain else ""
        Clock.now, self.menu, self.patience = 0.0, menu, math.inf if patience is None else patience
        made = model if model is None or isinstance(model, str) else model()
        self.selector = Selector(
            menu,
            TARGET,
            model=made,
            learning=Learning(guard=None),
            max_pending=limit,
            expire_after=patience,
            clock=Clock(),
        )
        self.books = {name: Book(TARGET, None, Fraction(1), menu.has_skip, limit) for name in NAMES}
        self.open: list[tuple[str | None, Decision, float]] = []  # out
        self.gone: list[tuple[str | None, Decision]] = []  # expired
        self.spent: dict[str | None, float] = dict.fromkeys(NAMES, 0.0)
        self.unaudited: Counter[str | None] = Counter()
        self.expired: Counter[str | None] = Counter()
        self.order: dict[str | None, None] = {}

    def teardown(self) -> None:
        os.environ["SUFFICE_NO_COMPILE"] = getattr(self, "before", "")

    @rule(
        name=st.sampled_from(NAMES),
        x=st.sampled_from([0.1, 0.9, math.nan, math.inf, None]),
        with_context=st.booleans(),
        audit=st.integers(0, 5),
        trusted=st.booleans(),
        available=st.sampled_from([None, None, None, ["a"], [], ["b", "a"]]),
    )
    def ask(
        self, name: str | None, x: Any, with_context: bool, audit: int, trusted: bool, available: list[str] | None
    ) -> None:
        looks = self.selector.contextual
        if looks and trusted:
            trust_of(self.selector).given = 1
        given: dict[str, Any] = {"context": {"x": x, "task": "ab"[audit % 2]}} if looks and with_context else {}
        decision = self.selector.ask(**given, group=name, audit=audit > 0, available=available)
        assert available is None or decision.role or decision.option in available
        self.order[name] = None
        if audit:
            self.books[name].ask(decision.id, KINDS[decision.role])
            self.open.append((name, decision, Clock.now))
        else:
            self.unaudited[name] += 1

    @precondition(lambda self: self.open)
    @rule(place=st.integers(0, 10**6), success=st.sampled_from([0.0, 1.0, 0.5]), bare=st.booleans())
    def tell(self, place: int, success: float, bare: bool) -> None:
        name, decision, _ = self.open.pop(place % len(self.open))
        success = {1: 1.0, -1: 0.0}.get(decision.role, success)
        self.selector.tell(decision.id if bare else decision, success)
        self.books[name].tell(decision.id, Fraction(success))
        self.spent[name] += self.menu.known_cost(decision.arm) or 0.0
        with pytest.raises(suffice.AlreadyTold):
            self.selector.tell(decision, success)

    @precondition(lambda self: self.open)
    @rule(place=st.integers(0, 10**6))
    def expire(self, place: int) -> None:
        name, decision, _ = self.open.pop(place % len(self.open))
        self.selector.expire(decision)
        self._expired(name, decision)

    def _expired(self, name: str | None, decision: Decision) -> None:
        self.books[name].expire(decision.id)
        self.gone.append((name, decision))
        self.expired[name] += 1
        self.spent[name] += self.menu.known_cost(decision.arm) or 0.0

    @precondition(lambda self: self.gone)
    @rule(place=st.integers(0, 10**6), success=st.booleans())
    def amend(self, place: int, success: bool) -> None:
        name, decision = self.gone.pop(place % len(self.gone))
        success = {1: True, -1: False}.get(decision.role, success)
        self.selector.tell(decision, success)
        self.books[name].tell(decision.id, Fraction(success))

    @rule(seconds=st.integers(1, 15))
    def wait(self, seconds: int) -> None:
        Clock.now += seconds
        self.selector.certificate()  # a read expires what is overdue, in all groups
        for name, decision, asked in self.open:
            if asked < Clock.now - self.patience:
                self._expired(name, decision)
        self.open = [entry for entry in self.open if entry[2] >= Clock.now - self.patience]

    @rule(how=st.sampled_from(list(COPIES)))
    def copied(self, how: str) -> None:
        before = self.selector.state()
        self.selector = COPIES[how](self.selector)
        after = self.selector.state()
        assert after == before or self.selector.model in MODELS  # which says nothing of what it has learned

    @invariant()
    def recount(self) -> None:
        if not hasattr(self, "books"):
            return
        selector, books = self.selector, self.books
        assert list(selector.groups) == [name for name in self.order if name is not None]
        for name in selector.groups:
            self._check(selector.certificate(group=name), name)
            assert selector.groups[name].outcomes == books[name].outcomes
            assert selector.groups[name].cost == pytest.approx(self.spent[name])
        total = selector.certificate()
        assert (total.holds, total.consistent, total.breach, total.breaches) == (True, True, False, 0)
        assert total.outcomes == selector.outcomes == sum(book.outcomes for book in books.values())
        assert total.successes == selector.successes == float(sum(book.successes for book in books.values()))
        assert total.debt == pytest.approx(selector.debt) == pytest.approx(sum(float(b.debt) for b in books.values()))
        assert total.pending == selector.pending == sum(len(book.out) for book in books.values())
        assert total.expired == sum(self.expired.values())
        assert selector.cost == pytest.approx(sum(self.spent.values()))
        if not selector.groups:
            self._check(total, None)

    def _check(self, certificate: Any, name: str | None) -> None:
        book = self.books[name]
        assert (certificate.holds, certificate.consistent, certificate.breaches) == (True, True, 0)
        assert (certificate.outcomes, certificate.successes) == (book.outcomes, float(book.successes))
        assert certificate.debt == pytest.approx(float(book.debt), abs=1e-9)
        assert certificate.debt_at_most == pytest.approx(float(book.debt_at_most()))
        if self.menu.has_skip:
            assert certificate.ahead_at_most == pytest.approx(float(book.ahead_at_most()))
        assert certificate.pending == len(book.out)
        assert (certificate.amended, certificate.safe_lost) == (book.amended, book.lost)
        assert (certificate.unaudited, certificate.expired) == (self.unaudited[name], self.expired[name])


Machine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestMachine = Machine.TestCase


# --- many groups


def zipf(groups: int, steps: int, seed: int) -> list[str]:
    """Groups of very different sizes: the k-th is 1/k times as likely as the first."""
    weights = 1.0 / np.arange(1, groups + 1)
    drawn = np.random.default_rng(seed).choice(groups, size=steps, p=weights / weights.sum())
    return [f"group {one}" for one in drawn.tolist()]


@pytest.mark.parametrize("model", [None, "auto"])
def test_a_thousand_groups_each_keep_their_promise(model: str | None) -> None:
    """Debt at most the target after every outcome of every group, of 1,000 with a few outcomes to hundreds."""
    menu = Menu({"a": 0.1, "b": 0.3, "c": 0.5}, safe="all", skip="none", safe_cost=1.0)
    selector, rng = Selector(menu, 0.8, model=model), random.Random(0)
    told: Counter[str] = Counter()
    successes: Counter[str] = Counter()
    names = [f"group {one}" for one in range(1000)] + zipf(1000, 5000, 1)
    rng.shuffle(names)
    for name in names:
        x = rng.random()
        decision = selector.ask(group=name, context={"x": x, "task": "ab"[x < 0.3]} if model else None)
        success = {1: 1, -1: 0}.get(decision.role, rng.random() < 0.4 + 0.6 * x * decision.arm / 3)
        selector.tell(decision, success)
        told[name] += 1
        successes[name] += success
        assert 0.8 * told[name] - successes[name] <= 0.8 + 1e-9
    for name, count in told.items():
        certificate = selector.certificate(group=name)
        assert (certificate.outcomes, certificate.successes) == (count, successes[name])
        assert certificate.holds
        assert certificate.debt_at_most == pytest.approx(0.8)
    total = selector.certificate()
    assert (total.outcomes, total.successes) == (6000, sum(successes.values()))
    assert total.debt == pytest.approx(0.8 * 6000 - total.successes)
    assert total.debt_at_most == pytest.approx(0.8 * 1000)
    assert total.window(500) <= 0.8 * 500
    assert len(selector.groups) == 1000
    assert max(told.values()) > 400
    assert "in each of 1,000 groups" in str(total)
    assert sum(row.plays for row in selector.options()) == 6000
    if model:
        assert selector.context_report().followed > 0


def test_groups_learn_from_each_other() -> None:
    """A new group knows what the options do, and what a success is worth; alone it would have to find out."""
    menu = Menu({f"option {one}": 0.1 + one / 100 for one in range(30)}, safe="all", skip="none", safe_cost=1.0)

    def cost(selector: Selector, group: str | None, steps: int) -> float:
        rng, before = random.Random(1), selector.cost
        for _ in range(steps):
            decision = selector.ask(group=group)
            selector.tell(decision, decision.role > 0 or (decision.role == 0 and rng.random() < decision.arm / 31))
        return selector.cost - before

    shared = Selector(menu, 0.5)
    cost(shared, "old", 3000)
    assert cost(shared, "new", 300) < 0.8 * cost(Selector(menu, 0.5), None, 300)


def test_a_price_of_one_is_not_charged_to_another() -> None:
    """What the guard charges for an outcome is the price that its own group paid."""
    selector = Selector(WITH, 0.7, model="auto")
    for step in range(60):
        decision = selector.ask(context={"x": step / 60})
        selector.tell(decision, decision.role > 0)
    own = selector.engine.pricing(0).now
    assert own == pytest.approx(min(selector.price, 1.0 / 0.3))
    for step in range(40):
        decision = selector.ask(context={"x": step / 60}, group="other")
        selector.tell(decision, True)
        assert selector.engine.pricing(0).now == own
    group = selector.groups["other"]
    assert selector.engine.pricing(1).now == pytest.approx(max(0.0, group.price)) != own


# --- names and ids


def test_names() -> None:
    selector = Selector(WITH, 0.7)
    bad: list[Any] = ["", "x" * 201, 7, b"bytes", ["list"], {}, True, math.nan]
    for wrong in bad:
        for call in (selector.ask, lambda group: selector.ask_many(2, group=group)):
            with pytest.raises(InvalidArgument, match="group must be a name of 1 to 200 characters, got"):
                call(group=wrong)
        with pytest.raises(InvalidArgument, match="group must be one that has been asked for, got"):
            selector.certificate(group=wrong)
    assert dict(selector.groups) == {}
    for name in ("x" * 200, " ", "a/b\n\0", "\ud800", "😀"):
        selector.tell(selector.ask(group=name), True)
    assert Selector.from_state(selector.state()).state() == selector.state()
    with pytest.raises(TypeError):
        selector.groups["new"] = selector.groups[" "]  # type: ignore[index]
    with pytest.raises(InvalidArgument, match="group must be left out where the paper's first round is played"):
        paper(WITH, 0.7, 100).ask(group="a")


def test_a_group_is_a_view() -> None:
    """It shows the group as it is now, and cannot change it."""
    selector = Selector(WITH, 0.7)
    decision = selector.ask(group="a")
    group = selector.groups["a"]
    assert repr(group) == "<GroupView 'a' target=0.7 outcomes=0 successes=0 pending=1>"
    assert (group.name, group.rate, group.mean_cost) == ("a", None, None)
    selector.tell(decision, 0.5)
    assert repr(group) == "<GroupView 'a' target=0.7 outcomes=1 successes=0.5 pending=0>"
    assert (group.outcomes, group.rate, group.cost, group.mean_cost) == (1, 0.5, 1.0, 1.0)
    assert group.debt == pytest.approx(0.2)
    assert group.certificate() == selector.certificate(group="a")
    assert not [name for name in ("ask", "ask_many", "tell", "tell_many", "expire", "save") if hasattr(group, name)]
    with pytest.raises(AttributeError):
        group.outcomes = 5  # type: ignore[misc]


# --- limits and lost outcomes, per group


def test_one_broken_group_is_named() -> None:
    selector = Selector(WITH, 0.7)
    for _ in range(30):
        selector.tell(selector.ask(group="good"), True)
        selector.tell(selector.ask(group="bad"), False)  # the safe option fails there
    total = selector.certificate()
    assert not total.holds
    assert total.consistent
    assert "TARGET OUT OF REACH in 1 of 2 groups ('bad')" in str(total)
    assert f"The group where it is worst is 'bad'. {selector.certificate(group='bad').advice()}" in str(total)
    assert selector.certificate(group="good").holds
    assert isinstance(total, GroupCertificate)
    assert total.groups["good"] == selector.certificate(group="good")


def test_a_success_of_the_skip_is_no_failure_of_the_safe_option() -> None:
    menu = Menu({"a": 0.2}, safe="all", skip="none", safe_success=0.9, safe_cost=1.0)
    selector = Selector(menu, 0.7)
    for place in range(100):
        decision = selector.ask(group="good")
        selector.tell(decision, place % 50 > 0 if decision.is_safe else True)
        other = selector.ask(group="odd")
        selector.tell(other, True)
    total = selector.certificate()
    assert isinstance(total, GroupCertificate)
    assert total.groups["odd"].breach
    assert total.groups["odd"].safe_failures == 0 < total.safe_failures
    assert "That is within what safe_success declares, in each group." in str(total)


def test_a_group_without_outcomes_is_named() -> None:
    """What others have banked does not make up for outcomes that never came."""
    selector = Selector(WITHOUT, 0.7)
    for _ in range(50):
        selector.tell(selector.ask(group="good"), True)
    assert str(selector.certificate()).startswith("Kept: 100% of 50 succeeded (target 70%).")
    for _ in range(3):
        selector.expire(selector.ask(group="silent"))
    total = selector.certificate()
    assert total.debt < 0
    assert str(total).startswith("NOT KNOWN in 1 of 2 groups ('silent'): 94.3% of 53 succeeded (target 70%).")


def test_decisions_without_a_group_are_one_more() -> None:
    selector = Selector(WITH, 0.7)
    selector.tell(selector.ask(group="a"), True)
    total = selector.certificate()
    assert isinstance(total, GroupCertificate)
    assert list(total.groups) == ["a"]
    selector.tell(selector.ask(), True)
    selector.tell(selector.ask(), False)
    total = selector.certificate()
    assert isinstance(total, GroupCertificate)
    assert list(total.groups) == ["", "a"]
    assert (total.outcomes, total.groups[""].outcomes) == (3, 2)
    assert "furthest behind is that of decisions without a group, now 0.4 behind" in str(total)


# --- contexts are each decision's own


def test_a_play_at_a_limit_does_not_count_as_the_models_choice() -> None:
    selector = Selector(WITH, 0.5, model=Own(), learning=Learning(guard=None))
    rng, played = random.Random(0), 0
    for step in range(300):
        trust_of(selector).given = 1
        decision = selector.ask(context={"x": step}, group="a")
        assert decision.role == 0 or not unfair(selector)
        played += bool(unfair(selector))
        selector.tell(decision, decision.role > 0 or (decision.role == 0 and rng.random() < 0.5))
        assert not unfair(selector)
    assert played > 20


# --- saving, copying, threads, forks


def grown(model: Any) -> Selector:
    """Three groups and none, with decisions told, out and expired."""
    selector, rng = Selector(WITH, 0.6, model=model, max_pending=50), random.Random(0)
    for step in range(400):
        context = {"x": rng.random(), "task": rng.choice("abc")} if model and step % 9 else None
        decision = selector.ask(group=NAMES[step % 4], context=context)
        if step % 10 < 8:
            selector.tell(decision, decision.role > 0 or (decision.role == 0 and rng.random() < 0.7))
        elif step % 10 == 8:
            selector.expire(decision)
    return selector


def test_a_file_of_groups(tmp_path: Path) -> None:
    selector = grown("auto")
    for _ in range(3):  # again and again: nothing is counted twice
        selector.save(tmp_path / "state.json")
        again = Selector.load(tmp_path / "state.json")
        assert again.state() == selector.state()
        assert again.cost == pytest.approx(selector.cost)
        selector = again
    state = selector.state()
    state["accounts"][2]["name"] = state["accounts"][1]["name"]
    with pytest.raises(StateError, match="a name of its own"):
        Selector.from_state(state)
    for key, value in (("name", ""), ("name", 3), ("name", None), ("spent", -1), ("hints", [1]), ("counts", {})):
        state = selector.state()
        state["accounts"][1][key] = value
        with pytest.raises(StateError):
            Selector.from_state(state)
        del state["accounts"][1][key]
        with pytest.raises(StateError):
            Selector.from_state(state)
    state = selector.state()
    state["outstanding"][0][1] = (state["outstanding"][0][1] + 1) % len(state["accounts"])  # in another group
    with pytest.raises(StateError, match="the counts contradict each other"):
        Selector.from_state(state)


MANY = {"context": "contexts"}  # what `ask_many` calls an argument of `ask`


@pytest.mark.parametrize(
    "refused",
    [{"available": ["c"]}, {"audit": 1}, {"context": {"a": 1.0}}, {"group": ""}],
    ids=lambda given: next(iter(given)),
)
def test_a_refused_ask_makes_no_group(refused: dict[str, Any]) -> None:
    selector = Selector(WITH, 0.9)
    with pytest.raises(InvalidArgument):
        selector.ask(**{"group": "x", **refused})
    with pytest.raises(InvalidArgument):
        selector.ask_many(2, **{"group": "x", **{MANY.get(name, name): value for name, value in refused.items()}})
    modelled = Selector(WITH, 0.9, model="auto")
    with pytest.raises(InvalidArgument):
        modelled.ask(group="x", context={"a": object()})
    assert not selector.groups
    assert not modelled.groups


def test_a_clock_that_raises_makes_no_group() -> None:
    def clock() -> float:
        raise RuntimeError("no time")

    selector = Selector(WITH, 0.9, expire_after=5, clock=clock)
    with pytest.raises(RuntimeError, match="no time"):
        selector.ask(group="x")
    assert not selector.groups
