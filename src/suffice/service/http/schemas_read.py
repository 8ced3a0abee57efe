"""What is answered to who looks at a selector: certificate, arms, context report, history, decisions."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from suffice.service.http.schemas_write import BREACH, STATUS, Seconds, Status, _example

CERTIFICATE: dict[str, Any] = {
    "target": 0.9, "outcomes": 1000, "successes": 903.0, "rate": 0.903, "debt": -3.0, "debt_at_most": 0.9,
    "ahead_at_most": 32.5, "pending": 12, "forgiven": 0.0, "expired": 0, "amended": 0, "unaudited": 0,
    "safe_plays": 210, "safe_failures": 0, "safe_lost": 0, "safe_failure_at_least": 0.0,
    "safe_failure_at_most": 0.047, "skip_successes": 0.0, "breaches": 0, "holds": True, "breach": False,
    "feasible": True, "consistent": True, "status": "kept", "missing": 15,
    "text": "Kept: 90.3% of 1,000 succeeded (target 90%).",
}  # fmt: skip


class CertificateReply(BaseModel):
    """What was promised, whether it is so, and if not, why and what to do."""

    model_config = _example(**CERTIFICATE)
    target: float
    outcomes: int
    successes: float
    rate: float | None
    debt: float = Field(description="Successes owed; negative when ahead.")
    debt_at_most: float | None
    ahead_at_most: float | None = Field(description="null: there is no limit.")
    pending: int
    forgiven: float
    expired: int
    amended: int
    unaudited: int
    safe_plays: int
    safe_failures: int
    safe_lost: int
    safe_failure_at_least: float
    safe_failure_at_most: float
    skip_successes: float
    breaches: int = Field(description="Outcomes after which the debt was above its bound.")
    holds: bool = Field(description="Whether the debt is within its bound: the promise is kept.")
    breach: bool = Field(description=BREACH)
    feasible: bool = Field(description="false once the safe option is known to fail too often for the target.")
    consistent: bool = Field(description="false only if suffice itself is wrong.")
    status: Status = Field(description=STATUS)
    missing: int = Field(
        description="The most other decisions, plays of the safe option excluded, that were outstanding when one was asked: "
        "D = missing + 1. Of groups together, the most in any one."
    )
    text: str = Field(description="The same in sentences.")
    group_statuses: dict[str, int] | None = Field(
        None, description="Where there are groups: how many of them have each status, all of them counted."
    )
    groups: dict[str, "CertificateReply"] | None = Field(
        None,
        description='The same of each group, or of as many as were asked for, the worst first; "" is what has none.',
    )


class OptionReply(BaseModel):
    """An option: how often it was played, how it did, and what is certain of it."""

    model_config = _example(
        arm=2, option="large", plays=640, share=0.64, success=0.91, cost=0.4, upper_success=0.94, lower_cost=0.4
    )
    arm: int
    option: Any
    plays: int
    share: float = Field(description="Of all outcomes told.")
    success: float | None = Field(description="The mean; null if it was never played.")
    cost: float | None
    upper_success: float | None = Field(description="It succeeds no more often than this, most certainly.")
    lower_cost: float | None


class OptionsReply(BaseModel):
    """Options, as far as this server has learned."""

    model_config = _example(options=[OptionReply.model_config["json_schema_extra"]["examples"][0]], total=4)  # type: ignore[index]
    options: list[OptionReply]
    total: int = Field(description="How many there are.")


class ContextReportReply(BaseModel):
    """What is made of contexts."""

    model_config = _example(
        model="logistic", trusted=True, followed=4200, lost=0, anew=0, failures=0, held_back=False, saved=0.08,
        saved_error=0.01, fields={"length": {"kind": "number", "noted": 5000}},
        text="The model (logistic) is followed; it made 4,200 decisions that were told.",
    )  # fmt: skip
    model: str
    trusted: bool = Field(description="Whether the model is followed now.")
    followed: int
    lost: int
    anew: int
    failures: int
    held_back: bool
    saved: float | None
    saved_error: float | None
    fields: dict[str, dict[str, Any]]
    text: str = Field(description="The same in sentences.")


class BinReply(BaseModel):
    """A stretch of time."""

    model_config = _example(
        start=1767225600.0, end=1767225660.0, outcomes=100, successes=91.0, rate=0.91, cost=32.0, mean_cost=0.32, debt=-1.0,
        price=1.2, arms={"1": 20, "2": 60, "3": 20}, shares={"1": 0.2, "2": 0.6, "3": 0.2}, total=1000, total_rate=0.901,
        total_cost=0.35, debt_at_most=0.9, ahead_at_most=32.5,
    )  # fmt: skip
    start: Seconds
    end: Seconds
    outcomes: int
    successes: float
    rate: float | None = Field(description="null where late outcomes of earlier decisions leave no rate.")
    cost: float
    mean_cost: float | None = Field(description="null where late outcomes of earlier decisions leave no mean.")
    debt: float = Field(description="At its end, since the beginning.")
    price: float | None = Field(description="The last one in it.")
    arms: dict[str, int] = Field(description='Outcomes by arm; "others" where there are too many arms to list.')
    shares: dict[str, float] = Field(description="The same as shares of all in it.")
    total: int = Field(description="Outcomes since the beginning, at its end.")
    total_rate: float | None = Field(description="The share of those that succeeded.")
    total_cost: float | None = Field(description="What one of those cost.")
    debt_at_most: float | None = Field(description="What was promised of the debt at its end.")
    ahead_at_most: float | None = Field(description="And of how far successes run ahead; null: there is no limit.")


class HistoryReply(BaseModel):
    """What happened over time; stretches in which nothing was told are left out."""

    model_config = _example(
        bins=[BinReply.model_config["json_schema_extra"]["examples"][0]],  # type: ignore[index]
        options={"1": "small", "2": "large", "3": "a person"},
        width=60.0,
        finest=4.0,
    )
    bins: list[BinReply]
    options: dict[str, Any] = Field(description="The option of each arm that is named.")
    width: float | None = Field(description="The length of a stretch, in seconds; null where there is none.")
    finest: float = Field(
        description="The least length there is; it grows, and then all that is known by now is coarser."
    )


class RowReply(BaseModel):
    """A decision as it is kept."""

    model_config = _example(
        decision=17, asked_at=1767225600.0, told_at=1767225603.5, state="told", group=None, arm=2, option="large", success=1.0,
        cost=0.4, price=1.25, late=False, context=None,
    )  # fmt: skip
    decision: int
    asked_at: Seconds
    told_at: Seconds | None = Field(description="When the outcome came, or it expired.")
    state: Literal["pending", "told", "expired", "amended"]
    group: str | None
    arm: int
    option: Any
    success: float | None = Field(
        description="As it was told; null where nothing was. (What expired counts as a failure.)"
    )
    cost: float | None = Field(description="As it was told, or known beforehand.")
    price: float | None
    late: bool = Field(description="Whether the outcome came after it had expired.")
    context: Any


class RowsReply(BaseModel):
    """Decisions; `next` is what to pass as `after` for more, null at the end."""

    model_config = _example(decisions=[RowReply.model_config["json_schema_extra"]["examples"][0]], next=None)  # type: ignore[index]
    decisions: list[RowReply]
    next: int | None
