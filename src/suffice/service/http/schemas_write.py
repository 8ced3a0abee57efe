"""The replies to asks, tells and calls about selectors, as OpenAPI describes them. `serializers` writes them."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from suffice.service.http.decision_ids import DecisionId

JsonObject = dict[str, object]
Seconds = Annotated[float, Field(description="Seconds since the beginning of 1970, UTC.")]


class Reply(BaseModel):
    """What all replies share: they have no other fields."""

    model_config = ConfigDict(extra="forbid")


class Fault(Reply):
    """One place in a request that breaks a rule."""

    where: str
    problem: str


class Problem(Reply):
    """What went wrong, in the form of RFC 9457."""

    type: str = Field(description="Always about:blank: the status says which problem it is.")
    title: str
    status: int
    detail: str = Field(description="One sentence.")
    request_id: str = Field(description="The id of this request in the logs of the server; empty if it has none.")
    errors: list[Fault] | None = Field(None, description="Only of 422: every place that breaks a rule.")


class DecisionReply(Reply):
    """A decision. Keep its id, and tell whether it succeeded."""

    decision: DecisionId | None = Field(
        description="Its id, an opaque string; null where it was asked with audit false."
    )
    arm: int = Field(description="The place of the option in the menu.")
    option: object = Field(description="The option to play.")
    price: float | None = Field(description="The price of a success when it was asked.")
    safe: bool = Field(description="Whether this is the safe option.")
    skip: bool = Field(description="Whether this is the skip option: do nothing this time.")


class DecisionsReply(Reply):
    """Several decisions."""

    decisions: list[DecisionReply]


Result = Literal["counted", "unchanged", "amended"]


class ToldReply(Reply):
    """The effect of an outcome: counted; unchanged, if it was told before; amended, if the decision had expired."""

    decision: DecisionId
    result: Result


class ResultReply(Reply):
    """The effect of one outcome of several."""

    decision: str = Field(description="As it was sent.")
    status: Literal[200, 404, 409, 410, 422] = Field(description="The status that this outcome alone would have had.")
    result: Result | None = Field(None, description="Where the status is 200.")
    detail: str | None = Field(None, description="Where the status is not 200: the reason.")


class ResultsReply(Reply):
    """The effect of each outcome, in order."""

    results: list[ResultReply]


STATUS = (
    "kept: not behind; within: behind, or perhaps behind, by no more than the limit; unproven: above the limit if everything "
    "without an outcome failed; broken: the debt is above the limit; infeasible: the safe option itself fails too often for "
    "the target; bug: an error in suffice."
)
VIOLATED = "Whether the safe option fails more often than the menu declares, or the skip option succeeded."
OWED = "The debt if everything without an outcome failed."
Status = Literal["kept", "within", "unproven", "broken", "infeasible", "bug", "archived"]


class EventReply(Reply):
    """Something that a person should know: what happened, what it costs, what to change."""

    at: Seconds
    kind: str
    text: str
    group: str | None = Field(description="The group it is about; null: the selector itself.")


class SelectorReply(Reply):
    """A selector and its state."""

    name: str
    created: Seconds
    archived: Seconds | None
    plan: JsonObject | None = Field(description="The plan with its defaults; null in lists and events.")
    status: Status = Field(description=STATUS + " Or archived.")
    verdict: str = Field(description="The first sentence of the certificate.")
    target: float
    outcomes: int = Field(description="Outcomes counted, expired decisions included.")
    successes: float
    rate: float | None = Field(description="The share that succeeded; null before the first outcome.")
    debt: float = Field(description="Successes owed; negative when ahead.")
    debt_at_most: float | None = Field(description="The limit of the debt.")
    ahead_at_most: float | None = Field(description="The promised bound of the surplus; null: there is none.")
    holds: bool = Field(description="Whether the status is kept or within.")
    owed_at_most: float = Field(description=OWED)
    assumption_violated: bool = Field(description=VIOLATED)
    violations: int = Field(description="Outcomes after which the debt was above the limit.")
    feasible: bool = Field(description="false once the safe option is known to fail too often for the target.")
    consistent: bool = Field(description="false only if there is an error in suffice.")
    asked: int = Field(description="Decisions that were asked and are to be judged.")
    pending: int = Field(description="Decisions whose outcome has not been told.")
    cost: float
    mean_cost: float | None = Field(description="The mean cost of an outcome.")
    safe_cost: float = Field(
        description="The mean cost that was told of the safe option; what the plan says where none was."
    )
    price: float | None = Field(description="The price of a success now; null if each group has its own.")
    cap: float = Field(description="The price at which the safe option is played; the skip option is played at 0.")
    playing_safe: bool = Field(description="Whether every decision is the safe option: see play-safe.")
    events: list[EventReply] = Field(
        description="What a person should know, the latest last, as this server noticed it."
    )
    asks: int
    tells: int
    expired: int
    bounds: str
    chooser: str
    model: str | None


class SelectorPage(Reply):
    """Selectors by name, without their plans."""

    selectors: list[SelectorReply]
    next: str | None = Field(description="Pass it as `after` for the next page; null at the end.")


class Health(Reply):
    """The server answers."""

    status: Literal["ok"]
