"""What is kept of a decision until its outcome comes, beside its seat or elsewhere: whichever way it was asked and is told."""

import copy
import random
from typing import Any

import numpy as np
import pytest

from suffice import Decision, Menu, Selector
from suffice.kernels import trust
from suffice.kernels.compile import available
from suffice.kernels.desk import SEATS
from suffice.streams import Tilted

pytestmark = pytest.mark.skipif(not available(), reason="seats are for compiled code")


def steps(selector: Selector) -> int:
    """Outcomes between the rails that the model has heard of."""
    looking = selector._looking
    assert looking is not None
    return int(looking.trust[trust.STEPS])


def outcome(rng: random.Random, decision: Decision) -> bool:
    return decision.is_everything or (not decision.is_nothing and rng.random() < 0.78)


def ready() -> tuple[Selector, list[Any], Menu]:
    stream = Tilted(tilt=3.0)
    selector = Selector(stream.menu, 0.8, model="auto")
    selector._compile()
    latents = stream.draw(np.random.default_rng(0), 6000)
    return selector, [stream.context(latent) for latent in latents], stream.menu


@pytest.mark.parametrize("way", ["short", "long ask", "saved", "loaded", "copied", "many", "moved"])
def test_every_outcome_is_heard_however_it_was_asked(way: str) -> None:
    selector, contexts, menu = ready()
    rng = random.Random(0)
    for context in contexts[:2000]:
        decision = selector.ask(context=context)
        selector.tell(decision, outcome(rng, decision))
    before, rails = steps(selector), 0
    for start in range(2000, 5000, 50):
        some = contexts[start : start + 50]
        if way == "many":
            decisions = selector.ask_many(50, contexts=some)
        elif way == "long ask":
            decisions = [selector.ask(context=one, available=menu.options) for one in some]
        else:
            decisions = [selector.ask(context=one) for one in some]
        keys = [*selector._notes, *selector._looking.all_seated()]  # type: ignore[union-attr]
        assert len(set(keys)) == len(keys)
        rails += sum(decision.id not in keys for decision in decisions)
        if way == "saved":
            selector.state()
        elif way == "loaded":
            selector = Selector.from_state(selector.state())
            selector._compile()
        elif way == "copied":
            selector = copy.deepcopy(selector)
        elif way == "moved":
            selector._set_up()
        rng.shuffle(decisions)
        for decision in decisions:
            selector.tell(decision.id if way == "loaded" else decision, outcome(rng, decision))
        assert not selector._notes
        assert not selector._looking.all_seated()  # type: ignore[union-attr]
        assert not selector._proposed
    assert steps(selector) - before == 3000 - rails
    assert rails < 1500


def test_a_seat_that_was_needed_by_another() -> None:
    """One decision stays out while the seats are gone round several times; its outcome is heard with its own context."""
    selector, contexts, _ = ready()
    rng = random.Random(0)
    early: list[tuple[Decision, Any]] = []
    looking = selector._looking
    assert looking is not None
    for context in contexts[:1500]:
        decision = selector.ask(context=context)
        selector.tell(decision, outcome(rng, decision))
    while len(early) < 3:
        decision = selector.ask(context=contexts[len(early)])
        if decision.id in looking.all_seated():
            early.append((decision, contexts[len(early)]))
        else:
            selector.tell(decision, outcome(rng, decision))
    for turn in range(3 * SEATS):
        decision = selector.ask(context=contexts[2000 + turn])
        selector.tell(decision, outcome(rng, decision))
    for decision, context in early:
        assert selector._notes[decision.id].seen.tolist() == pytest.approx(
            looking.eye.read(context).tolist(), nan_ok=True
        )
        selector.tell(decision, True)
    assert not selector._notes
    before = steps(selector)
    seated = 0
    for context in contexts[4000:5000]:
        decision = selector.ask(context=context)
        seated += decision.id in looking.all_seated()
        selector.tell(decision, outcome(rng, decision))
    assert steps(selector) == before + seated  # the short way has all seats again
    assert seated > 500
