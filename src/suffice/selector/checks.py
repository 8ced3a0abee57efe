"""What users pass to a controller, checked: outcomes, available options, the clock, names of groups."""

import math
from collections.abc import Callable, Iterable
from numbers import Real
from typing import Final

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.kernels.rows import Mask
from suffice.menu.menu import Menu
from suffice.numbers import cost_told, success_units

LONGEST_NAME: Final = 200  # characters of a group's name


def check_group(group: object) -> None:
    """Raise if this is no name of a group."""
    if not isinstance(group, str) or not 0 < len(group) <= LONGEST_NAME:
        raise InvalidArgument(f"group must be a name of 1 to {LONGEST_NAME} characters, got {quoted(group)}")


def check_callable(name: str, given: object, does: str, *, optional: bool = False) -> None:
    """Raise if this is no function."""
    if not callable(given) and not (optional and given is None):
        raise InvalidArgument(f"{name} must be a function that {does}, got {quoted(given)}")


def allowed_arms(menu: Menu, available: object) -> Mask | None:
    """A mask of the arms that may be played if these options are available; None: all. Skipping always is."""
    if available is None:
        return None
    if isinstance(available, str | bytes) or not isinstance(available, Iterable):
        raise InvalidArgument(f"available must list options of the menu, got {quoted(available)}")
    allowed = np.zeros(menu.n_arms, dtype=np.bool_)
    if menu.has_skip:
        allowed[0] = True
    for option in available:
        allowed[menu.arm(option)] = True
    if not allowed.any():
        raise InvalidArgument("available must list at least one option of the menu, got none")
    return allowed


def outcome_of(item: object) -> tuple[object, int, float | None]:
    """A decision, its success in billionths, and its cost if there is one."""
    if not isinstance(item, tuple | list) or len(item) not in (2, 3):
        raise InvalidArgument(
            f"outcomes must hold (decision, success) or (decision, success, cost), got {quoted(item)}"
        )
    cost = item[2] if len(item) == 3 else None
    return item[0], success_units(item[1]), None if cost is None else cost_told(cost)


def seconds(clock: Callable[[], float]) -> float:
    """The time by a user's clock."""
    now = clock()
    if type(now) is float and -math.inf < now < math.inf:
        return now
    if isinstance(now, bool) or not isinstance(now, Real) or not math.isfinite(now):
        raise InvalidArgument(f"clock must return seconds, got {quoted(now)}")
    return float(now)
