"""Menus: what may be chosen. Interior options between the *skip* (if there is one) and the *safe option*.

Arms are numbered the skip (if any), the options in order, the safe option. Constructors for common menus are class methods.
"""

import copy
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal, Self

from suffice.errors import InvalidArgument, quoted
from suffice.kernels.rows import Floats
from suffice.menu.constructors import grid_points, known_costs, priced_subsets, without_safe
from suffice.menu.options import (
    PositionOrder,
    check_number,
    count_cells,
    covers,
    from_json,
    key,
    read_order,
    superset,
    to_json,
    write_order,
)
from suffice.numbers import as_fraction, flag, positive_float, positive_int, rate
from suffice.state_files import State

Order = Literal["chain"] | Callable[[Any, Any], bool]
Share = float | Fraction
SKIPPED = "skip"  # the skip option of a grid or of intervals


class Menu:
    """The options to choose among, and what is known of them beforehand.

    Args:
        options: a mapping from each option to its known cost, or a sequence of options. The safe one may be among them.
        safe: the option that always succeeds.
        skip: the option that costs nothing and never succeeds. None: there is none, and while successes are ahead of the
            target the selector plays the cheapest option.
        costs: the known cost of each option of a sequence, or None if costs come with the outcomes.
        safe_cost: what the safe option costs, where `options` does not say; no option costs more. Where costs come with the
            outcomes, what it usually costs.
        safe_success: how often the safe option succeeds, if not always.
        order: the containment order, if there is one: "chain" if each option succeeds whenever an earlier one does, or a
            function (a, b) that returns whether a succeeds whenever b does. Outcomes of one option then inform the
            bounds of others. Where a declared order does not hold, choosing costs more; the promise holds.

    >>> menu = Menu({"small": 0.1, "large": 0.4, "a person": 1.0}, safe="a person")
    >>> [menu.option(arm) for arm in range(menu.n_arms)]
    ['small', 'large', 'a person']
    """

    __slots__ = (
        "_all",
        "_arm_of",
        "_copied",
        "costs",
        "has_skip",
        "kind",
        "n_arms",
        "options",
        "order",
        "safe",
        "safe_cost",
        "safe_success",
        "skip",
    )

    def __init__(
        self,
        options: Sequence[Any] | Mapping[Any, float],
        *,
        safe: Any,
        skip: Any = None,
        costs: Sequence[float] | Floats | None = None,
        safe_cost: float | None = None,
        safe_success: Share = 1.0,
        order: Order | None = None,
    ) -> None:
        source = "costs"
        if isinstance(options, Mapping):
            if costs is not None:
                raise InvalidArgument("costs must be left out where options is a mapping that holds them")
            costs, options, source = list(options.values()), list(options), "options"
        if isinstance(options, str | bytes) or not isinstance(options, Iterable):
            raise InvalidArgument(f"options must be a sequence or a mapping of option to cost, got {quoted(options)}")
        if isinstance(skip, bool) or isinstance(safe, bool) or safe is None:
            name, given = ("skip", skip) if isinstance(skip, bool) else ("safe", safe)
            raise InvalidArgument(f"{name} must be an option of yours such as 'a person', got {given!r}")
        interior, costs, safe_cost = without_safe(list(options), costs, safe, safe_cost)
        self.options: tuple[Any, ...] = tuple(interior)
        self.safe = safe
        self.skip = skip
        self.has_skip: bool = skip is not None
        self.n_arms: int = len(self.options) + 1 + self.has_skip
        self.safe_cost: float = positive_float("safe_cost", safe_cost)
        self.safe_success: float = float(rate("safe_success", safe_success, or_one=True))
        self.costs: Floats | None = None if costs is None else known_costs(source, costs, self.options, self.safe_cost)
        if order is not None and order != "chain" and not callable(order):
            raise InvalidArgument(f'order must be "chain", a function (a, b) -> bool or None, got {quoted(order)}')
        self.order: Order | None = order
        self._all = (*([skip] if self.has_skip else []), *self.options, safe)
        kinds = set(map(type, self._all))
        self._copied = any(issubclass(kind, dict | list) for kind in kinds)  # a caller may change such an option
        self._arm_of: dict[Hashable, int] = {}
        for arm, option in enumerate(self._all):
            if self._arm_of.setdefault(key(option, self._argument(arm)), arm) != arm:
                name = self._argument(arm)
                others, twice = ("", " twice") if name == "options" else (" from the options", "")
                raise InvalidArgument(f"{name} must differ{others}, got {quoted(option)}{twice}")
        self.kind = "options"  # which constructor made it

    def _argument(self, arm: int) -> str:
        """The argument that holds an arm's option."""
        return ("skip", "options", "safe")[self.kind_of(arm) + 1]

    # --- arms and options

    def kind_of(self, arm: int) -> int:
        """1 for the safe option, -1 for the skip, 0 for interior options."""
        if arm == self.n_arms - 1:
            return 1
        return -1 if arm == 0 and self.has_skip else 0

    def roles(self) -> list[int]:
        """The kind of every arm."""
        return [*([-1] if self.has_skip else []), *([0] * len(self.options)), 1]

    def is_boundary(self, arm: int) -> bool:
        """Whether an arm is the skip or the safe option."""
        return self.kind_of(arm) != 0

    @property
    def interior(self) -> slice:
        """The arms between the boundary arms."""
        return slice(int(self.has_skip), self.n_arms - 1)

    def option(self, arm: int) -> Any:
        """The option that an arm number stands for."""
        if not 0 <= arm < self.n_arms:
            raise InvalidArgument(f"arm must be a number from 0 to {self.n_arms - 1}, got {quoted(arm)}")
        option = self._all[arm]
        # A caller may change a dict; the menu must not change with it.
        return copy.deepcopy(option) if isinstance(option, dict | list) else option

    def immutable(self) -> tuple[Any, ...] | None:
        """All options by arm; None if one is a dict or a list, which must be copied before a caller gets it."""
        return None if self._copied else self._all

    def arm(self, option: object) -> int:
        """The arm number of an option."""
        arm = self._arm_of.get(key(option, "option"))
        if arm is None:
            raise InvalidArgument(f"option must be one of the menu's, got {quoted(option)}")
        return arm

    def nested(self, inner: int, outer: int) -> bool:
        """Whether arm `outer` is known to succeed whenever arm `inner` does."""
        if inner == outer or outer == self.n_arms - 1 or (self.has_skip and inner == 0):
            return True
        if inner == self.n_arms - 1 or (self.has_skip and outer == 0) or self.order is None:
            return False
        if callable(self.order):
            return bool(self.order(self.option(outer), self.option(inner)))
        return inner < outer

    def known_cost(self, arm: int) -> float | None:
        """What an arm is known to cost; None if its cost comes with the outcome."""
        if not 0 <= arm < self.n_arms:
            raise InvalidArgument(f"arm must be a number from 0 to {self.n_arms - 1}, got {quoted(arm)}")
        if arm == self.n_arms - 1:
            return self.safe_cost
        if self.has_skip and arm == 0:
            return 0.0
        return None if self.costs is None else float(self.costs[arm - self.has_skip])

    def __repr__(self) -> str:
        return f"<Menu of {self.n_arms} arms ({self.kind}), {'costs told' if self.costs is None else 'costs known'}>"

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self  # a menu never changes

    # --- saving

    def recipe(self) -> State:
        """The arguments that build this menu again, in JSON's terms. Options are listed, except intervals."""
        common = {"kind": self.kind, "skip": self.has_skip, "safe_success": self.safe_success}
        if self.kind == "intervals":
            return {**common, "cells": round(1.0 / self.options[0][1]) if self.options else 1}
        return {
            **common,
            "options": [to_json(self.option(arm)) for arm in range(self.n_arms)],
            "costs": None if self.costs is None else self.costs.tolist(),
            "safe_cost": self.safe_cost,
            "order": write_order(self.order),
        }

    @classmethod
    def from_recipe(cls, recipe: State) -> Self:
        """The menu that a recipe describes."""
        skip, best = flag("skip", recipe["skip"]), recipe["safe_success"]
        if recipe["kind"] == "intervals":
            cells = positive_int("cells", recipe["cells"])
            return cls.intervals(step=Fraction(1, cells), skip=skip, safe_success=best)
        options = [from_json(option) for option in recipe["options"]]
        menu = cls(
            options[int(skip) : -1],
            safe=options[-1],
            skip=options[0] if skip else None,
            costs=recipe["costs"],
            safe_cost=recipe["safe_cost"],
            safe_success=best,
            order=read_order(recipe["order"]),
        )
        return menu._made_by(str(recipe["kind"]))

    # --- constructors

    def _made_by(self, constructor: str) -> Self:
        self.kind = constructor
        return self

    @classmethod
    def top_k(cls, ks: Iterable[int], classes: int, *, skip: bool = False, safe_success: Share = 1.0) -> Self:
        """Show the k best of several classes. An option is k; it costs k/classes, known beforehand.

        `classes` is the safe option, and with `skip=True` 0 is a skip; they may be listed or not.

        >>> Menu.top_k([5, 10, 20, 50], classes=100).option(0)
        5
        """
        classes = positive_int("classes", classes, 2)
        if isinstance(ks, str | bytes) or not isinstance(ks, Iterable):
            raise InvalidArgument(f"ks must be whole numbers, got {quoted(ks)}")
        inner = sorted({positive_int("ks", k, 0) for k in ks} - {0, classes})
        if inner and inner[-1] > classes:
            raise InvalidArgument(f"ks must be at most the {classes} classes, got {inner[-1]}")
        menu = cls(
            inner,
            safe=classes,
            skip=0 if flag("skip", skip) else None,
            costs=[k / classes for k in inner],
            safe_cost=1.0,
            safe_success=safe_success,
            order="chain",
        )
        return menu._made_by("top_k")

    @classmethod
    def thresholds(
        cls,
        low: float,
        high: float,
        step: float | None = None,
        horizon: int | None = None,
        *,
        costs: Sequence[float] | Callable[[float], float] | None = None,
        safe_cost: float | None = None,
        skip: bool = False,
        safe_success: Share = 1.0,
    ) -> Self:
        """A threshold on a grid: `high` is safe, and a higher one succeeds whenever a lower does; with `skip` `low` skips.

        Give the grid's step, or the horizon T for the paper's step, T^-1/3 of the range. Costs come with the outcomes, or
        are known: a number per option, or a function of the threshold, which is then asked for the safe one too.

        >>> Menu.thresholds(0, 1, step=0.25, safe_cost=10).options
        (0.25, 0.5, 0.75)
        """
        bottom, top = as_fraction("low", low), as_fraction("high", high)
        if bottom >= top:
            raise InvalidArgument(
                f"low must be below high, got {quoted(low)} and {quoted(high)}; "
                "where smaller values are more permissive, negate the scale"
            )
        cells = count_cells(top - bottom, step, horizon, root=3, even=False)
        check_number(cells)
        width = (top - bottom) / cells if step is None else as_fraction("step", step)
        inner = [float(bottom + width * i) for i in range(1, cells)]
        if callable(costs):
            safe_cost = costs(float(top)) if safe_cost is None else safe_cost
            costs = [costs(threshold) for threshold in inner]
        menu = cls(
            inner,
            safe=float(top),
            skip=float(bottom) if flag("skip", skip) else None,
            costs=costs,
            safe_cost=safe_cost,
            safe_success=safe_success,
            order="chain",
        )
        return menu._made_by("thresholds")

    @classmethod
    def grid(
        cls,
        *,
        costs: Sequence[float] | Callable[[dict[str, Any]], float] | None = None,
        safe_cost: float | None = None,
        skip: bool = False,
        safe_success: Share = 1.0,
        **axes: Sequence[Any],
    ) -> Self:
        """Several thresholds at once, each axis listed from least to most permissive. An option is a dict.

        The safe option is the most permissive value on every axis; a skip, if there is one, is "skip". Costs are as for
        `thresholds`.

        >>> menu = Menu.grid(distance=[1, 5, 50], rating=[4.5, 0], safe_cost=10)
        >>> menu.n_arms, menu.option(1), menu.safe
        (6, {'distance': 1, 'rating': 0}, {'distance': 50, 'rating': 0})
        """
        points = grid_points(axes)
        safe = points.pop()
        if callable(costs):
            safe_cost = costs(safe) if safe_cost is None else safe_cost
            costs = [costs(point) for point in points]
        menu = cls(
            points,
            safe=safe,
            skip=SKIPPED if flag("skip", skip) else None,
            costs=costs,
            safe_cost=safe_cost,
            safe_success=safe_success,
            order=PositionOrder(axes),
        )
        return menu._made_by("grid")

    @classmethod
    def intervals(
        cls,
        step: float | Fraction | None = None,
        horizon: int | None = None,
        *,
        skip: bool = False,
        safe_success: Share = 1.0,
    ) -> Self:
        """Closed intervals on [0, 1] between points of a grid. An option is (low, high); it costs its length, known.

        Give the grid's step, which must divide 1, or the horizon T for the paper's step, T^-1/4, reduced so that it
        divides 1. A skip, if there is one, is "skip".

        >>> Menu.intervals(step=0.05, skip=True).n_arms
        211
        """
        cells = count_cells(Fraction(1), step, horizon, root=4, even=True)
        check_number(cells * (cells + 1) // 2)
        points = [i / cells for i in range(cells + 1)]
        pairs = [(i, j) for i in range(cells) for j in range(i + 1, cells + 1) if j - i < cells]
        menu = cls(
            [(points[i], points[j]) for i, j in pairs],
            safe=(0.0, 1.0),
            skip=SKIPPED if flag("skip", skip) else None,
            costs=[(j - i) / cells for i, j in pairs],
            safe_cost=1.0,
            safe_success=safe_success,
            order=covers,
        )
        return menu._made_by("intervals")

    @classmethod
    def subsets(
        cls,
        prices: Mapping[str, float | Fraction],
        *,
        safe: object = None,
        safe_cost: float | None = None,
        at_most: int | None = None,
        skip: bool = False,
        safe_success: Share = 1.0,
    ) -> Self:
        """Which of several priced items to use: models, APIs, sensors. An option is a tuple of names; it costs their sum.

        `safe` is the safe option, a person say, and `safe_cost` its price; if both are left out, it is all items together.
        Subsets that cost more than the safe option are left out. `at_most` limits how many items are used at once.

        >>> Menu.subsets({"small": 1.0, "large": 4.0}, safe="a person", safe_cost=15.0).options
        (('small',), ('large',), ('small', 'large'))
        """
        safe, top, costs = priced_subsets(prices, safe, safe_cost, at_most)
        menu = cls(
            costs,
            safe=safe,
            skip=() if flag("skip", skip) else None,
            safe_cost=top,
            safe_success=safe_success,
            order=superset,
        )
        return menu._made_by("subsets")
