"""What is learned of the arms, and which one is proposed, in flat memory. (`guided` is for parts of a user's own.)

Whatever goes wrong here costs money: the promise is kept elsewhere.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from suffice.blocks import blocks, check_cells, learned, made_of, past_of, take_past
from suffice.bounds import LineBounds
from suffice.checks import whole
from suffice.errors import StateError, shown
from suffice.kernels import arms as kernel
from suffice.kernels import cells
from suffice.kernels import layout as flat
from suffice.kernels.compile import available, twin_of, warm
from suffice.kernels.envelope import leaf_count
from suffice.kernels.guard import follows
from suffice.kernels.lines import CONTAINED
from suffice.kernels.prices import dual_at, price_at
from suffice.kernels.random import sow
from suffice.ledger import MOST_COUNTED
from suffice.memory import FULL, Memory
from suffice.menu import Menu
from suffice.promise import Promise

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
SLOW: Final = 16  # cells that take too long to sample without a compiler, if there is one
HINTS = (flat.HINT, flat.HINT_SUM, flat.HINT_COUNT, flat.HINT_AT)


def _count(value: float) -> float | int:
    return int(value) if value == int(value) else float(value)


def rows_of(plays: Any, successes: Any, priced: Any, costs: Any) -> list[list[float]]:
    """A tally in JSON's terms: a row for every arm that was played."""
    return [
        [arm, _count(plays[arm]), float(successes[arm]), _count(priced[arm]), float(costs[arm])]
        for arm in np.flatnonzero(plays).tolist()
    ]


def may_curve(promise: Promise) -> bool:
    """Whether the price may follow a curve: from the safe end, and with no step of the user's own."""
    return promise.fixed_step is None and promise.start == promise.cap


class Learner(ABC):
    """Takes in outcomes and proposes an arm at a price."""

    menu: Menu
    arms: Any  # the flat memory, where there is one
    bounds: Any
    chooser: Any
    memory: Memory = FULL
    proposed = False  # whether a chooser of the user's own had the last arm played

    @abstractmethod
    def propose(self, price: float, allowed: Mask | None, told: int) -> int:
        """The arm to play at this price."""

    @abstractmethod
    def optimistic(self, price: float, allowed: Mask | None) -> int:
        """The arm that the optimist would play at this price."""

    @abstractmethod
    def learn(
        self, arm: int, success: float, cost: float | None, plays: int, told: int, price: float, proposed: bool = False
    ) -> None:
        """Take in an outcome: `plays` is 0 for what came late, `told` and `price` are those after it.

        `proposed` says that a chooser of the user's own had it played.
        """

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
    def fill(self, rows: list[list[Any]], told: int, price: float, kept: dict[str, Any]) -> None:
        """Take over a tally that was saved, and what was kept beside it."""

    def kept(self) -> dict[str, Any]:
        """What the tally does not say, in JSON's terms."""
        return {"gap": float(self.arms[flat.GAP])}

    def take_gap(self, kept: dict[str, Any]) -> None:
        """Take over the guard's gap."""
        gap = float(kept.get("gap", 0.0))
        if not math.isfinite(gap):
            raise StateError(f"gap must be a finite number, got {shown(gap)}")
        self.arms[flat.GAP] = gap

    def rows(self) -> list[list[float]]:
        """The tally of every arm that was played, in JSON's terms."""
        return rows_of(*self.columns()[:4])

    def _check(self) -> None:
        plays, successes, priced, costs, _, _ = self.columns()
        possible = (successes >= 0) & (successes <= plays) & (costs >= 0) & (priced >= 0) & (plays <= MOST_COUNTED)
        if self.memory.name != "discount":  # which alone counts parts of outcomes
            possible &= (plays == np.floor(plays)) & (priced == np.floor(priced))
        if not (possible & (costs <= plays * self.menu.max_cost * (1 + 1e-9))).all():
            raise StateError("the tally holds sums that its plays cannot reach")


class FlatLearner(Learner):
    """Our own bounds in one flat sequence that compiled code can work on, with a chooser that works on it, too.

    Larger menus live in an array and are compiled where that is possible. Small ones live in a list and never need the
    compiler, so that the first ask is instant; once it has been started, as by `suffice.warmup()`, they use it too.
    """

    def __init__(
        self, menu: Menu, bounds: LineBounds, chooser: Any, horizon: int | None, promise: Promise, *,
        memory: Memory = FULL, seed: int = 0, kappa: float = math.inf,
    ) -> None:  # fmt: skip
        self.menu, self.bounds, self.chooser, self.memory = menu, bounds, chooser, memory
        sampled = made_of(menu, chooser)
        self.compilable = promise.compilable and available()
        slow = sampled is not None and sampled.form != cells.OWN and sampled.count > SLOW
        self.compiled = self.compilable and (menu.arms > flat.SMALL or slow or warm())
        size = leaf_count(menu.arms) if menu.arms > flat.SMALL else 0
        at = flat.length(menu.arms, size)
        behind = blocks(menu, bounds.code, sampled, memory, seed)
        length = at + sum(block.size for block in behind.values())
        self.arms: Any = np.zeros(length) if self.compiled else [0.0] * length
        self.arms[flat.ARMS], self.arms[flat.SIZE], self.arms[flat.KAPPA] = menu.arms, size, kappa
        for place, block in behind.items():
            if block.size:
                self.arms[place] = at
                self.arms[at : at + block.size] = block if self.compiled else block.tolist()
                at += block.size
        costs = menu.costs if menu.costs is not None else np.zeros(0)
        self.twin(kernel.lay_out)(
            self.arms, costs if self.compiled else costs.tolist(), bounds.code, menu.max_cost,
            float(menu.everything_success), menu.has_nothing, horizon or 0, promise.cap,
        )  # fmt: skip
        if sampled is not None:
            cells.begin(self.arms)

    def compile(self) -> None:
        """Move from the list to an array that compiled code can work on."""
        self.arms, self.compiled = np.array(self.arms, dtype=np.float64), True

    def leave(self) -> None:
        """Move back to a list: where this was made there was a compiler, and here is none."""
        self.arms, self.compiled, self.compilable = self.arms.tolist(), False, False
        self.arms[flat.SPENT] = 0.0

    def reseed(self, seed: int) -> None:
        """Begin the chooser's own randomness anew."""
        if self.arms[flat.MIDDLE] > 0.0:
            sow(self.arms, int(self.arms[flat.MIDDLE]) + cells.STATE, seed)

    def twin(self, function: Any) -> Any:
        """A kernel as this learner runs it: compiled, or as it is."""
        return twin_of(function) if self.compiled else function

    def propose(self, price: float, allowed: Mask | None, told: int) -> int:
        if allowed is None:
            return int(self.twin(kernel.propose)(self.arms, price, told))
        if self.arms[flat.MIDDLE] > 0.0 and follows(self.arms, told):
            return int(self.twin(cells.thompson)(self.arms, price, allowed))
        return self.optimistic(price, allowed)

    def optimistic(self, price: float, allowed: Mask | None) -> int:
        if allowed is None:
            return int(self.twin(kernel.cheapest)(self.arms, price))
        _, _, _, _, upper, lower = self.columns()
        return int(np.where(allowed, lower - price * upper, np.inf).argmin())

    def learn(
        self, arm: int, success: float, cost: float | None, plays: int, told: int, price: float, proposed: bool = False
    ) -> None:
        spent = math.nan if cost is None else cost
        self.twin(kernel.learn)(self.arms, arm, success, spent, plays, told, price)

    def skip(self, told: int, price: float) -> None:
        """Let an outcome pass that is not learned from."""
        self.twin(kernel.skip)(self.arms, told, price)

    def least(self, price: float) -> float:
        """The least cost − price·success that the bounds think possible."""
        return float(self.twin(kernel.least)(self.arms, price))

    def expects(self, arm: int) -> float:
        """The mean success of an interior arm, as far as it is known without looking at a context."""
        return float(self.twin(cells.expected)(self.arms, arm))

    def turn(self, told: int, price: float) -> None:
        """Recompute the bounds if it is time to, though there is nothing new to learn from."""
        self.twin(kernel.turn)(self.arms, told, price)

    def columns(self) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
        count = self.menu.arms
        rows = np.asarray(self.arms[flat.HEAD : flat.HEAD + flat.STRIDE * count], dtype=np.float64)
        columns = rows.reshape(count, flat.STRIDE).T
        return columns[0], columns[1], columns[2], columns[3], columns[4], columns[5]

    def kept(self) -> dict[str, Any]:
        kept = super().kept()
        if self.arms[flat.KIND] >= CONTAINED:
            kept["upper"] = self.columns()[4].tolist()  # earlier bounds that still hold
            kept["last"] = int(self.arms[flat.LAST])  # the step after which they are looked at again
        if self.arms[flat.MIDDLE] > 0.0:
            kept["cells"] = np.asarray(self.arms[learned(self.arms)]).tolist()
        if self.arms[flat.MEMORY] > 0.0:
            kept["past"] = past_of(self.arms)
        return kept

    def fill(self, rows: list[list[Any]], told: int, price: float, kept: dict[str, Any]) -> None:
        for arm, plays, successes, priced, costs in rows:
            if not 0 <= whole("arm", arm, 0) < self.menu.arms:
                raise StateError(f"an arm must be a number from 0 to {self.menu.arms - 1}, got {shown(arm)}")
            for column, value in enumerate((plays, successes, priced, costs)):
                self.arms[flat.cell(column, arm)] = float(value)
            if not self.menu.is_boundary(arm) and plays:
                self.arms[flat.UNSEEN] -= 1
        self._check()
        self.twin(kernel.refresh)(self.arms, told, price, True)
        self.take_gap(kept)
        if self.arms[flat.KIND] >= CONTAINED and "upper" in kept:
            upper = np.array(kept["upper"], dtype=np.float64)
            if upper.shape != (self.menu.arms,) or not ((upper >= 0.0) & (upper <= 1.0)).all():
                raise StateError("upper must hold a number from 0 to 1 for each arm")
            for arm in range(self.menu.arms)[self.menu.interior]:
                self.arms[flat.cell(flat.UPPER, arm)] = float(upper[arm])
            self.arms[flat.LAST] = min(whole("last", kept.get("last", 0), 0), self.arms[flat.EPOCH])
            self.twin(kernel.rebuild)(self.arms, told, price)
        if self.arms[flat.MIDDLE] > 0.0 and "cells" in kept:
            found, place = np.array(kept["cells"], dtype=np.float64), learned(self.arms)
            check_cells(found, place)
            self.arms[place] = found if self.compiled else found.tolist()
        if self.arms[flat.MEMORY] > 0.0 and "past" in kept:
            take_past(self.arms, kept["past"])
