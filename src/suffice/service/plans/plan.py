"""The plan of a selector: the JSON body from which it is made, checked before any of it is built.

Equal plans are equal texts: defaults are written out.
"""

import re
from collections.abc import Callable
from functools import cached_property, partial
from typing import Annotated, Any, Literal, TypeVar

import pydantic_core
from pydantic import AfterValidator, Field, PrivateAttr, ValidationError, WithJsonSchema

from suffice.errors import InvalidArgument, SufficeError, quoted
from suffice.learning.guard import KAPPA
from suffice.learning.settings import Learning
from suffice.menu.options import key
from suffice.promise.rules import IN_FLIGHT, MAX_DEBT
from suffice.selector.selector import Selector
from suffice.service.plans.fields import Body, Debt, Positive, Target, Whole, examples
from suffice.service.plans.json_options import JsonMenu
from suffice.service.plans.menus import AnyForm
from suffice.service.plans.validation_errors import refuse
from suffice.service.records import Limits

Made = TypeVar("Made")

# Errors that a constructor may raise on a malformed menu.
_BAD_MENU = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError)


# One spelling for each setting, so that equal plans are equal texts.
MEMORY = "auto|full|reset|(window|discount) ([1-9][0-9]{0,5}|1000000)"


def _memory(memory: str) -> str:
    if re.fullmatch(MEMORY, memory) is None:
        raise ValueError(f'must be "auto", "full", "reset", "window 2000" or "discount 2000", got {quoted(memory)}')
    return memory


Memory = Annotated[str, AfterValidator(_memory), WithJsonSchema({"type": "string", "pattern": f"^({MEMORY})$"})]

EXAMPLE: dict[str, Any] = {
    "menu": {"kind": "options", "options": {"small": 0.1, "large": 0.4, "a person": 1.0}, "safe": "a person"},
    "target": 0.9,
}


class LearningPlan(Body):
    """How options are estimated and chosen: the arguments of `suffice.Learning`, as JSON."""

    bounds: Literal["auto", "interval-closure", "ordered", "half-log", "kl", "hoeffding", "paper"] = Field(
        "auto", description="The confidence bounds of each option."
    )
    chooser: Literal["auto", "thompson", "optimist"] = Field("auto", description="The part that proposes an option.")
    guard: Positive | None = Field(
        KAPPA, description="How much more than the optimist a chooser may cost; null: any amount."
    )
    memory: Memory = Field(
        "auto", description='How much of the past counts when options are estimated, such as "window 2000".'
    )
    prices: Literal["auto", "curve", "straight"] = Field(
        "auto", description="How the price of a success follows the debt."
    )


class Plan(Body):
    """The plan of a selector: the arguments of `suffice.Selector`, as JSON."""

    model_config = examples(
        EXAMPLE,
        {"menu": {"kind": "top_k", "ks": [5, 10, 20, 50], "classes": 100}, "target": 0.95, "expire_after": 3600},
    )
    form: AnyForm = Field(alias="menu", description="The options.")
    target: Target = Field(description="The success rate to hold, strictly between 0 and 1.")
    max_debt: Debt = Field(MAX_DEBT, description="The most successes that may be owed among what was reported.")
    in_flight: Whole = Field(
        IN_FLIGHT,
        description="How many decisions may be outstanding, beyond what the surplus covers, before the safe option is issued.",
    )
    max_surplus: Positive | None = Field(
        None, description="The largest surplus, in successes. Default: the root of the number of outcomes, at most 40."
    )
    model: Literal["auto"] | None = Field(
        None,
        description='"auto": a model uses the contexts of asks; null: contexts are refused.',
    )
    learning: LearningPlan = Field(LearningPlan.model_validate({}), description="How options are estimated and chosen.")
    seed: Whole = Field(0, description="The seed of the chooser's randomness.")
    expire_after: Positive | None = Field(
        None, description="Seconds after which a decision without an outcome counts as a failure."
    )

    _menu: JsonMenu | None = PrivateAttr(None)
    _fits: int | None = PrivateAttr(None)  # a limit of options that the plan has passed

    # --- read and written

    @classmethod
    def read(cls, text: str | bytes, limits: Limits) -> "Plan":
        """The plan in a body, with all work that grows with the size of the body. Run it in a thread if the body is large."""
        plan = cls.model_validate_json(text)
        plan.check(limits)
        _ = plan.canonical  # cached
        return plan

    @classmethod
    def parse(cls, text: str | bytes) -> "Plan":
        """The plan in a JSON text."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise refuse(error) from None

    def plain(self) -> dict[str, object]:
        """The plan as JSON, with defaults. The order of options and axes matters."""
        return self.model_dump(mode="json", by_alias=True)

    @cached_property
    def canonical(self) -> str:
        """The plan as text. Stores must not reorder it: the order of options is part of the plan."""
        return pydantic_core.to_json(self.plain()).decode()

    def same(self, other: "Plan") -> bool:
        """Whether two plans make the same selector. Their menus may have different forms."""
        if self.canonical == other.canonical:
            return True
        if {**self.plain(), "menu": None} != {**other.plain(), "menu": None}:
            return False
        return key(self.menu().recipe()) == key(other.menu().recipe())

    # --- checked and built

    def check(self, limits: Limits) -> None:
        """Refuse a plan that is too large for this server, before its menu is built."""
        if self._fits is None or self._fits > limits.arms:
            self.form.check(limits.arms)
            self._fits = limits.arms

    def menu(self) -> JsonMenu:
        """The menu, built once."""
        if self._menu is None:
            self._menu = _built(self.form.build)
        return self._menu

    def selector(self) -> Selector:
        """A new selector with this plan."""
        arguments = self.model_dump(exclude={"form", "learning"})
        learning = Learning(**self.learning.model_dump())
        return _built(partial(Selector, self.menu(), learning=learning, **arguments))


def _built(build: Callable[[], Made]) -> Made:
    """Build a part of the library; every error is an error in the plan."""
    try:
        return build()
    except InvalidArgument:
        raise
    except SufficeError as error:
        raise InvalidArgument(str(error)) from error
    except _BAD_MENU as error:
        raise InvalidArgument(f"menu must be one that can be built, got {type(error).__name__}: {error}") from error
