"""The forms of menus in a body, with a limit on the size of each before it is built."""

import math
from typing import Annotated, ClassVar, Final, Literal

from pydantic import AfterValidator, BaseModel, Field, field_validator

from suffice.errors import InvalidArgument
from suffice.menu.menu import Menu
from suffice.menu.options import LEFT_OUT, count_cells
from suffice.numbers import as_fraction
from suffice.service.plans.fields import (
    DEEPEST,
    MOST_LISTED,
    STRICT,
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
from suffice.service.plans.untrusted_menu import IntervalsRecipe, MenuRecipe

MOST_AXES: Final = 16
MOST_CHARACTERS: Final = 8 << 20  # of all options together, as JSON


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
    """The numbers in order, without repetition."""
    return sorted(set(numbers))


class Form(BaseModel):
    """A form of menu."""

    model_config = STRICT
    kind: str
    safe_success: Share = Field(1.0, description="The success rate of the safe option.")

    def check(self, most: int) -> None:
        """Refuse a menu of more than so many options, before it is built."""
        raise NotImplementedError

    def build(self) -> JsonMenu:
        """The menu. Its constructor has the name of the kind and takes the fields of the form."""
        menu: JsonMenu = getattr(JsonMenu, self.kind)(**self.arguments())
        return menu

    def arguments(self) -> dict[str, object]:
        """The arguments of the constructor."""
        return {name: getattr(self, name) for name in type(self).model_fields if name != "kind"}


class Options(Form):
    """Options in a list, or mapped to their costs; the safe option; perhaps a skip option."""

    model_config = examples(
        {"kind": "options", "options": {"small": 0.1, "large": 0.4}, "safe": "a person", "skip": "skip"},
        {"kind": "options", "options": ["small", "large"], "safe": "a person", "order": "chain"},
    )
    kind: Literal["options"]
    options: Listed[Option] | Annotated[dict[Text, Cost], AtMost(MOST_LISTED)] = Field(
        description="The options, or an object of option to known cost."
    )
    safe: Option = Field(description="The option that always succeeds. It costs safe_cost.")
    skip: Option = Field(None, description="The option that costs 0 and counts as a failure. Left out: there is none.")
    costs: Listed[Cost] | None = Field(
        None, description="The known cost of each option; null: each outcome tells its cost."
    )
    safe_cost: Positive = Field(1.0, description="What the safe option costs; no option costs more.")
    order: Literal["chain"] | None = Field(
        None, description='"chain" if each option succeeds whenever an earlier one does.'
    )

    def check(self, most: int) -> None:
        options = self.options
        sizes = map(len, options) if isinstance(options, dict) else map(check_option, options)
        check_size(len(options) + 2, sum(sizes), most, "options")

    def build(self) -> JsonMenu:
        skip = self.skip if "skip" in self.model_fields_set else LEFT_OUT
        return JsonMenu(**self.arguments() | {"skip": skip})


class TopK(Form):
    """Show the k best of a number of classes; k costs k/classes."""

    model_config = examples({"kind": "top_k", "ks": [5, 10, 20, 50], "classes": 100})
    kind: Literal["top_k"]
    ks: Annotated[Listed[Whole], AfterValidator(_sorted_once)] = Field(description="How many may be shown.")
    classes: Several = Field(description="The number of classes.")
    skip: bool = Field(True, description="Whether showing none is an option.")

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
        None, description="Instead of step: the expected number of outcomes T; the step is T^(-1/3) of the range."
    )
    costs: Listed[Cost] | None = Field(
        None, description="The known cost of each threshold between; null: each outcome tells its cost."
    )
    safe_cost: Positive = 1.0
    skip: bool = True

    def check(self, most: int) -> None:
        span = as_fraction("high", self.high) - as_fraction("low", self.low)
        if span > 0:  # otherwise the constructor raises
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
        None, description="The known cost of each point but the last; null: each outcome tells its cost."
    )
    safe_cost: Positive = 1.0
    skip: bool = True

    @field_validator("axes")
    @classmethod
    def _free_names(cls, axes: dict[str, list[object]]) -> dict[str, list[object]]:
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

    def arguments(self) -> dict[str, object]:
        given = super().arguments()
        del given["axes"]
        return given | self.axes


class Intervals(Form):
    """Closed intervals on [0, 1] between points of a grid; one costs its length. Give step or horizon."""

    model_config = examples({"kind": "intervals", "step": 0.05})
    kind: Literal["intervals"]
    step: Positive | None = Field(None, description="The step of the grid; it must divide 1.")
    horizon: Counting | None = Field(
        None, description="Instead of step: the expected number of outcomes T; the step is about T^(-1/4)."
    )
    skip: bool = True

    def check(self, most: int) -> None:
        cells = count_cells(as_fraction("high", 1), self.step, self.horizon, root=4, even=True)
        check_size(cells * (cells + 1) // 2 + 1, 0, most, "horizon" if self.step is None else "step")


class Subsets(Form):
    """Subsets of items with prices. An option is a list of names; it costs the sum of their prices."""

    model_config = examples(
        {"kind": "subsets", "prices": {"small": 1, "large": 4}, "safe": "a person", "safe_cost": 15}
    )
    kind: Literal["subsets"]
    prices: Annotated[dict[Name, Cost], AtMost(MOST_LISTED)] = Field(min_length=1)
    safe: Option = Field(None, description="The safe option; left out: all items together.")
    safe_cost: Positive | None = Field(None, description="What the safe option costs.")
    at_most: Counting | None = Field(None, description="The most items of an option.")
    skip: bool = True

    def check(self, most: int) -> None:
        count = len(self.prices)
        subsets, each = 0, 0  # all subsets, and those with a given item
        for size in range(1, min(count, self.at_most or count) + 1):
            subsets, each = subsets + math.comb(count, size), each + math.comb(count - 1, size - 1)
            check_size(subsets + 2, each * sum(len(name) + 4 for name in self.prices), most, "prices")


SHOWN: Final = Menu({"small": 0.1, "large": 0.4}, safe="a person", skip="skip")


class Recipe(Body):
    """A menu as the Python client sends it: the result of `Menu.recipe()`."""

    model_config = examples({"kind": "recipe", "recipe": SHOWN.recipe()})
    kind: Literal["recipe"]
    recipe: MenuRecipe = Field(description="The result of `Menu.recipe()`.")

    def check(self, most: int) -> None:
        """Refuse a menu of more than so many options, before it is built."""
        if isinstance(self.recipe, IntervalsRecipe):
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
