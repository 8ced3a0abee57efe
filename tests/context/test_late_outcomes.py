"""A late outcome reaches the model with the context of its decision: in memory, copied, pickled or saved and loaded."""

import copy
import json
import math
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from suffice import Selector
from tests.support.context_models import (
    SMALL,
    HalfModel,
    Recorder,
    interior_decisions,
    tell,
)
from tests.support.looking import model_of, noted

CONTEXTS: list[Any] = [
    {"x": 1.5, "task": "chat", "n": 3, "flag": True, "gone": None},
    {"x": math.nan, "y": -math.inf, "nested": {"deep": [1, (2, "three")]}, 4: "four"},
    {"float": "a field named like a marker in saved contexts"},
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


def reloaded(selector: Selector) -> Selector:
    return Selector.from_state(json.loads(json.dumps(selector.state(), allow_nan=False)), model=Recorder())


COPIES: dict[str, Callable[[Selector], Selector]] = {
    "itself": lambda selector: selector,
    "deepcopy": copy.deepcopy,
    "pickle": lambda selector: pickle.loads(pickle.dumps(selector)),
    "reload": reloaded,
}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("expired", [False, True], ids=["late", "expired"])
def test_a_custom_model_gets_the_context_of_the_decision(how: str, expired: bool) -> None:
    selector = Selector(SMALL, 0.5, model=Recorder())
    pairs = interior_decisions(selector, CONTEXTS)
    if expired:
        for decision, _ in pairs:
            selector.expire(decision)
    twin = COPIES[how](selector)
    model = model_of(twin).model
    model.updates.clear()
    random.Random(0).shuffle(pairs)
    for decision, context in pairs:
        twin.tell(decision, True)
        seen, arm, success = model.updates.pop()
        expected = context.item() if isinstance(context, np.generic) and how == "reload" else context
        assert type(seen) is type(expected)
        assert repr(seen) == repr(expected)  # equal, also with a NaN or an array in it
        assert (arm, success) == (decision.arm, 1.0)
    assert not model.updates
    assert not noted(twin)
    assert how == "itself" or len(noted(selector)) == len(CONTEXTS)  # the copy shares nothing with the original


def test_the_caller_may_change_a_context_after_the_ask() -> None:
    model = Recorder()
    selector = Selector(SMALL, 0.5, model=model)
    for reused in ({"x": 0}, [0], np.zeros(1)):
        context: Any = reused
        place: Any = "x" if isinstance(context, dict) else 0
        out = []
        for number in range(200):
            context[place] = number
            out.append((selector.ask(context=context, group=[None, "a", "b"][number % 3]), number))
            if len(out) > 3:
                decision, then = out.pop(0)
                tell(selector, decision)
                if decision.role == 0:
                    assert model.updates[-1][0][place] == then
    assert len(model.updates) > 50


def test_a_repeated_context_is_predicted_again() -> None:
    model = HalfModel()
    selector = Selector(SMALL, 0.5, model=model)
    interior = 0
    for _ in range(100):
        decision = selector.ask(context="always the same")
        interior += decision.role == 0
        tell(selector, decision)
    assert model.calls == interior > 10


def test_a_context_that_is_not_json_is_lost_on_reload() -> None:
    selector = Selector(SMALL, 0.5, model=Recorder())
    pairs = interior_decisions(selector, [object(), {"x": object()}, {"x": 1.0}])
    twin = reloaded(selector)
    for decision, _ in pairs:
        twin.tell(decision, True)
    assert [context for context, _, _ in model_of(twin).model.updates] == [{"x": 1.0}]
    assert twin.outcomes == selector.outcomes + 3
    assert not noted(twin)


def test_a_model_learns_only_from_interior_decisions_with_a_context() -> None:
    model = Recorder()
    selector = Selector(SMALL, 0.5, model=model)
    expected = 0
    for step in range(200):
        decision = selector.ask(context={"x": step}) if step % 2 else selector.ask()
        tell(selector, decision)
        expected += decision.role == 0 and step % 2 == 1
    assert len(model.updates) == expected > 10
    assert selector.outcomes == 200


def test_amended_outcomes_correct_what_the_model_learned() -> None:
    """Every outcome comes after its decision has expired: the model ends up with the rates of the outcomes."""
    predicted = {}
    for late in (False, True):
        now = [0.0]
        selector = Selector(SMALL, 0.9, model="auto", expire_after=1.0, clock=lambda now=now: now[0])  # type: ignore[misc]
        rng, out = random.Random(0), []
        for _ in range(3000):
            x = rng.random()
            now[0] += 1.0
            decision = selector.ask(context={"x": x})
            chance = 0.99 if decision.arm == 2 or x > 0.5 else 0.2
            out.append((decision, rng.random() < chance))
            if len(out) > (2 if late else 0):
                tell(selector, *out.pop(0))
        assert (selector.certificate().amended > 1000) == late
        assert selector.context_report().anew == 0
        predicted[late] = model_of(selector).predict({"x": 0.9})[0][1]
    assert predicted[False] > 0.95
    assert predicted[True] > 0.9
