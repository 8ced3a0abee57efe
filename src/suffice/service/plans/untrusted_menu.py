"""Checks of menu recipes that clients send. The library's own reader trusts a recipe; these models do not."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from suffice.service.plans.fields import (
    DEEPEST,
    Body,
    Cost,
    Counting,
    Listed,
    Name,
    Positive,
    Share,
    check_scalar,
)


def check_written(value: object, depth: int = DEEPEST) -> object:
    """Refuse what `suffice.menu.options.to_json` never writes for a menu: all but scalars, lists, tuples and dicts."""
    if depth == 0:
        raise ValueError(f"must have options of at most {DEEPEST} lists and objects in each other")
    if isinstance(value, list):
        items = value
    elif isinstance(value, dict):
        items = _marked_items(value)
    else:
        check_scalar(value)
        return value
    for item in items:
        check_written(item, depth - 1)
    return value


def _marked_items(value: dict[str, object]) -> list[object]:
    """The items of {"tuple": [...]} or {"dict": {...}}."""
    mark, inside = next(iter(value.items()), ("", None))
    if len(value) == 1 and mark == "tuple" and isinstance(inside, list):
        return inside
    if len(value) == 1 and mark == "dict" and isinstance(inside, dict):
        for name in inside:
            check_scalar(name)
        return list(inside.values())
    raise ValueError('must have objects among its options as {"tuple": [...]} or {"dict": {...}}')


Written = Annotated[object, AfterValidator(check_written)]


class IntervalsRecipe(Body):
    """Intervals, by the number of cells of their grid."""

    kind: Literal["intervals"]
    skip: bool
    safe_success: Share
    cells: Counting


class OptionsRecipe(Body):
    """Listed options: the skip option if there is one, the interior options, the safe option."""

    kind: Literal["options", "top_k", "thresholds", "grid", "subsets"]
    skip: bool
    safe_success: Share
    options: Annotated[Listed[Written], Field(min_length=1)]
    costs: Listed[Cost] | None
    safe_cost: Positive
    order: Literal["chain", "subsets", "intervals"] | Annotated[dict[Name, Listed[Written]], Field(min_length=1)] | None


MenuRecipe = Annotated[IntervalsRecipe | OptionsRecipe, Field(discriminator="kind")]
