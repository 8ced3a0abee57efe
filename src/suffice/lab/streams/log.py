"""Logs: recorded decisions with the success and the cost of every option in each, replayed row by row."""

import os
import warnings
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from suffice.errors import InvalidArgument, SufficeWarning, quoted
from suffice.lab.streams.base import ByTable, Floats, Ints, Table
from suffice.lab.streams.log_files import read_columns
from suffice.lab.streams.log_schema import arrange, check
from suffice.menu.menu import Menu

ORDERS = ("recorded", "shuffled")


class Log(ByTable):
    """One row per recorded decision, one column per arm; the latent is the row.

    `truth` is the mean over all rows, which is the mean of a run over whole passes through the log.

    Args:
        menu: whose arms the columns are.
        successes, costs: a row per decision, a column per arm.
        order: "recorded" plays the rows in their order and then again from the first; "shuffled" draws them at random.

    >>> log = Log.of({"success:small": [1, 0, 1], "cost:small": [0.1] * 3, "success:large": [1, 1, 1], "cost:large": [1] * 3})
    >>> log.menu.options, log.menu.safe, log.truth()[0].round(3).tolist()
    (('small',), 'large', [0.667, 1.0])
    """

    name = "log"
    description = "a recorded log, a CSV file, with the success and cost of every option in each row"

    def __init__(self, menu: Menu, successes: ArrayLike, costs: ArrayLike, *, order: str = "recorded") -> None:
        table = Table(np.asarray(successes, dtype=np.float64), np.asarray(costs, dtype=np.float64))
        if table.successes.ndim != 2 or table.successes.shape[1] != menu.n_arms or len(table.successes) == 0:
            raise InvalidArgument(
                f"successes must have at least one row and {menu.n_arms} columns, one per arm, "
                f"got shape {table.successes.shape}"
            )
        if table.costs.shape != table.successes.shape:
            raise InvalidArgument(f"costs must have the shape {table.successes.shape}, got {table.costs.shape}")
        if order not in ORDERS:
            raise InvalidArgument(f'order must be "recorded" or "shuffled", got {quoted(order)}')
        self.menu, self.order = menu, order
        self._table = table
        for arm in range(menu.n_arms):
            check(f"success of {menu.option(arm)!r}", table.successes[:, arm], 1.0)
            check(f"cost of {menu.option(arm)!r}", table.costs[:, arm], menu.safe_cost)

    @classmethod
    def of(
        cls,
        columns: Mapping[str, ArrayLike],
        *,
        safe: str | None = None,
        skip: str | None = None,
        safe_cost: float | None = None,
        safe_success: float | Fraction = 1.0,
        order: str = "recorded",
    ) -> "Log":
        """A log from columns: a dict of arrays, or a data frame.

        Args:
            columns: `success:OPTION` and `cost:OPTION` for every option.
            safe: the option that always succeeds; the last success column if left out.
            skip: the name of the option that costs nothing and never succeeds; it needs no column. Left out: there is
                none.
            safe_cost: no cost is above this; the highest cost of the safe option if left out. Where its cost varies, each
                row is charged its own.
            safe_success: how often the safe option succeeds, if not always.
            order: "recorded" or "shuffled".

        If no interior option's cost varies, the menu knows the costs; else they are told.
        """
        record = arrange(columns, safe, skip, safe_cost)
        menu = Menu(
            record.options,
            safe=record.safe,
            skip=skip,
            costs=record.known_costs(),
            safe_cost=record.safe_cost,
            safe_success=safe_success,
        )
        _warn_of_failures(record.successes[-1], record.safe, float(menu.safe_success))
        first = [] if skip is None else [np.zeros(len(record.costs[0]))]
        successes, spent = (np.stack([*first, *part], axis=1) for part in (record.successes, record.costs))
        return cls(menu, successes, spent, order=order)

    @classmethod
    def from_settings(
        cls,
        *,
        path: str | os.PathLike[str],
        safe: str | None = None,
        skip: str | None = None,
        safe_cost: float | None = None,
        safe_success: float | Fraction = 1.0,
        order: str = "recorded",
    ) -> "Log":
        """A log from a .csv file, with the settings of `of`.

        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
        >>> _ = path.write_text("success:small,cost:small,success:large,cost:large\\n1,0.1,1,2\\n0,0.3,1,2\\n")
        >>> Log.from_settings(path=path).truth()[1].tolist()
        [0.2, 2.0]
        """
        return cls.of(
            read_columns(path), safe=safe, skip=skip, safe_cost=safe_cost, safe_success=safe_success, order=order
        )

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Ints:
        """One row per step."""
        rows = len(self._table.costs)
        if self.order == "shuffled":
            return rng.integers(rows, size=count)
        return (start + np.arange(count)) % rows


def _warn_of_failures(successes: Floats, safe: str, declared: float) -> None:
    rate = float(successes.mean())
    if rate < declared:
        failed, share = int((successes < 1.0).sum()), np.floor(rate * 1000) / 1000
        warnings.warn(
            f"safe ({safe!r}) fails in {failed} of {successes.size} rows: it must always succeed, or say "
            f"how often it does with safe_success={share:g}",
            SufficeWarning,
            stacklevel=3,
        )
