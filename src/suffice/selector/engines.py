"""The two engines. Each holds accounts, prices and outstanding decisions, and takes the steps of a decision.

Both have the same methods. `ask_fast` and `tell_fast` are the fast path: one call each, which happens whole or not at all.
They decline what is unusual; then the selector takes the slow path, under its lock, by the other methods. Each of these makes
its change at once, so that an interrupt between any two lines leaves nothing half done.
"""

import math
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

from suffice.errors import InvalidArgument
from suffice.learning.base import Learner
from suffice.learning.custom_learner import CustomLearner, make_learner
from suffice.learning.settings import Learning
from suffice.learning.table_learner import TableLearner
from suffice.menu.menu import Menu
from suffice.selector.plain import PlainEngine

if TYPE_CHECKING:
    from suffice.context.learner import ContextLearner
    from suffice.selector.compiled import CompiledEngine

Engine: TypeAlias = "PlainEngine | CompiledEngine"


def has_model(learner: Learner) -> "TypeGuard[ContextLearner]":
    """Whether a learner has a model of the context. Most selectors have none, and never import `context`."""
    return learner.contextual


def with_model(learner: Learner) -> "ContextLearner":
    """The learner, which must have a model."""
    if not has_model(learner):
        raise InvalidArgument('context must be left out where there is no model: pass model="auto" to have one')
    return learner


def engine_for(learner: Learner, lock: threading.RLock, failed: Callable[[int, Exception], None]) -> Engine:
    """An engine for a learner: compiled if the learner is. `failed` is called with an arm when learning from it fails."""
    if isinstance(learner, TableLearner) and learner.compiled is not None:
        from suffice.selector.compiled import CompiledEngine  # most first asks are plain, and need not load it

        return CompiledEngine(learner, learner.compiled)
    if has_model(learner) and learner.compiled is not None:
        from suffice.selector.context_engine import CompiledContextEngine

        return CompiledContextEngine(learner, learner.compiled)
    return PlainEngine(learner, lock, failed)


def move_state(old: Engine, new: Engine) -> None:
    """Move all that one engine holds to another, and close the old one."""
    new.expire_after, new.next_id = old.expire_after, old.next_id
    for row in range(old.rows()):
        new.add_row(old.account(row), old.pricing(row))
    new.restore_entries(old.entries(), old.expired_entries())
    old.close()


def learner_for(
    menu: Menu, settings: Learning, horizon: int | None, ceiling: float, seed: int, model: object
) -> "TableLearner | CustomLearner | ContextLearner":
    """The learner that these settings call for, with a model of the context if one is given."""
    guard = math.inf if settings.guard is None else float(settings.guard)
    plain = make_learner(
        menu, settings.bounds, settings.chooser, settings.memory, horizon, ceiling, seed=seed, kappa=guard
    )
    if model is None:
        return plain
    from suffice.context.learner import make_context_learner

    return make_context_learner(plain, model, seed)
