"""Many independent selectors of one menu in arrays: one per city, customer or query class."""

import os
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from suffice.errors import InvalidArgument, quoted
from suffice.fleet.calls import NOTHING_OUT
from suffice.fleet.rows import CompiledRows, FleetRows, PlainRows
from suffice.fleet.state import restore_rows, saved_fleet, write_fleet
from suffice.kernels.compiler import available
from suffice.kernels.rows import Floats, Ints, from_rows
from suffice.learning.arm_blocks import new_table
from suffice.learning.bounds import KL, HalfLog, Hoeffding, LineBounds, resolve_bounds
from suffice.learning.memory import FULL
from suffice.learning.prices import new_pricing, price_at
from suffice.learning.records import Pricing
from suffice.learning.settings import DEFAULT, Learning, as_learning, resolve_prices
from suffice.menu.menu import Menu
from suffice.numbers import ONE_SUCCESS, positive_int
from suffice.promise.account import debt, limit
from suffice.promise.certificate import Certificate
from suffice.promise.record import Account
from suffice.promise.rules import MAX_DEBT, Promise, Rule, limit_arguments


class Fleet:
    """Many selectors, each with its own promise, stepped together.

    Each has at most one decision out: `ask` some of them, `tell` some of them, in any order. The arms are those that as
    many single `Selector`s would play. A fleet has no contexts; a selector with `context=` and `group=` has.

    Args:
        menu, target, max_debt, max_surplus, rule: as for `Selector`, the same for all. There is no `in_flight`: each has at
            most one decision out.
        size: the number of selectors.
        learning: a `Learning` with `bounds` of "auto", "half-log", "kl" or "hoeffding"; a fleet has no other settings of it.

    >>> import numpy as np
    >>> menu = Menu.top_k([5, 10, 20, 50], classes=100)
    >>> fleet = Fleet(menu, target=0.9, size=1000)
    >>> arms = fleet.ask([3, 1, 4])
    >>> [menu.option(arm) for arm in arms]
    [5, 5, 5]
    >>> fleet.tell([4, 3], successes=[True, True])
    >>> fleet.outcomes.sum(), fleet.pending
    (np.int64(2), 1)
    """

    def __init__(
        self,
        menu: Menu,
        target: float | Fraction,
        size: int,
        *,
        max_debt: float | Fraction = MAX_DEBT,
        max_surplus: float | None = None,
        rule: Rule | None = None,
        learning: Learning | None = None,
    ) -> None:
        if not isinstance(menu, Menu):
            raise InvalidArgument(f"menu must be a Menu, got {quoted(menu)}")
        self._promise = Promise.make(
            target, max_debt=max_debt, max_surplus=max_surplus, rule=rule, safe_cost=menu.safe_cost,
            safe_success=menu.safe_success, forgiving=not menu.has_skip,
        )  # fmt: skip
        bounds = _bounds(as_learning(learning))
        self._menu = menu
        self._bounds = bounds.name
        self._horizon = None if rule is None else rule.horizon
        known = [menu.known_cost(arm) for arm in range(menu.n_arms)]
        self._known: Floats = np.array([np.nan if cost is None else cost for cost in known])
        made = new_table(menu, bounds.code, self._horizon or 0, self._promise.cap, None, FULL, 0, 0.0)
        pricing = new_pricing(self._promise, curved=resolve_prices(DEFAULT.prices, self._promise) == "curve")
        kind = CompiledRows if available() else PlainRows
        self._rows: FleetRows = kind(positive_int("size", size), self._promise.open(), pricing, made)

    # --- ask and tell

    def ask(self, which: ArrayLike | None = None) -> Ints:
        """The arm that each selector listed plays now; all of them if none is listed. Each must have none out."""
        listed = self._listed(which)
        wrong = self._first_wrong(listed, waiting=False)
        if wrong is not None:
            raise InvalidArgument(f"which must list selectors with no decision out, got {wrong}: tell it first")
        order = self._memory_order(listed)
        result = np.zeros(listed.size, dtype=np.int64)
        self._rows.ask(listed[order], result)
        answer = np.empty_like(result)
        answer[order] = result
        return answer

    def tell(self, which: ArrayLike | None, successes: ArrayLike, costs: ArrayLike | None = None) -> None:
        """Count the outcomes of the selectors listed. All are told, or none if one is bad."""
        listed = self._waiting(which)
        units = _units(successes, listed.size)
        spent = self._known[np.maximum(self._rows.out[listed], 0)]
        if costs is not None:
            given = _numbers("costs", costs, listed.size)
            if not (np.isfinite(given) & (given >= 0)).all():
                raise InvalidArgument("costs must be finite and at least 0")
            spent = np.where(np.isnan(spent), given, spent)
        if np.isnan(spent).any():
            raise InvalidArgument("costs must be told: the menu does not know what its options cost")
        spent = np.minimum(spent, self._menu.safe_cost)
        order = self._memory_order(listed)
        self._rows.tell(listed[order], units[order], spent[order], expired=False)

    def expire(self, which: ArrayLike) -> None:
        """Give up the decisions of the selectors listed: they count as failures, except safe plays, which do not count."""
        listed = self._waiting(which)
        spent = self._known[np.maximum(self._rows.out[listed], 0)]
        self._rows.tell(listed, np.zeros(listed.size, np.int64), spent, expired=True)

    def _listed(self, which: ArrayLike | None) -> Ints:
        if which is None:
            return np.arange(len(self), dtype=np.int64)
        listed = np.asarray(which)
        if listed.ndim != 1 or (listed.size and listed.dtype.kind not in "iu"):
            raise InvalidArgument(f"which must list selectors by number, got {quoted(which)}")
        listed = listed.astype(np.int64)
        if listed.size and not (int(listed.min()) >= 0 and int(listed.max()) < len(self)):
            raise InvalidArgument(f"which must list numbers from 0 to {len(self) - 1}, got {quoted(which)}")
        return listed

    def _waiting(self, which: ArrayLike | None) -> Ints:
        listed = self._listed(which)
        wrong = self._first_wrong(listed, waiting=True)
        if wrong is not None:
            raise InvalidArgument(f"which must list selectors with a decision out, got {wrong}: ask it first")
        return listed

    def _memory_order(self, listed: Ints) -> Ints | slice:
        """The order of a list by number, so that steps go through memory from front to back.

        Selectors are independent and listed once, so any order will do, and a large fleet in random order would wait for
        memory most of the time.
        """
        if listed.size * 8 < len(self):
            return slice(None)  # too few to repay an array as long as the fleet
        place = np.full(len(self), -1, dtype=np.int64)
        place[listed] = np.arange(listed.size)
        return place[place >= 0]

    def _first_wrong(self, listed: Ints, *, waiting: bool) -> int | None:
        """The first selector listed that does not wait as it should; raises if one is listed twice."""
        places = np.arange(listed.size)
        last = np.empty(len(self), dtype=np.int64)  # only what is written is read
        last[listed] = places
        twice = listed[last[listed] != places]
        if twice.size:
            raise InvalidArgument(f"which must list each selector once, got {int(twice[0])} twice")
        out = self._rows.out[listed]
        wrong = listed[out == NOTHING_OUT if waiting else out >= 0]
        return int(wrong[0]) if wrong.size else None

    # --- counts

    def __len__(self) -> int:
        return len(self._rows.out)

    @property
    def menu(self) -> Menu:
        """What may be chosen."""
        return self._menu

    @property
    def outcomes(self) -> Ints:
        """Outcomes counted, per selector."""
        return np.array(self._rows.accounts["outcomes"])

    @property
    def debts(self) -> Floats:
        """Successes owed, per selector."""
        return np.array([debt(account) / ONE_SUCCESS for account in self._accounts()])

    @property
    def prices(self) -> Floats:
        """The price of a success, per selector."""
        pairs = zip(self._accounts(), from_rows(Pricing, self._rows.pricings), strict=True)
        return np.array([price_at(pricing, account, limit(account)) for account, pricing in pairs])

    def _accounts(self) -> list[Account]:
        return from_rows(Account, self._rows.accounts)

    @property
    def pending(self) -> int:
        """The number of selectors with a decision out."""
        return int((self._rows.out >= 0).sum())

    def certificate(self, one: int) -> Certificate:
        """The certificate of one selector."""
        index = int(self._listed([one])[0])
        return Certificate.make(self._promise, self._rows.account(index))

    def __repr__(self) -> str:
        return f"<Fleet of {len(self):,} selectors, {self._menu.n_arms} arms, target={self._promise.rate:g}>"

    # --- saving

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole fleet as one NumPy file (.npz). A crash in the middle leaves the file as it was before."""
        write_fleet(path, self._menu, self._promise, self._bounds, self._horizon, self._rows)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Fleet":
        """The fleet that was saved."""
        with saved_fleet(path) as saved:
            promise = saved.promise
            limits = limit_arguments(promise, saved.horizon)
            limits.pop("in_flight", None)
            fleet = cls(saved.menu, promise.rate, len(saved.out), **limits, learning=Learning(bounds=saved.bounds))
            fleet._promise = promise
            restore_rows(fleet._rows, saved)
        return fleet


def _bounds(learning: Learning) -> LineBounds:
    """The bounds of a fleet, which has no other settings."""
    for name in ("chooser", "guard", "memory", "prices"):
        if getattr(learning, name) != getattr(DEFAULT, name):
            raise InvalidArgument(f"learning must leave {name} out for a fleet, got {quoted(getattr(learning, name))}")
    bounds = resolve_bounds(learning.bounds)
    # Other bounds read the outcomes of several arms, for which a row has no room.
    if not isinstance(bounds, LineBounds) or type(bounds) not in (HalfLog, KL, Hoeffding):
        raise InvalidArgument(
            f'bounds must be "auto", "half-log", "kl" or "hoeffding" for a fleet, got {quoted(learning.bounds)}'
        )
    return bounds


def _numbers(name: str, values: ArrayLike, count: int) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name} must hold one number per selector listed, got {quoted(values)}") from None
    if array.shape != (count,):
        raise InvalidArgument(f"{name} must hold {count} numbers, one per selector listed, got shape {array.shape}")
    return array


def _units(successes: ArrayLike, count: int) -> Ints:
    array = _numbers("successes", successes, count)
    if not ((array >= 0.0) & (array <= 1.0)).all():
        raise InvalidArgument("successes must lie between 0 and 1")
    # In billionths, rounded down; the millionth of one makes 0.0157 the number it is written as. Only 1 is a success.
    units = np.floor(array * ONE_SUCCESS + 1e-6).astype(np.int64)
    return np.where(array < 1.0, np.minimum(units, ONE_SUCCESS - 1), units)
