"""What tests read from inside a selector, and the clock that they set."""

from typing import Any

from suffice import Selector
from suffice.context.learner import ContextLearner
from suffice.selector.compiled import CompiledEngine
from suffice.selector.compiled_calls import EMPTY, IN_SLOT


class Clock:
    """A clock that is set by hand for all its copies, and can be pickled."""

    now = 0.0

    def __call__(self) -> float:
        return Clock.now


def learner_of(selector: Selector) -> ContextLearner:
    """The learner, which must have a model."""
    learner = selector.learner
    assert isinstance(learner, ContextLearner)
    return learner


def trust_of(selector: Selector) -> Any:
    """The trust in the model; tests may change it."""
    return learner_of(selector).watch.trust


def model_of(selector: Selector) -> Any:
    """The model, or the CustomModel around a user's own."""
    return learner_of(selector).model


def noted(selector: Selector) -> set[int]:
    """The decisions with a stored context, outstanding or expired, and any context stored without a decision."""
    engine = selector.engine
    entries = [*engine.entries(), *engine.expired_entries()]
    found = {identity for identity, entry in entries if entry.note is not None}
    return found | set(engine._notes) if isinstance(engine, CompiledEngine) else found


def unfair(selector: Selector) -> set[int]:
    """The outstanding and expired decisions that a context has influenced."""
    engine = selector.engine
    return {identity for identity, entry in (*engine.entries(), *engine.expired_entries()) if not entry.unbiased}


def in_slots(selector: Selector) -> list[int]:
    """The decisions whose context is in their slot."""
    engine = selector.engine
    if not isinstance(engine, CompiledEngine):
        return []
    slots = engine._array("slots")
    found: list[int] = slots["id"][(slots["id"] != EMPTY) & (slots["noted"] == IN_SLOT)].tolist()
    return found
