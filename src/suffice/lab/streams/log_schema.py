"""The columns of a log as arms: the options, their costs, and errors that name the row."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from suffice.errors import InvalidArgument, quoted
from suffice.lab.streams.base import Floats
from suffice.lab.streams.log_files import wanted
from suffice.numbers import as_fraction


class Record(NamedTuple):
    """Recorded decisions: a column of successes and one of costs per interior option, and the safe option's last."""

    options: list[str]
    safe: str
    successes: list[Floats]
    costs: list[Floats]
    safe_cost: float

    def known_costs(self) -> list[float] | None:
        """The costs of the interior options, if each is the same in every row."""
        inner = self.costs[:-1]
        return [float(paid[0]) for paid in inner] if all((paid == paid[0]).all() for paid in inner) else None


def arrange(
    columns: Mapping[str, ArrayLike],
    safe: str | None,
    skip: str | None,
    safe_cost: float | None,
) -> Record:
    """The record in columns; see `Log.of` for the arguments."""
    names = [str(name) for name in columns]
    chosen = {names[place]: _column(names[place], columns[names[place]]) for place in wanted(names)}
    rows = _rows(chosen)
    options = [name.removeprefix("success:") for name in chosen if name.startswith("success:")]
    last = options[-1] if safe is None else safe
    if last not in options:
        raise InvalidArgument(f"safe must be one of {quoted(', '.join(options))}, got {quoted(safe)}")
    if skip == last:
        raise InvalidArgument(f"skip must be another option than the safe one, got {quoted(skip)}")
    arms = [*(option for option in options if option not in (last, skip)), last]
    if safe_cost is not None and f"cost:{last}" not in chosen:
        chosen[f"cost:{last}"] = np.full(rows, float(as_fraction("safe_cost", safe_cost)))
    _check_names(chosen, arms, skip)
    spent = [chosen[f"cost:{option}"] for option in arms]
    top = float(spent[-1].max()) if safe_cost is None else float(as_fraction("safe_cost", safe_cost))
    successes = [chosen[f"success:{option}"] for option in arms]
    for place, option in enumerate(arms):
        check(f"success:{option}", successes[place], 1.0)
        check(f"cost:{option}", spent[place], top)
    return Record(arms[:-1], last, successes, spent, top)


def _column(name: str, values: ArrayLike) -> Floats:
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name} must hold one number per row, got {quoted(values)}") from None
    if column.ndim != 1:
        raise InvalidArgument(f"{name} must hold one number per row, got shape {column.shape}")
    return column


def _rows(columns: Mapping[str, Floats]) -> int:
    sizes = {column.size for column in columns.values()}
    if len(sizes) != 1:
        raise InvalidArgument(f"columns must be equally long, got {quoted({k: c.size for k, c in columns.items()})}")
    rows = sizes.pop()
    if rows == 0:
        raise InvalidArgument("columns must hold at least one row, got none")
    return rows


def _check_names(columns: Mapping[str, Floats], arms: list[str], skip: str | None) -> None:
    """Refuse columns without their counterparts, and a skip that costs something or succeeds."""
    names = quoted(", ".join(columns))
    for name in columns:
        option = name.removeprefix("cost:")
        if name.startswith("cost:") and option != skip and option not in arms:
            raise InvalidArgument(f"columns must include success:{option}, got {names}")
    for option in arms:
        if f"cost:{option}" not in columns:
            raise InvalidArgument(f"columns must include cost:{option}, got {names}")
    if skip is not None:
        for name in (f"success:{skip}", f"cost:{skip}"):
            check(name, columns.get(name, np.zeros(1)), 0.0, "0, since this is the skip option")


def check(name: str, values: Floats, top: float, rule: str | None = None) -> None:
    """Refuse a column with a number that is missing or out of its range, and name the row."""
    wrong = ~((values >= 0.0) & (values <= top))
    if not wrong.any():
        return
    row = int(wrong.argmax())
    most = ", what the safe option costs at most" if name.startswith("cost") else ""
    limit = rule or f"between 0 and {top:g}{most}"
    raise InvalidArgument(f"{name} must be {limit}, got {values[row]:g} in row {row + 1}")
