"""What is learned of the arms, and which one is proposed: in flat memory for our own bounds, by objects for a user's.

Whatever goes wrong here costs money: the promise is kept elsewhere.
"""

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.bounds import NAMED, Bounds, LineBounds, Tally, named_bounds
from suffice.checks import whole
from suffice.choosers import Chooser, Optimist, named_chooser
from suffice.errors import InvalidArgument, StateError, shown
from suffice.kernels import arms as flat
from suffice.kernels.compile import available, fast, warm
from suffice.kernels.envelope import leaf_count
from suffice.kernels.prices import dual_at, price_at
from suffice.menu import Menu
from suffice.promise import Promise

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
HINTS = (flat.HINT, flat.HINT_SUM, flat.HINT_COUNT, flat.HINT_AT)


def may_curve(promise: Promise) -> bool:
    """Whether the price may follow a curve: from the safe end, and with no step of the user's own."""
    return promise.fixed_step is None and promise.start == promise.cap


class Learner(ABC):
    """Takes in outcomes and proposes an arm at a price."""

    menu: Menu
    arms: Any  # the flat memory, where there is one
    bounds: Any
    chooser: Any

    @abstractmethod
    def propose(self, price: float, allowed: Mask | None) -> int:
        """The arm to play at this price."""

    @abstractmethod
    def learn(self, arm: int, success: float, cost: float | None, plays: int, told: int, price: float) -> None:
        """Take in an outcome: `plays` is 0 for what came late, `told` and `price` are those after it."""

    def curve(self) -> None:
        """Let the price follow a curve of the debt instead of the straight dual."""
        self.arms[flat.CURVE] = 1.0

    def dual(self, book: Any) -> float:
        """The price now paid for one success."""
        return dual_at(book, self.arms)

    def price(self, book: Any) -> float:
        """The same, cut to where it is a price."""
        return price_at(book, self.arms)

    def hint(self) -> list[float]:
        """What is known of the right price, in JSON's terms."""
        return [float(self.arms[cell]) for cell in HINTS]

    def take_hint(self, hint: Any) -> None:
        """Take over a hint that was saved."""
        values = [float(value) for value in hint]
        if len(values) != len(HINTS) or not all(0.0 <= value <= 1e300 for value in values):
            raise StateError(f"the hint must hold {len(HINTS)} numbers of at least 0, got {shown(hint)}")
        for cell, value in zip(HINTS, values, strict=True):
            self.arms[cell] = value

    @abstractmethod
    def columns(self) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
        """Per arm: plays, successes, priced, costs, upper success, lower cost."""

    @abstractmethod
    def fill(self, rows: list[list[Any]], told: int, price: float) -> None:
        """Take over a tally that was saved."""

    def rows(self) -> list[list[float]]:
        """The tally of every arm that was played, in JSON's terms."""
        plays, successes, priced, costs, _, _ = self.columns()
        return [
            [arm, int(plays[arm]), float(successes[arm]), int(priced[arm]), float(costs[arm])]
            for arm in np.flatnonzero(plays).tolist()
        ]

    def _check(self) -> None:
        plays, successes, _, costs, _, _ = self.columns()
        possible = (successes >= 0) & (successes <= plays) & (costs >= 0)
        if not (possible & (costs <= plays * self.menu.max_cost * (1 + 1e-9))).all():
            raise StateError("the tally holds sums that its plays cannot reach")


class FlatLearner(Learner):
    """Our own bounds and the optimist, in one flat sequence that compiled code can work on.

    Larger menus live in an array and are compiled where that is possible. Small ones live in a list and never need the
    compiler, so that the first ask is instant; once it has been started, as by `suffice.warmup()`, they use it too.
    """

    def __init__(
        self, menu: Menu, bounds: LineBounds, chooser: Optimist, horizon: int | None, promise: Promise
    ) -> None:
        self.menu, self.bounds, self.chooser = menu, bounds, chooser
        self.compilable = promise.compilable and available()
        self.compiled = self.compilable and (menu.arms > flat.SMALL or warm())
        size = leaf_count(menu.arms) if menu.arms > flat.SMALL else 0
        length = flat.length(menu.arms, size)
        self.arms: Any = np.zeros(length) if self.compiled else [0.0] * length
        self.arms[flat.ARMS], self.arms[flat.SIZE] = menu.arms, size
        costs = menu.costs if menu.costs is not None else np.zeros(0)
        self.twin(flat.lay_out)(
            self.arms, costs if self.compiled else costs.tolist(), bounds.code, menu.max_cost,
            float(menu.everything_success), menu.has_nothing, horizon or 0, promise.cap,
        )  # fmt: skip

    def compile(self) -> None:
        """Move from the list to an array that compiled code can work on."""
        self.arms, self.compiled = np.array(self.arms, dtype=np.float64), True

    def leave(self) -> None:
        """Move back to a list: where this was made there was a compiler, and here is none."""
        self.arms, self.compiled, self.compilable = self.arms.tolist(), False, False
        self.arms[flat.SPENT] = 0.0

    def twin(self, function: Any) -> Any:
        """A kernel as this learner runs it: compiled, or as it is."""
        return fast(function) if self.compiled else function

    def propose(self, price: float, allowed: Mask | None) -> int:
        if allowed is None:
            return int(self.twin(flat.cheapest)(self.arms, price))
        _, _, _, _, upper, lower = self.columns()
        return int(np.where(allowed, lower - price * upper, np.inf).argmin())

    def learn(self, arm: int, success: float, cost: float | None, plays: int, told: int, price: float) -> None:
        spent = math.nan if cost is None else cost
        self.twin(flat.learn)(self.arms, arm, success, spent, plays, told, price)

    def columns(self) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
        count = self.menu.arms
        rows = np.asarray(self.arms[flat.HEAD : flat.HEAD + flat.STRIDE * count], dtype=np.float64)
        columns = rows.reshape(count, flat.STRIDE).T
        return columns[0], columns[1], columns[2], columns[3], columns[4], columns[5]

    def fill(self, rows: list[list[Any]], told: int, price: float) -> None:
        for arm, plays, successes, priced, costs in rows:
            if not 0 <= whole("arm", arm, 0) < self.menu.arms:
                raise StateError(f"an arm must be a number from 0 to {self.menu.arms - 1}, got {shown(arm)}")
            sums = (whole("plays", plays, 0), float(successes), whole("priced", priced, 0), float(costs))
            for column, value in enumerate(sums):
                self.arms[flat.cell(column, arm)] = float(value)
            if not self.menu.is_boundary(arm) and plays:
                self.arms[flat.UNSEEN] -= 1
        self._check()
        self.twin(flat.refresh)(self.arms, told, price)


class OwnLearner(Learner):
    """Bounds or a chooser of a user's own."""

    def __init__(self, menu: Menu, bounds: Bounds, chooser: Chooser, horizon: int | None, promise: Promise) -> None:
        self.menu, self.bounds, self.chooser = menu, bounds, chooser
        bounds.open(menu, horizon)
        self.tally = Tally(menu.arms)
        self.arms = [0.0] * flat.HEAD  # for the price alone
        self.arms[flat.HINT], self.arms[flat.HINT_AT], self.arms[flat.CEILING] = promise.cap, 1.0, promise.cap

    def propose(self, price: float, allowed: Mask | None) -> int:
        proposed = self.chooser.choose(price, self.bounds, allowed)
        arm = whole("arm", proposed, 0)
        if arm >= self.menu.arms or not (allowed is None or allowed[arm]):
            raise InvalidArgument(f"a chooser must propose an arm that may be played, got {shown(proposed)}")
        return arm

    def learn(self, arm: int, success: float, cost: float | None, plays: int, told: int, price: float) -> None:
        if plays and self.arms[flat.CURVE]:
            flat.remember(self.arms, told, price)
        self.tally.add(arm, success, cost, plays=plays)
        self.bounds.update(self.tally, arm, told)
        heard = getattr(self.chooser, "learn", None)
        if heard is not None:
            heard(arm, success, cost)

    def columns(self) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
        tally = self.tally
        plays, priced = tally.plays.astype(np.float64), tally.priced.astype(np.float64)
        return plays, tally.successes, priced, tally.costs, self.bounds.upper, self.bounds.lower

    def fill(self, rows: list[list[Any]], told: int, price: float) -> None:
        tally = self.tally
        for row, plays, successes, priced, costs in rows:
            arm = whole("arm", row, 0)
            tally.plays[arm], tally.successes[arm] = whole("plays", plays, 0), successes
            tally.priced[arm], tally.costs[arm] = whole("priced", priced, 0), costs
        self._check()
        self.bounds.refresh(tally, told)


def make_learner(menu: Menu, bounds: Any, chooser: Any, horizon: int | None, promise: Promise) -> Learner:
    """The learner for these bounds and this chooser, given by name or as objects."""
    found, proposer = named_bounds(bounds), named_chooser(chooser)
    if type(found) in NAMED.values() and type(proposer) is Optimist:
        return FlatLearner(menu, found, proposer, horizon, promise)  # type: ignore[arg-type]
    return OwnLearner(menu, found, proposer, horizon, promise)
