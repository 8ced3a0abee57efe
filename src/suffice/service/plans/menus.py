"""Menus in a body: the forms that they may have, how large each would be, and the menu that it becomes."""

import math
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, Field, field_validator

from suffice.errors import InvalidArgument
from suffice.menu.menu import LEFT_OUT, Menu
from suffice.menu.options import count_cells
from suffice.numbers import as_fraction
from suffice.service.plans.fields import (
    DEEPEST,
    MOST_LISTED,
    AtMost,
    Body,
    Cost,
    Counting,
    Listed,
    Name,
    Number,
    Option,
    Positive,
    Several,
    Share,
    Text,
    Whole,
    check_option,
    examples,
)
from suffice.service.plans.json_options import JsonMenu
from suffice.service.plans.untrusted_menu import Cut, MenuRecipe

MOST_AXES: Final = 16
MOST_CHARACTERS: Final = 8 << 20  # of all options together, as JSON: what a list of arms may take


def check_size(options: int, characters: int, most: int, what: str) -> None:
    """Refuse a menu that is too large, before it is built."""
    if options > most:
        raise InvalidArgument(f"menu must have at most {most:,} options on this server: {what} makes {_count(options)}")
    if characters > MOST_CHARACTERS:
        raise InvalidArgument(
            f"menu must be at most {MOST_CHARACTERS:,} characters as JSON: {what} makes {_count(characters)}"
        )


def _count(number: int) -> str:
    return f"{number:,}" if number < 10**15 else "far more"


def _sorted_once(numbers: list[int]) -> list[int]:
    """The order of such numbers says nothing, nor does one that is there twice."""
    return sorted(set(numbers))


class Form(Body):
    """A form of menu."""

    kind: str
    safe_success: Share = Field(1.0, description="How often the safe option succeeds, where it is not always.")

    def check(self, most: int) -> None:
        """Refuse a menu of more than so many options, before it is built."""
        raise NotImplementedError

    def build(self) -> JsonMenu:
        """The menu. What makes it is called as its kind, and takes what the form has as fields."""
        menu: JsonMenu = getattr(JsonMenu, self.kind)(**self.arguments())
        return menu

    def arguments(self) -> dict[str, Any]:
        """What the menu is made from."""
        return {name: getattr(self, name) for name in type(self).model_fields if name != "kind"}


class Options(Form):
    """Options that are listed, or mapped to their costs; the safe option, and the skip option where there is one."""

    model_config = examples(
        {"kind": "options", "options": {"small": 0.1, "large": 0.4}, "safe": "a person", "skip": "skip"},
        {"kind": "options", "options": ["small", "large"], "safe": "a person", "order": "chain"},
    )
    kind: Literal["options"]
    options: Listed[Option] | Annotated[dict[Text, Cost], AtMost(MOST_LISTED)] = Field(
        description="The options, or an object of option to known cost."
    )
    safe: Option = Field(description="The option that always succeeds; it costs safe_cost.")
    skip: Option = Field(None, description="The option that costs nothing and never succeeds. Left out: there is none.")
    costs: Listed[Cost] | None = Field(None, description="The known cost of each option; null: costs are told.")
    safe_cost: Positive = Field(1.0, description="What the safe option costs; no option costs more.")
    order: Literal["chain"] | None = Field(
        None, description='"chain" if each option succeeds whenever an earlier one does.'
    )

    def check(self, most: int) -> None:
        named = isinstance(self.options, dict)
        characters = sum(len(name) for name in self.options) if named else sum(map(check_option, self.options))
        check_size(len(self.options) + 2, characters, most, "options")

    def build(self) -> JsonMenu:
        skip = self.skip if "skip" in self.model_fields_set else LEFT_OUT
        return JsonMenu(**self.arguments() | {"skip": skip})


class TopK(Form):
    """Show the k best of so many classes; k costs k/classes."""

    model_config = examples({"kind": "top_k", "ks": [5, 10, 20, 50], "classes": 100})
    kind: Literal["top_k"]
    ks: Annotated[Listed[Whole], AfterValidator(_sorted_once)] = Field(description="How many may be shown.")
    classes: Several = Field(description="How many there are.")
    skip: bool = Field(True, description="Whether one may show none.")

    def check(self, most: int) -> None:
        check_size(len(set(self.ks) - {0, self.classes}) + 2, 0, most, "ks")


class Thresholds(Form):
    """A threshold on a grid: low is the skip option, high the safe option. Give step or horizon."""

    model_config = examples({"kind": "thresholds", "low": 0, "high": 1, "step": 0.05})
    kind: Literal["thresholds"]
    low: Number
    high: Number
    step: Positive | None = Field(None, description="The step of the grid.")
    horizon: Counting | None = Field(
        None, description="Instead of step: how many outcomes there will be; the step is then T^(-1/3) of the range."
    )
    costs: Listed[Cost] | None = Field(
        None, description="The known cost of each threshold between; null: costs are told."
    )
    safe_cost: Positive = 1.0
    skip: bool = True

    def check(self, most: int) -> None:
        span = as_fraction("high", self.high) - as_fraction("low", self.low)
        if span > 0:  # else the menu says so
            cells = count_cells(span, self.step, self.horizon, root=3, even=False)
            check_size(cells + 1, 0, most, "horizon" if self.step is None else "step")


class Grid(Form):
    """Several thresholds at once, each axis listed from least to most permissive. An option is an object."""

    model_config = examples({"kind": "grid", "axes": {"distance": [1, 5, 50], "rating": [4.5, 0]}})
    RESERVED: ClassVar = frozenset(("cls", "costs", "safe_cost", "skip", "safe_success"))
    kind: Literal["grid"]
    axes: dict[Name, Annotated[Listed[Option], Field(min_length=1)]] = Field(
        min_length=1, max_length=MOST_AXES, description="The values of each axis, from least to most permissive."
    )
    costs: Listed[Cost] | None = Field(
        None, description="The known cost of each point but the last; null: costs are told."
    )
    safe_cost: Positive = 1.0
    skip: bool = True

    @field_validator("axes")
    @classmethod
    def _free_names(cls, axes: dict[str, list[Any]]) -> dict[str, list[Any]]:
        taken = next((name for name in axes if name in cls.RESERVED), None)
        if taken is not None:
            raise ValueError(f'must not have an axis named "{taken}": call it something else')
        return axes

    def check(self, most: int) -> None:
        points = math.prod(map(len, self.axes.values()))
        characters = sum(
            points // len(axis) * sum(check_option(value) + len(name) + 4 for value in axis)
            for name, axis in self.axes.items()
        )
        check_size(points + 1, characters, most, "axes")

    def arguments(self) -> dict[str, Any]:
        given = super().arguments()
        axes: dict[str, Any] = given.pop("axes")
        return given | axes


class Intervals(Form):
    """Closed intervals on [0, 1] between points of a grid; one costs its length. Give step or horizon."""

    model_config = examples({"kind": "intervals", "step": 0.05})
    kind: Literal["intervals"]
    step: Positive | None = Field(None, description="The step of the grid; it must divide 1.")
    horizon: Counting | None = Field(
        None, description="Instead of step: how many outcomes there will be; the step is then about T^(-1/4)."
    )
    skip: bool = True

    def check(self, most: int) -> None:
        cells = count_cells(as_fraction("high", 1), self.step, self.horizon, root=4, even=True)
        check_size(cells * (cells + 1) // 2 + 1, 0, most, "horizon" if self.step is None else "step")


class Subsets(Form):
    """Which of some priced items to use. An option is a list of names; it costs their sum."""

    model_config = examples(
        {"kind": "subsets", "prices": {"small": 1, "large": 4}, "safe": "a person", "safe_cost": 15}
    )
    kind: Literal["subsets"]
    prices: Annotated[dict[Name, Cost], AtMost(MOST_LISTED)] = Field(min_length=1)
    safe: Option = Field(None, description="What is sure to succeed; left out, all items together.")
    safe_cost: Positive | None = Field(None, description="What the safe option costs.")
    at_most: Counting | None = Field(None, description="How many items are used at once at most.")
    skip: bool = True

    def check(self, most: int) -> None:
        count = len(self.prices)
        subsets, each = 0, 0  # all, and those with a given item
        for size in range(1, min(count, self.at_most or count) + 1):
            subsets, each = subsets + math.comb(count, size), each + math.comb(count - 1, size - 1)
            check_size(subsets + 2, each * sum(len(name) + 4 for name in self.prices), most, "prices")


SHOWN: Final = Menu({"small": 0.1, "large": 0.4}, safe="a person", skip="skip")


class Recipe(Body):
    """A menu as `Menu.recipe()` writes it down: what the Python client sends."""

    model_config = examples({"kind": "recipe", "recipe": SHOWN.recipe()})
    kind: Literal["recipe"]
    recipe: MenuRecipe = Field(description="What `Menu.recipe()` gave.")

    def check(self, most: int) -> None:
        """Refuse a menu of more than so many options, before it is built."""
        if isinstance(self.recipe, Cut):
            check_size(self.recipe.cells * (self.recipe.cells + 1) // 2 + 1, 0, most, "recipe")
            return
        options = self.recipe.options
        check_size(len(options), sum(check_option(option, 2 * DEEPEST) for option in options), most, "recipe")

    def build(self) -> JsonMenu:
        """The menu."""
        return JsonMenu.from_recipe(self.recipe.model_dump())


AnyForm = Annotated[
    Options | TopK | Thresholds | Grid | Intervals | Subsets | Recipe, Field(discriminator="kind", title="Menu")
]
