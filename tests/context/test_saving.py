"""A selector with a model is saved and loaded whole; invalid states are refused, and a model cannot prevent saving."""

import contextlib
import copy
import json
import math
import pickle
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sklearn.linear_model import SGDClassifier

from suffice import Menu, Selector, StateError
from suffice.context.models import LogisticModel
from suffice.errors import InvalidContext
from suffice.selector.plain import PlainEngine
from tests.support.context_models import (
    ENGINES,
    MENUS,
    SMALL,
    UNKNOWN_COSTS,
    HalfModel,
    Recorder,
    learned,
    needs_compiler,
    outcome,
    rounds,
    tell,
    told_cost,
    trained,
    use_engine,
)
from tests.support.looking import model_of, noted, unfair

pytestmark = pytest.mark.usefixtures("warm")


COPIES: dict[str, Callable[[Selector], Selector]] = {
    "json": lambda selector: Selector.from_state(json.loads(json.dumps(selector.state(), allow_nan=False))),
    "deepcopy": copy.deepcopy,
    "pickle": lambda selector: pickle.loads(pickle.dumps(selector)),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("name", "how"),
    [("few", "json"), ("chain", "json"), ("unknown costs", "json"), ("few", "deepcopy"), ("few", "pickle")],
)
def test_a_copy_continues_like_the_original(name: str, how: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with late outcomes of decisions that were outstanding or expired before."""
    use_engine(engine, monkeypatch)
    menu = MENUS[name]
    selector, late = trained(menu)
    twin = COPIES[how](selector)
    assert twin.state() == selector.state()
    assert twin.context_report() == selector.context_report()
    assert twin.options() == selector.options()
    assert str(twin.certificate()) == str(selector.certificate())
    assert twin.context_report().followed > 20
    rng = random.Random(4)
    for context, luck in rounds(200, 5):
        first, second = selector.ask(context=context), twin.ask(context=context)
        assert (first.id, first.arm, first.price) == (second.id, second.arm, second.price)
        success, cost = outcome(menu, context, luck, first.arm), told_cost(menu, rng)
        selector.tell(first, success, *cost)
        twin.tell(second, success, *cost)
    for decision in late:
        for one in (selector, twin):
            one.tell(decision, decision.id % 3 > 0, *([0.5] if menu.costs is None else []))
    assert not noted(twin)
    assert learned(selector) == learned(twin)
    assert twin.cost == pytest.approx(selector.cost)


@needs_compiler
@pytest.mark.parametrize("name", ["few", "unknown costs"])
def test_a_compiled_selector_continues_without_a_compiler(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pickled or saved with decisions in their slots: their outcomes teach the same."""
    use_engine("compiled", monkeypatch)
    menu = MENUS[name]
    selector, _ = trained(menu)
    out = [selector.ask(context={"x": 0.5}) for _ in range(8)]
    cost = told_cost(menu, random.Random(0))
    packed, state = pickle.dumps(selector), selector.state()
    for decision in out:
        selector.tell(decision, True, *cost)
    use_engine("plain", monkeypatch)
    for moved in (pickle.loads(packed), Selector.from_state(state)):
        assert isinstance(moved._engine, PlainEngine)
        for decision in out:
            moved.tell(decision, True, *cost)
        for first, second in zip(learned(selector)[1], learned(moved)[1], strict=True):
            assert first == pytest.approx(second, rel=1e-9, abs=1e-9)
        assert moved.cost == pytest.approx(selector.cost)
        assert unfair(moved) == unfair(selector)


def test_a_custom_model_must_be_passed_again(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    selector, _ = trained(model=Recorder())
    selector.save(path)
    with pytest.raises(StateError, match=r"saved with model of your own \(half\): pass model="):
        Selector.load(path)
    model = Recorder()
    loaded = Selector.load(path, model=model)
    assert model.before == len(model_of(selector).model.updates)
    for part in ("outstanding", "expired"):
        assert loaded.state()[part] == selector.state()[part]
    assert loaded.context_report() == selector.context_report()
    with pytest.raises(StateError):
        Selector.load(path, model="auto")  # the saved state is not that of a LogisticModel


def test_a_model_that_is_loaded_untrained_must_earn_trust_again(tmp_path: Path) -> None:
    def model() -> Any:
        return SGDClassifier(loss="log_loss", average=True, random_state=0)

    def run(selector: Selector, rng: random.Random) -> None:
        for _ in range(3000):
            x = rng.random()
            decision = selector.ask(context={"x": x})
            tell(selector, decision, rng.random() < (0.99 if decision.arm == 2 or x > 0.5 else 0.2))

    selector = Selector(SMALL, 0.9, model=model())
    run(selector, random.Random(1))
    assert selector.context_report().trusted
    selector.save(tmp_path / "selector.json")
    loaded = Selector.load(tmp_path / "selector.json", model=model())
    assert not loaded.context_report().trusted
    run(loaded, random.Random(2))
    assert loaded.context_report().trusted
    with pytest.raises(StateError, match=r"is not the one that comes with suffice: pass it as model=\.\.\."):
        Selector.load(tmp_path / "selector.json", model="auto")


def test_selectors_do_not_share_a_logistic_model() -> None:
    model = LogisticModel({"x": "number"})
    first = Selector(SMALL, 0.9, model=model)
    first.tell(first.ask(context={"x": 0.5}), True)
    for menu in (SMALL, Menu({"other": 0.3}, safe="all", safe_cost=1.0)):
        second = Selector(menu, 0.9, model=model)
        assert model_of(second) is not model_of(first)
        assert len(model_of(second).predict({"x": 0.9})[0]) == menu.n_arms
    assert len(model_of(first).predict({"x": 0.9})[0]) == SMALL.n_arms


class BadState(HalfModel):
    """Its state is not JSON, or raises; and it cannot be restored."""

    def __init__(self, saved: Any) -> None:
        super().__init__()
        self.saved = saved

    def state(self) -> Any:
        if isinstance(self.saved, Exception):
            raise self.saved
        return self.saved

    def restore(self, state: Any) -> None:
        raise RuntimeError("cannot")


@pytest.mark.parametrize("state", [RuntimeError("no"), object(), {"x": math.nan}, {1, 2}])
def test_a_model_without_a_valid_state_does_not_prevent_saving(state: Any, tmp_path: Path) -> None:
    selector, _ = trained(model=BadState(state), steps=60)
    selector.save(tmp_path / "state.json")
    loaded = Selector.load(tmp_path / "state.json", model=BadState(state))  # nothing is restored
    assert (loaded.outcomes, loaded.debt, loaded.pending) == (selector.outcomes, selector.debt, selector.pending)


def test_a_model_that_cannot_be_restored_is_a_state_error(tmp_path: Path) -> None:
    trained(model=BadState([1]), steps=60)[0].save(tmp_path / "state.json")
    with pytest.raises(StateError, match="the model must take over what it wrote down: RuntimeError: cannot"):
        Selector.load(tmp_path / "state.json", model=BadState([1]))


DELETED = object()


def places_in(state: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a state; of long lists only the ends."""
    yield at
    items: list[Any] = []
    if isinstance(state, dict):
        items = list(state.items())
    elif isinstance(state, list):
        items = [*enumerate(state[:2]), (len(state) - 1, state[-1])] if state else []
    for key, value in items:
        yield from places_in(value, (*at, key))


def tampered(state: Any, at: tuple[Any, ...], value: Any) -> Any:
    """The state with another value in one place, or without that place."""
    if not at:
        return value
    twin = copy.copy(state)
    if value is DELETED and len(at) == 1:
        del twin[at[0]]
        return twin
    twin[at[0]] = tampered(twin[at[0]], at[1:], value)
    return twin


def test_a_tampered_state_is_refused_or_works() -> None:
    state = trained(UNKNOWN_COSTS, 60)[0].state()
    parts = ("model", "learner", "outstanding", "expired", "accounts")
    places = [at for at in places_in(state) if at and at[0] in parts]
    values = [None, -1, 10**30, 1e300, math.nan, math.inf, "x", [], {}, [[]], True, 0.5, DELETED]
    rng = random.Random(0)
    refused = read = 0
    for at in places:
        for value in [DELETED, *rng.sample(values, 3)]:
            try:
                loaded = Selector.from_state(tampered(state, at, value))
            except StateError:
                refused += 1
                continue
            read += 1
            for _ in range(3):
                with contextlib.suppress(InvalidContext):  # the fields may have other names now
                    loaded.ask(context={"x": 0.5})
                decision = loaded.ask()
                loaded.tell(decision, decision.is_safe, 0.5)
            assert loaded.certificate().consistent
    assert refused > 200
    assert read > 20
