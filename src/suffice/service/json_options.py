"""Options as JSON has them, where a tuple is a list and 1.0 is 1: from an arm to JSON, and back."""

from typing import Any

from suffice.errors import InvalidArgument, shown
from suffice.menu import Menu
from suffice.options import key


def option_json(menu: Menu, arm: int) -> Any:
    """The option of an arm in JSON's terms."""
    return _listed(menu.option(arm))


def arm_of(menu: Menu, option: Any) -> int:
    """The arm of an option that JSON brought.

    >>> menu = Menu.subsets({"small": 1.0, "large": 4.0})
    >>> option_json(menu, 3), arm_of(menu, ["small", "large"])
    (['small', 'large'], 3)
    """
    for written in (option, _tupled(option)):
        try:
            return menu.arm(written)
        except InvalidArgument:
            continue
    for arm in range(menu.arms) if isinstance(option, dict | list) else ():  # tuples and lists in each other: rare
        if key(option_json(menu, arm)) == key(option):
            return arm
    raise InvalidArgument(f"available must list options of the menu, got {shown(option)}")


def check_apart(menu: Menu) -> Menu:
    """Refuse a menu with two options that JSON cannot tell apart: a list and a tuple of the same."""
    seen = set()
    for arm in range(menu.arms):
        written = key(option_json(menu, arm))
        if written in seen:
            raise InvalidArgument(f"options must differ as JSON too, got {shown(menu.option(arm))} twice")
        seen.add(written)
    return menu


def _listed(option: Any) -> Any:
    if isinstance(option, tuple | list):
        return [_listed(item) for item in option]
    return {name: _listed(item) for name, item in option.items()} if isinstance(option, dict) else option


def _tupled(option: Any) -> Any:
    if isinstance(option, list):
        return tuple(_tupled(item) for item in option)
    return {name: _tupled(item) for name, item in option.items()} if isinstance(option, dict) else option
