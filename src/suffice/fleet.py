"""Many independent selectors of one menu in arrays: one controller per city, customer or query class."""

import io
import json
import os
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.book import COUNTED, LENGTH, OUT, OUT_MIRROR, PARTS, SUCCESSES, TOLD, debt_of
from suffice.bounds import KL, HalfLog, Hoeffding, LineBounds, named_bounds
from suffice.certificate import Certificate
from suffice.checks import WHOLE, whole
from suffice.errors import InvalidArgument, NewerState, StateError, shown
from suffice.kernels import layout as flat
from suffice.kernels import step as kernel
from suffice.kernels.compile import available, fast
from suffice.kernels.desk import aligned
from suffice.kernels.envelope import leaf_count
from suffice.kernels.prices import dual_at
from suffice.kernels.step import OUT_ARM
from suffice.learner import HINTS, may_curve
from suffice.ledger import MOST_COUNTED
from suffice.menu import Menu
from suffice.promise import Counts, Promise
from suffice.saving import FORMAT, VERSION, write_bytes

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Fleet:
    """So many selectors, each with its own promise, stepped together.

    Each has at most one decision out: `ask` some of them, `tell` some of them, in any order. The arms are those that as
    many single `Selector`s would play.

    Args:
        menu, target, horizon, slack, step, cap, start, bounds: as for `Selector`, the same for all.
        size: how many.

    >>> import numpy as np
    >>> menu = Menu.top_k([5, 10, 20, 50], classes=100)
    >>> fleet = Fleet(menu, target=0.9, size=1000)
    >>> arms = fleet.ask([3, 1, 4])
    >>> [menu.option(arm) for arm in arms]
    [100, 100, 100]
    >>> fleet.tell([4, 3], successes=[True, True])
    >>> fleet.told.sum(), fleet.pending
    (np.int64(2), 1)
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
        _run(kernel.lay_out_fleet)(
            self._cells, costs, found.code, menu.max_cost, float(menu.everything_success), menu.has_nothing,
            self._horizon or 0, self._promise.cap,
        )  # fmt: skip
        self._cells[:, LENGTH + flat.CURVE] = float(may_curve(self._promise))

    # --- ask and tell

    def ask(self, which: ArrayLike | None = None) -> Ints:
        """The arm that each selector listed plays now; all of them if none is listed. Each must have none out."""
        listed = self._listed(which)
        wrong = self._first_wrong(listed, waiting=False)
        if wrong is not None:
            raise InvalidArgument(f"which must list selectors with no decision out, got {wrong}: tell it first")
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
        self._step(kernel.tell_fleet, listed[order], units[order], spent[order], last=False)

    def expire(self, which: ArrayLike) -> None:
        """Give up on the decisions of the selectors listed: they count as failures."""
        listed = self._waiting(which)
        spent = self._known[self._out[listed]]
        self._step(kernel.tell_fleet, listed, np.zeros(listed.size, np.int64), spent, last=True)

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
        twice, place = _run(kernel.check_fleet)(self._out, listed, marks, waiting)
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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole fleet as one NumPy file (.npz). A crash in the middle leaves the file as it was before."""
        about = {
            "format": FORMAT, "version": VERSION, "kind": "Fleet", "menu": self._menu.recipe(), "bounds": self._bounds,
            "horizon": self._horizon, "promise": self._promise.state(),
        }  # fmt: skip
        buffer = io.BytesIO()
        counts, out = self._cells[:, TOLD:COUNTED], self._cells[:, OUT_ARM].astype(np.int64)
        hints = self._cells[:, [LENGTH + cell for cell in HINTS]]
        np.savez(buffer, about=np.array(json.dumps(about)), counts=counts, tally=self._tally(), hints=hints, out=out)
        write_bytes(path, buffer.getbuffer())

    def _tally(self) -> Floats:
        """Per selector and arm: plays, successes, priced, costs. A view."""
        first = LENGTH + flat.HEAD
        rows = self._cells[:, first : first + flat.STRIDE * self._menu.arms]
        return rows.reshape(len(self), self._menu.arms, flat.STRIDE)[:, :, :4]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Fleet":
        """The fleet that was saved."""
        try:
            with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as file:
                about = json.loads(str(file["about"]))
                if about["format"] != FORMAT or about["kind"] != "Fleet":
                    raise StateError(f"{path} is not a fleet of suffice")
                if about["version"] > VERSION:
                    raise NewerState(f"{path} was written by a later suffice: upgrade suffice")
                promise = Promise.from_state(about["promise"])
                fleet = cls(
                    Menu.from_recipe(about["menu"]), promise.target, len(file["out"]), about["horizon"],
                    cap=promise.cap, step=promise.fixed_step, start=promise.start, bounds=about["bounds"],
                )  # fmt: skip
                fleet._fill(promise, file["counts"], file["tally"], file["hints"], file["out"])
        except (FileNotFoundError, StateError):
            raise
        except Exception as error:
            raise StateError(f"{path} is not a fleet that can be read: {type(error).__name__} {error}") from error
        return fleet

    def _fill(self, promise: Promise, counts: Floats, tally: Floats, hints: Floats, out: Ints) -> None:
        """Take over what was saved: the counts and sums that were told. All else is worked out anew from them."""
        shapes = (counts.shape, tally.shape, hints.shape)
        if shapes != ((len(self), COUNTED - TOLD), self._tally().shape, (len(self), len(HINTS))):
            raise StateError("the numbers do not fit the menu")
        if not ((hints >= 0.0) & (hints <= 1e300)).all():
            raise StateError("the numbers of the fleet contradict each other")
        self._cells[:, [LENGTH + cell for cell in HINTS]] = hints
        self._promise = promise
        self._cells[:, :LENGTH] = promise.open()
        self._cells[:, TOLD:COUNTED] = counts
        self._cells[:, OUT_ARM] = self._out[:] = out
        self._tally()[:] = tally
        self._check()
        first = int(self._menu.has_nothing)
        unseen = self._tally()[:, first:-1, 0] == 0.0
        self._cells[:, LENGTH + flat.UNSEEN] = unseen.sum(axis=1)
        _run(kernel.refresh_fleet)(self._cells)

    def _check(self) -> None:
        """Refuse numbers that contradict each other: compiled code takes them as they are."""
        book, tally = self._cells[:, :COUNTED].T, np.moveaxis(self._tally(), 2, 0)
        plays, successes, priced, costs = tally
        counts, waits, last = book[TOLD:COUNTED], self._out >= 0, self._menu.arms - 1
        nothing = (self._out == 0) & self._menu.has_nothing
        sound = [
            (counts >= -1.0) & (counts <= MOST_COUNTED),  # also false where it is not a number
            (book[TOLD] >= 0.0) & (book[TOLD] == np.floor(book[TOLD])) & (book[TOLD] == plays.sum(axis=1)),
            (book[SUCCESSES] >= 0.0) & (book[SUCCESSES] + (book[PARTS] > 0) <= book[TOLD]),
            (book[PARTS] >= 0.0) & (book[PARTS] < WHOLE),
            (plays >= 0.0) & (plays == np.floor(plays)) & (successes >= 0.0) & (successes <= plays),
            (priced >= 0.0) & (priced <= plays) & (costs >= 0.0) & (costs <= priced * self._menu.max_cost * (1 + 1e-9)),
            (self._out >= -1) & (self._out <= last),
            book[OUT] == (waits & (self._out != last)),
            book[OUT_MIRROR] == (waits & ~nothing),
        ]
        if not all(test.all() for test in sound):
            raise StateError("the numbers of the fleet contradict each other")


def _run(function: Any) -> Any:
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
