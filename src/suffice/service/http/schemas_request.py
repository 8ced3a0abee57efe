"""The bodies of asks and tells. Each model has examples, which the documentation shows."""

import hashlib
import json
from typing import Annotated, Final

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, model_validator

from suffice.menu.options import key
from suffice.service.http.decision_ids import DecisionId, to_number
from suffice.service.plans.fields import AtMost, Body, Context, Cost, Counting, Listed, Name, Option, Success
from suffice.service.records import AskRequest, Outcome

MOST_AVAILABLE: Final = 20_000


def _without_repetitions(options: list[object]) -> list[object]:
    first: dict[object, object] = {}
    for option in options:
        first.setdefault(key(option), option)
    return list(first.values())


Available = Annotated[list[Option], AtMost(MOST_AVAILABLE), AfterValidator(_without_repetitions)]


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
        description="The options that can be played this once, at most 20,000, the safe one included; a skip always can.",
    )
    audit: bool = Field(
        True, description="false for decisions whose outcome will not be told. Choose them at random, before asking."
    )
    context: Context | None = Field(
        None, description='What is known of the case before the decision. It needs a plan with "model": "auto".'
    )
    contexts: Listed[Context | None] | None = Field(None, description="With count: a context for each decision.")
    group: Name | None = Field(
        None, description="The group of the decision. Each group has a debt and a promise of its own."
    )

    insist: bool = Field(
        False, description="Where the promise needs the safe option and it is not available: issue the best that is."
    )

    @model_validator(mode="after")
    def _check_contexts(self) -> "AskBody":
        if self.contexts is not None and (self.count is None or self.context is not None):
            raise ValueError("must have contexts only with count, one for each decision, and then no context")
        if self.contexts is not None and len(self.contexts) != self.count:
            raise ValueError(f"must have as many contexts as count says, {self.count}, got {len(self.contexts)}")
        if self.context is not None and self.count is not None:
            raise ValueError("must have contexts, one for each decision, in the place of context where it has a count")
        return self

    def wanted(self) -> AskRequest:
        """The request in the terms of the service."""
        contexts = self.contexts if self.context is None else [self.context]
        return AskRequest(self.count, self.available, self.audit, contexts, self.group, self.insist)

    def digest(self) -> str:
        """What identifies the body: its values, defaults left out, so that fields of later versions change no digest."""
        values = self.model_dump(mode="json", exclude_defaults=True)
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


class OutcomeBody(Body):
    """The outcome of a decision."""

    model_config = ConfigDict(
        title="Outcome",
        json_schema_extra={
            "examples": [{"decision": "d-11", "success": True}, {"decision": "d-12", "success": 0.5, "cost": 0.3}],
        },
    )
    decision: DecisionId
    success: Success = Field(description="Whether it succeeded, or how well, from 0 to 1.")
    cost: Cost | None = Field(None, description="What it cost, where the menu does not know it.")

    def outcome(self) -> Outcome:
        """The outcome in the terms of the service."""
        return Outcome(to_number(self.decision), self.success, self.cost)


class CancelBody(Body):
    """A decision that was never carried out."""

    model_config = ConfigDict(title="Cancel", json_schema_extra={"examples": [{"decision": "d-11"}]})
    decision: DecisionId


class SwitchBody(Body):
    """Whether the safe option is issued whatever happens."""

    model_config = ConfigDict(title="Play safe", json_schema_extra={"examples": [{"on": True}]})
    on: bool = True


class OutcomesBody(Body):
    """Several outcomes."""

    model_config = ConfigDict(
        title="Outcomes", json_schema_extra={"examples": [{"outcomes": [{"decision": "d-11", "success": True}]}]}
    )
    outcomes: Listed[OutcomeBody]


TELL_MANY: TypeAdapter[list[OutcomeBody]] = TypeAdapter(Listed[OutcomeBody])
