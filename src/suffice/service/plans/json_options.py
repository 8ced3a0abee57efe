"""Options as JSON has them, where a tuple is a list and 1.0 is 1: from an arm to JSON, and back."""

from collections.abc import Hashable
from typing import Any

from suffice.errors import InvalidArgument, shown
from suffice.menu import Menu
from suffice.options import key


class JsonMenu(Menu):
    """A menu that finds its options by what JSON makes of them. `mixed`: those that have both tuples and lists in them."""

    __slots__ = ("mixed",)

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.mixed = _mixed(self)


def option_json(menu: Menu, arm: int) -> Any:
    """The option of an arm in JSON's terms."""
    return _with(list, menu.option(arm))


def arm_of(menu: Menu, option: Any) -> int:
    """The arm of an option that JSON brought.

    >>> menu = Menu.subsets({"small": 1.0, "large": 4.0})
    >>> option_json(menu, 3), arm_of(menu, ["small", "large"])
    (['small', 'large'], 3)
    """
    written = key(option)
    arm = menu._arm_of.get(written)
    if arm is None and isinstance(option, dict | list):
        arm = menu._arm_of.get(key(_with(tuple, option)))
        if arm is None:  # neither of lists alone nor of tuples alone: rare, and then it is looked up, not looked for
            arm = (menu.mixed if isinstance(menu, JsonMenu) else _mixed(menu)).get(written)
    if arm is None:
        raise InvalidArgument(f"available must list options of the menu, got {shown(option)}")
    return arm


def check_apart(menu: Menu) -> Menu:
    """Refuse a menu with two options that JSON cannot tell apart: a list and a tuple of the same."""
    seen = set()
    for arm in range(menu.arms):
        written = key(option_json(menu, arm))
        if written in seen:
            raise InvalidArgument(f"options must differ as JSON too, got {shown(menu.option(arm))} twice")
        seen.add(written)
    return menu


def _mixed(menu: Menu) -> dict[Hashable, int]:
    """The arms of options with both tuples and lists in them, by what JSON makes of those options."""
    options = (*([menu.nothing] if menu.has_nothing else []), *menu.options, menu.everything)
    return {key(_with(list, option)): arm for arm, option in enumerate(options) if len(_sequences(option)) > 1}


def _sequences(option: Any) -> set[type]:
    """Which of tuple and list are in an option."""
    if not isinstance(option, tuple | list | dict):
        return set()
    found = set() if isinstance(option, dict) else {type(option)}
    return found.union(*map(_sequences, option.values() if isinstance(option, dict) else option))


def _with(kind: type[Any], option: Any) -> Any:
    """An option with lists, or with tuples, in the place of both."""
    if isinstance(option, tuple | list):
        return kind([_with(kind, item) for item in option])
    return {name: _with(kind, item) for name, item in option.items()} if isinstance(option, dict) else option
