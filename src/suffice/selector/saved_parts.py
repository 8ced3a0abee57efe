"""The parts of a selector in its saved state: by name if they come with suffice, else the user passes them again."""

import math
from dataclasses import fields
from typing import Any

from suffice.errors import InvalidArgument, StateError, quoted
from suffice.learning.base import Learner
from suffice.learning.bounds import NAMED as NAMED_BOUNDS
from suffice.learning.choosers import NAMED as NAMED_CHOOSERS
from suffice.learning.choosers import Thompson
from suffice.learning.settings import Learning, as_learning
from suffice.menu.menu import Menu
from suffice.promise.rules import Promise, limit_arguments


def selector_arguments(
    state: dict[str, Any], menu: Menu | None, learning: Learning | None, model: object
) -> dict[str, Any]:
    """The arguments of the selector that was saved; its clock is the user's."""
    promise = Promise.from_state(state["promise"])
    return {
        "menu": same_menu(menu, state["menu"]),
        "target": promise.rate,
        **limit_arguments(promise, state["horizon"]),
        "expire_after": state["expire_after"],
        "model": same_part("model", model, state["model"]),
        "learning": same_learning(learning, state["learning"]),
        "seed": state["seed"],
    }


def learning_of(learner: Learner, guard: float, prices: str) -> Learning:
    """The settings in use; bounds and a chooser of the user's own as the objects that they are."""
    bounds, chooser = learner.bounds, learner.chooser
    return Learning(
        bounds=bounds.name if type(bounds) in NAMED_BOUNDS.values() else bounds,
        chooser=chooser.name if isinstance(chooser, Thompson) or type(chooser) in NAMED_CHOOSERS.values() else chooser,
        guard=None if math.isinf(guard) else guard,
        memory=str(learner.memory),
        prices=prices,
    )


def learning_state(learning: Learning) -> dict[str, object]:
    """The settings in JSON's terms: of parts of the user's own the name of the type."""
    values = {field.name: getattr(learning, field.name) for field in fields(learning)}
    plain = (str, float, type(None))
    return {
        name: value if isinstance(value, plain) else {"own": type(value).__name__} for name, value in values.items()
    }


def same_learning(given: Learning | None, saved: dict[str, Any]) -> Learning:
    """The settings that were saved. Parts of the user's own come from `given`; what else it sets must agree."""
    passed, values = as_learning(given), dict(saved)
    for field in fields(Learning):
        name, value = field.name, getattr(passed, field.name)
        if value == field.default:
            values[name] = same_part(name, None, saved[name])
        elif not isinstance(value, str | float | int | None):
            values[name] = value
        elif value != saved[name]:
            raise StateError(
                f"learning must be as it was saved, with {name}={quoted(saved[name])}, got {quoted(value)}"
            )
    return Learning(**values)


def same_part(name: str, given: object, saved: object) -> Any:
    """The user's own part that is passed, else the part that was saved by name."""
    if given is not None:
        return given
    if isinstance(saved, dict):
        where = "model=..." if name == "model" else f"learning=Learning({name}=...)"
        raise StateError(f"it was saved with {name} of your own ({saved.get('own')}): pass {where}")
    return saved


def menu_recipe(menu: Menu) -> dict[str, object]:
    """How a menu is built, in JSON's terms. The user passes options or an order of their own again."""
    try:
        return menu.recipe()
    except InvalidArgument as error:
        return {"kind": None, "why": str(error), "arms": menu.n_arms, "skip": menu.has_skip}


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
