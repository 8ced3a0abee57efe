"""The plan of a selector: the body that makes one, checked before anything of it is built.

The same plan is the same text, whatever it left to defaults.
"""

import re
from collections.abc import Callable
from functools import cached_property, partial
from typing import Annotated, Any, Literal, TypeVar

import pydantic_core
from pydantic import AfterValidator, Field, PrivateAttr, ValidationError, WithJsonSchema

from suffice.errors import InvalidArgument, SufficeError, quoted
from suffice.learning.custom_learner import KAPPA
from suffice.menu.options import key
from suffice.selector.selector import Selector
from suffice.service.plans.fields import Body, Counting, Positive, Start, Target, Whole, examples
from suffice.service.plans.json_options import JsonMenu
from suffice.service.plans.menus import AnyForm
from suffice.service.plans.validation_errors import refuse
from suffice.service.records import Limits

Made = TypeVar("Made")

# What a constructor may raise when what it is given is not what it looks like.
_BUILDING = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError)


# No other spelling of the same, so that the same plan is the same text.
MEMORY = "auto|full|reset|(window|discount) ([1-9][0-9]{0,5}|1000000)"


def _memory(memory: str) -> str:
    if re.fullmatch(MEMORY, memory) is None:
        raise ValueError(f'must be "auto", "full", "reset", "window 2000" or "discount 2000", got {quoted(memory)}')
    return memory


Memory = Annotated[str, AfterValidator(_memory), WithJsonSchema({"type": "string", "pattern": f"^({MEMORY})$"})]

EXAMPLE: dict[str, Any] = {
    "menu": {"kind": "options", "options": {"small": 0.1, "large": 0.4}, "safe": "a person", "skip": "skip"},
    "target": 0.9,
}


class Plan(Body):
    """What a selector is made from: the arguments of `suffice.Selector`, in JSON's terms."""

    model_config = examples(
        EXAMPLE,
        {"menu": {"kind": "top_k", "ks": [5, 10, 20, 50], "classes": 100}, "target": 0.95, "expire_after": 3600},
    )
    form: AnyForm = Field(alias="menu", description="What may be chosen.")
    target: Target = Field(description="The success rate to hold, strictly between 0 and 1.")
    horizon: Counting | None = Field(None, description="How many outcomes there will be, if that is known.")
    max_surplus: Positive | None = Field(
        None, description="The most successes that may be banked. Default: the root of told."
    )
    step: Positive | None = Field(None, description="How far one outcome moves the price, instead of max_surplus.")
    cap: Positive | None = Field(None, description="The price at which the safe option is played.")
    start: Start = Field("safe", description="Never behind, cheap, or the price to start from.")
    bounds: Literal["auto", "closed", "contained", "half-log", "kl", "hoeffding", "paper"] = Field(
        "auto", description="What is certain of each option."
    )
    chooser: Literal["auto", "thompson", "optimist"] = Field("auto", description="Who proposes an option.")
    guard: Positive | None = Field(
        KAPPA, description="How much more than the optimist a chooser may cost; null: any amount."
    )
    model: Literal["auto"] | None = Field(
        None,
        description='"auto": a model looks at the contexts that decisions are asked with; null: contexts are refused.',
    )
    seed: Whole = Field(0, description="Of the chooser's own randomness.")
    prices: Literal["auto", "curve", "straight"] = Field(
        "auto", description="How the price of a success follows the debt."
    )
    memory: Memory = Field(
        "auto", description='How much of the past counts when options are judged, such as "window 2000".'
    )
    max_pending: Counting | None = Field(
        1_000, description="At so many outstanding decisions the safe option is handed out; null: never."
    )
    expire_after: Positive | None = Field(
        None, description="Seconds after which a decision that was not told counts as a failure."
    )

    _menu: JsonMenu | None = PrivateAttr(None)
    _fits: int | None = PrivateAttr(None)  # a number of options that it was found not to exceed

    # --- written down

    @classmethod
    def read(cls, text: str | bytes, limits: Limits) -> "Plan":
        """The plan that a body describes, with all of the work done that grows with the body: in a thread, if it is large."""
        plan = cls.model_validate_json(text)
        plan.check(limits)
        _ = plan.canonical  # written here, and kept
        return plan

    @classmethod
    def parse(cls, text: str | bytes) -> "Plan":
        """The plan that a text in JSON describes."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise refuse(error) from None

    def plain(self) -> dict[str, Any]:
        """The plan in JSON's terms, defaults included. The order of options and axes is a part of it."""
        plain = self.model_dump(mode="json", by_alias=True)
        if self.form.kind == "options" and "skip" not in self.form.model_fields_set:
            del plain["menu"]["skip"]  # null may be an option; left out means that there is none
        return plain

    @cached_property
    def canonical(self) -> str:
        """The plan as text, the same for the same plan. Keep it as text: a store that reorders it makes another menu of it."""
        return pydantic_core.to_json(self.plain()).decode()

    def same(self, other: "Plan") -> bool:
        """Whether another plan asks for the same selector, in whatever form its menu is written."""
        if self.canonical == other.canonical:
            return True
        if {**self.plain(), "menu": None} != {**other.plain(), "menu": None}:
            return False
        return key(self.menu().recipe()) == key(other.menu().recipe())

    # --- checked and built

    def check(self, limits: Limits) -> None:
        """Refuse a plan that is too large for this server, before anything of it is built."""
        if self._fits is None or self._fits > limits.arms:
            self.form.check(limits.arms)
            self._fits = limits.arms

    def menu(self) -> JsonMenu:
        """The menu, built once."""
        if self._menu is None:
            self._menu = _built(self.form.build)
        return self._menu

    def selector(self, **more: Any) -> Selector:
        """A new selector that follows this plan; what is passed stands in the place of what the plan says."""
        arguments = self.model_dump(exclude={"form"}) | more
        return _built(partial(Selector, self.menu(), **arguments))


def _built(build: Callable[[], Made]) -> Made:
    """What the library builds; whatever it raises is the fault of what it was given."""
    try:
        return build()
    except InvalidArgument:
        raise
    except SufficeError as error:
        raise InvalidArgument(str(error)) from error
    except _BUILDING as error:
        raise InvalidArgument(f"menu must be one that can be built, got {type(error).__name__}: {error}") from error
