"""Contexts on a fleet: one model for all selectors, and trust in it. The promise, the price and the bounds are each one's own.

The steps are those of `looking`. What all have in common:

- The model learns from every selector, and so does trust. Until it is trusted, the model is compared with what is known
  without looking: a selector's own mean of an option or the mean of all selectors', whichever has foretold outcomes better so
  far. Else it would earn trust by knowing no more than that the selectors are alike.
- The guard keeps one gap: what the model played in all selectors, each time against that selector's own bounds. It may come
  to the sum, over all selectors that were told an outcome, of κ·cap·sqrt(n·t·ln t) with each one's own t. So theorem C bounds
  what all cost together, by the sum of its bounds for each. One selector may come to more than its share as long as others
  come to less.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.book import TOLD
from suffice.checks import WHOLE, whole
from suffice.errors import InvalidArgument, InvalidContext, StateError, shown
from suffice.features import Features
from suffice.kernels import layout as flat
from suffice.kernels import step as kernel
from suffice.kernels.guard import allowance
from suffice.kernels.step import OUT_CHOSEN
from suffice.kernels.trust import GAP, GIVEN, likelihood
from suffice.learner import FlatLearner, Floats, Mask
from suffice.looking import LookingLearner, Note
from suffice.models import as_model
from suffice.models.logistic import LogisticModel
from suffice.schema import listed as one_each

if TYPE_CHECKING:
    from suffice.fleet import Fleet

Ints = NDArray[np.int64]


class Pooled(FlatLearner):
    """What is known without looking from the fair plays of all selectors: how often options were played and succeeded."""

    own = 0  # the arm that the selector at hand would play by itself

    def propose(self, price: float, allowed: Mask | None, told: int) -> int:
        return self.own

    def add(self, arm: int, success: float) -> None:
        """Take in an outcome of an option."""
        self.arms[flat.cell(flat.PLAYS, arm)] += 1.0
        self.arms[flat.cell(flat.SUCCESSES, arm)] += success


class FleetLearner(LookingLearner):
    """A model beside all selectors of a fleet. The pooled learner's κ is 1; the guard's comes with it."""

    plain: Pooled

    def __init__(self, plain: Pooled, model: Any, seed: int, guard: float) -> None:
        super().__init__(plain, as_model(model), seed)
        self.guard = guard
        self.notes: dict[int, Note] = {}  # by selector, of what is out; where nothing is out, it is of no account
        self.told = 0  # outcomes of all selectors
        self._room = 0.0  # what the gap may come to where κ is 1
        self._lead = (
            0.0  # how much likelier, as a logarithm, selectors' own means made all outcomes than the means of all
        )

    def _follows(self, told: int) -> bool:
        return bool(self.trust[GIVEN] > 0.0 and self.trust[GAP] <= self.guard * self._room)

    # --- ask

    def read(self, listed: Ints, contexts: list[Any]) -> list[Any]:
        """The contexts as the model reads them. If one is bad, nothing has changed."""
        before = _Words.of(self.eye.features) if isinstance(self.eye, LogisticModel) else None
        rows = []
        for one, context in zip(listed.tolist(), contexts, strict=True):
            try:
                rows.append(None if context is None else self.eye.read(context))
            except BaseException as error:
                if before is not None:
                    before.bring_back(self.eye)
                if isinstance(error, InvalidContext):
                    raise InvalidContext(f"for selector {one}, {error}") from None
                raise
        return rows

    def decide(self, listed: Ints, rows: list[Any], prices: Floats, arms: Ints, chosen: Floats) -> None:
        """Put the model's arms in the place of those that selectors would play by themselves, where it is followed.

        A price that is no number is that of a selector at a rail. `chosen` is marked where the arm hangs on the context.
        """
        for place, one in enumerate(listed.tolist()):
            self.note, self._seen = None, rows[place]
            if self._seen is not None:
                self.eye.note(self._seen)
                if prices[place] >= 0.0:
                    self.plain.own = int(arms[place])
                    arms[place] = self.propose(float(prices[place]), None, self.told)
                    chosen[place] = float(self.proposed)
            if self.note is None:
                self.notes.pop(one, None)
            else:
                self.notes[one] = self.note

    def forget(self, listed: Ints) -> None:
        """The selectors listed are asked without contexts."""
        for one in listed.tolist() if self.notes else ():
            self.notes.pop(one, None)

    # --- tell

    def charge(self, gap: float, told: Ints) -> None:
        """What outcomes add to the guard's gap, and how many each of their selectors has been told by now."""
        self.trust[GAP] += gap
        self.told += told.size
        self._room += self._rooms(told) - self._rooms(told - 1)

    def _rooms(self, told: Ints) -> float:
        """What the gap may come to for selectors that were told so many, where κ is 1."""
        steps, often = np.unique(told[told > 0], return_counts=True)
        return float(sum(n * allowance(self.arms, t) for t, n in zip(steps.tolist(), often.tolist(), strict=True)))

    def take_in(self, listed: Ints, arms: Ints, chosen: Floats, successes: Floats, costs: Floats, own: Floats) -> None:
        """Learn from outcomes; `own` is what each selector expected of its arm without looking."""
        columns = (listed, arms, chosen, successes, costs, own)
        for one, arm, hung, success, cost, mean in zip(*(column.tolist() for column in columns), strict=True):
            spent = None if cost != cost else cost
            self._count(arm, success, spent, 1)
            inside, note = arm in self._inside, self.notes.pop(one, None)
            plain = self._without_looking(arm, success, mean, fair=not hung) if inside else 0.0
            if note is not None:
                self._teach(note, arm, success, spent, plain, inside)

    def _without_looking(self, arm: int, success: float, own: float, *, fair: bool) -> float:
        """The mean to compare the model with; and learn from a play that is a fair sample."""
        pooled = self.plain.expects(arm)
        better = own if self._lead > 0.0 else pooled
        if fair:
            self._lead += likelihood(success, own) - likelihood(success, pooled)
            self.plain.add(arm, success)
        return better

    # --- saving

    def kept(self) -> dict[str, Any]:
        notes = [[one, *self.written(note)] for one, note in self.notes.items()]
        return {**super().kept(), "tally": self.rows(), "lead": self._lead, "notes": notes}

    def take_over(self, kept: dict[str, Any] | None, told: Ints, out: Ints) -> None:
        """Take over what was kept of selectors that were told so many outcomes and have these arms out."""
        self.told, self._room = int(told.sum()), self._rooms(told)
        if kept is None:  # there was no model
            return
        self.fill(kept["tally"], self.told, 0.0, kept)
        self._lead = float(kept["lead"])
        if not np.isfinite(self._lead):
            raise StateError(f"lead must be a finite number, got {shown(kept['lead'])}")
        for one, *note in kept["notes"]:
            if out[whole("selector", one, 0)] >= 0:  # else an interrupt left it behind
                self.notes[one] = self.again(note)


class _Words(NamedTuple):
    """What features learn by reading contexts: which fields there are, of which kinds, and their categories."""

    names: tuple[str, ...]
    kinds: tuple[int, ...]
    ordered: bool
    categories: tuple[int, ...]  # how many of each field

    @classmethod
    def of(cls, features: Features) -> "_Words":
        schema = features.schema
        return cls(schema.names, schema.kinds, schema.ordered, tuple(len(codes) for codes in schema.codes))

    def bring_back(self, model: LogisticModel) -> None:
        """Have the model's features unlearn what came since."""
        schema, width = model.features.schema, model.features.width
        if schema.names != self.names:  # there were none
            schema.begin([], [], ordered=self.ordered)
        schema.decide(list(self.kinds))
        for codes, count in zip(schema.codes, self.categories, strict=True):
            while len(codes) > count:
                codes.popitem()  # the latest
        model.features._lay_out()
        if model.features.width != width:
            model.begin()


# --- the steps of a fleet that looks


def look_and_ask(fleet: "Fleet", listed: Ints, contexts: Any) -> Ints:
    """The arms that the selectors listed play now, with a context each."""
    looking = fleet._looking
    if looking is None:
        raise InvalidArgument(
            'contexts must be left out where no model looks at them: Fleet(..., model="auto") has one'
        )
    rows = looking.read(listed, one_each(contexts, listed.size, "selector listed"))
    arms, prices, chosen = np.zeros(listed.size, dtype=np.int64), np.zeros(listed.size), np.zeros(listed.size)
    fleet._step(kernel.look_fleet, listed, prices, arms)
    looking.decide(listed, rows, prices, arms, chosen)
    fleet._step(kernel.issue_fleet, listed, arms, chosen)
    return arms


def settle(fleet: "Fleet", looking: FleetLearner, listed: Ints, units: Ints, costs: Floats, *, expired: bool) -> None:
    """How the decisions of the selectors listed went. First the promise, then what is learned."""
    arms, chosen, gaps = fleet._out[listed], fleet._cells[listed, OUT_CHOSEN], np.zeros(listed.size)
    plays, successes = fleet._tally()[listed, arms, :2].T
    own = (successes + 0.5) / (plays + 1.0)  # as `kernels.cells.expected` has it
    fleet._step(kernel.settle_fleet, listed, units, costs, gaps, last=expired)
    looking.charge(float(gaps.sum()), fleet._cells[listed, TOLD].astype(np.int64))
    looking.take_in(listed, arms, chosen, units / WHOLE, costs, own)


def restore(fleet: "Fleet", looking: FleetLearner, chosen: Any, kept: dict[str, Any] | None) -> None:
    """Take over what a fleet made of contexts when it was saved."""
    fleet._cells[:, OUT_CHOSEN] = chosen
    marks = fleet._cells[:, OUT_CHOSEN]
    if not ((marks == 0.0) | ((marks == 1.0) & (fleet._out >= 0))).all():
        raise StateError("the numbers of the fleet contradict each other")
    looking.take_over(kept, fleet.told, fleet._out)
