"""What is asked of the service in JSON. Every model has an example, which the documentation shows."""

import hashlib
import json
from typing import Annotated, Any, Final

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, model_validator

from suffice.menu.options import key
from suffice.service.plans.fields import AtMost, Body, Context, Cost, Counting, Listed, Name, Option, Success, Whole
from suffice.service.records import AskRequest, Outcome

MOST_AVAILABLE: Final = 20_000


def _each_once(options: list[Any]) -> list[Any]:
    """Options without those that were listed before."""
    found: dict[Any, Any] = {}
    for option in options:
        found.setdefault(key(option), option)
    return list(found.values())


Available = Annotated[list[Option], AtMost(MOST_AVAILABLE), AfterValidator(_each_once)]


class AskBody(Body):
    """What to decide: one decision, or `count` of them. An empty body asks for one."""

    model_config = ConfigDict(
        title="Ask",
        json_schema_extra={
            "examples": [{}, {"count": 100}, {"group": "Oslo", "context": {"length": 120, "task": "chat"}}],
        },
    )
    count: Counting | None = Field(None, description="How many decisions; left out, one by itself.")
    available: Available | None = Field(
        None,
        description="The options that can be played this once, at most 20,000; the safe one and the skip option always can.",
    )
    audit: bool = Field(
        True, description="false for decisions whose outcome will not be told. Let a coin decide which."
    )
    context: Context | None = Field(None, description='What is known beforehand. It needs a plan with "model": "auto".')
    contexts: Listed[Context | None] | None = Field(None, description="With count: a context for each decision.")
    group: Name | None = Field(
        None, description="The group that it belongs to. Each has a debt and a promise of its own."
    )

    @model_validator(mode="after")
    def _fits(self) -> "AskBody":
        if self.contexts is not None and (self.count is None or self.context is not None):
            raise ValueError("must have contexts only with count, one for each decision, and then no context")
        if self.contexts is not None and len(self.contexts) != self.count:
            raise ValueError(f"must have as many contexts as count says, {self.count}, got {len(self.contexts)}")
        if self.context is not None and self.count is not None:
            raise ValueError("must have contexts, one for each decision, in the place of context where it has a count")
        return self

    def wanted(self) -> AskRequest:
        """The same without HTTP."""
        contexts: list[Any] | None = self.contexts if self.context is None else [self.context]
        return AskRequest(self.count, self.available, self.audit, contexts, self.group)

    def digest(self) -> str:
        """What "the same body" means: all that it says, but not what it leaves as it is. So new fields change no digests."""
        said = self.model_dump(mode="json", exclude_defaults=True)
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


class OutcomeBody(Body):
    """How a decision went."""

    model_config = ConfigDict(
        title="Outcome",
        json_schema_extra={
            "examples": [{"decision": 17, "success": True}, {"decision": 18, "success": 0.5, "cost": 0.3}],
        },
    )
    decision: Whole = Field(description="The number of the decision.")
    success: Success = Field(description="Whether it worked, or how well, from 0 to 1.")
    cost: Cost | None = Field(None, description="What it cost, where that is not known beforehand.")

    def outcome(self) -> Outcome:
        """The same without HTTP."""
        return Outcome(self.decision, self.success, self.cost)


class OutcomesBody(Body):
    """Several outcomes."""

    model_config = ConfigDict(
        title="Outcomes", json_schema_extra={"examples": [{"outcomes": [{"decision": 17, "success": True}]}]}
    )
    outcomes: Listed[OutcomeBody]


TELL_MANY: TypeAdapter[list[OutcomeBody]] = TypeAdapter(Listed[OutcomeBody])
