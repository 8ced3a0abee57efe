"""Logs: recorded decisions with the success and the cost that every option would have had, played again."""

import os
import warnings
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.errors import InvalidArgument, SufficeWarning, quoted
from suffice.lab.streams.base import Floats, Table, with_settings_of
from suffice.lab.streams.compiled_forms import ByTable
from suffice.lab.streams.log_files import read_columns
from suffice.lab.streams.log_schema import arrange, check
from suffice.menu.menu import LEFT_OUT, Menu

ORDERS = ("recorded", "shuffled")

# What is played where no file is named: eight questions to two models and a person.
EXAMPLE: Final[dict[str, ArrayLike]] = {
    "success:small model": [1, 0, 1, 0, 1, 0, 1, 0],
    "success:large model": [1, 1, 1, 0, 1, 1, 1, 0],
    "success:person": [1, 1, 1, 1, 1, 1, 1, 1],
    "cost:small model": [0.02, 0.03, 0.01, 0.02, 0.02, 0.04, 0.02, 0.03],
    "cost:large model": [0.2, 0.3, 0.1, 0.2, 0.2, 0.4, 0.2, 0.3],
    "cost:person": [1, 1, 1, 1, 1, 1, 1, 1],
}


class Log(ByTable):
    """One row per recorded decision, one column per arm; the latent is the row.

    `truth` is the mean over all rows, which is what a run comes to over whole rounds of the log.

    Args:
        menu: whose arms the columns are.
        successes, costs: a row per decision, a column per arm.
        order: "recorded" plays the rows in their order and then again from the first; "shuffled" draws them at random.

    >>> log = Log.of({"success:small": [1, 0, 1], "success:large": [1, 1, 1]}, costs={"small": 0.1, "large": 1})
    >>> log.menu.options, log.menu.safe, log.truth()[0].round(3).tolist()
    (('small',), 'large', [0.667, 1.0])
    """

    name = "log"
    about = "a recorded log, CSV or Parquet, with the success and cost of every option in each row"

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
    def load(cls, path: str | os.PathLike[str], **settings: Any) -> "Log":
        """A log from a .csv or .parquet file with columns `success:OPTION` and `cost:OPTION`; settings as of `of`.

        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
        >>> _ = path.write_text("success:small,cost:small,success:large,cost:large\\n1,0.1,1,2\\n0,0.3,1,2\\n")
        >>> Log.load(path).truth()[1].tolist()
        [0.2, 2.0]
        """
        return cls.of(read_columns(path), **settings)

    @classmethod
    def of(
        cls,
        columns: Mapping[str, ArrayLike],
        *,
        safe: str | None = None,
        skip: str | None = None,
        costs: Mapping[str, float] | None = None,
        safe_cost: float | None = None,
        safe_success: float | Fraction = 1.0,
        order: str = "recorded",
    ) -> "Log":
        """A log from columns: a dict of arrays, or a data frame.

        Args:
            columns: `success:OPTION` for every option, and `cost:OPTION` for those that `costs` does not name.
            safe: the option that always succeeds; the last success column if left out.
            skip: what the option that costs nothing and never succeeds is to be called; it needs no column. Left
                out: there is none.
            costs: the cost of options that cost the same in each row.
            safe_cost: no cost is above this; what the safe option costs at most if left out. Where what it costs varies,
                each row is charged what it recorded.
            safe_success: how often the safe option succeeds, if not always.
            order: "recorded" or "shuffled".

        If no interior option's cost varies, the menu knows the costs; else they are told.
        """
        record = arrange(columns, safe, skip, {} if costs is None else costs, safe_cost)
        menu = Menu(
            record.options,
            safe=record.safe,
            skip=LEFT_OUT if skip is None else skip,
            costs=record.known_costs(),
            safe_cost=record.safe_cost,
            safe_success=safe_success,
        )
        _warn(record.successes[-1], record.safe, float(menu.safe_success))
        first = [] if skip is None else [np.zeros(len(record.costs[0]))]
        successes, spent = (np.stack([*first, *part], axis=1) for part in (record.successes, record.costs))
        return cls(menu, successes, spent, order=order)

    @classmethod
    @with_settings_of(of)
    def named(cls, *, path: str | None = None, **settings: Any) -> "Log":
        """The log in a file; an example of eight rows where there is none."""
        return cls.of(EXAMPLE if path is None else read_columns(path), **settings)

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> NDArray[np.int64]:
        """One row per step."""
        rows = len(self._table.costs)
        if self.order == "shuffled":
            return rng.integers(rows, size=count)
        return (start + np.arange(count)) % rows


def _warn(successes: Floats, safe: str, promised: float) -> None:
    rate = float(successes.mean())
    if rate < promised:
        failed, share = int((successes < 1.0).sum()), np.floor(rate * 1000) / 1000
        warnings.warn(
            f"safe ({safe!r}) fails in {failed} of {successes.size} rows: it is to succeed always, or say "
            f"how often it does with safe_success={share:g}",
            SufficeWarning,
            stacklevel=3,
        )
