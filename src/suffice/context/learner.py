"""Learning with a model that looks at the context, beside a chooser that does not.

The chooser plays until the model has earned trust (`trust`); then the model plays, behind the guard (theorem C in
docs/context.md). What the model has played is no fair sample of what options do, so the chooser and its bounds learn from
their own plays only: those before, and the few that a coin leaves to them.
"""

import copy
import logging
import math
from collections.abc import MutableSequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, cast

import numpy as np

from suffice.context.models import as_model
from suffice.context.models.custom import CustomModel
from suffice.context.models.logistic import LogisticModel
from suffice.context.optimism import optimism_width
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

log = logging.getLogger("suffice")


class DecisionRecord(NamedTuple):
    """What is kept of a decision until its outcome is told."""

    seen: Any  # the context, as the model reads it
    foretold: float | None  # the success that the model expected, where it was asked then
    price: float
    who: int  # played


@dataclass(frozen=True, slots=True)
class ContextReport:
    """What a selector makes of contexts; see `Selector.context_report`."""

    model: str
    trusted: bool  # whether the model is followed now
    followed: int  # outcomes of decisions that the model made
    lost: int  # how often trust was lost because the model's decisions came dearer
    anew: int  # how often the model began anew because its predictions no longer held
    failures: int  # how often the model raised, or predicted nonsense
    held_back: bool  # whether the guard keeps the model from playing now
    # A decision, since it is followed: cost − price·success of the chooser's, less that of the model's.
    saved: float | None
    saved_error: float | None  # the standard error of that
    fields: dict[str, dict[str, Any]]  # of the contexts: what was missing or not finite, or of a new category

    def __str__(self) -> str:
        state = "is followed" if self.trusted else "is not trusted yet, or no longer"
        state = "is held back by the guard" if self.held_back else state
        lines = [f"The model ({self.model}) {state}; it made {self.followed:,} decisions that were told."]
        if self.saved is not None and self.saved_error is not None and self.saved > 2.0 * self.saved_error:
            lines.append(
                f"It saves {self.saved:.2g} ± {2.0 * self.saved_error:.1g} a decision, beside those that a coin leaves to the "
                "chooser that does not look."
            )
        if self.lost or self.anew:
            lines.append(
                f"It lost trust {self.lost:,} times because its decisions came dearer, and began anew {self.anew:,} times "
                "because its predictions no longer held."
            )
        if self.failures:
            lines.append(f"It failed {self.failures:,} times; the chooser that does not look played instead.")
        for name, field in self.fields.items():
            said = [f"{field[what]:,} {what}" for what in ("missing", "unseen") if field.get(what)]
            if said:
                lines.append(f"Field {name!r}: {', '.join(said)} of {field['noted']:,}.")
        return "\n".join(lines)


class ContextLearner(Learner):
    """A model beside a chooser of ours."""

    def __init__(self, plain: TableLearner, model: Any, seed: int) -> None:
        self.menu, self.bounds, self.chooser, self.memory = plain.menu, plain.bounds, plain.chooser, plain.memory
        self.plain = plain
        self.model: Any = (
            own_copy(model, self.menu) if isinstance(model, LogisticModel) else CustomModel(model, self.menu)
        )
        # An array, which compiled code shares.
        self.watch = Watch(Trust(), cast("MutableSequence[float]", np.zeros(room_size(self.menu.n_arms))))
        seed_state(self.watch.room, 0, seed)
        forget_means(self.watch.room)
        self.tally = np.zeros((4, self.menu.n_arms))  # of all plays: how many, successes, costs told, their sum
        self.failures = 0
        self._interior = range(self.menu.n_arms)[self.menu.interior]
        self.trust_rows: Rows | None = None  # where compiled code finds what is trusted
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
        if self.plain.compiled is not None and self.trust_rows is None:
            self.trust_rows = to_rows(Trust, [self.watch.trust])
            self.watch = self.watch._replace(trust=cast("Trust", RowView(self.trust_rows)))

    @property
    def compiled(self) -> CompiledTable | None:
        """The chooser's table, where it is compiled."""
        return self.plain.compiled

    def decompile(self) -> None:
        """Use none from now on: where this was made there was a compiler, and here is none."""
        self.plain.decompile()
        self.model.compile()
        if self.trust_rows is not None:
            self.watch, self.trust_rows = self.watch._replace(trust=from_rows(Trust, self.trust_rows)[0]), None

    # --- ask

    def read(self, context: Any) -> Any:
        """Read the context of the decision to come, and take it into account; None: there is none."""
        if context is None:
            return None
        seen = self.model.read(context)
        self.model.note(seen)
        return seen

    def check(self, context: Any) -> None:
        """Raise if a context is not of the shape of those before."""
        if context is not None:
            self.model.read(context)

    def propose(self, price: float, allowed: Mask | None, seen: Any = None) -> Proposal:
        if seen is None:
            return self.plain.propose(price, allowed)
        who, arm, fair = UNCOMPARED, None, True
        if self._follows():
            if is_control(self.watch):
                who = CONTROL
            else:
                fair = False  # even if it fails: when it does may hang on what it sees
                arm = self._model_arm(seen, price, allowed)
                who = UNCOMPARED if arm is None else MODEL
        failed = not fair and arm is None  # once is enough: it need not be asked again what it expects
        if arm is None:
            arm = self.plain.propose(price, allowed).arm
        return Proposal(arm, fair, DecisionRecord(seen, None if failed else self._foretold(seen, arm), price, who))

    def _follows(self) -> bool:
        """Whether the model's next proposal is played."""
        trust = self.watch.trust
        return trust.given > 0 and trust.gap <= allowance(self.head)

    def _model_arm(self, seen: Any, price: float, allowed: Mask | None) -> int | None:
        """The model's arm; None if it fails."""
        try:
            return int(self.model.cheapest(seen, price, optimism_width(self.head.steps), allowed))
        except Exception:
            self._failed("the model failed; the chooser that does not look plays in its place")
            return None

    def _foretold(self, seen: Any, arm: int) -> float | None:
        if not isinstance(self.model, CustomModel) or arm not in self._interior:
            return None
        try:
            return float(self.model.said(seen, arm))
        except Exception:
            self._failed("the model failed; it is not held to this decision")
            return None

    def _failed(self, message: str) -> None:
        self.failures += 1
        if self.failures & (self.failures - 1) == 0:  # the first, second, fourth, ... time
            log.exception("%s (failure %d)", message, self.failures)

    def optimistic(self, price: float, allowed: Mask | None) -> int:
        return self.plain.optimistic(price, allowed)

    # --- tell

    def learn(
        self, main: Pricing, pricing: Pricing, lesson: Lesson, *, grouped: bool, note: Any = None, lost: bool = False
    ) -> None:
        arm, success, fresh = lesson.arm, lesson.success, lesson.fresh
        cost = None if math.isnan(lesson.cost) else lesson.cost
        if fresh and not lesson.fair:
            self.watch.trust.gap += self.plain.charge(lesson, pricing.now)
        self._count(arm, success, cost, int(fresh))
        interior = arm in self._interior
        known = float(self.plain.table.call(expected, arm)) if interior else 0.0
        self.plain.learn(main, pricing, lesson, grouped=grouped)
        if note is not None and fresh:
            self._update_model(note, arm, success, cost, known, interior=interior, lost=lost)
        elif note is not None and interior and note.seen is not None and success > 0.0:
            self._amend(note, arm, success)

    def _count(self, arm: int, success: float, cost: float | None, plays: int) -> None:
        self.tally[0, arm] += plays
        self.tally[1, arm] += success
        if cost is not None:
            self.tally[2, arm] += 1.0
            self.tally[3, arm] += cost

    def _update_model(
        self,
        note: DecisionRecord,
        arm: int,
        success: float,
        cost: float | None,
        plain: float,
        *,
        interior: bool,
        lost: bool,
    ) -> None:
        """Let the model learn; and what was expected of it decides who is trusted."""
        known = self.menu.known_cost(arm) if cost is None else cost
        loss = (self.menu.safe_cost if known is None else known) - note.price * success
        compare_costs(self.watch.trust, note.who, loss)
        if not interior or note.seen is None:
            return
        try:
            foretold = self.model.learn(note.seen, arm, success, cost)
        except Exception:
            self._failed("the model failed to learn from an outcome, which is counted all the same")
            return
        foretold = note.foretold if foretold is None else foretold
        if foretold is None or lost:  # expired outcomes carry no evidence about predictions
            return
        if update_evidence(self.watch, arm, success, foretold, plain):
            reset(self.watch)
            try:
                self.model.begin()
            except Exception:
                self._failed("the model failed to begin anew")

    def _amend(self, note: DecisionRecord, arm: int, success: float) -> None:
        """Let the model know that what it learned as a failure was none."""
        try:
            self.model.amend(note.seen, arm, success)
        except Exception:
            self._failed("the model failed to learn from a late outcome, which is counted all the same")

    def set_steps(self, steps: int) -> None:
        self.plain.set_steps(steps)

    def columns(self) -> Columns:
        bounds = self.plain.columns()
        plays, successes, priced, costs = self.tally
        return Columns(plays, successes, priced, costs, bounds.upper, bounds.lower)

    def context_report(self) -> ContextReport:
        """What is made of contexts."""
        trust = self.watch.trust
        given = trust.given > 0
        saved, error = saving(trust) if given else (None, None)
        features = getattr(self.model, "features", None)
        return ContextReport(
            model=self.model.name, trusted=given, followed=int(trust.followed), lost=int(trust.lost),
            anew=int(trust.anew), failures=self.failures, held_back=given and not self._follows(), saved=saved,
            saved_error=error, fields=self.model.report() if features is None else features.report(),
        )  # fmt: skip

    # --- saving

    def state(self) -> dict[str, Any]:
        return {
            "chooser": self.plain.state(),
            "tally": rows_of(*self.tally),
            "trust": {one.name: getattr(self.watch.trust, one.name) for one in fields(Trust)},
            "recent": [float(value) for value in self.watch.room],
            "model": self._model_state(),
            "failures": self.failures,
        }

    def _model_state(self) -> Any:
        """What the model has learned; None if it cannot say, which must not keep the rest from being saved."""
        try:
            return self.model.state()
        except Exception:
            self._failed("the model's state could not be written down; it will begin anew where the rest is loaded")
            return None

    def restore(self, state: dict[str, Any], price: float) -> None:
        for arm, *numbers in state["tally"]:
            self.tally[:, positive_int("arm", arm, 0)] = [float(number) for number in numbers]
        check_tally(self.columns(), self.memory, self.menu.safe_cost)
        self._restore_trust(state["trust"], state["recent"])
        self.plain.restore(state["chooser"], price)
        self.model.restore(state["model"])
        if state["model"] is None:
            # It has learned nothing that it knows of, whatever it had learned when it was trusted.
            revoke(self.watch.trust)
        self.failures = positive_int("failures", state["failures"], 0)

    def _restore_trust(self, written: dict[str, Any], recent: Any) -> None:
        trust, room = self.watch.trust, np.array(recent, dtype=np.float64)
        values = {one.name: written[one.name] for one in fields(Trust)}
        sound = room.shape == (len(self.watch.room),) and bool(np.isfinite(room).all())
        sound = sound and all(math.isfinite(value) for value in values.values()) and values["given"] in (0, 1)
        if not sound or not ((room[:WORDS] >= 0) & (room[:WORDS] <= MASK)).all():
            raise StateError(f"trust must hold finite numbers, got {quoted(written)}")
        for name, value in values.items():
            setattr(trust, name, int(value) if name == "given" else float(value))
        self.watch.room[:] = room

    def recipe(self) -> str | dict[str, str]:
        """How the model is written down: by name if it is ours, else by the type that must be passed again."""
        return {"own": self.model.name} if isinstance(self.model, CustomModel) else str(self.model.name)

    def note_state(self, note: Any) -> Any:
        if note is None:
            return None
        return [self.model.written(note.seen), note.foretold, note.price, note.who]

    def note_from(self, written: Any) -> Any:
        if written is None:
            return None
        seen, foretold, price, who = written
        if who not in (UNCOMPARED, MODEL, CONTROL) or not math.isfinite(price):
            raise StateError(f"a note must hold a price and who played, got {quoted(written)}")
        if foretold is not None and not 0.0 <= foretold <= 1.0:
            raise StateError(f"a note must hold what was expected, from 0 to 1, got {quoted(foretold)}")
        return DecisionRecord(self.model.again(seen), foretold, float(price), int(who))


def own_copy(model: LogisticModel, menu: Menu) -> LogisticModel:
    """A model of ours for one selector alone. What it has learned of the same menu it may bring along."""
    if model.menu is None:
        model.open(menu)
        return model
    found = copy.deepcopy(model)
    if not same(model.menu, menu):
        found.open(menu)
    return found


def same(one: Menu, other: Menu) -> bool:
    """Whether two menus are the same, as far as can be told."""
    try:
        return one is other or one.recipe() == other.recipe()
    except InvalidArgument:  # options of one's own
        return False


def make_context_learner(plain: Learner, model: Any, seed: int) -> ContextLearner:
    """The learner for a model beside this one."""
    if not isinstance(plain, TableLearner):
        raise InvalidArgument(
            "bounds and chooser must be ours where there is a model, which is one's own chooser already"
        )
    return ContextLearner(plain, as_model(model), seed)
