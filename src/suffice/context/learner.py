"""Learning with a model that sees the context, beside a chooser that does not.

The chooser decides until the model has earned trust (`trust`); then the model decides, limited by the guard (theorem C in
docs/context.md). The model's plays are no fair sample of what options do, so the chooser and its bounds learn from their own
plays only: those before, and the controls.
"""

import copy
import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, NamedTuple, cast

import numpy as np

from suffice.context.logistic import optimism_width
from suffice.context.models import Model, as_model
from suffice.context.models.custom import CustomModel
from suffice.context.models.logistic import LogisticModel
from suffice.context.report import ContextReport as ContextReport
from suffice.context.trust import (
    CONTROL,
    MODEL,
    UNCOMPARED,
    Trust,
    Watch,
    compare_costs,
    forget_means,
    is_control,
    reset,
    revoke,
    room_size,
    saving,
    update_evidence,
)
from suffice.errors import InvalidArgument, StateError, quoted
from suffice.kernels.rows import Mask, Rows, RowView, from_rows, to_rows
from suffice.learning.arm_blocks import rows_of
from suffice.learning.base import Columns, Learner, Proposal
from suffice.learning.guard import allowance
from suffice.learning.records import Lesson, Pricing, TableHead
from suffice.learning.rng import MASK, WORDS, seed_state
from suffice.learning.table_learner import TableLearner, check_tally
from suffice.learning.tables import CompiledTable
from suffice.learning.thompson import expected
from suffice.menu.menu import Menu
from suffice.numbers import positive_int
from suffice.promise.record import Account

log = logging.getLogger("suffice")


class DecisionRecord(NamedTuple):
    """What a decision's outcome will need."""

    seen: Any  # the context as the model has read it: a row of numbers, or any object for a custom model
    predicted: float | None  # the success that a custom model predicted
    price: float
    decider: int  # see `trust`


class ContextLearner(Learner):
    """A model beside a built-in chooser."""

    contextual = True

    def __init__(self, plain: TableLearner, model: object, seed: int) -> None:
        self.menu, self.bounds, self.chooser, self.memory = plain.menu, plain.bounds, plain.chooser, plain.memory
        self.plain = plain
        self.model = start_model(as_model(model), self.menu)
        self.watch = Watch(Trust(), np.zeros(room_size(self.menu.n_arms)))
        seed_state(self.watch.room, 0, seed)
        forget_means(self.watch.room)
        self.tally = np.zeros((4, self.menu.n_arms))  # of all plays: their number, successes, costs reported, their sum
        self.failures = 0
        self._interior = range(self.menu.n_arms)[self.menu.interior]
        self._trust_rows = to_rows(Trust, [])  # where compiled code finds the trust
        if plain.compiled is not None:
            self.compile()

    @property
    def head(self) -> TableHead:
        return self.plain.head

    def reseed(self, seed: int) -> None:
        self.plain.reseed(seed)
        seed_state(self.watch.room, 0, seed)

    def compile(self) -> None:
        """Use compiled code from now on."""
        self.plain.compile()
        self.model.compile()
        if self.plain.compiled is not None and not len(self._trust_rows):
            self._trust_rows = to_rows(Trust, [self.watch.trust])
            self.watch = Watch(cast("Trust", RowView(self._trust_rows)), self.watch.room)

    @property
    def compiled(self) -> CompiledTable | None:
        """The chooser's table, if it is compiled."""
        return self.plain.compiled

    def decompile(self) -> None:
        """Use plain code from now on: the state comes from a process with a compiler, and this one has none."""
        self.plain.decompile()
        self.model.compile()
        for trust in from_rows(Trust, self._trust_rows):
            self.watch, self._trust_rows = Watch(trust, self.watch.room), to_rows(Trust, [])

    def arrays(self, model: LogisticModel) -> dict[str, Rows]:
        """The arrays that compiled code works on, by the names in `context_calls.ContextPlace`."""
        return {**model.arrays(), "trust": self._trust_rows, "watch": self.watch.room, "tally": self.tally}

    # --- ask

    def read(self, context: object) -> Any:
        """Read the context of the next decision, and learn from it what contexts look like. None: there is none."""
        if context is None:
            return None
        seen: Any = self.model.read(context)
        self.model.observe(seen)
        return seen

    def check(self, context: object) -> None:
        """Raise if the fields of a context are not those of earlier contexts."""
        if context is not None:
            self.model.read(context)

    def propose(self, price: float, allowed: Mask | None, seen: Any = None) -> Proposal:
        if seen is None:
            return self.plain.propose(price, allowed)
        decider, arm, unbiased = UNCOMPARED, None, True
        if self._follows():
            if is_control(self.watch):
                decider = CONTROL
            else:
                unbiased = False  # even if the model fails: whether it fails may depend on the context
                arm = self._model_arm(seen, price, allowed)
                decider = UNCOMPARED if arm is None else MODEL
        failed = not unbiased and arm is None
        if arm is None:
            arm = self.plain.propose(price, allowed).arm
        return Proposal(
            arm, unbiased, DecisionRecord(seen, None if failed else self._prediction(seen, arm), price, decider)
        )

    def _follows(self) -> bool:
        """Whether the model decides next, unless a control is due."""
        trust = self.watch.trust
        return trust.given > 0 and trust.gap <= allowance(self.head)

    def _model_arm(self, seen: Any, price: float, allowed: Mask | None) -> int | None:
        """The model's arm; None if it fails."""
        with self._catch("the model failed; the chooser decides instead"):
            return self.model.cheapest(seen, price, optimism_width(self.head.steps), allowed)
        return None

    def _prediction(self, seen: object, arm: int) -> float | None:
        """The success that a custom model predicts. LogisticModel predicts when it learns from the outcome."""
        if not isinstance(self.model, CustomModel) or arm not in self._interior:
            return None
        with self._catch("the model failed; this decision is no evidence for or against it"):
            return self.model.prediction(seen, arm)
        return None

    @contextmanager
    def _catch(self, message: str) -> Iterator[None]:
        """Count and log an exception of the model, which must not reach the caller."""
        try:
            yield
        except Exception:
            self.failures += 1
            if self.failures & (self.failures - 1) == 0:  # the first, second, fourth, ... time
                log.exception("%s (failure %d)", message, self.failures)

    def optimistic(self, price: float, allowed: Mask | None) -> int:
        return self.plain.optimistic(price, allowed)

    # --- tell

    def learn(
        self, main: Pricing, pricing: Pricing, account: Account, lesson: Lesson, *, grouped: bool, note: Any = None,
        lost: bool = False,
    ) -> None:  # fmt: skip
        arm, success, fresh = lesson.arm, lesson.success, lesson.fresh
        cost = None if math.isnan(lesson.cost) else lesson.cost
        if fresh and not lesson.unbiased:
            self.watch.trust.gap += self.plain.charge(lesson)
        self._count(arm, success, cost, int(fresh))
        interior = arm in self._interior
        plain = float(self.plain.table.call(expected, arm)) if interior else 0.0
        self.plain.learn(main, pricing, account, lesson, grouped=grouped)
        if note is not None and fresh:
            self._compare_costs(note, arm, success, cost)
        if note is None or not interior or note.seen is None:
            return
        if not fresh and success > 0.0:
            with self._catch("the model failed to learn from a late outcome, which is counted all the same"):
                self.model.amend(note.seen, arm, success)
        if fresh and self._update_model(note, arm, success, cost, None if lost else plain):
            reset(self.watch)
            with self._catch("the model failed to start again"):
                self.model.reset()

    def _count(self, arm: int, success: float, cost: float | None, plays: int) -> None:
        self.tally[0, arm] += plays
        self.tally[1, arm] += success
        if cost is not None:
            self.tally[2, arm] += 1.0
            self.tally[3, arm] += cost

    def _compare_costs(self, note: DecisionRecord, arm: int, success: float, cost: float | None) -> None:
        known = self.menu.known_cost(arm) if cost is None else cost
        loss = (self.menu.safe_cost if known is None else known) - note.price * success
        compare_costs(self.watch.trust, note.decider, loss)

    def _update_model(
        self, note: DecisionRecord, arm: int, success: float, cost: float | None, plain: float | None
    ) -> bool:
        """Train the model, and compare its prediction with the option's rate (None: the outcome is lost). True on drift."""
        predicted = None
        with self._catch("the model failed to learn from an outcome, which is counted all the same"):
            predicted = self.model.learn(note.seen, arm, success, cost)
            predicted = note.predicted if predicted is None else predicted
        if predicted is None or plain is None:  # lost outcomes carry no evidence about predictions
            return False
        return update_evidence(self.watch, arm, success, predicted, plain)

    def set_steps(self, steps: int) -> None:
        self.plain.set_steps(steps)

    def columns(self) -> Columns:
        bounds = self.plain.columns()
        plays, successes, priced, costs = self.tally
        return Columns(plays, successes, priced, costs, bounds.upper, bounds.lower)

    def context_report(self) -> ContextReport:
        """How contexts are used."""
        trust, model = self.watch.trust, self.model
        given = trust.given > 0
        saved, error = saving(trust) if given else (None, None)
        return ContextReport(
            model=model.name, trusted=given, followed=int(trust.followed), lost=int(trust.lost), anew=int(trust.anew),
            failures=self.failures, held_back=given and not self._follows(), saved=saved, saved_error=error,
            fields=model.features.report() if isinstance(model, LogisticModel) else {},
        )  # fmt: skip

    # --- saving

    def state(self) -> dict[str, Any]:
        return {
            "chooser": self.plain.state(),
            "tally": rows_of(*self.tally),
            "trust": {field.name: getattr(self.watch.trust, field.name) for field in fields(Trust)},
            "recent": [float(value) for value in self.watch.room],
            "model": self._model_state(),
            "failures": self.failures,
        }

    def _model_state(self) -> object:
        """What the model has learned; None if it cannot be saved, which must not keep the rest from being saved."""
        with self._catch("the model's state could not be saved; a loaded selector starts with an untrained model"):
            return self.model.state()
        return None

    def restore(self, state: dict[str, Any], price: float) -> None:
        for arm, *numbers in state["tally"]:
            self.tally[:, positive_int("arm", arm, 0)] = [float(number) for number in numbers]
        check_tally(self.columns(), self.memory, self.menu.safe_cost)
        self._restore_trust(state["trust"], state["recent"])
        self.plain.restore(state["chooser"], price)
        self.model.restore(state["model"])
        if state["model"] is None:
            revoke(self.watch.trust)  # the model is untrained, so the evidence for it does not hold
        self.failures = positive_int("failures", state["failures"], 0)

    def _restore_trust(self, written: dict[str, float], recent: list[float]) -> None:
        trust, room = self.watch.trust, np.array(recent, dtype=np.float64)
        values = {field.name: written[field.name] for field in fields(Trust)}
        valid = room.shape == (len(self.watch.room),) and bool(np.isfinite(room).all())
        valid = valid and all(math.isfinite(value) for value in values.values()) and values["given"] in (0, 1)
        if not valid or not ((room[:WORDS] >= 0) & (room[:WORDS] <= MASK)).all():
            raise StateError(f"trust must hold finite numbers, got {quoted(written)}")
        for name, value in values.items():
            setattr(trust, name, int(value) if name == "given" else float(value))
        self.watch.room[:] = room

    def recipe(self) -> str | dict[str, str]:
        """How the model is saved: by name if it is built in, else the type that must be passed again."""
        return {"own": self.model.name} if isinstance(self.model, CustomModel) else str(self.model.name)

    def note_state(self, note: object) -> object:
        if not isinstance(note, DecisionRecord):
            return None
        return [self.model.write_context(note.seen), note.predicted, note.price, note.decider]

    def note_from(self, written: Any) -> DecisionRecord | None:
        if written is None:
            return None
        seen, predicted, price, decider = written
        if decider not in (UNCOMPARED, MODEL, CONTROL) or not math.isfinite(price):
            raise StateError(f"a note must hold a price and who decided, got {quoted(written)}")
        if predicted is not None and not 0.0 <= predicted <= 1.0:
            raise StateError(f"a note must hold a predicted success from 0 to 1, got {quoted(predicted)}")
        return DecisionRecord(self.model.read_context(seen), predicted, float(price), int(decider))


def start_model(model: Model, menu: Menu) -> LogisticModel | CustomModel:
    """The model, started with a menu. A LogisticModel that another selector uses is copied."""
    if not isinstance(model, LogisticModel):
        return CustomModel(model, menu)
    if model.menu is not None:
        model = copy.deepcopy(model)
    model.open(menu)
    return model


def make_context_learner(plain: Learner, model: object, seed: int) -> ContextLearner:
    """The learner for a model beside a built-in chooser."""
    if not isinstance(plain, TableLearner):
        raise InvalidArgument(
            "bounds and chooser must be given by name where there is a model: a chooser of your own takes the model's place"
        )
    return ContextLearner(plain, model, seed)
