"""What is kept of a decision until its outcome comes, in its slot or elsewhere: whichever way it was asked and is told."""

import copy
import random
from typing import Any

import numpy as np
import pytest

from suffice import Decision, Menu, Selector
from suffice.context.learner import DecisionRecord
from suffice.lab.streams import SyntheticContext
from suffice.selector.compiled import SLOTS, CompiledEngine
from tests.support.looking import in_slots, model_of, noted, trust_of, unfair

pytestmark = pytest.mark.compiled


def steps(selector: Selector) -> int:
    """Outcomes between the limits that the model has learned from."""
    return int(trust_of(selector).steps)


def outcome(rng: random.Random, decision: Decision) -> bool:
    return decision.is_safe or (not decision.is_skip and rng.random() < 0.78)


def ready() -> tuple[Selector, list[Any], Menu]:
    stream = SyntheticContext(tilt=3.0)
    selector = Selector(stream.menu, 0.8, model="auto")
    selector.compile()
    latents = stream.draw(np.random.default_rng(0), 6000)
    return selector, [stream.context(latent) for latent in latents], stream.menu


def kept(selector: Selector, identity: int) -> list[float]:
    """The features that are kept of a decision."""
    entry = selector.engine.entry(identity)
    assert entry is not None
    assert isinstance(entry.note, DecisionRecord)
    features: list[float] = entry.note.seen.tolist()
    return features


@pytest.mark.parametrize("way", ["fast", "slow ask", "saved", "loaded", "copied", "many", "moved"])
def test_the_model_learns_from_every_outcome_however_it_was_asked(way: str) -> None:
    selector, contexts, menu = ready()
    rng = random.Random(0)
    for context in contexts[:2000]:
        decision = selector.ask(context=context)
        selector.tell(decision, outcome(rng, decision))
    before, limits = steps(selector), 0
    for start in range(2000, 5000, 50):
        some = contexts[start : start + 50]
        if way == "many":
            decisions = selector.ask_many(50, contexts=some)
        elif way == "slow ask":
            decisions = [selector.ask(context=one, available=menu.options) for one in some]
        else:
            decisions = [selector.ask(context=one) for one in some]
        elsewhere = noted(selector) - set(in_slots(selector))
        if way in ("many", "slow ask"):
            assert not in_slots(selector)
        else:
            assert len(elsewhere) <= (way in ("loaded", "copied"))  # the first ask of a copy takes the slow path
        limits += sum(decision.id not in noted(selector) for decision in decisions)
        if way == "saved":
            selector.state()
        elif way == "loaded":
            selector = Selector.from_state(selector.state())
            selector.compile()
        elif way == "copied":
            selector = copy.deepcopy(selector)
        elif way == "moved":
            selector._set_up()
        rng.shuffle(decisions)
        for decision in decisions:
            selector.tell(decision.id if way == "loaded" else decision, outcome(rng, decision))
        assert not noted(selector)
        assert not in_slots(selector)
        assert not unfair(selector)
    assert steps(selector) - before == 3000 - limits
    assert limits < 1500


@pytest.mark.parametrize("group", [None, "other"])
def test_a_slot_that_was_needed_by_another(group: str | None) -> None:
    """Some decisions stay out while all slots are reused several times; the model learns from each with its own context."""
    selector, contexts, _ = ready()
    rng = random.Random(0)
    early: list[tuple[Decision, Any]] = []
    for context in contexts[:1500]:
        decision = selector.ask(context=context)
        selector.tell(decision, outcome(rng, decision))
    while len(early) < 3:
        decision = selector.ask(context=contexts[len(early)])
        if decision.id in in_slots(selector):
            early.append((decision, contexts[len(early)]))
        else:
            selector.tell(decision, outcome(rng, decision))
    for turn in range(3 * SLOTS):
        decision = selector.ask(context=contexts[2000 + turn], group=group)
        selector.tell(decision, outcome(rng, decision))
    assert noted(selector) == {decision.id for decision, _ in early}
    assert not in_slots(selector)
    for decision, context in early:
        assert kept(selector, decision.id) == pytest.approx(model_of(selector).read(context).tolist(), nan_ok=True)
        selector.tell(decision, True)
    assert not noted(selector)
    before = steps(selector)
    slotted = 0
    for context in contexts[4000:5000]:
        decision = selector.ask(context=context)
        slotted += decision.id in in_slots(selector)
        selector.tell(decision, outcome(rng, decision))
    assert steps(selector) == before + slotted  # the fast path can use all slots again
    assert slotted > 500


def test_contexts_move_with_their_decisions_when_the_slots_grow() -> None:
    selector, contexts, _ = ready()
    rng = random.Random(0)
    for context in contexts[:1500]:
        decision = selector.ask(context=context)
        selector.tell(decision, outcome(rng, decision))
    out = [(selector.ask(context=context), context) for context in contexts[1500 : 1500 + 3 * SLOTS]]
    assert isinstance(selector.engine, CompiledEngine)
    assert len(selector.engine._array("slots")) == 4 * SLOTS
    assert not selector.engine._overflow
    held, before = in_slots(selector), steps(selector)
    assert len(held) > SLOTS
    for decision, context in out:
        if decision.id in held:
            assert kept(selector, decision.id) == pytest.approx(model_of(selector).read(context).tolist(), nan_ok=True)
    rng.shuffle(out)
    for decision, _ in out:
        selector.tell(decision, outcome(rng, decision))
    assert steps(selector) == before + len(held)
    assert (selector.pending, noted(selector)) == (0, set())
