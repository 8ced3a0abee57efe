"""The replies about the state of a selector, as OpenAPI describes them: certificate, options, history, decisions."""

from typing import Literal

from pydantic import Field

from suffice.service.http.decision_ids import DecisionId
from suffice.service.http.schemas_write import OWED, STATUS, VIOLATED, JsonObject, Reply, Seconds, Status


class CertificateReply(Reply):
    """What is promised, whether it holds, and if not, why and what to do."""

    target: float
    asked: int = Field(description="Decisions that were asked and are to be judged.")
    outcomes: int
    successes: float
    rate: float | None
    debt: float = Field(description="Successes owed; negative when ahead.")
    owed_at_most: float = Field(description=OWED)
    debt_at_most: float | None = Field(description="The limit of the debt.")
    ahead_at_most: float | None = Field(description="null: there is no limit.")
    pending: int
    forgiven: float
    skipped: int
    cancelled: int = Field(description="Decisions that were never carried out.")
    expired: int
    amended: int
    unaudited: int
    insisted: int = Field(description="Decisions in the place of a safe play that was needed and not available.")
    uncovered: float = Field(description="What the theorem does not cover; it is part of the limit.")
    safe_plays: int
    safe_failures: int
    safe_lost: int
    safe_failure_at_least: float
    safe_failure_at_most: float
    safe_fails_too_often: bool = Field(description="Whether it fails more often than the menu declares, 99% sure.")
    skip_successes: float
    violations: int = Field(description="Outcomes after which the debt was above the limit.")
    evidence: float = Field(description="Of the safe option's failures against the target: a log-likelihood ratio.")
    holds: bool = Field(description="Whether the status is kept or within.")
    assumption_violated: bool = Field(description=VIOLATED)
    feasible: bool = Field(description="false once the safe option is known to fail too often for the target.")
    consistent: bool = Field(description="false only if there is an error in suffice.")
    status: Status = Field(description=STATUS)
    missing: int = Field(
        description="The most other decisions, forced plays of the safe option excluded, that were outstanding when one was "
        "asked: D = missing + 1. With groups, the most in any one."
    )
    text: str = Field(description="The same in sentences.")
    group_statuses: dict[str, int] | None = Field(
        None, description="Where there are groups: how many of them have each status, all of them counted."
    )
    groups: dict[str, "CertificateReply"] | None = Field(
        None,
        description="The certificate of each group, or of as many as were asked for, the worst first; the empty name holds "
        "the decisions without a group.",
    )


class OptionReply(Reply):
    """An option: how often it was played, how it did, and what is certain of it."""

    arm: int
    option: object
    plays: int
    share: float = Field(description="The share of all outcomes.")
    success: float | None = Field(description="The mean success; null if it was never played.")
    cost: float | None
    upper_success: float | None = Field(description="The upper bound of its success rate.")
    lower_cost: float | None = Field(description="The lower bound of its mean cost.")


class OptionsReply(Reply):
    """Options, as far as this server has learned."""

    options: list[OptionReply]
    total: int = Field(description="The number of options of the menu.")


class ContextReportReply(Reply):
    """The effect of contexts."""

    model: str
    trusted: bool = Field(description="Whether the selector follows the model now.")
    followed: int
    lost: int
    anew: int
    failures: int
    held_back: bool
    saved: float | None
    saved_error: float | None
    fields: dict[str, JsonObject]
    text: str = Field(description="The same in sentences.")


class BinReply(Reply):
    """A stretch of time."""

    start: Seconds
    end: Seconds
    outcomes: int
    successes: float
    rate: float | None = Field(description="null where late outcomes of earlier decisions leave no rate.")
    cost: float
    mean_cost: float | None = Field(description="null where late outcomes of earlier decisions leave no mean.")
    debt: float = Field(description="At the end of the stretch, since the beginning.")
    price: float | None = Field(description="The last price in the stretch.")
    arms: dict[str, int] = Field(description='Outcomes by arm; "others" where there are too many arms to list.')
    shares: dict[str, float] = Field(description="The same as shares of all outcomes in the stretch.")
    total: int = Field(description="Outcomes since the beginning, at the end of the stretch.")
    total_rate: float | None = Field(description="The share of those that succeeded.")
    total_cost: float | None = Field(description="The mean cost of those.")
    debt_at_most: float | None = Field(description="The promised bound of the debt at the end of the stretch.")
    ahead_at_most: float | None = Field(description="The promised bound of the surplus; null: there is none.")


class HistoryReply(Reply):
    """Counts over time; stretches without outcomes are left out."""

    bins: list[BinReply]
    options: dict[str, object] = Field(description="The option of each arm that occurs.")
    width: float | None = Field(description="The length of a stretch, in seconds; null where there is none.")
    finest: float = Field(description="The shortest stretch that is kept; it grows with the length of the history.")


class RowReply(Reply):
    """A decision as it is stored."""

    decision: DecisionId
    asked_at: Seconds
    told_at: Seconds | None = Field(description="When the outcome came, or the decision expired.")
    state: Literal["pending", "told", "expired", "amended", "skipped", "cancelled"]
    group: str | None
    arm: int
    option: object
    success: float | None = Field(description="As it was told; null where no outcome was told.")
    cost: float | None = Field(description="As it was told, or as the menu has it; null where it was cancelled.")
    price: float | None
    late: bool = Field(description="Whether the outcome came after the decision had expired.")
    context: object


class RowsReply(Reply):
    """Decisions, a page of them."""

    decisions: list[RowReply]
    next: DecisionId | None = Field(description="Pass it as `after` for the next page; null at the end.")
