"""Learning with a model that looks at the context, beside a chooser that does not.

The chooser plays until the model has earned trust (`trust`); then the model plays, behind the guard (theorem C in
docs/context.md). What the model has played is no fair sample of what options do, so the chooser and its bounds learn from
their own plays only: those before, and the few that a coin leaves to them.
"""

import copy
import logging
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from suffice.checks import whole
from suffice.errors import InvalidArgument, StateError, shown
from suffice.guided import charged
from suffice.kernels import layout as flat
from suffice.kernels import trust as faith
from suffice.kernels.compile import twin_of
from suffice.kernels.desk import FREE, SEATS
from suffice.kernels.guard import allowance
from suffice.kernels.looking import CHOSEN, ID, NOTES, PAID, WHO, width_of
from suffice.kernels.random import MASK, WORDS, sow
from suffice.kernels.trust import CHECK, MODEL, NOBODY
from suffice.learner import FlatLearner, Floats, Learner, Mask
from suffice.menu import Menu
from suffice.models import as_model
from suffice.models.guest import Guest
from suffice.models.logistic import LogisticModel

log = logging.getLogger("suffice")


class Note(NamedTuple):
    """What is kept of a decision until its outcome is told."""

    seen: Any  # the context, as the model reads it
    said: float | None  # the success that the model expected, where it was asked then
    price: float
    who: int  # played


@dataclass(frozen=True, slots=True)
class Insight:
    """What a selector makes of contexts; see `Selector.insight`."""

    model: str
    trusted: bool  # whether the model is followed now
    followed: int  # outcomes of decisions that the model made
    lost: int  # how often trust was lost because the model's decisions came dearer
    anew: int  # how often the model began anew because its predictions no longer held
    failures: int  # how often the model raised, or predicted nonsense
    held_back: bool  # whether the guard keeps the model from playing now
    saved: (
        float | None
    )  # a decision, since it is followed: cost − price·success of the chooser's, less that of the model's
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


class LookingLearner(Learner):
    """A model beside a chooser of ours."""

    proposed = False
    note: Note | None = None  # of the decision that was just proposed
    recalled: Note | None = None  # of the decision whose outcome is learned
    given_up = False  # whether the outcome that is learned is that of a decision nobody told
    noted: Any = None  # a row that has been taken into account though its decision is still to come

    def __init__(self, plain: FlatLearner, model: Any, seed: int) -> None:
        self.menu, self.bounds, self.chooser, self.memory = plain.menu, plain.bounds, plain.chooser, plain.memory
        self.plain, self.compiled = plain, False
        self.eye: Any = own_copy(model, self.menu) if isinstance(model, LogisticModel) else Guest(model, self.menu)
        self.trust: Any = [0.0] * faith.length(self.menu.arms)
        faith.lay_out(self.trust, self.menu.arms, seed)
        self.tally = np.zeros((4, self.menu.arms))  # of all plays: how many, successes, costs told, their sum
        self.failures = 0
        self._seen: Any = None
        self._inside = range(self.menu.arms)[self.menu.interior]
        # Beside the seats of a desk; see `kernels.looking`.
        self.seat_rows, self.seat_notes = np.zeros((SEATS, 0)), np.full((SEATS, NOTES), FREE)
        if plain.compiled:
            self.compile()

    @property
    def arms(self) -> Any:
        """The flat memory of the chooser, where the price is kept."""
        return self.plain.arms

    @property
    def quick(self) -> bool:
        """Whether asks and tells can be compiled as a whole: with our own model, once it knows the fields of contexts."""
        return self.compiled and isinstance(self.eye, LogisticModel) and bool(self.eye.features.schema.names)

    def compile(self) -> None:
        """Use compiled code from now on, for a run that is worth it."""
        if not self.plain.compilable:
            return
        if not self.plain.compiled:
            self.plain.compile()
        self.eye.compile()
        self.trust, self.compiled = np.array(self.trust, dtype=np.float64), True

    def leave(self) -> None:
        """Where this was made there was a compiler, and here is none."""
        self.plain.leave()
        self.eye.compile()
        self.trust, self.compiled = list(self.trust), False

    def _twin(self, function: Any) -> Any:
        return twin_of(function) if self.compiled else function

    def reseed(self, seed: int) -> None:
        """Begin the randomness of chooser and coin anew."""
        self.plain.reseed(seed)
        sow(self.trust, faith.STATE, seed)

    def _follows(self, told: int) -> bool:
        """Whether the model's next proposal is played."""
        return bool(self.trust[faith.GIVEN] > 0.0 and self.trust[faith.GAP] <= allowance(self.arms, told))

    # --- ask

    def see(self, context: Any) -> None:
        """Look at the context of the decision to come; None: at nothing. Raises if it is not of the shape of those before."""
        self.note = self._seen = None
        if context is not None:
            seen, noted, self.noted = self.eye.read(context), self.noted, None
            if noted is None:
                self.eye.note(seen)
            self._seen = seen

    def check(self, context: Any) -> None:
        """Raise if a context is not of the shape of those before."""
        if context is not None:
            self.eye.read(context)

    def propose(self, price: float, allowed: Mask | None, told: int) -> int:
        self.proposed, self.note, who = False, None, NOBODY
        if self._seen is None:
            return self.plain.propose(price, allowed, told)
        arm = None
        if self._follows(told):
            if self._twin(faith.tossed)(self.trust):
                who = CHECK
            else:
                self.proposed = True  # even if it fails: when it does may hang on what it sees
                arm = self._looked(price, allowed, told)
                who = NOBODY if arm is None else MODEL
        failed = self.proposed and arm is None  # once is enough: it need not be asked again what it expects
        if arm is None:
            arm = self.plain.propose(price, allowed, told)
        self.note = Note(self._seen, None if failed else self._said(arm), price, who)
        return arm

    def _looked(self, price: float, allowed: Mask | None, told: int) -> int | None:
        """The model's arm; None if it fails."""
        try:
            return int(self.eye.cheapest(self._seen, price, width_of(told), allowed))
        except Exception:
            self._failed("the model failed; the chooser that does not look plays in its place")
            return None

    def _said(self, arm: int) -> float | None:
        if not isinstance(self.eye, Guest) or arm not in self._inside:
            return None
        try:
            return float(self.eye.said(self._seen, arm))
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
        self, arm: int, success: float, cost: float | None, plays: int, told: int, price: float, proposed: bool = False
    ) -> None:
        before = float(self.arms[flat.PRICE_NOW])
        if plays and proposed:
            least = self.plain.least(before)
            self.trust[faith.GAP] += charged(self.menu, self.arms, before, arm, success, cost, least)
        self._count(arm, success, cost, plays)
        inside = arm in self._inside
        plain = self.plain.expects(arm) if inside else 0.0
        if not proposed:
            self.plain.learn(arm, success, cost, plays, told, price)
        elif plays:
            self.plain.skip(told, price)
        note, self.recalled = self.recalled, None
        if note is not None and plays:
            self._teach(note, arm, success, cost, plain, inside)
        elif note is not None and inside and note.seen is not None and success > 0.0:
            self._amend(note, arm, success)
        self.given_up = False

    def _count(self, arm: int, success: float, cost: float | None, plays: int) -> None:
        self.tally[0, arm] += plays
        self.tally[1, arm] += success
        if cost is not None:
            self.tally[2, arm] += 1.0
            self.tally[3, arm] += cost

    def _teach(self, note: Note, arm: int, success: float, cost: float | None, plain: float, inside: bool) -> None:
        """Let the model learn; and what was expected of it decides who is trusted."""
        known = self.menu.known_cost(arm) if cost is None else cost
        loss = (self.menu.max_cost if known is None else known) - note.price * success
        self._twin(faith.weigh)(self.trust, note.who, loss)
        if not inside or note.seen is None:
            return
        try:
            said = self.eye.learn(note.seen, arm, success, cost)
        except Exception:
            self._failed("the model failed to learn from an outcome, which is counted all the same")
            return
        said = note.said if said is None else said
        if said is None or self.given_up:  # what nobody told says nothing of who foretold it
            return
        if self._twin(faith.hear)(self.trust, arm, success, said, plain):
            self._twin(faith.begin)(self.trust, self.menu.arms)
            try:
                self.eye.begin()
            except Exception:
                self._failed("the model failed to begin anew")

    def _amend(self, note: Note, arm: int, success: float) -> None:
        """Let the model know that what it learned as a failure was none."""
        try:
            self.eye.amend(note.seen, arm, success)
        except Exception:
            self._failed("the model failed to learn from a late outcome, which is counted all the same")

    def columns(self) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
        sight = self.plain.columns()
        return self.tally[0], self.tally[1], self.tally[2], self.tally[3], sight[4], sight[5]

    def insight(self, told: int) -> Insight:
        """What is made of contexts."""
        trust, given = self.trust, bool(self.trust[faith.GIVEN])
        saved, error = faith.saving(trust) if given else (None, None)
        features = getattr(self.eye, "features", None)
        return Insight(
            model=self.eye.name, trusted=given, followed=int(trust[faith.FOLLOWED]), lost=int(trust[faith.LOST]),
            anew=int(trust[faith.ANEW]), failures=self.failures, held_back=given and not self._follows(told),
            saved=saved, saved_error=error, fields=self.eye.report() if features is None else features.report(),
        )  # fmt: skip

    # --- beside the seats of a desk

    def open_seats(self) -> None:
        """Room for as many fields as contexts have."""
        fields = len(self.eye.features.schema.names)
        if self.seat_rows.shape[1] != fields:
            self.seat_rows = np.zeros((SEATS, fields))

    def beside(self, identity: int) -> int:
        """Of which decision something is kept beside the seat of this one; negative if of none."""
        return int(self.seat_notes[identity & (SEATS - 1), ID])

    def seated(self, identity: int) -> tuple[Note, bool] | None:
        """Take away what is kept beside a decision's seat, and whether the model proposed it; None if nothing is."""
        place = identity & (SEATS - 1)
        row = self.seat_notes[place]
        if identity < 0 or row[ID] != identity:
            return None
        row[ID] = FREE
        return Note(self.seat_rows[place].copy(), None, float(row[PAID]), int(row[WHO])), bool(row[CHOSEN])

    def all_seated(self) -> list[int]:
        """The decisions that something is kept of beside their seats."""
        return [int(one) for one in self.seat_notes[:, ID].tolist() if one >= 0.0]

    # --- saving

    def kept(self) -> dict[str, Any]:
        return {
            "plain": {"rows": self.plain.rows(), "kept": self.plain.kept()},
            "trust": [float(value) for value in self.trust],
            "model": self._model_state(),
            "failures": self.failures,
        }

    def _model_state(self) -> Any:
        """What the model has learned; None if it cannot say, which must not keep the rest from being saved."""
        try:
            return self.eye.state()
        except Exception:
            self._failed("the model's state could not be written down; it will begin anew where the rest is loaded")
            return None

    def fill(self, rows: list[list[Any]], told: int, price: float, kept: dict[str, Any]) -> None:
        for arm, *numbers in rows:
            self.tally[:, whole("arm", arm, 0)] = [float(number) for number in numbers]
        self._check()
        trust = np.array(kept["trust"], dtype=np.float64)
        words = trust[faith.STATE : faith.STATE + WORDS] if trust.ndim == 1 else trust
        if (
            trust.shape != (len(self.trust),)
            or not np.isfinite(trust).all()
            or not ((words >= 0) & (words <= MASK)).all()
        ):
            raise StateError(f"trust must hold {len(self.trust)} finite numbers, got {shown(kept['trust'])}")
        self.trust[:] = trust if self.compiled else trust.tolist()
        self.plain.fill(kept["plain"]["rows"], told, price, kept["plain"]["kept"])
        self.eye.restore(kept["model"])
        if kept["model"] is None:
            # It has learned nothing that it knows of, whatever it had learned when it was trusted.
            faith.withdraw(self.trust)
        self.failures = whole("failures", kept["failures"], 0)

    def recipe(self) -> str | dict[str, str]:
        """How the model is written down: by name if it is ours, else by the type that must be passed again."""
        return {"own": self.eye.name} if isinstance(self.eye, Guest) else str(self.eye.name)

    def written(self, note: Note) -> list[Any]:
        """A note in JSON's terms."""
        return [self.eye.written(note.seen), note.said, note.price, note.who]

    def again(self, written: Any) -> Note:
        """A note that was written down."""
        seen, said, price, who = written
        if who not in (NOBODY, MODEL, CHECK) or not math.isfinite(price):
            raise StateError(f"a note must hold a price and who played, got {shown(written)}")
        if said is not None and not 0.0 <= said <= 1.0:
            raise StateError(f"a note must hold what was expected, from 0 to 1, got {shown(said)}")
        return Note(self.eye.again(seen), said, float(price), int(who))


class Looks:
    """What a selector and a fleet say of the model that looks at contexts for them."""

    @property
    def _looking(self) -> LookingLearner | None:
        """The learner, if it looks at contexts."""
        raise NotImplementedError

    @property
    def contextual(self) -> bool:
        """Whether decisions may be asked with a context."""
        return self._looking is not None

    @property
    def model(self) -> str | None:
        """The model that looks at contexts: what "auto" became; None if there is none."""
        return None if self._looking is None else str(self._looking.eye.name)

    def _must_look(self) -> Any:
        """The same, where there has to be one."""
        if self._looking is None:
            raise InvalidArgument(
                f'a model must look at contexts before there is an insight: {type(self).__name__}(..., model="auto")'
            )
        return self._looking


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


def make_looking(plain: Learner, model: Any, seed: int) -> LookingLearner:
    """The learner for a model beside this one."""
    if not isinstance(plain, FlatLearner):
        raise InvalidArgument(
            "bounds and chooser must be ours where there is a model, which is one's own chooser already"
        )
    return LookingLearner(plain, as_model(model), seed)
