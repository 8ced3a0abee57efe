"""Reports on a selector: a row for each option, the certificates of its accounts."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.learning.base import Columns
from suffice.menu.menu import Menu
from suffice.numbers import positive_int
from suffice.promise.rules import Promise
from suffice.selector.engines import Engine
from suffice.selector.records import OptionReport

if TYPE_CHECKING:
    from suffice.promise.certificate import Certificate


def option_reports(menu: Menu, columns: Columns, most: int | None) -> list[OptionReport]:
    """A row per arm, in the order of the arms; with `most`, so many rows, the arms that were played most first."""
    plays, successes, priced, costs, upper, lower = columns
    outcomes = max(1, int(plays.sum()))
    arms = range(menu.n_arms)
    chosen = arms if most is None else np.argsort(-plays, kind="stable")[: positive_int("most", most)].tolist()
    return [
        OptionReport(
            arm=arm,
            option=menu.option(arm),
            plays=int(plays[arm]),
            share=float(plays[arm]) / outcomes,
            success=float(successes[arm] / plays[arm]) if plays[arm] else None,
            cost=_mean_cost(menu, arm, float(costs[arm]), float(priced[arm])),
            upper_success=float(upper[arm]),
            lower_cost=float(lower[arm]),
        )
        for arm in chosen
    ]


def certificate_of(promise: Promise, engine: Engine, groups: Mapping[str, int], group: str | None) -> "Certificate":
    """The certificate of a group, or of the whole; `groups` has the row of each group's account."""
    from suffice.promise.certificate import Certificate  # not needed for a first ask

    expires = engine.expire_after < math.inf

    def of_row(row: int) -> Certificate:
        return Certificate.make(promise, engine.account(row), expires=expires)

    if group is not None or not groups:
        return of_row(0 if group is None else groups[group])
    from suffice.promise.group_certificate import combine

    return combine(of_row(0), {name: of_row(row) for name, row in groups.items()})


def _mean_cost(menu: Menu, arm: int, costs: float, priced: float) -> float | None:
    """The mean of what was told; what the menu says where nothing was."""
    return costs / priced if priced else menu.known_cost(arm)


class OptionsOf:
    """The options by arm, of a menu that copies some of them before it hands them out."""

    def __init__(self, menu: Menu) -> None:
        self._menu = menu

    def __getitem__(self, arm: int) -> Any:
        return self._menu.option(arm)
