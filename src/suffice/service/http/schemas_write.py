"""What the service answers, as the documentation describes it. Answers are made in `answers`; tests hold the two together."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from suffice.service.plans import EXAMPLE, Plan

Seconds = Annotated[float, Field(description="Seconds since the beginning of 1970, UTC.")]


def _example(**values: Any) -> ConfigDict:
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [values]})


class Fault(BaseModel):
    """Where something was wrong, and what."""

    model_config = _example(where="target", problem="must lie strictly between 0 and 1, got 1.0")
    where: str
    problem: str


class Problem(BaseModel):
    """What went wrong, as RFC 9457 has it."""

    model_config = _example(
        type="about:blank",
        title="Not Found",
        status=404,
        detail="there is no selector 'router'",
        request_id="5f2b3c1e9a7d4e60",
    )
    type: str = Field(description="Always about:blank: the status says which problem it is.")
    title: str
    status: int
    detail: str = Field(description="One sentence.")
    request_id: str = Field(
        description="What this request is called in the logs of the server; empty if it has no name."
    )
    errors: list[Fault] | None = Field(None, description="Only of 422: every place where something was wrong.")


DECISION: dict[str, Any] = {
    "decision": 17, "arm": 2, "option": "large", "price": 1.25, "safe": False, "skip": False,
}  # fmt: skip


class DecisionReply(BaseModel):
    """What to do now. Keep the number, and tell how it went."""

    model_config = _example(**DECISION)
    decision: int | None = Field(description="Its number; null where it was asked with audit false.")
    arm: int
    option: Any = Field(description="The option to play.")
    price: float | None = Field(description="The price of a success when it was asked.")
    safe: bool = Field(description="Whether it is the option that is sure to succeed.")
    skip: bool = Field(description="Whether it is the option that costs nothing: skip this one.")


class DecisionsReply(BaseModel):
    """Several decisions."""

    model_config = _example(decisions=[DECISION])
    decisions: list[DecisionReply]


Result = Literal["counted", "unchanged", "amended"]


class ToldReply(BaseModel):
    """What became of an outcome: counted; unchanged, where the same was told before; amended, where it had expired."""

    model_config = _example(decision=17, result="counted")
    decision: int
    result: Result


class ResultReply(BaseModel):
    """What became of one outcome of several."""

    model_config = _example(decision=18, status=404, detail="decision 18 was never asked of this selector")
    decision: int
    status: Literal[200, 404, 409, 410, 422] = Field(description="What it would have been by itself.")
    result: Result | None = Field(None, description="Where the status is 200.")
    detail: str | None = Field(None, description="Where it is not: why.")


class ResultsReply(BaseModel):
    """What became of each outcome, in order."""

    model_config = _example(results=[{"decision": 17, "status": 200, "result": "counted"}])
    results: list[ResultReply]


KNOWN: dict[str, Any] = {
    "name": "router", "created": 1767225600.0, "archived": None,
    "plan": Plan.model_validate(EXAMPLE).plain(),
    "status": "kept", "verdict": "Kept: 90.3% of 1,000 succeeded (target 90%).",
    "target": 0.9, "outcomes": 1000, "successes": 903.0, "rate": 0.903, "debt": -3.0, "debt_at_most": 0.9,
    "ahead_at_most": 32.5, "holds": True, "breach": False, "breaches": 0, "feasible": True, "consistent": True, "pending": 12,
    "cost": 320.5, "mean_cost": 0.3205, "safe_cost": 1.0,
    "price": 1.25, "cap": 10.0,
    "asks": 1012, "tells": 1000, "expired": 0, "bounds": "half-log", "chooser": "optimist", "model": None,
}  # fmt: skip


STATUS = (
    "kept; warned: kept, but an assumption was seen to fail; unknown: kept if plays of the safe option that nobody told of "
    "succeeded; breach: behind by more than promised, `holds` is false; infeasible: no choice reaches the target; waiting: "
    "nothing told yet; bug: suffice itself is wrong."
)
BREACH = (
    "Whether an assumption was seen to fail: the safe option failed, or the skip option succeeded, though it never should. "
    "The promise may hold all the same: see `holds`. Not to be taken for the status breach, which says that it does not."
)
Status = Literal["kept", "warned", "unknown", "breach", "infeasible", "waiting", "bug", "archived"]


class SelectorReply(BaseModel):
    """A selector and where it stands."""

    model_config = _example(**KNOWN)
    name: str
    created: Seconds
    archived: Seconds | None
    plan: dict[str, Any] | None = Field(
        description="What it was made from, defaults included; null in lists and events."
    )
    status: Status = Field(description=STATUS + " Or archived.")
    verdict: str = Field(description="The first sentence of the certificate.")
    target: float
    outcomes: int = Field(description="Outcomes counted, expired decisions included.")
    successes: float
    rate: float | None = Field(description="The share that succeeded; null before the first outcome.")
    debt: float = Field(description="Successes owed; negative when ahead.")
    debt_at_most: float | None = Field(description="What was promised of the debt.")
    ahead_at_most: float | None = Field(description="And of how far successes run ahead; null: there is no limit.")
    holds: bool = Field(description="Whether the promise holds.")
    breach: bool = Field(description=BREACH)
    breaches: int = Field(description="Outcomes after which the debt was above its bound.")
    feasible: bool = Field(description="false once the safe option is known to fail too often for the target.")
    consistent: bool = Field(description="false only if suffice itself is wrong.")
    pending: int = Field(description="Decisions whose outcome has not been told.")
    cost: float
    mean_cost: float | None = Field(description="The cost of an outcome.")
    safe_cost: float = Field(description="What always playing the safe option would cost, a decision.")
    price: float | None = Field(description="The price now paid for a success; null if each group has its own.")
    cap: float = Field(description="The price at which the safe option is played; the skip option is played at 0.")
    asks: int
    tells: int
    expired: int
    bounds: str
    chooser: str
    model: str | None


class SelectorPage(BaseModel):
    """Selectors by name, without their plans; `next` is what to pass as `after` for more, null at the end."""

    model_config = _example(selectors=[{**KNOWN, "plan": None}], next=None)
    selectors: list[SelectorReply]
    next: str | None


class Health(BaseModel):
    """It is there."""

    model_config = _example(status="ok")
    status: Literal["ok"]
