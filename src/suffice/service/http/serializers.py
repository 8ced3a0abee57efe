"""Records as JSON, in the terms that `schemas_write` and `schemas_read` describe."""

from collections import Counter
from dataclasses import asdict, fields
from typing import Final

import pydantic_core
from starlette.responses import Response

from suffice.context.learner import ContextReport
from suffice.menu.menu import Menu
from suffice.numbers import ONE_SUCCESS
from suffice.promise.certificate import STATUSES, Certificate
from suffice.promise.group_certificate import GroupCertificate
from suffice.selector.records import OptionReport
from suffice.service.history import OTHERS
from suffice.service.http.decision_ids import to_id
from suffice.service.http.schemas_write import JsonObject
from suffice.service.plans.json_options import option_json
from suffice.service.records import (
    AMENDED,
    CANCELLED,
    EXPIRED,
    PENDING,
    STATES,
    Bin,
    DecisionRow,
    IssuedDecision,
    Overview,
    TellResult,
)

MEDIA: Final = "application/json"

_CERTIFICATE_FIELDS: Final = [field.name for field in fields(Certificate) if field.name not in ("promise", "account")]


def json_bytes(body: object) -> bytes:
    """JSON as it is sent; infinity and NaN are null."""
    return pydantic_core.to_json(body, inf_nan_mode="null")


def json_response(body: object, status: int = 200) -> Response:
    """A response in JSON."""
    return Response(pydantic_core.to_json(body, inf_nan_mode="null"), status, media_type=MEDIA)


def issued(decision: IssuedDecision) -> JsonObject:
    """A decision."""
    return {
        "decision": None if decision.decision is None else to_id(decision.decision), "arm": decision.arm,
        "option": decision.option, "price": decision.price, "safe": decision.safe, "skip": decision.skip,
    }  # fmt: skip


def tell_result(decision_id: str, result: TellResult) -> JsonObject:
    """The effect of one outcome of several; the id is as it was sent."""
    effect = {"result": result.result} if result.status == 200 else {"detail": result.detail}
    return {"decision": decision_id, "status": result.status, **effect}


def overview(state: Overview) -> JsonObject:
    """A selector and its state."""
    report = state.certificate
    return {
        "name": state.name, "created": state.created, "archived": state.archived, "plan": state.plan,
        "status": report.status if state.archived is None else "archived", "verdict": report.verdict, "target": report.target,
        "outcomes": report.outcomes, "successes": report.successes, "rate": report.rate, "debt": report.debt,
        "debt_at_most": report.debt_at_most, "ahead_at_most": report.ahead_at_most, "holds": report.holds,
        "owed_at_most": report.owed_at_most, "assumption_violated": report.assumption_violated,
        "violations": report.violations, "feasible": report.feasible, "consistent": report.consistent,
        "asked": report.asked, "pending": report.pending,
        "cost": state.cost, "mean_cost": state.cost / report.outcomes if report.outcomes else None,
        "safe_cost": state.safe_cost, "price": state.price, "cap": report.promise.cap,
        "asks": state.asks, "tells": state.tells,
        "playing_safe": state.playing_safe, "events": [event._asdict() for event in state.events],
        "expired": report.expired, "bounds": state.bounds, "chooser": state.chooser, "model": state.model,
    }  # fmt: skip


def listed(state: Overview) -> JsonObject:
    """A selector in a list, without its plan: a page of plans may be as large as all the bodies that made them."""
    return {**overview(state), "plan": None}


def certificate(report: Certificate, groups: int | None = None) -> JsonObject:
    """A certificate. `groups`: how many of its groups at most, the worst first, and among equals those with most outcomes."""
    body: JsonObject = {name: getattr(report, name) for name in _CERTIFICATE_FIELDS}
    body |= {"status": report.status, "holds": report.holds, "feasible": report.feasible, "text": str(report)}
    body |= {"assumption_violated": report.assumption_violated, "missing": max(0, report.account.most_outstanding - 1)}
    if isinstance(report, GroupCertificate):
        statuses = {name: part.judged(len(report.groups)) for name, part in report.groups.items()}
        counts = Counter(statuses.values())
        body["group_statuses"] = {status: counts[status] for status in STATUSES if counts[status]}
        order = sorted(statuses, key=lambda name: (STATUSES.index(statuses[name]), -report.groups[name].outcomes, name))
        body["groups"] = {name: certificate(report.groups[name]) for name in order[:groups]}
    return body


def option_row(row: OptionReport) -> JsonObject:
    """An option and how it did."""
    return {field.name: getattr(row, field.name) for field in fields(OptionReport)}


def context_report(report: ContextReport) -> JsonObject:
    """The effect of contexts."""
    return {**asdict(report), "text": str(report)}


def stretch(span: Bin) -> JsonObject:
    """A stretch of time."""
    arms = {"others" if arm == OTHERS else str(arm): count for arm, count in sorted(span.arms.items())}
    plays = sum(arms.values())
    # Late outcomes of decisions that expired in an earlier stretch count here too; then these are no means of this stretch.
    rate = span.successes / span.outcomes if span.outcomes and span.successes <= span.outcomes else None
    mean_cost = span.cost / span.outcomes if span.outcomes and span.cost >= 0.0 else None
    return {
        "start": span.start, "end": span.end, "outcomes": span.outcomes, "successes": span.successes,
        "rate": rate, "cost": span.cost, "mean_cost": mean_cost, "debt": span.debt, "price": span.price, "arms": arms,
        "shares": {name: count / plays for name, count in arms.items()}, "total": span.total,
        "total_rate": span.total_successes / span.total if span.total else None,
        "total_cost": max(0.0, span.total_cost) / span.total if span.total else None,
        "debt_at_most": span.debt_at_most, "ahead_at_most": span.ahead_at_most,
    }  # fmt: skip


def decision_row(row: DecisionRow, menu: Menu) -> JsonObject:
    """A decision as it is stored."""
    told = row.state not in (PENDING, EXPIRED, CANCELLED) and row.units is not None
    known_cost = None if row.state == CANCELLED else menu.known_cost(row.arm)
    return {
        "decision": to_id(row.id), "asked_at": row.asked_at, "told_at": row.told_at, "state": STATES[row.state],
        "group": row.group or None, "arm": row.arm, "option": option_json(menu, row.arm),
        "success": (row.units or 0) / ONE_SUCCESS if told else None,
        "cost": known_cost if row.cost is None else row.cost, "price": row.price,
        "late": row.state == AMENDED, "context": row.context(),
    }  # fmt: skip
