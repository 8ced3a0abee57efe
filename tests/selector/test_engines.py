"""The two engines side by side: the same arms, prices, counts and states, whatever is asked and told in whatever order.

And interrupts at every line of the slow path of both: nothing is counted twice, nothing is lost, all counts agree.
"""

import contextlib
import copy
import json
import os
import pickle
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import suffice
from suffice import Decision, Learning, Menu, Selector, paper
from suffice.kernels.compiler import OFF
from suffice.selector.compiled import SLOTS, CompiledEngine
from suffice.selector.plain import PlainEngine
from tests.support.interrupt import InterruptAt
from tests.support.looking import Clock

pytestmark = pytest.mark.compiled

MENUS = {
    "known": Menu({"a": 0.1, "b": 0.4, "c": 0.6}, safe="all", skip="none", safe_cost=1.0),
    "no skip": Menu({"a": 0.1, "b": 0.4}, safe="all", safe_cost=1.0),
    "told": Menu(["a", "b"], safe="all", skip="none", safe_cost=1.0),
    "chain": Menu.top_k([1, 2, 5, 10, 20, 50], classes=100, skip=True),
    "intervals": Menu.intervals(0.25, skip=True),
    "large": Menu({i: i / 100 for i in range(80)}, safe="all", skip="none", safe_cost=1.0),
    "may fail": Menu({"a": 0.2}, safe="all", skip="none", safe_success=0.95, safe_cost=1.0),
}
WAYS = ["plain", "compiled"]


@contextlib.contextmanager
def without_compiler() -> Iterator[None]:
    """What is made, loaded or copied in here is plain."""
    before = os.environ.get(OFF)
    os.environ[OFF] = "1"
    try:
        yield
    finally:
        del os.environ[OFF]
        if before is not None:
            os.environ[OFF] = before


def made(way: str, make: Callable[[], Selector]) -> Selector:
    """A selector with the engine that is wanted."""
    if way == "plain":
        with without_compiler():
            selector = make()
        assert type(selector.engine) is PlainEngine
        return selector
    selector = make()
    selector.compile()
    assert type(selector.engine) is CompiledEngine
    return selector


COPIES: dict[str, Callable[[Selector], Selector]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda selector: pickle.loads(pickle.dumps(selector)),
}


def state_of(selector: Selector) -> dict[str, Any]:
    """The state but for the keys, which are random."""
    return {name: value for name, value in selector.state().items() if name != "keys"}


# --- side by side


class Sides(RuleBasedStateMachine):
    """Drives two selectors alike, one in each engine, and compares all that they say."""

    @initialize(
        menu=st.sampled_from(list(MENUS)),
        rate=st.sampled_from([0.5, 0.7, 0.9, 1 / 3]),
        parts=st.sampled_from([("auto", "auto"), ("hoeffding", "optimist"), ("kl", "thompson"), ("auto", "optimist")]),
        memory=st.sampled_from(["auto", "full", "window 50", "discount 100"]),
        max_surplus=st.sampled_from([None, 3.0]),
        max_debt=st.sampled_from([0, 5, SLOTS]),
        in_flight=st.sampled_from([0, 3, 200, SLOTS + 40]),
        patience=st.sampled_from([None, 20.0]),
        seed=st.integers(0, 5),
        letter=st.integers(0, 5),
    )
    def begin(
        self, menu: str, rate: float, parts: tuple[str, str], memory: str, max_surplus: float | None, max_debt: int,
        in_flight: int, patience: float | None, seed: int, letter: int,
    ) -> None:  # fmt: skip
        Clock.now = 0.0
        self.menu, self.patience, self.first_round = MENUS[menu], patience, letter == 0 and menu in ("known", "chain")
        learning = Learning(bounds=parts[0], chooser=parts[1], memory=memory)

        def make() -> Selector:
            if self.first_round:
                return paper(self.menu, rate, 1000)
            return Selector(
                self.menu, rate, max_surplus=max_surplus, learning=learning, seed=seed, max_debt=max_debt,
                in_flight=in_flight, expire_after=patience, clock=Clock(),
            )  # fmt: skip

        if self.first_round:
            self.patience = None
        self.sides = [made("plain", make), made("compiled", make)]
        self.rng = random.Random(seed)
        self.open: list[list[Decision]] = []  # of each side
        self.skips: list[list[Decision]] = []

    def both(self, call: Callable[[Selector, int], Any]) -> list[Any]:
        """Do it on either side; what was raised is an answer, too."""
        found: list[Any] = []
        for number, selector in enumerate(self.sides):
            with without_compiler() if number == 0 else contextlib.nullcontext():
                try:
                    found.append(call(selector, number))
                except suffice.SufficeError as error:
                    found.append((type(error), str(error)))
        return found

    def asked(self, found: list[Any]) -> None:
        if isinstance(found[0], tuple):  # the safe option is needed, and not available
            assert found[0] == found[1]
            assert found[0][0] is suffice.SafeUnavailable
            return
        assert [decision[:5] for decision in found[0]] == [decision[:5] for decision in found[1]]
        made = [list(pair) for pair in zip(*found, strict=True) if pair[0].id >= 0]
        self.open += [pair for pair in made if not pair[0].is_skip]
        self.skips += [pair for pair in made if pair[0].is_skip]

    def outcome(self, pair: list[Decision]) -> tuple[float, float | None]:
        success = 1.0 if pair[0].is_safe else 0.0 if pair[0].is_skip else self.rng.choice([0.0, 1.0, 1.0, 0.5])
        cost = None if self.menu.known_cost(pair[0].arm) is not None else self.rng.random()
        return success, cost

    def drop(self, place: int) -> list[Decision]:
        return self.open.pop(place % len(self.open))

    @rule(
        count=st.integers(1, 4),
        group=st.sampled_from([None, None, "a", "b", "c", "d"]),
        some=st.sampled_from([None, None, "with the safe option", "without", "insisting"]),
        audit=st.integers(0, 4),
        many=st.booleans(),
    )
    def ask(self, count: int, group: str | None, some: str | None, audit: int, many: bool) -> None:
        given: dict[str, Any] = {"audit": audit > 0, "group": None if self.first_round else group}
        if some:
            last = self.menu.n_arms - 1
            arms = [last - 1, last] if some == "with the safe option" else [last - 1]
            given.update(available=[self.menu.option(arm) for arm in arms], insist=some == "insisting")
        if many:
            self.asked(self.both(lambda selector, _: selector.ask_many(count, **given)))
        else:
            self.asked(self.both(lambda selector, _: [selector.ask(**given)]))

    @rule(count=st.sampled_from([SLOTS // 2 + 5, SLOTS + 7]))
    def ask_for_more_than_there_are_slots(self, count: int) -> None:
        if len(self.open) < 2 * SLOTS:
            self.asked(self.both(lambda selector, _: selector.ask_many(count)))

    @rule(count=st.sampled_from([30, SLOTS + 3]), group=st.sampled_from([None, "a"]))
    def go_round(self, count: int, group: str | None) -> None:
        """Ask and tell, so that outstanding decisions occupy the slots of later ones."""
        for _ in range(count):
            found = self.both(lambda selector, _: [selector.ask(group=None if self.first_round else group)])
            assert found[0][0][:5] == found[1][0][:5]
            pair = [found[0][0], found[1][0]]
            success, cost = self.outcome(pair)
            self.both(lambda selector, side: selector.tell(pair[side], success, cost))  # noqa: B023
            self.skips += [pair] if pair[0].is_skip else []
        self.open = [pair for pair in self.open if self.sides[0].pending]

    @precondition(lambda self: self.open)
    @rule(place=st.integers(0, 10**6), bare=st.booleans(), cost=st.sampled_from([None, None, 0.3, 7.0]))
    @pytest.mark.filterwarnings("ignore:option")
    def tell(self, place: int, bare: bool, cost: float | None) -> None:
        pair = self.drop(place)
        success, spent = self.outcome(pair)
        spent = spent if cost is None else cost
        for again in (False, True):
            found = self.both(
                lambda selector, side: _quietly(selector, pair[side].id if bare else pair[side], success, spent)
            )
            assert found[0] == found[1]
            assert not again or found[0][0] is suffice.AlreadyTold

    @precondition(lambda self: self.skips)
    @rule(place=st.integers(0, 10**6), bare=st.booleans(), success=st.sampled_from([0.0, 0.0, 0.5, 1.0]))
    def tell_a_skip(self, place: int, bare: bool, success: float) -> None:
        """A failure says nothing new, however often; a success amends it."""
        pair = self.skips[place % len(self.skips)]
        found = self.both(lambda selector, side: selector.tell(pair[side].id if bare else pair[side], success))
        assert found == [None, None]
        if success:
            self.skips.remove(pair)

    @precondition(lambda self: self.open)
    @rule(count=st.integers(1, 40), place=st.integers(0, 10**6))
    def tell_many(self, count: int, place: int) -> None:
        pairs = [self.drop(place + step * 7) for step in range(min(count, len(self.open)))]
        outcomes = [self.outcome(pair) for pair in pairs]

        def tell(selector: Selector, side: int) -> None:
            selector.tell_many(
                (pair[side], success) if cost is None else (pair[side], success, cost)
                for pair, (success, cost) in zip(pairs, outcomes, strict=True)
            )

        found = self.both(tell)
        assert found[0] == found[1]
        assert found[0] is None

    @precondition(lambda self: self.open)
    @rule(place=st.integers(0, 10**6), later=st.booleans())
    def expire(self, place: int, later: bool) -> None:
        pair = self.drop(place) if not later else self.open[place % len(self.open)]
        found = self.both(lambda selector, side: selector.expire(pair[side]))
        assert found[0] == found[1]

    @rule(seconds=st.integers(-15, 15), read=st.booleans())
    def wait(self, seconds: int, read: bool) -> None:
        """The clock may go back, too."""
        Clock.now += seconds
        if read:
            found = self.both(lambda selector, _: str(selector.certificate()))
            assert found[0] == found[1]

    @rule(side=st.integers(0, 1), how=st.sampled_from(list(COPIES)))
    def copied(self, side: int, how: str) -> None:
        with without_compiler() if side == 0 else contextlib.nullcontext():
            self.sides[side] = COPIES[how](self.sides[side])

    @rule(crossed=st.booleans())
    def loaded(self, crossed: bool) -> None:
        """A state that one engine wrote is read by the other, too. The keys come along, so the decisions do.

        Both are loaded: bounds are worked out anew then, and else only now and then, so one alone may know more.
        """
        states = [json.loads(json.dumps(selector.state(), allow_nan=False)) for selector in self.sides]
        if crossed:
            states.reverse()
            for pair in [*self.open, *self.skips]:
                pair.reverse()
        self.sides = [
            made(way, lambda: Selector.from_state(state, clock=Clock()))  # noqa: B023
            for way, state in zip(WAYS, states, strict=True)
        ]

    @rule(back=st.booleans())
    def moved(self, back: bool) -> None:
        """What was plain is compiled, or the reverse, as where there is no compiler; from there on it is the other side."""
        if back:
            packed = pickle.dumps(self.sides[1])
            with without_compiler():
                self.sides[0] = pickle.loads(packed)
            for pair in [*self.open, *self.skips]:
                pair[0] = pair[1]
            return
        with without_compiler():
            twin = copy.deepcopy(self.sides[0])
        assert type(twin.engine) is PlainEngine
        assert twin.compile()
        self.sides[1] = twin
        for pair in [*self.open, *self.skips]:
            pair[1] = pair[0]

    @rule(seed=st.integers(0, 9))
    def reseed(self, seed: int) -> None:
        self.both(lambda selector, _: selector.reseed(seed))

    @invariant()
    def the_same(self) -> None:
        if not hasattr(self, "sides"):
            return
        one, other = self.sides
        assert (type(one.engine), type(other.engine)) == (PlainEngine, CompiledEngine)
        assert state_of(one) == state_of(other)
        assert one.pending == other.pending == len(one.state()["outstanding"])
        assert (one.outcomes, one.cost, one.price, one.debt) == (other.outcomes, other.cost, other.price, other.debt)
        assert list(one.groups) == list(other.groups)
        certificates = [selector.certificate() for selector in self.sides]
        assert certificates[0] == certificates[1]
        assert certificates[0].consistent
        assert one.options() == other.options()


def _quietly(selector: Selector, decision: Decision | int, success: float, cost: float | None) -> None:
    """A cost above safe_cost is warned of once."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", suffice.SufficeWarning)
        selector.tell(decision, success, cost)


Sides.TestCase.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestSides = Sides.TestCase


class SidesAtLength(Sides):
    """The same for longer."""


SidesAtLength.TestCase.settings = settings(
    max_examples=150, stateful_step_count=60, deadline=None, suppress_health_check=list(HealthCheck)
)
TestSidesAtLength = pytest.mark.long(SidesAtLength.TestCase)


# --- interrupts at every line


class Scene:
    """A selector in the middle of its work, and what to do with it."""

    def __init__(self, way: str) -> None:
        Clock.now = 0.0
        self.selector = selector = made(
            way, lambda: Selector(MENUS["known"], 0.7, expire_after=1000.0, clock=Clock(), seed=1)
        )
        self.straggler = selector.ask(group="a")
        self.expired = selector.ask()
        self.late = selector.ask()
        for _ in range(SLOTS - 3):
            decision = selector.ask()
            selector.tell(decision, decision.is_safe)
        selector.expire(self.expired)
        # Its slot was needed by this one, whose own is not.
        self.last = selector.ask(group="a")
        assert way == "plain" or (isinstance(selector.engine, CompiledEngine) and selector.engine._overflow)

    def fill(self) -> None:
        """Have more than half of all slots taken, and the next one too."""
        for _ in range(SLOTS - 2):
            self.selector.ask()

    def come_round(self) -> None:
        """The next decision needs the slot of one that is still out."""
        while self.selector.engine.next_id % SLOTS != self.late.id:
            self.selector.tell(self.selector.ask(), True)

    def pass_time(self) -> None:
        """All that is out is overdue."""
        Clock.now = 2000.0


def _ask_often(scene: Scene) -> None:
    scene.selector.ask_many(3, available=["a"])


CALLS: dict[str, tuple[Callable[[Scene], object] | None, Callable[[Scene], object]]] = {
    "tell": (None, lambda scene: scene.selector.tell(scene.last.id, True)),
    "tell fast": (None, lambda scene: scene.selector.tell(scene.last, True)),
    "tell a straggler": (None, lambda scene: scene.selector.tell(scene.straggler, True)),
    "expire": (None, lambda scene: scene.selector.expire(scene.last)),
    "expire a straggler": (None, lambda scene: scene.selector.expire(scene.straggler)),
    "amend": (None, lambda scene: scene.selector.tell(scene.expired, True)),
    "tell many": (
        None,
        lambda scene: scene.selector.tell_many(
            [(scene.straggler, True), (scene.last, True), (scene.expired, True), (scene.late.id, True)]
        ),
    ),
    "ask": (None, lambda scene: scene.selector.ask()),
    "ask many": (None, _ask_often),
    "ask in a new group": (None, lambda scene: scene.selector.ask(group="b")),
    "make room": (Scene.come_round, lambda scene: scene.selector.ask()),
    "more slots": (Scene.fill, lambda scene: scene.selector.ask()),
    "give up": (Scene.pass_time, lambda scene: scene.selector.certificate()),
    "give up and ask": (Scene.pass_time, lambda scene: scene.selector.ask(group="a")),
    "read": (None, lambda scene: (scene.selector.state(), scene.selector.options(), scene.selector.cost)),
    "copy": (None, lambda scene: copy.deepcopy(scene.selector)),
    "compile": (None, lambda scene: scene.selector.compile()),
}


def check(scene: Scene) -> None:
    """Whatever was issued is out or was counted, once, and the counts of all accounts say the same."""
    selector = scene.selector
    state = selector.state()
    assert selector.outcomes + selector.pending == state["next_id"]
    assert selector.pending == len(state["outstanding"])
    counts = [one["counts"] for one in state["accounts"]]
    assert sum(one["outcomes"] for one in counts) == selector.outcomes
    rows = range(len(counts))
    for row, one in zip(rows, counts, strict=True):
        mine = [decision for decision in state["outstanding"] if decision[1] == row]
        assert one["outstanding"] == sum(not decision[4] for decision in mine)  # those that are exempt reserve nothing
        assert one["pending"] == len(mine)
    assert all(group.outcomes + group.pending > 0 for group in selector.groups.values() if group.name == "a")
    assert all((row.success or 0.0) <= 1.0 for row in selector.options())
    again = Selector.from_state(json.loads(json.dumps(state)), clock=Clock())  # which checks for contradictions, too
    assert state_of(again) == state_of(selector)
    certificate = again.certificate()  # which expires what is overdue
    assert certificate.holds
    assert certificate.consistent


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", CALLS)
def test_an_interrupt_at_any_line_loses_nothing_and_counts_nothing_twice(what: str, way: str) -> None:
    before, call = CALLS[what]
    for line in range(1, 3000):
        scene = Scene(way)
        if before is not None:
            before(scene)
        selector = scene.selector
        with without_compiler() if way == "plain" and what != "compile" else contextlib.nullcontext():
            try:
                with InterruptAt(line):
                    call(scene)
            except KeyboardInterrupt:
                finished = False
            else:
                finished = True
            check(scene)
            for decision in (scene.straggler, scene.last, scene.late, scene.expired):
                told = selector.outcomes
                was_out = decision.id in dict(selector.engine.entries())
                try:
                    selector.tell(decision, True)
                except suffice.AlreadyTold:
                    assert not was_out
                assert selector.outcomes == told + was_out
                with pytest.raises(suffice.AlreadyTold):
                    selector.tell(decision, True)
            decision = selector.ask(available=[], group="b")  # the slow path, which opens the fast path again
            selector.tell(decision, True)
            for identity, _ in selector.engine.entries():
                selector.tell(identity, True)
            check(scene)
            assert selector.pending == 0
            if what == "compile":
                assert selector.compile()
            identity, _, _ = selector._ask_fast(selector._address, 0, Clock.now)
            assert identity == selector.engine.next_id - 1 >= 0
        if finished:
            break
    assert finished
    assert line > 1
