"""The forms of menus in a body, with a limit on the size of each before it is built."""

import math
from typing import Annotated, ClassVar, Final, Literal

from pydantic import AfterValidator, BaseModel, Field, field_validator

from suffice.errors import InvalidArgument
from suffice.menu.constructors import known_costs
from suffice.menu.menu import Menu
from suffice.menu.options import count_cells, key
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


class PricedOption(Body):
    """An option and its cost."""

    option: Option
    cost: Cost | None = Field(None, description="What it costs; null: each outcome tells its cost.")


class Options(Form):
    """Options with their costs, the safe one perhaps among them; perhaps a skip option."""

    model_config = examples(
        {"kind": "options", "options": {"small": 0.1, "large": 0.4, "a person": 1.0}, "safe": "a person"},
        {
            "kind": "options",
            "options": [{"option": 5}, {"option": 20}],
            "safe": 100,
            "safe_cost": 10,
            "order": "chain",
        },
    )
    kind: Literal["options"]
    options: Listed[PricedOption] | Annotated[dict[Text, Cost | None], AtMost(MOST_LISTED)] = Field(
        description="An object of option to known cost; or a list of objects, where the order matters or an option is no "
        "text. null: each outcome tells its cost."
    )
    safe: Option = Field(description="The option that always succeeds. It may be among the options.")
    skip: Option = Field(None, description="The option that costs 0 and counts as a failure. null: there is none.")
    safe_cost: Positive | None = Field(
        None, description="What the safe option costs, where the options do not say; no option costs more."
    )
    order: Literal["chain"] | None = Field(
        None, description='"chain" if each option succeeds whenever an earlier one does.'
    )

    def check(self, most: int) -> None:
        options = self.options
        sizes = map(len, options) if isinstance(options, dict) else (check_option(each.option) for each in options)
        check_size(len(options) + 2, sum(sizes), most, "options")

    def build(self) -> JsonMenu:
        pairs = (
            self.options.items()
            if isinstance(self.options, dict)
            else ((each.option, each.cost) for each in self.options)
        )
        options, costs, safe_cost = [], [], self.safe_cost
        for option, cost in pairs:
            if cost is not None and key(option) == key(
                self.safe
            ):  # its cost may be known where those of others are told
                if safe_cost not in (None, cost):
                    raise InvalidArgument(
                        f"safe_cost must be what options say, {cost:g}, or be left out, got {safe_cost:g}"
                    )
                safe_cost = cost
            elif key(option) != key(self.safe):
                options.append(option)
                costs.append(cost)
        known = [cost for cost in costs if cost is not None]
        if known and len(known) < len(costs):
            raise InvalidArgument("options must all have a known cost, or none but the safe one")
        if known and safe_cost is not None and safe_cost > 0.0:
            known_costs("options", known, options, safe_cost)  # a JSON menu has no field `costs` to name
        given = self.arguments() | {"options": options, "costs": known or None, "safe_cost": safe_cost}
        return JsonMenu(**given)


class TopK(Form):
    """Show the k best of a number of classes; k costs k/classes."""

    model_config = examples({"kind": "top_k", "ks": [5, 10, 20, 50], "classes": 100})
    kind: Literal["top_k"]
    ks: Annotated[Listed[Whole], AfterValidator(_sorted_once)] = Field(description="How many may be shown.")
    classes: Several = Field(description="The number of classes.")
    skip: bool = Field(False, description="Whether showing none is an option.")

    def check(self, most: int) -> None:
        check_size(len(set(self.ks) - {0, self.classes}) + 2, 0, most, "ks")


class Thresholds(Form):
    """A threshold on a grid: low is the skip option, high the safe option. Give step or horizon."""

    model_config = examples({"kind": "thresholds", "low": 0, "high": 1, "step": 0.05, "safe_cost": 1})
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
    safe_cost: Positive | None = Field(None, description="What the safe option costs; required.")
    skip: bool = False

    def check(self, most: int) -> None:
        span = as_fraction("high", self.high) - as_fraction("low", self.low)
        if span > 0:  # otherwise the constructor raises
            cells = count_cells(span, self.step, self.horizon, root=3, even=False)
            check_size(cells + 1, 0, most, "horizon" if self.step is None else "step")


class Grid(Form):
    """Several thresholds at once, each axis listed from least to most permissive. An option is an object."""

    model_config = examples({"kind": "grid", "axes": {"distance": [1, 5, 50], "rating": [4.5, 0]}, "safe_cost": 10})
    RESERVED: ClassVar = frozenset(("cls", "costs", "safe_cost", "skip", "safe_success"))
    kind: Literal["grid"]
    axes: dict[Name, Annotated[Listed[Option], Field(min_length=1)]] = Field(
        min_length=1, max_length=MOST_AXES, description="The values of each axis, from least to most permissive."
    )
    costs: Listed[Cost] | None = Field(
        None, description="The known cost of each point but the last; null: each outcome tells its cost."
    )
    safe_cost: Positive | None = Field(None, description="What the safe option costs; required.")
    skip: bool = False

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
    skip: bool = False

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
    skip: bool = False

    def check(self, most: int) -> None:
        count = len(self.prices)
        subsets, each = 0, 0  # all subsets, and those with a given item
        for size in range(1, min(count, self.at_most or count) + 1):
            subsets, each = subsets + math.comb(count, size), each + math.comb(count - 1, size - 1)
            check_size(subsets + 2, each * sum(len(name) + 4 for name in self.prices), most, "prices")


SHOWN: Final = Menu({"small": 0.1, "large": 0.4}, safe="a person", skip="skip", safe_cost=1.0)


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
