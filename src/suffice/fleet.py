"""Many independent selectors of one menu in arrays: one controller per city, customer or query class."""

import math
import os
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.book import LENGTH, TOLD, debt_of
from suffice.bounds import KL, HalfLog, Hoeffding, LineBounds, named_bounds
from suffice.certificate import Certificate
from suffice.checks import WHOLE, positive, whole
from suffice.choosers import Optimist
from suffice.errors import InvalidArgument, shown
from suffice.fleet_looking import FleetLearner, Pooled, look_and_ask, settle
from suffice.guided import KAPPA
from suffice.kernels import layout as flat
from suffice.kernels import step as kernel
from suffice.kernels.compile import available, fast
from suffice.kernels.desk import aligned
from suffice.kernels.envelope import leaf_count
from suffice.kernels.prices import dual_at
from suffice.kernels.step import OUT_ARM
from suffice.learner import may_curve
from suffice.looking import Insight, Looks
from suffice.menu import Menu
from suffice.promise import Counts, Promise

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Fleet(Looks):
    """So many selectors, each with its own promise, stepped together.

    Each has at most one decision out: `ask` some of them, `tell` some of them, in any order. The arms are those that as
    many single `Selector`s would play, as long as no model is followed.

    Args:
        menu, target, horizon, slack, step, cap, start, bounds: as for `Selector`, the same for all.
        size: how many.
        model: as for `Selector`: who looks at the contexts that decisions are asked with. One model learns from all selectors
            and is followed by all of them, or by none.
        guard: how much more than their optimists a model may cost all together: κ in docs/choosers.md. None: any amount.
        seed: of the coin that leaves some decisions to the selectors themselves once a model is followed.

    >>> import numpy as np
    >>> menu = Menu.top_k([5, 10, 20, 50], classes=100)
    >>> fleet = Fleet(menu, target=0.9, size=1000)
    >>> arms = fleet.ask([3, 1, 4])
    >>> [menu.option(arm) for arm in arms]
    [100, 100, 100]
    >>> fleet.tell([4, 3], successes=[True, True])
    >>> fleet.told.sum(), fleet.pending
    (np.int64(2), 1)

    With contexts, one for each selector listed:

    >>> fleet = Fleet(menu, target=0.9, size=1000, model="auto")
    >>> arms = fleet.ask([0, 1], contexts=[{"length": 12}, {"length": 700}])
    >>> fleet.tell([0, 1], successes=[True, True])
    >>> print(fleet.insight())
    The model (logistic) is not trusted yet, or no longer; it made 0 decisions that were told.
    """

    def __init__(
        self,
        menu: Menu,
        target: float | Fraction,
        size: int,
        horizon: int | None = None,
        *,
        slack: float | None = None,
        step: float | None = None,
        cap: float | None = None,
        start: str | float = "safe",
        bounds: str = "auto",
        model: Any = None,
        guard: float | None = KAPPA,
        seed: int = 0,
    ) -> None:
        if not isinstance(menu, Menu):
            raise InvalidArgument(f"menu must be a Menu, got {shown(menu)}")
        self._promise = Promise.make(
            target, horizon, slack=slack, step=step, cap=cap, start=start, max_cost=menu.max_cost,
            everything_success=menu.everything_success, forgiving=not menu.has_nothing,
        )  # fmt: skip
        if not self._promise.compilable:
            raise InvalidArgument(
                f"target must have a denominator of at most 1,000,000 for a fleet, got {shown(target)}"
            )
        found = named_bounds(bounds)
        # A row has no room for what other arms say.
        if not isinstance(found, LineBounds) or type(found) not in (HalfLog, KL, Hoeffding):
            raise InvalidArgument(
                f'bounds must be "auto", "half-log", "kl" or "hoeffding" for a fleet, got {shown(bounds)}'
            )
        self._menu = menu
        self._bounds = found.name
        self._horizon = None if horizon is None else whole("horizon", horizon)
        count = whole("size", size)
        leaves = leaf_count(menu.arms) if menu.arms > flat.SMALL else 0
        # A row per selector: its book, then its arms. What each has out stands in its book; `_out` says the same in one
        # piece of memory, for looking at all of them.
        self._cells: Floats = aligned(count * (LENGTH + flat.length(menu.arms, leaves))).reshape(count, -1)
        self._cells[:, :LENGTH] = self._promise.open()
        self._cells[:, OUT_ARM] = -1.0
        self._cells[:, LENGTH + flat.ARMS], self._cells[:, LENGTH + flat.SIZE] = menu.arms, leaves
        self._out: Ints = np.full(count, -1, dtype=np.int64)
        known = [menu.known_cost(arm) for arm in range(menu.arms)]
        self._known: Floats = np.array([np.nan if cost is None else cost for cost in known])
        costs = menu.costs if menu.costs is not None else np.zeros(0)
        compiled(kernel.lay_out_fleet)(
            self._cells, costs, found.code, menu.max_cost, float(menu.everything_success), menu.has_nothing,
            self._horizon or 0, self._promise.cap,
        )  # fmt: skip
        self._cells[:, LENGTH + flat.CURVE] = float(may_curve(self._promise))
        self._guard = math.inf if guard is None else float(positive("guard", guard))
        coin = whole("seed", seed, 0) & 0xFFFFFFFF
        self._looker: FleetLearner | None = None
        if model is not None:
            pooled = Pooled(menu, found, Optimist(), self._horizon, self._promise, kappa=1.0)
            self._looker = FleetLearner(pooled, model, coin, self._guard)

    # --- ask and tell

    def ask(self, which: ArrayLike | None = None, *, contexts: Any = None) -> Ints:
        """The arm that each selector listed plays now; all of them if none is listed. Each must have none out.

        `contexts` has one for each selector listed, which needs a `model`: an array or a table of pandas or polars with a row
        each, or a list, where None says that nothing is known.
        """
        listed = self._listed(which)
        wrong = self._first_wrong(listed, waiting=False)
        if wrong is not None:
            raise InvalidArgument(f"which must list selectors with no decision out, got {wrong}: tell it first")
        if contexts is not None:
            return look_and_ask(self, listed, contexts)
        if self._looking is not None:
            self._looking.forget(listed)
        order = self._by_number(listed)
        result = np.zeros(listed.size, dtype=np.int64)
        self._step(kernel.ask_fleet, listed[order], result)
        answer = np.empty_like(result)
        answer[order] = result
        return answer

    def tell(self, which: ArrayLike | None, successes: ArrayLike, costs: ArrayLike | None = None) -> None:
        """How the decisions of the selectors listed went. All are told, or none if one is bad."""
        listed = self._waiting(which)
        units = _units(successes, listed.size)
        spent = self._known[self._out[listed]]
        if costs is not None:
            told = _numbers("costs", costs, listed.size)
            if not (np.isfinite(told) & (told >= 0)).all():
                raise InvalidArgument("costs must be finite and at least 0")
            spent = np.where(np.isnan(spent), told, spent)
        if np.isnan(spent).any():
            raise InvalidArgument("costs must be told: the menu does not know what its options cost")
        spent = np.minimum(spent, self._menu.max_cost)
        order = self._by_number(listed)
        self._settle(listed[order], units[order], spent[order], expired=False)

    def expire(self, which: ArrayLike) -> None:
        """Give up on the decisions of the selectors listed: they count as failures."""
        listed = self._waiting(which)
        spent = self._known[self._out[listed]]
        self._settle(listed, np.zeros(listed.size, np.int64), spent, expired=True)

    def _settle(self, listed: Ints, units: Ints, spent: Floats, *, expired: bool) -> None:
        if self._looking is None:
            self._step(kernel.tell_fleet, listed, units, spent, last=expired)
        else:
            settle(self, self._looking, listed, units, spent, expired=expired)

    def _step(self, function: Any, listed: Ints, *columns: Any, last: bool | None = None) -> None:
        """Run a kernel over the selectors listed: by one call of compiled code, which no interrupt can cut short.

        Without a compiler each selector is stepped on a copy of its row, which is then put in its place at once.
        """
        more = () if last is None else (last,)
        if available():
            fast(function)(self._cells, self._out, listed, *columns, *more)
            return
        first = np.zeros(1, dtype=np.int64)
        for place, one in enumerate(listed.tolist()):
            row, out = self._cells[one : one + 1].copy(), self._out[one : one + 1].copy()
            function(row, out, first, *(column[place : place + 1] for column in columns), *more)
            self._cells[one : one + 1] = row
            self._out[one] = out[0]

    def _listed(self, which: ArrayLike | None) -> Ints:
        if which is None:
            return np.arange(len(self), dtype=np.int64)
        listed = np.asarray(which)
        if listed.ndim != 1 or (listed.size and listed.dtype.kind not in "iu"):
            raise InvalidArgument(f"which must list selectors by number, got {shown(which)}")
        listed = listed.astype(np.int64)
        if listed.size and not (int(listed.min()) >= 0 and int(listed.max()) < len(self)):
            raise InvalidArgument(f"which must list numbers from 0 to {len(self) - 1}, got {shown(which)}")
        return listed

    def _waiting(self, which: ArrayLike | None) -> Ints:
        listed = self._listed(which)
        wrong = self._first_wrong(listed, waiting=True)
        if wrong is not None:
            raise InvalidArgument(f"which must list selectors with a decision out, got {wrong}: ask it first")
        return listed

    def _by_number(self, listed: Ints) -> Any:
        """An order of the places in a list that goes through memory from front to back.

        Selectors are independent and listed once, so the order in which they are stepped is ours to choose, and a large
        fleet in random order would wait for memory most of the time.
        """
        if listed.size * 8 < len(self):
            return slice(None)  # too few to be worth a look at the whole fleet
        place = np.full(len(self), -1, dtype=np.int64)
        place[listed] = np.arange(listed.size)
        return place[place >= 0]

    def _first_wrong(self, listed: Ints, *, waiting: bool) -> int | None:
        """The first selector listed that is not as wanted; raises if one is listed twice."""
        if not available():
            self._out[:] = self._cells[:, OUT_ARM]  # an interrupt may have struck between a row and this
        marks = np.zeros(len(self), dtype=np.uint8)
        twice, place = compiled(kernel.check_fleet)(self._out, listed, marks, waiting)
        if twice:
            raise InvalidArgument(f"which must list each selector once, got {int(listed[place])} twice")
        return int(listed[place]) if place < listed.size else None

    # --- where things stand

    def __len__(self) -> int:
        return len(self._out)

    @property
    def menu(self) -> Menu:
        """What may be chosen."""
        return self._menu

    @property
    def _looking(self) -> FleetLearner | None:
        return self._looker

    def insight(self) -> Insight:
        """What is made of contexts: whether the model is followed, how it did, what was missing. Reads well when printed."""
        looking: FleetLearner = self._must_look()
        return looking.insight(looking.told)

    @property
    def told(self) -> Ints:
        """Outcomes counted, per selector."""
        return self._cells[:, TOLD].astype(np.int64)

    @property
    def debts(self) -> Floats:
        """Successes owed, per selector."""
        return np.array([debt_of(book) for book in self._cells[:, :LENGTH].tolist()])

    @property
    def duals(self) -> Floats:
        """The price of a success, per selector."""
        return np.array([dual_at(row[:LENGTH], row[LENGTH:]) for row in self._cells.tolist()])

    @property
    def pending(self) -> int:
        """How many selectors have a decision out."""
        return int((self._out >= 0).sum())

    @property
    def nbytes(self) -> int:
        """The memory that the state takes."""
        return self._cells.nbytes + self._out.nbytes

    def certificate(self, one: int) -> Certificate:
        """The certificate of one selector."""
        index = int(self._listed([one])[0])
        counts = Counts()
        counts.read(self._cells[index])
        return Certificate.make(self._promise, counts, int(self._out[index] >= 0))

    def __repr__(self) -> str:
        return f"<Fleet of {len(self):,} selectors, {self._menu.arms} arms, target={float(self._promise.target):g}>"

    # --- saving

    def _tally(self) -> Floats:
        """Per selector and arm: plays, successes, priced, costs. A view."""
        first = LENGTH + flat.HEAD
        rows = self._cells[:, first : first + flat.STRIDE * self._menu.arms]
        return rows.reshape(len(self), self._menu.arms, flat.STRIDE)[:, :, :4]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole fleet as one NumPy file (.npz). A crash in the middle leaves the file as it was before."""
        from suffice.fleet_saving import write_fleet

        write_fleet(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, model: Any = None) -> "Fleet":
        """The fleet that was saved. A model of your own must be passed again; one that had none may be given one."""
        from suffice.fleet_saving import read_fleet

        return read_fleet(cls, path, model)


def compiled(function: Any) -> Any:
    """A kernel as fleets run it: compiled where there is a compiler."""
    return fast(function) if available() else function


def _numbers(name: str, values: Any, count: int) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name} must hold one number per selector listed, got {shown(values)}") from None
    if array.shape != (count,):
        raise InvalidArgument(f"{name} must hold {count} numbers, one per selector listed, got shape {array.shape}")
    return array


def _units(successes: Any, count: int) -> Ints:
    array = _numbers("successes", successes, count)
    if not ((array >= 0.0) & (array <= 1.0)).all():
        raise InvalidArgument("successes must lie between 0 and 1")
    # In billionths, rounded down; the millionth of one makes 0.0157 the number it is written as. Only 1 is a success.
    units = np.floor(array * WHOLE + 1e-6).astype(np.int64)
    return np.where(array < 1.0, np.minimum(units, WHOLE - 1), units)
