"""A selector with a model decides the same on every path: untrusted or without model, fast or careful, compiled or plain."""

import random
from collections.abc import Callable
from typing import Any

import pytest

import suffice
from suffice import Menu, Selector
from suffice.selector.compiled import SLOTS
from suffice.selector.context_engine import CompiledContextEngine
from suffice.selector.plain import PlainEngine
from suffice.selector.records import Decision
from tests.support.context_models import (
    ENGINES,
    MENUS,
    HalfModel,
    Raises,
    learned,
    needs_compiler,
    outcome,
    random_context,
    rounds,
    told_cost,
    use_engine,
)
from tests.support.looking import in_slots, learner_of, noted, trust_of, unfair

pytestmark = pytest.mark.usefixtures("warm")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["few", "chain", "many"])
@pytest.mark.parametrize("model", [lambda: "auto", HalfModel, lambda: Raises("both")])
def test_an_untrusted_model_changes_nothing(
    name: str, model: Callable[[], Any], engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same arms, prices, debts and certificate as without a model, with late outcomes, and with asks without a context."""
    use_engine(engine, monkeypatch)
    menu = MENUS[name]
    with_model, plain = Selector(menu, 0.8, model=model(), seed=3), Selector(menu, 0.8, seed=3)
    trust_of(with_model).waits = 1e18
    rng, out = random.Random(0), []
    for context, luck in rounds(400, 1):
        first, second = with_model.ask(context=context if rng.random() < 0.9 else None), plain.ask()
        assert (first.id, first.arm, first.price) == (second.id, second.arm, second.price)
        out.append((first, second, outcome(menu, context, luck, first.arm)))
        while len(out) > rng.randrange(6):
            first, second, success = out.pop(rng.randrange(len(out)))
            with_model.tell(first, success)
            plain.tell(second, success)
    assert with_model.context_report().followed == 0
    assert str(with_model.certificate()) == str(plain.certificate())
    assert with_model.options() == plain.options()
    assert with_model.cost == pytest.approx(plain.cost)
    assert learner_of(with_model).plain.state() == plain.learner.state()


STRAGGLERS = 3  # decisions that stay out while later ones need their slots


class Twins:
    """Two selectors that get the same asks and outcomes, and must decide the same."""

    def __init__(self, first: Selector, second: Selector, menu: Menu, seed: int) -> None:
        self.both, self.menu, self.rng = (first, second), menu, random.Random(seed)
        self.out: list[tuple[tuple[Decision, ...], dict[str, Any], float]] = []
        self.skips: list[tuple[Decision, ...]] = []
        self.skipped: set[int] = set()
        self.refused = self.corrected = 0

    def each(self, number: int, call: Callable[[Selector, int], Any]) -> Any:
        return call(self.both[number], number)

    def ask(self) -> None:
        rng, context = self.rng, random_context(self.rng)
        kind = rng.random()
        given: dict[str, Any] = {"context": context}
        if kind < 0.04:
            first = [self.menu.option(self.menu.interior.start or 0)]
            given["available"] = first if kind < 0.02 else [*first, self.menu.safe]
            given["insist"] = kind < 0.01
        elif kind < 0.06:
            given["audit"] = False
        elif kind < 0.09:
            del given["context"]
        elif kind > 0.8:
            given["group"] = rng.choice("ab")
        found = [self.each(number, lambda selector, _: asked(selector, given)) for number in (0, 1)]
        assert found[0][1:] == found[1][1:]
        luck, (first, second) = rng.random(), (decision for decision, *_ in found)
        if first is None:
            self.refused += 1
        elif first.is_skip and first.id >= 0:
            self.skips.append((first, second))
            self.skipped.add(first.id)
        elif first.id >= 0:
            self.out.append(((first, second), context, luck))

    def tell_a_skip(self) -> None:
        """A failure says nothing new; a success, which no skip should have, corrects it."""
        pair = self.skips.pop(self.rng.randrange(len(self.skips)))
        success, bare = self.rng.random() < 0.1, self.rng.random() < 0.5
        self.corrected += success
        for number in (0, 1):
            self.each(number, lambda selector, side: selector.tell(pair[side].id if bare else pair[side], success))

    def tell(self) -> None:
        rng = self.rng
        first = STRAGGLERS if len(self.out) > STRAGGLERS else 0
        decisions, context, luck = self.out.pop(rng.randrange(first, len(self.out)) if rng.random() < 0.7 else first)
        success: float = outcome(self.menu, context, luck, decisions[0].arm)
        if decisions[0].role == 0 and rng.random() < 0.1:
            success *= 0.5
        cost = told_cost(self.menu, rng) if decisions[0].role == 0 else []
        kind = rng.random()

        def settle(selector: Selector, number: int) -> None:
            decision = decisions[number]
            if kind < 0.02:
                selector.expire(decision)
            if 0.02 <= kind < 0.03:
                selector.cancel(decision.id)
            else:
                selector.tell(decision.id if kind > 0.9 else decision, success, *cost)
            with pytest.raises(suffice.AlreadyTold):
                selector.tell(decision, success, *cost)

        for number in (0, 1):
            self.each(number, settle)

    def play(self, steps: int, late: int) -> None:
        for step in range(steps):
            self.ask()
            while len(self.out) > STRAGGLERS + late * self.rng.random():
                self.tell()
            if self.skips and step % 7 == 0:
                self.tell_a_skip()
            if step % 500 == 0:
                self.each(self.rng.randrange(2), lambda selector, _: selector.state())  # reading changes nothing


def asked(selector: Selector, given: dict[str, Any]) -> tuple[Any, ...]:
    """A decision, if it is not refused, and what must be the same on every path: what it says, and the debt."""
    before = selector.price, selector.debt
    try:
        decision = selector.ask(**given)
    except suffice.SafeUnavailable as error:
        return None, before, str(error)
    return decision, before, decision[:3], decision.role, decision.price


def counts(selector: Selector) -> Any:
    """The state without the keys, which are random, and without what the model has learned: see `learned`."""
    rest = {name: value for name, value in selector.state().items() if name not in ("keys", "learner")}
    return rest | {"chooser": learner_of(selector).plain.state()}


# The defaults, and limits so tight that the safe option is forced, and the skip due, again and again.
LIMITS: dict[str, dict[str, Any]] = {"default": {}, "tight": {"max_debt": 1, "max_surplus": 2}}


@needs_compiler
@pytest.mark.parametrize(
    ("name", "steps", "late", "limits"),
    [
        ("few", 2500, 1, "default"),
        ("few", 2500, 1, "tight"),
        ("few", 2500, 4 * SLOTS, "default"),
        ("chain", 1500, 20, "default"),
        ("chain", 1500, 20, "tight"),
        ("unknown costs", 3000, 700, "default"),
    ],
)
def test_the_fast_path_equals_the_step_by_step_path(name: str, steps: int, late: int, limits: str) -> None:
    """The same arms, trust and weights, also with more decisions outstanding than slots, and some settled by id."""
    menu = MENUS[name]
    fast, careful = (Selector(menu, 0.75, model="auto", seed=5, **LIMITS[limits]) for _ in range(2))
    careful.__dict__.update(open_fast_path=lambda: None)
    careful.close_fast_path()
    twins = Twins(fast, careful, menu, 6)
    twins.play(steps, late)
    assert isinstance(fast._engine, CompiledContextEngine)
    assert fast._engine._version > 0
    assert fast.context_report().followed > 100
    assert (len(fast._engine._array("slots")) > SLOTS) == (late > SLOTS)  # a few stragglers do not make the slots grow
    assert fast._engine._overflow or late > 1
    assert in_slots(fast) or late == 1
    assert late == 1 or len(twins.out) > late // 8
    assert learned(fast) == learned(careful)
    assert counts(fast) == counts(careful)
    assert str(fast.certificate()) == str(careful.certificate())
    assert len(noted(fast)) <= len(twins.out)
    while twins.out:
        twins.tell()
    assert not noted(fast)
    assert unfair(fast) <= twins.skipped
    assert learned(fast) == learned(careful)
    assert counts(fast) == counts(careful)
    assert limits == "default" or twins.refused > 0 < twins.corrected


@needs_compiler
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("name", ["few", "chain", "unknown costs"])
def test_plain_code_equals_compiled_code(name: str, limits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class PlainAndCompiled(Twins):
        def each(self, number: int, call: Callable[[Selector, int], Any]) -> Any:
            use_engine(ENGINES[number], monkeypatch)
            return super().each(number, call)

    selectors = []
    for engine in ENGINES:
        use_engine(engine, monkeypatch)
        selectors.append(Selector(MENUS[name], 0.75, model="auto", seed=7, **LIMITS[limits]))
    plain, compiled = selectors
    twins = PlainAndCompiled(plain, compiled, MENUS[name], 8)
    twins.play(1500, 12)
    assert isinstance(plain._engine, PlainEngine)
    assert not isinstance(compiled._engine, PlainEngine)
    assert compiled.context_report().followed > 100
    assert twins.refused > 0 or limits == "default"
    assert noted(plain) == noted(compiled)
    assert unfair(plain) == unfair(compiled)
    assert learned(plain)[2] == learned(compiled)[2]
    assert counts(plain) == counts(compiled)
    for first, second in zip(learned(plain)[1], learned(compiled)[1], strict=True):
        assert first == pytest.approx(second, rel=1e-9, abs=1e-9)
