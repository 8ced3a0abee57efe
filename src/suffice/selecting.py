"""Between the rails: what a menu, a learner and perhaps a model add to a controller. The long way through ask and tell.

The way of the data: promise (everything, nothing, or a price) → chooser or model proposes an arm at that price → the world;
then the outcome → counts, tally, bounds, chooser, model.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.book import EVERYTHING, NOTHING, TOLD
from suffice.checks import flag, whole
from suffice.controller import Controller, log
from suffice.errors import InvalidArgument, shown
from suffice.kernels.layout import HINT, PRICE_NOW
from suffice.learner import Learner
from suffice.looking import Insight, LookingLearner, Looks, Note
from suffice.memory import written
from suffice.menu import Menu
from suffice.records import Arm, Decision


class Selecting(Looks, Controller):
    """Asks and tells over the arms of a menu, with contexts or without."""

    _menu: Menu
    _learner: Learner
    _horizon: int | None
    _prices: str
    _proposed: set[int]  # decisions that a model, or a chooser of the user's own, proposed
    _notes: dict[int, Note]  # what is kept of decisions with a context
    _opened: int  # the first arm that the first round has not played; beyond the last: no first round
    _chooser_failed: bool
    _elsewhere: int  # outcomes told in groups
    _settled = -1  # the decision whose outcome is being learned
    _desk: Any = None  # the array that compiled code works on

    @property
    def menu(self) -> Menu:
        """What may be chosen."""
        return self._menu

    @property
    def bounds(self) -> str:
        """The bounds in use: what "auto" became."""
        return str(getattr(self._learner.bounds, "name", type(self._learner.bounds).__name__))

    @property
    def memory(self) -> str:
        """How much of the past counts: what "auto" became."""
        return written(self._learner.memory)

    @property
    def prices(self) -> str:
        """How the price follows the debt: what "auto" became."""
        return self._prices

    @property
    def chooser(self) -> str:
        """The chooser in use: what "auto" became."""
        return str(getattr(self._learner.chooser, "name", type(self._learner.chooser).__name__))

    def insight(self) -> Insight:
        """What is made of contexts: whether the model is followed, how it did, what was missing. Reads well when printed."""
        looking: LookingLearner = self._must_look()
        with self._lock, self._look:
            return looking.insight(self.told)

    @property
    def _looking(self) -> LookingLearner | None:
        """The learner, if it looks at contexts."""
        return self._learner if isinstance(self._learner, LookingLearner) else None

    def arms(self, most: int | None = None) -> list[Arm]:
        """A row per arm: how often it was played, how it did, and what is certain of it.

        `most`: only so many, those played most often first.

        With a model, plays are everybody's; what is certain is of an option that is played whatever the context, and learned
        from what the chooser played. So an option that the model plays where it works may do better than its bound.
        """
        with self._lock, self._look:
            plays, successes, priced, costs, upper, lower = self._learner.columns()
            told = max(1, int(plays.sum()))
            every = range(self._menu.arms)
            chosen = every if most is None else np.argsort(-plays, kind="stable")[: whole("most", most)].tolist()
            return [
                Arm(
                    arm=arm,
                    option=self._menu.option(arm),
                    plays=int(plays[arm]),
                    share=float(plays[arm]) / told,
                    success=float(successes[arm] / plays[arm]) if plays[arm] else None,
                    cost=self._mean_cost(arm, float(costs[arm]), float(priced[arm])),
                    upper_success=float(upper[arm]),
                    lower_cost=float(lower[arm]),
                )
                for arm in chosen
            ]

    def _mean_cost(self, arm: int, costs: float, priced: float) -> float | None:
        known = self._menu.known_cost(arm)
        return known if known is not None or not priced else costs / priced

    # --- ask

    def _look_and_ask(self, contexts: list[Any], available: Iterable[Any] | None, audit: bool) -> list[Decision]:
        looking = self._looking
        if looking is None:
            raise InvalidArgument(
                'context must be left out where no model looks at it: Selector(..., model="auto") has one'
            )
        allowed = self._allowed(available)
        flag("audit", audit)
        with self._lock, self._fence:
            now = self._give_up_overdue()
            for context in contexts if len(contexts) > 1 else ():
                looking.check(context)  # all, or none if one is bad
            decisions = []
            for context in contexts:
                looking.see(context)
                decision = self._ask(allowed, audit, now)
                if audit:
                    self._keep(looking, self._own_id(decision))
                decisions.append(decision)
            return decisions

    def _keep(self, looking: LookingLearner, identity: int) -> None:
        """Keep the note of a decision that was asked the long way, and first that of whoever had to leave its seat."""
        self._unseat(looking, looking.beside(identity))
        if looking.note is not None:
            self._notes[identity] = looking.note

    def _unseat(self, looking: LookingLearner, identity: int) -> None:
        """Move what is kept beside the seat of a decision to where the long way looks for it."""
        found = looking.seated(identity)
        if found is not None:
            self._notes[identity] = found[0]
            if found[1]:
                self._proposed.add(identity)

    def _own_id(self, decision: Decision) -> int:
        """How this selector's ledger calls a decision of its own."""
        return decision.id

    def _dual(self, book: Any) -> float:
        return self._learner.dual(book)

    def _arms(self) -> int:
        return self._menu.arms

    def _kind(self, arm: int) -> int:
        return self._menu.kind_of(arm)

    def _allowed(self, available: Iterable[Any] | None) -> NDArray[np.bool_] | None:
        if available is None:
            return None
        if isinstance(available, str | bytes) or not isinstance(available, Iterable):
            raise InvalidArgument(f"available must list options of the menu, got {shown(available)}")
        allowed = np.zeros(self._menu.arms, dtype=np.bool_)
        allowed[-1] = True
        if self._menu.has_nothing:
            allowed[0] = True
        for option in available:
            allowed[self._menu.arm(option)] = True
        return allowed

    def _choose(self, rail: int, dual: float, allowed: NDArray[np.bool_] | None) -> tuple[int, Any]:
        if rail == EVERYTHING:
            arm = self._menu.arms - 1
        elif rail == NOTHING and self._menu.has_nothing:
            arm = 0
        else:
            # Where there is no nothing, the cheapest option is played at the bottom: the price of a success is 0 there.
            arm = self._propose(max(0.0, dual), allowed)
        return arm, self._menu.option(arm)

    def _steps(self) -> int:
        """Outcomes that were learned from, those of all groups included."""
        return int(self._ledger.book[TOLD]) + self._elsewhere

    def _propose(self, price: float, allowed: NDArray[np.bool_] | None) -> int:
        """The chooser's arm; the optimist's if it has none to offer, or else everything, which is dear and always safe."""
        try:
            return self._learner.propose(price, allowed, self._steps())
        except Exception as error:
            if not self._chooser_failed:
                log.exception("the chooser failed; another plays in its place, now and whenever it fails again")
                self._warn_once(f"the chooser failed, so the optimist plays: {type(error).__name__}: {error}")
            self._chooser_failed = True
        try:
            return self._learner.optimistic(price, allowed)
        except Exception:
            return self._menu.arms - 1

    def _opening(self, allowed: NDArray[np.bool_] | None) -> tuple[int, Any] | None:
        while self._opened < self._menu.arms - 1:
            arm = self._opened
            self._opened += 1
            if allowed is None or allowed[arm]:
                return arm, self._menu.option(arm)
        return None

    def _ask(self, allowed: Any, audit: bool, now: float, at: tuple[float, int] | None = None) -> Decision:
        self._learner.proposed = False
        decision = super()._ask(allowed, audit, now, at)
        if self._learner.proposed and audit:
            self._proposed.add(self._own_id(decision))
        return decision

    # --- tell

    def _settle(self, identity: int, units: int, cost: float | None) -> None:
        self._settled = identity
        if self._looking is not None:
            self._recall(self._looking, identity)
        super()._settle(identity, units, cost)
        self._proposed.discard(identity)
        self._notes.pop(identity, None)

    def _give_up(self, identity: int) -> None:
        self._settled = identity
        if self._looking is not None:
            self._recall(self._looking, identity)
        if self._looking is not None:
            self._looking.given_up = True
        super()._give_up(identity)
        kept = len(self._ledger.expired) + len(self._ledger.pending)
        if max(len(self._proposed), len(self._notes)) > 2 * kept:
            known = {*self._ledger.expired, *self._ledger.pending}  # the rest can no longer be amended
            self._proposed &= known
            self._notes = {one: note for one, note in self._notes.items() if one in known}

    def _recall(self, looking: LookingLearner, identity: int) -> None:
        """Have what is kept of a decision at hand when its outcome is learned."""
        self._unseat(looking, identity)
        looking.recalled = self._notes.get(identity)

    def _check_cost(self, arm: int, cost: float | None) -> None:
        if cost is None and self._menu.known_cost(arm) is None:
            raise InvalidArgument(
                f"cost must be told for option {self._menu.option(arm)!r}: the menu does not know what it costs"
            )

    def _learn(self, arm: int, success: float, cost: float | None, *, late: bool) -> None:
        menu, page = self._menu, self._ledger.page()
        known = menu.known_cost(arm)
        spent = cost if cost is not None else known
        booked = known if late else None  # a known cost was noted when the decision expired
        self._cost += (spent or 0.0) - (booked or 0.0)
        learned = None if spent is None or booked is not None else min(spent, menu.max_cost)
        if spent is not None and spent > menu.max_cost:
            self._warn_once(
                f"option {menu.option(arm)!r} cost {spent:g}, above max_cost {menu.max_cost:g}: the record keeps it, "
                "learning takes max_cost; set max_cost to what everything really costs"
            )
        learner = self._learner
        told, price, hint = int(page[TOLD]) + self._elsewhere, learner.price(page), learner.arms[HINT]
        learner.learn(arm, success, learned, 0 if late else 1, told, price, self._settled in self._proposed)
        # Once more if the outcome has moved the hint.
        learner.arms[PRICE_NOW] = price if learner.arms[HINT] == hint else learner.price(page)
