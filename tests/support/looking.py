"""What tests know of a selector that looks at contexts."""

from typing import Any

from suffice import Selector
from suffice.context.learner import ContextLearner
from suffice.selector.compiled import CompiledEngine
from suffice.selector.compiled_calls import EMPTY, IN_SLOT


def learner_of(selector: Selector) -> ContextLearner:
    """The learner, which must look at contexts."""
    learner = selector.learner
    assert isinstance(learner, ContextLearner)
    return learner


def trust_of(selector: Selector) -> Any:
    """How far the model is trusted; what is written to it holds."""
    return learner_of(selector).watch.trust


def model_of(selector: Selector) -> Any:
    """The model: ours, or what stands around a user's own."""
    return learner_of(selector).model


def noted(selector: Selector) -> set[int]:
    """The decisions of which a context is kept, outstanding or expired; and what is kept of no decision any more."""
    engine = selector._engine
    entries = [*engine.entries(), *engine.expired_entries()]
    found = {identity for identity, entry in entries if entry.note is not None}
    return found | set(engine._notes) if isinstance(engine, CompiledEngine) else found


def unfair(selector: Selector) -> set[int]:
    """The decisions, outstanding or expired, in whose choice a context had a part."""
    engine = selector._engine
    return {identity for identity, entry in (*engine.entries(), *engine.expired_entries()) if not entry.fair}


def in_slots(selector: Selector) -> list[int]:
    """The decisions whose context lies in their slots."""
    engine = selector._engine
    if not isinstance(engine, CompiledEngine):
        return []
    slots = engine._array("slots")
    found: list[int] = slots["id"][(slots["id"] != EMPTY) & (slots["noted"] == IN_SLOT)].tolist()
    return found
