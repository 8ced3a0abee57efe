"""How the parts of a selector are written down, and found again: by name if they are ours, else to be passed again."""

from typing import Any

from suffice.errors import StateError
from suffice.menu.menu import Menu


def name_of(thing: Any, named: dict[str, Any]) -> str | dict[str, str]:
    """How bounds or a chooser are written down: by name if they are ours, else by the type that must be passed again."""
    kind = type(thing)
    return str(thing.name) if kind in named.values() else {"own": kind.__name__}


def again(what: str, given: Any, written: Any) -> Any:
    if given is not None:
        return given
    if isinstance(written, dict):
        raise StateError(f"it was saved with {what} of your own ({written.get('own')}): pass {what}=...")
    return written


def same_menu(given: Menu | None, recipe: dict[str, Any]) -> Menu:
    """The menu that was saved; if one is passed, it must be the same as far as can be told."""
    if given is None:
        if recipe["kind"] is None:
            raise StateError(f"its menu could not be written down ({recipe['why']}): pass it as menu=...")
        return Menu.from_recipe(recipe)
    if recipe["kind"] is None:
        same = (given.n_arms, given.has_skip) == (recipe["arms"], recipe["skip"])
    else:
        same = given.recipe() == recipe
    if not same:
        raise StateError("the menu that was passed is not the one that was saved")
    return given
