"""Learning with bounds or a chooser of a user's own: the guard stands between them and the cost.

Anything may propose an arm. As long as it has not cost much more than the optimist might, it is followed; then the optimist
plays until the allowance has grown (theorem C, docs/choosers.md). What a chooser that may see more than we do has played is
no fair sample, so the bounds learn only from what it did not propose; a chooser that is `blind`, that is, looks at what it
was told and nothing else, is trusted with that.
"""

import math
from typing import Any, Final

import numpy as np

from suffice.automatic import resolve
from suffice.bounds import NAMED, Bounds, Paper, Tally
from suffice.checks import whole
from suffice.choosers import Chooser, Optimist, Thompson
from suffice.errors import InvalidArgument, shown
from suffice.kernels import layout as flat
from suffice.kernels.arms import at_rail, remember
from suffice.kernels.guard import follows
from suffice.learner import FlatLearner, Floats, Learner, Mask, rows_of
from suffice.memory import Memory, written
from suffice.menu import Menu
from suffice.promise import Promise

KAPPA: Final = 1.0  # of the guard, by measurement (docs/choosers.md)


class Sight:
    """Our own bounds as a chooser sees them and cannot change them: an upper success and a lower cost per arm."""

    def __init__(self, learner: FlatLearner) -> None:
        self._learner = learner
        self.name = learner.bounds.name

    @property
    def upper(self) -> Floats:
        return _locked(self._learner.columns()[4])

    @property
    def lower(self) -> Floats:
        return _locked(self._learner.columns()[5])


def _locked(column: Floats) -> Floats:
    view = column.view()
    view.flags.writeable = False
    return view


class OwnLearner(Learner):
    """Bounds or a chooser of a user's own."""

    def __init__(
        self, menu: Menu, bounds: Bounds, chooser: Chooser, horizon: int | None, promise: Promise, memory: Memory,
        kappa: float,
    ) -> None:  # fmt: skip
        self.menu, self.bounds, self.chooser, self.memory = menu, bounds, chooser, memory
        self.tally = Tally(menu.arms)  # of all plays
        self.evidence = Tally(menu.arms)  # of those that bounds of the user's own may learn from
        self._inner: FlatLearner | None = None
        self._sight: Any = bounds
        if type(bounds) in NAMED.values():
            self._inner = FlatLearner(menu, bounds, Optimist(), horizon, promise, memory=memory)  # type: ignore[arg-type]
            self._sight = Sight(self._inner)
        elif memory.way:
            raise InvalidArgument(f'memory must be "full" with bounds of your own, got {written(memory)!r}')
        else:
            bounds.open(menu, horizon)
        self.arms = [0.0] * flat.HEAD  # for the price and the guard
        self.arms[flat.HINT], self.arms[flat.HINT_AT], self.arms[flat.CEILING] = promise.cap, 1.0, promise.cap
        self.arms[flat.ARMS], self.arms[flat.KAPPA], self.arms[flat.PRICE_NOW] = menu.arms, kappa, promise.cap
        self.arms[flat.HAS_NOTHING] = float(menu.has_nothing)
        self._fair = bool(getattr(chooser, "blind", False)) or type(chooser) is Optimist

    def propose(self, price: float, allowed: Mask | None, told: int) -> int:
        self.proposed = False
        if type(self.chooser) is not Optimist and follows(self.arms, told):
            self.proposed = True  # even if it fails: when it does may hang on what it sees
            proposed = self.chooser.choose(price, self._sight, allowed)
            arm = whole("arm", proposed, 0)
            if arm >= self.menu.arms or not (allowed is None or allowed[arm]):
                raise InvalidArgument(f"a chooser must propose an arm that may be played, got {shown(proposed)}")
            return arm
        return self.optimistic(price, allowed)

    def optimistic(self, price: float, allowed: Mask | None) -> int:
        """The optimist's arm."""
        if self._inner is not None:
            return self._inner.optimistic(price, allowed)
        return Optimist().choose(price, self._sight, allowed)

    def learn(
        self, arm: int, success: float, cost: float | None, plays: int, told: int, price: float, proposed: bool = False
    ) -> None:
        if plays and self.arms[flat.CURVE]:
            remember(self.arms, told, price)
        if plays and type(self.chooser) is not Optimist:
            price_then = float(self.arms[flat.PRICE_NOW])
            least = float(np.min(self._sight.lower - price_then * self._sight.upper))
            self.arms[flat.GAP] += charged(self.menu, self.arms, price_then, arm, success, cost, least)
        self.arms[flat.PRICE_NOW] = price
        self.tally.add(arm, success, cost, plays=plays)
        if self._fair or not proposed:
            self._take_in(arm, success, cost, plays, told, price)
        else:
            self._turn(told, price)
        heard = getattr(self.chooser, "learn", None)
        if heard is not None:
            heard(arm, success, cost)

    def _take_in(self, arm: int, success: float, cost: float | None, plays: int, told: int, price: float) -> None:
        if self._inner is not None:
            self._inner.learn(arm, success, cost, plays, told, price)
        else:
            self.evidence.add(arm, success, cost, plays=plays)
            self.bounds.update(self.evidence, arm, told)

    def _turn(self, told: int, price: float) -> None:
        """Let the bounds know the time: those of an epoch long past would be too narrow for this one."""
        if self._inner is not None:
            self._inner.turn(told, price)
        elif (told & (told + 1)) == 0:
            self.bounds.refresh(self.evidence, told)

    def columns(self) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
        tally = self.tally
        plays, priced = tally.plays.astype(np.float64), tally.priced.astype(np.float64)
        return plays, tally.successes, priced, tally.costs, self._sight.upper, self._sight.lower

    def kept(self) -> dict[str, Any]:
        """What the tally does not say: the guard's gap, and what the bounds have learned from and not forgotten."""
        if self._inner is not None:
            return {**super().kept(), "evidence": self._inner.rows(), "sight": self._inner.kept()}
        fair = self.evidence
        return {**super().kept(), "evidence": rows_of(fair.plays, fair.successes, fair.priced, fair.costs)}

    def fill(self, rows: list[list[Any]], told: int, price: float, kept: dict[str, Any]) -> None:
        fill_tally(self.tally, rows)
        self._check()
        evidence = kept.get("evidence", rows)
        self.take_gap(kept)
        self.arms[flat.PRICE_NOW] = price
        if self._inner is not None:
            self._inner.fill(evidence, told, price, kept.get("sight", {}))
        else:
            fill_tally(self.evidence, evidence)
            self.bounds.refresh(self.evidence, told)


def charged(menu: Menu, cells: Any, price: float, arm: int, success: float, cost: float | None, least: float) -> float:
    """What a play adds to the guard's gap, as `kernels.arms.charge` has it: what it came to above the least possible."""
    if at_rail(cells, arm, price) or not math.isfinite(least):
        return 0.0
    known = menu.known_cost(arm) if cost is None else cost
    return (menu.max_cost if known is None else known) - price * success - least


def fill_tally(tally: Tally, rows: list[list[Any]]) -> None:
    """Take over a tally that was saved."""
    for row, plays, successes, priced, costs in rows:
        arm = whole("arm", row, 0)
        tally.plays[arm], tally.successes[arm] = whole("plays", plays, 0), successes
        tally.priced[arm], tally.costs[arm] = whole("priced", priced, 0), costs


def make_learner(
    menu: Menu, bounds: Any, chooser: Any, memory: Any, horizon: int | None, promise: Promise, *, seed: int = 0,
    kappa: float = KAPPA,
) -> Learner:  # fmt: skip
    """The learner for these bounds and this chooser, given by name or as objects."""
    found, proposer, past = resolve(menu, bounds, chooser, memory)
    if past.way and type(found) is Paper:
        raise InvalidArgument(f'memory must be "full" with the bounds "paper", got {written(past)!r}')
    if type(proposer) in (Optimist, Thompson) and type(found) in NAMED.values():
        return FlatLearner(menu, found, proposer, horizon, promise, memory=past, seed=seed, kappa=kappa)  # type: ignore[arg-type]
    if type(proposer) is Thompson:
        raise InvalidArgument('bounds must be ours, such as "auto", for the chooser "thompson"')
    return OwnLearner(menu, found, proposer, horizon, promise, past, kappa)
