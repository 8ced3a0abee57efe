"""Conversion between arms and options as JSON has them, where a tuple is a list and 1.0 equals 1."""

from collections.abc import Hashable
from typing import Any

from suffice.errors import InvalidArgument, quoted
from suffice.menu.menu import Menu
from suffice.menu.options import key


class JsonMenu(Menu):
    """A menu that finds the arm of an option given as JSON."""

    __slots__ = ("arm_by_json",)

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.arm_by_json: dict[Hashable, int] = {}
        for arm in range(self.n_arms):
            if self.arm_by_json.setdefault(key(option_json(self, arm)), arm) != arm:
                raise InvalidArgument(f"options must differ as JSON too, got {quoted(self.option(arm))} twice")


def option_json(menu: Menu, arm: int) -> object:
    """The option of an arm as JSON has it."""
    return _with_lists(menu.option(arm))


def arm_of(menu: JsonMenu, option: object) -> int:
    """The arm of an option given as JSON.

    >>> menu = JsonMenu.subsets({"small": 1.0, "large": 4.0}, skip=True)
    >>> option_json(menu, 3), arm_of(menu, ["small", "large"])
    (['small', 'large'], 3)
    """
    arm = menu.arm_by_json.get(key(option))
    if arm is None:
        raise InvalidArgument(f"available must list options of the menu, got {quoted(option)}")
    return arm


def _with_lists(option: object) -> object:
    """An option with lists in place of tuples."""
    if isinstance(option, tuple | list):
        return [_with_lists(item) for item in option]
    return {name: _with_lists(item) for name, item in option.items()} if isinstance(option, dict) else option
