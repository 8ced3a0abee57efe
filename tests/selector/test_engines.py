"""The two engines side by side: the same arms, prices, counts and states, whatever is asked and told in whatever order."""

import contextlib
import copy
import json
import pickle
import random
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import suffice
from suffice import Decision, Learning, Selector, paper
from suffice.selector.compiled import SLOTS, CompiledEngine
from suffice.selector.plain import PlainEngine
from tests.support.both_engines import MENUS, WAYS, made, state_of, without_compiler
from tests.support.looking import Clock

pytestmark = pytest.mark.compiled

COPIES: dict[str, Callable[[Selector], Selector]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda selector: pickle.loads(pickle.dumps(selector)),
}


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
